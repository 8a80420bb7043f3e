//! Finds the forge, the repository on it and the URL of its API from a Git URL.

use std::fmt;

use super::{ForgeError, ForgeKind};
use crate::git::{GitUrl, Transport};
use crate::http::{Url, is_loopback};

/// Well-known forges, including the hosts that some have for SSH over port 443.
const KNOWN: [(&str, ForgeKind); 7] = [
    ("github.com", ForgeKind::GitHub),
    ("ssh.github.com", ForgeKind::GitHub),
    ("gitlab.com", ForgeKind::GitLab),
    ("altssh.gitlab.com", ForgeKind::GitLab),
    ("codeberg.org", ForgeKind::Gitea),
    ("gitea.com", ForgeKind::Gitea),
    ("gitlab.opencode.de", ForgeKind::GitLab),
];

/// Suffix of the hosts of GitHub Enterprise Cloud with data residency.
const DATA_RESIDENCY: &str = ".ghe.com";

/// A repository on a forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    kind: ForgeKind,
    api: Url,
    /// Owner and name; on GitLab any number of groups and the name.
    path: Vec<String>,
}

impl Repository {
    /// Returns the repository of a Git URL. `kind` and `api` (such as `https://git.example.com/api/v1`) are for hosts that
    /// are not well-known, and for APIs at unusual URLs.
    pub fn of(url: &GitUrl, kind: Option<ForgeKind>, api: Option<&str>) -> Result<Self, ForgeError> {
        if url.transport() == Transport::File {
            let why = "it is a directory of this machine";
            return Err(ForgeError::NoRepository { url: url.to_string(), why });
        }
        let host = url.host().to_ascii_lowercase();
        let kind = kind.or_else(|| known(&host)).ok_or_else(|| ForgeError::Unknown(host.clone()))?;
        let api = match api {
            Some(api) => api.to_owned(),
            None => usual_api(kind, url, &host),
        };
        let api = checked(kind, &api)?;
        let path = path_below(url, kind, &api)?;
        Ok(Self { kind, api, path })
    }

    /// Returns the software of the forge.
    #[must_use]
    pub fn kind(&self) -> ForgeKind {
        self.kind
    }

    /// Returns a URL of the API below the repository's.
    pub(super) fn endpoint(&self, below: &[&str]) -> Result<Url, ForgeError> {
        let mut url = self.api.clone();
        let mut segments = url.path_segments_mut().map_err(|()| ForgeError::Api("it has no path"))?;
        segments.pop_if_empty();
        match self.kind {
            // The path of a project is one segment, with encoded slashes.
            ForgeKind::GitLab => segments.push("projects").push(&self.path.join("/")),
            ForgeKind::GitHub | ForgeKind::Gitea => segments.push("repos").extend(&self.path),
        };
        segments.extend(below);
        drop(segments);
        Ok(url)
    }

    /// Returns the user or organisation that owns the repository.
    pub(super) fn owner(&self) -> &str {
        self.path.first().map_or("", String::as_str)
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path.join("/"))
    }
}

fn known(host: &str) -> Option<ForgeKind> {
    let listed = KNOWN.iter().find(|(known, _)| *known == host).map(|(_, kind)| *kind);
    listed.or_else(|| host.ends_with(DATA_RESIDENCY).then_some(ForgeKind::GitHub))
}

/// Returns the URL of the API by the forge's documentation. A port for SSH is not used for the API.
fn usual_api(kind: ForgeKind, url: &GitUrl, host: &str) -> String {
    let scheme = if url.transport() == Transport::Http { "http" } else { "https" };
    let port = url.port().filter(|_| url.transport() != Transport::Ssh);
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    match (kind, host) {
        (ForgeKind::GitHub, "github.com" | "ssh.github.com") => "https://api.github.com".to_owned(),
        (ForgeKind::GitHub, _) if host.ends_with(DATA_RESIDENCY) => format!("https://api.{host}"),
        (ForgeKind::GitLab, "altssh.gitlab.com") => "https://gitlab.com/api/v4".to_owned(),
        _ => format!("{scheme}://{host}{port}{}", version(kind)),
    }
}

/// Returns the end of an API's path.
fn version(kind: ForgeKind) -> &'static str {
    match kind {
        ForgeKind::GitHub => "/api/v3",
        ForgeKind::GitLab => "/api/v4",
        ForgeKind::Gitea => "/api/v1",
    }
}

fn checked(kind: ForgeKind, api: &str) -> Result<Url, ForgeError> {
    let url: Url = api.parse().map_err(|_| ForgeError::Api("it cannot be parsed"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(ForgeError::Api("it has a user name or password in it; give the token in a file"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(ForgeError::Api("it has a query or a fragment"));
    }
    match url.scheme() {
        "https" => {}
        "http" if is_loopback(&url) => {}
        "http" => {
            return Err(ForgeError::Api("plain HTTP would send the token unencrypted; use https"));
        }
        _ => return Err(ForgeError::Api("it is not https")),
    }
    let path = url.path().trim_end_matches('/');
    // Only the API of github.com is at the root of a host.
    if path.ends_with(version(kind)) || (kind == ForgeKind::GitHub && path.is_empty()) {
        return Ok(url);
    }
    Err(ForgeError::Api(match kind {
        ForgeKind::GitHub => "GitHub's ends with /api/v3, or has no path",
        ForgeKind::GitLab => "GitLab's ends with /api/v4",
        ForgeKind::Gitea => "Gitea's ends with /api/v1",
    }))
}

/// Returns the path of the repository below the root of the forge, which may be a subdirectory of its host.
fn path_below(url: &GitUrl, kind: ForgeKind, api: &Url) -> Result<Vec<String>, ForgeError> {
    let refuse = |why| ForgeError::NoRepository { url: url.to_string(), why };
    let root = api.path().trim_end_matches('/');
    let root = root.strip_suffix(version(kind)).unwrap_or(root).trim_matches('/');
    let path = url.repository();
    let below = path.strip_prefix(root).and_then(|path| path.strip_prefix('/'));
    // Over SSH the path has no such subdirectory.
    let path = if root.is_empty() { path } else { below.unwrap_or(path) };
    let path: Vec<String> = path.split('/').map(str::to_owned).collect();
    if path.iter().any(|part| matches!(part.as_str(), "" | "." | "..")) {
        return Err(refuse("its path has an empty part, or one of dots"));
    }
    match (kind, path.len()) {
        (ForgeKind::GitLab, 2..) | (ForgeKind::GitHub | ForgeKind::Gitea, 2) => Ok(path),
        (ForgeKind::GitLab, _) => Err(refuse("expected a path of groups and a project")),
        _ => Err(refuse("expected a path of an owner and a repository")),
    }
}

#[cfg(test)]
mod tests;
