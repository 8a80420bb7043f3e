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
    /// Why, by what is waited for.
    parts: BTreeMap<String, String>,
}

impl Readiness {
    /// One of an operator that starts.
    #[must_use]
    pub fn starting() -> Self {
        Self(Arc::new(Mutex::new(Waits { starting: true, parts: BTreeMap::new() })))
    }

    /// Every part that has to be waited for has said so.
    pub fn started(&self) {
        self.lock().starting = false;
    }

    /// `part` is waited for, and why: it reads `<part>: <why>`, such as
    /// `caches: HelmRelease (helm.toolkit.fluxcd.io/v2): not found: is Flux installed?`.
    pub fn waits_for(&self, part: &str, why: &str) {
        let before = self.lock().parts.insert(part.to_owned(), why.to_owned());
        if before.as_deref() != Some(why) {
            info!(part, why, "waiting");
        }
    }

    /// `part` is there.
    pub fn has(&self, part: &str) {
        if self.lock().parts.remove(part).is_some() {
            info!(part, "there");
        }
    }

    /// A line for each thing that is waited for; none when the operator is ready.
    #[must_use]
    pub fn waits(&self) -> Vec<String> {
        let waits = self.lock();
        let start = waits.starting.then(|| "operator: starting".to_owned());
        start.into_iter().chain(waits.parts.iter().map(|(part, why)| format!("{part}: {why}"))).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Waits> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
