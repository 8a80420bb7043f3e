//! Forwards requests to reconcile to the objects of Flux.

use std::sync::Arc;

use super::delivery::DeliveryMode;
use crate::api::labels::open_request;
use crate::api::{ClusterStack, ClusterStackRelease};
use crate::foreign::flux::observed::FluxObject;
use crate::plan::existing::is_marked;

/// A request to reconcile, and the objects to which it is forwarded.
#[derive(Clone, Debug, PartialEq)]
pub struct Forward {
    /// The value of the request.
    pub request: String,
    /// The objects, in this order.
    pub to: Vec<Arc<FluxObject>>,
}

/// Decides to which objects a request to reconcile a release is forwarded: to its sources and its class as its status lists
/// them, unless the `ClusterStack` is suspended. Another client may have given one of their names to another object.
#[must_use]
pub fn forward(
    release: &ClusterStackRelease,
    owner: &ClusterStack,
    recorded: &[Arc<FluxObject>],
) -> Option<Forward> {
    let handled = release.status.as_ref().and_then(|status| status.last_handled_reconcile_at.as_deref());
    let request = open_request(release, handled).filter(|_| DeliveryMode::of(owner).writes())?;
    let to = recorded.iter().filter(|object| is_marked((&***object).into())).cloned().collect();
    Some(Forward { request, to })
}
