//! `clusteraddon.yaml`: the addons to apply or delete at each moment of a cluster's life.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::{AddonName, words};

use super::components::Components;
use super::document::{Document, Entry, Value};
use super::files::{Files, Limits};
use super::finding::{Finding, Findings, Reason};
use super::hook::Hook;
use super::{CLUSTER_ADDON, COMPONENTS};

/// The file whose presence selects the multi-stage form.
pub(super) const FILE: &str = "clusteraddon.yaml";

/// Maximum number of addons that a hint names.
const MAX_NAMES: usize = 20;

/// What takes the place of a condition.
const WAITS_HINT: &str = "an addon is ready when its workloads are: name it in dependsOn of the addon that needs it, or move \
     it in an earlier stage; spec.flux.waits: Ignore of the ClusterStack uses the release all the same";

words! {
    /// The action of a stage.
    Action {
        /// Install or upgrade the addon.
        Apply => "apply",
        /// Uninstall the addon.
        Delete => "delete",
    }
}

/// One step of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stage {
    /// The addon.
    pub addon: AddonName,
    /// The action.
    pub action: Action,
}

impl Stage {
    /// Whether it applies that addon.
    #[must_use]
    pub fn applies(&self, addon: &AddonName) -> bool {
        self.addon == *addon && self.action == Action::Apply
    }
}

/// Returns the last action on an addon in a list of stages.
#[must_use]
pub fn last_action(stages: &[Stage], addon: &AddonName) -> Option<Action> {
    stages.iter().rev().find(|stage| stage.addon == *addon).map(|stage| stage.action)
}

/// Whether a stage deletes an addon in the end: it is there only for the time of an upgrade.
#[must_use]
pub(super) fn is_deleted_in_the_end(stages: &BTreeMap<Hook, Vec<Stage>>, addon: &AddonName) -> bool {
    let hooks = [Hook::AfterClusterUpgrade, Hook::BeforeClusterUpgrade, Hook::AfterControlPlaneInitialized];
    let mut lists = hooks.into_iter().filter_map(|hook| stages.get(&hook));
    lists.find_map(|list| last_action(list, addon)) == Some(Action::Delete)
}

/// Returns why an addon that waits for another one could never move, or could not stay.
#[must_use]
pub fn conflict(
    stages: &BTreeMap<Hook, Vec<Stage>>,
    addon: &AddonName,
    needed: &AddonName,
) -> Option<String> {
    if let Some((hook, _)) = stages.iter().find(|(_, list)| is_deadlock(list, addon, needed)) {
        return Some(format!(
            "{} applies {needed} only after a deletion, which waits until {addon} is applied: neither would move",
            hook.as_str()
        ));
    }
    let is_lost = is_deleted_in_the_end(stages, needed) && !is_deleted_in_the_end(stages, addon);
    is_lost.then(|| format!("{addon} waits for {needed}, which a stage deletes in the end"))
}

/// Whether a list applies an addon before a deletion, and another one that it waits for only after that: a deletion waits until
/// all before it is applied.
fn is_deadlock(list: &[Stage], addon: &AddonName, needed: &AddonName) -> bool {
    let first = list.iter().position(|stage| stage.applies(needed));
    let of = list.iter().enumerate().filter(|(_, stage)| stage.applies(addon));
    let barrier = |at: usize| list.iter().skip(at).position(|stage| stage.action == Action::Delete);
    let mut barriers = of.filter_map(|(at, _)| Some(at + barrier(at)?));
    barriers.any(|barrier| first > Some(barrier))
}

/// The fields of a stage that name a condition on objects of the workload cluster.
const WAITS: [&str; 2] = ["waitForPreCondition", "waitForPostCondition"];

/// A condition that a stage names, which stackflux never checks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wait {
    /// The addon of the stage.
    pub addon: AddonName,
    /// The hook of the stage.
    pub hook: Hook,
    /// The field of the stage.
    pub field: &'static str,
    /// The error at its line. It stays one unless the `ClusterStack` ignores waits.
    pub finding: Finding,
}

