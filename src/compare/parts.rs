//! Compares the parts of two releases by content.

use serde::Serialize;

use super::Side;
use super::change::Change;
use super::files::{self, Contents, Detail, FileChange};
use crate::release::{Addon, CLUSTER_CLASS, Chart, NODE_IMAGES};

/// The comparison of all parts of two releases; `None` for a part that neither release has.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Parts {
    /// `metadata.yaml`, or `csctl.yaml` instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Part>,
    /// `clusteraddon.yaml`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stages: Option<Part>,
    /// The chart of the cluster class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_class: Option<Part>,
    /// The manifests of node images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_images: Option<Part>,
    /// The values template of all addons that have none of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values_template: Option<Part>,
    /// The addons: those of the second release, then those that only the first has.
    pub addons: Vec<AddonPart>,
    /// The files that stackflux does not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<Part>,
}

impl Parts {
    /// Iterates over all parts with their titles, in display order.
    pub fn iter(&self) -> impl Iterator<Item = (String, &Part)> {
        let titled = [
            ("metadata", &self.metadata),
            ("stages", &self.stages),
            ("cluster class", &self.cluster_class),
            ("node images", &self.node_images),
            ("values template", &self.values_template),
        ];
        let titled = titled.into_iter().filter_map(|(title, part)| Some((title.to_owned(), part.as_ref()?)));
        let addons = self.addons.iter().map(|addon| (format!("addon {}", addon.name), &addon.part));
        let other = self.other.iter().map(|part| ("other files".to_owned(), part));
        titled.chain(addons).chain(other)
    }

    /// Whether any part differs.
    #[must_use]
    pub fn differ(&self) -> bool {
        self.iter().any(|(_, part)| part.change != Change::Unchanged)
    }
}

/// The comparison of a part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// The kind of change.
    pub change: Change,
    /// The chart of the part, if the part is a chart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chart: Option<ChartChange>,
    /// The files that differ.
    pub files: Vec<FileChange>,
}

/// The comparison of an addon.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AddonPart {
    /// The name of the addon.
    pub name: String,
    /// The kind of change.
    #[serde(flatten)]
    pub part: Part,
}

/// The chart of a part in each release; `None` in a release without it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChartChange {
    /// Name and version in the first release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<ChartName>,
    /// Name and version in the second release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<ChartName>,
}

/// The name and version of a chart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChartName {
    /// `name` of `Chart.yaml`.
    pub name: String,
    /// `version` of `Chart.yaml`.
    pub version: String,
}

impl ChartChange {
    fn between(from: Option<&Chart>, to: Option<&Chart>) -> Option<Self> {
        let called = |chart: &Chart| ChartName { name: chart.name.clone(), version: chart.version.clone() };
        (from.is_some() || to.is_some()).then(|| Self { from: from.map(called), to: to.map(called) })
    }
}

/// The files of each part that is neither an addon nor a directory.
const METADATA: &[&str] = &["metadata.yaml", "csctl.yaml"];
const STAGES: &[&str] = &["clusteraddon.yaml"];
const VALUES_TEMPLATE: &[&str] = &["cluster-addon-values.yaml"];

/// Compares all parts of two releases.
#[must_use]
pub fn compare(from: &Side, to: &Side, detail: Detail) -> Parts {
    let part = |roots: &[&str]| {
        Part::of_some(&Contents::of(&from.files, roots), &Contents::of(&to.files, roots), detail)
    };
    let class = ChartChange::between(Some(&from.release.cluster_class), Some(&to.release.cluster_class));
    let kept = to.release.addons.iter().map(|addon| &addon.name);
    let removed = from.release.addons.iter().map(|addon| &addon.name);
    let removed = removed.filter(|name| to.release.addon(name).is_none());
    let addons = kept.chain(removed).map(|name| {
        let part = addon((from, from.release.addon(name)), (to, to.release.addon(name)), detail);
        AddonPart { name: name.to_string(), part }
    });
    Parts {
        metadata: part(METADATA),
        stages: part(STAGES),
        cluster_class: part(&[CLUSTER_CLASS]).map(|part| Part { chart: class, ..part }),
        node_images: part(&[NODE_IMAGES]),
        values_template: part(VALUES_TEMPLATE),
        addons: addons.collect(),
        other: Part::of_some(&other(from), &other(to), detail),
    }
}

/// Selects the files that belong to no part.
fn other(side: &Side) -> Contents<'_> {
    let named = [METADATA, STAGES, VALUES_TEMPLATE, &[CLUSTER_CLASS, NODE_IMAGES]].concat();
    let addons = side.release.addons.iter().map(|addon| addon.path.as_str());
    Contents::except(&side.files, &named.into_iter().chain(addons).collect::<Vec<_>>())
}

fn addon(from: (&Side, Option<&Addon>), to: (&Side, Option<&Addon>), detail: Detail) -> Part {
    let chart = ChartChange::between(from.1.and_then(Addon::chart), to.1.and_then(Addon::chart));
    Part::between(addon_files(from).as_ref(), addon_files(to).as_ref(), chart, detail)
}

fn addon_files<'a>((side, addon): (&'a Side, Option<&Addon>)) -> Option<Contents<'a>> {
    addon.map(|addon| Contents::of(&side.files, &[&addon.path]))
}

impl Part {
    /// Compares an optional part; `None` if neither release has it.
    fn of_some(from: &Contents, to: &Contents, detail: Detail) -> Option<Self> {
        let some = |contents| Some(contents).filter(|contents: &&Contents| !contents.is_empty());
        let (from, to) = (some(from), some(to));
        (from.is_some() || to.is_some()).then(|| Self::between(from, to, None, detail))
    }

    /// Compares the content of a part. The files of an added or removed part are listed without their lines.
    fn between(
        from: Option<&Contents>,
        to: Option<&Contents>,
        chart: Option<ChartChange>,
        detail: Detail,
    ) -> Self {
        let none = Contents::default();
        let files = files::compare(from.unwrap_or(&none), to.unwrap_or(&none), detail);
        Self { change: Change::between(from, to), chart, files }
    }
}
