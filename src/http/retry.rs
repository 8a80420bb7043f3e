//! Retries: their pauses, and failures that are not retried.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};

use super::{Answer, Client, Request, TransportError};

/// Maximum pause before a retry. If a host asks for a longer one, the request fails: a user or the operator waits for it.
const MAX_RETRY_DELAY: Duration = Duration::from_mins(1);

impl Client {
    /// Sends a GET request, follows redirects, and retries transient failures. Any other status is an answer.
    pub async fn ask(&self, request: &Request) -> Result<Answer, TransportError> {
        let mut pauses = self.pauses();
        loop {
            let failure = match self.follow(request).await {
                Ok(answer) => match answer.refusal() {
                    refusal if refusal.is_transient() => refusal,
                    _ => return Ok(answer),
                },
                Err(error) => error,
            };
            pauses.wait_after(failure).await?;
        }
    }

    pub(super) fn pauses(&self) -> Pauses {
        let builder =
            ExponentialBuilder::default().with_min_delay(self.options.pause).with_max_delay(MAX_RETRY_DELAY);
        let attempts = self.options.attempts.saturating_sub(1);
        Pauses(builder.with_max_times(attempts).with_jitter().build())
    }
}

/// The pauses between the attempts of one request.
pub(super) struct Pauses(ExponentialBackoff);

impl Pauses {
    /// Waits before the next attempt. Returns the failure if it is permanent or no attempt is left.
    pub(super) async fn wait_after(&mut self, failure: TransportError) -> Result<(), TransportError> {
        // Each retry against a silent host would take the whole timeout again.
        let is_silent = matches!(failure, TransportError::Silent { received: None | Some(0), .. });
        let pause = if failure.is_transient() && !is_silent { self.0.next() } else { None };
        let asked = match &failure {
            TransportError::Status { retry_after, .. } => retry_after.unwrap_or_default(),
            _ => Duration::ZERO,
        };
        match pause {
            Some(pause) if asked <= MAX_RETRY_DELAY => {
                tracing::debug!(%failure, "trying again");
                tokio::time::sleep(pause.max(asked)).await;
                Ok(())
            }
            _ => Err(failure),
        }
    }
}
