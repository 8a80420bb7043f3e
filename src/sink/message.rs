//! Commit messages: the changes of each cluster and their reasons, in a readable number of lines.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::changes::{ChangeKind, Changes, ObjectChange};
use super::layout::Part;
use crate::git::Message;
use crate::release::Digest;
use crate::release::finding::shortened;

/// Maximum number of clusters listed, separately for those that are added, removed and changed.
const MAX_CLUSTERS: usize = 40;

/// Maximum number of objects of a part that are listed.
const MAX_OBJECTS: usize = 12;

/// Maximum number of characters of a line.
const MAX_LINE_CHARACTERS: usize = 240;

/// Trailer: the `ClusterStack`, as `<namespace>/<name>`.
const CLUSTER_STACK: &str = "Stackflux-Cluster-Stack";
/// Trailer: the digest of the plan.
const PLAN_DIGEST: &str = "Stackflux-Plan-Digest";
/// Trailer: the version of stackflux.
const VERSION: &str = "Stackflux-Version";

/// Origin of a commit, for its trailers.
#[derive(Clone, Debug)]
pub struct Origin<'a> {
    /// The `ClusterStack`, as `<namespace>/<name>`.
    pub stack: &'a str,
    /// The digest of the plan.
    pub plan: Digest,
    /// The version of stackflux.
    pub version: &'a str,
}

/// Returns the commit message for these changes.
#[must_use]
pub fn message(of: &Changes, origin: &Origin<'_>) -> Message {
    let mut parts: BTreeMap<&Part, Vec<&ObjectChange>> = BTreeMap::new();
    for object in &of.objects {
        parts.entry(&object.part).or_default().push(object);
    }
    for objects in parts.values_mut() {
        objects.sort_by_key(|object| object.change);
    }
    let (shared, clusters): (Vec<_>, Vec<_>) = parts.into_iter().partition(|(part, _)| part.is_shared());
    let (subject, mut text) = (subject(of, &clusters), String::new());
    let is_all = |objects: &[&ObjectChange], change| objects.iter().all(|object| object.change == change);
    let (added, clusters): (Vec<_>, Vec<_>) =
        clusters.into_iter().partition(|(_, objects)| is_all(objects, ChangeKind::Added));
    let (removed, changed): (Vec<_>, Vec<_>) =
        clusters.into_iter().partition(|(_, objects)| is_all(objects, ChangeKind::Removed));
    names(&mut text, "added", &added);
    names(&mut text, "removed", &removed);
    for (part, objects) in changed.iter().take(MAX_CLUSTERS).chain(&shared) {
        part_lines(&mut text, part, objects);
    }
    if let Some(more) = changed.len().checked_sub(MAX_CLUSTERS).filter(|more| *more > 0) {
        let _ = writeln!(text, "and {more} more clusters\n");
    }
    if let Some(withheld) = &of.withheld {
        let _ = writeln!(text, "{} removals wait: more would go at once than may\n", withheld.names.len());
    }
    let message = Message { subject, body: text, trailers: Vec::new() };
    let message = message.trailer(CLUSTER_STACK, origin.stack);
    message.trailer(PLAN_DIGEST, &origin.plan.to_string()).trailer(VERSION, origin.version)
}

type Changed<'a> = (&'a Part, Vec<&'a ObjectChange>);

/// Returns the subject: the number of clusters, and the release that their objects now come from.
fn subject(changes: &Changes, clusters: &[Changed<'_>]) -> String {
    let what = match clusters {
        [] => "what all clusters share".to_owned(),
        [(part, _)] => part.cluster().map_or_else(String::new, |cluster| format!("cluster {cluster}")),
        _ => format!("{} clusters", clusters.len()),
    };
    let there = changes.objects.iter().filter(|object| object.change != ChangeKind::Removed);
    let named = there.filter(|object| clusters.is_empty() || !object.part.is_shared());
    let releases: BTreeSet<&String> = named.filter_map(|object| object.release.as_ref()).collect();
    let releases: Vec<&String> = releases.into_iter().collect();
    match releases.as_slice() {
        [] => format!("stackflux: {what}"),
        [release] => format!("stackflux: {what}: {release}"),
        releases => format!("stackflux: {what}: {} releases", releases.len()),
    }
}

/// Lists clusters that are added or removed as a whole.
fn names(text: &mut String, verb: &str, clusters: &[Changed<'_>]) {
    for (part, objects) in clusters.iter().take(MAX_CLUSTERS) {
        let Some(cluster) = part.cluster() else { continue };
        let objects: Vec<&str> =
            objects.iter().take(MAX_OBJECTS).map(|change| change.object.as_str()).collect();
        line(text, &format!("cluster {cluster}: {verb} {}", objects.join(", ")));
    }
    if let Some(more) = clusters.len().checked_sub(MAX_CLUSTERS).filter(|more| *more > 0) {
        let _ = writeln!(text, "and {more} more clusters: {verb}");
    }
    if !clusters.is_empty() {
        text.push('\n');
    }
}

/// Lists the changed objects of a part.
fn part_lines(text: &mut String, part: &Part, objects: &[&ObjectChange]) {
    line(text, &part.cluster().map_or_else(|| part.to_string(), |cluster| format!("cluster {cluster}")));
    for object in objects.iter().take(MAX_OBJECTS) {
        let why = if object.why.is_empty() { String::new() } else { format!(": {}", object.why.join("; ")) };
        line(text, &format!("- {} {}{why}", object.change.as_str(), object.object));
    }
    if let Some(more) = objects.len().checked_sub(MAX_OBJECTS).filter(|more| *more > 0) {
        let _ = writeln!(text, "- and {more} more");
    }
    text.push('\n');
}

/// Writes a line, shortened, without control characters: charts and templates choose the keys of values.
fn line(text: &mut String, line: &str) {
    let plain = |character: char| if character.is_control() { ' ' } else { character };
    text.extend(shortened(line, MAX_LINE_CHARACTERS).chars().map(plain));
    text.push('\n');
}

#[cfg(test)]
mod tests;
