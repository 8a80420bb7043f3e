//! The connection to the management cluster's API server.

use std::error::Error as _;
use std::path::PathBuf;
use std::time::Duration;

use kube::Client;
use kube::config::{Cluster, Config, InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};

use crate::http::{Proxies, Proxy, ProxyError, install_tls_provider, redacted_url};

/// Timeout of a connection attempt. A reachable API server answers in milliseconds.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum silence on a connection: longer than a watch without events lasts (290 s), so that it detects dead connections.
/// Each request has its own timeout.
const READ_TIMEOUT: Duration = Duration::from_secs(330);
/// The proxy that a kubeconfig names in place of the variables that kube would read. It is removed again.
const UNUSED_PROXY: &str = "http://127.0.0.1";

/// Selects the management cluster and the credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterAccess {
    /// A kubeconfig. Defaults to the first of `KUBECONFIG`, `~/.kube/config` and the Pod's service account.
    pub kubeconfig: Option<PathBuf>,
    /// A context of the kubeconfig. Defaults to its current context.
    pub context: Option<String>,
}

/// A client, and its configuration from the kubeconfig or the Pod.
pub struct Connected {
    /// The client.
    pub client: Client,
    /// The configuration, to create further clients for the same API server.
    pub config: Config,
    /// The namespace of the kubeconfig's context, or that of the Pod.
    pub namespace: String,
    /// The URL of the API server.
    pub server: String,
}

/// A client cannot be created, whatever the API server would answer.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig is missing or invalid.
    #[error("the kubeconfig cannot be used: {}; name another one with --kubeconfig or KUBECONFIG", in_words(.0))]
    Kubeconfig(#[from] KubeconfigError),
    /// A variable that names a proxy is invalid.
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    /// The kubeconfig does not have the named context.
    #[error("the kubeconfig has no context {context:?}; it has {}", .known.join(", "))]
    Context {
        /// The context.
        context: String,
        /// The contexts of the kubeconfig.
        known: Vec<String>,
    },
    /// A Pod's service account cannot be used.
    #[error("there is no kubeconfig, and the service account of this Pod cannot be used: {0}")]
    Pod(#[from] InClusterError),
    /// The configuration does not make a client.
    #[error("cannot create a Kubernetes client: {0}")]
    Client(#[from] kube::Error),
}

/// Creates a client without sending a request.
///
/// Unlike kube's default client, which retries for minutes, this one does not retry: the caller knows how long an answer is
/// of use.
pub async fn connect(access: &ClusterAccess) -> Result<Connected, ConnectError> {
    install_tls_provider();
    let mut config = config(access).await?;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.read_timeout = Some(READ_TIMEOUT);
    config.reset_reader_on_write = true;
    config.default_retry = false;
    let namespace = config.default_namespace.clone();
    let server = match &config.proxy_url {
        Some(proxy) => format!("{} (through the proxy {})", config.cluster_url, shown(&proxy.to_string())),
        None => config.cluster_url.to_string(),
    };
    Ok(Connected { client: Client::try_from(config.clone())?, config, namespace, server })
}

/// Formats a proxy without its credentials.
fn shown(proxy: &str) -> String {
    proxy.parse().map(|url| redacted_url(&url)).unwrap_or_default().trim_end_matches('/').to_owned()
}

async fn config(access: &ClusterAccess) -> Result<Config, ConnectError> {
    let ClusterAccess { kubeconfig, context } = access;
    let is_named = kubeconfig.is_some() || context.is_some() || is_set("KUBECONFIG");
    let content = kubeconfig.as_ref().map_or_else(Kubeconfig::read, Kubeconfig::read_from);
    let mut content = match content {
        // Every Pod has this variable.
        Err(_) if !is_named && is_set("KUBERNETES_SERVICE_HOST") => return Ok(Config::incluster()?),
        content => content?,
    };
    if let Some(context) = context {
        let known: Vec<String> = content.contexts.iter().map(|known| known.name.clone()).collect();
        if !known.contains(context) {
            return Err(ConnectError::Context { context: context.clone(), known });
        }
    }
    let named = cluster(&content, context.as_deref());
    let server = named.and_then(|cluster| cluster.server.clone()).unwrap_or_default();
    let proxy = match named.and_then(|cluster| cluster.proxy_url.clone()).filter(|url| !url.is_empty()) {
        Some(named) => {
            let parsed = Proxy::parse(&named);
            Some(
                parsed
                    .map_err(|why| ProxyError { variable: "proxy-url of the kubeconfig".to_owned(), why })?,
            )
        }
        None => of_environment(&server)?,
    };
    replace_proxies(&mut content, proxy.as_ref());
    let options = KubeConfigOptions { context: context.clone(), ..KubeConfigOptions::default() };
    let mut config =
        Config::from_custom_kubeconfig(content, &options).await.map_err(|error| match error {
            KubeconfigError::ParseNoProxy(error) => {
                ProxyError { variable: "NO_PROXY".to_owned(), why: error.to_string() }.into()
            }
            KubeconfigError::ParseProxyUrl(error) => invalid_proxy(&error).into(),
            error => ConnectError::Kubeconfig(error),
        })?;
    // kube compares NO_PROXY with the proxy's own host, and knows neither ALL_PROXY nor that this machine has no proxy.
    config.proxy_url = match proxy {
        Some(proxy) => Some(proxy.url().as_str().parse().map_err(|error| invalid_proxy(&error))?),
        None => None,
    };
    Ok(config)
}

/// Gives the clusters a proxy if kube would read one: it reads the variables by itself, and fails for one that is not used, or
/// for blanks around a URL.
fn replace_proxies(kubeconfig: &mut Kubeconfig, proxy: Option<&Proxy>) {
    let is_read = |cluster: &&mut Cluster| {
        let is_named = cluster.proxy_url.as_ref().is_some_and(|url| !url.is_empty());
        is_named || is_set("HTTPS_PROXY") || is_set("https_proxy")
    };
    let url = proxy.map_or(UNUSED_PROXY, |proxy| proxy.url().as_str());
    let clusters = kubeconfig.clusters.iter_mut().filter_map(|named| named.cluster.as_mut());
    for cluster in clusters.filter(is_read) {
        cluster.proxy_url = Some(url.to_owned());
    }
}

/// Creates the error about the variable whose proxy is invalid, without its value.
fn invalid_proxy(error: &impl ToString) -> ProxyError {
    let is_invalid = |variable: &&str| {
        std::env::var(variable).is_ok_and(|value| !value.is_empty() && Proxy::parse(&value).is_err())
    };
    let variable = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
        .into_iter()
        .find(is_invalid)
        .unwrap_or("HTTPS_PROXY");
    ProxyError { variable: variable.to_owned(), why: error.to_string() }
}

/// Finds the cluster of a context, or of the current one.
fn cluster<'a>(kubeconfig: &'a Kubeconfig, context: Option<&str>) -> Option<&'a Cluster> {
    let context = context.or(kubeconfig.current_context.as_deref())?;
    let context = kubeconfig.contexts.iter().find(|named| named.name == context)?.context.as_ref()?;
    kubeconfig.clusters.iter().find(|named| named.name == context.cluster)?.cluster.as_ref()
}

