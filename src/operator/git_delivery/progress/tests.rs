use super::*;
use crate::git::tests::tree_id;

const OURS: &str = "1111111111111111111111111111111111111111";
const OTHER: &str = "2222222222222222222222222222222222222222";

fn fetched(commit: &str) -> Fetched {
    [(Key::new("flux-system", "fleet"), format!("main@sha1:{commit}"))].into()
}

fn seen(commit: &str, tree: Option<char>) -> Seen {
    let tree = tree.map(tree_id);
    Seen { commit: commit.parse().unwrap(), tree }
}

#[test]
fn other_fetched_revision_needs_a_pass() {
    let at = |fetched| Progress { commit: Some(OURS.to_owned()), fetched, ..Progress::default() };
    for (before, now, expected, why) in [
        (fetched(OTHER), fetched(OURS), false, "Flux fetched the commit"),
        (fetched(OURS), fetched(OURS), false, "nothing changed"),
        (fetched(OTHER), fetched(OTHER), false, "Flux has not fetched the commit yet"),
        (fetched(OURS), fetched(OTHER), true, "a later commit, or the branch lost the commit"),
        (Fetched::new(), fetched(OTHER), true, "the repository was not known"),
        (fetched(OURS), Fetched::new(), false, "Flux fetches the branch no longer"),
    ] {
        assert_eq!(at(before).has_new_revision(&now), expected, "{why}");
    }
}

#[test]
fn branch_loses_a_commit_with_its_files() {
    let ours = seen(OURS, Some('a'));
    for (before, base, is_contained, expected, why) in [
        (Some(&ours), Some(&seen(OTHER, Some('b'))), false, true, "an earlier commit"),
        (Some(&ours), Some(&seen(OTHER, None)), false, true, "a commit without the directory"),
        (Some(&ours), None, false, true, "the branch was deleted"),
        (Some(&ours), Some(&seen(OTHER, Some('b'))), true, false, "a commit on top edits a file"),
        (Some(&ours), Some(&seen(OTHER, Some('a'))), false, false, "rewritten history with the same files"),
        (Some(&ours), Some(&ours), true, false, "nothing changed"),
        (None, Some(&ours), false, false, "the first pass"),
    ] {
        let lost = lost_commit(before, base, is_contained);
        assert_eq!(lost.is_some(), expected, "{why}");
        assert!(lost.is_none_or(|lost| lost.to_string() == OURS));
    }
}

#[test]
fn lost_commit_is_reported_before_anything_else_is_said_of_it() {
    let progress = Progress {
        commit: Some(OTHER.to_owned()),
        kustomizations: [(Key::new("flux-system", "fleet"), Some(format!("main@sha1:{OTHER}")))].into(),
        lost: Some(OURS.parse().unwrap()),
        place: Place { branch: "main".to_owned(), ..Place::default() },
        ..Progress::default()
    };
    let report = progress.report(3, &["stacks/one".to_owned()]);
    assert_eq!((report.status, report.reason.as_str()), (ConditionStatus::Unknown, "CommitLost"));
    let expected = format!("branch main does not contain commit {OURS} now");
    assert!(report.message.starts_with(&expected) && report.message.ends_with("commits everything again"));
}
