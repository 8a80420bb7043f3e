//! Compares the files of one part of a release, file by file.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::change::Change;
use crate::release::{File, Files, Limits, archive};

/// Files by their path in the release.
#[derive(Default, PartialEq)]
pub(super) struct Contents<'a>(BTreeMap<String, &'a File>);

impl<'a> Contents<'a> {
    /// Selects the files of a release at and below these paths.
    pub(super) fn of(files: &'a Files, roots: &[&str]) -> Self {
        let at = |root: &&str| {
            let itself = files.get(root).map(|file| ((*root).to_owned(), file));
            let root = (*root).to_owned();
            let below = files.below(&root).map(move |(path, file)| (format!("{root}/{path}"), file));
            itself.into_iter().chain(below).collect::<Vec<_>>()
        };
        Self(roots.iter().flat_map(at).collect())
    }

    /// Selects the files of a release that are neither at nor below these paths.
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

    /// Returns the vendored charts, by name, that `other` does not have with the same bytes.
    fn vendored(&self, other: &Self) -> BTreeMap<String, Vendored> {
        let differing = self.0.iter().filter(|(path, file)| other.0.get(*path) != Some(*file));
        differing.filter_map(|(path, file)| Vendored::read(path, file)).collect()
    }
}

/// A file that differs between both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FileChange {
    /// The path in the second release, or in the first one if the second does not have the file.
    pub path: String,
    /// The kind of change.
    pub change: Change,
    /// The vendored chart, if the file is the archive of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chart: Option<VendoredChange>,
    /// Whether the second release has the file as executable, if that changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executable: Option<bool>,
    /// The lines that differ.
    #[serde(skip)]
    pub lines: Lines,
}

/// The level of detail in which to show the files that differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The names of the files.
    Names,
    /// The names and the lines that differ.
    Lines,
}

/// The difference between two contents of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Lines {
    /// A unified diff without its header; empty if the content is the same, for a vendored chart, or with
    /// [`Detail::Names`].
    Text(String),
    /// The number of bytes on each side, if the content is binary or too long.
    Bytes {
        /// Bytes of the first release.
        from: usize,
        /// Bytes of the second release.
        to: usize,
    },
}

/// A vendored chart with a different version, or with different bytes in the same version.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VendoredChange {
    /// The name of the chart.
    pub name: String,
    /// The version in the first release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The version in the second release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// A chart in an archive below `charts/`.
struct Vendored {
    path: String,
    version: String,
}

/// The fields of a vendored `Chart.yaml` that the comparison reads.
#[derive(Deserialize)]
struct ChartFile {
    name: String,
    version: String,
}

impl Vendored {
    /// Reads the chart in this file, and its name. `None` if the file is not a readable archive of a chart: the file is
    /// then compared like any other file, because loading the release has already reported the problem.
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

/// Returns the files that differ. Vendored charts are compared by their names, all other files by their paths.
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
        // `Contents::vendored` has already left out charts with the same bytes.
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
    let lines = match (super::as_text(old), super::as_text(new)) {
        (Some(_), Some(_)) if detail == Detail::Names => Lines::Text(String::new()),
        (Some(old), Some(new)) => Lines::Text(super::hunks(old, new)),
        _ => Lines::Bytes { from: old.len(), to: new.len() },
    };
    let executable = |file: Option<&File>| file.is_some_and(|file| file.executable);
    let executable = (executable(from) != executable(to)).then(|| executable(to));
    Some(FileChange { path: path.to_owned(), change, chart: None, executable, lines })
}
