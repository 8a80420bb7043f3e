//! The readiness of the operator.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::info;

/// The parts of the operator that are not ready. Copies share the same state.
///
/// At first the operator's start is such a part, so that nothing is ready before each part has been registered.
#[derive(Clone, Debug)]
pub struct Readiness(Arc<Mutex<Waits>>);

#[derive(Debug)]
struct Waits {
    starting: bool,
    /// The URL of the API server.
    server: String,
    /// The reason for each part that is not ready.
    parts: BTreeMap<String, Failure>,
}

/// A kind cannot be listed or watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The API server did not answer, for this reason. Says nothing about the kind.
    NoAnswer(String),
    /// The answer of the API server.
    Answer(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAnswer(cause) => write!(f, "the API server does not answer: {cause}"),
            Self::Answer(why) => f.write_str(why),
        }
    }
}

impl Readiness {
    /// Creates the readiness of an operator that starts. `server` is the URL of the API server.
    #[must_use]
    pub fn starting(server: &str) -> Self {
        let waits = Waits { starting: true, server: server.to_owned(), parts: BTreeMap::new() };
        Self(Arc::new(Mutex::new(waits)))
    }

    /// Marks that every part has been registered.
    pub fn started(&self) {
        self.lock().starting = false;
    }

    /// Marks `part` as not ready, which `/readyz` shows as `<part>: <why>`, such as
    /// `caches: HelmRelease (helm.toolkit.fluxcd.io/v2): not found: is Flux installed?`.
    pub fn waits_for(&self, part: &str, why: &str) {
        self.failed(part, &Failure::Answer(why.to_owned()));
    }

    /// Marks `part` as not ready because of a failure. `/readyz` has one line for all parts that wait for an answer.
    pub fn failed(&self, part: &str, failure: &Failure) {
        let before = self.lock().parts.insert(part.to_owned(), failure.clone());
        match failure {
            _ if before.as_ref() == Some(failure) => {}
            Failure::NoAnswer(cause) => info!(part, cause, "waiting: the API server does not answer"),
            Failure::Answer(why) => info!(part, why, "waiting"),
        }
    }

    /// Marks `part` as ready.
    pub fn has(&self, part: &str) {
        if self.lock().parts.remove(part).is_some() {
            info!(part, "there");
        }
    }

    /// Lists what the operator waits for: one line for each part that is not ready, and one for all parts that wait for the
    /// API server; empty if the operator is ready.
    #[must_use]
    pub fn waits(&self) -> Vec<String> {
        let waits = self.lock();
        let start = waits.starting.then(|| "operator: starting".to_owned());
        let causes = || {
            waits.parts.values().filter_map(|why| match why {
                Failure::NoAnswer(cause) => Some(cause),
                Failure::Answer(_) => None,
            })
        };
        let server = causes().next().map(|cause| {
            format!(
                "the API server {} does not answer: {cause} (caches that wait: {})",
                waits.server,
                causes().count()
            )
        });
        let others = waits.parts.iter().filter_map(|(part, why)| match why {
            Failure::NoAnswer(_) => None,
            Failure::Answer(why) => Some(format!("{part}: {why}")),
        });
        start.into_iter().chain(server).chain(others).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Waits> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
