//! Tests of the decision about the objects of a release.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Value, json};

use super::*;
use crate::foreign::flux::observed::{FluxObject, SpecDigest};
use crate::plan::delivery::{Action, NamespaceState};
use crate::plan::tests::fixture::Fixture;
use crate::plan::write::{RepairState, Write};
use crate::plan::{Plan, PlannedObject, Step};

/// The present state of all objects of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Present {
    Absent,
    Ready,
    NotReady,
    /// As in another plan, and ready.
    Earlier,
    /// Of another client.
    Foreign,
    /// Suspended by an earlier `ClusterStack`, without an owner.
    Orphaned,
    /// Suspended by an earlier `ClusterStack`, with the release as its owner.
    Adopted,
    /// Being deleted.
    Terminating,
    /// Without its owner.
    Ownerless,
}
use Present::{Absent, Adopted, Earlier, Foreign, NotReady, Orphaned, Ownerless, Ready, Terminating};

fn owner() -> OwnerReference {
    OwnerReference { uid: "release".to_owned(), ..OwnerReference::default() }
}

fn found(planned: &PlannedObject, present: Present) -> FluxObject {
    let mut object: Value = planned.value.clone();
    let metadata = &mut object["metadata"];
    metadata["uid"] = json!("u");
    metadata["resourceVersion"] = json!("7");
    metadata["ownerReferences"] = json!([{"apiVersion": "x", "kind": "X", "name": "x", "uid": "release"}]);
    match present {
        Earlier => metadata["annotations"][labels::PLAN_DIGEST] = json!("sha256:0"),
        Foreign => (metadata["annotations"], metadata["labels"]) = (json!({}), json!({})),
        Orphaned | Adopted => {
            metadata["managedFields"] = json!([
                {"manager": labels::SUSPEND_FIELD_MANAGER, "fieldsV1": {"f:spec": {"f:suspend": {}}}},
            ]);
            if present == Orphaned {
                metadata["ownerReferences"] = json!([]);
            }
            object["spec"]["suspend"] = json!(true);
        }
        Terminating => metadata["deletionTimestamp"] = json!("2026-11-23T02:00:00Z"),
        Ownerless => metadata["ownerReferences"] = json!([]),
        Absent | Ready | NotReady => {}
    }
    serde_json::from_value(object).unwrap()
}

fn state(planned: &PlannedObject, present: Present) -> ObjectState {
    let is_flux = planned.kind().is_some();
    let found = (is_flux && present != Absent).then(|| Arc::new(found(planned, present)));
    let digest = SpecDigest::kept(planned.digest());
    let written = found.as_ref().map_or(digest, |found| found.spec_digest.clone());
    ObjectState {
        found,
        occupant: None,
        namespace_state: if present == Absent { NamespaceState::Absent } else { NamespaceState::Present },
        expected: (present != Absent).then_some(written),
        owners: vec![owner()],
        namespace: None,
        repairs: RepairState::NONE,
        is_ready: matches!(present, Ready | Earlier | Ownerless),
    }
}

fn word(write: &ReleaseWrite) -> &'static str {
    match write {
        ReleaseWrite::Flux { resumes: true, .. } => "resume",
        ReleaseWrite::Nothing
        | ReleaseWrite::Flux { write: Write::Nothing, .. }
        | ReleaseWrite::Namespace(Action::Nothing) => "-",
        ReleaseWrite::InItsTurn => "later",
        ReleaseWrite::ByFlux(_) => "by Flux",
        write if write.is_written() => "apply",
        _ => "other",
    }
}

/// Formats a decision: each step with the writes of its objects, each once, and what else is decided.
fn in_short(delivery: &ReleaseDelivery) -> String {
    let mut parts: Vec<String> = Vec::new();
    for step in &delivery.written.steps {
        let of_step = delivery.objects.iter().filter(|object| object.planned.step == *step);
        let mut words: Vec<_> = of_step.map(|object| word(&object.write)).collect();
        words.dedup();
        parts.push(format!("{step:?} {}", words.join("+")));
    }
    parts.extend(delivery.written.hold.as_ref().map(|hold| hold.reason.to_string()));
    parts.extend(delivery.writes_provider.then(|| "provider".to_owned()));
    parts.extend(delivery.comes_again.then(|| "again".to_owned()));
    parts.join(", ")
}

