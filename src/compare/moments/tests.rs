//! What stages uninstall on the way from one release to another.

use crate::compare::plans::compare;
use crate::plan::tests::fixture::Fixture;
use crate::release::{Action, Hook, Stage};

#[test]
fn stages_that_uninstall_are_reported() {
    let stage = |(action, addon): (Action, &str)| Stage { action, addon: addon.parse().unwrap() };
    let (apply, delete) = (Action::Apply, Action::Delete);
    let helper = vec![(apply, "policies"), (delete, "policies")];
    let cases = [
        ("a helper of the upgrade", helper.clone(), ["policies", ""]),
        ("an addon that is replaced", vec![(delete, "ccm"), (apply, "ccm")], ["", "ccm"]),
        ("an addon that is gone is a removal of the plan", vec![(delete, "ccm")], ["", ""]),
        ("nothing is deleted", vec![(apply, "ccm")], ["", ""]),
    ];
    let fixture = Fixture::new();
    let cluster = fixture.inputs("one", "v1");
    for (why, list, expected) in cases {
        let mut to = fixture.release("v2");
        to.stages.insert(Hook::BeforeClusterUpgrade, list.into_iter().map(stage).collect());
        let plans = compare(&fixture.stack, &fixture.release("v1"), &to, std::slice::from_ref(&cluster));
        let found = plans.unwrap().clusters.remove(0).on_the_way;
        assert_eq!([found.temporary.join(" "), found.reinstalled.join(" ")], expected, "{why}");
    }
    let mut same = fixture.release("v1");
    same.stages.insert(Hook::BeforeClusterUpgrade, helper.into_iter().map(stage).collect());
    let plans = compare(&fixture.stack, &same, &same, std::slice::from_ref(&cluster)).unwrap();
    assert!(plans.clusters[0].on_the_way.is_empty(), "a Cluster that stays runs no stages");
}
