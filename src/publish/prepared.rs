//! A release that may be published: unpacked, without errors, and with charts that can be built.

use std::collections::BTreeSet;

use super::dependencies::{self, Missing};
use super::vendor::{Vendored, VendoredComponent};
use super::{PublishError, contents};
use crate::names::ReleaseName;
use crate::release::{File, Files, Findings, Limits, Release, Severity, bound, packed_charts, range};
use crate::source::origin::{Fetched, Provenance};

/// A release that may be published.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Prepared {
    /// The release as its directory will have it.
    pub release: Release,
    /// The files of its directory.
    pub files: Files,
    /// Warnings about the release.
    pub warnings: Findings,
    /// The findings of `lint` for which only a release that is not published yet is refused; empty without errors.
    pub refused: Findings,
    /// The origin of the release.
    pub provenance: Provenance,
    /// The dependencies that it was fetched without.
    pub missing: Vec<Missing>,
    /// The missing dependencies that were fetched, and are in `files`.
    pub vendored: Vec<Vendored>,
    /// The components whose content was fetched, and is in `files`.
    pub components: Vec<VendoredComponent>,
}

impl Prepared {
    /// Unpacks and checks a release. Refuses it if it cannot be loaded or if a dependency cannot be fetched. If its
    /// content is pinned or signed, also refuses content that is not bound to the release's name. What else `lint` has
    /// against it is noted, because a release that is published already stays.
    pub fn of(fetched: Fetched, limits: &Limits) -> Result<Self, PublishError> {
        let Fetched { name, files, provenance } = fetched;
        let (release, files, warnings, refused) = load(&name, files, limits)?;
        let unusable = |findings| PublishError::Unusable { name: name.to_string(), findings };
        if provenance.is_pinned_or_signed() {
            let findings = bound::check(&name, &files, limits);
            if findings.has_errors() {
                return Err(unusable(findings));
            }
        }
        let missing = dependencies::missing(&release, &files).map_err(unusable)?;
        Ok(Self {
            release,
            files,
            warnings,
            refused,
            provenance,
            missing,
            vendored: Vec::new(),
            components: Vec::new(),
        })
    }

    /// Whether the release has components, whose content is elsewhere.
    #[must_use]
    pub fn has_components(&self) -> bool {
        self.release.addons.iter().any(|addon| addon.component().is_some())
    }

    /// Puts the fetched content of components in their place, and checks the release again.
    pub fn with_contents(
        self,
        components: Vec<VendoredComponent>,
        limits: &Limits,
    ) -> Result<Self, PublishError> {
        let name = self.release.name.clone();
        let placed = contents::with_contents(&self.files, &self.release, &components);
        let files = placed.map_err(|why| PublishError::Place { place: name.to_string(), why })?;
        let (release, files, warnings, refused) = load(&name, files, limits)?;
        let unusable = |findings| PublishError::Unusable { name: name.to_string(), findings };
        let missing = dependencies::missing(&release, &files).map_err(unusable)?;
        Ok(Self { release, files, warnings, refused, missing, components, ..self })
    }

    /// Adds fetched charts, and checks the release again, because an archive from a repository may contain anything.
    pub fn with(self, vendored: Vec<Vendored>, limits: &Limits) -> Result<Self, PublishError> {
        let name = self.release.name.clone();
        let mut files = self.files;
        for chart in &vendored {
            let path = chart.missing.archive(&chart.version);
            let file = File { content: chart.content.clone(), executable: false };
            files.insert(&path, file).map_err(|error| PublishError::Place {
                place: name.to_string(),
                why: format!("{path}: {error}"),
            })?;
        }
        let (release, files, warnings, refused) = load(&name, files, limits)?;
        for chart in &vendored {
            if !is_that_chart(chart, limits) {
                let (name, url, version) = (name.to_string(), chart.url.clone(), chart.version.clone());
                return Err(PublishError::ChartMismatch {
                    name,
                    url,
                    chart: chart.missing.name.clone(),
                    version,
                });
            }
        }
        Ok(Self { release, files, warnings, refused, vendored, ..self })
    }

    /// Returns the paths of the archives that were fetched for it.
    pub(super) fn fetched(&self) -> BTreeSet<String> {
        self.vendored.iter().map(|chart| chart.missing.archive(&chart.version)).collect()
    }

    /// Returns the name of the release.
    #[must_use]
    pub fn name(&self) -> &ReleaseName {
        &self.release.name
    }
}

/// Whether the archive is the requested chart, by its own name and version.
fn is_that_chart(vendored: &Vendored, limits: &Limits) -> bool {
    let Vendored { missing, version, content, .. } = vendored;
    // The check of the release has already reported what is wrong with an archive.
    let charts =
        packed_charts(content, &missing.archive(version), &mut limits.clone(), &mut Findings::default());
    let [(name, own_version)] = charts.as_slice() else { return false };
    let wanted = range::version(version);
    *name == missing.name && wanted.is_some() && range::version(own_version) == wanted
}

/// Loads a release; returns it with its files, the warnings, and the findings for which it must not be published.
fn load(
    name: &ReleaseName,
    files: Files,
    limits: &Limits,
) -> Result<(Release, Files, Findings, Findings), PublishError> {
    let unusable = |findings| PublishError::Unusable { name: name.to_string(), findings };
    let pointers = Release::pointers(&files);
    let loaded = Release::load(name, files, limits);
    let loaded = loaded.map_err(|findings| unusable(pointers.in_place_of(findings)))?;
    let mut findings = loaded.warnings;
    findings.extend(Release::review(&loaded.files, limits));
    let refused = if findings.has_errors() { findings.clone() } else { Findings::default() };
    let warnings = findings.into_iter().filter(|finding| finding.severity == Severity::Warning);
    let mut all = Findings::default();
    all.extend(warnings);
    Ok((loaded.release, loaded.files, all, refused))
}

#[cfg(test)]
mod tests;
