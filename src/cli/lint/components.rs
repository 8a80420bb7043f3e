//! Lints the components of a `ClusterStack`, beside the releases that it is for.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use super::run::Linted;
use crate::api::{ClusterStack, WaitHandling};
use crate::cli::error::CliError;
use crate::cli::objects;
use crate::inputs::platform::{AddonsOfReleases, ComponentsState, check};
use crate::inputs::stack::Stack;
use crate::names::ReleaseName;
use crate::release::{ComponentForm, Finding, Findings, Reason};
use crate::subscription;

/// Lints the `ClusterStack` in a file against the releases that were linted.
/// Conditions of stages are warnings in the releases that it is for, if it ignores them.
pub(super) fn lint(file: &Path, releases: &mut [Linted]) -> Result<Linted, CliError> {
    let settings =
        ClusterStack::from_yaml(&objects::read_file(file)?).map_err(|error| CliError::io(file, error))?;
    let stack = stack(&settings)?;
    if stack.flux.waits == WaitHandling::Ignore {
        let is_for = |name: &ReleaseName| subscription::is_of(&settings.spec, name);
        for linted in releases.iter_mut().filter(|linted| linted.release.as_ref().is_some_and(is_for)) {
            let findings = std::mem::take(&mut linted.findings);
            linted.findings = findings.as_warnings(Reason::WaitNotSupported);
        }
    }
    let of_stack = releases.iter().filter_map(|linted| Some((linted.release.as_ref()?, &linted.addons)));
    let of_stack: BTreeMap<_, _> =
        of_stack.filter(|(name, _)| subscription::is_of(&settings.spec, name)).collect();
    let offered = subscription::offered(&settings.spec, Some(&of_stack.keys().copied().cloned().collect()));
    let form = |is_chart: bool| if is_chart { ComponentForm::Chart } else { ComponentForm::Manifests };
    let addons: AddonsOfReleases<'_> = of_stack
        .into_iter()
        .filter(|(name, _)| offered.contains(name))
        .map(|(name, addons)| (name, addons.iter().map(|(addon, of)| (addon, Some(form(*of)))).collect()))
        .collect();
    let findings = findings(&check(&stack, &addons));
    Ok(Linted { release: None, place: file.to_owned(), addons: BTreeMap::new(), findings })
}

/// Reads a `ClusterStack`. Its components do not depend on the `GitRepository` that it may refer to.
fn stack(settings: &ClusterStack) -> Result<Stack, CliError> {
    let (namespace, name) = Stack::source_key(settings, None).unwrap_or_default();
    let any = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": {"name": name, "namespace": namespace}, "spec": {"url": "https://git.example.org/stacks.git"},
    });
    Ok(Stack::new(settings, None, std::iter::once(&any))?)
}

fn findings(state: &ComponentsState) -> Findings {
    let mut findings = Findings::default();
    for problem in &state.problems {
        findings.push(Finding::error(Reason::ComponentInvalid, "", problem));
    }
    for mutable in &state.mutable {
        let message = format!("{mutable}: no gate holds what that brings, and no diff or promotion shows it");
        findings
            .push(Finding::warning(Reason::MutableReference, "", message).hint("name a commit or a digest"));
    }
    for (name, has_same_form) in &state.replaced {
        let message = if *has_same_form {
            format!(
                "a component takes the place of the addon {name}: under the same Helm release, another chart fails on \
                 selectors that cannot be changed"
            )
        } else {
            format!(
                "a component takes the place of the addon {name} in another form: the chart or the manifests of before are \
                 uninstalled"
            )
        };
        let hint = "try it in a cluster that has the addon";
        findings.push(Finding::warning(Reason::AddonReplaced, "", message).hint(hint));
    }
    findings
}
