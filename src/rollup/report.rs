//! Conditions without their type and time, and the verbs of Cluster API that derive conditions from others: *mirror* one
//! condition of another object, *summary* over the condition types of one object, *aggregate* one type over many objects
//! (`sigs.k8s.io/cluster-api/util/conditions`).
//!
//! All conditions here are good when true. False is an issue and comes before unknown, which comes before true.

use std::collections::BTreeMap;
use std::fmt::Display;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

pub use crate::api::conditions::ConditionStatus;
use crate::api::conditions::{ConditionType, Reason};

/// Maximum length of a condition's message, in characters: enough for Helm's messages, small enough for thousands of
/// objects.
const MAX_MESSAGE: usize = 1024;
/// Maximum number of reasons, and of names, that an aggregate lists.
const MAX_NAMED: usize = 3;

/// The content of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Issue, unknown or good.
    pub status: ConditionStatus,
    /// One `PascalCase` word.
    pub reason: String,
    /// One line for readers.
    pub message: String,
}

impl Report {
    /// Creates a report whose reason and message are valid for a condition, whatever they were: a reason that the API
    /// would refuse becomes `Unrecognized`, a message becomes one line of at most 1,024 characters.
    #[must_use]
    pub fn new(status: ConditionStatus, reason: &str, message: &str) -> Self {
        let reason = if is_reason(reason) { reason } else { Reason::Unrecognized.as_str() };
        Self { status, reason: reason.to_owned(), message: one_line(message) }
    }

    /// Creates the report before anything was observed: unknown, never true.
    #[must_use]
    pub fn not_yet_reported() -> Self {
        Self::new(ConditionStatus::Unknown, Reason::NotYetReported.as_str(), "not yet reported")
    }

    /// Whether the object only waits for others, which have the cause.
    fn waits_for_others(&self) -> bool {
        [Reason::WaitingForDependency, Reason::WaitingForStage].iter().any(|it| it.as_str() == self.reason)
    }

    /// Creates the condition of type `kind`, about `generation` of its object. `old` are the conditions of the object:
    /// the transition time changes only if the status does.
    #[must_use]
    pub fn condition(
        self,
        kind: ConditionType,
        generation: i64,
        old: &[Condition],
        now: Timestamp,
    ) -> Condition {
        let status = self.status.as_str();
        let same =
            old.iter().find(|condition| condition.type_ == kind.as_str() && condition.status == status);
        Condition {
            type_: kind.to_string(),
            status: status.to_owned(),
            reason: self.reason,
            message: self.message,
            observed_generation: Some(generation),
            last_transition_time: same.map_or(Time(now), |condition| condition.last_transition_time.clone()),
        }
    }
}

/// Returns the conditions with these reports, as [`Report::condition`] does for each.
pub(super) fn conditions(
    reports: impl IntoIterator<Item = (ConditionType, Report)>,
    generation: i64,
    old: &[Condition],
    now: Timestamp,
) -> Vec<Condition> {
    reports.into_iter().map(|(kind, report)| report.condition(kind, generation, old, now)).collect()
}

/// The condition `kind` of another object, unchanged. `source` are the conditions of that object, and `generation` its
/// generation: a condition about an older generation does not count.
#[must_use]
pub fn mirror(source: &[Condition], generation: i64, kind: &str) -> Report {
    let stale = |condition: &Condition| condition.observed_generation.is_some_and(|seen| seen < generation);
    let Some(condition) = source.iter().find(|condition| condition.type_ == kind && !stale(condition)) else {
        return Report::not_yet_reported();
    };
    Report::new(condition.status.clone().into(), &condition.reason, &condition.message)
}

/// Combines the parts of one object into one report, each with its name; a missing part is not yet reported.
///
/// The reason is that of the worst parts, `Several` if they have different ones. The message has every part that is not
/// good, the worst first, otherwise in the order given. Parts with one cause appear once, with at most three names. A part that
/// only waits for others has no cause of its own: it comes after the others of its status, and gives the reason only if there
/// are none.
/// `good` is the report if all are good (and if there are none).
#[must_use]
pub fn summary<Name: Display>(parts: &[(Name, Option<Report>)], good: (Reason, &str)) -> Report {
    let mut reports: Vec<(&Name, Report)> = parts
        .iter()
        .map(|(name, report)| (name, report.clone().unwrap_or_else(Report::not_yet_reported)))
        .collect();
    // A stable sort: parts of the same status keep their order.
    reports.sort_by_key(|(_, report)| (report.status, report.waits_for_others()));
    let Some((status, reason)) = worst(reports.iter().map(|(_, report)| report)) else {
        return Report::new(ConditionStatus::True, good.0.as_str(), good.1);
    };
    let mut causes: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, report) in reports.iter().filter(|(_, report)| report.status != ConditionStatus::True) {
        let cause = if report.message.is_empty() { &report.reason } else { &report.message };
        match causes.iter_mut().find(|(known, _)| known == cause) {
            Some((_, names)) => names.push(name.to_string()),
            None => causes.push((cause, vec![name.to_string()])),
        }
    }
    let messages: Vec<String> = causes
        .into_iter()
        .map(|(cause, names)| {
            let count = names.len();
            format!("{}: {cause}", with_rest(names.into_iter(), count, "others"))
        })
        .collect();
    Report::new(status, &reason, &messages.join("; "))
}

