//! Tests of objects of other clients that have the names of planned ones.

use super::*;

/// Puts an object of a user in the place of a delivered one.
fn replace(present: &mut Present, kind: &str, name: &str) {
    let object = object(present, kind, name);
    object["metadata"] = json!({"name": name, "namespace": "demo", "uid": "theirs"});
    object["spec"] = json!({"interval": "1h"});
}

#[test]
fn object_of_another_client_is_shown_as_held() {
    let mut present = delivered();
    replace(&mut present, "HelmRelease", "one.ccm");
    replace(&mut present, "HelmRelease", V1);
    let plans = differences(&present);
    assert!(plans.differ());
    let text = texts(&plans);
    for name in ["one.ccm", V1] {
        let line = format!("  held      HelmRelease demo/{name}: an object of another client has this name");
        assert!(text.contains(&line), "no {line:?} in\n{text}");
    }
    assert!(!text.contains("changed") && !text.contains("interval"), "{text}");
}

#[test]
fn taken_source_holds_what_depends_on_it() {
    let mut present = delivered();
    replace(&mut present, "GitRepository", V1);
    object(&mut present, "HelmRelease", V1)["spec"]["interval"] = json!("2h");
    let text = texts(&differences(&present));
    let line =
        format!("  held      GitRepository demo/{V1}: an object of another client has this name; delete it");
    assert!(text.contains(&line) && !text.contains("changed"), "{text}");
}
