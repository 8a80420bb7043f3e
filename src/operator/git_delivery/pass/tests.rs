//! Tests of the decision about a pass, and of its report.

use jiff::SignedDuration;
use serde_json::json;

use super::super::pending_commits::Change;
use super::super::progress::Seen;
use super::*;

const NOW: &str = "2026-11-23T02:00:00Z";

fn git(branch: &str) -> GitDelivery {
    let url = "https://git.example.org/fleet.git";
    serde_json::from_value(json!({"url": url, "branch": branch, "path": "fleet"})).unwrap()
}

fn kustomizations(revision: &str) -> Kustomizations {
    [(Key::new("flux-system", "fleet"), Some(revision.to_owned()))].into()
}

/// Returns the result of a pass that many seconds ago, after Flux had applied `a`.
fn progress(seconds: i64) -> Progress {
    let now: Timestamp = NOW.parse().unwrap();
    Progress {
        kustomizations: kustomizations("a"),
        looked: Some(now - SignedDuration::from_secs(seconds)),
        place: Place::of(&git("main")),
        commit: Some("a".to_owned()),
        ..Progress::default()
    }
}

/// Formats the decision of a pass for `main`, whose batch has this many changes.
fn decided(git: Option<&GitDelivery>, may_write: bool, before: Option<Progress>, changes: usize) -> String {
    let change = |number: usize| (Subject::Release(number.to_string()), Change::Gone);
    let facts = Facts {
        now: NOW.parse().unwrap(),
        key: &Key::new("stacks", "demo"),
        git,
        may_write,
        before,
        batch: (0..changes).map(change).collect(),
        kustomizations: kustomizations("a"),
        fetched: [(Key::new("flux-system", "fleet"), "main@sha1:a".to_owned())].into(),
        applied: Applied::new(),
    };
    match decide(&facts) {
        Pass::Forget => "forget".to_owned(),
        Pass::Wait { next: Next::After(delay), .. } => format!("wait {} s", delay.as_secs()),
        Pass::Wait { next, .. } => format!("wait {next:?}"),
        Pass::Commit { before, is_moved, .. } => {
            assert_eq!(before.place, Place::of(git.unwrap()));
            format!("commit, moved {is_moved}, looked {}", before.looked.is_some())
        }
    }
}

#[test]
fn pass_commits_what_is_requested_or_checks_branch() {
    let (main, other) = (git("main"), git("other"));
    let held = |seconds| {
        let hold = Hold { reason: Reason::FileEdited, message: "edited".to_owned() };
        Progress { hold: Some(hold), ..progress(seconds) }
    };
    let lagging = || Progress { lagging: Some(Key::new("flux-system", "fleet")), ..progress(10) };
    let elsewhere = || Progress { commit: Some("b".to_owned()), ..progress(10) };
    let applied = || Progress { kustomizations: kustomizations("b"), ..progress(10) };
    for (what, git, may_write, before, changes, expected) in [
        ("without Git", None, true, Some(progress(10)), 1, "forget"),
        ("without Git, suspended", None, false, None, 0, "forget"),
        ("suspended or not the leader", Some(&main), false, None, 1, "wait Await"),
        ("suspended after a change of the branch", Some(&other), false, Some(progress(10)), 1, "wait Await"),
        ("the first pass", Some(&main), true, None, 0, "commit, moved false, looked false"),
        ("another branch", Some(&other), true, Some(progress(10)), 0, "commit, moved true, looked false"),
        ("a request", Some(&main), true, Some(progress(10)), 1, "commit, moved false, looked true"),
        ("nothing", Some(&main), true, Some(progress(299)), 0, "wait 300 s"),
        (
            "nothing since the interval",
            Some(&main),
            true,
            Some(progress(300)),
            0,
            "commit, moved false, looked true",
        ),
        ("Flux is behind", Some(&main), true, Some(lagging()), 0, "wait 3 s"),
        (
            "Flux applied a revision",
            Some(&main),
            true,
            Some(applied()),
            0,
            "commit, moved false, looked true",
        ),
        (
            "Flux fetched a revision",
            Some(&main),
            true,
            Some(elsewhere()),
            0,
            "commit, moved false, looked true",
        ),
        ("a held change", Some(&main), true, Some(held(10)), 0, "commit, moved false, looked true"),
    ] {
        assert_eq!(decided(git, may_write, before, changes), expected, "{what}");
    }
}

#[test]
fn branch_at_the_revision_before_the_commit_is_checked() {
    let fetched = |revision: &str| -> Fetched {
        [(Key::new("flux-system", "fleet"), format!("main@sha1:{revision}"))].into()
    };
    let (key, main) = (Key::new("stacks", "demo"), git("main"));
    let decide_with = |before: Progress, revision| {
        let facts = Facts {
            now: NOW.parse().unwrap(),
            key: &key,
            git: Some(&main),
            may_write: true,
            before: Some(before),
            batch: Batch::new(),
            kustomizations: kustomizations("a"),
            fetched: fetched(revision),
            applied: Applied::new(),
        };
        match decide(&facts) {
            Pass::Wait { progress, .. } => progress,
            _ => None,
        }
    };
    let before = Progress { fetched: fetched("earlier"), ..progress(10) };
    let noted = decide_with(before, "a").unwrap();
    assert_eq!(noted.fetched, fetched("a"), "Flux fetched the commit of the pass");
    assert_eq!(decide_with(*noted, "earlier"), None, "the branch lost the commit before Flux applied it");
}

