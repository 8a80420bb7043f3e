//! The HTTP client and its options.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::header::LOCATION;
use reqwest::{Certificate, ClientBuilder, Method, Url, redirect};

use super::local::{self, NonLocalResolver};
use super::{Answer, Proxies, Proxy, Request, TransportError, install_tls_provider, is_local, redacted_url};

/// Maximum number of redirects of one request: a CDN needs one or two.
const MAX_REDIRECTS: usize = 5;

/// Options of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// PEM of CA certificates to trust in addition to those of the system.
    pub ca: Option<Vec<u8>>,
    /// Whether to use the proxies of the environment ([`Proxies`]).
    pub proxies: bool,
    /// Timeout for connecting.
    pub connect: Duration,
    /// Timeout between two reads of an answer, and until its first byte.
    pub silence: Duration,
    /// Timeout from the start of a request to the last byte of its answer.
    pub overall: Duration,
    /// Maximum number of attempts of a GET request.
    pub attempts: usize,
    /// Pause before the second attempt; doubled for each further attempt, with jitter.
    pub pause: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            ca: None,
            proxies: true,
            connect: Duration::from_secs(10),
            silence: Duration::from_secs(30),
            overall: Duration::from_mins(2),
            attempts: 4,
            pause: Duration::from_millis(250),
        }
    }
}

/// An HTTP client. A clone shares its connections.
#[derive(Clone, Debug)]
pub struct Client {
    inner: reqwest::Client,
    /// For URLs that another host named: it does not resolve names to addresses of this machine or its link.
    non_local: reqwest::Client,
    proxies: Arc<Proxies>,
    pub(super) options: Options,
}

impl Client {
    /// Creates a client; sends nothing.
    pub fn new(options: Options) -> Result<Self, TransportError> {
        install_tls_provider();
        let proxies = Arc::new(if options.proxies { Proxies::of_environment() } else { Proxies::default() });
        let with_ca = |builder: ClientBuilder| -> Result<ClientBuilder, TransportError> {
            match &options.ca {
                Some(ca) => Ok(builder.tls_certs_merge(certificates(ca)?)),
                None => Ok(builder),
            }
        };
        let build =
            |builder: ClientBuilder| builder.build().map_err(|error| TransportError::Tls(innermost(&error)));
        let inner = build(with_ca(builder(&options, &proxies))?)?;
        let non_local = build(with_ca(builder(&options, &proxies).dns_resolver(NonLocalResolver))?)?;
        Ok(Self { inner, non_local, proxies, options })
    }

    /// Creates a client for plain HTTP, which needs no certificates on this machine and trusts none.
    pub fn plain(options: Options) -> Result<Self, TransportError> {
        install_tls_provider();
        let proxies = Arc::default();
        let client = builder(&options, &proxies).tls_certs_only([]).build();
        let client = client.map_err(|error| TransportError::Tls(innermost(&error)))?;
        Ok(Self { inner: client.clone(), non_local: client, proxies, options })
    }

    /// Sends a request once. Any status is an answer, including a redirect.
    pub async fn send(&self, request: &Request) -> Result<Answer, TransportError> {
        let url = &request.url;
        let refuse = |why: &str| TransportError::Url { place: redacted_url(url), why: why.to_owned() };
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refuse("it is neither http nor https"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refuse(
                "it contains a user name or password, which everyone who sees the URL can read",
            ));
        }
        if request.is_foreign && is_local(url) {
            return Err(refuse(local::WHY));
        }
        let proxy = self.proxies.of(url)?;
        // A proxy resolves the name itself, and may be on this machine.
        let is_direct = request.is_foreign && proxy.is_none();
        let client = if is_direct { &self.non_local } else { &self.inner };
        let within = request.within.unwrap_or(self.options.overall);
        let mut builder = client.request(request.method.clone(), url.clone());
        builder = builder.headers(request.headers.clone()).timeout(within);
        if let Some(body) = &request.body {
            builder = builder.body(body.clone());
        }
        let sent = SentRequest::new(place_through(url, proxy), &self.options, within);
        let answer = builder.send().await.map_err(|error| sent.failed(&error, None))?;
        Ok(Answer::new(answer, url.clone(), sent))
    }

    /// Sends a request and, if it is a GET, follows redirects: never from `https` to `http`, and without secrets to another
    /// host. [`Answer::url`] is the URL that answered.
    pub async fn follow(&self, request: &Request) -> Result<Answer, TransportError> {
        let (mut request, mut has_moved) = (request.clone(), false);
        for _ in 0..=MAX_REDIRECTS {
            let mut answer = self.send(&request).await?;
            answer.has_moved = has_moved;
            if request.method != Method::GET || !matches!(answer.status(), 301 | 302 | 303 | 307 | 308) {
                return Ok(answer);
            }
            let url = target(&request.url, answer.header(LOCATION.as_str()))?;
            has_moved |= url.origin() != request.url.origin();
            request = request.moved(url);
        }
        Err(TransportError::Redirect {
            place: redacted_url(&request.url),
            to: "another location".to_owned(),
            why: "more than five redirects in a row".to_owned(),
        })
    }
}