/// The stages of a release.
#[derive(Debug, Default)]
pub(super) struct Stages {
    /// The stages of each hook, in the file's order.
    pub(super) hooks: BTreeMap<Hook, Vec<Stage>>,
    /// The conditions that they name.
    pub(super) waits: Vec<Wait>,
    /// Whether no stage is left out because of an error.
    pub(super) is_complete: bool,
}

/// Reads all stages. Each condition is an error beside those of the stages. `None` if the release is of the single-chart
/// form.
pub(super) fn read(
    files: &Files,
    components: &Components,
    limits: &Limits,
    findings: &mut Findings,
) -> Option<Stages> {
    files.get(FILE)?;
    let mut own = Findings::default();
    let mut addons = files.directories(CLUSTER_ADDON);
    addons.extend(components.names.iter().map(AddonName::as_str));
    let mut stages = read_hooks(files, Some(&addons), limits, &mut own);
    stages.is_complete = !own.has_errors();
    findings.extend(own);
    findings.extend(stages.waits.iter().map(|wait| wait.finding.clone()));
    Some(stages)
}

/// Reads the stages in the file, whether their addons exist or not. `None` if the release is of the single-chart form.
pub(super) fn read_alone(
    files: &Files,
    limits: &Limits,
    findings: &mut Findings,
) -> Option<BTreeMap<Hook, Vec<Stage>>> {
    files.get(FILE)?;
    Some(read_hooks(files, None, limits, findings).hooks)
}

/// The names of directories and components; `None` if they are not known.
type Known<'a> = Option<&'a BTreeSet<&'a str>>;

fn read_hooks(files: &Files, known: Known<'_>, limits: &Limits, findings: &mut Findings) -> Stages {
    let (mut stages, mut places) = (Stages::default(), BTreeMap::new());
    let Some(document) = Document::read(files, FILE, true, limits, findings) else { return stages };
    let root = document.root();
    let entries = root.entries(findings);
    report_unknown(
        &entries,
        &["apiVersion", "kind", "metadata", "clusterAddonVersion", "addonStages"],
        findings,
    );
    let Some(hooks) = root.present("addonStages", Reason::InvalidField, findings) else { return stages };
    for entry in hooks.entries(findings) {
        let Some(hook) = Hook::ALL.into_iter().find(|hook| hook.as_str() == entry.key) else {
            let message = format!("unknown hook {:?}: its stages are not run", entry.key);
            let hooks = Hook::ALL.map(Hook::as_str).join(", ");
            findings.push(entry.warning(Reason::UnknownHook, message).hint(format!("known hooks: {hooks}")));
            continue;
        };
        let listed = read_hook(hook, &entry.value, known, &mut stages.waits, findings);
        let (listed, found) = listed.into_iter().unzip();
        stages.hooks.insert(hook, listed);
        places.insert(hook, found);
    }
    report_conflicts(&stages.hooks, &places, findings);
    stages
}

/// Reports the addons that upgraded clusters have in the end and new clusters do not, or the other way round.
fn report_conflicts(
    hooks: &BTreeMap<Hook, Vec<Stage>>,
    places: &BTreeMap<Hook, Vec<Finding>>,
    findings: &mut Findings,
) {
    let last = |of: &[Hook]| -> BTreeMap<&AddonName, (Action, &Finding)> {
        let stages = of.iter().flat_map(|hook| hooks.get(hook).into_iter().flatten());
        let places = of.iter().flat_map(|hook| places.get(hook).into_iter().flatten());
        stages.zip(places).map(|(stage, place)| (&stage.addon, (stage.action, place))).collect()
    };
    let new = last(&[Hook::AfterControlPlaneInitialized]);
    let upgraded = last(&[Hook::BeforeClusterUpgrade, Hook::AfterClusterUpgrade]);
    for (addon, (action, place)) in upgraded {
        let Some((other, _)) = new.get(addon).filter(|(other, _)| *other != action) else { continue };
        let has = |action: Action| if action == Action::Apply { "have" } else { "do not have" };
        let message =
            format!("new clusters {} {addon} in the end, and upgraded ones {} it", has(*other), has(action));
        findings.push(Finding { message, ..place.clone() });
    }
}

