//! The flags of `stackflux operator`, named like those of Flux's controllers where possible.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};
use jiff::SignedDuration;

use super::{BuiltinSettings, Settings, WatchSettings};
use crate::api::git_commit::LocalReference;
use crate::api::{self, GitReference, GitRepositoryReference, GitSource, StackSource, Upstream};
use crate::inputs::defaults::Defaults;
use crate::names::{Namespace, ObjectName};
use crate::runtime::client::ClusterAccess;
use crate::runtime::health::ListenAddress;
use crate::runtime::lease::LeaseSettings;
use crate::runtime::logs::{LogEncoding, LogLevel, LogSettings};

const ELECTION: &str = "Leader election";
const BUILTIN: &str = "Built-in stack repositories";
const SOURCE: &str = "Default source";
const CLUSTER: &str = "Management cluster";

/// The flag that other flags of the default source's URL require.
const URL: &str = "default-source-url";

/// The flag that other flags of the built-in stack repositories require.
const BUILTIN_URL: &str = "builtin-url";

/// The flags that name the default source.
const SOURCE_GROUP: &str = "default-source";

/// An error for invalid combinations of flags.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The durations of leader election overlap.
    #[error(
        "--leader-election-lease-duration ({0:?}) must be longer than --leader-election-renew-deadline ({1:?}), which \
         must be longer than --leader-election-retry-period ({2:?})"
    )]
    Election(Duration, Duration, Duration),
    /// The URL is not that of the server.
    #[error("--builtin-url={0} must begin with https://, because --builtin-cert-dir is set")]
    Scheme(String),
    /// The default source would be invalid in a `ClusterStack`.
    #[error("invalid default source: {0}")]
    Source(&'static str),
}

/// The flags of the operator.
#[derive(Debug, Args)]
pub struct Flags {
    /// Maximum number of objects of one kind to reconcile at the same time
    #[arg(long, value_name = "NUMBER", default_value = "32")]
    concurrent: NonZeroUsize,
    /// Watch all namespaces; with =false, only the operator's own (--runtime-namespace)
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set, num_args = 0..=1,
        require_equals = true, default_missing_value = "true")]
    watch_all_namespaces: bool,
    /// Watch only ClusterStacks with these labels, such as shard=a
    ///
    /// The operator also watches what belongs to these ClusterStacks. Operators with different selectors elect
    /// separate leaders.
    #[arg(long, value_name = "SELECTOR")]
    watch_label_selector: Option<String>,
    /// Level of detail of the log
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log_level: LogLevel,
    /// Format of log lines
    #[arg(long, value_name = "ENCODING", default_value = "json")]
    log_encoding: LogEncoding,
    /// Address to serve /metrics at; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS", default_value = ":8080")]
    metrics_addr: ListenAddress,
    /// Address to serve /healthz and /readyz at; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS", default_value = ":9440")]
    health_addr: ListenAddress,
    /// Memory in MiB for each connection to a Git server, and for all together
    ///
    /// The operator's own memory comes in addition.
    #[arg(long, value_name = "MIB", default_value = "512", value_parser = clap::value_parser!(u32).range(128..=1 << 20))]
    git_memory_limit: u32,
    #[command(flatten)]
    defaults: DefaultFlags,
    #[command(flatten, next_help_heading = BUILTIN)]
    builtin: BuiltinFlags,
    #[command(flatten, next_help_heading = ELECTION)]
    election: ElectionFlags,
    #[command(flatten, next_help_heading = CLUSTER)]
    access: AccessFlags,
}

#[derive(Debug, Args)]
struct ElectionFlags {
    /// Elect a leader: only the operator that holds the Lease writes
    ///
    /// With =false, you must make sure that no other operator runs.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set, num_args = 0..=1,
        require_equals = true, default_missing_value = "true")]
    enable_leader_election: bool,
    /// Time that other operators wait for the leader to renew the Lease before one takes over
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = duration)]
    leader_election_lease_duration: Duration,
    /// Time that the leader stays leader without having renewed the Lease
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration)]
    leader_election_renew_deadline: Duration,
    /// Time between two attempts to acquire or renew the Lease
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration)]
    leader_election_retry_period: Duration,
}

