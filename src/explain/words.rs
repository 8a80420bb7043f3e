//! The words in statuses and answers, explained: reasons, conditions and causes.

use serde::Serialize;

use super::advice::{GENERAL, commands};
use super::cause::{Cause, Component, causes};
use crate::api::{ConditionType, Reason};
use crate::release::finding;

/// A word, and what it stands for.
#[derive(Clone, Debug, Serialize)]
pub struct Explained {
    /// The word.
    pub word: &'static str,
    /// What kind of word it is, such as `a reason of stackflux`.
    pub is: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// What to do; absent if that depends on the cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<&'static str>,
    /// The next commands, with placeholders in braces.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub commands: &'static [&'static str],
    /// The causes that a message can prove.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Explained>,
}

/// A frequent reason of Flux: the word, the components whose messages have the cause, and what it means.
type FluxReason = (&'static str, &'static [Component], &'static str);

/// The frequent reasons of Flux 2.9 (`fluxcd/pkg/apis/meta`, and the API packages of its controllers).
const OF_FLUX: &[FluxReason] = &[
    ("GitOperationFailed", &[Component::Git], "Flux cannot fetch the Git repository."),
    ("AuthenticationFailed", &[Component::Git, Component::Oci], "Flux cannot log in to the source."),
    ("OCIArtifactPullFailed", &[Component::Oci], "Flux cannot fetch the OCI artifact."),
    ("ReadOperationFailed", &[Component::Oci], "Flux cannot list the tags of the OCI repository."),
    (
        "VerificationError",
        &[Component::Git, Component::Oci],
        "Flux cannot verify the signature of the source.",
    ),
    ("InvalidChartReference", &[Component::Chart], "The source does not have the chart."),
    ("SourceUnavailable", &[Component::Chart], "The source of the chart is not ready."),
    ("ChartPackageError", &[Component::Chart], "Flux cannot package the chart."),
    (
        "ArtifactFailed",
        &[Component::Helm, Component::Manifests],
        "Flux cannot read the content of the addon.",
    ),
    ("SourceNotReady", &[Component::Helm, Component::Chart], "The chart of the addon is not ready."),
    ("ValuesError", &[Component::Helm], "Flux cannot read the values of the addon."),
    ("RESTClientError", &[Component::Helm], "Flux cannot use the kubeconfig of the cluster."),
    ("StateError", &[Component::Helm], "Flux cannot read Helm's records in the cluster."),
    ("InstallFailed", &[Component::Helm], "Helm cannot install the chart."),
    ("UpgradeFailed", &[Component::Helm], "Helm cannot upgrade the chart."),
    ("UninstallFailed", &[Component::Helm], "Helm cannot uninstall the chart."),
    ("RollbackFailed", &[Component::Helm], "Helm cannot roll back the chart."),
    ("RetriesExceeded", &[Component::Helm], "Flux has given up: the last attempt failed as well."),
    ("BuildFailed", &[Component::Manifests], "Flux cannot build the manifests with Kustomize."),
    ("ReconciliationFailed", &[Component::Manifests], "Flux cannot apply the manifests."),
    ("HealthCheckFailed", &[Component::Manifests], "What Flux has applied does not become ready."),
    ("PruneFailed", &[Component::Manifests], "Flux cannot delete what the manifests do not have now."),
];

/// Returns what a word stands for, in any case; `None` if it is unknown.
#[must_use]
pub fn explained(word: &str) -> Option<Explained> {
    let is_it = |known: &str| known.eq_ignore_ascii_case(word);
    let reason = || Reason::ALL.into_iter().find(|reason| is_it(reason.as_str())).map(of_reason);
    let condition = || ConditionType::ALL.into_iter().find(|kind| is_it(kind.as_str())).map(of_condition);
    let cause = || self::causes().find(|cause| is_it(cause.name)).map(of_cause);
    let flux = || OF_FLUX.iter().find(|(word, ..)| is_it(word)).map(of_flux);
    let finding = || finding::Reason::ALL.into_iter().find(|reason| is_it(reason.as_str())).map(of_finding);
    reason().or_else(condition).or_else(cause).or_else(flux).or_else(finding)
}

/// Returns all words, by what they are.
#[must_use]
pub fn all() -> [(&'static str, Vec<&'static str>); 4] {
    [
        ("conditions", ConditionType::ALL.map(ConditionType::as_str).to_vec()),
        ("reasons of stackflux", Reason::ALL.map(Reason::as_str).to_vec()),
        ("reasons of Flux", OF_FLUX.iter().map(|(word, ..)| *word).collect()),
        ("causes", self::causes().map(|cause| cause.name).collect()),
    ]
}

fn of_reason(reason: Reason) -> Explained {
    Explained {
        word: reason.as_str(),
        is: "a reason of stackflux",
        meaning: reason.meaning(),
        action: Some(reason.action()),
        commands: commands(reason),
        causes: if GENERAL.contains(&reason) { of_components(components(reason)) } else { Vec::new() },
    }
}

fn of_condition(kind: ConditionType) -> Explained {
    Explained {
        word: kind.as_str(),
        is: "a condition",
        meaning: kind.meaning(),
        action: None,
        commands: &[],
        causes: Vec::new(),
    }
}

fn of_cause(cause: &'static Cause) -> Explained {
    Explained {
        word: cause.name,
        is: "a cause, which a message of Flux, Helm or a Git server proves",
        meaning: cause.meaning,
        action: Some(cause.action),
        commands: cause.commands,
        causes: Vec::new(),
    }
}

fn of_finding(reason: finding::Reason) -> Explained {
    Explained {
        word: reason.as_str(),
        is: "a finding in a release, which the message describes",
        ..of_reason(Reason::Invalid)
    }
}

fn of_flux(&(word, components, meaning): &FluxReason) -> Explained {
    Explained {
        word,
        is: "a reason of Flux",
        meaning,
        action: None,
        commands: &[],
        causes: of_components(components),
    }
}

/// Returns the components whose messages have the cause of a general reason.
fn components(reason: Reason) -> &'static [Component] {
    match reason {
        Reason::DeliveryFailed => &[Component::Writing],
        Reason::PushFailed => &[Component::Delivery],
        Reason::PublishFailed | Reason::UpstreamUnavailable => &[Component::Publishing],
        _ => &[Component::Chart, Component::Helm, Component::Manifests],
    }
}

