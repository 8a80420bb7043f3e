//! Lints the components of a `ClusterStack`, beside the releases that it is for.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use super::run::Linted;
use super::settings::{of_addons, of_unknown_addons};
use crate::api::ClusterStack;
use crate::cli::error::CliError;
use crate::cli::objects;
use crate::cli::stack_settings::{names_repository, with_repository};
use crate::inputs::acceptance::accept;
use crate::inputs::platform::{AddonsOfReleases, ComponentsState, check};
use crate::inputs::stack::Stack;
use crate::release::{ComponentForm, Finding, Findings, Reason};
use crate::subscription;

/// Lints the `ClusterStack` in a file against the releases that were linted, whose findings follow its settings.
pub(super) fn lint(file: &Path, releases: &mut [Linted]) -> Result<Linted, CliError> {
    let text = objects::read_file(file)?;
    let settings = ClusterStack::from_yaml(&text).map_err(|error| CliError::io(file, error))?;
    let stack = stack(&settings)?;
    let mut refused = Findings::default();
    for linted in releases.iter_mut() {
        refused.extend(refused_by(&stack, &settings, linted));
        let release = linted.content.as_ref();
        let release = release.filter(|release| subscription::is_of(&settings.spec, &release.name));
        refused
            .extend(release.map(|release| of_addons(&stack, release, &linted.encrypted)).unwrap_or_default());
    }
    refused.extend(of_unknown_addons(&settings, releases));
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
    let mut findings = findings(&check(&stack, &addons));
    findings.extend(refused);
    let findings = placed(&findings, &text);
    let (addons, encrypted) = (BTreeMap::new(), BTreeMap::new());
    Ok(Linted { release: None, place: file.to_owned(), addons, encrypted, content: None, findings })
}

/// Adds the line in the file of the `ClusterStack` to each finding whose message names a field.
fn placed(findings: &Findings, text: &str) -> Findings {
    let place = |finding: &Finding| {
        let words = finding.message.split_whitespace().map(|word| word.trim_end_matches([':', ',', ';']));
        let field = words.into_iter().find(|word| word.starts_with("spec."));
        match field.and_then(|field| ClusterStack::place_in(text, field)) {
            Some((line, column)) => finding.clone().at(line, column, text),
            None => finding.clone(),
        }
    };
    let mut found = Findings::default();
    found.extend(findings.iter().map(place));
    found
}

/// Returns the errors in a `ClusterStack` for which it does not use a release that it is for. Conditions of stages become
/// warnings in a release that is used without them.
fn refused_by(stack: &Stack, settings: &ClusterStack, linted: &mut Linted) -> Findings {
    let Some(release) = linted.content.as_ref().filter(|of| subscription::is_of(&settings.spec, &of.name))
    else {
        return Findings::default();
    };
    let refused = accept(stack, release).err().unwrap_or_default();
    let (of_release, of_stack): (Vec<_>, Vec<_>) =
        refused.into_iter().partition(|finding| finding.reason == Reason::WaitNotSupported);
    let place = |finding: Finding| {
        Finding::error(finding.reason, "", format!("{}: {}: {}", release.name, finding.file, finding.message))
    };
    let mut findings = Findings::default();
    findings.extend(of_stack.into_iter().map(place));
    if of_release.is_empty() {
        linted.findings = std::mem::take(&mut linted.findings).as_warnings(Reason::WaitNotSupported);
    }
    findings
}

/// Reads a `ClusterStack`. No finding depends on its stack repository, which the operator may serve, or know as a default, or
/// which may be a `GitRepository` in a cluster: any other one stands in for it.
fn stack(settings: &ClusterStack) -> Result<Stack, CliError> {
    const ANY: &str = "https://git.example.org/stacks.git";
    if !names_repository(settings) {
        return Ok(Stack::new(&with_repository(settings.clone(), ANY)?, None, std::iter::empty())?);
    }
    let (namespace, name) = Stack::source_key(settings, None).unwrap_or_default();
    let any = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": {"name": name, "namespace": namespace}, "spec": {"url": ANY},
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finding_has_the_line_of_its_field() {
        let text = "# Another object comes first.\nkind: Namespace\n---\nkind: ClusterStack\nspec:\n  flux:\n    addons:\n      \
                    cni:\n        dependsOn: [monitoring]\n";
        let place = |message: &str| {
            let mut findings = Findings::default();
            findings.push(Finding::error(Reason::SettingsInvalid, "", message));
            let found = placed(&findings, text);
            let found = found.iter().next().unwrap();
            assert_eq!(found.message, message);
            (found.line, found.text.clone())
        };
        let at = |line: u64, text: &str| (Some(line), Some(text.to_owned()));
        let depends = at(9, "        dependsOn: [monitoring]");
        for (message, expected) in [
            ("docker-demo-1-34-v1: spec.flux.addons.cni.dependsOn: neither would move", depends.clone()),
            ("spec.flux.addons.cni.decryption is missing", depends),
            ("spec.flux.addons.csi has no effect", at(8, "      cni:")),
            ("the component csi has no chart", (None, None)),
        ] {
            assert_eq!(place(message), expected, "{message}");
        }
        assert_eq!(ClusterStack::place_in("kind: Namespace\n", "spec.flux"), None);
    }
}
