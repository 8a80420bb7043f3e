//! What is asked.

use std::fmt;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RANGE};
use reqwest::{Method, Url};
use secrecy::{ExposeSecret as _, SecretString};

use super::{TransportError, is_local, redacted_url};

/// A request. Only those with the method GET are repeated, resumed and redirected.
#[derive(Clone)]
pub struct Request {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Vec<u8>>,
    pub(super) within: Option<Duration>,
    /// Whether a host that is not local named the place: it is not asked where it is local.
    pub(super) is_foreign: bool,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, redacted_url(&self.url))
    }
}

impl Request {
    /// A request without a body.
    #[must_use]
    pub fn new(method: Method, url: Url) -> Self {
        Self { method, url, headers: HeaderMap::new(), body: None, within: None, is_foreign: false }
    }

    /// A GET request.
    #[must_use]
    pub fn get(url: Url) -> Self {
        Self::new(Method::GET, url)
    }

    /// With a body of this media type.
    #[must_use]
    pub fn body(mut self, media_type: &'static str, body: Vec<u8>) -> Self {
        self.headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        self.body = Some(body);
        self
    }

    /// With the media types that are understood.
    #[must_use]
    pub fn accept(self, media_types: &'static str) -> Self {
        self.header(ACCEPT, media_types)
    }

    /// With a header that is no secret.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: &'static str) -> Self {
        self.headers.insert(name, HeaderValue::from_static(value));
        self
    }

    /// With a header that is a secret: it is not printed, and goes to the host of this URL only.
    pub fn secret_header(mut self, name: HeaderName, value: &SecretString) -> Result<Self, TransportError> {
        let value = HeaderValue::from_str(value.expose_secret());
        let mut value = value.map_err(|_| TransportError::Url {
            place: redacted_url(&self.url),
            why: format!("invalid character in the value of the header {name}, such as a line feed"),
        })?;
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(self)
    }

    /// With the whole value of `Authorization`, such as `Bearer …`.
    pub fn authorization(self, value: &SecretString) -> Result<Self, TransportError> {
        self.secret_header(AUTHORIZATION, value)
    }

    /// With another time than the client's until the end of the answer.
    #[must_use]
    pub fn within(mut self, time: Duration) -> Self {
        self.within = Some(time);
        self
    }

    /// With a URL that the host of this other URL named.
    #[must_use]
    pub fn named_by(mut self, url: &Url) -> Self {
        self.is_foreign |= !is_local(url) && url.host() != self.url.host();
        self
    }

    /// The URL that is asked.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The same, from this byte on.
    pub(super) fn rest(&self, at: u64) -> Self {
        let mut request = self.clone();
        if let Ok(value) = HeaderValue::from_str(&format!("bytes={at}-")) {
            request.headers.insert(RANGE, value);
        }
        request
    }

    /// The same at another place, which sees no secret when another host, port or scheme is there.
    pub(super) fn moved(&self, url: Url) -> Self {
        let mut request = self.clone();
        if url.origin() != self.url.origin() {
            request.headers =
                self.headers.iter().filter(|(_, value)| !value.is_sensitive()).map(owned).collect();
        }
        Self { url, ..request }.named_by(&self.url)
    }
}

fn owned((name, value): (&HeaderName, &HeaderValue)) -> (HeaderName, HeaderValue) {
    (name.clone(), value.clone())
}
