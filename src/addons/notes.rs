//! Says what else is to be known about an addon, besides its state.

use super::Available;
use crate::foreign::capi::field;
use crate::foreign::flux::observed::HelmNames;
use crate::plan::{self, PlannedObject};
use crate::release::{Addon, Release};

/// Says what else is to be known about an addon.
pub(super) fn notes(available: &Available, addon: &Addon, planned: Option<&PlannedObject>) -> Option<String> {
    let kept = planned.and_then(|planned| kept_names(available, addon, planned));
    let overlaps = planned.map_or_else(Vec::new, |_| overlaps(available, addon));
    let notes = kept.into_iter().chain(ignored_waits(available.release, addon)).chain(overlaps);
    let notes: Vec<String> = notes.collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// Says which paths the values template of an addon and its settings both give.
fn overlaps(available: &Available, addon: &Addon) -> Vec<String> {
    let settings = available.stack.flux.addons.get(addon.name.as_str());
    let settings = settings.filter(|of| !of.values.is_empty() || !of.values_from.is_empty());
    let (Some(settings), Some(template)) = (settings, &addon.template) else { return Vec::new() };
    let rendered = plan::values(template, &available.inputs);
    rendered.map_or_else(|_| Vec::new(), |rendered| plan::overlaps::overlaps(settings, &rendered))
}

/// Says which conditions of its stages an addon does not wait for. A release with conditions is used only if they are ignored.
fn ignored_waits(release: &Release, addon: &Addon) -> Option<String> {
    let waits = release.waits.iter().filter(|wait| wait.addon == addon.name);
    let waits: Vec<String> = waits.map(|wait| format!("{} at {}", wait.field, wait.hook.as_str())).collect();
    (!waits.is_empty()).then(|| format!("ignores {}, as spec.flux.waits says", waits.join(" and ")))
}

/// Says that a Helm release keeps its names, if the settings give it others.
fn kept_names(available: &Available, addon: &Addon, planned: &PlannedObject) -> Option<String> {
    let kept = HelmNames::of(field(&planned.value, &["spec"])?)?;
    let HelmNames { release, storage_namespace, target_namespace } = &kept;
    let setting = if addon.platform().is_some() { "spec.components" } else { "spec.flux.adopt" };
    let wanted = plan::helm_names(available.stack, available.release, addon);
    (kept != wanted).then(|| {
        format!(
            "keeps Helm release {storage_namespace}/{release} with namespace {target_namespace}, because Flux would uninstall \
             it for {}/{} with namespace {}, which {setting} gives",
            wanted.storage_namespace, wanted.release, wanted.target_namespace
        )
    })
}
