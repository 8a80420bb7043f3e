//! Each requested change is committed once, and its requesters are enqueued.

use super::*;
use crate::api::Reason;

fn key(name: &str) -> Key {
    Key::new("stacks", name)
}

fn asker(name: &str) -> Asker {
    (Queue::Cluster, key(name))
}

fn hold(message: &str) -> Hold {
    Hold { reason: Reason::DeliveryFailed, message: message.to_owned() }
}

/// Returns a unique plan.
fn plan(name: &str) -> Change {
    Change::Planned(Arc::new(Plan::of_namespace(name)))
}

fn object(name: &str) -> Unit {
    let id = ObjectId {
        api_version: "v1".to_owned(),
        kind: "Namespace".to_owned(),
        namespace: String::new(),
        name: name.to_owned(),
    };
    Unit::Object(id, None)
}

const NOTHING_HELD: BTreeMap<Unit, Hold> = BTreeMap::new();

#[test]
fn what_is_committed_is_not_wanted_again() {
    let (outbox, stack) = (Outbox::default(), key("demo"));
    assert_eq!(outbox.want(&stack, Unit::Source, plan("a"), asker("one")), Standing::Pending);
    assert_eq!(outbox.want(&stack, Unit::Source, plan("a"), asker("two")), Standing::Pending);
    let batch = outbox.wanted(&stack);
    assert_eq!(batch.len(), 1);
    let told = outbox.settle(&stack, &batch, &NOTHING_HELD);
    assert_eq!(told, BTreeSet::from([asker("one"), asker("two")]));
    assert_eq!(outbox.want(&stack, Unit::Source, plan("a"), asker("one")), Standing::Committed);
    assert!(outbox.wanted(&stack).is_empty());
    assert_eq!(outbox.want(&stack, Unit::Source, plan("b"), asker("one")), Standing::Pending);
    assert_eq!(
        outbox.want(&stack, Unit::Source, plan("a"), asker("one")),
        Standing::Pending,
        "b replaced it"
    );
}

#[test]
fn what_is_wanted_otherwise_during_a_pass_stays_wanted() {
    let (outbox, stack) = (Outbox::default(), key("demo"));
    outbox.want(&stack, Unit::Source, plan("a"), asker("one"));
    let batch = outbox.wanted(&stack);
    outbox.want(&stack, Unit::Source, plan("b"), asker("one"));
    assert!(outbox.settle(&stack, &batch, &NOTHING_HELD).is_empty());
    assert_eq!(outbox.wanted(&stack), Batch::from([(Unit::Source, plan("b"))]));
}

#[test]
fn what_is_held_is_told_once_and_tried_again() {
    let (outbox, stack) = (Outbox::default(), key("demo"));
    let cluster = Unit::Cluster(key("one"));
    outbox.want(&stack, cluster.clone(), plan("a"), asker("one"));
    outbox.want(&stack, Unit::Source, plan("s"), asker("stack"));
    let held = BTreeMap::from([(cluster.clone(), hold("edited"))]);
    let batch = outbox.wanted(&stack);
    assert_eq!(outbox.settle(&stack, &batch, &held), BTreeSet::from([asker("one"), asker("stack")]));
    assert_eq!(outbox.outstanding(&stack), 1);
    let standing = outbox.want(&stack, cluster.clone(), plan("a"), asker("one"));
    assert_eq!(standing, Standing::Held(hold("edited")));
    let batch = outbox.wanted(&stack);
    assert_eq!(batch.keys().collect::<Vec<_>>(), [&cluster]);
    assert!(outbox.settle(&stack, &batch, &held).is_empty(), "it is no news");
    assert_eq!(outbox.settle(&stack, &batch, &NOTHING_HELD), BTreeSet::from([asker("one")]));
}

#[test]
fn an_object_that_went_and_is_planned_again_can_go_again() {
    let (outbox, stack, unit) = (Outbox::default(), key("demo"), object("helm"));
    outbox.want(&stack, unit.clone(), Change::Gone, asker("one"));
    outbox.settle(&stack, &outbox.wanted(&stack), &NOTHING_HELD);
    assert_eq!(outbox.want(&stack, unit.clone(), Change::Gone, asker("one")), Standing::Committed);
    outbox.want(&stack, Unit::Release("r".to_owned()), plan("helm"), asker("one"));
    assert_eq!(outbox.want(&stack, unit, Change::Gone, asker("one")), Standing::Pending);
}

