//! The flags of `stackflux operator`, called as those of Flux's controllers where these have them.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};
use jiff::SignedDuration;

use super::{Settings, WatchSettings};
use crate::api::git_commit::LocalReference;
use crate::api::{self, GitReference, GitRepositoryReference, GitSource, StackSource};
use crate::names::{Namespace, ObjectName};
use crate::runtime::client::ClusterAccess;
use crate::runtime::health::ListenAddress;
use crate::runtime::lease::LeaseSettings;
use crate::runtime::logs::{LogEncoding, LogLevel, LogSettings};

const ELECTION: &str = "Leader election";
const SOURCE: &str = "Default source";
const CLUSTER: &str = "Management cluster";

/// The flag that those about the default source's URL go with.
const URL: &str = "default-source-url";

/// Flags that do not go together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The times of the election overlap.
    #[error(
        "--leader-election-lease-duration ({0:?}) has to be longer than --leader-election-renew-deadline ({1:?}), and \
         that longer than --leader-election-retry-period ({2:?})"
    )]
    Election(Duration, Duration, Duration),
    /// The default source would be refused in a `ClusterStack` too.
    #[error("the default source cannot be used: {0}")]
    Source(&'static str),
}

/// The flags of the operator.
#[derive(Debug, Args)]
pub struct Flags {
    /// How many objects of one kind are reconciled at the same time
    #[arg(long, value_name = "NUMBER", default_value = "32")]
    concurrent: NonZeroUsize,
    /// Look at all namespaces; with =false only at the one that the operator runs in (--runtime-namespace)
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set, num_args = 0..=1,
        require_equals = true, default_missing_value = "true")]
    watch_all_namespaces: bool,
    /// Look only at ClusterStacks with these labels, such as shard=a. What belongs to a ClusterStack goes with it.
    /// Operators with different selectors elect a leader each
    #[arg(long, value_name = "SELECTOR")]
    watch_label_selector: Option<String>,
    /// How much is logged
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log_level: LogLevel,
    /// The form of log lines
    #[arg(long, value_name = "ENCODING", default_value = "json")]
    log_encoding: LogEncoding,
    /// Where /metrics is served; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS", default_value = ":8080")]
    metrics_addr: ListenAddress,
    /// Where /healthz and /readyz are served; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS", default_value = ":9440")]
    health_addr: ListenAddress,
    /// Refuse references to objects in other namespaces: a ClusterStack then takes its source from its own namespace
    /// only (the default source, which is yours, may be anywhere)
    #[arg(long, value_name = "BOOL", default_value_t = false, action = ArgAction::Set, num_args = 0..=1,
        require_equals = true, default_missing_value = "true")]
    no_cross_namespace_refs: bool,
    /// The service account that Flux applies cluster classes and node images as, for a ClusterStack without
    /// spec.flux.serviceAccountName. It has to exist in the ClusterStack's namespace
    #[arg(long, value_name = "NAME")]
    default_service_account: Option<ObjectName>,
    #[command(flatten, next_help_heading = ELECTION)]
    election: ElectionFlags,
    #[command(flatten, next_help_heading = SOURCE)]
    source: SourceFlags,
    #[command(flatten, next_help_heading = CLUSTER)]
    access: AccessFlags,
}

#[derive(Debug, Args)]
struct ElectionFlags {
    /// Only the operator that holds the Lease writes; with =false you promise that there is no other one
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set, num_args = 0..=1,
        require_equals = true, default_missing_value = "true")]
    enable_leader_election: bool,
    /// How long others wait for the leader to renew the Lease before one of them takes over
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = duration)]
    leader_election_lease_duration: Duration,
    /// How long the leader goes on without having renewed the Lease
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration)]
    leader_election_renew_deadline: Duration,
    /// The time between two tries to acquire or to renew the Lease
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration)]
    leader_election_retry_period: Duration,
}

