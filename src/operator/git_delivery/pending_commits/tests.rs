//! Each requested change is committed once, and its requesters are enqueued.

use super::*;
use crate::api::Reason;

fn key(name: &str) -> Key {
    Key::new("stacks", name)
}

fn requester(name: &str) -> Requester {
    (Queue::Cluster, key(name))
}

fn hold(message: &str) -> Hold {
    Hold { reason: Reason::DeliveryFailed, message: message.to_owned() }
}

/// Returns a unique plan.
fn plan(name: &str) -> Change {
    Change::Planned(Arc::new(Plan::of_namespace(name)))
}

fn object(name: &str) -> Subject {
    let id = ObjectId {
        api_version: "v1".to_owned(),
        kind: "Namespace".to_owned(),
        namespace: String::new(),
        name: name.to_owned(),
    };
    Subject::Object(id, None)
}

const NOTHING_HELD: BTreeMap<Subject, Hold> = BTreeMap::new();

#[test]
fn committed_change_is_not_requested_again() {
    let (commits, stack) = (PendingCommits::default(), key("demo"));
    assert_eq!(commits.enqueue(&stack, Subject::Source, plan("a"), requester("one")), CommitState::Pending);
    assert_eq!(commits.enqueue(&stack, Subject::Source, plan("a"), requester("two")), CommitState::Pending);
    let batch = commits.requested(&stack);
    assert_eq!(batch.len(), 1);
    let requesters = commits.complete(&stack, &batch, &NOTHING_HELD);
    assert_eq!(requesters, BTreeSet::from([requester("one"), requester("two")]));
    assert_eq!(commits.enqueue(&stack, Subject::Source, plan("a"), requester("one")), CommitState::Committed);
    assert!(commits.requested(&stack).is_empty());
    assert_eq!(commits.enqueue(&stack, Subject::Source, plan("b"), requester("one")), CommitState::Pending);
    assert_eq!(
        commits.enqueue(&stack, Subject::Source, plan("a"), requester("one")),
        CommitState::Pending,
        "b replaced it"
    );
}

#[test]
fn change_replaced_during_pass_stays_pending() {
    let (commits, stack) = (PendingCommits::default(), key("demo"));
    commits.enqueue(&stack, Subject::Source, plan("a"), requester("one"));
    let batch = commits.requested(&stack);
    commits.enqueue(&stack, Subject::Source, plan("b"), requester("one"));
    assert!(commits.complete(&stack, &batch, &NOTHING_HELD).is_empty());
    assert_eq!(commits.requested(&stack), Batch::from([(Subject::Source, plan("b"))]));
}

#[test]
fn held_change_is_reported_once_and_retried() {
    let (commits, stack) = (PendingCommits::default(), key("demo"));
    let cluster = Subject::Cluster(key("one"));
    commits.enqueue(&stack, cluster.clone(), plan("a"), requester("one"));
    commits.enqueue(&stack, Subject::Source, plan("s"), requester("stack"));
    let held = BTreeMap::from([(cluster.clone(), hold("edited"))]);
    let batch = commits.requested(&stack);
    assert_eq!(
        commits.complete(&stack, &batch, &held),
        BTreeSet::from([requester("one"), requester("stack")])
    );
    assert_eq!(commits.outstanding(&stack), 1);
    let state = commits.enqueue(&stack, cluster.clone(), plan("a"), requester("one"));
    assert_eq!(state, CommitState::Held(hold("edited")));
    let batch = commits.requested(&stack);
    assert_eq!(batch.keys().collect::<Vec<_>>(), [&cluster]);
    assert!(commits.complete(&stack, &batch, &held).is_empty(), "it is unchanged");
    assert_eq!(commits.complete(&stack, &batch, &NOTHING_HELD), BTreeSet::from([requester("one")]));
}

#[test]
fn object_planned_again_can_be_removed_again() {
    let (commits, stack, subject) = (PendingCommits::default(), key("demo"), object("helm"));
    commits.enqueue(&stack, subject.clone(), Change::Gone, requester("one"));
    commits.complete(&stack, &commits.requested(&stack), &NOTHING_HELD);
    assert_eq!(
        commits.enqueue(&stack, subject.clone(), Change::Gone, requester("one")),
        CommitState::Committed
    );
    commits.enqueue(&stack, Subject::Release("r".to_owned()), plan("helm"), requester("one"));
    assert_eq!(commits.enqueue(&stack, subject, Change::Gone, requester("one")), CommitState::Pending);
}

#[test]
fn requested_removal_is_known_after_commit() {
    let (commits, stack) = (PendingCommits::default(), key("stack"));
    let subject = object("one");
    assert!(!commits.is_removal_requested(&stack, &subject));
    commits.enqueue(&stack, subject.clone(), Change::Gone, requester("a"));
    assert!(commits.is_removal_requested(&stack, &subject), "requested");
    let batch = commits.requested(&stack);
    commits.complete(&stack, &batch, &BTreeMap::new());
    assert!(commits.is_removal_requested(&stack, &subject), "committed");
    assert!(!commits.is_removal_requested(&key("other"), &subject));
}

#[test]
fn changes_are_pending_again_after_foreign_commit() {
    let (commits, stack) = (PendingCommits::default(), key("demo"));
    commits.enqueue(&stack, Subject::Source, plan("a"), requester("one"));
    commits.complete(&stack, &commits.requested(&stack), &NOTHING_HELD);
    commits.forget(&stack);
    assert_eq!(commits.enqueue(&stack, Subject::Source, plan("a"), requester("one")), CommitState::Pending);
    commits.remove_stack(&stack);
    assert_eq!(commits.outstanding(&stack), 0);
}

