//! A request.

use std::fmt;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RANGE};
use reqwest::{Method, Url};
use secrecy::{ExposeSecret as _, SecretString};

use super::{TransportError, is_local, redacted_url};

/// A request. [`Client::follow`](super::Client::follow) follows redirects only for GET. The other methods of the client that
/// repeat or resume a request do not check its method, so pass them GET requests only.
#[derive(Clone)]
pub struct Request {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Vec<u8>>,
    pub(super) within: Option<Duration>,
    /// Whether a host that is not local named the URL: then the URL must not be local.
    pub(super) is_foreign: bool,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, redacted_url(&self.url))
    }
}

impl Request {
    /// Creates a request without a body.
    #[must_use]
    pub fn new(method: Method, url: Url) -> Self {
        Self { method, url, headers: HeaderMap::new(), body: None, within: None, is_foreign: false }
    }

    /// Creates a GET request.
    #[must_use]
    pub fn get(url: Url) -> Self {
        Self::new(Method::GET, url)
    }

    /// Sets the body and its media type.
    #[must_use]
    pub fn body(mut self, media_type: &'static str, body: Vec<u8>) -> Self {
        self.headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        self.body = Some(body);
        self
    }

    /// Sets the accepted media types.
    #[must_use]
    pub fn accept(self, media_types: &'static str) -> Self {
        self.header(ACCEPT, media_types)
    }

    /// Sets a header that is not secret.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: &'static str) -> Self {
        self.headers.insert(name, HeaderValue::from_static(value));
        self
    }

    /// Sets a secret header: it is not printed, and is sent only to the origin of this URL.
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

    /// Sets the `Authorization` header to a whole value, such as `Bearer …`.
    pub fn authorization(self, value: &SecretString) -> Result<Self, TransportError> {
        self.secret_header(AUTHORIZATION, value)
    }

    /// Sets the timeout until the end of the answer, in place of the client's.
    #[must_use]
    pub fn within(mut self, time: Duration) -> Self {
        self.within = Some(time);
        self
    }

    /// Records that `url` named the URL of this request. If it is another, non-local host, the request must not be local.
    #[must_use]
    pub fn named_by(mut self, url: &Url) -> Self {
        self.is_foreign |= !is_local(url) && url.host() != self.url.host();
        self
    }

    /// Returns the URL.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Returns the request for the bytes from `at` on.
    pub(super) fn rest(&self, at: u64) -> Self {
        let mut request = self.clone();
        if let Ok(value) = HeaderValue::from_str(&format!("bytes={at}-")) {
            request.headers.insert(RANGE, value);
        }
        request
    }

    /// Returns the request for another URL, without secrets if the scheme, host or port differs.
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