/// Combines one condition of many objects (`what`: their name in the plural) into one report, each with its name. The
/// message has counts, the worst and most frequent reasons first, and at most three names for each of three reasons.
#[must_use]
pub fn aggregate(what: &str, objects: &[(&str, Option<Report>)], good: Reason) -> Report {
    let missing = Report::not_yet_reported();
    let reports = objects.iter().map(|(name, report)| (*name, report.as_ref().unwrap_or(&missing)));
    let reports: Vec<(&str, &Report)> = reports.collect();
    let total = objects.len();
    let Some((status, reason, groups)) = aggregate_of(&reports) else {
        return Report::new(ConditionStatus::True, good.as_str(), &format!("{total} of {total} {what}"));
    };
    let ready = reports.iter().filter(|(_, report)| report.status == ConditionStatus::True).count();
    Report::new(status, &reason, &format!("{ready} of {total} {what}: {groups}"))
}

/// Returns the status and the reason of the worst of many objects, and all that are not good by their reasons: the
/// worst and most frequent first, at most three names for each of three reasons. `None` if all are good.
pub(super) fn aggregate_of(objects: &[(&str, &Report)]) -> Option<(ConditionStatus, String, String)> {
    let (status, reason) = worst(objects.iter().map(|(_, report)| *report))?;
    let mut names: BTreeMap<(ConditionStatus, &str), Vec<&str>> = BTreeMap::new();
    for (name, report) in objects {
        names.entry((report.status, &report.reason)).or_default().push(name);
    }
    let mut groups: Vec<_> =
        names.into_iter().filter(|((status, _), _)| *status != ConditionStatus::True).collect();
    groups.sort_by_key(|((status, _), names)| (*status, std::cmp::Reverse(names.len())));
    let texts = groups
        .iter()
        .map(|((_, reason), names)| format!("{} {reason} ({})", names.len(), first(names.clone())));
    Some((status, reason, with_rest(texts, groups.len(), "reasons")))
}

/// Returns the status and reason of the worst reports; `None` if all are good.
fn worst<'a>(reports: impl Iterator<Item = &'a Report> + Clone) -> Option<(ConditionStatus, String)> {
    let status = reports
        .clone()
        .map(|report| report.status)
        .min()
        .filter(|status| *status != ConditionStatus::True)?;
    let of_status = reports.filter(|report| report.status == status);
    let has_cause = of_status.clone().any(|report| !report.waits_for_others());
    let causes = of_status.filter(|report| !(has_cause && report.waits_for_others()));
    let mut reasons = causes.map(|report| report.reason.as_str());
    let reason = reasons.next()?;
    let reason = if reasons.all(|other| other == reason) { reason } else { Reason::Several.as_str() };
    Some((status, reason.to_owned()))
}

/// Lists the first names in alphabetical order, and the number of the others.
pub(super) fn first(mut names: Vec<&str>) -> String {
    names.sort_unstable();
    with_rest(names.iter().map(|name| (*name).to_owned()), names.len(), "others")
}

fn with_rest(items: impl Iterator<Item = String>, count: usize, what: &str) -> String {
    let named = items.take(MAX_NAMED).collect::<Vec<_>>().join(", ");
    match count.saturating_sub(MAX_NAMED) {
        0 => named,
        rest => format!("{named} and {rest} {what}"),
    }
}

/// Whether a text has the form of the reason of a condition (`metav1.Condition`, without its rarer `,` and `:`).
fn is_reason(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.len() <= 128
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(word)
        && !text.ends_with('_')
}

fn one_line(text: &str) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(MAX_MESSAGE) {
        line.truncate(end);
        line.pop();
        line.push('…');
    }
    line
}
