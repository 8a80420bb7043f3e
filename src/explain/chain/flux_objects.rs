//! The Flux objects of a chain, each with its causes and its source.

use super::Chain;
use crate::api::Reason;
use crate::explain::advice::GENERAL;
use crate::explain::cause::{Component, proven};
use crate::explain::flux::{FluxObject, is_true};
use crate::explain::next::{Place, secret};
use crate::explain::snapshot::Snapshot;
use crate::explain::step::Role;
use crate::foreign::flux::FluxKind;
use crate::names::Key;
use crate::rollup::{ConditionStatus, Report};

impl Chain {
    /// Adds a step with a report on a Flux object. The advice is about what its message proves, otherwise about its reason if that is
    /// specific, and otherwise about the step that the object delivers.
    fn add_flux(
        &mut self,
        depth: usize,
        role: Role,
        what: String,
        (kind, key, object): (FluxKind, &Key, Option<&FluxObject>),
        report: &Report,
    ) {
        let mut step = self.step(depth, role, what, report);
        let named = object.and_then(FluxObject::secret).map(|name| Key::new(&key.namespace, name));
        // A message that names no workload is about one of those that were applied.
        if step.place.workloads.is_empty() && !step.is_true() {
            step.place.workloads = object.map(FluxObject::workloads).unwrap_or_default();
        }
        let place = Place {
            flux: Some((kind, key.clone())),
            secret: secret(&report.message, &key.namespace).or(named),
            ..step.place
        };
        step.place = place;
        let component = Component::from(kind);
        let is_specific = |reason: &Reason| !GENERAL.contains(reason);
        let is_proven = proven(component, &report.message).is_some();
        step.known = Reason::of(&report.reason).filter(is_specific).filter(|_| !is_proven);
        step.component = Some(component);
        self.steps.push(step);
    }

    /// Adds a Flux object, its causes, and its source.
    pub(super) fn flux(&mut self, depth: usize, snapshot: &Snapshot, kind: FluxKind, key: &Key) {
        let (what, report) = (format!("{kind} {key}"), snapshot.flux_report(kind, key));
        let object = snapshot.flux(kind, key);
        self.add_flux(depth, Role::Part, what.clone(), (kind, key, object), &report);
        let Some(object) = object else { return };
        if !is_true(&report) {
            for (condition, cause) in object.causes() {
                if cause.message != report.message {
                    let what = format!("{what} {condition}");
                    self.add_flux(depth + 1, Role::Detail, what, (kind, key, Some(object)), &cause);
                }
            }
        }
        let Some((kind, key)) = object.source() else { return };
        let source = self.steps.len();
        self.flux(depth + 1, snapshot, kind, &key);
        let report = snapshot.flux(kind, &key).map(|_| snapshot.flux_report(kind, &key));
        if let (Some(step), Some(report)) = (self.steps.get_mut(source), report) {
            let failed = report.status == ConditionStatus::False;
            step.known = Reason::of(&report.reason).or(failed.then_some(Reason::Failed));
        }
    }
}
