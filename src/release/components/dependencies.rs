//! The addons of the release that components wait for.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::AddonName;
use crate::release::document::Value;
use crate::release::finding::{Finding, Findings, Reason};
use crate::release::{Addon, CLUSTER_ADDON, Files, Hook, Stage, conflict};

/// An addon that a component waits for, and the finding at its place, without a message.
type Needed = (AddonName, Finding);

/// The dependencies of all components, also of those that are not usable.
#[derive(Default)]
pub(in crate::release) struct Dependencies(BTreeMap<AddonName, Vec<Needed>>);

impl Dependencies {
    /// Reads the dependencies of a component, and returns their names.
    pub(super) fn read(
        &mut self,
        component: &AddonName,
        item: &Value<'_>,
        findings: &mut Findings,
    ) -> Vec<AddonName> {
        let needed = self.0.entry(component.clone()).or_default();
        for value in item.get("dependsOn").map(|list| list.items(findings)).unwrap_or_default() {
            let Some(text) = value.text(findings) else { continue };
            match text.parse() {
                Ok(name) => needed.push((name, value.error(Reason::DependencyInvalid, ""))),
                Err(error) => findings.push(value.error(Reason::InvalidName, format!("{error}"))),
            }
        }
        needed.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Reports the dependencies of addons that can never be fulfilled. Without complete stages all
    /// addons count as those of the same moment.
    pub(in crate::release) fn check(
        &self,
        addons: &[Addon],
        stages: Option<&BTreeMap<Hook, Vec<Stage>>>,
        files: &Files,
        findings: &mut Findings,
    ) {
        let first = stages.and_then(|stages| stages.get(&Hook::BeforeClusterUpgrade));
        let is_first = |name: &AddonName| first.is_some_and(|first| first.iter().any(|it| it.applies(name)));
        let directories = files.directories(CLUSTER_ADDON);
        for addon in addons {
            for (name, finding) in self.0.get(&addon.name).into_iter().flatten() {
                let needed = addons.iter().find(|other| other.name == *name);
                // An addon that is not usable has findings of its own.
                let is_elsewhere = || directories.contains(name.as_str()) || self.0.contains_key(name);
                let message = match needed {
                    None if is_elsewhere() => continue,
                    None => format!("the release has no addon {name}"),
                    Some(_) if *name == addon.name => format!("{name} waits for itself"),
                    Some(_) if self.leads(name, &addon.name) => {
                        format!("{name} waits for {}: neither can be installed first", addon.name)
                    }
                    Some(_) if is_first(&addon.name) && !is_first(name) => format!(
                        "{} moves before an upgrade of the cluster, and {name} only after it: neither would move",
                        addon.name
                    ),
                    Some(_) => match stages.and_then(|stages| conflict(stages, &addon.name, name)) {
                        Some(conflict) => conflict,
                        None => continue,
                    },
                };
                findings.push(Finding { message, ..finding.clone() });
            }
        }
    }

    /// Whether the dependencies of one addon lead to another one.
    fn leads(&self, from: &AddonName, to: &AddonName) -> bool {
        leads(vec![from.as_str()], to.as_str(), |name| {
            let needed = self.0.iter().find(|(addon, _)| addon.as_str() == name).map(|(_, needed)| needed);
            needed.into_iter().flatten().map(|(needed, _)| needed.as_str()).collect()
        })
    }
}

/// Whether dependencies lead to an addon. `from` are the first ones, and `needed` returns those of an addon.
pub fn leads<'a>(mut from: Vec<&'a str>, to: &str, needed: impl Fn(&'a str) -> Vec<&'a str>) -> bool {
    let mut seen = BTreeSet::new();
    while let Some(name) = from.pop() {
        if name == to {
            return true;
        }
        if seen.insert(name) {
            from.extend(needed(name));
        }
    }
    false
}
