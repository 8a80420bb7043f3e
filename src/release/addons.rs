//! The addons of a release: charts or plain manifests, and the template of their values.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::AddonName;
use gotemplate::Template;

use super::components::Components;
use super::digest::Digest;
use super::document::read_text;
use super::duplicates;
use super::files::{Files, Limits};
use super::finding::{Finding, Findings, Reason};
use super::hook::Hook;
use super::stages::{Action, Stage};
use super::{Addon, AddonKind, CLUSTER_ADDON, COMPONENTS, Chart, ValuesTemplate};

/// The values template of all addons that have no template of their own.
pub(super) const COMMON_TEMPLATE: &str = "cluster-addon-values.yaml";
/// The values template of one addon, in its directory.
pub(super) const OWN_TEMPLATE: &str = "overwrite.yaml";

/// Reads the addons that a stage applies, in the order in which stages name them first. Without complete stages every
/// directory and component counts as an addon, so that all findings are reported together.
pub(super) fn read_staged(
    files: &Files,
    stages: Option<&BTreeMap<Hook, Vec<Stage>>>,
    mut components: Components,
    limits: &mut Limits,
    findings: &mut Findings,
) -> Vec<Addon> {
    let directories = files.directories(CLUSTER_ADDON);
    let doubles = components.usable.iter().filter(|(name, _)| directories.contains(name.as_str()));
    doubles.for_each(|(_, listed)| findings.push(listed.also_directory.clone()));
    let names = if let Some(stages) = stages {
        report_without_stage(files, &components, stages, findings);
        applied(stages)
    } else {
        let directories = directories.into_iter().filter_map(|name| name.parse().ok());
        directories.chain(components.names.iter().cloned()).collect()
    };
    let mut addons = Vec::new();
    for name in names {
        let path = format!("{CLUSTER_ADDON}/{name}");
        addons.extend(if components.names.contains(&name) {
            components.usable.remove(&name).map(|listed| listed.addon)
        } else {
            read_addon(files, name, path, limits, findings)
        });
    }
    addons
}

/// Lists the addons that a stage applies, in the order in which stages name them first.
pub(super) fn applied(stages: &BTreeMap<Hook, Vec<Stage>>) -> Vec<AddonName> {
    let mut seen = BTreeSet::new();
    let applies = stages.values().flatten().filter(|stage| stage.action == Action::Apply);
    applies.map(|stage| &stage.addon).filter(|name| seen.insert(name.as_str())).cloned().collect()
}

fn report_without_stage(
    files: &Files,
    components: &Components,
    stages: &BTreeMap<Hook, Vec<Stage>>,
    findings: &mut Findings,
) {
    let with_stage: BTreeSet<&str> = stages.values().flatten().map(|stage| stage.addon.as_str()).collect();
    let unnamed = components.usable.iter().filter(|(name, _)| !with_stage.contains(name.as_str()));
    unnamed.for_each(|(_, listed)| findings.push(listed.without_stage.clone()));
    for directory in files.directories(CLUSTER_ADDON).difference(&with_stage) {
        let path = format!("{CLUSTER_ADDON}/{directory}");
        let message = "no stage of clusteraddon.yaml names this addon: it is not installed";
        let hint = format!("add it to a hook of clusteraddon.yaml, or remove {path}");
        findings.push(Finding::warning(Reason::AddonWithoutStage, &path, message).hint(hint));
    }
}

/// Reads the addons of the single-chart form: the chart, which may be missing if there are components, and these.
pub(super) fn read_single(
    files: &Files,
    components: Components,
    limits: &mut Limits,
    findings: &mut Findings,
) -> Vec<Addon> {
    let mut addons = Vec::new();
    if files.get(&format!("{CLUSTER_ADDON}/Chart.yaml")).is_some() {
        let name = CLUSTER_ADDON.parse().ok();
        let path = CLUSTER_ADDON.to_owned();
        addons.extend(name.and_then(|name| read_addon(files, name, path, limits, findings)));
    } else if files.get(COMPONENTS).is_none() {
        let message = "the release has neither clusteraddon.yaml nor a chart in cluster-addon/";
        let hint = "clusteraddon.yaml selects the multi-stage form, one directory per addon";
        findings.push(Finding::error(Reason::MissingFile, "clusteraddon.yaml", message).hint(hint));
    }
    for (name, listed) in components.usable {
        if name.as_str() == CLUSTER_ADDON {
            findings.push(listed.also_directory);
        } else {
            addons.push(listed.addon);
        }
    }
    addons
}

fn read_addon(
    files: &Files,
    name: AddonName,
    path: String,
    limits: &mut Limits,
    findings: &mut Findings,
) -> Option<Addon> {
    let digest = Digest::of(files, &path);
    if files.get(&format!("{path}/Chart.yaml")).is_none() {
        let own = format!("{path}/{OWN_TEMPLATE}");
        if files.get(&own).is_some() {
            let message = "no Chart.yaml: an addon of plain manifests takes no values, and Flux would apply this file as a manifest";
            let hint = format!("add a Chart.yaml to make {path} a chart, or remove the file");
            findings.push(Finding::error(Reason::InvalidTemplate, &own, message).hint(hint));
        }
        return Some(Addon { name, kind: AddonKind::Manifests, path, digest, template: None });
    }
    duplicates::check(files, &path, limits, findings);
    let template = read_template(files, &path, limits, findings);
    let kind = AddonKind::Chart(Box::new(Chart::read(files, &path, limits, findings)?));
    Some(Addon { name, kind, path, digest, template })
}

/// Reads the values template of the chart in this directory. The common template is parsed for each of its charts; its
/// findings are reported once, because equal findings are.
fn read_template(
    files: &Files,
    path: &str,
    limits: &Limits,
    findings: &mut Findings,
) -> Option<ValuesTemplate> {
    let own = format!("{path}/{OWN_TEMPLATE}");
    let file = if files.get(&own).is_some() { own } else { COMMON_TEMPLATE.to_owned() };
    let source = read_text(files, &file, limits.yaml_file, findings)?;
    match Template::parse(&file, source) {
        Ok(template) => Some(ValuesTemplate { file, template }),
        Err(error) => {
            findings.push(Finding::of_template(&file, source, &error));
            None
        }
    }
}
