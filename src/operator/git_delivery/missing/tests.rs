use std::sync::Arc;

use super::*;
use crate::runtime::cache::Key;

fn id(name: &str) -> ObjectId {
    let (api_version, kind) = ("v1".to_owned(), "Namespace".to_owned());
    ObjectId { api_version, kind, namespace: String::new(), name: name.to_owned() }
}

fn one() -> Subject {
    Subject::Cluster(Key::new("demo", "one"))
}

/// Returns a plan with these objects.
fn plan(names: &[&str]) -> Plan {
    let mut plan = Plan::default();
    for name in names {
        plan.merge(Plan::of_namespace(name)).unwrap();
    }
    plan
}

#[test]
fn first_commit_without_an_applied_object_is_held() {
    let applied: Applied = [(id("ccm"), one()), (id("cni"), one())].into();
    let planned = |names: &[&str]| Batch::from([(one(), Change::Planned(Arc::new(plan(names))))]);
    let removal = (Subject::Object(id("cni"), Some(Key::new("demo", "one"))), Change::Gone);
    let with_removal: Batch = planned(&["ccm"]).into_iter().chain([removal]).collect();
    for (batch, names, is_held, why) in [
        (planned(&["ccm", "cni"]), vec!["ccm", "cni"], false, "all are planned"),
        (planned(&["ccm"]), vec!["ccm"], true, "one addon is held"),
        (Batch::new(), vec![], true, "the Cluster is paused"),
        (with_removal, vec!["ccm"], false, "the other is removed"),
        (Batch::from([(one(), Change::Gone)]), vec![], false, "the Cluster is deleted"),
    ] {
        let found = hold(&applied, &plan(&names), &batch, "branch main");
        assert_eq!(found.is_some(), is_held, "{why}: {found:?}");
    }
    let message = hold(&applied, &Plan::default(), &Batch::new(), "branch main").unwrap().message;
    assert!(message.contains("Namespace ccm") && message.contains("Cluster demo/one"), "{message}");
}

#[test]
fn first_commit_of_a_new_stack_is_not_held() {
    assert_eq!(hold(&Applied::new(), &Plan::default(), &Batch::new(), "branch main"), None);
}
