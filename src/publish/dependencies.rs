//! The chart dependencies of a release that are not vendored: their repositories, or why they cannot be fetched.

use reqwest::Url;
use serde::Deserialize;

use crate::release::chart_index;
use crate::release::range::{self, Range, RangeError};
use crate::release::{Addon, Chart, Dependency, Files, Finding, Findings, Reason, Release};

/// Maximum size of a `Chart.lock` in bytes.
const MAX_LOCK_BYTES: usize = 1 << 20;

/// A dependency that is in a chart repository, and not in the release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Directory of the chart in the release: `cluster-addon/cni`.
    pub chart: String,
    /// Name of the dependency.
    pub name: String,
    /// Version or version range in `Chart.yaml`; empty for any version.
    pub version: String,
    /// The exact version, if the chart has a `Chart.lock`.
    pub locked: Option<String>,
    /// Repository of the dependency.
    pub repository: Repository,
}

/// A chart repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Repository {
    /// A Helm repository with an `index.yaml`, by its URL, which ends with `/`.
    Helm(Url),
    /// An OCI registry with one repository for each chart.
    Oci {
        /// The host, with its port if one is given.
        registry: String,
        /// Path before the chart's name; may be empty.
        path: String,
    },
}

impl Missing {
    /// Returns the path of the archive in the release when it is vendored in this version.
    #[must_use]
    pub fn archive(&self, version: &str) -> String {
        format!("{}{version}.tgz", self.prefix())
    }

    /// Returns the exact version, or otherwise the range.
    #[must_use]
    pub fn wanted(&self) -> &str {
        self.locked.as_deref().unwrap_or(&self.version)
    }

    /// Chooses one of the existing versions.
    pub fn choose<'a>(
        &self,
        there: impl DoubleEndedIterator<Item = &'a str> + Clone,
    ) -> Result<Option<&'a str>, RangeError> {
        chart_index::choose(there, self.wanted())
    }

    /// Returns the version of this dependency's archive at a path; `None` for any other file, such as the archive of a chart
    /// whose name only begins with this one's.
    #[must_use]
    pub fn vendored_version<'a>(&self, path: &'a str) -> Option<&'a str> {
        let version = path.strip_prefix(&self.prefix())?.strip_suffix(".tgz")?;
        range::version(version).map(|_| version)
    }

    fn prefix(&self) -> String {
        format!("{}/charts/{}-", self.chart, self.name)
    }
}

/// Returns the chart dependencies of a release that are not vendored, in the order of the charts; or one error for each
/// that source-controller could not fetch either.
///
/// source-controller fetches missing dependencies when it packages a chart from Git: from `https`, `http` and `oci`, and
/// from directories of the same repository (`internal/helm/chart/dependency_manager.go`). It does not know repositories
/// by alias, which are in a user's Helm settings.
pub fn missing(release: &Release, files: &Files) -> Result<Vec<Missing>, Findings> {
    let charts =
        std::iter::once(&release.cluster_class).chain(release.addons.iter().filter_map(Addon::chart));
    let (mut missing, mut findings) = (Vec::new(), Findings::default());
    for chart in charts {
        for dependency in chart.dependencies.iter().filter(|dependency| dependency.vendored.is_none()) {
            match place(chart, dependency, files) {
                // A chart under two aliases is fetched once.
                Ok(found) => missing.extend(found.filter(|found| !missing.contains(found))),
                Err(why) => {
                    let message = format!("dependency {}: {why}", dependency.name);
                    let file = format!("{}/Chart.yaml", chart.path);
                    let finding = Finding::error(Reason::DependencyUnresolved, &file, message);
                    findings
                        .push(finding.hint("run `helm dependency update`, or put its archive into charts/"));
                }
            }
        }
    }
    if findings.has_errors() { Err(findings) } else { Ok(missing) }
}

/// Finds the repository of a dependency; `None` if it is a directory of the release.
fn place(chart: &Chart, dependency: &Dependency, files: &Files) -> Result<Option<Missing>, String> {
    let repository = dependency.repository.as_deref().unwrap_or_default();
    if let Some(path) = repository.strip_prefix("file://") {
        return local(&chart.path, path, files).map(|()| None);
    }
    if !is_chart_name(&dependency.name) {
        return Err(format!("invalid chart name {:?}", dependency.name));
    }
    let repository = Repository::parse(repository)?;
    let locked = match files.get(&format!("{}/Chart.lock", chart.path)) {
        Some(file) => Some(Lock::parse(&file.content)?.version(dependency, &repository)?),
        None => None,
    };
    let (chart, name, version) = (chart.path.clone(), dependency.name.clone(), dependency.version.clone());
    Ok(Some(Missing { chart, name, version, locked, repository }))
}