/// Finds the proxy of the environment for an API server. A kubeconfig that names one has its own, as with kubectl.
fn of_environment(server: &str) -> Result<Option<Proxy>, ProxyError> {
    let Ok(server) = server.parse() else { return Ok(None) };
    Ok(Proxies::of_environment().of(&server)?.cloned())
}

/// Formats the error of a kubeconfig: kube quotes a path twice.
fn in_words(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::ReadConfig(error, path) => format!("{}: {error}", path.display()),
        error => error.to_string(),
    }
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty())
}

/// Whether a request was not answered, because the connection failed or broke.
#[must_use]
pub fn is_unanswered(error: &kube::Error) -> bool {
    matches!(error, kube::Error::HyperError(_) | kube::Error::Service(_))
}

/// Explains a failed request: the API server's message, or every cause down to the operating system's. kube's own text
/// has neither.
#[must_use]
pub fn explain(error: &kube::Error) -> String {
    if let kube::Error::Api(status) = error {
        return format!("{} ({} {})", status.message, status.code, status.reason);
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let reason = error.to_string();
        if !text.ends_with(&reason) {
            text = format!("{text}: {reason}");
        }
        cause = error.source();
    }
    text
}

/// Whether the API server refused an object because its namespace is being deleted. Every object of that namespace is refused
/// for this one cause, which is logged once.
#[must_use]
pub fn is_namespace_terminating(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else { return false };
    let causes = status.details.iter().flat_map(|details| &details.causes);
    status.code == 403 && causes.into_iter().any(|cause| cause.reason == "NamespaceTerminating")
}

#[cfg(test)]
mod tests;
