//! The APIs of the forges, by their documentation:
//! [GitHub](https://docs.github.com/en/rest/pulls/pulls), [GitLab](https://docs.gitlab.com/api/merge_requests/),
//! [Gitea](https://docs.gitea.com/api/) and [Forgejo](https://codeberg.org/api/swagger).

use reqwest::Method;
use reqwest::header::{ACCEPT, HeaderName};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{ForgeError, ForgeKind, Opened, PullRequest, Repository, text};
use crate::http::{Answer, TransportError, Url, redacted_url};

/// An existing pull request of any forge.
#[derive(Debug)]
pub(super) struct Existing {
    pub(super) number: u64,
    url: String,
    title: String,
    body: String,
    head: String,
    base: String,
    /// Whether both branches are in one repository; otherwise a branch of a fork only has the same name.
    is_of_one_repository: bool,
    place: String,
}

impl Existing {
    pub(super) fn is_of(&self, wanted: &PullRequest) -> bool {
        self.is_of_one_repository && self.head == wanted.head && self.base == wanted.base
    }

    pub(super) fn says(&self, wanted: &PullRequest) -> bool {
        self.title == wanted.title && text::is_same(&self.body, &wanted.body)
    }

    /// Converts to an [`Opened`] that was found, not created.
    pub(super) fn opened(self) -> Result<Opened, ForgeError> {
        let url: Option<Url> = self.url.parse().ok();
        // A parsed URL has no control characters and no spaces.
        let Some(url) = url.filter(|url| matches!(url.scheme(), "http" | "https")) else {
            let error = "the address of the pull request is not a URL".to_owned();
            return Err(TransportError::Malformed { place: self.place, error }.into());
        };
        Ok(Opened { url: url.into(), number: self.number, created: false })
    }
}

/// A pull request of GitHub and Gitea.
#[derive(Deserialize)]
struct Pull {
    number: u64,
    html_url: String,
    title: String,
    body: Option<String>,
    head: Branch,
    base: Branch,
}

#[derive(Deserialize)]
struct Branch {
    #[serde(rename = "ref")]
    name: String,
    /// `None` if a fork was deleted.
    repo: Option<Identified>,
}

#[derive(Deserialize)]
struct Identified {
    id: u64,
}

/// A merge request of GitLab.
#[derive(Deserialize)]
struct Merge {
    iid: u64,
    web_url: String,
    title: String,
    description: Option<String>,
    source_branch: String,
    target_branch: String,
    source_project_id: Option<u64>,
    target_project_id: u64,
}

impl From<(Pull, String)> for Existing {
    fn from((pull, place): (Pull, String)) -> Self {
        let repository = |branch: &Branch| branch.repo.as_ref().map(|repository| repository.id);
        Self {
            number: pull.number,
            url: pull.html_url,
            title: pull.title,
            body: pull.body.unwrap_or_default(),
            is_of_one_repository: repository(&pull.head).is_some()
                && repository(&pull.head) == repository(&pull.base),
            head: pull.head.name,
            base: pull.base.name,
            place,
        }
    }
}

impl From<(Merge, String)> for Existing {
    fn from((merge, place): (Merge, String)) -> Self {
        Self {
            number: merge.iid,
            url: merge.web_url,
            title: merge.title,
            body: merge.description.unwrap_or_default(),
            head: merge.source_branch,
            base: merge.target_branch,
            is_of_one_repository: merge.source_project_id == Some(merge.target_project_id),
            place,
        }
    }
}

/// Returns the URL of all pull requests of the repository.
pub(super) fn pulls(repository: &Repository) -> Result<Url, ForgeError> {
    match repository.kind() {
        ForgeKind::GitHub | ForgeKind::Gitea => repository.endpoint(&["pulls"]),
        ForgeKind::GitLab => repository.endpoint(&["merge_requests"]),
    }
}

/// Returns the URL of a page of open pull requests, filtered as far as the forge can.
pub(super) fn search(repository: &Repository, wanted: &PullRequest, page: usize) -> Result<Url, ForgeError> {
    let mut url = pulls(repository)?;
    let PullRequest { head, base, .. } = wanted;
    let owned = format!("{}:{head}", repository.owner());
    let query: &[(&str, &str)] = match repository.kind() {
        ForgeKind::GitHub => &[("state", "open"), ("head", &owned), ("base", base), ("per_page", "100")],
        ForgeKind::GitLab => {
            &[("state", "opened"), ("source_branch", head), ("target_branch", base), ("per_page", "100")]
        }
        // 50 is the default maximum. Forgejo and old versions of Gitea ignore `base_branch`, and list all.
        ForgeKind::Gitea => &[("state", "open"), ("base_branch", base), ("limit", "50")],
    };
    url.query_pairs_mut().extend_pairs(query).append_pair("page", &page.to_string());
    Ok(url)
}