/// Checks that a directory of the release is a chart.
fn local(chart: &str, path: &str, files: &Files) -> Result<(), String> {
    let mut parts: Vec<&str> = chart.split('/').collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop().ok_or_else(|| format!("file://{path} leads out of the release"))?),
            part => parts.push(part),
        }
    }
    let directory = parts.join("/");
    let is_chart = !path.starts_with('/') && files.get(&format!("{directory}/Chart.yaml")).is_some();
    if is_chart { Ok(()) } else { Err(format!("file://{path} is not a chart of this release")) }
}

impl Repository {
    fn parse(text: &str) -> Result<Self, String> {
        let refused = || format!("unsupported repository {}: use https, http, oci or file", plain(text));
        if let Some(rest) = text.strip_prefix("oci://") {
            let (registry, path) = rest.split_once('/').unwrap_or((rest, ""));
            let is_host =
                Url::parse(&format!("https://{registry}/")).is_ok_and(|url| url.username().is_empty());
            let path = path.trim_end_matches('/');
            if registry.is_empty()
                || registry.contains('@')
                || !is_host
                || path.contains(['@', ':', '?', '#'])
            {
                return Err(refused());
            }
            return Ok(Self::Oci { registry: registry.to_owned(), path: path.to_owned() });
        }
        let mut url = Url::parse(text).map_err(|_| refused())?;
        if !matches!(url.scheme(), "https" | "http") {
            return Err(refused());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("its repository has a user or a password, which must not be in a release".to_owned());
        }
        let path = format!("{}/", url.path().trim_end_matches('/'));
        url.set_path(&path);
        Ok(Self::Helm(url))
    }
}

/// The fields of a `Chart.lock` that are used.
#[derive(Clone, Debug, Default, Deserialize)]
struct Lock {
    #[serde(default)]
    dependencies: Option<Vec<Locked>>,
}

#[derive(Clone, Debug, Deserialize)]
struct Locked {
    name: String,
    version: String,
    #[serde(default)]
    repository: Option<String>,
}

impl Lock {
    fn parse(content: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(content).map_err(|_| "Chart.lock is not UTF-8".to_owned())?;
        if text.len() > MAX_LOCK_BYTES {
            return Err(format!("Chart.lock exceeds the limit of {MAX_LOCK_BYTES} bytes"));
        }
        let options = serde_yaml::options! {
            budget: serde_yaml::budget! { max_depth: 8, max_aliases: 0 },
            with_snippet: false,
        };
        serde_yaml::from_str_with_options(text, options)
            .map_err(|error| format!("Chart.lock cannot be read: {error}"))
    }

    /// Returns the version that a dependency is locked to. If there is a `Chart.lock`, source-controller fetches only the
    /// dependencies in it, and omits any other without an error.
    fn version(&self, dependency: &Dependency, repository: &Repository) -> Result<String, String> {
        let mut same = self.dependencies.iter().flatten().filter(|locked| {
            let same = locked.repository.as_deref().and_then(|text| Repository::parse(text).ok());
            locked.name == dependency.name && same.as_ref() == Some(repository)
        });
        // A chart under two aliases has two lines.
        let Some(locked) = same.clone().find(|locked| is_in(&locked.version, &dependency.version)) else {
            return Err(match same.next() {
                Some(Locked { version, .. }) => {
                    format!("Chart.lock has {version}, which is not in the range {}", dependency.version)
                }
                None => "Chart.lock lacks it: the chart would be installed without it".to_owned(),
            });
        };
        Ok(locked.version.clone())
    }
}

/// Whether a version is in a range of `Chart.yaml`: it is the same text, or matches by Helm's rules.
fn is_in(version: &str, wanted: &str) -> bool {
    let range = if wanted.is_empty() { "*" } else { wanted };
    let range = range.parse::<Range>();
    let parsed = range::version(version);
    version == wanted || range.is_ok_and(|range| parsed.is_some_and(|version| range.has(&version)))
}

impl std::fmt::Display for Repository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Helm(url) => f.write_str(&plain(url.as_str())),
            Self::Oci { registry, path } if path.is_empty() => write!(f, "oci://{registry}"),
            Self::Oci { registry, path } => write!(f, "oci://{registry}/{path}"),
        }
    }
}

/// Returns a URL without its user, and without its query, which may contain tokens.
fn plain(text: &str) -> String {
    let text = text.split(['?', '#']).next().unwrap_or_default();
    match text.split_once("://") {
        Some((scheme, rest)) => {
            format!("{scheme}://{}", rest.rsplit_once('@').map_or(rest, |(_, host)| host))
        }
        None => text.to_owned(),
    }
}

/// Whether the name is safe in a path and a URL.
fn is_chart_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !name.is_empty() && !name.starts_with('.') && name.bytes().all(plain)
}

#[cfg(test)]
mod tests;
