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
use crate::gate::upgrade::Phase;
use crate::inputs::acceptance::accept;
use crate::inputs::content::{self, Existing};
use crate::inputs::defaults::Defaults;
use crate::inputs::platform;
use crate::inputs::stack::Stack;
use crate::inputs::{ClusterInputs, ReleaseInputs};
use crate::names::ReleaseName;
use crate::plan::{self, Held, Plan};
use crate::sink::layout::ClusterName;

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
        let Some(first) = wanted.first() else { return Err(nothing_wanted()) };
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
        let mut plan = plan::stack(stack)?;
        for release in found.releases.values() {
            let whole = accept(stack, release)?;
            let contents = content::resolve(stack, &whole, &found.catalog, &existing)?;
            let inputs = ReleaseInputs { stack, release: &whole, contents: &contents };
            plan.merge(plan::release(&inputs)?)?;
            let class = release.name.class_name();
            for cluster in clusters.iter().filter(|cluster| stack.is_class(&class, &cluster.cluster)) {
                let cluster = cluster.clone().with_installed_of(self.existing.iter().chain(written));
                plan.merge(plan::cluster(&inputs, &cluster, phase(stack, &cluster))?)?;
            }
        }
        let classes: Vec<String> = found.releases.keys().map(ReleaseName::class_name).collect();
        let is_elsewhere =
            |cluster: &&ClusterInputs| !classes.iter().any(|class| stack.is_class(class, &cluster.cluster));
        let others: Vec<&ClusterInputs> = clusters.iter().filter(is_elsewhere).collect();
        let mut warnings = self.warnings.clone();
        warnings.extend(others.iter().map(|cluster| report::skipped(stack, cluster)));
        warnings.extend(report::about_releases(found.releases.values()));
        warnings.extend(platform::problems(stack, found.releases.values()));
        let elsewhere = others.into_iter().map(name).collect::<Result<_, _>>()?;
        Ok(Planned { plan, stack: format!("{}/{}", stack.namespace, stack.name), elsewhere, warnings })
    }
}

/// Returns the phase of the upgrade of a Cluster, as far as the inputs show it: without its control plane there is none.
fn phase(stack: &Stack, cluster: &ClusterInputs) -> Phase {
    Upgrade::new(&cluster.cluster, stack.upgrade_gate.into(), ControlPlane::of(cluster, None)).phase
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
        planned.plan.merge(plan::cluster(&inputs, cluster, phase(inputs.stack, cluster))?)?;
    }
    planned.warnings = report::about_settings(object, known(releases).as_deref(), stacks.in_use());
    planned.warnings.extend(report::about_releases(stacks.in_use()));
    planned.warnings.extend(stacks.component_problems());
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

fn nothing_wanted() -> CliError {
    CliError::usage("no release of this stack repository is used by a Cluster in the files given")
        .hint("name one with --release, or give Clusters with --filename")
}
