//! What to do about the blocking steps of a chain: by the cause that a message proves, otherwise by the reason.

use serde::Serialize;

use super::cause::proven;
use super::next::Place;
use super::step::Step;
use crate::api::Reason;

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Action {
    /// The step that the advice is about; `None` if there is only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The cause that the message proves, or our reason: `stackflux explain` describes both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<&'static str>,
    /// What to do, in one sentence; in a second one, where else the cause can be.
    pub text: String,
    /// The next commands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
}

/// Reasons of many causes: what a message proves is better.
pub(super) const GENERAL: &[Reason] = &[
    Reason::Several,
    Reason::Failed,
    Reason::Waiting,
    Reason::Retrying,
    Reason::RepeatedlyFailing,
    Reason::DeadlineExceeded,
    Reason::RolledBack,
    Reason::Progressing,
    Reason::Pending,
    Reason::NotYetReported,
    Reason::DeliveryFailed,
    Reason::PushFailed,
    Reason::PublishFailed,
    Reason::UpstreamUnavailable,
];

/// What to do about an object that the operator has not looked at.
pub(super) const WAIT_FOR_OPERATOR: &str =
    "Wait; if it takes long, check that the operator runs and watches this namespace.";
const CLUSTER: &str = "clusterctl describe cluster {cluster} -n {cluster-ns} --show-conditions=all";
const OVERRIDE: &str = "kubectl describe clusteraddonoverride {cluster} -n {cluster-ns}";
const ADDON: &str = "kubectl describe clusteraddon cluster-addon-{cluster} -n {cluster-ns}";
const STACK: &str = "kubectl describe clusterstack {stack} -n {stack-ns}";
const RELEASE: &str = "kubectl describe clusterstackrelease {release} -n {release-ns}";
const SECRET: &str = "kubectl get secret {secret} -n {secret-ns}";
const LOGS: &str = "flux logs --kind={Kind} --name={name} -n {ns}";

/// Returns the advice about a path from the blocking step down to its cause: about the innermost step that has a specific reason
/// or whose message proves a cause, otherwise about the innermost one with a general reason.
#[must_use]
pub(super) fn advice(path: &[&Step]) -> Option<Action> {
    let specific = path.iter().rev().find_map(|step| of_cause(step).or_else(|| of_reason(step, false)));
    let general = || path.iter().rev().find_map(|step| of_reason(step, true));
    let last = || path.last().map(|step| of(step, Reason::of(&step.reason).unwrap_or(Reason::Failed)));
    specific.or_else(general).or_else(last)
}

/// Returns the advice about the cause that the message of a step proves, unless our own reason is more specific.
fn of_cause(step: &Step) -> Option<Action> {
    let is_specific = step.known.is_some_and(|known| !GENERAL.contains(&known));
    let cause = proven(step.component?, &step.message).filter(|_| !is_specific)?;
    Some(Action {
        about: Some(step.what.clone()),
        cause: Some(cause.name),
        text: cause.action.to_owned(),
        commands: next(&step.place, cause.commands),
    })
}

fn of_reason(step: &Step, is_general: bool) -> Option<Action> {
    let known = step.known.filter(|known| GENERAL.contains(known) == is_general)?;
    (known != Reason::Several).then(|| of(step, known))
}

/// Returns the advice for a reason. Of an object of our own kinds, it is the operator that has not reported yet.
pub(super) fn of(step: &Step, reason: Reason) -> Action {
    let is_operators = reason == Reason::NotYetReported && step.place.flux.is_none();
    Action {
        about: Some(step.what.clone()),
        cause: Some(reason.as_str()),
        text: if is_operators { WAIT_FOR_OPERATOR } else { reason.action() }.to_owned(),
        commands: next(&step.place, commands(reason)),
    }
}

/// Returns the commands with the names of a place; if it has none of the names, the command that shows the object.
pub(super) fn next(place: &Place, templates: &[&str]) -> Vec<String> {
    let found = place.fill(templates);
    let shown = [LOGS, ADDON, RELEASE, STACK].into_iter().map(|template| place.fill(&[template]));
    if found.is_empty() {
        shown.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
    } else {
        found
    }
}