fn of_components(components: &[Component]) -> Vec<Explained> {
    let is_of = |cause: &&Cause| components.iter().any(|component| cause.is_of(*component));
    self::causes().filter(is_of).map(of_cause).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn each_word_is_explained_once() {
        let mut seen: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (of, words) in all() {
            for word in words {
                let found = explained(&word.to_lowercase()).unwrap();
                assert_eq!(found.word, word);
                seen.entry(word.to_lowercase()).or_default().push(of);
            }
        }
        let shared: Vec<_> = seen.into_iter().filter(|(_, of)| of.len() > 1).collect();
        let both = vec!["conditions", "reasons of stackflux"];
        let expected = ["accepted", "delivered", "inuse"].map(|word| (word.to_owned(), both.clone()));
        assert_eq!(shared, expected, "a word with two meanings: a reason comes first");
        assert_eq!(
            explained("missingfile").map(|found| found.word),
            Some("MissingFile"),
            "a finding in a release"
        );
        assert_eq!(explained("nonsense").map(|found| found.word), None);
    }

    #[test]
    fn general_reason_lists_what_messages_prove() {
        let causes = |word: &str| {
            explained(word).unwrap().causes.into_iter().map(|cause| cause.word).collect::<Vec<_>>()
        };
        assert!(causes("InstallFailed").contains(&"WorkloadsNotReady"), "{:?}", causes("InstallFailed"));
        assert!(causes("PushFailed").contains(&"TokenRefused"));
        assert!(causes("GitOperationFailed").contains(&"CredentialsRefused"));
        assert!(causes("Paused").is_empty(), "a specific reason is its own cause");
    }
}
