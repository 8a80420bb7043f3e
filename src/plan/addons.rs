//! The addons of a release in one cluster: a `HelmRelease` per chart, a Kustomization per directory of manifests.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::dependencies::Needed;
use super::object::{PlannedObject, Step, metadata};
use super::stages::Course;
use super::{PlanError, ReleaseInputs, dependencies, presets, values};
use crate::api::labels;
use crate::foreign::capi::Cluster;
use crate::foreign::flux::helm::{CommonMetadata, HelmReleaseSpec, Install};
use crate::foreign::flux::kustomize::{KustomizationSpec, PostBuild};
use crate::foreign::flux::observed::HelmNames;
use crate::foreign::flux::{FluxKind, KubeConfig, Metadata, Reference, SecretKeyReference, helm, kustomize};
use crate::gate::Hold;
use crate::inputs::ClusterInputs;
use crate::inputs::content::Content;
use crate::inputs::overrides::Requests;
use crate::inputs::stack::Stack;
use crate::names::{AddonName, NameError, ObjectName};
use crate::release::{Addon, Form, Release};

/// The namespaces of addons and of Helm's record of them.
const NAMESPACE: &str = "kube-system";
/// The Helm release name that the Go operator gave to every addon.
const ADOPTED_RELEASE: &str = "cluster-addon";

/// The plan of an addon: its object, or the reason why there is none now.
pub(super) type Outcome = Result<PlannedObject, Hold>;

/// Plans the object of one addon in one cluster.
pub(super) fn addon(
    inputs: &ReleaseInputs,
    (cluster, requests, course): (&ClusterInputs, &Requests, &Course),
    addon: &Addon,
    content: &Content,
) -> Result<Outcome, PlanError> {
    let needed = match dependencies::of(inputs, (&cluster.cluster, requests, course), addon) {
        Ok(needed) => needed,
        Err(hold) => return Ok(Err(hold)),
    };
    let rendered = match &addon.template {
        Some(source) => values::rendered(source, cluster).map(|values| (values, source.file.as_str())),
        None => Ok((Map::new(), "")),
    };
    let (rendered, file) = match rendered {
        Ok(rendered) => rendered,
        Err(hold) => return Ok(Err(hold)),
    };
    if !addon.is_chart() {
        return match values::substitutions(rendered, file) {
            Ok(texts) => manifests(inputs, cluster, addon, content, (texts, &needed)).map(Ok),
            Err(hold) => Ok(Err(hold)),
        };
    }
    let settings = inputs.stack.flux.addons.get(addon.name.as_str());
    let layers = (settings, requests.values(addon.name.as_str()));
    let values = values::of_chart(layers, addon, content, rendered);
    helm_release(inputs, cluster, addon, content, values, &needed).map(Ok)
}

fn object_name(cluster: &Cluster, addon: &AddonName) -> Result<ObjectName, NameError> {
    ObjectName::of_addon(cluster.name().as_str(), addon)
}

fn helm_release(
    inputs: &ReleaseInputs,
    cluster: &ClusterInputs,
    addon: &Addon,
    content: &Content,
    values: Map<String, Value>,
    needed: &[Needed],
) -> Result<PlannedObject, PlanError> {
    let (stack, namespace) = (inputs.stack, cluster.cluster.namespace());
    let effective = presets::addon(&stack.flux, &addon.name);
    let settings = stack.flux.addons.get(addon.name.as_str());
    let depends_on = needed.iter().filter(|needed| needed.addon.is_chart()).map(|needed| {
        let name = object_name(&cluster.cluster, &needed.addon.name)?.to_string();
        Ok(helm::Dependency { name, ready_expr: needed.ready_expression() })
    });
    let depends_on = depends_on.collect::<Result<_, NameError>>()?;
    let metadata = addon_metadata(cluster, &addon.name, content)?;
    let by_settings = helm_names(stack, inputs.release, addon);
    let names = cluster.installed(metadata.name.as_str()).unwrap_or(&by_settings);
    let secret = stack.flux.kube_config.secret_name_for(cluster.cluster.name().as_str());
    let chart = content.chart_reference();
    let spec = HelmReleaseSpec {
        chart_ref: Reference {
            kind: chart.0,
            name: chart.1.as_str(),
            namespace: content.reference_namespace(stack, namespace),
        },
        release_name: &names.release,
        target_namespace: &names.target_namespace,
        storage_namespace: &names.storage_namespace,
        kube_config: Some(kube_config(inputs, &secret)),
        service_account_name: None,
        interval: &effective.interval,
        timeout: &effective.timeout,
        max_history: presets::MAX_HISTORY,
        depends_on,
        install: Install {
            create_namespace: addon.platform().is_some_and(|platform| platform.creates_namespace),
            ..effective.install()
        },
        upgrade: effective.upgrade(),
        drift_detection: effective.drift_detection(),
        common_metadata: content_mark(addon, content),
        values,
        values_from: settings.map_or_else(Vec::new, |of| values::references(of, cluster.cluster.name())),
        post_renderers: settings.map_or(&[], |of| &of.post_renderers),
    };
    PlannedObject::flux(Step::Addons, metadata, spec)
}

