//! The addresses of components: which content of which repository.

use crate::names::Revision;
use crate::names::credentials::has_credentials;
use crate::release::document::Value;
use crate::release::finding::{Findings, Reason};

/// Maximum length of an address, as in the API of stackflux.
const MAX_URL: usize = 2048;
/// The fields by which Flux authenticates and verifies. A release must not have them.
const ACCESS: [&str; 7] =
    ["secretRef", "certSecretRef", "proxySecretRef", "provider", "serviceAccountName", "verify", "insecure"];

/// What to do with a chart that only the index of a Helm repository names.
pub const HELM_INDEX_HINT: &str = "name the chart in an OCI repository, or as a dependency of a chart in cluster-addon/, \
                                   which stackflux publish --vendor fetches";

/// The content of a repository outside of the release, in the words of Flux's sources.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ComponentSource {
    /// A Git repository.
    Git {
        /// Its address.
        url: String,
        /// The commit, or what Flux resolves to one.
        reference: GitReference,
    },
    /// An OCI repository.
    Oci {
        /// Its address: `oci://…`.
        url: String,
        /// The manifest, or what Flux resolves to one.
        reference: OciReference,
    },
    /// The index of a Helm repository, which Flux does not take as the source of a component.
    HelmIndex {
        /// Its address.
        url: String,
    },
}

/// A reference of a Git repository: `ref` of Flux's `GitRepository`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitReference {
    /// A branch.
    pub branch: Option<String>,
    /// A tag.
    pub tag: Option<String>,
    /// A range of semantic versions.
    pub semver: Option<String>,
    /// The full name of a reference.
    pub name: Option<String>,
    /// A commit.
    pub commit: Option<Revision>,
}

/// A reference of an OCI repository: `ref` of Flux's `OCIRepository`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct OciReference {
    /// The digest of a manifest: `sha256:…`.
    pub digest: Option<String>,
    /// A tag.
    pub tag: Option<String>,
    /// A range of semantic versions.
    pub semver: Option<String>,
}

impl ComponentSource {
    /// Returns the address.
    #[must_use]
    pub fn url(&self) -> &str {
        match self {
            Self::Git { url, .. } | Self::Oci { url, .. } | Self::HelmIndex { url } => url,
        }
    }

    /// Returns the commit or the digest that names the content; `None` if the content behind the address can change.
    #[must_use]
    pub fn exact(&self) -> Option<&str> {
        match self {
            Self::Git { reference, .. } => reference.commit.as_ref().map(Revision::as_str),
            Self::Oci { reference, .. } => reference.digest.as_deref(),
            Self::HelmIndex { .. } => None,
        }
    }

    /// Returns what the address follows if its content can change, for messages: `branch main`.
    #[must_use]
    pub fn followed(&self) -> String {
        let texts = |fields: &[(&str, &Option<String>)]| {
            let named = fields.iter().find_map(|(field, value)| Some(format!("{field} {}", value.as_ref()?)));
            named.unwrap_or_else(|| "the default".to_owned())
        };
        match self {
            Self::Git { reference: of, .. } => {
                texts(&[("name", &of.name), ("semver", &of.semver), ("tag", &of.tag), ("branch", &of.branch)])
            }
            Self::Oci { reference: of, .. } => texts(&[("semver", &of.semver), ("tag", &of.tag)]),
            Self::HelmIndex { .. } => "the index of a Helm repository".to_owned(),
        }
    }

    /// Returns one line per field, the same for equal sources.
    pub(super) fn canonical(&self) -> String {
        let line = |(field, value): (&str, Option<&str>)| value.map(|value| format!("{field}: {value}\n"));
        match self {
            Self::Git { url, reference: of } => [
                ("git", Some(url.as_str())),
                ("branch", of.branch.as_deref()),
                ("tag", of.tag.as_deref()),
                ("semver", of.semver.as_deref()),
                ("name", of.name.as_deref()),
                ("commit", of.commit.as_ref().map(Revision::as_str)),
            ]
            .into_iter()
            .filter_map(line)
            .collect(),
            Self::Oci { url, reference: of } => [
                ("oci", Some(url.as_str())),
                ("digest", of.digest.as_deref()),
                ("tag", of.tag.as_deref()),
                ("semver", of.semver.as_deref()),
            ]
            .into_iter()
            .filter_map(line)
            .collect(),
            Self::HelmIndex { url } => format!("helm: {url}\n"),
        }
    }
}

/// Reads the source of a repository of `components.yaml`; `None`, with findings, if it is not usable.
pub(super) fn read(repository: &Value<'_>, findings: &mut Findings) -> Option<ComponentSource> {
    let given: Vec<Value<'_>> = ["git", "oci", "helm"].iter().filter_map(|key| repository.get(key)).collect();
    let [source] = given.as_slice() else {
        let message = "a repository has either git or oci";
        findings.push(repository.error(Reason::InvalidField, message));
        return None;
    };
    let read = if repository.get("git").is_some() {
        read_git(source, findings)?
    } else if repository.get("oci").is_some() {
        read_oci(source, findings)?
    } else {
        check_fields(source, &["url"], findings);
        ComponentSource::HelmIndex { url: read_url(source, &["https://", "http://"], findings)? }
    };
    if read.exact().is_none() {
        let message = format!(
            "{} can change, and a release cannot: name {}",
            read.followed(),
            if matches!(read, ComponentSource::Git { .. }) { "the commit" } else { "the digest" }
        );
        let hint = match read {
            ComponentSource::HelmIndex { .. } => HELM_INDEX_HINT,
            ComponentSource::Git { .. } => "stackflux pin writes the commit that it stands for now",
            ComponentSource::Oci { .. } => "stackflux pin writes the digest that it stands for now",
        };
        findings.push(source.error(Reason::MutableReference, message).hint(hint));
    }
    Some(read)
}

