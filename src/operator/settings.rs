//! The settings of the operator.

mod flags;

use std::num::NonZeroUsize;
use std::path::PathBuf;

pub use flags::{DefaultFlags, Flags, SettingsError};

use crate::inputs::defaults::Defaults;
use crate::names::Namespace;
use crate::runtime::client::ClusterAccess;
use crate::runtime::health::ListenAddress;
use crate::runtime::lease::LeaseSettings;
use crate::runtime::logs::LogSettings;

/// The settings of the process. The help text of each flag describes its setting in full.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Maximum number of concurrent reconciles per kind.
    pub concurrent: NonZeroUsize,
    /// The objects to watch.
    pub watch: WatchSettings,
    /// The log settings.
    pub logs: LogSettings,
    /// The address that serves metrics.
    pub metrics_addr: ListenAddress,
    /// The address that serves `/healthz` and `/readyz`.
    pub health_addr: ListenAddress,
    /// The settings of leader election; `None` if leader election is disabled.
    pub election: Option<LeaseSettings>,
    /// The settings for `ClusterStack`s that do not have their own.
    pub defaults: Defaults,
    /// The settings of the built-in stack repositories; `None` if the operator serves none.
    pub builtin: Option<BuiltinSettings>,
    /// The management cluster.
    pub access: ClusterAccess,
    /// The namespace that the operator runs in; `None`: that of the kubeconfig's context or of the Pod.
    pub runtime_namespace: Option<Namespace>,
    /// The namespace of Flux's controllers.
    pub flux_namespace: Namespace,
    /// Replacement for `host:port` in the URLs of Flux's artifacts.
    pub source_controller_addr: Option<String>,
    /// The memory in MiB for each connection to a Git server, and for all together.
    pub git_memory_limit: u32,
}

/// The built-in stack repositories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltinSettings {
    /// The address that serves them.
    pub address: ListenAddress,
    /// The directory of the repositories.
    pub directory: PathBuf,
    /// The size in MiB of all repositories above which no release is brought in.
    pub size_limit: u32,
    /// The directory with the certificate of the server; `None` for plain HTTP.
    pub certificate: Option<PathBuf>,
    /// Whether Flux reaches the server by TLS.
    pub is_encrypted: bool,
    /// Whether passwords may be sent over plain HTTP.
    pub insecure_auth: bool,
}

/// The objects to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchSettings {
    /// Whether to watch all namespaces instead of only the runtime namespace.
    pub all_namespaces: bool,
    /// Watch only the `ClusterStack`s with these labels, in the syntax of `kubectl --selector`.
    pub label_selector: Option<String>,
}

#[cfg(test)]
mod tests;