/// Returns the body of the request that opens a pull request.
pub(super) fn creation(kind: ForgeKind, wanted: &PullRequest) -> Value {
    let PullRequest { head, base, title, body } = wanted;
    match kind {
        ForgeKind::GitHub | ForgeKind::Gitea => {
            json!({"head": head, "base": base, "title": title, "body": body})
        }
        ForgeKind::GitLab => {
            json!({"source_branch": head, "target_branch": base, "title": title, "description": body})
        }
    }
}

/// Returns the request that changes the title and body of a pull request.
pub(super) fn change(
    repository: &Repository,
    number: u64,
    wanted: &PullRequest,
) -> Result<(Method, Url, Value), ForgeError> {
    let PullRequest { title, body, .. } = wanted;
    let number = number.to_string();
    Ok(match repository.kind() {
        ForgeKind::GitHub | ForgeKind::Gitea => {
            (Method::PATCH, repository.endpoint(&["pulls", &number])?, json!({"title": title, "body": body}))
        }
        ForgeKind::GitLab => {
            let url = repository.endpoint(&["merge_requests", &number])?;
            (Method::PUT, url, json!({"title": title, "description": body}))
        }
    })
}

/// Returns the `Authorization` header for a token.
pub(super) fn authorization(kind: ForgeKind, token: &SecretString) -> SecretString {
    let scheme = match kind {
        ForgeKind::GitHub | ForgeKind::GitLab => "Bearer",
        ForgeKind::Gitea => "token",
    };
    format!("{scheme} {}", token.expose_secret()).into()
}

/// Returns the other headers of each request.
pub(super) fn headers(kind: ForgeKind) -> Vec<(HeaderName, &'static str)> {
    match kind {
        ForgeKind::GitHub => {
            let version = HeaderName::from_static("x-github-api-version");
            vec![(ACCEPT, "application/vnd.github+json"), (version, "2022-11-28")]
        }
        ForgeKind::GitLab | ForgeKind::Gitea => vec![(ACCEPT, "application/json")],
    }
}

/// Reads the pull requests on a page.
pub(super) async fn read_page(kind: ForgeKind, answer: Answer) -> Result<Vec<Existing>, ForgeError> {
    async fn all<T: DeserializeOwned>(answer: Answer) -> Result<Vec<Existing>, ForgeError>
    where
        Existing: From<(T, String)>,
    {
        let place = redacted_url(answer.url());
        let all: Vec<T> = answer.json().await?;
        Ok(all.into_iter().map(|one| (one, place.clone()).into()).collect())
    }
    match kind {
        ForgeKind::GitHub | ForgeKind::Gitea => all::<Pull>(answer).await,
        ForgeKind::GitLab => all::<Merge>(answer).await,
    }
}

/// Reads the pull request that was opened.
pub(super) async fn read(kind: ForgeKind, answer: Answer) -> Result<Existing, ForgeError> {
    let place = redacted_url(answer.url());
    Ok(match kind {
        ForgeKind::GitHub | ForgeKind::Gitea => (answer.json::<Pull>().await?, place).into(),
        ForgeKind::GitLab => (answer.json::<Merge>().await?, place).into(),
    })
}

/// Returns a hint for a refusal, with its leading separator; may be empty.
pub(super) fn hint(repository: &Repository, status: u16) -> String {
    let needed = match repository.kind() {
        ForgeKind::GitHub => {
            "the permission \"Pull requests: read and write\" on the repository (a classic token the scope repo), and \
             to be allowed by its organisation"
        }
        ForgeKind::GitLab => "the scope api and at least the role Developer in the project",
        ForgeKind::Gitea => "the scope write:repository, of a user who may write to the repository",
    };
    match status {
        300..=399 => format!("; {repository} has moved, or this is not the address of the API"),
        401 => format!("; the token is invalid or has expired; a token needs {needed}"),
        403 => format!("; the token needs {needed}"),
        404 => format!(
            "; {repository} does not exist, or the token has no access to it; the token needs {needed}"
        ),
        _ => String::new(),
    }
}