fn builder(options: &Options, proxies: &Arc<Proxies>) -> ClientBuilder {
    let proxies = Arc::clone(proxies);
    // `Client::send` reports an invalid proxy before it sends the request.
    let of = move |url: &Url| proxies.of(url).ok().flatten().map(|proxy| proxy.url().clone());
    reqwest::Client::builder()
        .connect_timeout(options.connect)
        .read_timeout(options.silence)
        .redirect(redirect::Policy::none())
        .referer(false)
        .proxy(reqwest::Proxy::custom(of))
        .user_agent(concat!("stackflux/", env!("CARGO_PKG_VERSION")))
}

/// Returns a URL and its proxy for messages: either may have failed.
fn place_through(url: &Url, proxy: Option<&Proxy>) -> String {
    let place = redacted_url(url);
    proxy.map_or_else(|| place.clone(), |proxy| format!("{place} (through the proxy {proxy})"))
}

/// Returns the target of a redirect, if the client may follow it.
fn target(from: &Url, location: Option<&str>) -> Result<Url, TransportError> {
    let refuse = |to: String, why: &str| TransportError::Redirect {
        place: redacted_url(from),
        to,
        why: why.to_owned(),
    };
    let Some(location) = location else {
        return Err(refuse("an unknown location".to_owned(), "the header Location is missing"));
    };
    let url = from.join(location);
    let mut url =
        url.map_err(|_| refuse("an unknown location".to_owned(), "the header Location is not a URL"))?;
    match (from.scheme(), url.scheme()) {
        (_, "https") | ("http", "http") => {}
        ("https", "http") => return Err(refuse(redacted_url(&url), "it is not encrypted")),
        _ => return Err(refuse(redacted_url(&url), "it is neither http nor https")),
    }
    // Credentials in a redirect are not used.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    Ok(url)
}

fn certificates(pem: &[u8]) -> Result<Vec<Certificate>, TransportError> {
    let found = Certificate::from_pem_bundle(pem).map_err(|error| TransportError::Tls(innermost(&error)))?;
    if found.is_empty() {
        let why = "the CA file has no certificate in PEM (-----BEGIN CERTIFICATE-----)";
        return Err(TransportError::Tls(why.to_owned()));
    }
    Ok(found)
}

/// A request that was sent, with the values that its errors report.
#[derive(Clone, Debug)]
pub(super) struct SentRequest {
    /// The place that the request was sent to.
    pub(super) place: String,
    begun: Instant,
    connect: Duration,
    silence: Duration,
    within: Duration,
}

impl SentRequest {
    fn new(place: String, options: &Options, within: Duration) -> Self {
        let Options { connect, silence, .. } = *options;
        Self { place, begun: Instant::now(), connect, silence, within }
    }

    /// Converts an error of reqwest, without its URL. `received` is the number of bytes received of the body; `None` if the
    /// answer did not begin.
    pub(super) fn failed(&self, error: &reqwest::Error, received: Option<u64>) -> TransportError {
        let place = self.place.clone();
        if !error.is_timeout() {
            return failed(place, error);
        }
        match received {
            _ if self.begun.elapsed() >= self.within => TransportError::Timeout { place, after: self.within },
            None if error.is_connect() => TransportError::Timeout { place, after: self.connect },
            _ => TransportError::Silent { place, after: self.silence, received },
        }
    }
}

fn failed(place: String, error: &reqwest::Error) -> TransportError {
    let text = innermost(error);
    if error.is_connect() && text.contains("certificate") {
        TransportError::Certificate { place, error: text }
    } else if error.is_connect() {
        TransportError::Unreachable { place, error: in_words(text) }
    } else {
        TransportError::Interrupted { place, error: text }
    }
}

/// Rewords the error of rustls for a server that does not speak TLS.
fn in_words(text: String) -> String {
    if text.contains("InvalidContentType") {
        "it does not speak TLS, perhaps plain HTTP".to_owned()
    } else {
        text
    }
}

/// Returns the innermost error, which has the cause; the outer errors only add the whole URL.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    match cause.downcast_ref::<reqwest::Error>() {
        Some(_) => "the request could not be made".to_owned(),
        None => cause.to_string(),
    }
}
