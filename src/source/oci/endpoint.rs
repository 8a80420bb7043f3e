//! An endpoint of a repository: the registry itself, or a mirror
//! (<https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md>).

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Deserialize;

use super::login::Login;
use super::manifest::{Descriptor, Document};
use crate::http::{self, Answer, Client, Expected, MAX_JSON_BYTES, Request, TransportError, Url, next_page};
use crate::release::Digest;
use crate::source::origin::OriginError;

/// Timeout of a request, except for layers.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Number of tags requested in a page.
const PAGE: usize = 1000;
/// Minimum number of tags in a page that may have a next one, if the registry does not say: none has smaller pages.
const SMALLEST_PAGE: usize = 50;
/// Maximum number of pages of tags.
const MAX_PAGES: usize = 200;
/// Maximum number of pages of a manifest's referrers.
const MAX_REFERRER_PAGES: usize = 4;
/// Maximum number of tags.
const MAX_TAGS: usize = 100_000;

/// Accepted media types. An index is included so that it can be reported as an error.
const MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, \
                         application/vnd.docker.distribution.manifest.v2+json, \
                         application/vnd.oci.image.index.v1+json, \
                         application/vnd.docker.distribution.manifest.list.v2+json";

/// Media type of a list of referrers.
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// An endpoint of a repository.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) http: Client,
    /// URL of the repository: `https://host/v2/name/`.
    pub(super) base: Url,
    pub(super) login: Login,
    /// Whether the endpoint is known to be down: such a mirror is not tried again.
    pub(super) is_down: AtomicBool,
}

/// The bytes of a manifest or index.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) bytes: Vec<u8>,
    /// Digest of the bytes.
    pub(super) digest: Digest,
    /// The URL that sent them, at a mirror or the registry.
    place: String,
}

impl Received {
    pub(super) fn parse(&self) -> Result<Document, OriginError> {
        Document::parse(&self.bytes).map_err(|error| self.refused(error))
    }

    pub(super) fn refused(&self, error: String) -> OriginError {
        TransportError::Malformed { place: self.place.clone(), error }.into()
    }
}

/// A reference to a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The manifest of a tag.
    Tag(String),
    /// The manifest with this digest.
    Digest(Digest),
}

impl Reference {
    /// Returns the digest, unless this is a tag.
    pub(super) fn digest(&self) -> Option<Digest> {
        match self {
            Self::Tag(_) => None,
            Self::Digest(digest) => Some(*digest),
        }
    }

    /// Checks the tag, which must not change the path of a URL: `[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}`.
    pub(super) fn check(&self) -> Result<(), OriginError> {
        let Self::Tag(tag) = self else { return Ok(()) };
        let is_tag = tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
        if is_tag && (1..=128).contains(&tag.len()) && !tag.starts_with(['.', '-']) {
            return Ok(());
        }
        Err(OriginError::Settings(format!(
            "invalid tag {tag:?}: use letters, digits, '_', '.' and '-', at most 128 characters"
        )))
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(tag) => f.write_str(tag),
            Self::Digest(digest) => digest.fmt(f),
        }
    }
}

#[derive(Deserialize)]
struct TagList {
    tags: Option<Vec<String>>,
}

impl Endpoint {
    /// Fetches the bytes of a manifest, and verifies the digests of the reference and of the answer's header.
    pub(super) async fn manifest(&self, reference: &Reference) -> Result<Received, OriginError> {
        let url = self.url(&format!("manifests/{reference}"))?;
        let answer = self.get(Request::get(url).accept(MANIFESTS)).await?;
        let place = http::redacted_url(answer.url());
        let named = answer.header("docker-content-digest").and_then(|digest| digest.parse().ok());
        let bytes = answer.bytes(MAX_JSON_BYTES).await?;
        let found = Digest::of_bytes(&bytes);
        for expected in [named, reference.digest()].into_iter().flatten() {
            if expected != found {
                return Err(TransportError::Digest { place, expected, found }.into());
            }
        }
        Ok(Received { bytes, digest: found, place })
    }

