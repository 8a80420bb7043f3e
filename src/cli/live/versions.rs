//! Notes about the API versions in which the objects that a Cluster refers to are read.

use super::Session;
use super::snapshot::Member;
use crate::operator::related::contract::readable;

/// Returns the notes about the kinds that a Cluster refers to. Ignores kinds that cannot be looked up, because few
/// users may read CRDs.
pub(in crate::cli) async fn notes(session: &Session, member: &Member) -> Vec<String> {
    let Some(cluster) = &member.cluster else { return Vec::new() };
    let mut notes = Vec::new();
    for object in [cluster.control_plane_ref(), cluster.infrastructure_ref()].into_iter().flatten() {
        if let Ok(Some(found)) = readable(&session.client, &object.group, &object.kind).await {
            notes.extend(found.note);
        }
    }
    notes
}
