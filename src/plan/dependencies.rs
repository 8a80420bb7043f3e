//! The dependencies of an addon: the addons of the same cluster that its settings name.

use super::ReleaseInputs;
use super::stages::Course;
use crate::api::{AddonSettings, Reason};
use crate::foreign::capi::Cluster;
use crate::gate::{self, Hold};
use crate::inputs::content::Content;
use crate::inputs::overrides::Requests;
use crate::inputs::platform::addons_of;
use crate::inputs::stack::Stack;
use crate::names::AddonName;
use crate::release::{Addon, Release, leads};

/// An addon that must be ready before another one.
pub(super) struct Needed<'a> {
    /// The addon.
    pub(super) addon: &'a Addon,
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

/// Lists the addons that an addon waits for and that Flux cannot wait for until they have the planned content: Flux knows no
/// dependencies between a `HelmRelease` and a Kustomization, and none on the content of a Kustomization.
#[must_use]
pub fn held_by_operator<'a>(stack: &'a Stack, release: &'a Release, addon: &'a Addon) -> Vec<&'a AddonName> {
    let names = declared((stack, release), addon.name.as_str()).into_iter();
    let found = names.filter_map(|name| release.addons.iter().find(|other| other.name.as_str() == name));
    found.filter(|needed| !(addon.is_chart() && needed.is_chart())).map(|needed| &needed.name).collect()
}

/// Finds the dependencies of `addon`. A dependency that can never exist is a hold: the addon would wait for ever.
pub(super) fn of<'a>(
    inputs: &'a ReleaseInputs,
    (cluster, requests, course): (&Cluster, &Requests, &Course),
    addon: &Addon,
) -> Result<Vec<Needed<'a>>, Hold> {
    let declared = |name| declared((inputs.stack, inputs.release), name);
    let names = declared(addon.name.as_str());
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
    if let Some(first) = names.first().filter(|_| leads(declared(name), name, declared)) {
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
        let release = &inputs.release.name;
        if inputs.release.is_deleted_in_the_end(&needed.name)
            && course.is_absent(inputs.release, &needed.name)
        {
            return Err(invalid(format!("names {name:?}, which a stage of {release} deletes")));
        }
        if course.is_absent(inputs.release, &needed.name) {
            let message = format!("stays as it is until a stage of {release} has installed {name} again");
            return Err(Hold { reason: Reason::WaitingForStage, message });
        }
        if !addons_of(inputs.release, cluster, requests).any(|other| other.name == needed.name) {
            let why = if needed.is_for(&cluster.labels()) {
                "which this Cluster does not have: its ClusterAddonOverride does not switch that on"
            } else {
                "which this Cluster does not have: clusterSelector is not for its labels"
            };
            return Err(invalid(format!("names {name:?}, {why}")));
        }
        if let Some(broken) = gate::component(needed) {
            let message = format!("waits for {name}, which cannot be used: {}", broken.message);
            return Err(Hold { message, ..broken });
        }
        let content = inputs.contents.addons.get(&needed.name);
        let content =
            content.ok_or_else(|| invalid(format!("names {name:?}, whose content is not known")))?;
        Ok(Needed { addon: needed, content })
    };
    names.iter().map(find).collect()
}

/// Returns the names of dependencies in an addon's settings, and in the list of components.
fn declared<'a>((stack, release): (&'a Stack, &'a Release), addon: &str) -> Vec<&'a str> {
    let by_settings = stack.flux.addons.get(addon);
    let by_settings =
        by_settings.into_iter().flat_map(|settings| settings.depends_on.iter().map(String::as_str));
    let of = release.addons.iter().find(|known| known.name.as_str() == addon);
    let by_release = of.and_then(Addon::component).into_iter().flat_map(|component| &component.depends_on);
    let mut names: Vec<&str> = by_settings.collect();
    for name in by_release.map(AddonName::as_str) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
