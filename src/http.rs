//! HTTP requests to registries, forges and source-controller.
//!
//! No answer is trusted. Every body has a size limit and every request a timeout. A redirect is an answer, and
//! [`Client::follow`] never follows one from `https` to `http`, never sends a credential to another host, and never
//! follows a redirect of another host to an address of this machine or its link ([`is_local`]). Errors name scheme, host
//! and path of a URL, never its user info or its query, which may contain tokens.
#![allow(clippy::disallowed_methods, reason = "pauses and dates of HTTP need the clock")]

mod answer;
mod client;
mod download;
mod error;
mod link;
mod local;
mod options;
mod proxy;
mod receive;
mod request;
mod retry;
mod sent;

pub use answer::Answer;
pub use client::Client;
pub use error::TransportError;
pub use link::next_page;
pub use local::is_local;
pub use options::Options;
pub use proxy::{Proxies, Proxy, ProxyError, repair_environment};
pub use receive::{BodySink, Expected};
pub use request::Request;
pub use reqwest::{Method, Url};

use crate::release::finding::shortened;

/// Maximum size of a JSON answer in bytes: the OCI distribution specification allows manifests of this size, and no page of
/// an API comes near it.
pub const MAX_JSON_BYTES: u64 = 4 << 20;

/// Makes `ring` the TLS provider of the process, unless one is installed. Without this, rustls panics at the first
/// handshake if the binary has none or two.
pub fn install_tls_provider() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Returns a URL for display: scheme, host, port and path, without user info and query.
#[must_use]
pub fn redacted_url(url: &Url) -> String {
    let mut plain = url.clone();
    plain.set_query(None);
    plain.set_fragment(None);
    // Only a URL without a host refuses these, and such a URL has neither.
    let _ = plain.set_username("");
    let _ = plain.set_password(None);
    shortened(plain.as_str(), 300)
}

/// Whether a URL leads to this machine: such requests never use a proxy.
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
