//! A Helm chart of a release, as far as a plan needs it.

use std::collections::BTreeMap;

use super::archive;
use super::chart_index;
use super::digest::Digest;
use super::document::Document;
use super::files::{Files, Limits};
use super::finding::{Finding, Findings, Reason};
use super::range;
use super::values_schema::accepts_unknown_key;

/// The expression by which a template reads the values of its chart.
const VALUES: &[u8] = b".Values";

/// A Helm chart with a name and a version, all of whose dependencies exist or can be fetched. Fields are those of Helm's
/// `Chart.yaml`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Chart {
    /// `name`.
    pub name: String,
    /// `version`, byte for byte. Real charts of stacks have `v1`, which is not a semantic version.
    pub version: String,
    /// `appVersion`.
    pub app_version: Option<String>,
    /// `description`, without white space around it.
    pub description: Option<String>,
    /// `dependencies` in the chart's order.
    pub dependencies: Vec<Dependency>,
    /// Whether an unknown key of its values changes nothing: no `values.schema.json` can refuse the key, and the chart's own
    /// templates read single values only, never all of them.
    pub ignores_unknown_values: bool,
    /// The chart's directory in the release, such as `cluster-addon/cni`.
    pub path: String,
    /// The digest of the chart's directory.
    pub digest: Digest,
}

/// A dependency of a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dependency {
    /// `name`.
    pub name: String,
    /// `alias`: the key of the dependency's values, if it is not the name.
    pub alias: Option<String>,
    /// `version`: a version or a range of versions.
    pub version: String,
    /// `repository`; empty or missing if the chart must be vendored.
    pub repository: Option<String>,
    /// The version in the chart's `charts/` directory; `None` if source-controller has to fetch it.
    pub vendored: Option<String>,
}

/// The name and version by which users know a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownAs {
    /// The name of the chart.
    pub name: String,
    /// The version of the chart.
    pub version: String,
    /// The version of the application that the chart installs, if the chart has it.
    pub app_version: Option<String>,
}

impl Chart {
    /// Returns the chart that users mean: the only dependency, because a chart of a stack wraps the one that it installs
    /// and has a version such as `v1`; otherwise the chart itself.
    #[must_use]
    pub fn known_as(&self) -> KnownAs {
        if let [only] = self.dependencies.as_slice() {
            let version = only.vendored.as_ref().unwrap_or(&only.version).clone();
            return KnownAs { name: only.name.clone(), version, app_version: None };
        }
        let (name, version) = (self.name.clone(), self.version.clone());
        KnownAs { name, version, app_version: self.app_version.clone() }
    }

    /// Reads the chart in this directory; `None`, with findings, if it has no usable `Chart.yaml`. The content of
    /// vendored archives is subtracted from the limits.
    pub(crate) fn read(
        files: &Files,
        path: &str,
        limits: &mut Limits,
        findings: &mut Findings,
    ) -> Option<Self> {
        let file = format!("{path}/Chart.yaml");
        let Some(document) = Document::read(files, &file, false, limits, findings) else {
            if files.get(&file).is_none() {
                let message = format!("{path} is not a chart: Chart.yaml is missing");
                let hint =
                    "every release has the chart of its cluster class, as a directory or as an archive";
                findings.push(Finding::error(Reason::MissingFile, &file, message).hint(hint));
            }
            return None;
        };
        let root = document.root();
        let name = root.required("name", Reason::InvalidChart, findings);
        let version = root.required("version", Reason::InvalidChart, findings);
        if let (Some(version), Some(value)) = (&version, root.get("version"))
            && range::version(version).is_none()
            && !version.contains("<<")
        {
            let message = format!("invalid version {version}: Helm does not accept it");
            let hint = "use one to three numbers separated by dots, such as v1 or 1.2.3-rc.1";
            findings.push(value.error(Reason::InvalidChart, message).hint(hint));
        }
        let app_version = root.optional("appVersion", findings);
        let description = root.optional("description", findings).map(|text| text.trim().to_owned());
        let vendored = vendored_charts(files, path, limits, findings);
        let dependencies = read_dependencies(&document, &vendored, findings);
        Some(Self {
            name: name?,
            version: version?,
            app_version,
            description,
            dependencies,
            ignores_unknown_values: ignores_unknown_values(files, path),
            path: path.to_owned(),
            digest: Digest::of(files, path),
        })
    }
}

fn ignores_unknown_values(files: &Files, path: &str) -> bool {
    let reads_all = |content: &[u8]| {
        let reads = content.windows(VALUES.len()).enumerate().filter(|(_, text)| *text == VALUES);
        let mut after = reads.map(|(at, _)| content.get(at + VALUES.len()..).unwrap_or_default());
        after.any(
            |after| !matches!(after, [b'.', letter, ..] if letter.is_ascii_alphabetic() || *letter == b'_'),
        )
    };
    let schema = files.get(&format!("{path}/values.schema.json"));
    schema.is_none_or(|schema| accepts_unknown_key(&schema.content))
        && !files.below(&format!("{path}/templates")).any(|(_, file)| reads_all(&file.content))
}

