//! The data of values templates: one Cluster with the objects that it refers to.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::api::ClusterAddonOverride;
use crate::foreign::capi::{Cluster, ObjectReference, field, text};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::HelmNames;
use crate::inputs::overrides::Requests;
use crate::inputs::stack::Stack;
use crate::names::KubernetesVersion;
use crate::release::Release;
use crate::release::values::ROOTS;
use gotemplate::FieldPath;

/// The roots of values templates besides `Cluster`, each for an object that the Cluster may refer to.
const RELATED: [&str; 2] = [ROOTS[1], ROOTS[2]];

/// A Cluster and the data that its values templates are rendered over.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterInputs {
    /// The Cluster.
    pub cluster: Cluster,
    data: Value,
    /// The objects that the Cluster refers to and that do not exist (yet), by root.
    not_found: BTreeMap<&'static str, ObjectReference>,
    /// The names of the installed Helm releases, by the names of their `HelmRelease`s.
    installed: BTreeMap<String, HelmNames>,
    /// The requests for its addons, if there are any.
    requested: Option<Arc<ClusterAddonOverride>>,
}

impl ClusterInputs {
    /// Takes a Cluster with the objects that it refers to, which `find` finds in the Cluster's namespace.
    #[must_use]
    pub fn new<'a>(cluster: Cluster, find: impl Fn(&ObjectReference) -> Option<&'a Value>) -> Self {
        let references = [cluster.control_plane_ref(), cluster.infrastructure_ref()];
        let (mut found, mut not_found) = (BTreeMap::new(), BTreeMap::new());
        for (root, reference) in RELATED.into_iter().zip(references) {
            let Some(reference) = reference else { continue };
            match find(&reference) {
                Some(object) => _ = found.insert(root, object.clone()),
                None => _ = not_found.insert(root, reference),
            }
        }
        Self::assemble(cluster, found, not_found)
    }

    /// Copies the inputs as if the Cluster used another class at that class's Kubernetes version: the result of an
    /// upgrade. The objects that the Cluster refers to stay as they are.
    #[must_use]
    pub fn with_class(&self, class: &str, version: &KubernetesVersion) -> Self {
        let found = RELATED.into_iter().filter_map(|root| Some((root, self.data.get(root)?.clone())));
        let cluster = self.cluster.with_class(class, version);
        let inputs = Self::assemble(cluster, found.collect(), self.not_found.clone());
        Self { installed: self.installed.clone(), requested: self.requested.clone(), ..inputs }
    }

    /// Adds the requests for the addons of the Cluster: the object with its name in its namespace.
    #[must_use]
    pub fn with_requested(self, requested: Option<Arc<ClusterAddonOverride>>) -> Self {
        Self { requested, ..self }
    }

    /// Returns the object with the requests for the addons of the Cluster, if there is one.
    #[must_use]
    pub fn requested(&self) -> Option<&Arc<ClusterAddonOverride>> {
        self.requested.as_ref()
    }

    /// Decides about the requests for the addons of the Cluster. `release` has the components of the `ClusterStack`.
    #[must_use]
    pub fn requests(&self, stack: &Stack, release: &Release) -> Requests {
        Requests::decide(self.requested(), stack, release, &self.cluster)
    }

    /// Adds the names of Helm releases that are installed, by the names of their `HelmRelease`s in the Cluster's namespace.
    #[must_use]
    pub fn with_installed(mut self, installed: impl IntoIterator<Item = (String, HelmNames)>) -> Self {
        self.installed.extend(installed);
        self
    }

    /// Adds the names of Helm releases by those of the objects that are `HelmRelease`s in the Cluster's namespace.
    #[must_use]
    pub fn with_installed_of<'a>(self, objects: impl IntoIterator<Item = &'a Value>) -> Self {
        let namespace = self.cluster.namespace().to_string();
        let metadata = |object: &'a Value, field: &str| text(object, &["metadata", field]);
        let is_here = |object: &&'a Value| {
            let own = metadata(object, "namespace");
            text(object, &["kind"]) == FluxKind::HelmRelease.as_str() && (own == namespace || own.is_empty())
        };
        let names = |object: &'a Value| {
            Some((metadata(object, "name").to_owned(), HelmNames::of(field(object, &["spec"])?)?))
        };
        let installed: Vec<_> = objects.into_iter().filter(is_here).filter_map(names).collect();
        self.with_installed(installed)
    }

    /// Returns the names of all installed Helm releases, by the names of their `HelmRelease`s.
    pub fn all_installed(&self) -> impl Iterator<Item = (&str, &HelmNames)> {
        self.installed.iter().map(|(name, names)| (name.as_str(), names))
    }

    /// Returns the names of the Helm release that a `HelmRelease` has installed.
    #[must_use]
    pub fn installed(&self, helm_release: &str) -> Option<&HelmNames> {
        self.installed.get(helm_release)
    }

    fn assemble(
        cluster: Cluster,
        found: BTreeMap<&'static str, Value>,
        not_found: BTreeMap<&'static str, ObjectReference>,
    ) -> Self {
        let [control_plane, infrastructure] = RELATED.map(|root| found.get(root));
        let seen = cluster.for_templates(control_plane, infrastructure);
        let found = found.into_iter().map(|(root, object)| (root.to_owned(), object));
        let data: Map<_, _> = std::iter::once((ROOTS[0].to_owned(), seen)).chain(found).collect();
        Self { cluster, data: data.into(), not_found, installed: BTreeMap::new(), requested: None }
    }

    /// Returns the data of values templates: `Cluster`, and `ControlPlane` and `InfraCluster` if they exist.
    #[must_use]
    pub fn data(&self) -> &Value {
        &self.data
    }

    /// Returns `spec.version` of the control plane as it is written; `None` if the control plane or the field is missing.
    #[must_use]
    pub fn control_plane_version(&self) -> Option<&str> {
        let version = text(self.data.get(RELATED[0])?, &["spec", "version"]);
        (!version.is_empty()).then_some(version)
    }

    /// Finds a missing object that the Cluster refers to and that one of `fields` needs.
    #[must_use]
    pub fn missing_object<'a>(
        &self,
        mut fields: impl Iterator<Item = &'a FieldPath>,
    ) -> Option<&ObjectReference> {
        fields.find_map(|field| self.not_found.get(field.segments().first()?.as_str()))
    }
}