#[derive(Debug, Args)]
struct BuiltinFlags {
    /// Address to serve the repositories at
    #[arg(id = "builtin-addr", long, value_name = "ADDRESS", default_value = ":9080")]
    addr: ListenAddress,
    /// Directory of the repositories
    ///
    /// If it is lost, the operator brings the releases in again, with the same commits.
    #[arg(id = "builtin-path", long, value_name = "DIRECTORY", default_value = "/data")]
    path: PathBuf,
    /// Size in MiB of all repositories above which the operator brings in no release
    #[arg(id = "builtin-size-limit", long, value_name = "MIB", default_value = "1024", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    size_limit: u32,
    /// Directory with the certificate (tls.crt) and key (tls.key) of the server, which are read again when they change
    ///
    /// The default is plain HTTP. The scheme of --builtin-url must be https, and the key ca.crt of the Secret
    /// that spec.source.secretRef names must have the authority, unless Flux knows it.
    #[arg(id = "builtin-cert-dir", long, value_name = "DIRECTORY", requires = BUILTIN_URL)]
    cert_dir: Option<PathBuf>,
    /// Accept passwords over plain HTTP
    #[arg(id = "builtin-insecure-auth", long, value_name = "BOOL", default_value_t = false, action = ArgAction::Set, num_args = 0..=1,
        require_equals = true, default_missing_value = "true", requires = BUILTIN_URL)]
    insecure_auth: bool,
}

/// The flags about what `ClusterStack`s may refer to, and about those that do not set something. Commands that plan like the
/// operator have them too.
#[derive(Clone, Debug, Args)]
pub struct DefaultFlags {
    /// Refuse references to objects in other namespaces
    ///
    /// A ClusterStack then takes its source only from its own namespace. The default source, which you configure, may
    /// be in any namespace.
    #[arg(long, value_name = "BOOL", default_value_t = false, action = ArgAction::Set, num_args = 0..=1,
        require_equals = true, default_missing_value = "true")]
    no_cross_namespace_refs: bool,
    /// Service account that Flux uses to apply cluster classes and node images
    ///
    /// Applies to ClusterStacks without spec.flux.serviceAccountName. The service account must exist in the
    /// ClusterStack's namespace.
    #[arg(long, value_name = "NAME")]
    default_service_account: Option<ObjectName>,
    /// URL at which source-controller reaches the built-in stack repositories; without it there are none
    ///
    /// A ClusterStack whose source has only upstream has a built-in stack repository, which the operator serves.
    #[arg(id = BUILTIN_URL, long, value_name = "URL", value_parser = server_url, help_heading = BUILTIN)]
    builtin_url: Option<String>,
    #[command(flatten, next_help_heading = SOURCE)]
    source: SourceFlags,
}

/// The flags about the source of `ClusterStack`s that name none.
#[derive(Clone, Debug, Args)]
struct SourceFlags {
    /// URL of the Git repository with the releases, for ClusterStacks without spec.source
    #[arg(id = URL, long, value_name = "URL", group = SOURCE_GROUP)]
    url: Option<String>,
    /// Branch to follow
    // `conflicts_with` too, here and below: clap drops a `requires` whose flag conflicts with another given one.
    #[arg(long = "default-source-branch", value_name = "BRANCH", default_value = "main", requires = URL,
        conflicts_with_all = ["git_repository", "upstream"])]
    branch: String,
    /// Secret with Flux's Git credentials
    ///
    /// The Secret must exist in the namespace of every ClusterStack that uses the default source.
    #[arg(long = "default-source-secret", value_name = "NAME", requires = URL, conflicts_with_all = ["git_repository", "upstream"])]
    secret: Option<String>,
    /// Interval at which Flux checks for new commits
    #[arg(long = "default-source-interval", value_name = "DURATION", default_value = "1m", requires = URL,
        conflicts_with_all = ["git_repository", "upstream"])]
    interval: api::Duration,
    /// Directory of the repository that has one directory per release
    #[arg(long = "default-source-path", value_name = "PATH", default_value = "releases", requires = SOURCE_GROUP)]
    path: String,
    /// Existing GitRepository to use instead of --default-source-url
    ///
    /// All ClusterStacks without spec.source share it.
    #[arg(long = "default-source-git-repository", value_name = "NAMESPACE/NAME", value_parser = repository,
        group = SOURCE_GROUP, conflicts_with = URL)]
    git_repository: Option<GitRepositoryReference>,
    /// Address of published releases (oci:// or github://), for ClusterStacks without spec.source
    ///
    /// Each of these ClusterStacks has a built-in stack repository.
    #[arg(long = "default-upstream", value_name = "ADDRESS", requires = BUILTIN_URL, group = SOURCE_GROUP,
        conflicts_with_all = [URL, "git_repository", "path"])]
    upstream: Option<String>,
    /// Use HTTP without TLS for --default-upstream
    #[arg(long = "default-upstream-insecure", value_name = "BOOL", default_value_t = false, action = ArgAction::Set,
        num_args = 0..=1, require_equals = true, default_missing_value = "true", requires = "upstream")]
    upstream_insecure: bool,
}

