//! The HTTP client.

use std::sync::Arc;

use reqwest::header::LOCATION;
use reqwest::{Certificate, ClientBuilder, Method, Url, redirect};

use super::local::{self, NonLocalResolver};
use super::sent::{SentRequest, innermost};
use super::{
    Answer, Options, Proxies, Proxy, Request, TransportError, install_tls_provider, is_local, redacted_url,
};

/// Maximum number of redirects of one request: a CDN needs one or two.
const MAX_REDIRECTS: usize = 5;

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
