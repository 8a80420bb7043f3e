//! The part of GitHub's REST API that has releases.

use std::sync::OnceLock;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::http::{self, Answer, Client, Expected, Request, TransportError, Url, next_page};
use crate::names::ReleaseName;
use crate::release::Digest;
use crate::source::origin::OriginError;

/// The API of github.com.
pub const GITHUB: &str = "https://api.github.com";

/// How long anything but an asset may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// The most pages of 100 that are read: GitHub itself ends lists of releases at 10,000.
const MOST_PAGES: usize = 100;
/// The length of GitHub's lists where no other is asked for: one that is shorter is all there is.
const FEW_ASSETS: usize = 30;
/// The version of the API that this was written for.
const VERSION: (&str, &str) = ("x-github-api-version", "2022-11-28");

/// How GitHub is reached.
#[derive(Clone, Debug)]
pub struct Access {
    /// The client, which knows the CAs.
    pub client: Client,
    /// The API: [`GITHUB`], or `https://github.example.com/api/v3` of a server of one's own.
    pub api: Url,
    /// Whether the API may be asked over plain HTTP, the token for everybody on the way to read.
    pub plain_http: bool,
    /// A token. Without one only public repositories are seen, and 60 requests an hour answered.
    pub token: Option<SecretString>,
}

/// A release, of what the API says the part that is used.
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
    /// Its files, where they are so few that GitHub tells all of them with the release.
    pub(super) fn all_assets(&self) -> Option<Vec<Asset>> {
        self.assets.clone().filter(|assets| assets.len() < FEW_ASSETS)
    }
}

/// A file of a release.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Asset {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// `uploaded`, or `open` while it is not.
    #[serde(default)]
    pub state: String,
    /// `sha256:…`. What was uploaded before June 2025 has none.
    pub digest: Option<String>,
}

/// The API for one repository.
#[derive(Debug)]
pub(super) struct Api {
    http: Client,
    /// `…/repos/<organisation>/<repository>/`.
    base: Url,
    authorization: Option<SecretString>,
    /// The refusal after which stackflux sends no more requests: those of this hour are used up.
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

    /// All releases.
    pub(super) async fn releases(&self) -> Result<Vec<Release>, OriginError> {
        self.pages("releases?per_page=100").await
    }

    /// The release of a tag.
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

    /// The assets of a release.
    pub(super) async fn assets(&self, release: u64) -> Result<Vec<Asset>, OriginError> {
        self.pages(&format!("releases/{release}/assets?per_page=100")).await
    }

    /// The bytes of an asset, of the size and digest that the API says. GitHub sends on to where it keeps them, which
    /// does not see the token.
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

    /// All pages of a list.
    async fn pages<T: DeserializeOwned>(&self, first: &str) -> Result<Vec<T>, OriginError> {
        let (mut all, mut page) = (Vec::new(), self.url(first)?);
        for _ in 0..MOST_PAGES {
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
            most: MOST_PAGES as u64,
            unit: "pages",
        }
        .into())
    }

    /// Refuses what GitHub would refuse, which counts what is asked all the same.
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

    /// What a refusal of GitHub means. A repository that we may not see is called one that is not there.
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
