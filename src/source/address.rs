//! Addresses of releases, in the one notation of the command line, the operator and commit trailers.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use reqwest::Url;

use crate::names::ReleaseName;
use crate::release::Digest;

/// The forms of an address, for errors.
pub const FORMS: &str = "oci://host/repository[:release][@sha256:…], github://organisation/repository[@release], \
                     git+https://host/path.git[//directory][?ref=…] (also git+ssh, git+http, git+file) or a path";

/// All schemes before `://`, including those that are not for releases.
const SCHEMES: [&str; 10] =
    ["oci", "github", "git+https", "git+http", "git+ssh", "git+file", "https", "http", "ssh", "file"];

/// Error for an address that has, or may have, a user.
const USER: &str = "it has a user or a password: credentials come from files or the environment";

/// The address of a place that has releases, or of one release in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A repository of an OCI registry: `oci://host[:port]/repository[:release][@sha256:…]`.
    Oci(OciAddress),
    /// The releases of a repository on GitHub: `github://organisation/repository[@release]`.
    GitHub(GitHubAddress),
    /// A directory of a Git repository: `git+https://host/path.git//directory?ref=branch`.
    Git(GitAddress),
    /// A directory or an archive on this machine.
    Path(PathBuf),
}

/// A repository of an OCI registry, whose tags are the names of releases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OciAddress {
    /// The host, with its port if one is given: `registry.example.com:5000`.
    pub registry: String,
    /// The repository, without host: `kaas/cluster-stacks`.
    pub repository: String,
    /// The release, if the address names one.
    pub release: Option<ReleaseName>,
    /// The digest of the release's manifest, if the address names one.
    pub digest: Option<Digest>,
}

/// A repository on GitHub or a GitHub Enterprise Server, whose releases are tagged with their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitHubAddress {
    /// The organisation or user.
    pub organisation: String,
    /// The repository.
    pub repository: String,
    /// The release, if the address names one.
    pub release: Option<ReleaseName>,
}

/// A directory of a Git repository that has a directory for each release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitAddress {
    /// The Git URL: `https://git.example.com/stacks.git`, `ssh://git@host/stacks.git`, `file:///srv/stacks`.
    pub url: String,
    /// The directory of the releases' directories, without enclosing `/`; empty if none is named.
    pub directory: String,
    /// The release, if the last part of the directory is a release's name.
    pub release: Option<ReleaseName>,
    /// A branch, tag or commit; by default the repository's own branch.
    pub reference: Option<String>,
}

/// An invalid address. It is shown without a user, password or query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid release source {address:?}: {why}")]
pub struct AddressError {
    address: String,
    why: String,
}

impl Address {
    /// Returns the release that the address names; `None` for an address of all releases, and for a path, which has to be
    /// opened first.
    #[must_use]
    pub fn release(&self) -> Option<&ReleaseName> {
        match self {
            Self::Oci(address) => address.release.as_ref(),
            Self::GitHub(address) => address.release.as_ref(),
            Self::Git(address) => address.release.as_ref(),
            Self::Path(_) => None,
        }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let Some((scheme, rest)) = text.split_once("://") else {
            let is_mistyped = text.split_once(':').is_some_and(|(scheme, _)| SCHEMES.contains(&scheme));
            if text.is_empty() || is_mistyped {
                return Err(refuse(text, format!("expected {FORMS}")));
            }
            return Ok(Self::Path(PathBuf::from(text)));
        };
        let parsed = match scheme {
            "oci" | "github" if rest.contains(['?', '#']) => {
                Err("'?' and '#' are not allowed here".to_owned())
            }
            "oci" => OciAddress::parse(rest).map(Self::Oci),
            "github" => GitHubAddress::parse(rest).map(Self::GitHub),
            "git+https" | "git+http" | "git+ssh" | "git+file" => {
                GitAddress::parse(text.strip_prefix("git+").unwrap_or(text)).map(Self::Git)
            }
            "https" | "http" | "ssh" | "file" => Err(format!("use git+{scheme}:// for a Git repository")),
            _ => Err(format!("unknown scheme before ://: expected {FORMS}")),
        };
        parsed.map_err(|why| refuse(text, why))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Oci(address) => address.fmt(f),
            Self::GitHub(address) => address.fmt(f),
            Self::Git(address) => address.fmt(f),
            Self::Path(path) => path.display().fmt(f),
        }
    }
}

