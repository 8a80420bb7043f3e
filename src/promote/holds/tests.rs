use super::Holds;
use crate::names::ReleaseName;
use crate::promote::stages::Stages;

fn release(version: u8) -> ReleaseName {
    format!("openstack-scs-1-32-v{version}").parse().unwrap()
}

const COMMIT: &str = "0123456789012345678901234567890123456789";

#[test]
fn hold_is_written_read_found_and_lifted() {
    let reason = "CSI lost volumes: [yes]\n# not a comment\r\nrelease: x";
    let holds =
        Holds::default().with(&release(2), "prod", reason, COMMIT).with(&release(1), "stage", "", COMMIT);
    let text = holds.to_yaml().unwrap();
    assert_eq!(Holds::parse(Some(text.as_bytes()), None).unwrap(), holds, "{text}");
    let hold = holds.on(&release(2), "prod").unwrap();
    assert_eq!(hold.reason, "CSI lost volumes: [yes] # not a comment release: x");
    assert!(holds.on(&release(2), "stage").is_none() && holds.on(&release(3), "prod").is_none());

    let lifted = holds.without(&release(2), "prod");
    assert!(lifted.on(&release(2), "prod").is_none() && lifted.on(&release(1), "stage").is_some());
    assert_eq!(lifted.without(&release(1), "stage").to_yaml(), None);
}

#[test]
fn second_hold_replaces_the_first() {
    let holds =
        Holds::default().with(&release(2), "prod", "one", COMMIT).with(&release(2), "prod", "two", COMMIT);
    assert_eq!(holds.on(&release(2), "prod").unwrap().reason, "two");
    assert_eq!(holds.to_yaml().unwrap().matches("release:").count(), 1);
}

#[test]
fn hold_without_effect_is_refused_with_its_line() {
    let stages =
        Stages::parse("stackflux.yaml", b"stages: [{name: stage}, {name: prod, path: p}]", None).unwrap();
    let hold = |release: &str, stage: &str| {
        format!("  - release: {release}\n    stage: {stage}\n    reason: x\n    commit: {COMMIT}\n")
    };
    let both =
        format!("holds:\n{}{}", hold("openstack-scs-1-32-v2", "prod"), hold("openstack-scs-1-32-v2", "prd"));
    assert!(Holds::parse(Some(both.as_bytes()), None).is_ok(), "without stages it is not known");
    let problems = Holds::parse(Some(both.as_bytes()), Some(&stages)).unwrap_err().to_string();
    let expected = "stackflux.holds.yaml:6: stackflux.yaml has no stage \"prd\"; it has stage, prod\n  6 |   - release: ";
    assert!(problems.starts_with(expected), "{problems}");
    let release = format!("holds:\n{}", hold("nothing", "prod"));
    let problems = Holds::parse(Some(release.as_bytes()), Some(&stages)).unwrap_err().to_string();
    assert!(problems.starts_with("stackflux.holds.yaml:2: "), "{problems}");
}

#[test]
fn missing_file_is_empty_and_other_file_is_refused() {
    assert_eq!(Holds::parse(None, None).unwrap(), Holds::default());
    for text in [
        "",
        "holds:\n- release: openstack-scs-1-32-v2\n  stage: prod\n  commit: 0123\n",
        "holds:\n- {release: nothing, stage: prod, reason: x, commit: 0123}\n",
        "holds:\n- {release: openstack-scs-1-32-v2, stage: prod, reason: x, commit: [a]}\n",
        "hold: []\n",
    ] {
        let problems = Holds::parse(Some(text.as_bytes()), None).unwrap_err();
        assert!(problems.to_string().starts_with("stackflux.holds.yaml:"), "{problems}");
    }
}
