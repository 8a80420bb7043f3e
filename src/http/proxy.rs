//! The proxies of the environment, the same for HTTP, Git and the API server.
//!
//! Reads `HTTPS_PROXY`, `HTTP_PROXY`, curl's `ALL_PROXY` as their default, and `NO_PROXY`; of each, first the upper case
//! name and then the lower case one, as Go does. Requests to this machine never use a proxy.

use std::env;
use std::fmt;
use std::net::IpAddr;

use reqwest::Url;

use super::{is_loopback, redacted_url};

/// A variable with an invalid proxy. Its value is not shown: it may contain a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable}: invalid proxy: {why}")]
pub struct ProxyError {
    /// Name of the variable.
    pub variable: String,
    /// The cause.
    pub why: String,
}

/// A proxy. `Display` and `Debug` show no credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    url: Url,
}

/// The proxies of the environment, and the hosts that are requested without one.
#[derive(Clone, Debug, Default)]
pub struct Proxies {
    http: Option<Result<Proxy, ProxyError>>,
    https: Option<Result<Proxy, ProxyError>>,
    except: Vec<Exception>,
}

/// An entry of `NO_PROXY`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Exception {
    /// `*`
    All,
    /// A host and its subdomains.
    Domain { name: String, port: Option<u16> },
    /// An address, or a network by its prefix length.
    Network { address: IpAddr, bits: u32, port: Option<u16> },
}

impl Proxy {
    /// Parses a proxy as a variable or a kubeconfig names it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let with_scheme = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let url = Url::parse(&with_scheme).map_err(|error| error.to_string())?;
        match (url.scheme(), url.host_str()) {
            // An unescaped `/` or `@` in a password ends up in the path, which would be shown.
            ("http" | "https", _) if !matches!(url.path(), "" | "/") => {
                Err("there is a path after the host; write / and @ of a password as %2F and %40".to_owned())
            }
            ("http" | "https", Some(host)) if !host.is_empty() => Ok(Self { url }),
            ("http" | "https", _) => Err("the host is missing".to_owned()),
            (scheme, _) => Err(format!("unsupported scheme {scheme}: use http or https")),
        }
    }

    /// Returns the URL, with the credentials that the variable has.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(redacted_url(&self.url).trim_end_matches('/'))
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Proxies {
    /// Reads the proxies of the environment.
    #[must_use]
    pub fn of_environment() -> Self {
        Self::new(|variable| env::var_os(variable)?.into_string().ok())
    }

    fn new(get: impl Fn(&str) -> Option<String>) -> Self {
        let set = |variable: &str| {
            let both = [variable.to_owned(), variable.to_ascii_lowercase()];
            both.into_iter().find_map(|variable| {
                let value = get(&variable).filter(|value| !value.trim().is_empty())?;
                Some((variable, value))
            })
        };
        let proxy = |variable| {
            let (variable, value) = set(variable).or_else(|| set("ALL_PROXY"))?;
            Some(Proxy::parse(&value).map_err(|why| ProxyError { variable, why }))
        };
        let except = set("NO_PROXY").map(|(_, value)| value).unwrap_or_default();
        let except = except.split(',').filter_map(Exception::parse).collect();
        Self { http: proxy("HTTP_PROXY"), https: proxy("HTTPS_PROXY"), except }
    }

    /// Returns the proxy for a URL; `None` for a direct connection.
    pub fn of(&self, url: &Url) -> Result<Option<&Proxy>, ProxyError> {
        let proxy = match url.scheme() {
            "http" => &self.http,
            "https" => &self.https,
            _ => return Ok(None),
        };
        if is_loopback(url) || self.except.iter().any(|exception| exception.has(url)) {
            return Ok(None);
        }
        proxy.as_ref().map(Result::as_ref).transpose().map_err(Clone::clone)
    }
}

/// Repairs the variables that kube reads by itself, and fails for, before anything reads them: curl, Go and this module
/// skip an empty entry of `NO_PROXY`.
#[allow(unsafe_code, reason = "kube reads the variables of the process, and nothing else")]
pub fn repair_environment() {
    for variable in ["NO_PROXY", "no_proxy"] {
        let Ok(value) = env::var(variable) else { continue };
        let repaired = repaired(&value);
        if repaired == value {
            continue;
        }
        // SAFETY: only `cli::main` calls this function, first of all: this process has one thread.
        unsafe {
            match repaired.as_str() {
                "" => env::remove_var(variable),
                repaired => env::set_var(variable, repaired),
            }
        }
    }
}

/// Returns the entries of `NO_PROXY` that mean something; only `*` if it is among them, which kube knows only alone.
fn repaired(value: &str) -> String {
    let entries: Vec<&str> = value.split(',').map(str::trim).filter(|entry| !entry.is_empty()).collect();
    if entries.contains(&"*") { "*".to_owned() } else { entries.join(",") }
}

impl Exception {
    /// Parses an entry. Ignores an entry that is neither a host nor a network, as curl and Go do.
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        if text == "*" {
            return Some(Self::All);
        }
        if let Some((address, bits)) = text.split_once('/') {
            let (address, bits) = (address.parse::<IpAddr>().ok()?, bits.parse().ok()?);
            return (bits <= width(address)).then_some(Self::Network { address, bits, port: None });
        }
        if let Some(network) = Self::address(&text, None) {
            return Some(network);
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().ok()?)),
            None => (text.as_str(), None),
        };
        let name = host.trim_start_matches('*').trim_matches('.');
        let domain = || (!name.is_empty()).then(|| Self::Domain { name: name.to_owned(), port });
        Self::address(host, port).or_else(domain)
    }

    fn address(text: &str, port: Option<u16>) -> Option<Self> {
        let address: IpAddr = text.trim_matches(['[', ']']).parse().ok()?;
        Some(Self::Network { address, bits: width(address), port })
    }

    fn has(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
        let is_port = |port: &Option<u16>| port.is_none() || *port == url.port_or_known_default();
        match self {
            Self::All => true,
            Self::Domain { name, port } => {
                let above = host.strip_suffix(name.as_str());
                is_port(port) && above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
            }
            Self::Network { address, bits, port } => {
                let host = host.trim_matches(['[', ']']).parse::<IpAddr>();
                let shares = |host: IpAddr| shares_bits(host.to_canonical(), *address, *bits);
                is_port(port) && host.is_ok_and(shares)
            }
        }
    }
}

/// Returns the number of bits of an address.
fn width(address: IpAddr) -> u32 {
    if address.is_ipv4() { u32::BITS } else { u128::BITS }
}

/// Whether two addresses of the same family share their first bits.
fn shares_bits(one: IpAddr, other: IpAddr, bits: u32) -> bool {
    match (one, other) {
        (IpAddr::V4(one), IpAddr::V4(other)) => (one.to_bits() ^ other.to_bits()).leading_zeros() >= bits,
        (IpAddr::V6(one), IpAddr::V6(other)) => (one.to_bits() ^ other.to_bits()).leading_zeros() >= bits,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
