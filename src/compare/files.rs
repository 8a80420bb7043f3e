//! The files of one part of a release, compared one by one.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::change::Change;
use super::unified;
use crate::release::{File, Files, Limits, archive};

/// Files by their path in the release.
#[derive(Default, PartialEq)]
pub(super) struct Contents<'a>(BTreeMap<String, &'a File>);

impl<'a> Contents<'a> {
    /// The files at and below these paths of a release.
    pub(super) fn of(files: &'a Files, roots: &[&str]) -> Self {
        let at = |root: &&str| {
            let itself = files.get(root).map(|file| ((*root).to_owned(), file));
            let root = (*root).to_owned();
            let below = files.below(&root).map(move |(path, file)| (format!("{root}/{path}"), file));
            itself.into_iter().chain(below).collect::<Vec<_>>()
        };
        Self(roots.iter().flat_map(at).collect())
    }

    /// The files of a release that are neither at nor below these paths.
    pub(super) fn except(files: &'a Files, roots: &[&str]) -> Self {
        let is_below = |path: &str, root: &str| {
            path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let others = files.iter().filter(|(path, _)| !roots.iter().any(|root| is_below(path, root)));
        Self(others.map(|(path, file)| (path.to_owned(), file)).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The vendored charts that `other` does not have byte for byte, by their names.
    fn vendored(&self, other: &Self) -> BTreeMap<String, Vendored> {
        let differing = self.0.iter().filter(|(path, file)| other.0.get(*path) != Some(*file));
        differing.filter_map(|(path, file)| Vendored::read(path, file)).collect()
    }
}

/// A file that is not the same on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FileChange {
    /// The path in the release: the second one's, unless it is gone there.
    pub path: String,
    /// The kind of change.
    pub change: Change,
    /// The chart that it is, where it is the archive of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chart: Option<VendoredChange>,
    /// Whether the owner may execute it, where that changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executable: Option<bool>,
    /// The lines that differ.
    #[serde(skip)]
    pub lines: Lines,
}

/// The kinds of differences to show in files that differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Which they are.
    Names,
    /// Their lines, too.
    Lines,
}

/// The ways to show the content of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Lines {
    /// A unified diff without its header; empty where the content is the same, or lines are not looked for.
    Text(String),
    /// Binary content, or too many bytes: their number on each side.
    Bytes {
        /// Bytes of the first release.
        from: usize,
        /// Bytes of the second release.
        to: usize,
    },
}

/// Another version of a vendored chart, or other bytes under the same one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VendoredChange {
    /// Its name.
    pub name: String,
    /// The version that it had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The version that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// A chart in an archive below `charts/`.
struct Vendored {
    path: String,
    version: String,
}

/// The part of a `Chart.yaml` in an archive that is read.
#[derive(Deserialize)]
struct ChartFile {
    name: String,
    version: String,
}

impl Vendored {
    /// The name of the chart in this file, and the chart. `None` if the file is not a readable archive of a chart:
    /// then it is compared as any other file, and loading the release has reported what is wrong with it.
    fn read(path: &str, file: &File) -> Option<(String, Self)> {
        let (_, name) = path.rsplit_once("/charts/")?;
        name.strip_suffix(".tgz").filter(|name| !name.contains('/'))?;
        let Ok(files) = archive::unpack(&file.content, path, &Limits::default()) else { return None };
        let top = files.directories("").into_iter().next()?;
        let chart = files.get(&format!("{top}/Chart.yaml"))?;
        let Ok(chart) = serde_yaml::from_slice::<ChartFile>(&chart.content) else { return None };
        Some((chart.name, Self { path: path.to_owned(), version: chart.version }))
    }
}

/// The files that differ: vendored charts by their names, all others by their paths.
pub(super) fn compare(from: &Contents, to: &Contents, detail: Detail) -> Vec<FileChange> {
    let (old, new) = (from.vendored(to), to.vendored(from));
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let charts = names.into_iter().map(|name| vendored_change(name, old.get(name), new.get(name)));
    let seen: BTreeSet<&String> = old.values().chain(new.values()).map(|chart| &chart.path).collect();
    let paths: BTreeSet<&String> = from.0.keys().chain(to.0.keys()).collect();
    let paths = paths.difference(&seen).copied();
    let files = paths
        .filter_map(|path| file_change(path, from.0.get(path).copied(), to.0.get(path).copied(), detail));
    let mut changes: Vec<FileChange> = charts.chain(files).collect();
    changes.sort_by(|one, other| one.path.cmp(&other.path));
    changes
}

fn vendored_change(name: &str, from: Option<&Vendored>, to: Option<&Vendored>) -> FileChange {
    let version = |chart: Option<&Vendored>| chart.map(|chart| chart.version.clone());
    let change = match (from, to) {
        (None, _) => Change::Added,
        (_, None) => Change::Removed,
        // Only charts whose bytes differ are here.
        _ => Change::Changed,
    };
    FileChange {
        path: to.or(from).map(|chart| chart.path.clone()).unwrap_or_default(),
        change,
        chart: Some(VendoredChange { name: name.to_owned(), from: version(from), to: version(to) }),
        executable: None,
        lines: Lines::Text(String::new()),
    }
}

fn file_change(path: &str, from: Option<&File>, to: Option<&File>, detail: Detail) -> Option<FileChange> {
    let change = Change::between(from, to);
    if change == Change::Unchanged {
        return None;
    }
    let [old, new] = [from, to].map(|file| file.map(|file| file.content.as_slice()).unwrap_or_default());
    let lines = match (unified::as_text(old), unified::as_text(new)) {
        (Some(_), Some(_)) if detail == Detail::Names => Lines::Text(String::new()),
        (Some(old), Some(new)) => Lines::Text(unified::hunks(old, new)),
        _ => Lines::Bytes { from: old.len(), to: new.len() },
    };
    let executable = |file: Option<&File>| file.is_some_and(|file| file.executable);
    let executable = (executable(from) != executable(to)).then(|| executable(to));
    Some(FileChange { path: path.to_owned(), change, chart: None, executable, lines })
}
