//! The options of a client.

use std::time::Duration;

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
