//! `clusteraddon.yaml`: the addons to apply or delete at each moment of a cluster's life.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::{AddonName, words};

use super::components::Components;
use super::document::{Document, Entry, Value};
use super::files::{Files, Limits};
use super::finding::{Findings, Reason};
use super::hook::Hook;
use super::{CLUSTER_ADDON, COMPONENTS};

/// The file whose presence selects the multi-stage form.
pub(super) const FILE: &str = "clusteraddon.yaml";

/// Maximum number of addons that a hint names.
const MAX_NAMES: usize = 20;

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
    /// The condition that must be true before the action.
    pub wait_before: Option<Wait>,
    /// The condition that must be true after the action, before the next stage begins.
    pub wait_after: Option<Wait>,
}

impl Stage {
    /// Whether it applies that addon.
    #[must_use]
    pub fn applies(&self, addon: &AddonName) -> bool {
        self.addon == *addon && self.action == Action::Apply
    }
}

/// A condition on objects of the workload cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wait {
    /// The objects, each with its name in the expression.
    pub objects: Vec<WaitObject>,
    /// One CEL expression over all keys.
    pub expression: String,
}

/// An object that a wait reads.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitObject {
    /// The variable in the expression.
    pub key: String,
    /// `apiVersion`.
    pub api_version: String,
    /// `kind`.
    pub kind: String,
    /// The object's name.
    pub name: String,
    /// The object's namespace; `None` for kinds that have none.
    pub namespace: Option<String>,
}

/// Reads all stages by hook. The flag says whether they are complete: `false`, with findings, if one has an error and
/// is left out. `None` if the release is of the single-chart form.
pub(super) fn read(
    files: &Files,
    components: &Components,
    limits: &Limits,
    findings: &mut Findings,
) -> Option<(BTreeMap<Hook, Vec<Stage>>, bool)> {
    files.get(FILE)?;
    let mut own = Findings::default();
    let mut addons = files.directories(CLUSTER_ADDON);
    addons.extend(components.names.iter().map(AddonName::as_str));
    let stages = read_hooks(files, Some(&addons), limits, &mut own);
    let complete = !own.has_errors();
    findings.extend(own);
    Some((stages, complete))
}

/// Reads the stages in the file, whether their addons exist or not. `None` if the release is of the single-chart form.
pub(super) fn read_alone(
    files: &Files,
    limits: &Limits,
    findings: &mut Findings,
) -> Option<BTreeMap<Hook, Vec<Stage>>> {
    files.get(FILE)?;
    Some(read_hooks(files, None, limits, findings))
}

/// The names of directories and components; `None` if they are not known.
type Known<'a> = Option<&'a BTreeSet<&'a str>>;

fn read_hooks(
    files: &Files,
    known: Known<'_>,
    limits: &Limits,
    findings: &mut Findings,
) -> BTreeMap<Hook, Vec<Stage>> {
    let mut stages = BTreeMap::new();
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
        stages.insert(hook, read_hook(&entry.value, known, findings));
    }
    stages
}

fn read_hook(list: &Value<'_>, known: Known<'_>, findings: &mut Findings) -> Vec<Stage> {
    let mut stages = Vec::new();
    let mut seen = BTreeSet::new();
    for item in list.items(findings) {
        let Some(stage) = read_stage(&item, known, findings) else { continue };
        if !seen.insert((stage.addon.clone(), stage.action)) {
            let message = format!("the hook lists {} with {} twice", stage.addon, stage.action.as_str());
            findings.push(item.warning(Reason::DuplicateStage, message));
        }
        stages.push(stage);
    }
    stages
}

fn read_stage(item: &Value<'_>, known: Known<'_>, findings: &mut Findings) -> Option<Stage> {
    let entries = item.entries(findings);
    report_unknown(&entries, &["name", "action", "waitForPreCondition", "waitForPostCondition"], findings);
    let addon = read_addon(item, known, findings);
    let action = read_action(item, findings);
    let wait_before = item.get("waitForPreCondition").map(|wait| read_wait(&wait, findings));
    let wait_after = item.get("waitForPostCondition").map(|wait| read_wait(&wait, findings));
    let flat = |wait: Option<Option<Wait>>| wait.flatten();
    Some(Stage {
        addon: addon?,
        action: action?,
        wait_before: flat(wait_before),
        wait_after: flat(wait_after),
    })
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

fn read_wait(wait: &Value<'_>, findings: &mut Findings) -> Option<Wait> {
    report_unknown(&wait.entries(findings), &["objects", "conditions"], findings);
    let expression = wait.required("conditions", Reason::InvalidField, findings);
    let list = wait.get("objects").map(|objects| objects.items(findings)).unwrap_or_default();
    if list.is_empty() {
        findings.push(wait.error(Reason::InvalidField, "the wait has no objects to look at"));
    }
    let mut objects: Vec<WaitObject> = Vec::new();
    let mut keys = BTreeSet::new();
    for item in list {
        let Some(object) = read_object(&item, findings) else { continue };
        if !keys.insert(object.key.clone()) {
            let message = format!("two objects of the wait have the key {:?}", object.key);
            findings.push(item.error(Reason::InvalidField, message));
        }
        objects.push(object);
    }
    Some(Wait { objects, expression: expression? })
}

fn read_object(item: &Value<'_>, findings: &mut Findings) -> Option<WaitObject> {
    report_unknown(&item.entries(findings), &["key", "apiVersion", "kind", "name", "namespace"], findings);
    let key = item.required("key", Reason::InvalidField, findings);
    if let Some(key) = key.as_ref().filter(|key| !is_variable(key)) {
        let message =
            format!("invalid CEL variable {key:?}: use letters, digits and '_', but no digit at its start");
        findings.push(item.error(Reason::InvalidField, message));
    }
    let api_version = item.required("apiVersion", Reason::InvalidField, findings);
    let kind = item.required("kind", Reason::InvalidField, findings);
    let name = item.required("name", Reason::InvalidField, findings);
    let namespace = item.optional("namespace", findings).filter(|namespace| !namespace.is_empty());
    Some(WaitObject { key: key?, api_version: api_version?, kind: kind?, name: name?, namespace })
}

fn is_variable(key: &str) -> bool {
    !key.starts_with(|first: char| first.is_ascii_digit())
        && key.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
}

fn report_unknown(entries: &[Entry<'_>], known: &[&str], findings: &mut Findings) {
    for entry in entries {
        entry.check_known(known, findings);
    }
}