/// The flags about the source of `ClusterStack`s that name none.
#[derive(Clone, Debug, Args)]
pub struct SourceFlags {
    /// The Git repository with the releases, for ClusterStacks without spec.source
    #[arg(id = URL, long, value_name = "URL")]
    url: Option<String>,
    /// The branch to follow
    #[arg(long = "default-source-branch", value_name = "BRANCH", default_value = "main", requires = URL)]
    branch: String,
    /// The Secret with Flux's Git credentials. It has to exist in the namespace of every ClusterStack that uses it
    #[arg(long = "default-source-secret", value_name = "NAME", requires = URL)]
    secret: Option<String>,
    /// How often Flux looks for new commits
    #[arg(long = "default-source-interval", value_name = "DURATION", default_value = "1m", requires = URL)]
    interval: api::Duration,
    /// The directory of the repository that holds one directory per release
    #[arg(long = "default-source-path", value_name = "PATH", default_value = "releases")]
    path: String,
    /// Instead of a URL: a GitRepository that exists and that all ClusterStacks without spec.source share
    #[arg(long = "default-source-git-repository", value_name = "NAMESPACE/NAME", value_parser = repository,
        conflicts_with = URL)]
    git_repository: Option<GitRepositoryReference>,
}

#[derive(Debug, Args)]
struct AccessFlags {
    /// The kubeconfig; without it those of KUBECONFIG, ~/.kube/config, or in a Pod its service account
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; without it the current one
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// The namespace that the operator runs in, where its Lease is; without it that of the Pod or of the context
    #[arg(long, value_name = "NAMESPACE", env = "RUNTIME_NAMESPACE")]
    runtime_namespace: Option<Namespace>,
    /// Namespace of Flux's controllers, whose Leases say whether they are alive
    #[arg(long, value_name = "NAMESPACE", default_value = "flux-system")]
    flux_namespace: Namespace,
    /// The address of source-controller in place of the one in the URLs of artifacts, for running outside the cluster
    #[arg(long, value_name = "HOST:PORT", value_parser = host_and_port)]
    source_controller_addr: Option<String>,
}

impl Flags {
    /// The settings that the flags say.
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
            default_source: self.source.source()?,
            access: ClusterAccess { kubeconfig, context },
            runtime_namespace,
            flux_namespace,
            source_controller_addr,
            no_cross_namespace_refs: self.no_cross_namespace_refs,
            default_service_account: self.default_service_account,
        })
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

impl SourceFlags {
    /// The source that they say.
    pub fn source(self) -> Result<Option<StackSource>, SettingsError> {
        let path = self.path;
        let source = match (self.url, self.git_repository) {
            (None, None) => return Ok(None),
            (_, Some(reference)) => StackSource {
                git: None,
                git_repository_ref: Some(reference),
                path: Some(path),
                upstream: None,
            },
            (Some(url), None) => {
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
                StackSource { git: Some(git), git_repository_ref: None, path: None, upstream: None }
            }
        };
        match source.validate().first() {
            Some(violation) => Err(SettingsError::Source(violation.message)),
            None => Ok(Some(source)),
        }
    }
}

/// A time that is more than nothing, as Go writes it.
fn duration(text: &str) -> Result<Duration, String> {
    let refused = || format!("{text:?} is not a duration: expected numbers with units, such as 15s or 1m30s");
    let parsed: SignedDuration = text.parse().map_err(|_| refused())?;
    Duration::try_from(parsed).ok().filter(|duration| !duration.is_zero()).ok_or_else(refused)
}

fn repository(text: &str) -> Result<GitRepositoryReference, String> {
    let (namespace, name) = text
        .split_once('/')
        .ok_or_else(|| format!("{text:?} is not <namespace>/<name> of a GitRepository"))?;
    let namespace: Namespace =
        namespace.parse().map_err(|error: crate::names::NameError| error.to_string())?;
    let name: ObjectName = name.parse().map_err(|error: crate::names::NameError| error.to_string())?;
    Ok(GitRepositoryReference { name: name.to_string(), namespace: Some(namespace.to_string()) })
}

fn host_and_port(text: &str) -> Result<String, String> {
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && !host.contains('/') && is_port(port) => Ok(text.to_owned()),
        _ => Err(format!("{text:?} is not <host>:<port>")),
    }
}
