//! A cluster stack release, read from files and checked whole.
//!
//! The format is SCS's: a cluster class, cluster addons, node images and a few YAML files, packed in archives or
//! unpacked in directories. [`Release::load`] reports everything that is wrong with one at once; what it returns can
//! no longer be wrong.

pub mod archive;
pub mod bound;
pub mod catalog;
pub mod chart_index;
pub mod digest;
pub mod files;
pub mod finding;
pub mod ignore;
pub mod range;
pub mod skeleton;
pub mod summary;
pub mod values;

mod addons;
mod chart;
mod class;
mod components;
mod content;
mod document;
mod duplicates;
mod hook;
mod metadata;
mod packed;
mod request_schema;
mod review;
mod stages;
mod values_schema;

use std::collections::BTreeMap;

use gotemplate::Template;
use kube::core::SelectorExt as _;

use crate::names::{AddonName, KubernetesVersion, ReleaseName};
use stages::Stages;

#[cfg(feature = "shell")]
pub(crate) use chart::packed_charts;
pub use chart::{Chart, Dependency, KnownAs};
pub use components::{
    COMPONENTS, Component, ComponentForm, ComponentSource, GitReference, HELM_INDEX_HINT, ListedRepository,
    OciReference, Platform, is_manifest_digest, leads, list_repositories,
};
pub use content::is_needed_by_a_chart;
#[cfg(feature = "shell")]
pub(crate) use content::link_findings;
pub use digest::Digest;
pub use files::{File, Files, Limits, PathError, check_path};
pub use finding::{Finding, Findings, Reason, Severity};
pub use hook::Hook;
pub use metadata::PartVersions;
pub use request_schema::RequestSchema;
pub use stages::{Action, Stage, Wait, conflict, last_action};

/// The directory of the cluster class in an unpacked release.
pub const CLUSTER_CLASS: &str = "cluster-class";
/// The directory of the cluster addons in an unpacked release.
pub const CLUSTER_ADDON: &str = "cluster-addon";
/// The directory of the node images in an unpacked release.
pub const NODE_IMAGES: &str = "node-images";

/// Which of SCS's two forms a release has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One chart, `cluster-addon`, holds all addons.
    SingleChart,
    /// One directory per addon, and `clusteraddon.yaml` says when which is applied.
    MultiStage,
}

/// A release that can be planned with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Release {
    /// Its name.
    pub name: ReleaseName,
    /// Which form it has.
    pub form: Form,
    /// Whether its charts lie in archives. Flux cannot use those in Git: they have to be unpacked first.
    pub packed: bool,
    /// The full Kubernetes version that it is for.
    pub kubernetes: KubernetesVersion,
    /// The versions of its parts, as `metadata.yaml` has them.
    pub parts: PartVersions,
    /// The chart of the cluster class.
    pub cluster_class: Chart,
    /// The addons that a stage applies, in the order in which stages name them first; in the single-chart form the addon
    /// `cluster-addon` and all components.
    pub addons: Vec<Addon>,
    /// The stages of each hook, in the file's order. Empty in the single-chart form.
    pub stages: BTreeMap<Hook, Vec<Stage>>,
    /// The conditions that stages name, none of which is ever checked.
    pub waits: Vec<Wait>,
    /// The manifests of an image operator.
    pub node_images: Option<NodeImages>,
    /// The digest of the whole release, unpacked.
    pub digest: Digest,
}

/// An addon: what belongs in every cluster of the class.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Addon {
    /// Its name, which is its directory, or that of a component.
    pub name: AddonName,
    /// The content of the addon.
    pub kind: AddonKind,
    /// Its place in the release: the directory `cluster-addon/cni`, `cluster-addon` in the single-chart form, and for a
    /// component the file `components.yaml`.
    pub path: String,
    /// The digest of its directory, or of a component's reference and files.
    pub digest: Digest,
    /// The template of its values, or of the substitutions of a component's manifests; `None` where no cluster's facts reach
    /// it, and for plain manifests.
    pub template: Option<ValuesTemplate>,
}

impl Addon {
    /// Returns the chart in the release; `None` if the addon is plain manifests or a component.
    #[must_use]
    pub fn chart(&self) -> Option<&Chart> {
        match &self.kind {
            AddonKind::Chart(chart) => Some(chart),
            AddonKind::Manifests | AddonKind::Component(_) => None,
        }
    }

