//! Retries installations that Flux gave up on in spite of unlimited retries.

use kube::ResourceExt as _;
use tracing::info;

use super::context::Context;
use super::request;
use crate::api::labels::{REQUESTED_AT, RESET_AT};
use crate::foreign::flux::FluxKind;
use crate::rollup::retry_at;
use crate::runtime::api_server::RequestError;
use crate::runtime::queue::{self, Next};

/// Asks Flux to retry what it gave up on long enough ago, and returns when the next retry is due. `owned` is the index key
/// of the `HelmRelease`s.
pub(super) async fn retry(context: &Context, owned: &str) -> Result<Next, RequestError> {
    let (now, mut next) = (context.clock.now(), None);
    for release in context.caches.flux.of(FluxKind::HelmRelease).by_index(owned) {
        match retry_at(&release) {
            Some(due) if due <= now => {
                request::ask(context, &release, &now.to_string(), &[REQUESTED_AT, RESET_AT]).await?;
                info!(release = release.name_any(), "asked Flux to retry the installation");
            }
            due => next = [next, due].into_iter().flatten().min(),
        }
    }
    Ok(next.map_or(Next::Await, |due| queue::at(due, now)))
}