/// Reads the stages of a hook, each with an error at its place, without a message.
fn read_hook(
    hook: Hook,
    list: &Value<'_>,
    known: Known<'_>,
    waits: &mut Vec<Wait>,
    findings: &mut Findings,
) -> Vec<(Stage, Finding)> {
    let mut stages = Vec::new();
    let mut seen = BTreeSet::new();
    for item in list.items(findings) {
        let Some(stage) = read_stage(&item, known, findings) else { continue };
        waits.extend(read_waits(hook, &stage.addon, &item, findings));
        if !seen.insert((stage.addon.clone(), stage.action)) {
            let message = format!("the hook lists {} with {} twice", stage.addon, stage.action.as_str());
            findings.push(item.warning(Reason::DuplicateStage, message));
        }
        let conflict =
            item.error(Reason::StageConflict, "").hint("end the hooks of new and of upgraded clusters alike");
        stages.push((stage, conflict));
    }
    stages
}

fn read_stage(item: &Value<'_>, known: Known<'_>, findings: &mut Findings) -> Option<Stage> {
    let entries = item.entries(findings);
    let [before, after] = WAITS;
    report_unknown(&entries, &["name", "action", before, after], findings);
    let addon = read_addon(item, known, findings);
    let action = read_action(item, findings);
    Some(Stage { addon: addon?, action: action? })
}

/// Reads the conditions that a stage names.
fn read_waits(hook: Hook, addon: &AddonName, item: &Value<'_>, findings: &mut Findings) -> Vec<Wait> {
    let wait = |entry: &Entry<'_>| {
        let field = WAITS.into_iter().find(|field| *field == entry.key && item.get(field).is_some())?;
        let message = format!("{field} is not supported: {addon} moves at {} without it", hook.as_str());
        let finding = entry.error(Reason::WaitNotSupported, message).hint(WAITS_HINT);
        Some(Wait { addon: addon.clone(), hook, field, finding })
    };
    item.entries(findings).iter().filter_map(wait).collect()
}

fn read_addon(item: &Value<'_>, known: Known<'_>, findings: &mut Findings) -> Option<AddonName> {
    let text = item.required("name", Reason::InvalidField, findings)?;
    let value = item.get("name")?;
    let name = match text.parse::<AddonName>() {
        Ok(name) => name,
        Err(error) => {
            findings.push(value.error(Reason::InvalidName, error.to_string()));
            return None;
        }
    };
    let Some(known) = known.filter(|known| !known.contains(name.as_str())) else {
        return Some(name);
    };
    let message = format!(
        "the stage names the addon {name}, but there is neither a directory {CLUSTER_ADDON}/{name} nor a component {name}"
    );
    let known: Vec<_> = known.iter().copied().take(MAX_NAMES).collect();
    let hint = match known.as_slice() {
        [] => format!("each addon is a directory of {CLUSTER_ADDON}/, or a component of {COMPONENTS}"),
        known => format!("existing addons: {}", known.join(", ")),
    };
    findings.push(value.error(Reason::StageWithoutDirectory, message).hint(hint));
    None
}

fn read_action(item: &Value<'_>, findings: &mut Findings) -> Option<Action> {
    let text = item.required("action", Reason::InvalidField, findings)?;
    let action = Action::ALL.into_iter().find(|action| action.as_str() == text);
    if action.is_none() {
        let message = format!("{text:?} is not an action");
        let finding = item.get("action")?.error(Reason::UnknownAction, message);
        findings.push(finding.hint("write apply or delete"));
    }
    action
}

fn report_unknown(entries: &[Entry<'_>], known: &[&str], findings: &mut Findings) {
    for entry in entries {
        entry.check_known(known, findings);
    }
}