    /// Returns the reference to content outside of the release; `None` if the addon is a directory.
    #[must_use]
    pub fn component(&self) -> Option<&Component> {
        match &self.kind {
            AddonKind::Component(component) => Some(component),
            AddonKind::Manifests | AddonKind::Chart(_) => None,
        }
    }

    /// Returns what its `ClusterStack` says about it; `None` if it is one of the release.
    #[must_use]
    pub fn platform(&self) -> Option<&Platform> {
        self.component()?.platform.as_ref()
    }

    /// Whether it is off until the owner of a Cluster switches it on.
    #[must_use]
    pub fn is_optional(&self) -> bool {
        self.platform().is_some_and(|platform| platform.optional)
    }

    /// Whether a Cluster with these labels has it.
    #[must_use]
    pub fn is_for(&self, labels: &BTreeMap<String, String>) -> bool {
        let selector = self.platform().and_then(|platform| platform.selector.as_ref());
        selector.is_none_or(|selector| selector.matches(labels))
    }

    /// Whether it is a Helm chart, and not plain manifests.
    #[must_use]
    pub fn is_chart(&self) -> bool {
        match &self.kind {
            AddonKind::Chart(_) => true,
            AddonKind::Manifests => false,
            AddonKind::Component(component) => component.form == ComponentForm::Chart,
        }
    }
}

/// The content of an addon: a chart or manifests.
#[derive(Clone, Debug, PartialEq)]
pub enum AddonKind {
    /// A Helm chart.
    Chart(Box<Chart>),
    /// Kubernetes manifests, without a `Chart.yaml`.
    Manifests,
    /// A chart or manifests of another repository.
    Component(Box<Component>),
}

/// A values template and where it stands.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ValuesTemplate {
    /// The file in the release: `cluster-addon/cni/overwrite.yaml` or `cluster-addon-values.yaml`.
    pub file: String,
    /// The template, parsed.
    pub template: Template,
}

/// The manifests that bring a release's node images.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeImages {
    /// Their directory in the release.
    pub path: String,
    /// The digest of the directory.
    pub digest: Digest,
}

/// A release and what should be known about it.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The release.
    pub release: Release,
    /// Its files, unpacked.
    pub files: Files,
    /// Findings that are not errors.
    pub warnings: Findings,
}

impl Loaded {
    /// Returns a file of each addon of plain manifests that SOPS has encrypted.
    #[must_use]
    pub fn encrypted(&self) -> BTreeMap<AddonName, String> {
        let manifests = self.release.addons.iter().filter(|addon| addon.kind == AddonKind::Manifests);
        let manifests: BTreeMap<&str, &AddonName> =
            manifests.map(|addon| (addon.path.as_str(), &addon.name)).collect();
        let found = review::encrypted(&self.files, &manifests.keys().copied().collect());
        found.into_iter().filter_map(|(path, file)| Some(((*manifests.get(path)?).clone(), file))).collect()
    }
}

impl Release {
    /// Returns the hooks at which an addon is applied. In the single-chart form these are none for the chart, and all for a
    /// component. A `ClusterStack` names those of its own components.
    pub fn hooks_of(&self, addon: &AddonName) -> impl Iterator<Item = Hook> {
        let is_listed = move |hook: Hook| {
            self.stages.get(&hook).is_some_and(|stages| stages.iter().any(|stage| stage.applies(addon)))
        };
        let found = self.addon(addon);
        let named = found.and_then(Addon::platform).and_then(|platform| platform.hooks.as_deref());
        let is_everywhere =
            self.form == Form::SingleChart && found.is_some_and(|addon| addon.component().is_some());
        Hook::ALL.into_iter().filter(move |hook| match named {
            Some(named) => named.contains(hook),
            None => is_everywhere || is_listed(*hook),
        })
    }

    /// Whether a stage deletes an addon in the end: it is there only for the time of an upgrade.
    #[must_use]
    pub fn is_deleted_in_the_end(&self, addon: &AddonName) -> bool {
        stages::is_deleted_in_the_end(&self.stages, addon)
    }

    /// Whether the labels of a Cluster decide which addons it has.
    #[must_use]
    pub fn selects(&self) -> bool {
        self.addons.iter().filter_map(Addon::platform).any(|platform| platform.selector.is_some())
    }

