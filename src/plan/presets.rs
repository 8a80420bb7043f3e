//! The settings of a `HelmRelease`: a preset, overridden by the user's settings.
//!
//! Every setting whose default in Flux is dangerous for vital parts of a cluster is written out.

use std::borrow::Cow;

use crate::api::{AddonSettings, DriftDetection as Mode, FluxSettings, Preset};
use crate::foreign::flux::helm::{
    DriftDetection, Ignore, Install, InstallRemediation, Strategy, Target, Upgrade, UpgradeRemediation,
};
use crate::names::AddonName;

/// Number of revisions that Helm keeps.
pub(super) const MAX_HISTORY: u32 = 3;
/// Interval of a pinned source and of its charts: a commit does not change.
pub(super) const PINNED_INTERVAL: &str = "24h";
/// Interval at which Flux compares objects from plain manifests.
pub(super) const INTERVAL: &str = "10m";
/// Time from a failure to the next attempt.
pub(super) const RETRY_INTERVAL: &str = "1m";
/// Maximum duration of uploading and importing a node image.
pub(super) const IMAGE_TIMEOUT: &str = "20m";
/// Maximum time for which one install holds a worker of helm-controller. Short, so that an addon that waits for another
/// one always releases its worker.
const INSTALL_TIMEOUT: &str = "2m";
/// Attempts after the first failed upgrade, and after the first failed install of a stateless addon.
const RETRIES: u32 = 2;

/// Certificates that controllers write into objects of a chart: not drift.
const INJECTED: &[Ignore] = &[
    Ignore { paths: &["/spec/caBundle"], target: Target { kind: "APIService" } },
    Ignore {
        paths: &["/spec/conversion/webhook/clientConfig/caBundle"],
        target: Target { kind: "CustomResourceDefinition" },
    },
];

/// The settings of one `HelmRelease`.
pub(super) struct Effective<'a> {
    pub(super) interval: Cow<'a, str>,
    pub(super) timeout: Cow<'a, str>,
    preset: Preset,
    drift_detection: Mode,
    pub(super) wait: bool,
}

/// Returns the settings of an addon: its own take precedence over the `ClusterStack`'s, and those over the preset's.
pub(super) fn addon<'a>(flux: &'a FluxSettings, name: &AddonName) -> Effective<'a> {
    let own = flux.addons.get(name.as_str());
    let timeout = own.and_then(|own| own.timeout.as_ref()).unwrap_or(&flux.timeout);
    Effective {
        interval: flux.interval.as_str().into(),
        timeout: timeout.as_str().into(),
        preset: own.and_then(|own| own.preset).unwrap_or(flux.preset),
        drift_detection: own.and_then(|own| own.drift_detection).unwrap_or(Mode::Enabled),
        wait: own.and_then(|own: &AddonSettings| own.wait).unwrap_or(true),
    }
}

/// Returns the settings of a cluster class: Flux applies it in the management cluster and never uninstalls it after a
/// failure.
pub(super) fn cluster_class(flux: &FluxSettings) -> Effective<'_> {
    Effective {
        interval: flux.interval.as_str().into(),
        timeout: flux.timeout.as_str().into(),
        preset: Preset::Infrastructure,
        drift_detection: Mode::Enabled,
        wait: true,
    }
}

impl Effective<'_> {
    pub(super) fn install(&self) -> Install<'_> {
        let retry = Strategy { name: "RetryOnFailure", retry_interval: RETRY_INTERVAL };
        let (strategy, remediation) = match self.preset {
            // Remediation of a failed install is an uninstall: never for a CNI.
            Preset::Infrastructure => (Some(retry), None),
            Preset::Stateless => (None, Some(InstallRemediation { retries: RETRIES })),
        };
        Install {
            create_namespace: false,
            crds: "CreateReplace",
            timeout: INSTALL_TIMEOUT,
            strategy,
            remediation,
            disable_wait: !self.wait,
        }
    }

    pub(super) fn upgrade(&self) -> Upgrade {
        Upgrade {
            // Flux's default skips CRDs on upgrade.
            crds: "CreateReplace",
            cleanup_on_fail: true,
            // SCS' wrapper charts are renamed with every Kubernetes minor; Flux's default uninstalls a renamed chart.
            chart_name_change_strategy: "InPlaceUpdate",
            remediation: UpgradeRemediation {
                retries: RETRIES,
                strategy: "rollback",
                remediate_last_failure: true,
            },
            disable_wait: !self.wait,
        }
    }

    pub(super) fn drift_detection(&self) -> DriftDetection {
        let mode = match self.drift_detection {
            Mode::Enabled => "enabled",
            Mode::Warn => "warn",
            Mode::Disabled => "disabled",
        };
        DriftDetection { mode, ignore: INJECTED }
    }
}