#[derive(Debug, Args)]
struct AccessFlags {
    /// Kubeconfig file (default: $KUBECONFIG, ~/.kube/config, or in a Pod its service account)
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig (default: the current context)
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Namespace of the operator and its Lease (default: that of the Pod or of the context)
    #[arg(long, value_name = "NAMESPACE", env = "RUNTIME_NAMESPACE")]
    runtime_namespace: Option<Namespace>,
    /// Namespace of Flux's controllers, whose Leases show whether they are alive
    #[arg(long, value_name = "NAMESPACE", default_value = "flux-system")]
    flux_namespace: Namespace,
    /// Address of source-controller to use instead of the one in the URLs of artifacts
    ///
    /// Required if the operator runs outside the cluster.
    #[arg(long, value_name = "HOST:PORT", value_parser = host_and_port)]
    source_controller_addr: Option<String>,
}

impl Flags {
    /// Converts the flags to settings.
    pub fn settings(self) -> Result<Settings, SettingsError> {
        let AccessFlags { kubeconfig, context, runtime_namespace, flux_namespace, source_controller_addr } =
            self.access;
        Ok(Settings {
            concurrent: self.concurrent,
            watch: WatchSettings {
                all_namespaces: self.watch_all_namespaces,
                label_selector: self.watch_label_selector.filter(|selector| !selector.is_empty()),
            },
            logs: LogSettings { level: self.log_level, encoding: self.log_encoding },
            metrics_addr: self.metrics_addr,
            health_addr: self.health_addr,
            election: self.election.settings()?,
            builtin: self.builtin.settings(self.defaults.builtin_url.as_deref())?,
            defaults: self.defaults.defaults()?,
            access: ClusterAccess { kubeconfig, context },
            runtime_namespace,
            flux_namespace,
            source_controller_addr,
            git_memory_limit: self.git_memory_limit,
        })
    }
}

impl BuiltinFlags {
    fn settings(self, url: Option<&str>) -> Result<Option<BuiltinSettings>, SettingsError> {
        let Some(url) = url else { return Ok(None) };
        let is_encrypted = url.starts_with("https://");
        if self.cert_dir.is_some() && !is_encrypted {
            return Err(SettingsError::Scheme(url.to_owned()));
        }
        Ok(Some(BuiltinSettings {
            address: self.addr,
            directory: self.path,
            size_limit: self.size_limit,
            certificate: self.cert_dir,
            is_encrypted,
            insecure_auth: self.insecure_auth,
        }))
    }
}

impl ElectionFlags {
    fn settings(&self) -> Result<Option<LeaseSettings>, SettingsError> {
        let (duration, renew_deadline, retry_period) = (
            self.leader_election_lease_duration,
            self.leader_election_renew_deadline,
            self.leader_election_retry_period,
        );
        if duration <= renew_deadline || renew_deadline <= retry_period {
            return Err(SettingsError::Election(duration, renew_deadline, retry_period));
        }
        let settings = LeaseSettings { duration, renew_deadline, retry_period };
        Ok(self.enable_leader_election.then_some(settings))
    }
}

