//! Reports what the output of `stackflux generate` leaves out, and why.

use std::collections::BTreeSet;

use crate::cli::terminal;
use crate::inputs::ClusterInputs;
use crate::inputs::stack::Stack;
use crate::names::AddonName;
use crate::plan::Plan;
use crate::release::{Action, Release};

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

/// Returns the warnings about planned releases.
pub(super) fn about_releases<'a>(releases: impl Iterator<Item = &'a Release> + Clone) -> Vec<String> {
    let packed = releases.clone().filter(|release| release.packed).map(|release| {
        let name = &release.name;
        format!("{name} is packed: Flux finds its charts only if the stack repository has it unpacked")
    });
    let staged = releases.filter_map(|release| {
        let addons = without_effect(release);
        let (name, listed) = (&release.name, addons.join(", "));
        (!addons.is_empty()).then(|| {
            format!(
                "{name}: conditions to wait for and the action delete have no effect yet; clusteraddon.yaml has them for {listed}"
            )
        })
    });
    packed.chain(staged).collect()
}

/// Returns the addons with stages that a plan ignores, each once: only the operator acts on the phases of a cluster's
/// life.
fn without_effect(release: &Release) -> Vec<String> {
    let stages = release.stages.values().flatten().filter(|stage| {
        stage.action == Action::Delete || stage.wait_before.is_some() || stage.wait_after.is_some()
    });
    let addons: BTreeSet<&AddonName> = stages.map(|stage| &stage.addon).collect();
    addons.into_iter().map(ToString::to_string).collect()
}
