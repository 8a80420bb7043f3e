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
    let found = differences(&present);
    assert!(found.differs);
    let text = texts(&found);
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

#[test]
fn taken_source_holds_the_clusters_of_its_release() {
    let mut present = delivered();
    replace(&mut present, "GitRepository", V1);
    object(&mut present, "HelmRelease", "one.ccm")["spec"]["interval"] = json!("2h");
    let text = texts(&differences(&present));
    let line = format!("  held      all of it: AlreadyExists: GitRepository demo/{V1} exists already");
    assert!(text.contains(&line) && !text.contains("one.ccm"), "{text}");

    // Flux applies the objects from a repository: nothing is held.
    removals::deliver_by_git(&mut present);
    let text = texts(&differences(&present));
    assert!(text.contains(&format!("  changed   GitRepository demo/{V1}")), "{text}");
    assert!(!text.contains("held"), "{text}");
}

#[test]
fn taken_source_holds_no_other_release() {
    let mut present = delivered();
    let v2 = add_second_release(&mut present);
    let mut theirs = object(&mut present, "GitRepository", V1).clone();
    theirs["metadata"] = json!({"name": v2, "namespace": "demo", "uid": "theirs"});
    present.flux.push(theirs);
    object(&mut present, "HelmRelease", V1)["spec"]["interval"] = json!("2h");
    let text = texts(&differences(&present));
    assert!(text.contains(&format!("  held      GitRepository demo/{v2}: ")), "{text}");
    assert!(text.contains(&format!("  changed   HelmRelease demo/{V1}")), "{text}");
    assert!(!text.contains("created") && !text.contains("all of it"), "{text}");
}

#[test]
fn taken_catalog_does_not_hold_its_releases() {
    let mut present = delivered();
    replace(&mut present, "GitRepository", "docker-demo-1-34-catalog");
    object(&mut present, "HelmRelease", V1)["spec"]["interval"] = json!("2h");
    let text = texts(&differences(&present));
    assert!(text.contains("  held      GitRepository demo/docker-demo-1-34-catalog: "), "{text}");
    assert!(text.contains(&format!("  changed   HelmRelease demo/{V1}")), "{text}");
}

#[test]
fn source_of_another_namespace_holds_the_release() {
    let mut present = live();
    let stack = present.stacks.values_mut().next().unwrap();
    let source = json!({"gitRepositoryRef": {"name": "stacks", "namespace": "shared"}});
    stack.spec.source = serde_json::from_value(source).unwrap();
    present.flux.push(json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": {"name": "stacks", "namespace": "shared", "annotations": {labels::ALLOWED_NAMESPACES: "*"}},
        "spec": {"url": "https://git.example.org/stacks.git", "ref": {"branch": "main"}, "interval": "1m"},
    }));
    let (shared, _) = planned(&present);
    let source = shared.iter().find(|planned| planned.id.namespace == "shared").unwrap();
    let mut theirs = came_back(&source.value, &[]);
    theirs["spec"]["ref"]["commit"] = json!("0".repeat(40));
    let mut other = present.releases.values().next().unwrap().clone();
    other.metadata.namespace = Some("other".to_owned());
    let ObjectId { kind, namespace, name, .. } = &source.id;
    let kept = json!({"kind": kind, "namespace": namespace, "name": name, "specDigest": "sha256:1"});
    other.status.get_or_insert_default().objects.push(serde_json::from_value(kept).unwrap());
    present.releases.insert(Key::new("other", V1), other);
    assert!(texts(&differences(&present)).contains("created   GitRepository shared/"), "nobody has it");

    present.flux.push(theirs);
    let text = texts(&differences(&present));
    assert!(text.contains("  held      all of it: ") && text.contains("other"), "{text}");
    assert!(!text.contains("created") && !text.contains("changed"), "{text}");
}
