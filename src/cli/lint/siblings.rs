//! What two releases of one cluster class have in common and should not.

use std::collections::{BTreeMap, BTreeSet};

use super::run::Linted;
use crate::names::ReleaseName;
use crate::release::{Finding, Reason};

/// Names, in every finding of an object without a version, the other releases of the class that have the same one.
pub(super) fn tell(all: &mut [Linted]) {
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

/// What makes two findings be about the same object: the class, the kind (in the message) and the name as it is
/// written.
fn object(release: &ReleaseName, finding: &Finding) -> (String, Reason, String, Option<String>) {
    let written = finding.text.as_ref().map(|text| text.trim().to_owned());
    (release.prefix(), finding.reason, finding.message.clone(), written)
}
