//! The dependencies of an addon: the addons of the same cluster that its settings name.

use super::ReleaseInputs;
use crate::api::{AddonSettings, Reason};
use crate::foreign::capi::Cluster;
use crate::gate::{self, Hold};
use crate::inputs::content::Content;
use crate::inputs::platform::addons_of;
use crate::names::AddonName;
use crate::release::{Addon, forms_refused, leads};

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
pub(super) fn of<'a>(
    inputs: &'a ReleaseInputs,
    cluster: &Cluster,
    addon: &Addon,
) -> Result<Vec<Needed<'a>>, Hold> {
    let names = declared(inputs, addon.name.as_str());
    let by_settings = inputs.stack.flux.addons.get(addon.name.as_str());
    let invalid = |name: &str, why: String| {
        let is_of_settings = |settings: &AddonSettings| settings.depends_on.iter().any(|of| of == name);
        let message = if by_settings.is_some_and(is_of_settings) {
            format!("spec.flux.addons.{}.dependsOn {why}", addon.name)
        } else {
            format!("dependsOn of {} in {} {why}", addon.name, addon.path)
        };
        Hold { reason: Reason::DependencyInvalid, message }
    };
    let name = addon.name.as_str();
    let is_circle = || leads(declared(inputs, name), name, |of| declared(inputs, of));
    if let Some(first) = names.first().filter(|_| addon.is_chart() && is_circle()) {
        return Err(invalid(first, "leads back to the addon itself".to_owned()));
    }
    let find = |name: &&str| {
        let invalid = |why| invalid(name, why);
        let needed = inputs.release.addons.iter().find(|other| other.name.as_str() == *name);
        let needed = needed.ok_or_else(|| {
            let release = &inputs.release.name;
            invalid(format!(
                "names {name:?}, which {release} and the components of the ClusterStack do not have"
            ))
        })?;
        if !addons_of(inputs.release, cluster).any(|other| other.name == needed.name) {
            let why = "which this Cluster does not have: clusterSelector is not for its labels";
            return Err(invalid(format!("names {name:?}, {why}")));
        }
        if let Some(why) = forms_refused(addon.is_chart(), &needed.name, needed.is_chart()) {
            return Err(invalid(format!("names {name:?}: {why}")));
        }
        if let Some(broken) = gate::component(needed) {
            let message = format!("waits for {name}, which cannot be used: {}", broken.message);
            return Err(Hold { message, ..broken });
        }
        let content = inputs.contents.addons.get(&needed.name);
        let content =
            content.ok_or_else(|| invalid(format!("names {name:?}, whose content is not known")))?;
        Ok(Needed { addon: &needed.name, content })
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
