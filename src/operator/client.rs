//! The connection to the management cluster's API server.

use std::error::Error as _;
use std::path::PathBuf;
use std::time::Duration;

use kube::Client;
use kube::config::{Config, InferConfigError, KubeConfigOptions, Kubeconfig, KubeconfigError};

/// How long to wait for a connection. An API server that is there answers in milliseconds.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the API server may say nothing on a connection. Longer than a watch without any news lasts (290 s), so it
/// finds connections that are dead; requests that are waited for have timeouts of their own.
const READ_TIMEOUT: Duration = Duration::from_secs(330);

/// Which cluster, and as whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterAccess {
    /// A kubeconfig; none for `KUBECONFIG`, `~/.kube/config` or the Pod's service account, the first that is there.
    pub kubeconfig: Option<PathBuf>,
    /// A context of the kubeconfig; its current one when absent.
    pub context: Option<String>,
}

/// Why there is no connection to be had, whatever the API server says.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig that was named cannot be used.
    #[error("the kubeconfig cannot be used: {0}")]
    Kubeconfig(#[from] KubeconfigError),
    /// Neither a kubeconfig nor a service account was found.
    #[error("neither a kubeconfig nor the service account of a Pod can be used: {0}")]
    Infer(#[from] InferConfigError),
    /// The client cannot be made of what they say.
    #[error("no client can be made: {0}")]
    Client(#[from] kube::Error),
}

/// A client, and the namespace that the kubeconfig's context or the Pod is in. Nothing is sent yet.
///
/// It does not try again by itself, as kube's own default does for minutes: who asks knows how long the answer is of use.
pub async fn connect(access: &ClusterAccess) -> Result<(Client, String), ConnectError> {
    // Two TLS providers in one binary panic at the first handshake, so the one is named. Already installed is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut config = config(access).await?;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.read_timeout = Some(READ_TIMEOUT);
    config.reset_reader_on_write = true;
    config.default_retry = false;
    let namespace = config.default_namespace.clone();
    Ok((Client::try_from(config)?, namespace))
}

async fn config(access: &ClusterAccess) -> Result<Config, ConnectError> {
    let ClusterAccess { kubeconfig, context } = access;
    if kubeconfig.is_none() && context.is_none() {
        return Ok(Config::infer().await?);
    }
    let content = match kubeconfig {
        Some(path) => Kubeconfig::read_from(path)?,
        None => Kubeconfig::read()?,
    };
    let options = KubeConfigOptions { context: context.clone(), ..KubeConfigOptions::default() };
    Ok(Config::from_custom_kubeconfig(content, &options).await?)
}

/// What a failed request says, for people: the API server's own words, or every cause down to the operating system's.
/// kube's own text has neither.
#[must_use]
pub fn explain(error: &kube::Error) -> String {
    if let kube::Error::Api(status) = error {
        return format!("{} ({} {})", status.message, status.code, status.reason);
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let told = error.to_string();
        if !text.ends_with(&told) {
            text = format!("{text}: {told}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests;
