//! The plan of `stackflux generate`, and its inputs.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Arguments, report};
use crate::addons::{ControlPlane, Upgrade};
use crate::api::Reason;
use crate::cli::error::CliError;
use crate::cli::inputs::stream;
use crate::cli::live::loaded::Loaded;
use crate::cli::live::prepared::Stacks;
use crate::cli::live::present::Present;
use crate::cli::releases::{Found, Pins, Releases};
use crate::cli::{clusters, objects};
use crate::gate::Hold;
use crate::inputs::acceptance::accept;
use crate::inputs::content::{self, Existing};
use crate::inputs::defaults::Defaults;
use crate::inputs::platform;
use crate::inputs::stack::Stack;
use crate::inputs::{ClusterInputs, ReleaseInputs};
use crate::names::ReleaseName;
use crate::plan::stages::Course;
use crate::plan::{self, Held, Plan};
use crate::release::finding::listed;
use crate::sink::layout::ClusterName;

/// Maximum number of Clusters that an error names.
const MAX_NAMED: usize = 5;

/// The inputs of a plan, except for the objects that were written before.
pub(super) enum Inputs {
    /// Files that the arguments name.
    Files(Box<Files>),
    /// The output of `stackflux inputs export`.
    Exported(Box<Present>, Box<Releases>),
}

/// Files that the arguments name.
pub(super) struct Files {
    stack: Stack,
    found: Found,
    existing: Vec<Value>,
    clusters: Vec<ClusterInputs>,
    /// The warnings about the settings.
    warnings: Vec<String>,
}

/// A plan, with the warnings about it.
pub(super) struct Planned {
    pub(super) plan: Plan,
    /// The namespace and name of the `ClusterStack`.
    pub(super) stack: String,
    /// The given Clusters that are not part of the plan.
    pub(super) elsewhere: BTreeSet<ClusterName>,
    pub(super) warnings: Vec<String>,
}

impl Inputs {
    pub(super) fn read(arguments: &Arguments) -> Result<Self, CliError> {
        let releases = Releases::open(&arguments.source)?;
        if let Some(file) = &arguments.inputs {
            return Ok(Self::Exported(Box::new(stream::read(file)?), Box::new(releases)));
        }
        let objects = objects::read(&arguments.filename)?;
        let clusters = clusters::among(&objects)?;
        let wanted = wanted(arguments, &releases, &clusters)?;
        let Some(first) = wanted.first() else { return Err(nothing_wanted(&clusters)) };
        let (settings, stack) =
            arguments.stack.stack(first, objects.iter().map(|sourced| &sourced.object))?;
        let pins = Pins { revision: arguments.revision.clone(), path: stack.source.path.clone() };
        let found = releases.catalog(&stack.line, &wanted, &pins)?;
        let existing = objects::read(&arguments.existing)?.into_iter().map(|sourced| sourced.object);
        let warnings =
            report::about_settings(&settings, known(&releases).as_deref(), found.releases.values());
        Ok(Self::Files(Box::new(Files { stack, found, existing: existing.collect(), clusters, warnings })))
    }

    /// Creates the plan. `written` has the sources that already exist in its target.
    pub(super) fn plan(&self, written: &[Value]) -> Result<Planned, CliError> {
        match self {
            Self::Files(files) => files.plan(written),
            Self::Exported(present, releases) => exported(present, releases, written),
        }
    }
}

impl Files {
    fn plan(&self, written: &[Value]) -> Result<Planned, CliError> {
        let Self { stack, found, clusters, .. } = self;
        let mut existing = Existing::default();
        self.existing.iter().chain(written).for_each(|object| existing.insert(object));
        let (mut plan, mut warnings) = (plan::stack(stack)?, self.warnings.clone());
        for release in found.releases.values() {
            let whole = accept(stack, release)?;
            let contents = content::resolve(stack, &whole, &found.catalog, &existing)?;
            let inputs = ReleaseInputs { stack, release: &whole, contents: &contents };
            plan.merge(plan::release(&inputs)?)?;
            warnings.extend(report::about_dependencies(stack, &whole));
            let class = release.name.class_name();
            for cluster in clusters.iter().filter(|cluster| stack.is_class(&class, &cluster.cluster)) {
                let cluster = cluster.clone().with_installed_of(self.existing.iter().chain(written));
                warnings.extend(clusters::about_requests(stack, &whole, &cluster));
                plan.merge(plan::cluster(&inputs, &cluster, &course(stack, &cluster))?)?;
            }
        }
        let classes: Vec<String> = found.releases.keys().map(ReleaseName::class_name).collect();
        let is_elsewhere =
            |cluster: &&ClusterInputs| !classes.iter().any(|class| stack.is_class(class, &cluster.cluster));
        let others: Vec<&ClusterInputs> = clusters.iter().filter(is_elsewhere).collect();
        warnings.extend(others.iter().map(|cluster| report::skipped(stack, cluster)));
        warnings.extend(report::about_releases(found.releases.values()));
        warnings.extend(platform::problems(stack, found.releases.values()));
        let elsewhere = others.into_iter().map(name).collect::<Result<_, _>>()?;
        Ok(Planned { plan, stack: format!("{}/{}", stack.namespace, stack.name), elsewhere, warnings })
    }
}

/// Returns the course of a Cluster whose stages have ended, in the phase of its upgrade as far as the inputs show it: without its
/// control plane there is none.
fn course(stack: &Stack, cluster: &ClusterInputs) -> Course {
    let control_plane = ControlPlane::of(cluster, None);
    Course::ended(Upgrade::new(&cluster.cluster, stack.upgrade_gate.into(), control_plane).phase)
}

