//! Whether a `ClusterStack` uses a release that has no errors of its own.

use std::borrow::Cow;

use crate::api::WaitHandling;
use crate::inputs::platform::with_components;
use crate::inputs::stack::Stack;
use crate::names::AddonName;
use crate::release::{self, Addon, Finding, Findings, Hook, Reason, Release};

/// Returns a release with the components of its `ClusterStack`, unless the release cannot be used with the settings.
pub fn accept<'a>(stack: &Stack, release: &'a Release) -> Result<Cow<'a, Release>, Findings> {
    let mut findings = Findings::default();
    if stack.flux.waits == WaitHandling::Refuse {
        findings.extend(release.waits.iter().map(|wait| wait.finding.clone()));
    }
    let whole = with_components(stack, release);
    check_dependencies(stack, &whole, &mut findings);
    if findings.has_errors() { Err(findings) } else { Ok(whole) }
}

/// Reports what waits for an addon that moves only after it, or that does not stay: it would never move, with or without the
/// gate.
fn check_dependencies(stack: &Stack, release: &Release, findings: &mut Findings) {
    for addon in &release.addons {
        for (place, needed) in dependencies(stack, addon) {
            // Names that nothing has are reported at the addon, which others do not wait for.
            let needed = release.addons.iter().find(|other| other.name.as_str() == needed);
            let needed = needed.filter(|needed| needed.name != addon.name);
            if let Some(message) = needed.and_then(|needed| conflict(release, &addon.name, &needed.name)) {
                findings.push(Finding::error(Reason::DependencyInvalid, &place, message));
            }
        }
    }
}

/// Returns why an addon that waits for another one of a release with all its components could never move.
fn conflict(release: &Release, addon: &AddonName, needed: &AddonName) -> Option<String> {
    let is_first = |name: &AddonName| release.hooks_of(name).any(|hook| hook == Hook::BeforeClusterUpgrade);
    if is_first(addon) && !is_first(needed) {
        return Some(format!(
            "{addon} moves before an upgrade of the cluster, and {needed} only after it: neither would move"
        ));
    }
    release::conflict(&release.stages, addon, needed)
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
