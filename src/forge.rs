//! Pull requests on forges: finds the open pull request or opens one, and keeps its title and body up to date. GitLab
//! calls them merge requests.
//!
//! The branch is pushed before. Its name identifies its content, so that the same change finds the same branch and the
//! same pull request: the operation is idempotent. Merging is left to people and the rules of the forge.

mod dialect;
mod error;
mod repository;
mod text;

use reqwest::Method;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use crate::http::{Answer, Client, Request, Url, next_page, redacted_url};

use dialect::Existing;
pub use error::ForgeError;
pub use repository::Repository;
pub use text::{MAX_BODY_BYTES, fenced};

/// Maximum number of pages of open pull requests to search. Only Gitea cannot filter by branch.
const MAX_PAGES: usize = 40;

/// Maximum number of bytes read of a refusal.
const MAX_REFUSAL_BYTES: u64 = 64 << 10;

/// The software of a forge, which determines its API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ForgeKind {
    /// github.com, GitHub Enterprise Cloud with data residency, GitHub Enterprise Server.
    GitHub,
    /// gitlab.com and self-hosted GitLab.
    GitLab,
    /// Gitea and Forgejo, such as codeberg.org.
    Gitea,
}

/// The desired pull request; both branches are in the same repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequest {
    /// The pushed branch with the change.
    pub head: String,
    /// The branch to merge into.
    pub base: String,
    /// Title, in one line.
    pub title: String,
    /// Body, in Markdown.
    pub body: String,
}

/// An open pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// URL of its page.
    pub url: String,
    /// Its number in the repository.
    pub number: u64,
    /// Whether it was opened now, rather than found.
    pub created: bool,
}

/// A repository on a forge, with a token that may open pull requests there.
#[derive(Clone, Debug)]
pub struct Forge {
    client: Client,
    repository: Repository,
    token: SecretString,
}

impl Forge {
    /// Creates a client for a repository. The token is sent only to the host of the repository's API.
    #[must_use]
    pub fn new(client: Client, repository: Repository, token: SecretString) -> Self {
        Self { client, repository, token }
    }

    /// Returns the repository.
    #[must_use]
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Finds the open pull request of the two branches, or opens one. Updates the title and body of an existing one. The
    /// branch must have a change: GitHub refuses an empty pull request, Gitea opens it.
    pub async fn pull_request(&self, wanted: &PullRequest) -> Result<Opened, ForgeError> {
        let wanted = &text::shortened(wanted);
        if let Some(found) = self.find(wanted).await? {
            return self.updated(found, wanted).await;
        }
        match self.create(wanted).await {
            Ok(created) => Ok(Opened { created: true, ..created.opened()? }),
            // Another client was faster, or the answer was lost: the pull request exists then.
            Err(error) if error.may_have_happened() => match self.find(wanted).await? {
                Some(found) => self.updated(found, wanted).await,
                None => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    async fn find(&self, wanted: &PullRequest) -> Result<Option<Existing>, ForgeError> {
        for page in 1..=MAX_PAGES {
            let url = dialect::search(&self.repository, wanted, page)?;
            let answer = self.send(Method::GET, url, None).await?;
            // Only whether there is another page: its URL may name the forge's public host, which may differ from the API's
            // host here.
            let is_last = matches!(next_page(answer.url(), answer.headers("link")), Ok(None));
            let found = dialect::read_page(self.repository.kind(), answer).await?;
            if let Some(found) = found.into_iter().find(|existing| existing.is_of(wanted)) {
                return Ok(Some(found));
            }
            if is_last {
                return Ok(None);
            }
        }
        Err(ForgeError::TooMany { repository: self.repository.to_string(), pages: MAX_PAGES })
    }

    async fn create(&self, wanted: &PullRequest) -> Result<Existing, ForgeError> {
        let url = dialect::pulls(&self.repository)?;
        let body = dialect::creation(self.repository.kind(), wanted);
        let answer = self.send(Method::POST, url, Some(&body)).await?;
        dialect::read(self.repository.kind(), answer).await
    }

    async fn updated(&self, found: Existing, wanted: &PullRequest) -> Result<Opened, ForgeError> {
        if !found.says(wanted) {
            let (method, url, body) = dialect::change(&self.repository, found.number, wanted)?;
            self.send(method, url, Some(&body)).await?;
        }
        found.opened()
    }

    /// Sends a request, and returns the answer if its status is 2xx.
    async fn send(&self, method: Method, url: Url, body: Option<&Value>) -> Result<Answer, ForgeError> {
        let is_get = method == Method::GET;
        let kind = self.repository.kind();
        let mut request =
            Request::new(method, url).authorization(&dialect::authorization(kind, &self.token))?;
        for (name, value) in dialect::headers(kind) {
            request = request.header(name, value);
        }
        if let Some(body) = body {
            request = request.body("application/json", body.to_string().into_bytes());
        }
        // A request that changes something is sent once.
        let answer = if is_get { self.client.ask(&request).await } else { self.client.send(&request).await }?;
        match answer.status() {
            200..=299 => Ok(answer),
            _ => Err(self.refusal(answer).await),
        }
    }

    /// Returns the error for a refusal, in the forge's own words.
    async fn refusal(&self, answer: Answer) -> ForgeError {
        let refusal = answer.refusal();
        let is_limit =
            answer.header("x-ratelimit-remaining") == Some("0") || answer.header("retry-after").is_some();
        let (status, place) = (answer.status(), redacted_url(answer.url()));
        if refusal.is_transient() && status != 429 {
            return refusal.into();
        }
        let body = answer.bytes(MAX_REFUSAL_BYTES).await.unwrap_or_default();
        let message = text::message(&body).replace(self.token.expose_secret(), "***");
        match status {
            429 => ForgeError::Limited { place, message },
            403 if is_limit => ForgeError::Limited { place, message },
            _ => {
                let hint = dialect::hint(&self.repository, status);
                ForgeError::Refused { place, status, message, hint }
            }
        }
    }
}

#[cfg(test)]
mod tests;
