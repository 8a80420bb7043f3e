//! The status of a `ClusterAddonOverride`: which requests for the addons of its Cluster are accepted.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::report::{ConditionStatus, Report, conditions};
use crate::api::cluster_addon_override::{
    AddonRequest, ClusterAddonOverride, ClusterAddonOverrideStatus, RequestStatus,
};
use crate::api::conditions::{ConditionType, Reason};
use crate::inputs::ClusterInputs;
use crate::inputs::overrides::{MAX_ENTRIES, Requests, offered, without_effect};
use crate::inputs::stack::Stack;
use crate::names::AddonName;
use crate::plan;
use crate::release::Release;

/// What the requests of a `ClusterAddonOverride` are judged by.
#[derive(Clone, Debug)]
pub enum RequestTarget<'a> {
    /// There is no Cluster of its name.
    NoCluster,
    /// They cannot be judged, for this reason: the answers stay as they were.
    Unknown(Report),
    /// A release with the components of its `ClusterStack`.
    Release {
        /// The `ClusterStack`.
        stack: &'a Stack,
        /// The release.
        release: &'a Release,
        /// The Cluster with the requests.
        inputs: &'a ClusterInputs,
        /// The version of each addon that Flux has fetched.
        versions: &'a BTreeMap<AddonName, String>,
    },
}

/// Computes the whole status.
#[must_use]
pub fn cluster_addon_override(
    found: &ClusterAddonOverride,
    target: &RequestTarget,
    now: Timestamp,
) -> ClusterAddonOverrideStatus {
    let old = found.status.clone().unwrap_or_default();
    let generation = found.metadata.generation.unwrap_or_default();
    let is_kept =
        matches!(target, RequestTarget::Unknown(_)) && !(old.addons.is_empty() && old.available.is_empty());
    // Answers that are kept are those for an earlier spec. The conditions have a generation of their own.
    let observed_generation = old.observed_generation.filter(|_| is_kept).or(Some(generation));
    let (addons, available, report) = match target {
        RequestTarget::NoCluster => {
            let name = found.metadata.name.as_deref().unwrap_or_default();
            let message = format!("there is no Cluster {name} in this namespace: it may be created later");
            let report = Report::new(ConditionStatus::False, Reason::ClusterNotFound.as_str(), &message);
            (Vec::new(), Vec::new(), report)
        }
        RequestTarget::Unknown(report) => (old.addons, old.available, report.clone()),
        RequestTarget::Release { stack, release, inputs, versions } => {
            let requests = inputs.requests(stack, release);
            let answers = answers((stack, release), inputs, &requests);
            let report = accepted(&answers);
            (answers, offered(stack, release, (&inputs.cluster, &requests), versions), report)
        }
    };
    let reports = [(ConditionType::Ready, report.clone()), (ConditionType::Accepted, report)];
    ClusterAddonOverrideStatus {
        addons,
        available,
        observed_generation,
        conditions: conditions(reports, generation, &old.conditions, now),
    }
}

fn answers(
    (stack, release): (&Stack, &Release),
    inputs: &ClusterInputs,
    requests: &Requests,
) -> Vec<RequestStatus> {
    let answer = |(name, request): (&str, &AddonRequest)| {
        let refused = requests.refused(name).to_vec();
        let addon = release.addons.iter().find(|addon| addon.name.as_str() == name);
        let template = addon.and_then(|addon| addon.template.as_ref()).filter(|_| !request.values.is_empty());
        // The status of the ClusterAddon reports a template that cannot be rendered.
        let rendered = template.and_then(|template| plan::values(template, inputs).ok());
        let targets = plan::overlaps::targets(stack.flux.addons.get(name));
        let higher = [rendered.unwrap_or_default(), targets];
        let mut without: Vec<String> = Vec::new();
        for path in higher.iter().flat_map(|of| without_effect(&request.values, of)) {
            if without.len() < MAX_ENTRIES && !without.contains(&path) {
                without.push(path);
            }
        }
        RequestStatus {
            name: name.to_owned(),
            accepted: refused.is_empty(),
            in_effect: requests.in_effect(name, addon),
            refused,
            without_effect: without,
        }
    };
    requests.all().map(answer).collect()
}

fn accepted(answers: &[RequestStatus]) -> Report {
    let refused: Vec<&RequestStatus> = answers.iter().filter(|answer| !answer.accepted).collect();
    let Some(first) = refused.first().and_then(|answer| answer.refused.first()) else {
        return Report::new(ConditionStatus::True, Reason::Accepted.as_str(), Reason::Accepted.meaning());
    };
    let named = |is_held: bool| {
        let of = refused.iter().filter(|answer| answer.in_effect.is_empty() != is_held);
        of.map(|answer| answer.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let becomes = [
        (
            named(true),
            "is refused: what the Cluster has of it stays as it is, because the request was accepted before",
        ),
        (named(false), "is refused, and makes no difference"),
    ];
    let becomes = becomes.iter().filter(|(names, _)| !names.is_empty());
    let becomes: Vec<String> =
        becomes.map(|(names, what)| format!("the request for {names} {what}")).collect();
    let message = format!("{}: {}; {}", first.field, first.rule, becomes.join("; "));
    Report::new(ConditionStatus::False, Reason::OverrideRefused.as_str(), &message)
}

#[cfg(test)]
mod tests;
