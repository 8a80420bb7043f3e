//! Random states of a live cluster around removals.

use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::super::removals::{apply_by_flux, deliver_by_git, edited, report_removal};
use super::super::*;
use crate::api::cluster_stack::Pruned;
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::ownership::other_kind;

/// The state of a live cluster.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    by_git: bool,
    pub(super) hold: Whole,
    /// Whether the values of an addon miss a field of the Cluster.
    waits_for_field: bool,
    /// The state of the object of each planned addon.
    planned: Vec<State>,
    pub(super) left: Vec<Left>,
    /// Minutes since the deletions that the status records, and their number.
    pruned: Option<(i64, u32)>,
    /// Number of objects of another Cluster of the ClusterStack.
    others: usize,
}

/// A reason why nothing is written for the Cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Whole {
    None,
    Paused,
    NotInitialized,
    SuspendedStack,
    SuspendedAddon,
    Elsewhere,
    DeletedCluster,
    DeletedAddon,
    TerminatingNamespace,
    Orphaned,
}

/// The state of a planned object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State {
    Delivered,
    Absent,
    Earlier,
    Terminating,
    /// An object of the other kind, with its owner.
    OtherKind(&'static str),
}

/// An object of an addon that the release does not have in this form.
#[derive(Clone, Debug)]
pub(super) struct Left {
    pub(super) kind: FluxKind,
    pub(super) addon: &'static str,
    pub(super) owner: Owner,
    suspended: bool,
    terminating: bool,
    /// Whether the status reports its removal.
    pub(super) reported: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Owner {
    Ours,
    Earlier,
    None,
    Flux,
    HandedOver,
}

fn hold() -> impl Strategy<Value = Whole> {
    use Whole::{
        DeletedAddon, DeletedCluster, Elsewhere, NotInitialized, Orphaned, Paused, SuspendedAddon,
        SuspendedStack, TerminatingNamespace,
    };
    let others = vec![
        Paused,
        NotInitialized,
        SuspendedStack,
        SuspendedAddon,
        Elsewhere,
        DeletedCluster,
        DeletedAddon,
        TerminatingNamespace,
        Orphaned,
    ];
    prop_oneof![3 => Just(Whole::None), 1 => select(others)]
}

fn state() -> impl Strategy<Value = State> {
    let others = vec![
        State::Absent,
        State::Earlier,
        State::Terminating,
        State::OtherKind("addon"),
        State::OtherKind("earlier"),
    ];
    prop_oneof![8 => Just(State::Delivered), 1 => select(others)]
}

fn left() -> impl Strategy<Value = Left> {
    let owner =
        select(vec![Owner::Ours, Owner::Ours, Owner::Flux, Owner::Earlier, Owner::None, Owner::HandedOver]);
    let kind = select(FluxKind::DELIVERING.to_vec());
    let addon = select(vec!["old", "older", "cni", "policies", ""]);
    let rarely = || prop::bool::weighted(0.15);
    (kind, addon, owner, rarely(), rarely(), rarely()).prop_map(
        |(kind, addon, owner, suspended, terminating, reported)| Left {
            kind,
            addon,
            owner,
            suspended,
            terminating,
            reported,
        },
    )
}

pub(super) fn scene() -> impl Strategy<Value = Scene> {
    (
        any::<bool>(),
        hold(),
        prop::bool::weighted(0.1),
        vec(state(), 8),
        vec(left(), 0..4),
        prop::option::weighted(0.4, (0_i64..90, 0_u32..4)),
        select(vec![0, 0, 10, 40]),
    )
        .prop_map(|(by_git, hold, waits_for_field, planned, left, pruned, others)| Scene {
            by_git,
            hold,
            waits_for_field,
            planned,
            left,
            pruned,
            others,
        })
}

impl Scene {
    pub(super) fn present(&self) -> Present {
        let mut present = delivered();
        let template = object(&mut present, "HelmRelease", "one.monitoring").clone();
        let (_, planned) = planned(&present);
        let addons = planned.iter().filter(|planned| planned.step == Step::Addons);
        for (planned, state) in addons.zip(&self.planned) {
            set(&mut present, planned, *state);
        }
        if self.by_git {
            deliver_by_git(&mut present);
        }
        for (index, left) in self.left.iter().enumerate() {
            let object = left.object(&template, index);
            let addon = present.addons.values_mut().next().unwrap();
            if left.reported {
                report_removal(addon, left.addon, &object);
            }
            present.flux.push(object);
        }
        let addon = present.addons.values_mut().next().unwrap();
        let pruned = self.pruned.map(|(minutes, count)| Pruned {
            since: Time(Timestamp::now() - SignedDuration::from_mins(minutes)),
            count,
        });
        addon.status.get_or_insert_default().pruned = pruned;
        present.clusters = edited(|cluster| self.edit(cluster));
        self.add_other(&mut present);
        self.hold(&mut present);
        present
    }