impl OciAddress {
    fn parse(rest: &str) -> Result<Self, String> {
        let (named, digest) =
            rest.rsplit_once('@').map_or((rest, None), |(named, digest)| (named, Some(digest)));
        // Only a digest has a ':' behind the '@', and no '/'.
        if named.contains('@') || digest.is_some_and(|digest| digest.contains('/') || !digest.contains(':')) {
            return Err(USER.to_owned());
        }
        let digest = digest.map(str::parse::<Digest>).transpose().map_err(|error| error.to_string())?;
        let (registry, named) = named.split_once('/').ok_or("the repository is missing after the host")?;
        check_host(registry)?;
        let (repository, release) = split_last(named, ':');
        if !repository.split('/').all(is_repository_part) {
            return Err(format!(
                "invalid repository {repository:?}: use lower-case words separated by '/', '.', '_' or '-'"
            ));
        }
        let (registry, repository) = (registry.to_owned(), repository.to_owned());
        Ok(Self { registry, repository, release: release.map(parse_release).transpose()?, digest })
    }

    /// Returns the address without its release and digest.
    #[must_use]
    pub fn without_release(&self) -> Self {
        Self { release: None, digest: None, ..self.clone() }
    }
}

impl fmt::Display for OciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "oci://{}/{}", self.registry, self.repository)?;
        self.release.as_ref().map_or(Ok(()), |release| write!(f, ":{release}"))?;
        self.digest.as_ref().map_or(Ok(()), |digest| write!(f, "@{digest}"))
    }
}

impl GitHubAddress {
    fn parse(rest: &str) -> Result<Self, String> {
        let (named, release) = split_last(rest, '@');
        let is_name = |name: &str| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
            (1..=100).contains(&name.len()) && name != "." && name != ".." && name.bytes().all(plain)
        };
        match named.split_once('/') {
            Some((organisation, repository)) if is_name(organisation) && is_name(repository) => {
                let (organisation, repository) = (organisation.to_owned(), repository.to_owned());
                Ok(Self { organisation, repository, release: release.map(parse_release).transpose()? })
            }
            _ => Err("expected github://organisation/repository[@release]".to_owned()),
        }
    }
}

impl fmt::Display for GitHubAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "github://{}/{}", self.organisation, self.repository)?;
        self.release.as_ref().map_or(Ok(()), |release| write!(f, "@{release}"))
    }
}

impl GitAddress {
    fn parse(text: &str) -> Result<Self, String> {
        if text.contains('#') {
            return Err("'#' is not allowed here: use ?ref=… for a branch, a tag or a commit".to_owned());
        }
        let (place, query) = text.split_once('?').map_or((text, None), |(place, query)| (place, Some(query)));
        let (scheme, rest) = place.split_once("://").ok_or("the URL has no host")?;
        let (repository, directory) = rest.split_once("//").unwrap_or((rest, ""));
        check_git_url(&format!("{scheme}://{repository}"))?;
        let reference = query.map(parse_query).transpose()?;
        let directory = directory.trim_end_matches('/');
        if !directory.is_empty() && !directory.split('/').all(is_directory_part) {
            return Err(format!("invalid directory {directory:?}: use plain names separated by '/'"));
        }
        let (above, last) = directory.rsplit_once('/').unwrap_or(("", directory));
        let release: Option<ReleaseName> = last.parse().ok();
        let directory = if release.is_some() { above } else { directory };
        let url = format!("{scheme}://{}", repository.trim_end_matches('/'));
        Ok(Self { url, directory: directory.to_owned(), release, reference })
    }
}

impl fmt::Display for GitAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "git+{}", self.url)?;
        let release = self.release.as_ref().map(ToString::to_string);
        let parts = [Some(self.directory.as_str()).filter(|part| !part.is_empty()), release.as_deref()];
        for (index, part) in parts.into_iter().flatten().enumerate() {
            write!(f, "{}{part}", if index == 0 { "//" } else { "/" })?;
        }
        self.reference.as_ref().map_or(Ok(()), |reference| write!(f, "?ref={reference}"))
    }
}

