//! The answer to a request.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use reqwest::{Response, Url};
use serde::de::DeserializeOwned;

use super::TransportError;
use super::receive::{BodySink, Expected, Receiver};
use super::sent::SentRequest;
use crate::release::Digest;

/// An answer whose body has not been read.
#[derive(Debug)]
pub struct Answer {
    response: Response,
    url: Url,
    sent: SentRequest,
    /// Whether a redirect led to another origin than the requested one.
    pub(super) has_moved: bool,
}

impl Answer {
    pub(super) fn new(response: Response, url: Url, sent: SentRequest) -> Self {
        Self { response, url, sent, has_moved: false }
    }

    /// Returns the HTTP status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// Returns the URL that answered, after redirects.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Returns the place that answered, for messages.
    pub(super) fn place(&self) -> &str {
        &self.sent.place
    }

    /// Returns the first header of a name, if its value is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// Returns all headers of a name whose values are text.
    pub fn headers<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        self.response.headers().get_all(name).into_iter().filter_map(|value| value.to_str().ok())
    }

    /// Returns the answer if its status is 2xx, otherwise the status as an error.
    pub fn success(self) -> Result<Self, TransportError> {
        if self.response.status().is_success() { Ok(self) } else { Err(self.refusal()) }
    }

    /// Returns the status as an error.
    #[must_use]
    pub fn refusal(&self) -> TransportError {
        let retry_after = self.header(RETRY_AFTER.as_str()).and_then(pause_of);
        let retry_after = retry_after.or_else(|| self.used_up());
        let challenges =
            if self.has_moved { Vec::new() } else { self.headers(WWW_AUTHENTICATE.as_str()).collect() };
        let challenges = challenges.into_iter().map(str::to_owned).collect();
        let place = self.sent.place.clone();
        TransportError::Status {
            place,
            status: self.status(),
            message: String::new(),
            retry_after,
            challenges,
        }
    }

    /// Returns the time until the rate limit resets, if it is used up: from headers of GitHub and compatible forges.
    fn used_up(&self) -> Option<Duration> {
        let left = self.header("x-ratelimit-remaining")?;
        (left.trim() == "0").then(|| until_second(self.header("x-ratelimit-reset")?)).flatten()
    }

    /// Reads the body, of at most `most` bytes.
    pub async fn bytes(self, most: u64) -> Result<Vec<u8>, TransportError> {
        self.keep(Vec::new(), Expected { digest: None, size: None, most }).await.map(|(bytes, _)| bytes)
    }

    /// Reads the body into `into`, and returns `into` with its digest, if the body is as expected.
    pub async fn keep<K: BodySink>(self, into: K, expected: Expected) -> Result<(K, Digest), TransportError> {
        let mut receiver = Receiver::new(into, expected);
        let place = self.sent.place.clone();
        self.copy_to(&mut receiver).await?;
        receiver.finish(&place).await
    }

    /// Reads the body as JSON of at most [`MAX_JSON_BYTES`](super::MAX_JSON_BYTES) bytes.
    pub async fn json<T: DeserializeOwned>(self) -> Result<T, TransportError> {
        let place = self.sent.place.clone();
        let bytes = self.bytes(super::MAX_JSON_BYTES).await?;
        // serde's message may quote the answer, which may contain a token: report only the position.
        serde_json::from_slice(&bytes).map_err(|error| TransportError::Malformed {
            place,
            error: format!("not the expected JSON (line {}, column {})", error.line(), error.column()),
        })
    }

    /// Passes the body to the receiver, chunk by chunk.
    pub(super) async fn copy_to(
        mut self,
        receiver: &mut Receiver<impl BodySink>,
    ) -> Result<(), TransportError> {
        let SentRequest { place, .. } = &self.sent;
        receiver.announce(place, self.response.content_length())?;
        let mut come = 0;
        loop {
            match self.response.chunk().await {
                Ok(Some(bytes)) => {
                    receiver.write(place, &bytes).await?;
                    come += bytes.len() as u64;
                }
                Ok(None) => return Ok(()),
                Err(error) => return Err(self.sent.failed(&error, Some(come))),
            }
        }
    }
}

/// Parses `Retry-After` (RFC 9110, 10.2.3): seconds, or a date.
pub(super) fn pause_of(value: &str) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    DateTimeParser::new().parse_timestamp(value).ok().map(until)
}

/// Returns the time until a Unix timestamp in seconds.
pub(super) fn until_second(value: &str) -> Option<Duration> {
    Timestamp::from_second(value.trim().parse().ok()?).ok().map(until)
}

fn until(time: Timestamp) -> Duration {
    Duration::try_from(time.duration_since(Timestamp::now())).unwrap_or_default()
}
