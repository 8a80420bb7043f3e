//! Collects the findings of all releases below a path.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::cli::releases::Releases;
use crate::names::{AddonName, ReleaseName};
use crate::release::{Finding, Findings, Loaded, Reason, Release};
use crate::source::SourceError;

/// The findings about a release, or about the entries of a stack repository beside its releases.
pub(super) struct Linted {
    /// The release; `None` for the stack repository, and for an archive that could not be opened.
    pub(super) release: Option<ReleaseName>,
    /// The directory or archive of the release, by the path in the arguments.
    pub(super) place: PathBuf,
    /// The addons, and whether each is a chart; empty for a release that cannot be used.
    pub(super) addons: BTreeMap<AddonName, bool>,
    /// The addons of manifests that are encrypted with SOPS, each with a file of it that is.
    pub(super) encrypted: BTreeMap<AddonName, String>,
    /// The content, also of a release that must not be published; `None` if it cannot be used.
    pub(super) content: Option<Release>,
    /// The findings.
    pub(super) findings: Findings,
}

/// Lints a release, or all releases of a stack repository. Fails if anything cannot be read, so that no findings always
/// means that everything was checked.
pub(super) fn lint(source: &Path) -> Result<Vec<Linted>, SourceError> {
    let releases = match Releases::open(source) {
        Ok(releases) => releases,
        Err(SourceError::Unusable { findings, .. }) => {
            let release = source.file_stem().and_then(|name| name.to_str()?.parse().ok());
            return Ok(vec![Linted {
                release,
                place: source.to_owned(),
                addons: BTreeMap::new(),
                encrypted: BTreeMap::new(),
                content: None,
                findings,
            }]);
        }
        Err(error) => return Err(error),
    };
    if releases.is_single() {
        let Some(name) = releases.names().into_iter().next() else { return Ok(Vec::new()) };
        let mut linted = one(&releases, name, source.to_owned())?;
        // With a slash at the end, the path names what the link leads to.
        if let Ok(target) = source.components().collect::<PathBuf>().read_link() {
            let message = format!(
                "the release is a link to {:?}: in a stack repository, Flux leaves it out of an artifact",
                target.display().to_string()
            );
            linted.findings.push(Finding::warning(Reason::LinkNotAllowed, "", message));
        }
        return Ok(vec![linted]);
    }
    let directory = source.join(below(source, &releases));
    let mut all = vec![beside(&releases, &directory)];
    for name in releases.names() {
        let place = directory.join(name.to_string());
        all.push(one(&releases, name, place)?);
    }
    Ok(all)
}

/// Returns the directory of the releases, relative to the path in the arguments: `releases`, or empty.
fn below(source: &Path, releases: &Releases) -> PathBuf {
    let root = source.canonicalize().ok();
    let below = root.and_then(|root| releases.path().strip_prefix(root).map(Path::to_owned).ok());
    below.unwrap_or_default()
}

fn one(releases: &Releases, name: ReleaseName, place: PathBuf) -> Result<Linted, SourceError> {
    let (loaded, mut findings) = match releases.lint(&name) {
        Ok(mut loaded) => {
            let warnings = std::mem::take(&mut loaded.warnings);
            (Some(loaded), warnings)
        }
        Err(SourceError::Unusable { findings, .. }) => (releases.load(&name).ok(), findings),
        Err(error) => return Err(error),
    };
    let encrypted = loaded.as_ref().map(Loaded::encrypted).unwrap_or_default();
    let content = loaded.map(|loaded| loaded.release);
    if content.as_ref().is_some_and(|release| release.packed) && !releases.is_single() {
        let message = "the release is in archives, and Flux does not open archives in a Git repository";
        let hint = "unpack them: cluster-class/ and cluster-addon/ beside metadata.yaml";
        findings.push(Finding::error(Reason::PackedInRepository, "", message).hint(hint));
    }
    let addons = content.iter().flat_map(|release| &release.addons);
    let addons = addons.map(|addon| (addon.name.clone(), addon.is_chart())).collect();
    Ok(Linted { release: Some(name), place, addons, encrypted, content, findings })
}

/// Collects the findings about the entries of a stack repository's directory themselves.
fn beside(releases: &Releases, directory: &Path) -> Linted {
    let mut findings = Findings::default();
    findings.extend(releases.others());
    for name in releases.malformed() {
        if let Err(error) = name.parse::<ReleaseName>() {
            let message = format!("the directory is skipped: {error}");
            findings.push(Finding::warning(Reason::InvalidName, name, message));
        }
    }
    let (addons, encrypted) = (BTreeMap::new(), BTreeMap::new());
    Linted { release: None, place: directory.to_owned(), addons, encrypted, content: None, findings }
}