/// Formats all steps of a release until nothing is left to write: the words of each step, and the hold.
fn all_steps(
    plan: &Plan,
    release: &ClusterStackRelease,
    present: [Present; 3],
    is_ready_after: bool,
) -> String {
    let objects = states(plan, present);
    let (objects, mode, provider_problem) = (&objects[..], DeliveryMode::Api, None);
    let facts = DeliveryFacts { release, plan, objects, mode, provider_problem };
    let AllSteps { writes, taken, written } = decide_all_steps(&facts, |_| is_ready_after);
    let mut parts = Vec::new();
    for step in RELEASE_STEPS {
        let of_step = plan.objects().filter(|planned| planned.step == step);
        let mut words: Vec<_> = of_step.filter_map(|planned| Some(word(writes.get(&planned.id)?))).collect();
        words.dedup();
        if !words.is_empty() {
            parts.push(format!("{step:?} {}", words.join("+")));
        }
    }
    parts.extend(taken.map(|taken| format!("taken {}", taken.kind)));
    parts.extend(written.hold.map(|hold| hold.reason.to_string()));
    parts.join(", ")
}

fn states(plan: &Plan, present: [Present; 3]) -> Vec<ObjectState> {
    let of = |planned: &PlannedObject| match planned.step {
        Step::Sources => present[0],
        Step::NodeImages => present[1],
        Step::ClusterClass | Step::Addons => present[2],
    };
    plan.objects().map(|planned| state(planned, of(planned))).collect()
}

fn decided(plan: &Plan, release: &ClusterStackRelease, mode: DeliveryMode, present: [Present; 3]) -> String {
    let (objects, provider_problem) = (states(plan, present), None);
    in_short(&decide_delivery(&DeliveryFacts { release, plan, objects: &objects, mode, provider_problem }))
}

/// Formats the decision about a new release that is ready up to its class, with these changes.
fn decided_with(change: impl Fn(&PlannedObject, &mut ObjectState), provider_problem: Option<&str>) -> String {
    let (plan, release) = (Fixture::new().plan("v1", &[]), release_object(&json!([])));
    let mut objects: Vec<ObjectState> = plan.objects().map(|planned| state(planned, Ready)).collect();
    plan.objects().zip(&mut objects).for_each(|(planned, state)| change(planned, state));
    let (plan, objects, mode) = (&plan, &objects[..], DeliveryMode::Api);
    in_short(&decide_delivery(&DeliveryFacts { release: &release, plan, objects, mode, provider_problem }))
}

#[test]
fn release_is_written_one_step_at_a_time() {
    let plan = Fixture::new().plan("v1", &[]);
    let new = release_object(&json!([]));
    let class = plan.objects().find(|planned| planned.step == Step::ClusterClass).unwrap().id.clone();
    let delivered = release_object(&json!([
        {"kind": class.kind, "namespace": class.namespace, "name": class.name, "specDigest": "sha256:1"},
    ]));
    for (release, present, expected) in [
        (&new, [Absent, Absent, Absent], "Sources apply, NodeImages later, WaitingForNodeImages, again"),
        (&new, [Ready, Absent, Absent], "Sources -, NodeImages apply, WaitingForNodeImages, provider, again"),
        (&new, [Ready, NotReady, Absent], "Sources -, NodeImages -, WaitingForNodeImages, provider"),
        (&new, [Ready, Ready, Absent], "Sources -, NodeImages -, ClusterClass apply, provider"),
        // Flux has not applied the new images: the old ones were ready.
        (
            &new,
            [Ready, Earlier, Absent],
            "Sources -, NodeImages apply, WaitingForNodeImages, provider, again",
        ),
        (&new, [Foreign, Absent, Absent], "Sources , AlreadyExists"),
        (&new, [Absent, Foreign, Absent], "Sources apply, NodeImages , AlreadyExists, again"),
        (&new, [Ready, Ready, Foreign], "Sources -, NodeImages -, ClusterClass -, AlreadyExists, provider"),
        (&new, [Ready, Ready, Orphaned], "Sources -, NodeImages -, ClusterClass -+apply, provider, again"),
        (&new, [Ready, Ready, Adopted], "Sources -, NodeImages -, ClusterClass -+resume, provider"),
        (&new, [Ready, Adopted, Absent], "Sources -, NodeImages resume, WaitingForNodeImages, provider"),
        (
            &new,
            [Terminating, Terminating, Absent],
            "Sources other, NodeImages other, WaitingForNodeImages, provider",
        ),
        // A webhook that removes owners again and again does not stop the later steps.
        (
            &new,
            [Ownerless, Absent, Absent],
            "Sources apply, NodeImages apply, WaitingForNodeImages, provider, again",
        ),
        (
            &delivered,
            [Earlier, Earlier, Earlier],
            "Sources apply, NodeImages later, ClusterClass -+later, again",
        ),
        (
            &delivered,
            [Ready, Earlier, Earlier],
            "Sources -, NodeImages apply, ClusterClass -+later, provider, again",
        ),
        (&delivered, [Ready, NotReady, Earlier], "Sources -, NodeImages -, ClusterClass -+apply, provider"),
        (&delivered, [Ready, Ready, Ready], "Sources -, NodeImages -, ClusterClass -, provider"),
    ] {
        assert_eq!(decided(&plan, release, DeliveryMode::Api, present), expected, "{present:?}");
    }
}

