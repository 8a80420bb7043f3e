//! The addons of a release in its status.

use crate::api::cluster_stack_release::ReleaseAddon;
use crate::release::{Addon, Chart, Release};

/// The addons in the release's order.
pub(super) fn of(release: &Release) -> Vec<ReleaseAddon> {
    release.addons.iter().map(|addon| one(release, addon)).collect()
}

fn one(release: &Release, addon: &Addon) -> ReleaseAddon {
    let chart = addon.chart();
    let known = chart.map(Chart::known_as);
    let dependency = chart.and_then(|chart| chart.dependencies.first());
    let stages = release.stages.iter();
    let hooks = stages.filter(|(_, stages)| stages.iter().any(|stage| stage.addon == addon.name));
    let fields = addon.template.iter().flat_map(|source| source.template.fields());
    ReleaseAddon {
        name: addon.name.to_string(),
        kind: Some(if addon.is_chart() { "Chart" } else { "Manifests" }.to_owned()),
        version: known.as_ref().map(|known| known.version.clone()),
        app_version: known.and_then(|known| known.app_version),
        chart_name: chart.map(|chart| chart.name.clone()),
        chart_version: chart.map(|chart| chart.version.clone()),
        dependency: dependency.map(|chart| format!("{} {}", chart.name, chart.version)),
        digest: Some(addon.digest.to_string()),
        hooks: hooks.map(|(hook, _)| hook.as_str().to_owned()).collect(),
        template: fields.map(ToString::to_string).collect(),
    }
}