/// Returns the commands that show more about a reason, with placeholders. Those without a name are left out.
#[must_use]
pub fn commands(reason: Reason) -> &'static [&'static str] {
    match reason {
        Reason::ControlPlaneNotInitialized
        | Reason::Unreachable
        | Reason::WaitingForClusterAPI
        | Reason::WaitingForUpgrade
        | Reason::Upgrading
        | Reason::WaitingForField
        | Reason::WaitingForObject => &[CLUSTER],
        Reason::Paused => &[
            "kubectl get clusters.cluster.x-k8s.io {cluster} -n {cluster-ns} -o jsonpath='{.spec.paused} {.metadata.annotations}'",
        ],
        Reason::Deleting => &[
            "kubectl get clusters.cluster.x-k8s.io {cluster} -n {cluster-ns} -o jsonpath='{.metadata.finalizers}'",
        ],
        Reason::KubeConfigNotFound => &[SECRET, CLUSTER],
        Reason::KubernetesVersionMismatch | Reason::ClassUnknown => &[
            "kubectl get clusters.cluster.x-k8s.io {cluster} -n {cluster-ns} -o jsonpath='{.spec.topology}'",
        ],
        Reason::ApplierUnavailable => &[
            "kubectl get deployments -n flux-system",
            "kubectl logs deployment/{controller} -n flux-system --tail=20",
        ],
        Reason::FluxTooOld => {
            &["flux version", "kubectl get crd helmreleases.helm.toolkit.fluxcd.io --show-labels"]
        }
        Reason::FluxVersionUnknown => &[
            "kubectl auth can-i get crd/helmreleases.helm.toolkit.fluxcd.io --as system:serviceaccount:flux-system:stackflux",
        ],
        Reason::OverrideRefused | Reason::ClusterNotFound => &[OVERRIDE],
        Reason::ReleaseNotFound
        | Reason::ReleaseNotOffered
        | Reason::SecretInvalid
        | Reason::PushFailed
        | Reason::PublishFailed
        | Reason::UpstreamUnavailable
        | Reason::NoSource
        | Reason::SourceNotFound
        | Reason::SourceNotAllowed
        | Reason::AccessDenied
        | Reason::ReleaseClaimed
        | Reason::ComponentInvalid
        | Reason::SettingsInvalid => &[STACK],
        Reason::PruneBudgetExceeded => {
            &[STACK, "kubectl annotate clusterstack {stack} -n {stack-ns} {prune}  # deletes all of them now"]
        }
        Reason::DependencyInvalid => {
            &["kubectl get clusterstack {stack} -n {stack-ns} -o jsonpath='{.spec.flux.addons}'", RELEASE]
        }
        Reason::ValuesInvalid => &[
            "kubectl get clusters.cluster.x-k8s.io {cluster} -n {cluster-ns} -o yaml > {cluster}.yaml",
            ADDON,
        ],
        Reason::Invalid
        | Reason::ReleaseMutated
        | Reason::PinUnreachable
        | Reason::ProviderNotReady
        | Reason::ProviderTemplateNotFound
        | Reason::WaitingForProvider
        | Reason::WaitingForNodeImages
        | Reason::InUse => &[RELEASE],
        Reason::TemplateFailed | Reason::RefusedByChart => {
            &[LOGS, "kubectl get {kind} {name} -n {ns} -o jsonpath='{.spec.values}'"]
        }
        Reason::KindNotInstalled => &[
            "clusterctl get kubeconfig {cluster} -n {cluster-ns} > {cluster}.kubeconfig",
            "kubectl --kubeconfig {cluster}.kubeconfig api-resources",
            LOGS,
        ],
        Reason::Foreign | Reason::AlreadyExists => {
            &["kubectl get {kind} {name} -n {ns} -o yaml --show-managed-fields"]
        }
        Reason::Suspended => &[
            "kubectl get {kind} {name} -n {ns} -o yaml --show-managed-fields",
            "flux resume source {source} {name} -n {ns}",
            "flux resume {applier} {name} -n {ns}",
            "stackflux resume {suspended}",
        ],
        Reason::WaitingForStage => &[
            "kubectl get clusteraddon cluster-addon-{cluster} -n {cluster-ns} -o jsonpath='{.status.stages}'",
        ],
        Reason::NotYetReported => &[LOGS, "kubectl get pods -A -l app.kubernetes.io/name=stackflux"],
        _ => &[LOGS],
    }
}
