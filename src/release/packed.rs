//! The packed form of a release: the cluster class, the cluster addons and the node images as archives beside
//! `metadata.yaml`.

use crate::names::ReleaseName;

use super::archive;
use super::files::{Files, Limits};
use super::finding::{Finding, Findings, Reason};
use super::{CLUSTER_ADDON, CLUSTER_CLASS, NODE_IMAGES, stages};

/// The part of an archive's name that names its content, and the directory to which the archive is unpacked.
const ARCHIVES: [(&str, &str); 3] =
    [("-cluster-class-", CLUSTER_CLASS), ("-cluster-addon-", CLUSTER_ADDON), ("-node-image-", NODE_IMAGES)];

/// Unpacks the archives among the files of a release; returns all files, and whether there was such an archive.
pub(super) fn unpack(
    name: &ReleaseName,
    mut files: Files,
    limits: &Limits,
    findings: &mut Findings,
) -> (Files, bool) {
    let archives: Vec<(String, &str)> =
        files.iter().filter_map(|(path, _)| Some((path.to_owned(), directory_of(name, path)?))).collect();
    if archives.is_empty() {
        return (files, false);
    }
    let mut left = limits.clone();
    for (path, directory) in archives {
        let Some(file) = files.remove(&path) else { continue };
        // In the multi-stage form the top level of the addons' archive holds the addons.
        let keeps_top = directory == CLUSTER_ADDON && files.get(stages::FILE).is_some();
        match archive::unpack_within(&file.content, &path, &mut left) {
            Ok(content) => {
                let content = if keeps_top { content } else { without_top(content) };
                absorb(&mut files, content, directory, &path, findings);
            }
            Err(errors) => findings.extend(errors),
        }
    }
    let files = files.without_ignored().unwrap_or_else(|finding| {
        findings.push(*finding);
        Files::default()
    });
    (files, true)
}

/// Finds the first such archive among a release's files.
pub(super) fn archive<'a>(name: &ReleaseName, files: &'a Files) -> Option<&'a str> {
    files.iter().map(|(path, _)| path).find(|path| directory_of(name, path).is_some())
}

/// Returns the directory for the content of an archive such as
/// `<provider>-<stack>-<major>-<minor>-cluster-class-<version>.tgz`.
fn directory_of(name: &ReleaseName, path: &str) -> Option<&'static str> {
    let part = path.strip_suffix(".tgz")?.strip_prefix(&name.prefix())?;
    ARCHIVES.into_iter().find(|(infix, _)| part.starts_with(infix)).map(|(_, directory)| directory)
}

/// Removes the directory with the chart's name, below which Helm packs a chart and which is not part of the chart.
fn without_top(content: Files) -> Files {
    let top = content.directories("").into_iter().next().map(str::to_owned);
    match top.filter(|top| content.get(&format!("{top}/Chart.yaml")).is_some()) {
        Some(top) => content.without_directory(&top),
        None => content,
    }
}

fn absorb(unpacked: &mut Files, content: Files, directory: &str, archive: &str, findings: &mut Findings) {
    if let Err((path, error)) = unpacked.absorb(content, directory) {
        let message = format!("the file is in {archive} and also unpacked in the release: {error}");
        findings.push(Finding::error(Reason::InvalidPath, &path, message));
    }
}
