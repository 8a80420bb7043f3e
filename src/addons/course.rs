//! The course of a Cluster through the stages of its release, as its status has recorded it.

use crate::api::ClusterAddon;
use crate::gate::upgrade::Phase;
use crate::plan::stages::{Applied, Course, Recorded};
use crate::release::Release;

/// Returns the point of its course to a release of a namespace at which a Cluster is according to the status of its
/// `ClusterAddon`. The version of the Cluster is that of the release, otherwise nothing is delivered.
#[must_use]
pub fn course(addon: &ClusterAddon, (namespace, release): (&str, &Release), phase: Phase) -> Course {
    let name = release.name.to_string();
    let status = addon.status.as_ref();
    let of = status.and_then(|status| status.release.as_ref());
    let is_it = |found: Option<&String>, of: Option<&String>| {
        found == Some(&name) && of.is_none_or(|of| of == namespace)
    };
    let applied = of.and_then(|of| Some((of.applied.as_ref()?, of.applied_namespace.as_ref())));
    let is_desired = of.is_some_and(|of| is_it(of.desired.as_ref(), of.desired_namespace.as_ref()));
    // The stages of another release have begun, or those of the way back. One that has not begun, such as one that does not
    // exist, has changed nothing.
    let is_on_its_way = status.is_some_and(|status| status.hook.is_some());
    let applied = match applied {
        None => Applied::None,
        Some((applied, of)) if is_it(Some(applied), of) && !is_on_its_way => Applied::This,
        Some(_) => Applied::Other,
    };
    let status = status.filter(|_| is_desired);
    let recorded = Recorded {
        applied,
        hook: status.and_then(|status| status.hook.as_deref()),
        stages: status.map(|status| status.stages.as_slice()).unwrap_or_default(),
    };
    Course::of(recorded, release, phase)
}
