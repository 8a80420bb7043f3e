//! Holds the charts that a helm-controller that is too old would uninstall.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Snapshot;
use super::facts::{Available, Facts, Target};
use crate::api::Reason;
use crate::foreign::capi::text;
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::definition::Renaming;
use crate::foreign::flux::observed::{FluxObject, KindStatus};
use crate::gate::Hold;
use crate::names::AddonName;
use crate::plan::PlannedObject;
use crate::release::Addon;

/// Takes out of the plan the charts whose name changes, unless helm-controller upgrades such a release in place: the addons keep
/// what is installed.
pub(super) fn hold_renamed(facts: &mut Facts) {
    let Target::Available(available) = &facts.target else { return };
    let (reason, why) = match &facts.snapshot.renaming {
        Renaming::InPlace => return,
        Renaming::Uninstall { version } => (Reason::FluxTooOld, too_old(version.as_deref())),
        Renaming::Unknown(why) => {
            (Reason::FluxVersionUnknown, format!("{why}, so that Flux may be older than 2.9"))
        }
    };
    let hold = |installed: &str, next: &str| Hold {
        reason,
        message: format!(
            "{why}: helm-controller would uninstall chart {installed} before it installs {next}, with everything that the \
             chart has created; the addon keeps what is installed until Flux is upgraded to 2.9 or later"
        ),
    };
    let of = |addon: &Addon| {
        let (installed, next) = renamed(&facts.snapshot, available, addon)?;
        Some((addon.name.clone(), hold(&installed, &next)))
    };
    let holds: BTreeMap<AddonName, Hold> = available.release.addons.iter().filter_map(of).collect();
    let cluster = facts.cluster;
    if let (false, Target::Available(available)) = (holds.is_empty(), &mut facts.target) {
        Arc::make_mut(&mut available.plan).hold_addons(cluster, holds);
    }
}

fn too_old(version: Option<&str>) -> String {
    let version = version.map_or_else(String::new, |version| format!(" of {version}"));
    format!("the HelmRelease CRD{version} has no field chartNameChangeStrategy, which Flux has since 2.9")
}

/// Returns the names of the installed chart and of the next one if they differ. The name of a component's chart is not known before
/// Flux has fetched it: another source or revision of it may have another name.
fn renamed(snapshot: &Snapshot, available: &Available, addon: &Addon) -> Option<(String, String)> {
    let planned = available.planned().find(|planned| planned.addon() == addon.name.as_str())?;
    let found = snapshot.get(FluxKind::HelmRelease.as_str(), &planned.id.name)?;
    let installed = installed(found)?;
    let next = match addon.chart() {
        Some(chart) => chart.name.clone(),
        None if has_same_source(found, planned) => return None,
        None => format!("one of another source, whose name is not known yet ({})", source(planned)),
    };
    (installed != next).then(|| (installed.to_owned(), next))
}

/// Returns the name of the chart that Helm has installed for an object.
fn installed(object: &FluxObject) -> Option<&str> {
    let KindStatus::HelmRelease(status) = &object.status else { return None };
    status.history.first().map(|release| release.chart_name.as_str()).filter(|name| !name.is_empty())
}

fn has_same_source(found: &FluxObject, planned: &PlannedObject) -> bool {
    found.refers_to.source == source(planned)
}

/// Returns the name of the object with the chart.
fn source(planned: &PlannedObject) -> &str {
    text(&planned.value, &["spec", "chartRef", "name"])
}
