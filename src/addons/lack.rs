//! The reason why there is no release to deliver to a Cluster.

use crate::api::{ClusterAddon, Reason};
use crate::foreign::capi::{ClassReference, Cluster};
use crate::rollup::{ConditionStatus, Report};

/// The state of the release of a Cluster's class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Installation {
    /// Its `ClusterStackRelease` exists.
    Installed,
    /// Its `ClusterStack` has not installed it, for [this reason](crate::rollup::missing_release).
    Missing(Report),
    /// Its `ClusterStack` has not reported on it yet.
    Unknown,
    /// No `ClusterStack` in the namespace of the class has it.
    NoStack,
}

/// The reason why there is no release to deliver to a Cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// The release of the class, or the name of a class without a release; empty if the Cluster has no class.
    pub desired: String,
    /// The report about the release.
    pub report: Report,
    /// Whether the Cluster's `ClusterStack` is known not to have the release: this is then also reported for a Cluster
    /// without any delivery.
    pub is_certain: bool,
}

/// Returns the reason why there is no release to deliver to a Cluster; `None` if there is one, or while it is unknown.
/// `release` does not matter for a class that is not of a release.
#[must_use]
pub fn lack(cluster: &Cluster, addon: Option<&ClusterAddon>, release: Installation) -> Option<Lack> {
    let has_addons =
        addon.and_then(|addon| addon.status.as_ref()).is_some_and(|status| !status.addons.is_empty());
    let stays = if has_addons { "; the installed addons stay as they are" } else { "" };
    let unknown = |desired: String, message: &str| {
        let message = format!("{message}{stays}");
        let report = Report::new(ConditionStatus::False, Reason::ClassUnknown.as_str(), &message);
        Some(Lack { desired, report, is_certain: false })
    };
    let Some(class) = cluster.class() else {
        let message = "the Cluster has no class (spec.topology), so it belongs to no ClusterStack";
        return unknown(String::new(), message);
    };
    let named = class.release();
    let ClassReference { namespace, name } = class;
    let Some(named) = named else {
        let message =
            format!("the Cluster's class {namespace}/{name} is not the class of a cluster stack release");
        return unknown(name, &message);
    };
    match release {
        Installation::Installed | Installation::Unknown => None,
        Installation::NoStack => unknown(
            named.to_string(),
            &format!("no ClusterStack in namespace {namespace} has the Cluster's class {name}"),
        ),
        Installation::Missing(report) => {
            let message = format!("{}{stays}", report.message);
            let is_certain = report.status == ConditionStatus::False;
            let report = Report::new(report.status, &report.reason, &message);
            Some(Lack { desired: named.to_string(), report, is_certain })
        }
    }
}
