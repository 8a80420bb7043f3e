//! Whether a `ClusterStack` uses a release that has no errors of its own.

use std::borrow::Cow;

use crate::api::WaitHandling;
use crate::api::cluster_stack::UpgradeGate;
use crate::inputs::platform::with_components;
use crate::inputs::stack::Stack;
use crate::names::AddonName;
use crate::release::{Addon, Finding, Findings, Hook, Reason, Release};

/// Returns a release with the components of its `ClusterStack`, unless the release cannot be used with the settings.
pub fn accept<'a>(stack: &Stack, release: &'a Release) -> Result<Cow<'a, Release>, Findings> {
    let mut findings = Findings::default();
    if stack.flux.waits == WaitHandling::Refuse {
        findings.extend(release.waits.iter().map(|wait| wait.finding.clone()));
    }
    let whole = with_components(stack, release);
    if stack.upgrade_gate == UpgradeGate::Enforce {
        check_dependencies(stack, &whole, &mut findings);
    }
    if findings.has_errors() { Err(findings) } else { Ok(whole) }
}

/// Reports what moves before an upgrade and waits for what moves only after it: the upgrade would wait for ever.
fn check_dependencies(stack: &Stack, release: &Release, findings: &mut Findings) {
    let is_first = |name: &AddonName| release.hooks_of(name).any(|hook| hook == Hook::BeforeClusterUpgrade);
    for addon in release.addons.iter().filter(|addon| is_first(&addon.name)) {
        for (place, needed) in dependencies(stack, addon) {
            // Names that nothing has are reported at the addon, which others do not wait for.
            let late = release
                .addons
                .iter()
                .find(|other| other.name.as_str() == needed)
                .filter(|needed| !is_first(&needed.name));
            if late.is_some_and(|late| late.name != addon.name) {
                let message = format!(
                    "{} moves before an upgrade of the cluster, and {needed} only after it: neither would move",
                    addon.name
                );
                findings.push(Finding::error(Reason::DependencyInvalid, &place, message));
            }
        }
    }
}

/// Returns the names in `dependsOn` of an addon in the `ClusterStack`, each with its place. A release has checked its own.
fn dependencies<'a>(stack: &'a Stack, addon: &'a Addon) -> Vec<(String, &'a str)> {
    let settings = stack.flux.addons.get(addon.name.as_str());
    let settings = settings.into_iter().flat_map(|settings| &settings.depends_on);
    let place = format!("spec.flux.addons.{}.dependsOn", addon.name);
    let mut found: Vec<_> = settings.map(|name| (place.clone(), name.as_str())).collect();
    let own = addon.component().filter(|component| component.platform.is_some());
    let own = own.into_iter().flat_map(|component| &component.depends_on);
    let place = format!("spec.components: dependsOn of {}", addon.name);
    found.extend(own.map(|name| (place.clone(), name.as_str())));
    found
}