/// Reads the charts below `charts/`, as directories and as archives: the existing versions of each name.
fn vendored_charts(
    files: &Files,
    path: &str,
    limits: &mut Limits,
    findings: &mut Findings,
) -> BTreeMap<String, Vec<String>> {
    let directory = format!("{path}/charts");
    let mut charts = Vec::new();
    for name in files.directories(&directory) {
        let file = format!("{directory}/{name}/Chart.yaml");
        charts.extend(name_and_version(files, &file, "", limits, findings));
    }
    for (name, file) in files.below(&directory) {
        if name.contains('/') || name.rsplit_once('.').is_none_or(|(_, ending)| ending != "tgz") {
            continue;
        }
        charts.extend(packed_charts(&file.content, &format!("{directory}/{name}"), limits, findings));
    }
    let mut by_name: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, version) in charts {
        by_name.entry(name).or_default().push(version);
    }
    by_name
}

/// Reads name and version of the charts in the archive at that path. Their content is subtracted from the limits.
pub(crate) fn packed_charts(
    content: &[u8],
    archive: &str,
    limits: &mut Limits,
    findings: &mut Findings,
) -> Vec<(String, String)> {
    let inner = match archive::unpack_within(content, archive, limits) {
        Ok(inner) => inner,
        Err(errors) => {
            findings.extend(errors);
            return Vec::new();
        }
    };
    let tops = inner.directories("").into_iter().map(|top| format!("{top}/Chart.yaml"));
    tops.filter_map(|file| name_and_version(&inner, &file, archive, limits, findings)).collect()
}

/// Reads name and version from a `Chart.yaml`, which may be inside the archive at that path; `None` if there is none.
fn name_and_version(
    files: &Files,
    file: &str,
    archive: &str,
    limits: &Limits,
    findings: &mut Findings,
) -> Option<(String, String)> {
    let mut own = Findings::default();
    let chart = Document::read(files, file, false, limits, &mut own).and_then(|document| {
        let root = document.root();
        let name = root.required("name", Reason::InvalidChart, &mut own);
        let version = root.required("version", Reason::InvalidChart, &mut own);
        name.zip(version)
    });
    findings.extend(own.into_iter().map(|finding| archive::inside(finding, archive)));
    chart
}

fn read_dependencies(
    document: &Document<'_>,
    vendored: &BTreeMap<String, Vec<String>>,
    findings: &mut Findings,
) -> Vec<Dependency> {
    let list = document.root().get("dependencies").map(|list| list.items(findings)).unwrap_or_default();
    let mut dependencies = Vec::new();
    for item in list {
        let name = item.required("name", Reason::InvalidChart, findings);
        let version = item.optional("version", findings).unwrap_or_default();
        let repository = item.optional("repository", findings).filter(|repository| !repository.is_empty());
        let alias = item.optional("alias", findings).filter(|alias| !alias.is_empty());
        let Some(name) = name else { continue };
        let vendored = vendored.get(&name).and_then(|versions| taken(versions, &version));
        match (&vendored, &repository) {
            (Some(_), _) => {}
            (None, Some(repository)) => findings.push(not_vendored(&item, &name, &version, repository)),
            (None, None) => findings.push(unresolved(&item, &name)),
        }
        dependencies.push(Dependency { name, alias, version, repository, vendored });
    }
    dependencies
}

/// Chooses the version that a dependency takes: one in its range, otherwise any existing one, for the message.
fn taken(versions: &[String], wanted: &str) -> Option<String> {
    let of_range = chart_index::choose(versions.iter().map(String::as_str), wanted).ok().flatten();
    of_range.map(str::to_owned).or_else(|| versions.last().cloned())
}

fn not_vendored(item: &super::document::Value<'_>, name: &str, version: &str, repository: &str) -> Finding {
    let message = format!(
        "dependency {name} {version} is not vendored: source-controller fetches it from {repository} when it \
         packages the chart, and needs network access to that repository"
    );
    item.warning(Reason::DependencyNotVendored, message)
        .hint("run `helm dependency build` in the chart's directory and commit charts/*.tgz to be independent of it")
}

fn unresolved(item: &super::document::Value<'_>, name: &str) -> Finding {
    let message = format!(
        "dependency {name} is not in charts/ and has no repository: Helm would install the chart without it and \
         report success"
    );
    item.error(Reason::DependencyUnresolved, message)
        .hint("name its repository, or put its archive into charts/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chart_is_known_by_its_only_dependency() {
        let dependency = |name: &str, vendored: Option<&str>| Dependency {
            name: name.to_owned(),
            alias: None,
            version: "~1.16".to_owned(),
            repository: None,
            vendored: vendored.map(str::to_owned),
        };
        let known = |dependencies: &[Dependency]| {
            let chart = Chart {
                name: "cni".to_owned(),
                version: "v1".to_owned(),
                app_version: Some("v2".to_owned()),
                description: None,
                dependencies: dependencies.to_vec(),
                ignores_unknown_values: true,
                path: "cluster-addon/cni".to_owned(),
                digest: Digest::of_bytes(b""),
            };
            let KnownAs { name, version, app_version } = chart.known_as();
            [name, version, app_version.unwrap_or_default()].join(" ")
        };
        let (cilium, other) = (dependency("cilium", Some("1.16.5")), dependency("other", None));
        assert_eq!(known(&[]), "cni v1 v2");
        assert_eq!(known(std::slice::from_ref(&cilium)), "cilium 1.16.5 ");
        assert_eq!(known(std::slice::from_ref(&other)), "other ~1.16 ", "Flux fetches it");
        assert_eq!(known(&[cilium, other]), "cni v1 v2");
    }
}
