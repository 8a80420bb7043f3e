//! Values of an addon that its release does not have: those of the platform, and those that the owner of a Cluster requests.

use crate::api::{ClusterAddonOverride, ClusterStack, Reason};
use crate::names::Key;

/// Reasons and causes of failures that values can have, and for which the advice is a new release.
const OF_VALUES: &[&str] = &[
    Reason::RolledBack.as_str(),
    Reason::Failed.as_str(),
    Reason::RepeatedlyFailing.as_str(),
    Reason::TemplateFailed.as_str(),
    Reason::RefusedByChart.as_str(),
    "FieldImmutable",
    "SuccessReportedWrongly",
    "RefusedByPolicy",
    "ObjectInvalid",
    "HookFailed",
];

/// Returns the places of values of an addon that a new release does not change; empty if it has the values of its release only.
pub(super) fn places(
    stack: Option<&ClusterStack>,
    requested: Option<&ClusterAddonOverride>,
    addon: &str,
) -> Vec<String> {
    let mut found = Vec::new();
    let settings = stack.and_then(|stack| Some((Key::of(stack), stack.spec.flux.addons.get(addon)?)));
    if let Some((key, settings)) = settings {
        for (field, is_set) in
            [("values", !settings.values.is_empty()), ("valuesFrom", !settings.values_from.is_empty())]
        {
            if is_set {
                found.push(format!("spec.flux.addons.{addon}.{field} of ClusterStack {key}"));
            }
        }
    }
    let status = requested.and_then(|requested| Some((requested, requested.status.as_ref()?)));
    if let Some((requested, status)) = status {
        let mut in_effect = status.addons.iter().filter(|answer| answer.name == addon);
        if in_effect.any(|answer| answer.in_effect.iter().any(|field| field == "values")) {
            found.push(format!("spec.addons.{addon}.values of ClusterAddonOverride {}", Key::of(requested)));
        }
    }
    found
}

/// Returns the sentence that values of these places can be a cause, too; `None` if they cannot.
pub(super) fn hint(cause: Option<&str>, places: &[String]) -> Option<String> {
    let can_be = cause.is_some_and(|cause| OF_VALUES.contains(&cause));
    (can_be && !places.is_empty()).then(|| {
        format!("The cause can also be in {}, which a new release does not change.", places.join(" or in "))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::explain::words::explained;

    fn stack(settings: &Value) -> ClusterStack {
        serde_json::from_value(json!({
            "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack",
            "metadata": {"name": "demo", "namespace": "stacks"},
            "spec": {
                "provider": "docker", "name": "demo", "kubernetesVersion": "1.34", "noProvider": true,
                "flux": {"addons": {"cni": settings}},
            },
        }))
        .unwrap()
    }

    fn requested(in_effect: &[&str]) -> ClusterAddonOverride {
        serde_json::from_value(json!({
            "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterAddonOverride",
            "metadata": {"name": "two", "namespace": "prod"},
            "spec": {"addons": {"cni": {"values": {"a": 1}}}},
            "status": {"addons": [{"name": "cni", "accepted": true, "inEffect": in_effect}]},
        }))
        .unwrap()
    }

    #[test]
    fn values_beyond_the_release_are_named() {
        let of_stack = |field: &str| format!("spec.flux.addons.cni.{field} of ClusterStack stacks/demo");
        let of_override = "spec.addons.cni.values of ClusterAddonOverride prod/two".to_owned();
        let from = json!([{"kind": "ConfigMap", "name": "site"}]);
        for (settings, in_effect, addon, expected) in [
            (json!({}), None, "cni", vec![]),
            (json!({"timeout": "5m"}), None, "cni", vec![]),
            (json!({"values": {"a": 1}}), None, "cni", vec![of_stack("values")]),
            (json!({"valuesFrom": from}), None, "cni", vec![of_stack("valuesFrom")]),
            (json!({}), Some(&["values"][..]), "cni", vec![of_override.clone()]),
            (json!({}), Some(&["suspend"][..]), "cni", vec![]),
            (
                json!({"values": {"a": 1}, "valuesFrom": from}),
                Some(&["suspend", "values"][..]),
                "cni",
                vec![of_stack("values"), of_stack("valuesFrom"), of_override],
            ),
            (json!({"values": {"a": 1}}), Some(&["values"][..]), "ccm", vec![]),
        ] {
            let requested = in_effect.map(requested);
            let found = places(Some(&stack(&settings)), requested.as_ref(), addon);
            assert_eq!(found, expected, "{settings} {in_effect:?} {addon}");
        }
        assert_eq!(places(None, None, "cni"), Vec::<String>::new());
    }

    #[test]
    fn values_are_mentioned_if_they_can_be_the_cause() {
        let places = ["one".to_owned(), "two".to_owned()];
        for (cause, expected) in [
            (
                Some("RolledBack"),
                Some("The cause can also be in one or in two, which a new release does not change."),
            ),
            (
                Some("ObjectInvalid"),
                Some("The cause can also be in one or in two, which a new release does not change."),
            ),
            (Some("ChartNotFound"), None),
            (Some("ClusterUnreachable"), None),
            (None, None),
        ] {
            assert_eq!(hint(cause, &places).as_deref(), expected, "{cause:?}");
        }
        assert_eq!(hint(Some("RolledBack"), &[]), None);
        for word in OF_VALUES {
            assert!(explained(word).is_some_and(|found| found.action.is_some()), "{word}");
        }
    }
}
