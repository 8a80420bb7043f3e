//! The other causes of a chain: the advice is about one cause, and addons of a Cluster can fail for several.

use serde::Serialize;

use crate::api::ConditionType;
use crate::explain::step::{Role, Step};
use crate::rollup::ConditionStatus;

/// The command that explains an addon.
const WHY: &str = "stackflux why {cluster}/{addon} -n {cluster-ns}";

/// Addons that are not ready for another cause than that of the advice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OtherCause {
    /// The addons, all of which have this cause.
    pub what: String,
    /// The reason of their state.
    pub reason: String,
    /// The command that explains it.
    pub command: String,
}

/// Returns the failing addons that a path from the blocking step down to its cause is not about; none if all addons wait for
/// the blocking step.
pub(super) fn others(steps: &[Step], path: &[&Step]) -> Vec<OtherCause> {
    if path.first().is_none_or(|blocking| blocking.role == Role::Gate) {
        return Vec::new();
    }
    let is_other = |step: &&Step| {
        let addon = step.place.addon.as_deref();
        step.status == ConditionStatus::False
            && addon.is_some_and(|addon| !path.iter().any(|on| is_about(on, step, addon)))
    };
    let found = steps.iter().filter(is_other).filter_map(|step| {
        let command = step.place.fill(&[WHY]).pop()?;
        Some(OtherCause { what: step.what.clone(), reason: step.reason.clone(), command })
    });
    found.collect()
}

/// Whether a step is that of the addon, or a condition that is false because of it.
fn is_about(step: &Step, of_addon: &Step, addon: &str) -> bool {
    let sums_up = [ConditionType::ValuesRendered, ConditionType::Delivered];
    let is_same = (&step.what, &step.place.cluster) == (&of_addon.what, &of_addon.place.cluster);
    is_same || (sums_up.iter().any(|kind| kind.as_str() == step.what) && names_addon(&step.message, addon))
}

/// Whether a message that sums up addons names this one: a part of it begins with the name.
pub(super) fn names_addon(message: &str, addon: &str) -> bool {
    let is_its = |part: &str| {
        let (names, _) = part.split_once(": ").unwrap_or_default();
        let mut names = names.split(", ").flat_map(|name| name.split(" and "));
        names.any(|name| name == addon)
    };
    message.split("; ").any(is_its)
}
