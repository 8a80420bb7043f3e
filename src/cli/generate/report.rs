//! Reports what the output of `stackflux generate` leaves out, and why.

use std::collections::BTreeSet;

use crate::api::ClusterStack;
use crate::cli::terminal;
use crate::inputs::ClusterInputs;
use crate::inputs::stack::Stack;
use crate::names::{AddonName, Key, ReleaseName};
use crate::plan::{Plan, held_by_operator};
use crate::release::{Action, Addon, Release};
use crate::subscription::offered;

/// Reports what a plan leaves out.
pub(super) fn report(warnings: &[String], plan: &Plan) {
    warnings.iter().for_each(terminal::warning);
    for held in plan.held() {
        let addon = held.addon.as_ref().map(|addon| format!(" addon {addon}")).unwrap_or_default();
        terminal::waiting(format!(
            "Cluster {}/{}{addon} is held: {}: {}",
            held.namespace, held.cluster, held.hold.reason, held.hold.message
        ));
    }
}

/// Returns the warning about a Cluster whose class is of no planned release.
pub(super) fn skipped(stack: &Stack, ClusterInputs { cluster, .. }: &ClusterInputs) -> String {
    let why = cluster.class().map_or_else(
        || "it has no class".to_owned(),
        |class| {
            format!(
                "class {}/{} is not of a release planned for namespace {}",
                class.namespace, class.name, stack.namespace
            )
        },
    );
    format!("skipping Cluster {}/{}: {why}", cluster.namespace(), cluster.name())
}

/// Returns the warnings about settings of a `ClusterStack` that name nothing: versions without a release among the
/// `known` ones, and addons that no planned release has.
pub(super) fn about_settings<'a>(
    stack: &ClusterStack,
    known: Option<&[ReleaseName]>,
    planned: impl Iterator<Item = &'a Release>,
) -> Vec<String> {
    let key = Key::of(stack);
    let missing = offered(&stack.spec, None).into_iter();
    let missing = missing.filter(|name| known.is_some_and(|known| !known.contains(name))).map(|name| {
        let version = name.version();
        format!("spec.versions of ClusterStack {key} has {version}, but the stack repository has no release {name}")
    });
    let components = stack.spec.components.repositories.iter().flat_map(|repository| &repository.components);
    let addons: BTreeSet<&str> = { planned.flat_map(|release| &release.addons) }
        .map(|addon| addon.name.as_str())
        .chain(components.map(|component| component.name.as_str()))
        .collect();
    let unknown = stack.spec.flux.addons.keys().filter(|name| !addons.contains(name.as_str())).map(|name| {
        let has = addons.iter().copied().collect::<Vec<_>>().join(", ");
        format!(
            "spec.flux.addons of ClusterStack {key} has {name}, but the planned releases have the addons {has}"
        )
    });
    missing.chain(unknown).collect()
}

/// Returns the warnings about planned releases.
pub(super) fn about_releases<'a>(releases: impl Iterator<Item = &'a Release> + Clone) -> Vec<String> {
    let packed = releases.clone().filter(|release| release.packed).map(|release| {
        let name = &release.name;
        format!("{name} is packed: Flux finds its charts only if the stack repository has it unpacked")
    });
    let waits = releases.clone().flat_map(|release| {
        release.waits.iter().map(|wait| {
            let (name, of, hook) = (&release.name, &wait.addon, wait.hook.as_str());
            format!("{name}: {} of {of} at {hook} is ignored, as spec.flux.waits says", wait.field)
        })
    });
    let staged = releases.filter_map(|release| {
        let addons = deleted(release);
        let (name, listed) = (&release.name, addons.join(", "));
        (!addons.is_empty()).then(|| {
            format!(
                "{name}: stages delete {listed}; the output has what a cluster has when all stages have ended"
            )
        })
    });
    packed.chain(staged).chain(waits).collect()
}

/// Returns the warnings about what addons wait for and that no Flux object can say.
pub(super) fn about_dependencies(stack: &Stack, release: &Release) -> Vec<String> {
    let of = |addon: &Addon| {
        let needed = held_by_operator(stack, release, addon);
        let needed: Vec<&str> = needed.into_iter().map(AddonName::as_str).collect();
        (!needed.is_empty()).then(|| {
            let (name, of, needed) = (&release.name, &addon.name, needed.join(" and "));
            format!(
                "{name}: {of} waits for {needed} only with the operator: dependsOn of Flux cannot express it"
            )
        })
    };
    release.addons.iter().filter_map(of).collect()
}

/// Returns the addons that a stage deletes, each once: only the operator runs through stages.
fn deleted(release: &Release) -> Vec<String> {
    let stages = release.stages.values().flatten().filter(|stage| stage.action == Action::Delete);
    let addons: BTreeSet<&AddonName> = stages.map(|stage| &stage.addon).collect();
    addons.into_iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_that_name_nothing_are_reported() {
        let stack: ClusterStack = serde_json::from_value(json!({
            "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack",
            "metadata": {"name": "demo", "namespace": "stacks"},
            "spec": {
                "provider": "docker", "name": "demo", "kubernetesVersion": "1.34", "versions": ["v1", "v9"],
                "flux": {"addons": {"cnii": {"preset": "stateless"}}},
            },
        }))
        .unwrap();
        let known = ["docker-demo-1-34-v1".parse().unwrap()];
        let versions = "spec.versions of ClusterStack stacks/demo has v9, but the stack repository has no release \
            docker-demo-1-34-v9";
        let addons = "spec.flux.addons of ClusterStack stacks/demo has cnii, but the planned releases have the \
            addons ";
        assert_eq!(about_settings(&stack, Some(&known), std::iter::empty()), [versions, addons]);
        assert_eq!(about_settings(&stack, None, std::iter::empty()), [addons]);
    }
}
