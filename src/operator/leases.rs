//! Reads the Leases of Flux's controllers.
//!
//! Each Lease is renewed every few seconds, so it is read instead of watched: three GETs every ten seconds cost less than
//! an event for each renewal, and need only `get` on three names. A renewal enqueues nothing. When a controller dies or
//! recovers, everything that may wait for it is enqueued.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use tracing::{debug, info, warn};

use super::appliers::Reading;
use super::context::Context;
use super::enqueue::enqueue_all;
use crate::foreign::flux::observed::CONTROLLERS;
use crate::rollup::Pulse;
use crate::runtime::cache::Key;

/// Interval between two reads of the Leases.
const READ_INTERVAL: Duration = Duration::from_secs(10);
/// Interval between two reads if no Lease can be read.
const BLIND_READ_INTERVAL: Duration = Duration::from_mins(1);

/// Reads the Leases of Flux's controllers forever.
#[expect(clippy::disallowed_methods, reason = "the answer to a request is a fact of its time")]
pub(super) async fn watch(context: &Context) {
    loop {
        let mut is_blind = true;
        for controller in CONTROLLERS {
            let reading = read(context, controller).await;
            is_blind &= reading == Reading::None;
            let Some((pulse, is_changed)) = context.appliers.read(controller, reading, context.clock.now())
            else {
                continue;
            };
            context.metrics.controller(controller, pulse);
            if is_changed {
                log(controller, pulse);
                enqueue_all(context);
            }
        }
        tokio::time::sleep(if is_blind { BLIND_READ_INTERVAL } else { READ_INTERVAL }).await;
    }
}

async fn read(context: &Context, controller: &str) -> Reading {
    let key = Key::new(context.settings.flux_namespace.as_str(), &format!("{controller}-leader-election"));
    match context.api.get::<Lease>(&key).await {
        Ok(lease) => {
            let renewed = lease.and_then(|lease| lease.spec?.renew_time);
            renewed.map_or(Reading::None, |renewed| Reading::Renewed(renewed.0))
        }
        Err(error) if error.is_forbidden() => {
            debug!(controller, "not allowed to read its Lease: {error}");
            Reading::None
        }
        Err(error) => {
            debug!(controller, "cannot read its Lease: {error}");
            Reading::Failed
        }
    }
}

fn log(controller: &str, pulse: Pulse) {
    match pulse {
        Pulse::Dead { since } => warn!(controller, %since, "does not renew its Lease"),
        Pulse::Alive => info!(controller, "renews its Lease"),
        Pulse::Unknown { .. } => info!(controller, "has no Lease that can be read"),
    }
}