/// Returns an error that shows the address without what may be secret: its query and fragment, and everything before its
/// last `@`, unless that `@` precedes a release or digest. A password may contain any character, so nothing is shown if its
/// end is unclear.
fn refuse(text: &str, why: String) -> AddressError {
    let (scheme, rest) = text.split_once("://").map_or((None, text), |(scheme, rest)| (Some(scheme), rest));
    let (place, more) = rest.find(['?', '#']).map_or((rest, ""), |at| rest.split_at(at));
    let end = match place.rfind('@') {
        Some(at) if matches!(scheme, Some("oci" | "github")) && ends_with_name(place) => at,
        _ => place.len(),
    };
    let hidden = place.get(..end).and_then(|named| named.rfind('@')).map_or(0, |at| at + 1);
    let shown = if more.contains('@') { "…" } else { place.get(hidden..).unwrap_or_default() };
    let plain = |scheme: &str| scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+');
    let scheme = scheme.map(|scheme| format!("{}://", if plain(scheme) { scheme } else { "…" }));
    AddressError { address: format!("{}{shown}", scheme.unwrap_or_default()), why }
}

/// Whether the last `@` precedes a release or digest, and follows a place with a host rather than a user and password.
fn ends_with_name(place: &str) -> bool {
    let Some((named, name)) = place.rsplit_once('@') else { return false };
    let host = named.rsplit('@').next().and_then(|named| named.split_once('/')).map(|(host, _)| host);
    let is_name = name.parse::<ReleaseName>().is_ok() || name.parse::<Digest>().is_ok();
    is_name && host.is_some_and(|host| check_host(host).is_ok())
}

/// Splits at the last `character`, if it is in the last part of the path.
fn split_last(text: &str, character: char) -> (&str, Option<&str>) {
    match text.rsplit_once(character) {
        Some((before, after)) if !after.contains('/') => (before, Some(after)),
        _ => (text, None),
    }
}

fn parse_release(name: &str) -> Result<ReleaseName, String> {
    name.parse().map_err(|error: crate::names::NameError| error.to_string())
}

/// Checks the host and port of a registry.
fn check_host(host: &str) -> Result<(), String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b':' | b'[' | b']');
    let url = Url::parse(&format!("https://{host}/")).ok();
    let is_host = url.is_some_and(|url| url.host_str().is_some()) && host.bytes().all(plain);
    // Does not quote the text, which may be a user and the start of a password with a '/'.
    if is_host { Ok(()) } else { Err("invalid host before the first '/': expected name[:port]".to_owned()) }
}

/// Checks the URL of a repository: it has a host unless its scheme is `file`, and no secret.
fn check_git_url(url: &str) -> Result<(), String> {
    let parsed = Url::parse(url).map_err(|error| format!("invalid URL: {error}"))?;
    // A password with a '/' ends the host where it begins, and its '@' is in the path.
    if parsed.password().is_some() || (url.contains('@') && matches!(parsed.scheme(), "http" | "https")) {
        return Err(format!("{USER}; in a path write %40 for '@'"));
    }
    if parsed.scheme() != "file" && parsed.host_str().is_none_or(str::is_empty) {
        return Err("the URL has no host".to_owned());
    }
    if parsed.path().trim_matches('/').is_empty() {
        return Err("the URL names no repository".to_owned());
    }
    Ok(())
}

/// Parses the reference of `ref=…`.
fn parse_query(query: &str) -> Result<String, String> {
    let allowed = |character: char| !character.is_control() && !" ~^:?*[\\&#%".contains(character);
    let reference = query.strip_prefix("ref=").ok_or("after '?' only ref=… is supported")?;
    let is_reference = !reference.is_empty()
        && reference.chars().all(allowed)
        && !reference.starts_with(['-', '/'])
        && !reference.contains("..");
    if is_reference {
        Ok(reference.to_owned())
    } else {
        Err("invalid ref=…: expected a branch, a tag or a commit".to_owned())
    }
}

/// Whether a part is valid in the name of an OCI repository (`<name>` of the distribution specification).
fn is_repository_part(part: &str) -> bool {
    let word = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit();
    let separator =
        |text: &str| matches!(text, "" | "." | "_" | "__") || text.bytes().all(|byte| byte == b'-');
    part.starts_with(word) && part.ends_with(word) && part.split(word).all(separator)
}

fn is_directory_part(part: &str) -> bool {
    !part.is_empty()
        && !matches!(part, "." | ".." | ".git")
        && part.chars().all(|character| !character.is_control() && !"\\%#".contains(character))
}

#[cfg(test)]
mod tests;