fn read_git(source: &Value<'_>, findings: &mut Findings) -> Option<ComponentSource> {
    check_fields(source, &["url", "ref"], findings);
    let url = read_url(source, &["https://", "ssh://", "http://"], findings)?;
    let Some(of) = source.get("ref") else {
        return Some(ComponentSource::Git { url, reference: GitReference::default() });
    };
    check_fields(&of, &["branch", "tag", "semver", "name", "commit"], findings);
    let commit = of.optional("commit", findings);
    let reference = GitReference {
        branch: of.optional("branch", findings),
        tag: of.optional("tag", findings),
        semver: of.optional("semver", findings),
        name: of.optional("name", findings),
        commit: match commit.as_deref().map(str::parse::<Revision>) {
            Some(Err(error)) => {
                findings.push(of.get("commit")?.error(Reason::InvalidField, error.to_string()));
                return None;
            }
            commit => commit.and_then(Result::ok),
        },
    };
    let others = [&reference.tag, &reference.semver, &reference.name].into_iter().flatten().count();
    if others + usize::from(reference.commit.is_some()) > 1 || (others > 0 && reference.branch.is_some()) {
        let message =
            "of tag, semver, name and commit only one is taken; a branch stands beside a commit alone";
        findings.push(of.error(Reason::InvalidField, message));
    }
    Some(ComponentSource::Git { url, reference })
}

fn read_oci(source: &Value<'_>, findings: &mut Findings) -> Option<ComponentSource> {
    check_fields(source, &["url", "digest", "tag", "semver"], findings);
    let url = read_url(source, &["oci://"], findings)?;
    if url.rsplit('/').next().is_some_and(|last| last.contains([':', '@'])) {
        let message = "the address has a tag or a digest in it";
        findings.push(
            source.get("url")?.error(Reason::InvalidField, message).hint("write it as a field of its own"),
        );
        return None;
    }
    let reference = OciReference {
        digest: source.optional("digest", findings),
        tag: source.optional("tag", findings),
        semver: source.optional("semver", findings),
    };
    if let Some(digest) = reference.digest.as_deref().filter(|digest| !is_manifest_digest(digest)) {
        let message = format!("{digest:?} is not the digest of a manifest");
        let finding = source.get("digest")?.error(Reason::InvalidField, message);
        findings.push(finding.hint("write sha256: and 64 hex digits in lower case"));
        return None;
    }
    if [&reference.digest, &reference.tag, &reference.semver].into_iter().flatten().count() > 1 {
        findings.push(source.error(Reason::InvalidField, "of digest, tag and semver only one is taken"));
    }
    Some(ComponentSource::Oci { url, reference })
}

/// Whether the text is the SHA-256 of a manifest, as registries write it.
#[must_use]
pub fn is_manifest_digest(text: &str) -> bool {
    let hex = text.strip_prefix("sha256:").unwrap_or_default();
    hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn read_url(source: &Value<'_>, schemes: &[&str], findings: &mut Findings) -> Option<String> {
    let url = source.required("url", Reason::InvalidField, findings)?;
    let rest = schemes.iter().find_map(|scheme| url.strip_prefix(scheme));
    let is_plain = |url: &str| url.chars().all(|c| c.is_ascii_graphic());
    let message = if rest.is_none_or(|rest| rest.is_empty() || rest.starts_with('/')) {
        format!("the address must begin with {}, and name a host", schemes.join(", "))
    } else if url.len() > MAX_URL || !is_plain(&url) {
        format!("the address is longer than {MAX_URL} characters, or has one that is not printable ASCII")
    } else if has_credentials(&url) {
        "the address has credentials, which everybody who reads the release would see".to_owned()
    } else if rest.is_some_and(|rest| !has_plain_path(rest)) {
        "a segment of the address is empty, `.` or `..`, or the address has a `%` or a backslash".to_owned()
    } else {
        return Some(url);
    };
    findings.push(source.get("url")?.error(Reason::InvalidField, message));
    None
}

/// Whether an address without its scheme means the path that is written in it: credentials are given by its segments, and a
/// server may resolve what is written in another way.
fn has_plain_path(address: &str) -> bool {
    let mut segments = address.strip_suffix('/').unwrap_or(address).split('/');
    segments.all(|segment| !matches!(segment, "" | "." | "..")) && !address.contains(['%', '\\'])
}

/// Reports fields that are never read, and those by which a release would send a Secret of the namespace to a host of its
/// choice.
pub(super) fn check_fields(value: &Value<'_>, known: &[&str], findings: &mut Findings) {
    for entry in value.entries(findings) {
        if ACCESS.contains(&entry.key) {
            let message = format!("a release names addresses, and not the {} for them", entry.key);
            let hint = "the owner of the ClusterStack gives it: spec.components.credentials, or spec.components.verify";
            findings.push(entry.error(Reason::InvalidField, message).hint(hint));
        } else {
            entry.check_known(known, findings);
        }
    }
}
