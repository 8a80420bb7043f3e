//! The part of GitHub's REST API for releases.

use std::sync::OnceLock;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::http::{self, Answer, Client, Expected, Request, TransportError, Url, next_page};
use crate::names::ReleaseName;
use crate::release::Digest;
use crate::source::origin::OriginError;

/// URL of the API of github.com.
pub const GITHUB: &str = "https://api.github.com";

/// Timeout of a request, except for assets.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of pages of 100 entries: GitHub itself ends lists of releases at 10,000.
const MAX_PAGES: usize = 100;
/// GitHub's default page size: a shorter list is complete.
const DEFAULT_PAGE_SIZE: usize = 30;
/// The version of the API that this module uses.
const VERSION: (&str, &str) = ("x-github-api-version", "2022-11-28");

/// Access to GitHub.
#[derive(Clone, Debug)]
pub struct Access {
    /// The HTTP client, with its trusted CAs.
    pub client: Client,
    /// URL of the API: [`GITHUB`], or `https://github.example.com/api/v3` for a GitHub Enterprise Server.
    pub api: Url,
    /// Whether to allow plain HTTP for the API, which exposes the token to the network.
    pub plain_http: bool,
    /// A token. Without one, only public repositories are visible, with a limit of 60 requests an hour.
    pub token: Option<SecretString>,
}

/// The used fields of a release.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Release {
    pub(super) id: u64,
    pub(super) tag_name: String,
    #[serde(default)]
    pub(super) draft: bool,
    pub(super) published_at: Option<String>,
    assets: Option<Vec<Asset>>,
}

impl Release {
    /// Returns its assets, if they are so few that GitHub lists all of them with the release.
    pub(super) fn all_assets(&self) -> Option<Vec<Asset>> {
        self.assets.clone().filter(|assets| assets.len() < DEFAULT_PAGE_SIZE)
    }
}

/// A file of a release.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Asset {
    /// Id of the asset.
    pub id: u64,
    /// File name.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// `uploaded`, or `open` during the upload.
    #[serde(default)]
    pub state: String,
    /// `sha256:…`. Assets uploaded before June 2025 have none.
    pub digest: Option<String>,
}

/// The API for one repository.
#[derive(Debug)]
pub(super) struct Api {
    http: Client,
    /// `…/repos/<organisation>/<repository>/`.
    base: Url,
    authorization: Option<SecretString>,
    /// The rate limit error after which no more requests are sent.
    used_up: OnceLock<(u16, String)>,
}

impl Api {
    pub(super) fn new(access: &Access, organisation: &str, repository: &str) -> Result<Self, OriginError> {
        let api = &access.api;
        let refuse = |why: &str| OriginError::Settings(format!("the API {}: {why}", http::redacted_url(api)));
        match api.scheme() {
            "https" => {}
            "http" if access.plain_http => {}
            "http" => return Err(refuse("plain HTTP requires --plain-http")),
            _ => return Err(refuse("its scheme must be https")),
        }
        let path = api.path().trim_end_matches('/');
        let base = api.join(&format!("{path}/repos/{organisation}/{repository}/"));
        let authorization =
            access.token.as_ref().map(|token| format!("Bearer {}", token.expose_secret()).into());
        Ok(Self {
            http: access.client.clone(),
            base: base.map_err(|_| refuse("invalid URL"))?,
            authorization,
            used_up: OnceLock::new(),
        })
    }

    /// Lists all releases.
    pub(super) async fn releases(&self) -> Result<Vec<Release>, OriginError> {
        self.pages("releases?per_page=100").await
    }

    /// Returns the release of a tag.
    pub(super) async fn release(&self, name: &ReleaseName) -> Result<Release, OriginError> {
        let answer = self.get(&self.url(&format!("releases/tags/{name}"))?).await;
        let answer = answer.map_err(|error| match error {
            OriginError::NotFound { place, .. } if self.authorization.is_some() => {
                OriginError::NoRelease { place, name: Box::new(name.clone()) }
            }
            error => error,
        })?;
        Ok(answer.json().await?)
    }

    /// Lists the assets of a release.
    pub(super) async fn assets(&self, release: u64) -> Result<Vec<Asset>, OriginError> {
        self.pages(&format!("releases/{release}/assets?per_page=100")).await
    }