/// Returns the result of a comparison of the branch that holds this change.
fn done(held: Option<&Subject>) -> Done {
    let why = Hold { reason: Reason::FileEdited, message: "edited".to_owned() };
    Done {
        pushed: None,
        proposed: None,
        seen: Some(Seen { commit: COMMIT.parse().unwrap(), tree: None }),
        is_changed_by_others: false,
        lost: None,
        lagging: None,
        held: held.map(|subject| (subject.clone(), why)).into_iter().collect(),
    }
}

const COMMIT: &str = "1111111111111111111111111111111111111111";
const LOST: &str = "2222222222222222222222222222222222222222";

/// Formats the report of a pass for `main` after the last one for `before`, whose batch has this many changes.
fn reported(
    (git, before): (Option<&GitDelivery>, Option<Progress>),
    changes: usize,
    committed: Committed,
) -> String {
    let change = |number: usize| (Subject::Release(number.to_string()), Change::Gone);
    let facts = Facts {
        now: NOW.parse().unwrap(),
        key: &Key::new("stacks", "demo"),
        git,
        may_write: true,
        before,
        batch: (0..changes).map(change).collect(),
        kustomizations: kustomizations("a"),
        fetched: Fetched::new(),
        applied: Applied::new(),
    };
    let Outcome { progress, held, is_changed_by_others, next } = roll_up(&facts, &decide(&facts), committed);
    let now = Some(facts.now);
    let progress = progress.map(|progress| {
        let commit = progress.commit.map(|commit| commit.chars().take(1).collect::<String>());
        let lost = if progress.lost.is_some() { ", lost" } else { "" };
        let hold = progress.hold.map(|hold| format!(", {}", hold.reason)).unwrap_or_default();
        let looked = if progress.looked == now { ", looked now" } else { "" };
        format!("commit {}{lost}{hold}{looked}", commit.unwrap_or_default())
    });
    let held = held.map(|held| format!("{} of {changes} held", held.len()));
    let again = if is_changed_by_others { "; everything again" } else { "" };
    let (progress, held) = (progress.as_deref().unwrap_or("-"), held.as_deref().unwrap_or("-"));
    format!("{progress}; {held}{again}; {next:?}")
}

#[test]
fn report_of_a_pass_tells_what_is_committed() {
    let (main, other, first) = (git("main"), git("other"), Subject::Release("0".to_owned()));
    let without_commit = || Progress { lost: Some(LOST.parse().unwrap()), ..progress(600) };
    let (known, lost) = (|| (Some(&main), Some(progress(600))), || (Some(&main), Some(without_commit())));
    let done = |change: &dyn Fn(&mut Done)| {
        let mut done = done(None);
        change(&mut done);
        Committed::Done(Box::new(done))
    };
    let held_one = || self::done(Some(&first));
    let kept = || done(&|_| {});
    let failed = || Committed::Failed(Hold { reason: Reason::PushFailed, message: "no route".to_owned() });
    let later = |seconds| Next::After(Duration::from_secs(seconds));
    for (what, before, changes, committed, expected, next) in [
        ("without Git", (None, Some(progress(600))), 0, Committed::Nothing, "-; -", Next::Await),
        ("the clone is in use", known(), 1, Committed::Nothing, "commit a; -", later(1)),
        ("the push failed", known(), 2, failed(), "commit a, PushFailed; 2 of 2 held", Next::Retry),
        (
            "the first push to another branch failed",
            (Some(&other), Some(progress(600))),
            1,
            failed(),
            "commit , PushFailed; 1 of 1 held",
            Next::Retry,
        ),
        ("all is committed", known(), 1, kept(), "commit 1, looked now; 0 of 1 held", later(300)),
        (
            "Flux is behind",
            known(),
            1,
            done(&|done| done.lagging = Some(Key::new("flux-system", "fleet"))),
            "commit 1, looked now; 0 of 1 held",
            later(3),
        ),
        (
            "one of two is held",
            known(),
            2,
            Committed::Done(Box::new(held_one())),
            "commit 1, FileEdited, looked now; 1 of 2 held",
            later(60),
        ),
        (
            "another author changed files",
            known(),
            0,
            done(&|done| done.is_changed_by_others = true),
            "commit 1, looked now; 0 of 0 held; everything again",
            later(300),
        ),
        (
            "the branch lost the commit",
            known(),
            0,
            done(&|done| done.lost = Some(LOST.parse().unwrap())),
            "commit 1, lost, looked now; 0 of 0 held",
            later(300),
        ),
        (
            "nothing was requested since the loss",
            lost(),
            0,
            kept(),
            "commit 1, lost, looked now; 0 of 0 held",
            later(300),
        ),
        (
            "the first requests since the loss",
            lost(),
            1,
            kept(),
            "commit 1, looked now; 0 of 1 held",
            later(300),
        ),
        (
            "the loss of another branch",
            (Some(&other), lost().1),
            0,
            kept(),
            "commit 1, looked now; 0 of 0 held",
            later(300),
        ),
    ] {
        assert_eq!(reported(before, changes, committed), format!("{expected}; {next:?}"), "{what}");
    }
}
