//! Requests to hosts that are not ours: registries, forges, source-controller.
//!
//! What answers may be anybody. Every body has a limit and every request an end; a redirect is an answer, and whoever
//! follows one ([`Client::follow`]) never goes from `https` to `http`, never takes a credential to another host, and never
//! goes from elsewhere to an address of this machine or its link ([`is_local`]);
//! errors name scheme, host and path of a URL, never its user info or its query, where tokens are.
#![allow(clippy::disallowed_methods, reason = "pauses and dates of HTTP need the clock")]

mod answer;
mod client;
mod download;
mod error;
mod link;
mod local;
mod proxy;
mod receive;
mod request;
mod retry;

pub use answer::Answer;
pub use client::{Client, Options};
pub use download::Expected;
pub use error::TransportError;
pub use link::next_page;
pub use local::is_local;
pub use proxy::{Proxies, Proxy, ProxyError};
pub use receive::Keep;
pub use request::Request;
pub use reqwest::{Method, Url};

/// The most bytes of an answer in JSON that is read: a manifest may have as many by the specification of OCI
/// distribution, and no page of an API comes near.
pub const MOST_JSON: u64 = 4 << 20;

/// Makes `ring` the one TLS provider of the process. Two in one binary panic at the first handshake, and none does too;
/// installed already is as good.
pub fn install_tls_provider() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Where a URL leads, for people: scheme, host, port and path, without user info and query.
#[must_use]
pub fn redacted_url(url: &Url) -> String {
    let mut plain = url.clone();
    plain.set_query(None);
    plain.set_fragment(None);
    // Only a URL without a host refuses these, and that one has neither.
    let _ = plain.set_username("");
    let _ = plain.set_password(None);
    let text = plain.to_string();
    match text.char_indices().nth(300) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// Whether a URL leads to this machine: such a one is never asked through a proxy.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    address.map_or_else(
        |_| host == "localhost" || host.ends_with(".localhost"),
        |address| address.to_canonical().is_loopback(),
    )
}

#[cfg(test)]
pub(crate) mod tests;