    /// Downloads an asset, and verifies its size and digest from the API. GitHub redirects to its storage, which does not
    /// receive the token.
    pub(super) async fn download(&self, asset: &Asset, most: u64) -> Result<Vec<u8>, OriginError> {
        let url = self.url(&format!("releases/assets/{}", asset.id))?;
        let malformed = |error: String| TransportError::Malformed { place: http::redacted_url(&url), error };
        let digest: Option<Digest> = asset.digest.as_deref().map(str::parse).transpose().map_err(
            |error: crate::release::digest::DigestError| {
                malformed(format!("the file {}: {error}", asset.name))
            },
        )?;
        self.check_left(&url)?;
        let request = self.signed(&url)?.accept("application/octet-stream");
        let expected = Expected { digest, size: Some(asset.size), most };
        let fetched = self.http.download(&request, expected, Vec::new()).await;
        fetched.map(|(bytes, _)| bytes).map_err(|error| self.refused(error))
    }

    /// Reads all pages of a list.
    async fn pages<T: DeserializeOwned>(&self, first: &str) -> Result<Vec<T>, OriginError> {
        let (mut all, mut page) = (Vec::new(), self.url(first)?);
        for _ in 0..MAX_PAGES {
            let answer = self.get(&page).await?;
            let next = next_page(&page, answer.headers("link"))?;
            all.extend(answer.json::<Vec<T>>().await?);
            match next {
                Some(next) => page = next,
                None => return Ok(all),
            }
        }
        Err(TransportError::TooLarge {
            place: http::redacted_url(&page),
            most: MAX_PAGES as u64,
            unit: "pages",
        }
        .into())
    }

    /// Refuses a request after the rate limit was exceeded: GitHub would refuse it, and count it.
    fn check_left(&self, url: &Url) -> Result<(), OriginError> {
        let Some((status, message)) = self.used_up.get().cloned() else { return Ok(()) };
        Err(refusal(http::redacted_url(url), status, message))
    }

    async fn get(&self, url: &Url) -> Result<Answer, OriginError> {
        self.check_left(url)?;
        let request = self.signed(url)?.accept("application/vnd.github+json").within(REQUEST_TIMEOUT);
        self.http.ask(&request).await.and_then(Answer::success).map_err(|error| self.refused(error))
    }

    fn signed(&self, url: &Url) -> Result<Request, TransportError> {
        let (name, value) = VERSION;
        let request = Request::get(url.clone()).header(reqwest::header::HeaderName::from_static(name), value);
        match &self.authorization {
            Some(value) => request.authorization(value),
            None => Ok(request),
        }
    }

    /// Converts an error of GitHub, which answers 404 for a repository that the user may not see.
    fn refused(&self, error: TransportError) -> OriginError {
        let TransportError::Status { place, status, retry_after, .. } = error else { return error.into() };
        let has_token = self.authorization.is_some();
        match (status, retry_after) {
            (403 | 429, Some(after)) => {
                let more = if has_token {
                    ""
                } else {
                    "; a token raises the limit (--github-token-file, GITHUB_TOKEN)"
                };
                let minutes = after.as_secs().div_ceil(60);
                let message = format!("rate limit exceeded; retry after {minutes} min{more}");
                self.used_up.get_or_init(|| (status, message.clone()));
                refusal(place, status, message)
            }
            (401, _) => OriginError::Unauthorised { place, error: "GitHub rejected the token".to_owned() },
            (403, _) => {
                OriginError::Unauthorised { place, error: "the token lacks the permission".to_owned() }
            }
            (404, _) if has_token => OriginError::NotFound {
                place,
                what: "a repository or release of this name that the token can access".to_owned(),
            },
            (404, _) => {
                let what =
                    "a public repository or release of this name (a private one needs a token)".to_owned();
                OriginError::NotFound { place, what }
            }
            _ => refusal(place, status, String::new()),
        }
    }

    fn url(&self, path: &str) -> Result<Url, OriginError> {
        self.base.join(path).map_err(|_| OriginError::Settings(format!("{path:?} cannot be part of a URL")))
    }
}

fn refusal(place: String, status: u16, message: String) -> OriginError {
    TransportError::Status { place, status, message, retry_after: None, challenges: Vec::new() }.into()
}
