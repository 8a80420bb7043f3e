//! The report of a `ClusterStack` on the stack repository that it follows.

use std::fmt;

use super::*;
use crate::api::cluster_stack::FollowedSource;
use crate::error::{Class, Classify};
use crate::names::Key;

const READY: &str = "Ready=True Succeeded: stored artifact";

fn key() -> Key {
    Key::new("stacks", "demo")
}

fn fetched(commit: &str) -> FluxObject {
    let artifact = json!({"revision": format!("main@sha1:{commit}"), "url": "http://source/a.tar.gz"});
    let object = object(json!({"observedGeneration": 2, "artifact": artifact}), &[READY]);
    read(FluxKind::GitRepository, &object)
}

fn old(repository: &str) -> FollowedSource {
    FollowedSource {
        git_repository: repository.to_owned(),
        revision: Some("main@sha1:old".to_owned()),
        verdict: None,
        spec_digest: None,
        since: None,
    }
}

#[test]
fn followed_source_names_the_revision_that_was_read() {
    let (new, ours, dead) = (fetched(COMMIT), old("stacks/demo"), Pulse::Dead { since: written_at() });
    let dead = Moment { applier: Applier { name: "source-controller", pulse: dead }, ..soon() };
    let (read, before) = (format!("main@sha1:{COMMIT}"), "main@sha1:old".to_owned());
    let another = old("stacks/another");
    for (what, found, old, is_read, moment, revision, reason) in [
        ("read", Some(&new), Some(&ours), true, soon(), Some(&read), Some("Fetched")),
        ("not read", Some(&new), Some(&ours), false, soon(), Some(&before), Some("Fetched")),
        ("not read before", Some(&new), None, false, soon(), None, Some("Fetched")),
        ("another repository before", Some(&new), Some(&another), false, soon(), None, Some("Fetched")),
        ("missing", None, Some(&ours), false, soon(), Some(&before), None),
        ("silent controller", Some(&new), None, true, dead, Some(&read), Some("ApplierUnavailable")),
    ] {
        let expected = None;
        let facts = SourceFacts { key: key(), found, is_ours: false, expected, old, is_read, moment };
        let (source, verdict) = followed_source(facts);
        assert_eq!(source.git_repository, "stacks/demo", "{what}");
        assert_eq!(source.revision.as_ref(), revision, "{what}");
        assert_eq!(verdict.map(|verdict| verdict.report().reason).as_deref(), reason, "{what}");
    }
}

#[test]
fn source_of_stackflux_is_expected_as_it_was_written() {
    let (found, moment) = (fetched(COMMIT), soon());
    let ours = found.spec_digest.clone();
    for (is_ours, expected, digest) in [
        (true, Some(ours.clone()), Some(&ours)),
        (true, None, None),
        // A GitRepository of another owner is as that owner planned it.
        (false, None, Some(&ours)),
    ] {
        let found = Some(&found);
        let facts = SourceFacts { key: key(), found, is_ours, expected, old: None, is_read: true, moment };
        let (source, verdict) = followed_source(facts);
        assert_eq!(source.spec_digest, digest.map(ToString::to_string), "{is_ours}");
        assert_eq!(verdict.is_some(), digest.is_some(), "{is_ours}");
    }
}

/// An error of a class.
#[derive(Debug)]
struct Unreadable(Class);

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unreadable")
    }
}

impl Classify for Unreadable {
    fn class(&self) -> Class {
        self.0
    }

    fn reason(&self) -> &'static str {
        "Unreadable"
    }
}

#[test]
fn source_is_ready_once_fetched_and_read() {
    let progressing = progressing("fetching");
    let (terminal, transient) = (Unreadable(Class::Terminal), Unreadable(Class::Transient));
    for (verdict, error, status, reason) in [
        (None, None, ConditionStatus::Unknown, "NotYetReported"),
        (None, Some(&terminal), ConditionStatus::Unknown, "NotYetReported"),
        (Some(&Verdict::Fetched), None, ConditionStatus::True, "Fetched"),
        (Some(&Verdict::Fetched), Some(&terminal), ConditionStatus::False, "Unreadable"),
        (Some(&Verdict::Fetched), Some(&transient), ConditionStatus::Unknown, "Unreadable"),
        // Flux's report takes precedence.
        (Some(&progressing), Some(&terminal), ConditionStatus::Unknown, "Progressing"),
    ] {
        let report = source_ready(verdict, error);
        assert_eq!((report.status, report.reason.as_str()), (status, reason), "{verdict:?} {error:?}");
    }
}
