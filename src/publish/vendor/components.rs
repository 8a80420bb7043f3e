//! Fetches the content of components, so that a release has it and names no other repository.

use super::{Vendor, VendorError};
use crate::foreign::flux::source::LayerSelector;
use crate::git::{Access as GitAccess, BareRepository, GitError, GitUrl, Reference as GitReference};
use crate::names::AddonName;
use crate::release::archive::unpack;
use crate::release::{Component, ComponentForm, ComponentSource, Files, HELM_INDEX_HINT, Limits, Release};
use crate::source::address::Address;
use crate::source::oci::credentials::Keychain;
use crate::source::oci::{Reference, Registry};
use crate::source::origin::OriginError;

/// A component whose content was fetched for a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VendoredComponent {
    /// The name of the component.
    pub name: AddonName,
    /// Where the content is from: address, commit or digest, and directory.
    pub from: String,
    /// The files, by their paths from the directory of the component.
    pub files: Files,
}

impl Vendor {
    /// Fetches the content of all components of a release. `most` limits the total size of their files in bytes.
    ///
    /// # Errors
    /// A repository that cannot be read, and a component that is more than its content: a directory of a release waits for no
    /// addon, and has nothing substituted.
    pub async fn fetch_components(
        &self,
        release: &Release,
        most: u64,
    ) -> Result<Vec<VendoredComponent>, VendorError> {
        let (mut fetched, mut left) = (Vec::new(), most);
        for addon in &release.addons {
            let Some(component) = addon.component() else { continue };
            let name = &addon.name;
            check(name, component, addon.template.is_some())?;
            let limits = Limits { unpacked: left, ..Limits::default() };
            let files = match &component.source {
                ComponentSource::Git { url, .. } => self.of_git(name, component, url, &limits)?,
                ComponentSource::Oci { url, .. } => self.of_oci(name, component, url, &limits).await?,
                ComponentSource::HelmIndex { url } => return Err(refused(name, url, HELM_INDEX_HINT)),
            };
            if files.links().next().is_some() {
                return Err(refused(
                    name,
                    component.source.url(),
                    "it has links, which a release must not have",
                ));
            }
            left = left.saturating_sub(files.size());
            fetched.push(VendoredComponent { name: name.clone(), from: from(component), files });
        }
        Ok(fetched)
    }

    /// Reads a directory of a commit.
    fn of_git(
        &self,
        name: &AddonName,
        component: &Component,
        url: &str,
        limits: &Limits,
    ) -> Result<Files, VendorError> {
        let failed =
            |error: GitError| VendorError::Git { component: name.to_string(), error: Box::new(error) };
        let commit = component.source.exact().and_then(|commit| commit.parse().ok());
        let (Some(commit), Ok(url)) = (commit, url.parse()) else {
            return Err(refused(name, url, "it names no commit of a Git repository"));
        };
        let clone = BareRepository::temporary(self.git_access(url)).map_err(failed)?;
        let found = clone.fetch(&GitReference::Commit(commit)).map_err(failed)?;
        let place = component.source.url();
        let found = found.ok_or_else(|| refused(name, place, "the repository does not have the commit"))?;
        let directory = if component.path == "." { "" } else { &component.path };
        let files = clone.snapshot(Some(found)).and_then(|snapshot| snapshot.files(directory, limits));
        let files = files.map_err(failed)?;
        if files.is_empty() {
            return Err(refused(name, place, &format!("the commit has no directory {}", component.path)));
        }
        Ok(files)
    }

    /// Reads the chart, or a directory of the manifests, of an artifact. Its manifest has the digest of the component.
    async fn of_oci(
        &self,
        name: &AddonName,
        component: &Component,
        url: &str,
        limits: &Limits,
    ) -> Result<Files, VendorError> {
        let failed =
            |error: OriginError| VendorError::Origin { chart: name.to_string(), error: Box::new(error) };
        let digest = component.source.exact().and_then(|digest| digest.parse().ok());
        let (Some(digest), Ok(Address::Oci(address))) = (digest, url.parse()) else {
            return Err(refused(name, url, "it names no manifest of a registry"));
        };
        let mut access = self.access_to(&address.registry);
        // Plain HTTP is for the registry of the release, or for all if the release is in none. A release must not choose which stored
        // credentials are sent over it.
        if self.named.is_none() && self.access.plain_http {
            access.plain_http = true;
            access.keychain = Keychain::default();
        }
        let registry = Registry::open(&address, &access).await.map_err(failed)?;
        let pulled = registry.manifest(&Reference::Digest(digest)).await.map_err(failed)?;
        let is_chart = component.form == ComponentForm::Chart;
        // Without a selector, source-controller takes the first layer.
        let mut layers = pulled.manifest.layers.iter();
        let layer = layers.find(|layer| !is_chart || layer.media_type == LayerSelector::CHART.media_type);
        let layer = layer.ok_or_else(|| refused(name, url, "the artifact has no layer for it"))?;
        let archive = registry.blob(layer, limits.unpacked).await.map_err(failed)?;
        let files = unpack(&archive, url, limits);
        let files = files.map_err(|findings| refused(name, url, &findings.without_warnings().to_string()))?;
        let root = files.iter().find_map(|(path, _)| Some(path.split_once('/')?.0.to_owned()));
        let directory = if is_chart { root.unwrap_or_default() } else { component.path.clone() };
        let files = if directory == "." { files } else { below(&files, &directory) };
        if files.is_empty() {
            return Err(refused(name, url, &format!("the artifact has no directory {}", component.path)));
        }
        Ok(files)
    }

    fn git_access(&self, url: GitUrl) -> GitAccess {
        let mut credentials = self.git.clone();
        // A release must not choose who gets the password.
        if self.own_git.as_ref().is_none_or(|own| !own.is_same_server(&url)) {
            credentials.https = None;
        }
        GitAccess { url, credentials }
    }
}

/// Refuses a component that is more than its content.
fn check(name: &AddonName, component: &Component, has_template: bool) -> Result<(), VendorError> {
    let why = if !component.depends_on.is_empty() {
        "it has dependsOn, which a directory of a release does not: remove it, and name the addons in \
         spec.flux.addons of the ClusterStack"
    } else if component.form == ComponentForm::Manifests && has_template {
        "it has substitute, which a directory of a release does not"
    } else {
        return Ok(());
    };
    Err(refused(name, component.source.url(), why))
}

/// Describes where a component is from.
fn from(component: &Component) -> String {
    let (url, exact) = (component.source.url(), component.source.exact().unwrap_or_default());
    if component.path == "." { format!("{url}@{exact}") } else { format!("{url}@{exact} {}", component.path) }
}

/// Returns the files below a directory, with paths from there; links stay links.
fn below(files: &Files, directory: &str) -> Files {
    let mut inner = Files::default();
    for (path, file) in files.below(directory) {
        // Both were checked as part of the longer path.
        _ = inner.insert(path, file.clone());
    }
    for (path, target) in files.links() {
        if let Some(path) = path.strip_prefix(directory).and_then(|path| path.strip_prefix('/')) {
            _ = inner.insert_link(path, target);
        }
    }
    inner
}

fn refused(name: &AddonName, place: &str, why: &str) -> VendorError {
    VendorError::Refused {
        place: place.to_owned(),
        chart: format!("the component {name}"),
        why: why.to_owned(),
    }
}