fn name(cluster: &ClusterInputs) -> Result<ClusterName, CliError> {
    Ok(ClusterName::new(cluster.cluster.namespace(), cluster.cluster.name())?)
}

/// Creates the plan that the operator would make. If the operator would leave something out, refuses the plan: an
/// incomplete plan would remove objects from its target.
fn exported(present: &Present, releases: &Releases, written: &[Value]) -> Result<Planned, CliError> {
    let Some((key, object)) = present.stacks.first_key_value().filter(|_| present.stacks.len() == 1) else {
        let message = format!("expected the inputs of one ClusterStack, got {}", present.stacks.len());
        return Err(CliError::usage(message));
    };
    let stack = key.to_string();
    if object.spec.suspend {
        return Err(CliError::usage(format!("ClusterStack {stack} is suspended: nothing is written")));
    }
    let loaded = Loaded::for_stacks(releases, present);
    let (stacks, skipped) = Stacks::over(present, written, &loaded, &Defaults::default(), None);
    if let Some(first) = skipped.first() {
        return Err(CliError::usage(first).hint("the plan would be incomplete: nothing is written"));
    }
    let mut planned =
        Planned { plan: Plan::default(), stack, elsewhere: BTreeSet::new(), warnings: Vec::new() };
    for shared in stacks.shared() {
        planned.plan.merge(shared.plan.clone())?;
    }
    let mut requests = Vec::new();
    for cluster in &present.clusters {
        let Some(prepared) = stacks.of_cluster(cluster) else {
            planned.elsewhere.insert(name(cluster)?);
            continue;
        };
        if present.addons.get(&cluster.cluster.key()).is_some_and(|addon| addon.spec.suspend) {
            planned.plan.hold(suspended(cluster));
            continue;
        }
        let inputs = prepared.inputs();
        requests.extend(clusters::about_requests(inputs.stack, inputs.release, cluster));
        planned.plan.merge(plan::cluster(&inputs, cluster, &course(inputs.stack, cluster))?)?;
    }
    planned.warnings = report::about_settings(object, known(releases).as_deref(), stacks.in_use());
    planned.warnings.extend(report::about_releases(stacks.in_use()));
    for inputs in stacks.inputs() {
        planned.warnings.extend(report::about_dependencies(inputs.stack, inputs.release));
    }
    planned.warnings.extend(stacks.component_problems());
    planned.warnings.extend(requests);
    Ok(planned)
}

/// Returns the releases that exist; `None` if only one is known.
fn known(releases: &Releases) -> Option<Vec<ReleaseName>> {
    (!releases.is_single()).then(|| releases.names())
}

fn suspended(ClusterInputs { cluster, .. }: &ClusterInputs) -> Held {
    let message = "its ClusterAddon has spec.suspend: nothing is written".to_owned();
    Held {
        namespace: cluster.namespace().clone(),
        cluster: cluster.name().clone(),
        addon: None,
        hold: Hold { reason: Reason::Suspended, message },
    }
}

/// Returns the releases to plan: the one that the source names, or of a stack repository those that Clusters use and
/// those that `--release` names.
fn wanted(
    arguments: &Arguments,
    releases: &Releases,
    clusters: &[ClusterInputs],
) -> Result<Vec<ReleaseName>, CliError> {
    let names = releases.names();
    if let Some(unknown) = arguments.release.iter().find(|name| !names.contains(name)) {
        let message = format!("{}: release {unknown} not found", arguments.source.display());
        return Err(CliError::usage(message));
    }
    if releases.is_single() {
        return Ok(names);
    }
    let is_used = |name: &ReleaseName| {
        let class = name.class_name();
        clusters.iter().any(|cluster| cluster.cluster.class().is_some_and(|found| found.name == class))
    };
    Ok(names.into_iter().filter(|name| arguments.release.contains(name) || is_used(name)).collect())
}

fn nothing_wanted(clusters: &[ClusterInputs]) -> CliError {
    let class = |cluster: &ClusterInputs| {
        let class = cluster.cluster.class().map(|class| class.name);
        format!("{} has {}", cluster.cluster.key(), class.unwrap_or_else(|| "no class".to_owned()))
    };
    let classes: Vec<String> = clusters.iter().map(class).collect();
    let what =
        if classes.is_empty() { "no Clusters are given".to_owned() } else { listed(&classes, MAX_NAMED) };
    CliError::usage(format!("no release of this stack repository is used by a Cluster in the files: {what}"))
        .hint("name one with --release, or give Clusters with --filename")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::foreign::capi::Cluster;

    #[test]
    fn unused_releases_error_lists_the_classes() {
        let cluster = |name: &str, topology: Value| {
            let cluster = Cluster::new(json!({
                "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
                "metadata": {"namespace": "demo", "name": name}, "spec": {"topology": topology},
            }));
            ClusterInputs::new(cluster.unwrap(), |_| None)
        };
        let clusters =
            [cluster("one", json!({"classRef": {"name": "quick-start"}})), cluster("two", json!({}))];
        let error = nothing_wanted(&clusters).to_string();
        assert!(error.ends_with("in the files: demo/one has quick-start, demo/two has no class"), "{error}");
        assert!(nothing_wanted(&[]).to_string().ends_with("no Clusters are given"));
    }
}
