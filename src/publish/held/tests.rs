use super::*;
use crate::error::Classify as _;
use crate::publish::tests::NAME;

const STAGES: &str = "\
stages:
- {name: stage, path: stage/releases}
- {name: prod, path: prod/releases, after: stage}
- {name: other, path: stage/releases, branch: other}
";

fn holds(stage: &str) -> String {
    format!("holds:\n- {{release: {NAME}, stage: {stage}, reason: it leaks, commit: abc}}\n")
}

/// Returns the stage in which the release is held.
fn ask(holds: &str, stages: Option<&str>, directory: &str, branch: Option<&str>) -> Option<String> {
    let read = |file: &str| {
        let text = if file == "stackflux.holds.yaml" { Some(holds) } else { stages };
        Ok(text.map(|text| text.as_bytes().to_vec()))
    };
    let place = HoldScope { repository: "stacks", branch, directory };
    held(&NAME.parse().unwrap(), &place, read).unwrap().map(|hold| hold.stage)
}

#[test]
fn hold_applies_to_its_directory_and_branch_only() {
    let in_stage = |directory, branch| ask(&holds("stage"), Some(STAGES), directory, branch).is_some();
    assert!(in_stage("stage/releases", Some("main")) && in_stage("stage/releases", None));
    assert!(!in_stage("prod/releases", Some("main")) && !in_stage("releases", None));
    let in_other = |branch| ask(&holds("other"), Some(STAGES), "stage/releases", branch).is_some();
    assert!(in_other(Some("other")) && in_other(None) && !in_other(Some("main")));
}

#[test]
fn branch_without_stages_obeys_all_holds() {
    assert_eq!(ask(&holds("prod"), None, "releases", Some("production")).as_deref(), Some("prod"));
    let other = "holds: [{release: openstack-demo-1-34-v9, stage: prod, reason: x, commit: abc}]\n";
    assert_eq!(ask(other, None, "releases", Some("production")), None);
}

#[test]
fn unreadable_files_refuse_and_missing_hold_nothing() {
    let place = HoldScope { repository: "stacks", branch: None, directory: "releases" };
    let name = NAME.parse().unwrap();
    assert_eq!(held(&name, &place, |_| Ok(None)).unwrap(), None);
    for (holds, stages, expected) in [
        ("holds:\n- {release: x}\n", STAGES, "stacks: stackflux.holds.yaml:2: "),
        (
            holds("stag").as_str(),
            STAGES,
            "stacks: stackflux.holds.yaml:2: stackflux.yaml has no stage \"stag\"",
        ),
        (holds("stage").as_str(), "stage: []", "stacks: stackflux.yaml:1: "),
    ] {
        let read =
            |file: &str| Ok(Some(if file == "stackflux.yaml" { stages } else { holds }.as_bytes().to_vec()));
        let error = held(&name, &place, read).unwrap_err();
        assert!(error.to_string().starts_with(expected), "{error}");
        assert_eq!(error.reason(), "InvalidStackRepository");
    }
}
