//! What helm-controller does with a chart that gets another name, as its CRD tells.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::foreign::flux::definition::Renaming;

/// Interval between two reads.
const READ_INTERVAL: Duration = Duration::from_mins(1);
/// Interval between two reads as long as charts are held because of the answer.
const SHORT_READ_INTERVAL: Duration = Duration::from_secs(10);
/// Interval between two reads until one has an answer.
const FIRST_READ_INTERVAL: Duration = Duration::from_secs(2);

/// What is known about helm-controller from its CRD.
#[derive(Debug, Default)]
pub struct HelmController(Mutex<Option<Renaming>>);

impl HelmController {
    /// Returns what it does with a chart that gets another name.
    #[must_use]
    pub fn renaming(&self) -> Renaming {
        self.lock()
            .clone()
            .unwrap_or_else(|| Renaming::Unknown("the CRD of HelmRelease has not been read yet".to_owned()))
    }

    /// Whether the CRD has been read, or cannot be.
    #[must_use]
    pub fn is_read(&self) -> bool {
        self.lock().is_some()
    }

    /// Records what the CRD says. Returns whether it is something else than before.
    pub fn set(&self, renaming: &Renaming) -> bool {
        let before = self.lock().replace(renaming.clone());
        before.is_some_and(|before| before != *renaming)
    }

    /// Returns the time until the next read.
    #[must_use]
    pub fn pause(&self) -> Duration {
        match &*self.lock() {
            Some(Renaming::InPlace) => READ_INTERVAL,
            Some(_) => SHORT_READ_INTERVAL,
            None => FIRST_READ_INTERVAL,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Renaming>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_other_answers_count_as_changes() {
        let (controller, old) = (HelmController::default(), Renaming::Uninstall { version: None });
        assert!(!controller.is_read() && matches!(controller.renaming(), Renaming::Unknown(_)));
        assert!(!controller.set(&old), "no reconcile has run before the first answer");
        assert!(controller.is_read());
        assert!(!controller.set(&old));
        assert!(controller.set(&Renaming::InPlace), "Flux was upgraded");
        assert_eq!(controller.renaming(), Renaming::InPlace);
        assert!(controller.set(&old), "and downgraded");
    }
}
