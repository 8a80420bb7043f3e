//! For any state of a live cluster, the diff agrees with the operator's decisions.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::classes::{add_provider, report};
use super::*;
use crate::api::{Reason, SourcePlacement};
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
    /// Whether the object is one of another client.
    taken: bool,
}

/// The state of what the cluster class waits for.
#[derive(Clone, Copy, Debug)]
struct Gate {
    /// Whether the class was never delivered.
    is_new: bool,
    /// Whether the provider is ready; `None` without a provider.
    provider: Option<bool>,
    /// Whether Flux reports the node images as applied.
    images: bool,
}

fn gate() -> impl Strategy<Value = Gate> {
    let provider = prop::option::weighted(0.4, any::<bool>());
    (any::<bool>(), provider, prop::bool::weighted(0.7)).prop_map(|(is_new, provider, images)| Gate {
        is_new,
        provider,
        images,
    })
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
        prop::bool::weighted(0.04),
    )
        .prop_map(|(exists, terminating, plan, owners, edited, kept, other, taken)| Facts {
            exists,
            terminating,
            plan,
            owners,
            edited,
            kept,
            other,
            taken,
        })
}

/// Returns a live cluster in which each planned object has the state that the facts describe.
fn live_with(facts: &[Facts], gate: Gate, by_git: bool, sources: SourcePlacement) -> Present {
    let mut present = live();
    report(&mut present, "NodeImagesReady", gate.images);
    if let Some(is_ready) = gate.provider {
        add_provider(&mut present);
        report(&mut present, "ProviderReady", is_ready);
    }
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
            _ if gate.is_new && planned.step == Step::ClusterClass => None,
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
    if facts.taken {
        let ObjectId { namespace, name, .. } = &planned.id;
        object["metadata"] = json!({"name": name, "namespace": namespace, "uid": "theirs"});
        return object;
    }
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
        let fields = json!({"manager": "somebody", "fieldsV1": {"f:spec": {"f:foreign": {}}}});
        object["metadata"]["managedFields"].as_array_mut().unwrap().push(fields);
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
    gate: Gate,
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

    /// Delivers a release like `operator::release::delivery`. Returns the action of each object, until one is held or the
    /// class has to wait, and the reason for that.
    fn release<'p>(&self, shared: &'p [PlannedObject]) -> (Vec<(&'p PlannedObject, Action)>, Option<Reason>) {
        let (mut actions, mut are_images_ready) = (Vec::new(), true);
        for planned in shared.iter().filter(|planned| !is_catalog(planned)) {
            let waits_for = self.waits_for(shared, are_images_ready);
            if planned.step == Step::ClusterClass && waits_for.is_some() {
                return (actions, waits_for);
            }
            let todo = self.shared(planned);
            actions.push((planned, todo));
            if todo == Action::Hold {
                return (actions, Some(Reason::AlreadyExists));
            }
            if planned.step == Step::NodeImages {
                are_images_ready = self.gate.images && self.is_applied(planned, todo);
            }
        }
        (actions, None)
    }

    /// Returns the reason why the class is not delivered.
    fn waits_for(&self, shared: &[PlannedObject], are_images_ready: bool) -> Option<Reason> {
        let status = self.present.releases.values().next().unwrap().status.as_ref().unwrap();
        let mut class = shared.iter().filter(|planned| planned.step == Step::ClusterClass);
        let is_delivered = class.any(|planned| {
            kept_object(&status.objects, &planned.id).is_some_and(|kept| kept.spec_digest.is_some())
        });
        if is_delivered {
            None
        } else if self.gate.provider == Some(false) {
            Some(Reason::WaitingForProvider)
        } else {
            (!are_images_ready).then_some(Reason::WaitingForNodeImages)
        }
    }

    /// Whether Flux has applied the spec that an object has after an action.
    fn is_applied(&self, planned: &PlannedObject, todo: Action) -> bool {
        let found = self.present.flux.iter().find(|found| is_it(found, &planned.id.kind, planned));
        let is_same_spec = found.is_some_and(|found| found["spec"].get("foreign").is_none());
        match todo {
            Action::Nothing => true,
            Action::Apply | Action::Repair => is_same_spec && !self.by_git,
            Action::Wait | Action::Hold => false,
        }
    }

    fn shared(&self, planned: &PlannedObject) -> Action {
        if is_catalog(planned) {
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

    /// Delivers to a Cluster like `operator::cluster::act`. Nothing follows a source that is held.
    fn cluster<'p>(&self, planned: &'p [PlannedObject]) -> Vec<(&'p PlannedObject, Action)> {
        let actions: Vec<_> = planned.iter().map(|planned| (planned, self.of_cluster(planned))).collect();
        let is_held = |(planned, todo): &(&PlannedObject, Action)| {
            planned.step == Step::Sources && *todo == Action::Hold
        };
        let last = actions.iter().position(is_held).unwrap_or(actions.len());
        actions.into_iter().take(last + 1).collect()
    }

    fn of_cluster(&self, planned: &PlannedObject) -> Action {
        if let Some(kind) = planned.kind().filter(|_| planned.step == Step::Sources) {
            let found = self.cached(kind, planned).map(|found| found.spec_digest);
            return self.decide(planned, None, found.as_ref());
        }
        let addon = self.present.addons.values().next().unwrap();
        let name = planned.value["metadata"]["labels"][labels::ADDON].as_str().unwrap();
        let kept = addon.status.as_ref().unwrap().addons.iter().find(|kept| kept.name == name);
        let digest = kept.and_then(|kept| kept.expected.as_ref()?.spec_digest.as_deref());
        let todo = self.decide(planned, Some("addon"), digest.map(SpecDigest::kept).as_ref());
        let other = self.cached(other_kind(&planned.id.kind), planned).map(|found| found.object);
        let has_other = !self.by_git && other.is_some_and(|other| is_owned(&other, addon));
        if has_other && todo != Action::Hold { Action::Wait } else { todo }
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

fn is_catalog(planned: &PlannedObject) -> bool {
    planned.id.name.ends_with("-catalog")
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
        gate in gate(),
        by_git in prop::bool::weighted(0.2),
        sources in select(vec![SourcePlacement::Shared, SourcePlacement::PerNamespace]),
        is_namespace_known in any::<bool>(),
    ) {
        let present = live_with(&facts, gate, by_git, sources);
        let namespaces = namespaces().into_iter().filter(|_| is_namespace_known).collect();
        let (stacks, skipped) = stacks(&present);
        prop_assert_eq!(skipped, Vec::<String>::new());
        let live = Live::new(&present, &namespaces).unwrap();
        let found = compare(&live, &stacks, None, Some("demo")).unwrap();
        let operator = Operator { present: &present, namespaces: &namespaces, gate, by_git };
        // The sources depend on what exists, so these plans differ from those that the facts were made for.
        let (shared, cluster) = planned(&present);
        let agree = |lines: &[ObjectChange], planned: &PlannedObject, actions: &[(&PlannedObject, Action)]| {
            let todo = actions.iter().find(|(reached, _)| reached.id == planned.id).map(|(_, todo)| *todo);
            let line = line_of(lines, planned);
            let agrees = operator.agrees(todo.unwrap_or(Action::Nothing), line, planned);
            prop_assert!(agrees, "{}: {todo:?}, {line:?}", planned.id);
            Ok(())
        };
        let (mut actions, reason) = operator.release(&shared);
        let is_without_source = actions.last().is_some_and(|(planned, todo)| {
            planned.step == Step::Sources && *todo == Action::Hold
        });
        let catalog = shared.iter().filter(|planned| is_catalog(planned));
        actions.extend(catalog.map(|planned| (planned, operator.shared(planned))));
        for planned in &shared {
            agree(&found.plans.objects, planned, &actions)?;
        }
        let held: Vec<_> = found.held_classes.iter().map(|held| held.hold.reason).collect();
        let expected = reason.filter(|reason| *reason != Reason::AlreadyExists).map(Reason::as_str);
        prop_assert_eq!(held, expected.into_iter().collect::<Vec<_>>());

        let change = found.plans.clusters.first();
        let lines = change.map_or(&[][..], |change| &change.objects);
        let actions = if is_without_source { Vec::new() } else { operator.cluster(&cluster) };
        for planned in &cluster {
            agree(lines, planned, &actions)?;
        }
        let mut whole = change.into_iter().flat_map(|change| &change.held).filter(|held| held.addon.is_none());
        prop_assert_eq!(whole.next().map(|held| held.reason), is_without_source.then_some("AlreadyExists"));
    }
}