    fn edit(&self, cluster: &mut Value) {
        match self.hold {
            Whole::Paused => cluster["spec"]["paused"] = json!(true),
            Whole::NotInitialized => cluster["status"] = json!({}),
            Whole::DeletedCluster => cluster["metadata"]["deletionTimestamp"] = json!("2026-11-21T10:00:00Z"),
            _ => {}
        }
        if self.waits_for_field {
            cluster["spec"]["controlPlaneEndpoint"] = json!({});
        }
    }

    /// Adds a paused Cluster of the same ClusterStack, whose objects count in the budget.
    fn add_other(&self, present: &mut Present) {
        let other = edited(|cluster| {
            cluster["metadata"]["name"] = json!("two");
            cluster["spec"]["paused"] = json!(true);
        });
        present.clusters.extend(other);
        for index in 0..self.others {
            let owner = json!({"apiVersion": "v1", "kind": "ClusterAddon", "name": "cluster-addon-two", "uid": "two"});
            present.flux.push(json!({
                "apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
                "metadata": {"name": format!("two.{index}"), "namespace": "demo", "ownerReferences": [owner]},
            }));
        }
    }

    fn hold(&self, present: &mut Present) {
        let deleted = Some(Time(Timestamp::UNIX_EPOCH));
        let stack = present.stacks.values_mut().next().unwrap();
        let addon = present.addons.values_mut().next().unwrap();
        addon.metadata.finalizers = Some(vec![labels::FINALIZER.to_owned()]);
        match self.hold {
            Whole::SuspendedStack => stack.spec.suspend = true,
            Whole::SuspendedAddon => addon.spec.suspend = true,
            Whole::DeletedAddon => addon.metadata.deletion_timestamp = deleted,
            Whole::Orphaned => {
                stack.metadata.deletion_timestamp = deleted;
                let orphan = (labels::ON_DELETE.to_owned(), labels::ORPHAN.to_owned());
                stack.metadata.annotations = Some([orphan].into());
            }
            Whole::Elsewhere => {
                let git =
                    json!({"mode": "Git", "git": {"url": "https://git.example.org/other.git", "path": "x"}});
                let mut other = stack.clone();
                other.spec.delivery = serde_json::from_value(git).unwrap();
                (other.metadata.name, other.metadata.uid) =
                    (Some("other".to_owned()), Some("other".to_owned()));
                addon.status.get_or_insert_default().committed_by = Some("demo/other".to_owned());
                present.stacks.insert(Key::new("demo", "other"), other);
            }
            _ => {}
        }
    }

    pub(super) fn namespaces(&self) -> BTreeMap<String, LiveNamespace> {
        let is_terminating = self.hold == Whole::TerminatingNamespace;
        [("demo".to_owned(), LiveNamespace { uid: "namespace".to_owned(), is_terminating })].into()
    }
}

fn set(present: &mut Present, planned: &PlannedObject, state: State) {
    let is_it =
        |object: &Value| object["kind"] == planned.id.kind && object["metadata"]["name"] == planned.id.name;
    match state {
        State::Delivered => {}
        State::Absent => present.flux.retain(|object| !is_it(object)),
        State::Earlier | State::Terminating | State::OtherKind(_) => {
            let object = present.flux.iter_mut().find(|object| is_it(object)).unwrap();
            match state {
                State::Earlier => object["metadata"]["annotations"][labels::PLAN_DIGEST] = json!("earlier"),
                State::OtherKind(uid) => {
                    object["kind"] = json!(other_kind(&planned.id.kind));
                    object["metadata"]["ownerReferences"] = json!([owner(uid)]);
                }
                _ => object["metadata"]["deletionTimestamp"] = json!("2026-11-21T10:00:00Z"),
            }
        }
    }
}

impl Left {
    fn object(&self, template: &Value, index: usize) -> Value {
        let mut object = template.clone();
        object["kind"] = json!(self.kind);
        let metadata = &mut object["metadata"];
        metadata["name"] = json!(format!("one.left-{index}"));
        // Of others it is a user's copy, or Flux applies it, or the ClusterAddon owns it.
        let is_named = self.addon == "old";
        let addon = if is_named { format!("left-{index}") } else { self.addon.to_owned() };
        metadata["labels"][labels::ADDON] = json!(addon);
        match self.owner {
            Owner::Ours => {}
            Owner::Earlier => metadata["ownerReferences"] = json!([owner("earlier")]),
            Owner::None => metadata["ownerReferences"] = json!([]),
            Owner::HandedOver => {
                metadata["ownerReferences"] = json!([owner("namespace")]);
                metadata["annotations"][labels::HANDED_OVER] = json!("one");
            }
            Owner::Flux => apply_by_flux(&mut object),
        }
        if self.suspended {
            object["spec"]["suspend"] = json!(true);
        }
        if self.terminating {
            object["metadata"]["deletionTimestamp"] = json!("2026-11-21T10:00:00Z");
        }
        object
    }
}
