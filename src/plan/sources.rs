//! Sources and charts: the followed repository, one pinned repository per release in use, one chart per content.

use serde_json::{Map, json};

use super::object::{PlannedObject, Step, metadata};
use super::{PlanError, ReleaseInputs, presets};
use crate::api::{SourcePlacement, labels};
use crate::foreign::flux::source::{GitRepositorySpec, HelmChartSpec, ReconcileStrategy};
use crate::foreign::flux::{FluxKind, Metadata, Reference};
use crate::inputs::claim::Claim;
use crate::inputs::components::SourceObject;
use crate::inputs::content::{Content, Pin, release_path};
use crate::inputs::stack::Stack;
use crate::names::{Namespace, ObjectName, ReleaseName};

/// Plans the `GitRepository` that follows the stack repository's branch; `None` if the `ClusterStack` refers to an
/// existing `GitRepository`.
pub(super) fn catalog(stack: &Stack) -> Result<Option<PlannedObject>, PlanError> {
    let Some(followed) = &stack.source.followed else { return Ok(None) };
    let spec = GitRepositorySpec {
        url: &stack.source.url,
        reference: followed.reference.clone(),
        interval: &followed.interval,
        sparse_checkout: Vec::new(),
        access: &stack.source.access,
    };
    let metadata = metadata(&stack.source.namespace, stack.source.name.clone(), [], []);
    PlannedObject::flux(Step::Sources, metadata, spec).map(Some)
}

/// Plans the `GitRepository` that pins `release` in `namespace`. Its reference is the commit alone: with a branch, Flux
/// refuses a commit that is no longer in the branch. In the built-in stack repository the release has a branch of its own, which
/// spares Flux all others.
pub(super) fn pinned(
    stack: &Stack,
    namespace: &Namespace,
    release: &ReleaseName,
    pin: &Pin,
) -> Result<PlannedObject, PlanError> {
    let mut reference = Map::new();
    if stack.source.is_builtin {
        reference.insert("branch".to_owned(), json!(release.to_string()));
    }
    reference.insert("commit".to_owned(), json!(pin.revision.as_str()));
    let directory = release_path(&stack.source.path, release, "");
    let spec = GitRepositorySpec {
        url: &stack.source.url,
        reference: reference.into(),
        interval: presets::PINNED_INTERVAL,
        sparse_checkout: vec![directory.trim_start_matches("./").to_owned()],
        access: &stack.source.access,
    };
    let labels = [(labels::RELEASE, release.to_string())];
    let annotations = [(labels::CONTENT_DIGEST, pin.digest.clone())];
    let (name, claim) = (pin.owned.name.clone(), pin.owned.claim.as_ref());
    let metadata = claimed(stack, namespace, name, claim, labels, annotations);
    PlannedObject::flux(Step::Sources, metadata, spec)
}

/// Plans the `HelmChart` of an addon's content in `namespace`. `Revision` makes the commit part of the version, because
/// wrapper charts keep `version: v1` whatever changes inside.
pub(super) fn chart(
    stack: &Stack,
    namespace: &Namespace,
    content: &Content,
) -> Result<PlannedObject, PlanError> {
    let spec = HelmChartSpec {
        chart: &content.path,
        source_ref: Reference {
            kind: FluxKind::GitRepository,
            name: content.source.as_str(),
            namespace: None,
        },
        reconcile_strategy: ReconcileStrategy::Revision,
        interval: presets::PINNED_INTERVAL,
    };
    if content.component.is_some() {
        let claim = content.claim.as_ref();
        let metadata = claimed(stack, namespace, content.chart.clone(), claim, [], []);
        return PlannedObject::flux(Step::Sources, metadata, spec);
    }
    let labels = content.release.iter().map(|release| (labels::RELEASE, release.to_string()));
    let annotations = [(labels::CONTENT_DIGEST, content.digest.to_string())];
    let (name, claim) = (content.chart.clone(), content.claim.as_ref());
    let metadata = claimed(stack, namespace, name, claim, labels, annotations);
    PlannedObject::flux(Step::Sources, metadata, spec)
}

/// Creates the metadata of a source or chart, with the claim on it. Copies in the namespaces of Clusters have none: all
/// `ClusterStack`s whose classes these Clusters have share them.
pub(super) fn claimed(
    stack: &Stack,
    namespace: &Namespace,
    name: ObjectName,
    claim: Option<&Claim>,
    labels: impl IntoIterator<Item = (&'static str, String)>,
    annotations: impl IntoIterator<Item = (&'static str, String)>,
) -> Metadata {
    let is_copy = namespace != stack.source_namespace(&stack.namespace) && *namespace != stack.namespace;
    let claim = claim.filter(|_| !is_copy);
    let labels = labels.into_iter().chain(claim.into_iter().flat_map(Claim::labels));
    let annotations = annotations.into_iter().chain(claim.into_iter().flat_map(Claim::annotations));
    metadata(namespace, name, labels, annotations)
}

/// Plans the sources and charts of a release, beside its class: they also record where each content comes from.
pub(super) fn of_release(inputs: &ReleaseInputs) -> Result<Vec<PlannedObject>, PlanError> {
    let stack = inputs.stack;
    of_addons(inputs, &stack.namespace)
}

/// Plans the sources and charts that the clusters of a namespace need in it: none if sources are shared.
pub(super) fn of_cluster(
    inputs: &ReleaseInputs,
    namespace: &Namespace,
) -> Result<Vec<PlannedObject>, PlanError> {
    match inputs.stack.flux.sources {
        SourcePlacement::Shared => Ok(Vec::new()),
        SourcePlacement::PerNamespace => of_addons(inputs, namespace),
    }
}

fn of_addons(inputs: &ReleaseInputs, consumer: &Namespace) -> Result<Vec<PlannedObject>, PlanError> {
    let (stack, contents) = (inputs.stack, inputs.contents);
    let namespace = stack.source_namespace(consumer);
    let pins = contents.pins.iter().map(|(release, pin)| pinned(stack, namespace, release, pin));
    let mut planned: Vec<PlannedObject> = pins.collect::<Result<_, _>>()?;
    for addon in &inputs.release.addons {
        let Some(content) = contents.addons.get(&addon.name) else { continue };
        let namespace = content.source_namespace(stack, consumer);
        if let Some(source) = &content.component {
            planned.push(of_component(stack, namespace, content, source)?);
        }
        if addon.is_chart() && content.source_kind() == FluxKind::GitRepository {
            planned.push(chart(stack, namespace, content)?);
        }
    }
    Ok(planned)
}

/// Plans the source of a component. It has no label of a release, because several releases have it.
fn of_component(
    stack: &Stack,
    namespace: &Namespace,
    content: &Content,
    source: &SourceObject,
) -> Result<PlannedObject, PlanError> {
    let metadata = claimed(stack, namespace, source.name.clone(), content.claim.as_ref(), [], []);
    PlannedObject::of_kind(Step::Sources, source.kind, metadata, &source.spec)
}
