//! What was answered.

use std::time::Duration;

use reqwest::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use reqwest::{Response, Url};
use serde::de::DeserializeOwned;

use super::client::Asked;
use super::receive::{Keep, Receiver};
use super::{Expected, TransportError, retry};
use crate::release::Digest;

/// An answer whose body was not read yet.
#[derive(Debug)]
pub struct Answer {
    response: Response,
    url: Url,
    asked: Asked,
    /// Whether another host answers than the one that was asked.
    pub(super) has_moved: bool,
}

impl Answer {
    pub(super) fn new(response: Response, url: Url, asked: Asked) -> Self {
        Self { response, url, asked, has_moved: false }
    }

    /// The status of HTTP.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// Who answered, after redirects.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Where it came from, in words.
    pub(super) fn place(&self) -> &str {
        &self.asked.place
    }

    /// A header that is there once or first, and is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// All headers of a name that are text.
    pub fn headers<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        self.response.headers().get_all(name).into_iter().filter_map(|value| value.to_str().ok())
    }

    /// The answer if its status is 2xx.
    pub fn success(self) -> Result<Self, TransportError> {
        if self.response.status().is_success() { Ok(self) } else { Err(self.refusal()) }
    }

    /// The status as an error.
    #[must_use]
    pub fn refusal(&self) -> TransportError {
        let retry_after = self.header(RETRY_AFTER.as_str()).and_then(retry::pause_of);
        let retry_after = retry_after.or_else(|| self.used_up());
        let challenges =
            if self.has_moved { Vec::new() } else { self.headers(WWW_AUTHENTICATE.as_str()).collect() };
        let challenges = challenges.into_iter().map(str::to_owned).collect();
        let place = self.asked.place.clone();
        TransportError::Status {
            place,
            status: self.status(),
            message: String::new(),
            retry_after,
            challenges,
        }
    }

    /// How long there are no more requests for us: headers that GitHub sends, and the forges that do as GitHub does.
    fn used_up(&self) -> Option<Duration> {
        let left = self.header("x-ratelimit-remaining")?;
        (left.trim() == "0").then(|| retry::until_second(self.header("x-ratelimit-reset")?)).flatten()
    }

    /// The body, which may have at most `most` bytes.
    pub async fn bytes(self, most: u64) -> Result<Vec<u8>, TransportError> {
        self.keep(Vec::new(), Expected { digest: None, size: None, most }).await.map(|(bytes, _)| bytes)
    }

    /// The body, kept in `into`, and its digest, if it is what is expected.
    pub async fn keep<K: Keep>(self, into: K, expected: Expected) -> Result<(K, Digest), TransportError> {
        let mut receiver = Receiver::new(into, expected);
        let place = self.asked.place.clone();
        self.pour(&mut receiver).await?;
        receiver.finish(&place).await
    }

    /// The body as JSON of at most [`MOST_JSON`](super::MOST_JSON) bytes.
    pub async fn json<T: DeserializeOwned>(self) -> Result<T, TransportError> {
        let place = self.asked.place.clone();
        let bytes = self.bytes(super::MOST_JSON).await?;
        // What serde says may cite the answer, which may hold a token: only where it stands is told.
        serde_json::from_slice(&bytes).map_err(|error| TransportError::Malformed {
            place,
            error: format!("not the expected JSON (line {}, column {})", error.line(), error.column()),
        })
    }

    /// Hands the body on as it comes.
    pub(super) async fn pour(mut self, receiver: &mut Receiver<impl Keep>) -> Result<(), TransportError> {
        let Asked { place, .. } = &self.asked;
        receiver.announce(place, self.response.content_length())?;
        let mut come = 0;
        loop {
            match self.response.chunk().await {
                Ok(Some(bytes)) => {
                    receiver.take(place, &bytes).await?;
                    come += bytes.len() as u64;
                }
                Ok(None) => return Ok(()),
                Err(error) => return Err(self.asked.failed(&error, Some(come))),
            }
        }
    }
}