/// Returns the names of the Helm release of an addon that is not installed yet. Adopted releases all have one name, so each
/// needs a storage namespace of its own, which must exist. The namespace depends on the form of the addons and not on their
/// number.
#[must_use]
pub fn helm_names(stack: &Stack, release: &Release, addon: &Addon) -> HelmNames {
    let adopted = format!("{}-helm", addon.name);
    let target_namespace = addon.platform().and_then(|platform| platform.target_namespace.as_deref());
    let (release, storage_namespace) = match (stack.flux.adopt, release.form) {
        // The Go operator installed no components.
        _ if addon.component().is_some() => (addon.name.as_str(), NAMESPACE),
        (true, Form::MultiStage) => (ADOPTED_RELEASE, adopted.as_str()),
        (true, Form::SingleChart) => (ADOPTED_RELEASE, NAMESPACE),
        (false, _) => (addon.name.as_str(), NAMESPACE),
    };
    HelmNames {
        release: release.to_owned(),
        target_namespace: target_namespace.unwrap_or(NAMESPACE).to_owned(),
        storage_namespace: storage_namespace.to_owned(),
    }
}

fn manifests(
    inputs: &ReleaseInputs,
    cluster: &ClusterInputs,
    addon: &Addon,
    content: &Content,
    (substitute, needed): (BTreeMap<String, String>, &[Needed]),
) -> Result<PlannedObject, PlanError> {
    let (stack, namespace) = (inputs.stack, cluster.cluster.namespace());
    let effective = presets::addon(&stack.flux, &addon.name);
    let secret = stack.flux.kube_config.secret_name_for(cluster.cluster.name().as_str());
    let depends_on = needed.iter().filter(|needed| !needed.addon.is_chart());
    let depends_on = depends_on.map(|needed| object_name(&cluster.cluster, &needed.addon.name));
    let depends_on = depends_on.map(|name| name.map(|name| kustomize::Dependency { name: name.to_string() }));
    let decryption = stack.flux.addons.get(addon.name.as_str()).and_then(|of| of.decryption.as_ref());
    let spec = KustomizationSpec {
        source_ref: Reference {
            kind: content.source_kind(),
            name: content.source.as_str(),
            namespace: content.reference_namespace(stack, namespace),
        },
        path: &content.path,
        prune: true,
        wait: effective.wait,
        kube_config: Some(kube_config(inputs, &secret)),
        service_account_name: None,
        target_namespace: None,
        interval: &effective.interval,
        retry_interval: presets::RETRY_INTERVAL,
        timeout: &effective.timeout,
        depends_on: depends_on.collect::<Result<_, NameError>>()?,
        post_build: (!substitute.is_empty()).then_some(PostBuild { substitute }),
        decryption: decryption.map(|of| of.for_cluster(cluster.cluster.name().as_str())),
    };
    let mut metadata = addon_metadata(cluster, &addon.name, content)?;
    if addon.component().is_some() {
        return PlannedObject::flux(Step::Addons, metadata, spec);
    }
    // A later plan keeps the source because of this digest: there is no HelmChart that names the content.
    metadata.annotations.insert(labels::CONTENT_DIGEST, content.digest.to_string());
    PlannedObject::flux(Step::Addons, metadata, spec)
}

/// Returns the digest of the content as metadata for every object of the chart. In the workload cluster it shows the
/// origin of each object. It also makes helm-controller upgrade to another content of the same chart version if its
/// values cannot be [marked](values::of_chart).
///
/// The version of a component's chart names the commit or the digest, but not the directory: two of one commit may have charts
/// of one name and version.
fn content_mark(addon: &Addon, content: &Content) -> Option<CommonMetadata> {
    let digest = match addon.component() {
        None => content.digest,
        Some(component) if content.source_kind() == FluxKind::GitRepository => component.digest([]),
        Some(_) => return None,
    };
    Some(CommonMetadata { annotations: [(labels::CONTENT_DIGEST, digest.to_string())].into() })
}

fn kube_config<'a>(inputs: &'a ReleaseInputs, secret: &'a str) -> KubeConfig<'a> {
    KubeConfig { secret_ref: SecretKeyReference { name: secret, key: &inputs.stack.flux.kube_config.key } }
}

/// Returns labels and annotations for an addon's object. The release is that of the content: an addon that a new release
/// does not change keeps its object byte for byte.
fn addon_metadata(
    cluster: &ClusterInputs,
    addon: &AddonName,
    content: &Content,
) -> Result<Metadata, NameError> {
    let cluster = &cluster.cluster;
    // A component of the ClusterStack is of no release.
    let release = content.release.as_ref().map(ToString::to_string);
    let by = |label| release.clone().map(|release| (label, release));
    let label = ObjectName::bounded(cluster.name().as_str())?.to_string();
    Ok(metadata(
        cluster.namespace(),
        object_name(cluster, addon)?,
        [(labels::CLUSTER_NAME, label.clone()), (labels::ADDON, addon.to_string())]
            .into_iter()
            .chain(by(labels::RELEASE)),
        [(labels::EVENT_CLUSTER, label)].into_iter().chain(by(labels::EVENT_RELEASE)),
    ))
}
