//! What has to happen before the operator is ready.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::info;

/// What is waited for. Copies are the same one: each part of the operator says what it waits for, and when it has it.
///
/// It begins with the operator's start as what is waited for: nothing is ready before the parts have said what they need.
#[derive(Clone, Debug)]
pub struct Readiness(Arc<Mutex<Waits>>);

#[derive(Debug)]
struct Waits {
    starting: bool,
    /// The URL of the API server.
    server: String,
    /// Why, by what is waited for.
    parts: BTreeMap<String, Why>,
}

#[derive(Debug, PartialEq, Eq)]
enum Why {
    /// The API server does not answer, and this is why.
    NoAnswer(String),
    /// Anything else.
    Other(String),
}

impl Readiness {
    /// One of an operator that starts. `server` is the URL of the API server.
    #[must_use]
    pub fn starting(server: &str) -> Self {
        let waits = Waits { starting: true, server: server.to_owned(), parts: BTreeMap::new() };
        Self(Arc::new(Mutex::new(waits)))
    }

    /// Every part that has to be waited for has said so.
    pub fn started(&self) {
        self.lock().starting = false;
    }

    /// `part` is waited for, and why: it reads `<part>: <why>`, such as
    /// `caches: HelmRelease (helm.toolkit.fluxcd.io/v2): not found: is Flux installed?`.
    pub fn waits_for(&self, part: &str, why: &str) {
        if self.insert(part, Why::Other(why.to_owned())) {
            info!(part, why, "waiting");
        }
    }

    /// `part` is waited for because the API server does not answer: one line for all such parts.
    pub fn waits_for_server(&self, part: &str, cause: &str) {
        if self.insert(part, Why::NoAnswer(cause.to_owned())) {
            info!(part, cause, "waiting: the API server does not answer");
        }
    }

    /// Whether that is news.
    fn insert(&self, part: &str, why: Why) -> bool {
        let mut waits = self.lock();
        let is_news = waits.parts.get(part) != Some(&why);
        waits.parts.insert(part.to_owned(), why);
        is_news
    }

    /// `part` is there.
    pub fn has(&self, part: &str) {
        if self.lock().parts.remove(part).is_some() {
            info!(part, "there");
        }
    }

    /// A line for each thing that is waited for; none when the operator is ready. What all parts wait for that wait for the
    /// API server is one thing.
    #[must_use]
    pub fn waits(&self) -> Vec<String> {
        let waits = self.lock();
        let start = waits.starting.then(|| "operator: starting".to_owned());
        let causes = || {
            waits
                .parts
                .values()
                .filter_map(|why| if let Why::NoAnswer(cause) = why { Some(cause) } else { None })
        };
        let server = causes().next().map(|cause| {
            format!(
                "the API server {} does not answer: {cause} (caches that wait: {})",
                waits.server,
                causes().count()
            )
        });
        let others = waits.parts.iter().filter_map(|(part, why)| match why {
            Why::NoAnswer(_) => None,
            Why::Other(why) => Some(format!("{part}: {why}")),
        });
        start.into_iter().chain(server).chain(others).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Waits> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
