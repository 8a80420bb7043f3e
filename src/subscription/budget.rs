//! The hourly budget for deletions of unneeded objects: after a mistake, few objects are deleted before a user notices.

use std::fmt::Display;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::api::cluster_stack::Pruned;
use crate::release::Digest;

/// Time for which the deletions of one budget are counted.
const HOUR: SignedDuration = SignedDuration::from_hours(1);

/// Returns the number of objects that may be deleted in an hour: a tenth of all, and at least one.
#[must_use]
pub fn allowance(total: usize) -> usize {
    (total / 10).max(1)
}

/// Returns the number of objects that may still be deleted now. `pruned` are the deletions that statuses report.
#[must_use]
pub fn left<'a>(pruned: impl IntoIterator<Item = &'a Pruned>, total: usize, now: Timestamp) -> usize {
    let present = pruned.into_iter().filter_map(|pruned| present(Some(pruned), now));
    let gone = present.map(|pruned| usize::try_from(pruned.count).unwrap_or(usize::MAX));
    allowance(total).saturating_sub(gone.fold(0, usize::saturating_add))
}

/// Returns the time at which some deletions are no longer counted.
#[must_use]
pub fn refilled<'a>(pruned: impl IntoIterator<Item = &'a Pruned>, now: Timestamp) -> Option<Timestamp> {
    let present = pruned.into_iter().filter_map(|pruned| present(Some(pruned), now));
    present.filter_map(|pruned| pruned.since.0.checked_add(HOUR).ok()).min()
}

/// Returns the status after one more deletion.
#[must_use]
pub fn spent(pruned: Option<&Pruned>, now: Timestamp) -> Pruned {
    match present(pruned, now) {
        Some(pruned) => Pruned { since: pruned.since.clone(), count: pruned.count.saturating_add(1) },
        // A status has whole seconds: with a part of one, a count in memory would differ from its status.
        None => Pruned { since: Time(Timestamp::from_second(now.as_second()).unwrap_or(now)), count: 1 },
    }
}

/// Returns the spent part of a budget: the larger of its status and a reservation, which precedes the status.
#[must_use]
pub fn known<'a>(status: Option<&'a Pruned>, reserved: Option<&'a Pruned>) -> Option<&'a Pruned> {
    status.into_iter().chain(reserved).max_by_key(|pruned| (pruned.since.0, pruned.count))
}

/// Returns the deletions that only the count of the whole budget, `sum`, still has: the statuses that recorded them are lost.
/// `pruned` are the deletions that statuses report.
#[must_use]
pub fn lost<'a>(
    pruned: impl IntoIterator<Item = &'a Pruned>,
    sum: Option<&Pruned>,
    now: Timestamp,
) -> Option<Pruned> {
    let sum = present(sum, now)?;
    let known = count(pruned.into_iter().filter(|pruned| is_counted(pruned, now)));
    let count = sum.count.saturating_sub(known);
    (count > 0).then(|| Pruned { since: sum.since.clone(), count })
}

/// Returns the count of the whole budget. `sum` is the one so far, which lacks deletions if the process ended before it was
/// written; `pruned` are the deletions that statuses report. After its hour, `sum` stays until the next deletion.
#[must_use]
pub fn summed<'a>(
    sum: Option<&Pruned>,
    pruned: impl IntoIterator<Item = &'a Pruned>,
    now: Timestamp,
) -> Option<Pruned> {
    let current = present(sum, now);
    // The deletions of an earlier hour were counted in it.
    let is_in_hour = |pruned: &&Pruned| match (current, sum) {
        (Some(current), _) => pruned.since.0 >= current.since.0,
        (None, Some(before)) => !is_counted(before, pruned.since.0),
        (None, None) => true,
    };
    let present = pruned.into_iter().filter(|pruned| is_counted(pruned, now));
    let present: Vec<&Pruned> = present.filter(is_in_hour).collect();
    let first = present.iter().map(|pruned| pruned.since.0).min();
    let Some(since) = current.map(|sum| sum.since.0).or(first) else { return sum.cloned() };
    let count = count(present.into_iter()).max(current.map_or(0, |sum| sum.count));
    Some(Pruned { since: Time(since), count })
}

fn count<'a>(pruned: impl Iterator<Item = &'a Pruned>) -> u32 {
    pruned.fold(0, |sum, pruned| sum.saturating_add(pruned.count))
}

/// Describes the size of a budget and the time of the next deletion. `pruned` are earlier deletions, `what` names the
/// objects of the budget.
#[must_use]
pub fn in_words<'a>(
    pruned: impl IntoIterator<Item = &'a Pruned> + Clone,
    (total, what): (usize, &str),
    now: Timestamp,
) -> String {
    let allowance = allowance(total);
    let next = refilled(pruned, now).and_then(|next| Timestamp::from_second(next.as_second()).ok());
    let next = next.map(|next| format!(", the next at {next}")).unwrap_or_default();
    format!("{allowance} of {total} {what} may be deleted per hour{next}")
}

/// Returns the deletions of the present hour.
fn present(pruned: Option<&Pruned>, now: Timestamp) -> Option<&Pruned> {
    pruned.filter(|pruned| is_counted(pruned, now))
}

/// Whether a budget still counts some deletions.
#[must_use]
pub fn is_counted(pruned: &Pruned, now: Timestamp) -> bool {
    now.duration_since(pruned.since.0) < HOUR
}

/// Returns the name of a set of deletions, with which a user can allow all of them at once.
#[must_use]
pub fn deletions(names: impl IntoIterator<Item: Display>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| name.to_string()).collect();
    Digest::of_bytes(names.join("\n").as_bytes()).short()
}

/// Whether a user allows these deletions beyond the budget. `annotation` is the value of
/// [`PRUNE`](crate::api::labels::PRUNE): one or more names of deletions, separated by commas.
#[must_use]
pub fn allows(annotation: Option<&str>, deletions: &str) -> bool {
    annotation.is_some_and(|allowed| allowed.split(',').any(|allowed| allowed.trim() == deletions))
}
