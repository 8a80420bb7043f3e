//! The addons of a release in one cluster: a `HelmRelease` per chart, a Kustomization per directory of manifests.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::dependencies::Needed;
use super::object::{PlannedObject, Step, metadata};
use super::{PlanError, ReleaseInputs, dependencies, presets};
use crate::api::{Reason, labels};
use crate::foreign::capi::{Cluster, field};
use crate::foreign::flux::helm::{CommonMetadata, Dependency, HelmReleaseSpec, Install};
use crate::foreign::flux::kustomize::{KustomizationSpec, PostBuild};
use crate::foreign::flux::observed::HelmNames;
use crate::foreign::flux::{FluxKind, KubeConfig, Metadata, Reference, SecretKeyReference};
use crate::gate::Hold;
use crate::inputs::ClusterInputs;
use crate::inputs::content::Content;
use crate::inputs::stack::Stack;
use crate::names::{AddonName, NameError, ObjectName};
use crate::release::values::{ROOTS, read_values};
use crate::release::{Addon, Form, Release, ValuesTemplate};
use gotemplate::{FieldPath, RenderError};

/// The namespaces of addons and of Helm's record of them.
const NAMESPACE: &str = "kube-system";
/// The Helm release name that the Go operator gave to every addon.
const ADOPTED_RELEASE: &str = "cluster-addon";

/// The plan of an addon: its object, or the reason why there is none now.
pub(super) type Outcome = Result<PlannedObject, Hold>;

/// Plans the object of one addon in one cluster.
pub(super) fn addon(
    inputs: &ReleaseInputs,
    cluster: &ClusterInputs,
    addon: &Addon,
    content: &Content,
) -> Result<Outcome, PlanError> {
    let needed = match dependencies::of(inputs, &cluster.cluster, addon) {
        Ok(needed) => needed,
        Err(hold) => return Ok(Err(hold)),
    };
    let rendered = match &addon.template {
        Some(source) => values(source, cluster).map(|values| (values, source.file.as_str())),
        None => Ok((Map::new(), "")),
    };
    let (rendered, file) = match rendered {
        Ok(rendered) => rendered,
        Err(hold) => return Ok(Err(hold)),
    };
    if !addon.is_chart() {
        return match substitutions(rendered, file) {
            Ok(texts) => manifests(inputs, cluster, addon, content, texts).map(Ok),
            Err(hold) => Ok(Err(hold)),
        };
    }
    let values = match addon.component() {
        Some(component) => merged(component.values.clone(), rendered),
        None => marked(rendered, addon, content),
    };
    helm_release(inputs, cluster, addon, content, values, &needed).map(Ok)
}

/// Returns values with others merged over them, as Helm merges values: maps by key, everything else whole.
fn merged(mut below: Map<String, Value>, above: Map<String, Value>) -> Map<String, Value> {
    for (key, value) in above {
        let value = match (below.remove(&key), value) {
            (Some(Value::Object(below)), Value::Object(above)) => Value::Object(merged(below, above)),
            (_, value) => value,
        };
        below.insert(key, value);
    }
    below
}

/// Returns the texts that Flux substitutes in the manifests of a component: `postBuild.substitute` takes no other values.
fn substitutions(rendered: Map<String, Value>, file: &str) -> Result<BTreeMap<String, String>, Hold> {
    let invalid =
        |message: String| Hold { reason: Reason::ValuesInvalid, message: format!("{file}: {message}") };
    let is_name = |name: &str| {
        let mut characters = name.chars();
        let is_first = characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
        is_first && characters.all(|other| other.is_ascii_alphanumeric() || other == '_')
    };
    rendered
        .into_iter()
        .map(|(name, value)| match value {
            _ if !is_name(&name) => Err(invalid(format!(
                "{name:?} is not a variable: use letters, digits and '_', but no digit at its start"
            ))),
            Value::String(text) => Ok((name, text)),
            _ => Err(invalid(format!("the value of {name} must be a string: write it in quotes"))),
        })
        .collect()
}

/// Adds the digest of the content to the values. helm-controller compares name and version of the chart and the values
/// to decide whether a Helm release is up to date, and two contents that entered the repository with one commit have the
/// same name and version. Without the digest, helm-controller would take a failed upgrade that it rolled back for a success.
fn marked(mut values: Map<String, Value>, addon: &Addon, content: &Content) -> Map<String, Value> {
    if addon.chart().is_some_and(|chart| chart.ignores_unknown_values) {
        values.insert(labels::CONTENT_DIGEST.to_owned(), content.digest.to_string().into());
    }
    values
}

/// Returns the values of a `HelmRelease` without the digest of its content; `None` if it has no values.
#[must_use]
pub fn rendered_values(release: &Value) -> Option<Value> {
    let mut values = field(release, &["spec", "values"])?.as_object()?.clone();
    values.shift_remove(labels::CONTENT_DIGEST);
    (!values.is_empty()).then_some(Value::Object(values))
}

/// Renders the values of an addon for a Cluster; fails with a hold if the template gives none.
pub fn values(source: &ValuesTemplate, cluster: &ClusterInputs) -> Result<Map<String, Value>, Hold> {
    if let Some(missing) = cluster.missing_object(source.template.fields().iter()) {
        let message = format!(
            "{} reads {} {}, which the Cluster refers to but which is missing",
            source.file, missing.kind, missing.name
        );
        return Err(Hold { reason: Reason::WaitingForObject, message });
    }
    let text = source.template.render(cluster.data()).map_err(|error| match &error {
        RenderError::Missing { path, .. } => {
            let message =
                if never_exists(source, path) { format!("{error}: {NEVER}") } else { error.to_string() };
            Hold { reason: Reason::WaitingForField, message }
        }
        _ => Hold { reason: Reason::ValuesInvalid, message: error.to_string() },
    })?;
    read_values(&text)
        .map_err(|error| Hold { reason: Reason::ValuesInvalid, message: format!("{}: {error}", source.file) })
}

/// Says why a wait for a field does not end.
const NEVER: &str = "this wait does not end, because no Cluster ever has this field: a values template reads .Cluster, \
                     .ControlPlane and .InfraCluster alone. Publish a release with a corrected template";

/// Whether the data of no Cluster have a field that the template waits for: its root does not exist. The path of a value
/// that the template made does not begin at a root.
fn never_exists(source: &ValuesTemplate, path: &FieldPath) -> bool {
    let root = path.segments().first();
    root.is_some_and(|root| !ROOTS.contains(&root.as_str()))
        && source.template.fields().iter().any(|field| field.segments().first() == root)
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
    let depends_on = needed.iter().map(|needed| {
        let name = object_name(&cluster.cluster, needed.addon)?.to_string();
        Ok(Dependency { name, ready_expr: needed.ready_expression() })
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
    substitute: BTreeMap<String, String>,
) -> Result<PlannedObject, PlanError> {
    let (stack, namespace) = (inputs.stack, cluster.cluster.namespace());
    let effective = presets::addon(&stack.flux, &addon.name);
    let secret = stack.flux.kube_config.secret_name_for(cluster.cluster.name().as_str());
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
        post_build: (!substitute.is_empty()).then_some(PostBuild { substitute }),
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
/// values cannot be [`marked`].
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