    /// Fetches a blob, and verifies its size and digest.
    pub(super) async fn blob(&self, blob: &Descriptor, most: u64) -> Result<Vec<u8>, OriginError> {
        let url = self.url(&format!("blobs/{}", blob.digest))?;
        let expected = Expected { digest: Some(blob.digest), size: Some(blob.size), most };
        let request = Request::get(url);
        let (signed, used) = self.login.sign(request.clone()).await?;
        match self.http.download(&signed, expected, Vec::new()).await {
            Ok((bytes, _)) => return Ok(bytes),
            Err(failure) => self.login.answer(failure, used.as_ref()).await?,
        }
        let (signed, _) = self.login.sign(request).await?;
        let fetched = self.http.download(&signed, expected, Vec::new()).await;
        fetched.map(|(bytes, _)| bytes).map_err(|failure| self.login.refused(failure))
    }

    /// Lists the referrers of a manifest with this artifact type: one index for each page.
    pub(super) async fn referrers(
        &self,
        manifest: &Digest,
        artifact_type: &str,
    ) -> Result<Vec<Vec<u8>>, OriginError> {
        let mut page = self.url(&format!("referrers/{manifest}"))?;
        page.query_pairs_mut().append_pair("artifactType", artifact_type);
        let (mut pages, mut next) = (Vec::new(), Some(page));
        while let Some(page) = next.take_if(|_| pages.len() < MAX_REFERRER_PAGES) {
            let answer = self.get(Request::get(page.clone()).accept(INDEX)).await?;
            next = next_page(&page, answer.headers("link"))?;
            pages.push(answer.bytes(MAX_JSON_BYTES).await?);
        }
        Ok(pages)
    }

    /// Lists all tags.
    pub(super) async fn tags(&self) -> Result<BTreeSet<String>, OriginError> {
        let first = self.url(&format!("tags/list?n={PAGE}"))?;
        let (mut tags, mut page) = (BTreeSet::new(), first.clone());
        for _ in 0..MAX_PAGES {
            let answer = self.get(Request::get(page.clone())).await?;
            let linked = next_page(&page, answer.headers("link"))?;
            let TagList { tags: listed } = answer.json().await?;
            let listed = listed.unwrap_or_default();
            let (count, last, known) = (listed.len(), listed.last().cloned(), tags.len());
            tags.extend(listed);
            if tags.len() > MAX_TAGS {
                return Err(self.too_many(MAX_TAGS, "tags"));
            }
            page = match (linked, last) {
                // A page without new tags is the last one, or the registry would never end.
                _ if tags.len() == known => return Ok(tags),
                (Some(next), _) => next,
                (None, Some(last)) if count >= SMALLEST_PAGE => {
                    let mut next = first.clone();
                    next.query_pairs_mut().append_pair("last", &last);
                    next
                }
                (None, _) => return Ok(tags),
            };
        }
        Err(self.too_many(MAX_PAGES, "pages of tags"))
    }

    /// Whether to skip this mirror after a failure, and try the next endpoint. A wrong answer does not skip the mirror: it
    /// is an error to report.
    pub(super) fn should_skip_after(&self, failure: &OriginError) -> bool {
        let (is_skipped, is_down) = match failure {
            OriginError::Unauthorised { .. } => (true, true),
            OriginError::NotFound { .. } => (true, false),
            OriginError::Transport(error) => {
                (error.is_unreachable() || error.status().is_some(), error.is_unreachable())
            }
            _ => (false, false),
        };
        if is_skipped {
            tracing::warn!(%failure, "the mirror is passed over");
        }
        if is_down {
            self.is_down.store(true, Ordering::Relaxed);
        }
        is_skipped
    }

    /// Sends a GET request, and authenticates if the registry requires it.
    async fn get(&self, request: Request) -> Result<Answer, OriginError> {
        let request = request.within(REQUEST_TIMEOUT);
        let (signed, used) = self.login.sign(request.clone()).await?;
        match self.http.ask(&signed).await.and_then(Answer::success) {
            Ok(answer) => return Ok(answer),
            Err(failure) => self.login.answer(failure, used.as_ref()).await?,
        }
        let (signed, _) = self.login.sign(request).await?;
        let answer = self.http.ask(&signed).await.and_then(Answer::success);
        answer.map_err(|failure| self.login.refused(failure))
    }

    fn too_many(&self, most: usize, unit: &'static str) -> OriginError {
        TransportError::TooLarge { place: http::redacted_url(&self.base), most: most as u64, unit }.into()
    }

    fn url(&self, path: &str) -> Result<Url, OriginError> {
        self.base.join(path).map_err(|_| OriginError::Settings(format!("{path:?} cannot be part of a URL")))
    }
}