    /// Reads a release of this name out of its files, packed or unpacked. Where anything makes it unusable all
    /// findings are returned, warnings included; where an archive does, only those of archives: what it would have
    /// held is not missing. Conditions of stages are warnings: the `ClusterStack` decides whether it ignores them.
    pub fn load(name: &ReleaseName, files: Files, limits: &Limits) -> Result<Loaded, Findings> {
        let lenient = |findings: Findings| findings.as_warnings(Reason::WaitNotSupported);
        Self::load_with(name, files, limits, |_| Findings::default(), lenient)
    }

    /// Reads a release as [`Release::load`] does, with the findings of [`Release::review`]. For releases that are not
    /// published yet: one in use must stay usable.
    pub fn lint(name: &ReleaseName, files: Files, limits: &Limits) -> Result<Loaded, Findings> {
        let pointers = Self::pointers(&files);
        let loaded =
            Self::load_with(name, files, limits, |files| Self::review(files, limits), |findings| findings);
        loaded.map_err(|findings| pointers.in_place_of(findings))
    }

    /// Returns the files of a release that are pointers of Git LFS. What else is wrong with such a file comes of that.
    #[must_use]
    pub fn pointers(files: &Files) -> Findings {
        let mut findings = Findings::default();
        review::check_pointers(files, &mut findings);
        findings
    }

    /// Returns what Flux, Helm or Cluster API would refuse of an unpacked release that [`Release::load`] accepts.
    #[must_use]
    pub fn review(files: &Files, limits: &Limits) -> Findings {
        let mut findings = Findings::default();
        review::check(files, limits, &mut findings);
        findings
    }

    fn load_with(
        name: &ReleaseName,
        files: Files,
        limits: &Limits,
        review: impl FnOnce(&Files) -> Findings,
        judge: impl FnOnce(Findings) -> Findings,
    ) -> Result<Loaded, Findings> {
        let mut findings = Findings::default();
        let (files, packed) = packed::unpack(name, files, limits, &mut findings);
        if findings.has_errors() {
            return Err(findings);
        }
        findings.extend(review(&files));
        let release = Self::read(name, &files, limits, &mut findings);
        let findings = judge(findings);
        match release {
            Some(release) if !findings.has_errors() => {
                Ok(Loaded { release: Self { packed, ..release }, files, warnings: findings })
            }
            _ => Err(findings),
        }
    }

    /// Reads an unpacked release; `None`, with findings, where a part is unusable.
    fn read(name: &ReleaseName, files: &Files, limits: &Limits, findings: &mut Findings) -> Option<Self> {
        let mut left = limits.clone();
        let limits = &mut left;
        content::check(files, limits, findings);
        let metadata = metadata::read(name, files, limits, findings);
        let cluster_class = Chart::read(files, CLUSTER_CLASS, limits, findings);
        class::check(name, files, limits, findings);
        duplicates::check(files, CLUSTER_CLASS, limits, findings);
        let (form, Stages { hooks: stages, waits, .. }, addons) = Self::read_addons(files, limits, findings);
        let node_images = files
            .has_directory(NODE_IMAGES)
            .then(|| NodeImages { path: NODE_IMAGES.to_owned(), digest: Digest::of(files, NODE_IMAGES) });
        let (kubernetes, parts) = metadata?;
        Some(Self {
            name: name.clone(),
            form,
            packed: false,
            kubernetes,
            parts,
            cluster_class: cluster_class?,
            addons,
            stages,
            waits,
            node_images,
            digest: Digest::of(files, ""),
        })
    }

    /// Reads stages and addons. The presence of stages decides the form of the release.
    fn read_addons(
        files: &Files,
        limits: &mut Limits,
        findings: &mut Findings,
    ) -> (Form, Stages, Vec<Addon>) {
        let mut components = components::read(files, limits, findings);
        let dependencies = std::mem::take(&mut components.dependencies);
        let Some(stages) = stages::read(files, &components, limits, findings) else {
            let addons = addons::read_single(files, components, limits, findings);
            dependencies.check(&addons, None, files, findings);
            return (Form::SingleChart, Stages::default(), addons);
        };
        let stages_or_all = stages.is_complete.then_some(&stages.hooks);
        let addons = addons::read_staged(files, stages_or_all, components, limits, findings);
        dependencies.check(&addons, stages_or_all, files, findings);
        (Form::MultiStage, stages, addons)
    }

    /// Finds the addon of that name.
    #[must_use]
    pub fn addon(&self, name: &AddonName) -> Option<&Addon> {
        self.addons.iter().find(|addon| addon.name == *name)
    }
}

#[cfg(test)]
pub(crate) mod tests;
