//! A request on its way, and why it failed.

use std::time::{Duration, Instant};

use super::{Options, TransportError};

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
    pub(super) fn new(place: String, options: &Options, within: Duration) -> Self {
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
pub(super) fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    match cause.downcast_ref::<reqwest::Error>() {
        Some(_) => "the request could not be made".to_owned(),
        None => cause.to_string(),
    }
}
