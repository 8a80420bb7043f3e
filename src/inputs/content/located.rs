//! Contents in their sources, as plans need them.

use std::collections::BTreeMap;

use super::Owned;
use crate::foreign::flux::FluxKind;
use crate::inputs::claim::Claim;
use crate::inputs::components::SourceObject;
use crate::inputs::stack::Stack;
use crate::names::{AddonName, Namespace, ObjectName, ReleaseName, Revision};
use crate::release::Digest;

/// A release at a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The commit.
    pub revision: Revision,
    /// The digest of the whole release at that commit, in its text form.
    pub digest: String,
    /// The name of its `GitRepository`, and the claim on it.
    pub owned: Owned,
}

/// One content in its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The release whose directory holds it; `None` for a component of the `ClusterStack`.
    pub release: Option<ReleaseName>,
    /// The name of the `GitRepository` that pins it.
    pub source: ObjectName,
    /// The directory within the stack repository, as Flux takes it: `./releases/<release>/…`.
    pub path: String,
    /// The name of its `HelmChart`: the addon's and the content's first twelve hex digits, and more beside the repository
    /// of another namespace.
    pub chart: ObjectName,
    /// The claim on that `HelmChart`.
    pub claim: Option<Claim>,
    /// The full digest.
    pub digest: Digest,
    /// The source of a component; `None` for a directory of the stack repository.
    pub component: Option<SourceObject>,
}

impl Content {
    /// Returns the kind of its source.
    #[must_use]
    pub fn source_kind(&self) -> FluxKind {
        self.component.as_ref().map_or(FluxKind::GitRepository, |source| source.kind)
    }

    /// Returns kind and name of the object that a `HelmRelease` takes its chart from.
    #[must_use]
    pub fn chart_reference(&self) -> (FluxKind, &ObjectName) {
        match self.source_kind() {
            FluxKind::OCIRepository => (FluxKind::OCIRepository, &self.source),
            _ => (FluxKind::HelmChart, &self.chart),
        }
    }

    /// Returns the namespace of its source and chart for objects in `consumer`.
    #[must_use]
    pub fn source_namespace<'a>(&self, stack: &'a Stack, consumer: &'a Namespace) -> &'a Namespace {
        if self.component.is_some() { &stack.namespace } else { stack.source_namespace(consumer) }
    }

    /// Returns the namespace in a reference from `consumer`; `None` for its own.
    #[must_use]
    pub fn reference_namespace<'a>(&self, stack: &'a Stack, consumer: &'a Namespace) -> Option<&'a str> {
        let namespace = self.source_namespace(stack, consumer);
        (namespace != consumer).then(|| namespace.as_str())
    }
}

/// All contents of a release in their sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Per addon.
    pub addons: BTreeMap<AddonName, Content>,
    /// The releases that contents come from, and the release itself, with their pins.
    pub pins: BTreeMap<ReleaseName, Pin>,
    /// The `HelmChart` of the cluster class.
    pub class: Owned,
}

impl Contents {
    /// Returns the commit or the digest of a content; `None` if it can change.
    #[must_use]
    pub fn version_of(&self, content: &Content) -> Option<String> {
        match &content.component {
            Some(source) => source.version.clone(),
            None => Some(self.pins.get(content.release.as_ref()?)?.revision.to_string()),
        }
    }

    /// Returns the commit or the digest of the component's source with this name; `None` if it can change.
    #[must_use]
    pub fn component_version(&self, source: &str) -> Option<String> {
        let mut sources = self.addons.values().filter_map(|content| content.component.as_ref());
        sources.find(|found| found.name.as_str() == source)?.version.clone()
    }
}