impl DefaultFlags {
    /// Returns the flags of which a command knows that they are given; the others require one of them.
    #[must_use]
    pub fn flags(&self) -> [(&'static str, bool); 6] {
        [
            ("--no-cross-namespace-refs", self.no_cross_namespace_refs),
            ("--default-service-account", self.default_service_account.is_some()),
            ("--default-source-url", self.source.url.is_some()),
            ("--default-source-git-repository", self.source.git_repository.is_some()),
            ("--default-upstream", self.source.upstream.is_some()),
            ("--builtin-url", self.builtin_url.is_some()),
        ]
    }

    /// Returns the settings that the flags describe.
    pub fn defaults(self) -> Result<Defaults, SettingsError> {
        let Self { no_cross_namespace_refs, default_service_account, builtin_url, source } = self;
        let (source, service_account) = (source.source()?, default_service_account);
        Ok(Defaults { source, service_account, no_cross_namespace_refs, builtin_url })
    }
}

impl SourceFlags {
    /// Returns the source that the flags describe.
    fn source(self) -> Result<Option<StackSource>, SettingsError> {
        let path = self.path;
        let source = match (self.url, self.git_repository, self.upstream) {
            (None, None, None) => return Ok(None),
            (None, None, Some(url)) => {
                let upstream = Upstream { insecure: self.upstream_insecure, ..Upstream::at(url) };
                StackSource { upstream: Some(upstream), ..StackSource::default() }
            }
            (_, Some(reference), _) => StackSource {
                git_repository_ref: Some(reference),
                path: Some(path),
                ..StackSource::default()
            },
            (Some(url), None, _) => {
                let branch = Some(self.branch);
                let git = GitSource {
                    url,
                    reference: Some(GitReference { branch, ..GitReference::default() }),
                    path,
                    interval: self.interval,
                    secret_ref: self.secret.map(|name| LocalReference { name }),
                    verify: None,
                    provider: None,
                    proxy_secret_ref: None,
                };
                StackSource { git: Some(git), ..StackSource::default() }
            }
        };
        match source.validate().first() {
            Some(violation) => Err(SettingsError::Source(violation.message)),
            None => Ok(Some(source)),
        }
    }
}

/// Parses a positive duration in Go's notation.
fn duration(text: &str) -> Result<Duration, String> {
    let refused = || format!("invalid duration {text:?}: expected numbers with units, such as 15s or 1m30s");
    let parsed: SignedDuration = text.parse().map_err(|_| refused())?;
    Duration::try_from(parsed).ok().filter(|duration| !duration.is_zero()).ok_or_else(refused)
}

fn repository(text: &str) -> Result<GitRepositoryReference, String> {
    let (namespace, name) = text
        .split_once('/')
        .ok_or_else(|| format!("invalid GitRepository {text:?}: expected <namespace>/<name>"))?;
    let namespace: Namespace =
        namespace.parse().map_err(|error: crate::names::NameError| error.to_string())?;
    let name: ObjectName = name.parse().map_err(|error: crate::names::NameError| error.to_string())?;
    Ok(GitRepositoryReference { name: name.to_string(), namespace: Some(namespace.to_string()) })
}

fn server_url(text: &str) -> Result<String, String> {
    let is_part = |char: char| char.is_ascii_alphanumeric() || "-.:[]/_".contains(char);
    let host = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://")).unwrap_or_default();
    if host.is_empty() || host.starts_with('/') || !host.chars().all(is_part) {
        return Err(format!(
            "invalid URL {text:?}: expected http://<host>[:<port>] or https://<host>[:<port>]"
        ));
    }
    Ok(text.to_owned())
}

fn host_and_port(text: &str) -> Result<String, String> {
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && !host.contains('/') && is_port(port) => Ok(text.to_owned()),
        _ => Err(format!("invalid address {text:?}: expected <host>:<port>")),
    }
}
