//! For any state of a live cluster, the diff agrees with the operator's decisions.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;
use crate::api::SourcePlacement;
use crate::compare::plans::{ChangeKind, ObjectChange};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::foreign::flux::ownership::{is_owned, other_kind};
use crate::plan::delivery::{Action, Baseline, NamespaceState, action, namespace_action};
use crate::rollup::kept_object;

/// An upper bound of the number of planned objects.
const CASES: usize = 32;

/// The state of the live cluster around one planned object.
#[derive(Clone, Debug)]
struct Facts {
    exists: bool,
    terminating: bool,
    /// The digest annotation: that of the plan, another, or none.
    plan: Plan,
    owners: Vec<&'static str>,
    /// The parts that another client changed: the spec, a planned label.
    edited: Vec<&'static str>,
    /// The digest in the status: that of the spec, another, or none.
    kept: Plan,
    /// The owner of the object of the other kind, if the object delivers an addon and the other object exists.
    other: Option<&'static str>,
}

#[derive(Clone, Copy, Debug)]
enum Plan {
    Same,
    Another,
    None,
}

fn plan_digest() -> impl Strategy<Value = Plan> {
    prop_oneof![4 => Just(Plan::Same), 1 => Just(Plan::Another), 1 => Just(Plan::None)]
}

fn facts() -> impl Strategy<Value = Facts> {
    let all = vec!["stack", "release", "addon", "namespace", "other"];
    let owners = prop_oneof![2 => Just(all.clone()), 1 => subsequence(all, 0..=5)];
    let edited = prop_oneof![2 => Just(Vec::new()), 1 => subsequence(vec!["spec", "label"], 1..=2)];
    let other = prop_oneof![6 => Just(None), 1 => select(vec![Some("addon"), Some("earlier")])];
    (
        prop::bool::weighted(0.9),
        prop::bool::weighted(0.1),
        plan_digest(),
        owners,
        edited,
        plan_digest(),
        other,
    )
        .prop_map(|(exists, terminating, plan, owners, edited, kept, other)| Facts {
            exists,
            terminating,
            plan,
            owners,
            edited,
            kept,
            other,
        })
}

/// Returns a live cluster in which each planned object has the state that the facts describe.
fn live_with(facts: &[Facts], by_git: bool, sources: SourcePlacement) -> Present {
    let mut present = live();
    let stack = present.stacks.values_mut().next().unwrap();
    stack.spec.flux.sources = sources;
    if by_git {
        let git = json!({"mode": "Git", "git": {"url": "https://git.example.org/clusters.git", "path": "clusters"}});
        stack.spec.delivery = serde_json::from_value(git).unwrap();
    }
    let (shared, cluster) = planned(&present);
    assert!(shared.len() + cluster.len() <= facts.len());
    for (planned, facts) in shared.iter().chain(&cluster).zip(facts) {
        let is_there = present.flux.iter().any(|found| is_it(found, &planned.id.kind, planned));
        if facts.exists && !is_there && planned.id.kind != "Namespace" {
            present.flux.push(object_of(planned, facts));
        }
        let digest = match facts.kept {
            Plan::Same if planned.id.kind == "Namespace" => Some(planned.digest().to_owned()),
            Plan::Same => Some(SpecDigest::of(came_back(&planned.value, &[])["spec"].clone()).to_string()),
            Plan::Another => Some("earlier".to_owned()),
            Plan::None => None,
        };
        keep(&mut present, planned, digest.as_deref());
        if let Some(owner) = facts.other.filter(|_| planned.step == Step::Addons) {
            let mut other = came_back(&planned.value, &[owner]);
            other["kind"] = json!(other_kind(&planned.id.kind));
            present.flux.push(other);
        }
    }
    present
}

fn object_of(planned: &PlannedObject, facts: &Facts) -> Value {
    let mut object = came_back(&planned.value, &facts.owners);
    let annotations = object["metadata"]["annotations"].as_object_mut().unwrap();
    match facts.plan {
        Plan::Same => {}
        Plan::Another => _ = annotations.insert(labels::PLAN_DIGEST.to_owned(), json!("sha256:earlier")),
        Plan::None => _ = annotations.remove(labels::PLAN_DIGEST),
    }
    if facts.terminating {
        object["metadata"]["deletionTimestamp"] = json!("2026-11-21T10:00:00Z");
    }
    if facts.edited.contains(&"spec") {
        object["spec"]["foreign"] = json!(true);
    }
    if facts.edited.contains(&"label") {
        object["metadata"]["labels"][labels::MANAGED_BY] = json!("another");
    }
    object
}

fn is_it(object: &Value, kind: &str, planned: &PlannedObject) -> bool {
    let metadata = &object["metadata"];
    object["kind"] == kind
        && metadata["namespace"] == planned.id.namespace
        && metadata["name"] == planned.id.name
}

/// The operator, with its view of the Flux objects and statuses.
struct Operator<'a> {
    present: &'a Present,
    namespaces: &'a BTreeMap<String, LiveNamespace>,
    by_git: bool,
}