#[test]
fn object_that_goes_is_known_until_it_is_planned_again() {
    let (outbox, stack) = (Outbox::default(), key("stack"));
    let unit = object("one");
    assert!(!outbox.is_gone(&stack, &unit));
    outbox.want(&stack, unit.clone(), Change::Gone, asker("a"));
    assert!(outbox.is_gone(&stack, &unit), "wanted");
    let batch = outbox.wanted(&stack);
    outbox.settle(&stack, &batch, &BTreeMap::new());
    assert!(outbox.is_gone(&stack, &unit), "committed");
    assert!(!outbox.is_gone(&key("other"), &unit));
}

#[test]
fn a_branch_that_somebody_else_changed_is_looked_at_again() {
    let (outbox, stack) = (Outbox::default(), key("demo"));
    outbox.want(&stack, Unit::Source, plan("a"), asker("one"));
    outbox.settle(&stack, &outbox.wanted(&stack), &NOTHING_HELD);
    outbox.forget(&stack);
    assert_eq!(outbox.want(&stack, Unit::Source, plan("a"), asker("one")), Standing::Pending);
    outbox.drop(&stack);
    assert_eq!(outbox.outstanding(&stack), 0);
}

#[test]
fn a_plan_that_was_held_is_not_committed_once_nobody_wants_it() {
    let (outbox, stack) = (Outbox::default(), key("demo"));
    let (one, two) = (Unit::Cluster(key("one")), Unit::Cluster(key("two")));
    outbox.want(&stack, one.clone(), plan("a"), asker("one"));
    outbox.want(&stack, two.clone(), Change::Gone, asker("two"));
    outbox.withdraw(&one);
    outbox.withdraw(&two);
    assert_eq!(outbox.wanted(&stack), Batch::from([(two.clone(), Change::Gone)]), "what goes, goes");
    outbox.want(&stack, Unit::Release("v1".to_owned()), plan("r"), asker("one"));
    outbox.want(&key("other"), Unit::Release("v1".to_owned()), plan("r"), asker("one"));
    outbox.withdraw_of(&stack, &Unit::Release("v1".to_owned()));
    assert_eq!((outbox.outstanding(&stack), outbox.outstanding(&key("other"))), (1, 1));
}

#[test]
fn moved_cluster_is_committed_only_by_its_new_stack() {
    let (outbox, old, new) = (Outbox::default(), key("1-34"), key("1-35"));
    let cluster = Unit::Cluster(key("one"));
    outbox.want(&old, cluster.clone(), plan("held"), asker("one"));
    outbox.want(&new, cluster.clone(), plan("new"), asker("one"));
    assert!(outbox.wanted(&old).is_empty());
    let batch = outbox.wanted(&new);
    outbox.settle(&new, &batch, &NOTHING_HELD);
    // And back: meanwhile the other ClusterStack overwrote what the old one had committed.
    outbox.want(&old, cluster.clone(), plan("held"), asker("one"));
    let batch = outbox.wanted(&old);
    outbox.settle(&old, &batch, &NOTHING_HELD);
    assert_eq!(outbox.want(&new, cluster.clone(), plan("new"), asker("one")), Standing::Pending);
    assert_eq!(outbox.want(&old, cluster, plan("held"), asker("one")), Standing::Pending);
}

#[test]
fn a_cluster_that_was_let_go_leaves_nothing_behind() {
    let (outbox, stack) = (Outbox::default(), key("demo"));
    let Unit::Object(id, _) = object("x") else { panic!() };
    let its = Unit::Object(id, Some(key("one")));
    for unit in [Unit::Cluster(key("one")), its] {
        outbox.want(&stack, unit, Change::Gone, asker("one"));
    }
    let batch = outbox.wanted(&stack);
    outbox.settle(&stack, &batch, &NOTHING_HELD);
    assert_eq!(
        outbox.want(&stack, Unit::Cluster(key("one")), Change::Gone, asker("one")),
        Standing::Committed
    );
    outbox.forget_cluster(&key("one"));
    assert_eq!(outbox.want(&stack, Unit::Cluster(key("one")), Change::Gone, asker("one")), Standing::Pending);
}

#[test]
fn removed_objects_are_not_remembered_for_ever() {
    let (outbox, stack) = (Outbox::default(), key("demo"));
    let remove = |name: &str| outbox.want(&stack, object(name), Change::Gone, asker("one"));
    for number in 0..=MOST_GONE {
        remove(&number.to_string());
        let batch = outbox.wanted(&stack);
        outbox.settle(&stack, &batch, &NOTHING_HELD);
    }
    let remembered = outbox.lock()[&stack].committed.len();
    assert_eq!(remembered, MOST_GONE);
    assert_eq!(remove(&MOST_GONE.to_string()), Standing::Committed, "the latest");
    assert_eq!(remove("0"), Standing::Pending, "the first is looked for again");
}
