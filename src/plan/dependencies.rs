//! The dependencies of an addon: the addons of the same cluster that its settings name.

use std::collections::BTreeSet;

use super::ReleaseInputs;
use crate::api::Reason;
use crate::gate::Hold;
use crate::inputs::content::Content;
use crate::names::AddonName;
use crate::release::{Addon, COMPONENTS};

/// An addon that must be ready before another one.
pub(super) struct Needed<'a> {
    /// The addon.
    pub(super) addon: &'a AddonName,
    content: &'a Content,
}

impl Needed<'_> {
    /// Writes the `readyExpr` of an entry of `dependsOn`.
    ///
    /// An expression replaces Flux's own check, so it is complete: the dependency has this release's chart, and Flux has
    /// attempted exactly that chart and has finished. Flux also notes a generation as observed while an object is
    /// suspended, with the old `Ready` beside it; the last attempt distinguishes the two. Each `has` is for a dependency
    /// whose status is still empty: without it the expression fails instead of being false.
    pub(super) fn ready_expression(&self) -> String {
        format!(
            "has(dep.spec.chartRef) && dep.spec.chartRef.name == '{}' && \
             has(dep.status.lastAttemptedGeneration) && \
             dep.status.lastAttemptedGeneration == dep.metadata.generation && \
             dep.status.observedGeneration == dep.metadata.generation && has(dep.status.conditions) && \
             dep.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')",
            self.content.chart_reference().1
        )
    }
}

/// Finds the dependencies of `addon`. A dependency that can never exist is a hold: Flux would wait for ever.
pub(super) fn of<'a>(inputs: &'a ReleaseInputs, addon: &Addon) -> Result<Vec<Needed<'a>>, Hold> {
    let names = declared(inputs, addon.name.as_str());
    let by_settings = inputs.stack.flux.addons.get(addon.name.as_str());
    let place = if by_settings.is_some_and(|settings| !settings.depends_on.is_empty()) {
        format!("spec.flux.addons.{}.dependsOn", addon.name)
    } else {
        format!("dependsOn of {} in {COMPONENTS}", addon.name)
    };
    let invalid = |why: String| Hold { reason: Reason::DependencyInvalid, message: format!("{place} {why}") };
    if !names.is_empty() && !addon.is_chart() {
        return Err(invalid("is not supported: plain manifests do not wait for a HelmRelease".to_owned()));
    }
    if reaches_itself(inputs, addon) {
        return Err(invalid("leads back to the addon itself".to_owned()));
    }
    let find = |name: &&str| {
        let charts = inputs.release.addons.iter().filter(|other| other.is_chart());
        let found = charts.map(|other| &other.name).find(|other| other.as_str() == *name);
        let needed =
            found.and_then(|addon| Some(Needed { addon, content: inputs.contents.addons.get(addon)? }));
        needed.ok_or_else(|| {
            invalid(format!("names {name:?}, which is not a chart of release {}", inputs.release.name))
        })
    };
    names.iter().map(find).collect()
}

/// Returns the names of dependencies in an addon's settings, and in the list of components.
fn declared<'a>(inputs: &'a ReleaseInputs, addon: &str) -> Vec<&'a str> {
    let by_settings = inputs.stack.flux.addons.get(addon);
    let by_settings =
        by_settings.into_iter().flat_map(|settings| settings.depends_on.iter().map(String::as_str));
    let of = inputs.release.addons.iter().find(|known| known.name.as_str() == addon);
    let by_release = of.and_then(Addon::component).into_iter().flat_map(|component| &component.depends_on);
    let mut names: Vec<&str> = by_settings.collect();
    for name in by_release.map(AddonName::as_str) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn reaches_itself(inputs: &ReleaseInputs, addon: &Addon) -> bool {
    let mut seen = BTreeSet::new();
    let mut next = declared(inputs, addon.name.as_str());
    while let Some(name) = next.pop() {
        if name == addon.name.as_str() {
            return true;
        }
        if seen.insert(name) {
            next.extend(declared(inputs, name));
        }
    }
    false
}
