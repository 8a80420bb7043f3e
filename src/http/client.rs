//! The client: how hosts are reached.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::header::LOCATION;
use reqwest::{Certificate, ClientBuilder, Method, Url, redirect};

use super::local::{self, Elsewhere};
use super::{Answer, Proxies, Proxy, Request, TransportError, install_tls_provider, is_local, redacted_url};

/// Redirects of one request that are followed: a CDN needs one or two.
const MOST_REDIRECTS: usize = 5;

/// How hosts are reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Certificates of CAs in PEM that are trusted beside those of the system.
    pub ca: Option<Vec<u8>>,
    /// Whether the proxies of the environment are used ([`Proxies`]).
    pub proxies: bool,
    /// Until there is a connection.
    pub connect: Duration,
    /// Without a byte of an answer, its beginning included.
    pub silence: Duration,
    /// From the beginning to the last byte of an answer.
    pub overall: Duration,
    /// How often a GET is sent before a passing failure counts.
    pub attempts: usize,
    /// The pause before the second attempt; each further one doubles it, with jitter.
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

/// Asks foreign hosts. A clone is the same client.
#[derive(Clone, Debug)]
pub struct Client {
    inner: reqwest::Client,
    /// For places that foreign hosts name: it resolves no name to an address of this machine or its link.
    elsewhere: reqwest::Client,
    proxies: Arc<Proxies>,
    pub(super) options: Options,
}

impl Client {
    /// A client; nothing is sent yet.
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
        let elsewhere = build(with_ca(builder(&options, &proxies).dns_resolver(Elsewhere))?)?;
        Ok(Self { inner, elsewhere, proxies, options })
    }

    /// A client for plain HTTP: it needs no certificates on this machine, and trusts none.
    pub fn plain(options: Options) -> Result<Self, TransportError> {
        install_tls_provider();
        let proxies = Arc::default();
        let client = builder(&options, &proxies).tls_certs_only([]).build();
        let client = client.map_err(|error| TransportError::Tls(innermost(&error)))?;
        Ok(Self { inner: client.clone(), elsewhere: client, proxies, options })
    }

    /// Sends a request once. Any status is an answer, a redirect too.
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
        let client = if is_direct { &self.elsewhere } else { &self.inner };
        let within = request.within.unwrap_or(self.options.overall);
        let mut builder = client.request(request.method.clone(), url.clone());
        builder = builder.headers(request.headers.clone()).timeout(within);
        if let Some(body) = &request.body {
            builder = builder.body(body.clone());
        }
        let asked = Asked::new(place_through(url, proxy), &self.options, within);
        let answer = builder.send().await.map_err(|error| asked.failed(&error, None))?;
        Ok(Answer::new(answer, url.clone(), asked))
    }

    /// Sends a GET request and follows redirects: to the same or a better scheme, without secrets to another host.
    /// An answer says by its URL where it came from.
    pub async fn follow(&self, request: &Request) -> Result<Answer, TransportError> {
        let (mut request, mut has_moved) = (request.clone(), false);
        for _ in 0..=MOST_REDIRECTS {
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
    // A proxy that cannot be used is an error before the request is sent.
    let of = move |url: &Url| proxies.of(url).ok().flatten().map(|proxy| proxy.url().clone());
    reqwest::Client::builder()
        .connect_timeout(options.connect)
        .read_timeout(options.silence)
        .redirect(redirect::Policy::none())
        .referer(false)
        .proxy(reqwest::Proxy::custom(of))
        .user_agent(concat!("stackflux/", env!("CARGO_PKG_VERSION")))
}

/// Where a URL leads, and through which proxy: a failure may be that one's.
fn place_through(url: &Url, proxy: Option<&Proxy>) -> String {
    let place = redacted_url(url);
    proxy.map_or_else(|| place.clone(), |proxy| format!("{place} (through the proxy {proxy})"))
}

/// Where a redirect leads, if that is somewhere where we go.
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
    // A redirect has no credentials to give us.
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

/// A request that was sent, with what its errors report.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// Where it was sent.
    pub(super) place: String,
    begun: Instant,
    connect: Duration,
    silence: Duration,
    within: Duration,
}

impl Asked {
    fn new(place: String, options: &Options, within: Duration) -> Self {
        let Options { connect, silence, .. } = *options;
        Self { place, begun: Instant::now(), connect, silence, within }
    }

    /// What reqwest could not do, in words without its URL. `received` are the bytes of the body that came, `None`
    /// where not even the beginning of the answer did.
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

/// Translates the error of rustls for a server that does not speak TLS.
fn in_words(text: String) -> String {
    if text.contains("InvalidContentType") {
        "it does not speak TLS, perhaps plain HTTP".to_owned()
    } else {
        text
    }
}

/// The innermost error says what happened; those around it only where, with the whole URL.
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
