//! Findings that concern several releases of one cluster class: shared objects, and addons in two forms.

use std::collections::{BTreeMap, BTreeSet};

use super::run::Linted;
use crate::names::{AddonName, ReleaseName};
use crate::release::{Finding, Reason};

/// Adds the findings that depend on the other releases of a class.
pub(super) fn add_cross_release(all: &mut [Linted]) {
    unversioned(all);
    two_forms(all);
}

/// Warns about an addon that is a chart in one release and manifests in the previous release that has it.
fn two_forms(all: &mut [Linted]) {
    let mut known: BTreeMap<ReleaseName, BTreeMap<AddonName, bool>> = BTreeMap::new();
    for linted in all.iter() {
        known.extend(linted.release.clone().map(|name| (name, linted.addons.clone())));
    }
    for linted in all {
        let Some(name) = &linted.release else { continue };
        let before = || known.range(..name).rev().filter(|(other, _)| other.prefix() == name.prefix());
        for (addon, is_chart) in &linted.addons {
            let other = before().find_map(|(other, addons)| Some((other, *addons.get(addon)?)));
            if let Some((other, _)) = other.filter(|(_, was_chart)| was_chart != is_chart) {
                linted.findings.push(in_two_forms(addon, *is_chart, other));
            }
        }
    }
}

fn in_two_forms(addon: &AddonName, is_chart: bool, other: &ReleaseName) -> Finding {
    let (here, there) = if is_chart { ("a chart", "manifests") } else { ("manifests", "a chart") };
    let message = format!(
        "addon {addon} is {here} here, and {there} in {other}: moving a Cluster between them uninstalls the addon \
         first, and deletes the custom resources of its CRDs"
    );
    let hint = "give the addon another name, or exclude its CustomResourceDefinitions from the uninstall";
    Finding::warning(Reason::AddonInTwoForms, &format!("cluster-addon/{addon}"), message).hint(hint)
}

/// Adds, to every finding about an unversioned object, the other releases of the class that have the same object.
fn unversioned(all: &mut [Linted]) {
    let mut having: BTreeMap<_, BTreeSet<ReleaseName>> = BTreeMap::new();
    for linted in all.iter() {
        let Some(name) = &linted.release else { continue };
        for finding in linted.findings.iter() {
            having.entry(object(name, finding)).or_default().insert(name.clone());
        }
    }
    for linted in all {
        let Some(name) = &linted.release else { continue };
        let findings = std::mem::take(&mut linted.findings);
        linted.findings.extend(findings.into_iter().map(|mut finding| {
            let others = having.get(&object(name, &finding)).into_iter().flatten();
            let others: Vec<String> =
                others.filter(|other| *other != name).map(ToString::to_string).collect();
            if finding.reason == Reason::UnversionedObject && !others.is_empty() {
                finding.message = format!("{}; it is in {} as well", finding.message, others.join(", "));
            }
            finding
        }));
    }
}

/// Returns the identity of the object that a finding is about: the class, the kind (in the message) and the name as
/// written.
fn object(release: &ReleaseName, finding: &Finding) -> (String, Reason, String, Option<String>) {
    let written = finding.text.as_ref().map(|text| text.trim().to_owned());
    (release.prefix(), finding.reason, finding.message.clone(), written)
}
