//! What the operator was told when it was started.

mod flags;

use std::num::NonZeroUsize;

pub use flags::{Flags, SettingsError, SourceFlags};

use crate::api::StackSource;
use crate::names::{Namespace, ObjectName};
use crate::runtime::client::ClusterAccess;
use crate::runtime::health::ListenAddress;
use crate::runtime::lease::LeaseSettings;
use crate::runtime::logs::LogSettings;

/// The settings of the process. What each means in full is the help text of its flag.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How many objects of one kind are reconciled at the same time.
    pub concurrent: NonZeroUsize,
    /// Which objects are looked at.
    pub watch: WatchSettings,
    /// What is logged.
    pub logs: LogSettings,
    /// Where metrics are served.
    pub metrics_addr: ListenAddress,
    /// Where `/healthz` and `/readyz` are served.
    pub health_addr: ListenAddress,
    /// How the leader is elected; none: there is no other operator.
    pub election: Option<LeaseSettings>,
    /// The source of a `ClusterStack` that has none.
    pub default_source: Option<StackSource>,
    /// The management cluster.
    pub access: ClusterAccess,
    /// The namespace that the operator runs in; none: that of the kubeconfig's context or of the Pod.
    pub runtime_namespace: Option<Namespace>,
    /// The namespace of Flux's controllers.
    pub flux_namespace: Namespace,
    /// `host:port` in place of the one in the URLs of Flux's artifacts.
    pub source_controller_addr: Option<String>,
    /// Whether references to objects in other namespaces are refused.
    pub no_cross_namespace_refs: bool,
    /// The service account that Flux applies as for a `ClusterStack` that names none.
    pub default_service_account: Option<ObjectName>,
}

/// Which objects are looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchSettings {
    /// Those of all namespaces, or of the runtime namespace alone.
    pub all_namespaces: bool,
    /// Only the `ClusterStack`s that have these labels, as `kubectl --selector` takes them.
    pub label_selector: Option<String>,
}

#[cfg(test)]
mod tests;