impl Operator<'_> {
    fn cached(&self, kind: FluxKind, planned: &PlannedObject) -> Option<FluxObject> {
        let found = self.present.flux.iter().find(|found| is_it(found, kind.as_str(), planned));
        found.map(|found| serde_json::from_value(found.clone()).unwrap())
    }

    /// Decides like `operator::deliver`, and with Git delivery by what Flux has applied.
    fn decide(&self, planned: &PlannedObject, owner: Option<&str>, expected: Option<&SpecDigest>) -> Action {
        let Some(kind) = planned.kind() else {
            return namespace_action(planned, NamespaceState::Unknown, expected);
        };
        let found = self.cached(kind, planned);
        let namespace = self.namespaces.get(&planned.id.namespace).map(|found| found.uid.as_str());
        let last_write = Baseline::LastWrite { spec_digest: expected, owner, namespace };
        let baseline = if self.by_git { Baseline::Plan } else { last_write };
        action(planned, found.as_ref().map(Into::into), baseline)
    }

    fn shared(&self, planned: &PlannedObject) -> Action {
        if planned.id.name.ends_with("-catalog") {
            let source =
                self.present.stacks.values().next().unwrap().status.as_ref().unwrap().source.as_ref();
            let expected = source.and_then(|source| source.spec_digest.as_deref()).map(SpecDigest::kept);
            return self.decide(planned, Some("stack"), expected.as_ref());
        }
        let status = self.present.releases.values().next().unwrap().status.as_ref().unwrap();
        let kept = kept_object(&status.objects, &planned.id);
        let expected = kept.and_then(|kept| kept.spec_digest.as_deref()).map(SpecDigest::kept);
        self.decide(planned, Some("release"), expected.as_ref())
    }

    /// Decides like `operator::cluster::addons`.
    fn of_cluster(&self, planned: &PlannedObject) -> Action {
        if let Some(kind) = planned.kind().filter(|_| planned.step == Step::Sources) {
            let found = self.cached(kind, planned).map(|found| found.spec_digest);
            return self.decide(planned, None, found.as_ref());
        }
        let addon = self.present.addons.values().next().unwrap();
        let other = self.cached(other_kind(&planned.id.kind), planned).map(|found| found.object);
        if !self.by_git && other.is_some_and(|other| is_owned(&other, addon)) {
            return Action::Wait;
        }
        let name = planned.value["metadata"]["labels"][labels::ADDON].as_str().unwrap();
        let kept = addon.status.as_ref().unwrap().addons.iter().find(|kept| kept.name == name);
        let digest = kept.and_then(|kept| kept.expected.as_ref()?.spec_digest.as_deref());
        self.decide(planned, Some("addon"), digest.map(SpecDigest::kept).as_ref())
    }

    /// Whether a line of the diff agrees with the operator's action.
    fn agrees(&self, todo: Action, line: Option<&ObjectChange>, planned: &PlannedObject) -> bool {
        let exists = self.present.flux.iter().any(|found| is_it(found, &planned.id.kind, planned));
        match (todo, line) {
            (Action::Nothing, line) => line.is_none(),
            (_, None) => false,
            (Action::Hold, Some(line)) => line.change == ChangeKind::Held,
            (Action::Wait, Some(line)) => line.change == ChangeKind::Created && line.waits_for.is_some(),
            (Action::Apply | Action::Repair, Some(line)) => {
                let expected = if exists { ChangeKind::Changed } else { ChangeKind::Created };
                line.change == expected && line.waits_for.is_none()
            }
        }
    }
}

fn line_of<'a>(lines: &'a [ObjectChange], planned: &PlannedObject) -> Option<&'a ObjectChange> {
    lines.iter().find(|line| {
        (&line.kind, &line.namespace, &line.name)
            == (&planned.id.kind, &planned.id.namespace, &planned.id.name)
            && line.change != ChangeKind::Removed
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn live_diff_agrees_with_the_operator(
        facts in vec(facts(), CASES),
        by_git in prop::bool::weighted(0.2),
        sources in select(vec![SourcePlacement::Shared, SourcePlacement::PerNamespace]),
        is_namespace_known in any::<bool>(),
    ) {
        let present = live_with(&facts, by_git, sources);
        let namespaces = namespaces().into_iter().filter(|_| is_namespace_known).collect();
        let (stacks, skipped) = stacks(&present);
        prop_assert_eq!(skipped, Vec::<String>::new());
        let live = Live::new(&present, &namespaces).unwrap();
        let plans = compare(&live, &stacks, None, Some("demo")).unwrap();
        let operator = Operator { present: &present, namespaces: &namespaces, by_git };
        // The sources depend on what exists, so these plans differ from those that the facts were made for.
        let (shared, cluster) = planned(&present);
        for planned in &shared {
            let (todo, line) = (operator.shared(planned), line_of(&plans.objects, planned));
            prop_assert!(operator.agrees(todo, line, planned), "{}: {todo:?}, {line:?}", planned.id);
        }
        let lines = plans.clusters.first().map_or(&[][..], |cluster| &cluster.objects);
        for planned in &cluster {
            let (todo, line) = (operator.of_cluster(planned), line_of(lines, planned));
            prop_assert!(operator.agrees(todo, line, planned), "{}: {todo:?}, {line:?}", planned.id);
        }
    }
}
