//! The cluster class of a release and the node images that it needs, both in the management cluster.

use serde_json::Map;

use super::object::{PlannedObject, Step, metadata};
use super::sources::claimed;
use super::{PlanError, ReleaseInputs, presets};
use crate::api::labels;
use crate::foreign::flux::helm::HelmReleaseSpec;
use crate::foreign::flux::kustomize::KustomizationSpec;
use crate::foreign::flux::source::{HelmChartSpec, ReconcileStrategy};
use crate::foreign::flux::{FluxKind, Reference};
use crate::inputs::content::release_path;
use crate::names::{NameError, Namespace, ObjectName, ReleaseName};
use crate::release::CLUSTER_CLASS;

/// Returns the namespace that holds Helm's record of the class. Two releases of a class have one Helm release name, so
/// each has a storage namespace of its own; Flux does not create it.
pub fn storage_namespace(stack_namespace: &str, release: &ReleaseName) -> Result<Namespace, NameError> {
    Namespace::bounded(&format!("{stack_namespace}-{release}-helm"))
}

/// Plans storage namespace, chart and `HelmRelease` of the class.
pub(super) fn cluster_class(inputs: &ReleaseInputs) -> Result<Vec<PlannedObject>, PlanError> {
    let storage = storage_namespace(inputs.stack.namespace.as_str(), &inputs.release.name)?;
    Ok(vec![
        PlannedObject::namespace(Step::ClusterClass, &storage),
        chart(inputs)?,
        helm_release(inputs, &storage)?,
    ])
}

/// Plans the class's chart, beside the source: Flux accepts no source of another namespace for a chart.
fn chart(inputs: &ReleaseInputs) -> Result<PlannedObject, PlanError> {
    let (stack, release) = (inputs.stack, &inputs.release.name);
    let name = release.to_string();
    let source = source(inputs)?;
    let path = release_path(&stack.source.path, release, CLUSTER_CLASS);
    let spec = HelmChartSpec {
        chart: &path,
        source_ref: Reference { kind: FluxKind::GitRepository, name: source.as_str(), namespace: None },
        // The class's objects carry `.Chart.Version` in their names: it must stay as written.
        reconcile_strategy: ReconcileStrategy::ChartVersion,
        interval: presets::PINNED_INTERVAL,
    };
    let (labels, class) = ([(labels::RELEASE, name)], &inputs.contents.class);
    let namespace = stack.source_namespace(&stack.namespace);
    let metadata = claimed(stack, namespace, class.name.clone(), class.claim.as_ref(), labels, []);
    PlannedObject::flux(Step::ClusterClass, metadata, spec)
}

/// Returns the name of the `GitRepository` that pins the release.
fn source(inputs: &ReleaseInputs) -> Result<ObjectName, NameError> {
    let pin = inputs.contents.pins.get(&inputs.release.name);
    pin.map_or_else(|| inputs.release.name.to_string().parse(), |pin| Ok(pin.owned.name.clone()))
}

fn helm_release(inputs: &ReleaseInputs, storage: &Namespace) -> Result<PlannedObject, PlanError> {
    let (stack, release) = (inputs.stack, &inputs.release.name);
    let (name, prefix) = (release.to_string(), release.prefix());
    let effective = presets::cluster_class(&stack.flux);
    let spec = HelmReleaseSpec {
        chart_ref: Reference {
            kind: FluxKind::HelmChart,
            name: inputs.contents.class.name.as_str(),
            namespace: stack.reference_namespace(&stack.namespace),
        },
        release_name: &prefix,
        target_namespace: stack.namespace.as_str(),
        storage_namespace: storage.as_str(),
        kube_config: None,
        service_account_name: stack.flux.service_account_name.as_deref(),
        interval: &effective.interval,
        timeout: &effective.timeout,
        max_history: presets::MAX_HISTORY,
        depends_on: Vec::new(),
        install: effective.install(),
        upgrade: effective.upgrade(),
        drift_detection: effective.drift_detection(),
        // A release never changes, so neither does its class.
        common_metadata: None,
        values: Map::new(),
        values_from: Vec::new(),
        post_renderers: &[],
    };
    let metadata = metadata(&stack.namespace, name.parse()?, [(labels::RELEASE, name.clone())], []);
    PlannedObject::flux(Step::ClusterClass, metadata, spec)
}

/// Plans the Kustomization of the node images, if the release has any.
pub(super) fn node_images(inputs: &ReleaseInputs) -> Result<Option<PlannedObject>, PlanError> {
    let (stack, release) = (inputs.stack, inputs.release);
    let Some(images) = &release.node_images else { return Ok(None) };
    let source = source(inputs)?;
    let path = release_path(&stack.source.path, &release.name, &images.path);
    let spec = KustomizationSpec {
        source_ref: Reference {
            kind: FluxKind::GitRepository,
            name: source.as_str(),
            namespace: stack.reference_namespace(&stack.namespace),
        },
        path: &path,
        prune: true,
        wait: true,
        kube_config: None,
        service_account_name: stack.flux.service_account_name.as_deref(),
        // The class refers to its images by name in its own namespace.
        target_namespace: Some(stack.namespace.as_str()),
        interval: presets::INTERVAL,
        retry_interval: presets::RETRY_INTERVAL,
        timeout: presets::IMAGE_TIMEOUT,
        depends_on: Vec::new(),
        post_build: None,
        decryption: None,
    };
    let name = ObjectName::of_node_images(&release.name.to_string())?;
    let metadata = metadata(&stack.namespace, name, [(labels::RELEASE, release.name.to_string())], []);
    PlannedObject::flux(Step::NodeImages, metadata, spec).map(Some)
}