#[test]
fn object_that_is_written_now_is_known() {
    let (plan, release) = (Fixture::new().plan("v1", &[]), release_object(&json!([])));
    let is_class = |planned: &&PlannedObject| planned.id.kind == "HelmRelease";
    let class = found(plan.objects().find(is_class).unwrap(), Ready);
    for (present, expected) in [(Ready, false), (Earlier, true)] {
        let objects = states(&plan, [Ready, Ready, present]);
        let (mode, provider_problem) = (DeliveryMode::Api, None);
        let facts =
            DeliveryFacts { release: &release, plan: &plan, objects: &objects, mode, provider_problem };
        assert_eq!(decide_delivery(&facts).writes(&class), expected, "{present:?}");
    }
}

#[test]
fn all_steps_are_decided_as_if_each_write_succeeds() {
    let plan = Fixture::new().plan("v1", &[]);
    let new = release_object(&json!([]));
    for (present, is_ready_after, expected) in [
        ([Absent, Absent, Absent], false, "Sources apply, NodeImages apply, WaitingForNodeImages"),
        // The write of the images leaves their spec as Flux applied it.
        ([Absent, Ownerless, Absent], true, "Sources apply, NodeImages apply, ClusterClass apply"),
        ([Ready, Earlier, Absent], false, "NodeImages apply, WaitingForNodeImages"),
        ([Ready, Ready, Ready], false, ""),
        ([Ready, Ready, Orphaned], false, "ClusterClass apply"),
        ([Ready, Adopted, Ready], false, "NodeImages resume, WaitingForNodeImages"),
        ([Terminating, Ready, Absent], false, "Sources other, ClusterClass apply"),
        ([Foreign, Absent, Absent], false, "taken GitRepository, AlreadyExists"),
        ([Absent, Foreign, Absent], false, "Sources apply, taken Kustomization, AlreadyExists"),
    ] {
        assert_eq!(all_steps(&plan, &new, present, is_ready_after), expected, "{present:?}");
    }
}

#[test]
fn new_class_waits_for_the_provider() {
    let held = "Sources -, NodeImages -, WaitingForProvider, provider";
    assert_eq!(decided_with(|_, _| (), Some("no quota")), held);
}

#[test]
fn repair_that_waits_holds_no_later_step() {
    let until = "2026-11-23T02:00:00Z".parse().unwrap();
    let fight_about_sources = |planned: &PlannedObject, state: &mut ObjectState| match planned.step {
        Step::Sources => {
            state.expected = Some(SpecDigest::kept("another"));
            state.repairs = RepairState { digest: None, next: Some((3, until)) };
        }
        Step::NodeImages => state.found = None,
        Step::ClusterClass | Step::Addons => {}
    };
    let expected = "Sources other, NodeImages apply, WaitingForNodeImages, provider, again";
    assert_eq!(decided_with(fight_about_sources, None), expected);
}

#[test]
fn name_is_taken_by_an_object_that_no_watch_reports() {
    let occupied = |planned: &PlannedObject, state: &mut ObjectState| {
        if planned.step == Step::NodeImages {
            state.found = None;
            state.occupant = Some(Arc::new(found(planned, Foreign)));
        }
    };
    assert_eq!(decided_with(occupied, None), "Sources -, NodeImages , AlreadyExists, provider");
}

#[test]
fn operator_applies_nothing_by_git_or_while_suspended() {
    let plan = Fixture::new().plan("v1", &[]);
    let new = release_object(&json!([]));
    let present = [Absent, Absent, Absent];
    assert_eq!(
        decided(&plan, &new, DeliveryMode::Git, present),
        "Sources by Flux, NodeImages by Flux, WaitingForNodeImages, provider"
    );
    assert_eq!(
        decided(&plan, &new, DeliveryMode::Suspended, present),
        "Sources -, NodeImages -, WaitingForNodeImages"
    );
}

fn release_object(objects: &Value) -> ClusterStackRelease {
    serde_json::from_value(json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStackRelease",
        "metadata": {"name": "docker-demo-1-34-v1", "namespace": "stacks", "uid": "release"},
        "spec": {},
        "status": {"objects": objects},
    }))
    .unwrap()
}
