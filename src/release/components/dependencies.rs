//! The addons of the release that components wait for.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::AddonName;
use crate::release::document::Value;
use crate::release::finding::{Finding, Findings, Reason};
use crate::release::{Addon, CLUSTER_ADDON, Files};

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

    /// Reports the dependencies of addons that can never be fulfilled: Flux would wait for ever.
    pub(in crate::release) fn check(&self, addons: &[Addon], files: &Files, findings: &mut Findings) {
        let directories = files.directories(CLUSTER_ADDON);
        for addon in addons {
            for (name, finding) in self.0.get(&addon.name).into_iter().flatten() {
                let needed = addons.iter().find(|other| other.name == *name);
                // An addon that is not usable has findings of its own.
                let is_elsewhere = || directories.contains(name.as_str()) || self.0.contains_key(name);
                let message = match needed {
                    None if is_elsewhere() => continue,
                    None => format!("the release has no addon {name}"),
                    Some(_) if !addon.is_chart() => "manifests cannot wait for another addon".to_owned(),
                    Some(needed) if !needed.is_chart() => {
                        format!("a chart cannot wait for manifests, and {name} has no chart")
                    }
                    Some(_) if *name == addon.name => format!("{name} waits for itself"),
                    Some(_) if self.leads(name, &addon.name) => {
                        format!("{name} waits for {}: neither can be installed first", addon.name)
                    }
                    Some(_) => continue,
                };
                findings.push(Finding { message, ..finding.clone() });
            }
        }
    }

    /// Whether the dependencies of one addon lead to another one.
    fn leads(&self, from: &AddonName, to: &AddonName) -> bool {
        let (mut next, mut seen) = (vec![from], BTreeSet::new());
        while let Some(name) = next.pop() {
            if name == to {
                return true;
            }
            if seen.insert(name) {
                next.extend(self.0.get(name).into_iter().flatten().map(|(needed, _)| needed));
            }
        }
        false
    }
}
