//! The settings of the operator.

mod flags;

use std::num::NonZeroUsize;

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
