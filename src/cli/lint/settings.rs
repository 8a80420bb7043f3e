//! Lints the settings of single addons in a `ClusterStack`, beside the releases that it is for.

use std::collections::{BTreeMap, BTreeSet};

use super::run::Linted;
use crate::api::ClusterStack;
use crate::gate;
use crate::inputs::platform::with_components;
use crate::inputs::stack::Stack;
use crate::names::AddonName;
use crate::plan::overlaps::overlaps;
use crate::release::skeleton::skeleton;
use crate::release::{AddonKind, Finding, Findings, Reason, Release};
use crate::subscription;

/// Returns what is wrong with the settings of the addons of a release, and what its values templates make of them. A Cluster is
/// not known, so the paths are those that are written in a template, also under a condition.
///
/// `encrypted` has the addons of manifests that are encrypted with SOPS, each with a file of it that is.
pub(super) fn of_addons(
    stack: &Stack,
    release: &Release,
    encrypted: &BTreeMap<AddonName, String>,
) -> Findings {
    let mut findings = Findings::default();
    for addon in &with_components(stack, release).addons {
        let file = encrypted.get(&addon.name).filter(|_| addon.kind == AddonKind::Manifests);
        let settings = stack.flux.addons.get(addon.name.as_str());
        let decryption = settings.and_then(|settings| settings.decryption.as_ref());
        if let Some(file) = file.filter(|_| decryption.is_none()) {
            let message = format!(
                "{}: {file} is encrypted with SOPS, and spec.flux.addons.{}.decryption is missing: Flux applies ciphertext, or \
                 refuses the file",
                release.name, addon.name
            );
            let hint = "set decryption, such as {provider: sops, secretRef: {name: sops-age}}";
            findings.push(Finding::warning(Reason::DecryptionMissing, "", message).hint(hint));
        }
        for problem in gate::settings::problems(&stack.flux, addon) {
            let message = format!("{}: {}: {}", release.name, problem.field, problem.message);
            findings.push(Finding::error(Reason::SettingsInvalid, "", message));
        }
        let settings = stack.flux.addons.get(addon.name.as_str()).filter(|_| addon.is_chart());
        let Some((settings, source)) = settings.zip(addon.template.as_ref()) else { continue };
        for overlap in overlaps(settings, &skeleton(source.template.source())) {
            let message = format!("{}: spec.flux.addons.{}: {overlap}", release.name, addon.name);
            findings.push(Finding::warning(Reason::ValueOverridden, "", message));
        }
    }
    findings
}

/// Returns the settings of addons that no release of the `ClusterStack` has. A release that cannot be used may have the addon.
pub(super) fn of_unknown_addons(settings: &ClusterStack, releases: &[Linted]) -> Findings {
    let mut findings = Findings::default();
    let is_of = |linted: &&Linted| {
        linted.release.as_ref().is_some_and(|name| subscription::is_of(&settings.spec, name))
    };
    let contents: Option<Vec<&Release>> =
        releases.iter().filter(is_of).map(|linted| linted.content.as_ref()).collect();
    let Some(contents) = contents.filter(|contents| !contents.is_empty()) else { return findings };
    let addons: BTreeSet<&str> =
        contents.iter().flat_map(|release| &release.addons).map(|addon| addon.name.as_str()).collect();
    let hint = format!(
        "correct the name: the releases have {}",
        addons.iter().copied().collect::<Vec<_>>().join(", ")
    );
    for message in gate::settings::without_addon(&settings.spec, &addons) {
        findings.push(Finding::warning(Reason::AddonUnknown, "", message).hint(&hint));
    }
    findings
}