#[test]
fn cancelled_held_plan_is_not_committed() {
    let (commits, stack) = (PendingCommits::default(), key("demo"));
    let (one, two) = (Subject::Cluster(key("one")), Subject::Cluster(key("two")));
    commits.enqueue(&stack, one.clone(), plan("a"), requester("one"));
    commits.enqueue(&stack, two.clone(), Change::Gone, requester("two"));
    assert_eq!(commits.cancel(&one), vec![stack.clone()], "it has to report that less waits");
    assert!(commits.cancel(&one).is_empty());
    commits.cancel(&two);
    assert_eq!(commits.requested(&stack), Batch::from([(two.clone(), Change::Gone)]), "what goes, goes");
    commits.enqueue(&stack, Subject::Release("v1".to_owned()), plan("r"), requester("one"));
    commits.enqueue(&key("other"), Subject::Release("v1".to_owned()), plan("r"), requester("one"));
    assert_eq!(commits.cancel_of(&stack, &Subject::Release("v1".to_owned())), vec![stack.clone()]);
    assert_eq!((commits.outstanding(&stack), commits.outstanding(&key("other"))), (1, 1));
}

#[test]
fn moved_cluster_is_committed_only_by_its_new_stack() {
    let (commits, old, new) = (PendingCommits::default(), key("1-34"), key("1-35"));
    let cluster = Subject::Cluster(key("one"));
    commits.enqueue(&old, cluster.clone(), plan("held"), requester("one"));
    commits.enqueue(&new, cluster.clone(), plan("new"), requester("one"));
    assert!(commits.requested(&old).is_empty());
    let batch = commits.requested(&new);
    commits.complete(&new, &batch, &NOTHING_HELD);
    // And back: meanwhile the other ClusterStack overwrote what the old one had committed.
    commits.enqueue(&old, cluster.clone(), plan("held"), requester("one"));
    let batch = commits.requested(&old);
    commits.complete(&old, &batch, &NOTHING_HELD);
    assert_eq!(commits.enqueue(&new, cluster.clone(), plan("new"), requester("one")), CommitState::Pending);
    assert_eq!(commits.enqueue(&old, cluster, plan("held"), requester("one")), CommitState::Pending);
}

#[test]
fn moved_cluster_keeps_an_object_whose_removal_was_pending() {
    let (commits, old, new) = (PendingCommits::default(), key("1-34"), key("1-35"));
    let Subject::Object(id, _) = object("cni") else { panic!() };
    let remove = |stack: &Key, cluster: &str| {
        let subject = Subject::Object(id.clone(), Some(key(cluster)));
        commits.enqueue(stack, subject, Change::Gone, requester(cluster))
    };
    remove(&old, "one");
    remove(&old, "two");
    commits.enqueue(&new, Subject::Cluster(key("one")), plan("cni"), requester("one"));
    let others = Subject::Object(id.clone(), Some(key("two")));
    assert_eq!(commits.requested(&old), Batch::from([(others, Change::Gone)]), "the other Cluster stays");
    // A removal that was committed before is requested again after the Cluster is back.
    remove(&old, "one");
    commits.complete(&old, &commits.requested(&old), &NOTHING_HELD);
    commits.enqueue(&new, Subject::Cluster(key("one")), plan("other"), requester("one"));
    assert_eq!(remove(&old, "one"), CommitState::Pending);
}

#[test]
fn deleted_cluster_leaves_no_pending_change() {
    let (commits, stack) = (PendingCommits::default(), key("demo"));
    let Subject::Object(id, _) = object("x") else { panic!() };
    let its = Subject::Object(id, Some(key("one")));
    for subject in [Subject::Cluster(key("one")), its] {
        commits.enqueue(&stack, subject, Change::Gone, requester("one"));
    }
    let batch = commits.requested(&stack);
    commits.complete(&stack, &batch, &NOTHING_HELD);
    assert_eq!(
        commits.enqueue(&stack, Subject::Cluster(key("one")), Change::Gone, requester("one")),
        CommitState::Committed
    );
    commits.forget_cluster(&key("one"));
    assert_eq!(
        commits.enqueue(&stack, Subject::Cluster(key("one")), Change::Gone, requester("one")),
        CommitState::Pending
    );
}

#[test]
fn removed_objects_are_not_remembered_for_ever() {
    let (commits, stack) = (PendingCommits::default(), key("demo"));
    let remove = |name: &str| commits.enqueue(&stack, object(name), Change::Gone, requester("one"));
    for number in 0..=MAX_REMOVED {
        remove(&number.to_string());
        let batch = commits.requested(&stack);
        commits.complete(&stack, &batch, &NOTHING_HELD);
    }
    let remembered = commits.lock()[&stack].committed.len();
    assert_eq!(remembered, MAX_REMOVED);
    assert_eq!(remove(&MAX_REMOVED.to_string()), CommitState::Committed, "the latest");
    assert_eq!(remove("0"), CommitState::Pending, "the first is looked for again");
}

/// Another release may have the source that one removes: it requests its objects again, and the file comes back.
#[test]
fn release_is_committed_again_after_a_shared_object_is_removed() {
    let (commits, stack) = (PendingCommits::default(), key("demo"));
    let (release, cluster) = (Subject::Release("r".to_owned()), Subject::Cluster(key("one")));
    for subject in [&release, &cluster] {
        commits.enqueue(&stack, subject.clone(), plan("helm"), requester("one"));
    }
    commits.complete(&stack, &commits.requested(&stack), &NOTHING_HELD);
    commits.enqueue(&stack, object("source"), Change::Gone, requester("one"));
    assert_eq!(commits.enqueue(&stack, release, plan("helm"), requester("one")), CommitState::Pending);
    assert_eq!(commits.enqueue(&stack, cluster, plan("helm"), requester("one")), CommitState::Committed);
}
