//! The dependencies of an addon: the addons of the same cluster that its settings name.

use std::collections::BTreeSet;

use super::ReleaseInputs;
use crate::api::Reason;
use crate::gate::Hold;
use crate::inputs::content::Content;
use crate::names::AddonName;
use crate::release::Addon;

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
            self.content.chart
        )
    }
}

/// Finds the dependencies of `addon`. A dependency that can never exist is a hold: Flux would wait for ever.
pub(super) fn of<'a>(inputs: &'a ReleaseInputs, addon: &Addon) -> Result<Vec<Needed<'a>>, Hold> {
    let names = declared(inputs, addon.name.as_str());
    let invalid = |why: String| Hold {
        reason: Reason::DependencyInvalid,
        message: format!("spec.flux.addons.{}.dependsOn {why}", addon.name),
    };
    if !names.is_empty() && !addon.is_chart() {
        return Err(invalid("is not supported: plain manifests do not wait for a HelmRelease".to_owned()));
    }
    if reaches_itself(inputs, addon) {
        return Err(invalid("leads back to the addon itself".to_owned()));
    }
    let find = |name: &String| {
        let charts = inputs.release.addons.iter().filter(|other| other.is_chart());
        let found = charts.map(|other| &other.name).find(|other| other.as_str() == name);
        let needed =
            found.and_then(|addon| Some(Needed { addon, content: inputs.contents.addons.get(addon)? }));
        needed.ok_or_else(|| {
            invalid(format!("names {name:?}, which is not a chart of release {}", inputs.release.name))
        })
    };
    names.iter().map(find).collect()
}

/// Returns the names of dependencies in an addon's settings.
fn declared<'a>(inputs: &'a ReleaseInputs, addon: &str) -> &'a [String] {
    inputs.stack.flux.addons.get(addon).map(|settings| settings.depends_on.as_slice()).unwrap_or_default()
}

fn reaches_itself(inputs: &ReleaseInputs, addon: &Addon) -> bool {
    let mut seen = BTreeSet::new();
    let mut next: Vec<&String> = declared(inputs, addon.name.as_str()).iter().collect();
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
