//! Decides whether a `ClusterStack` may take its source from another namespace: the owner of the `GitRepository` says so.
//!
//! Beside a referenced repository the operator writes sources and charts, with the access of that repository. Who may
//! write `ClusterStack`s in one namespace must not get that in another one without the consent of those who own it.

use crate::api::ClusterStack;
use crate::api::labels::ALLOWED_NAMESPACES;
use crate::inputs::stack::{Stack, StackError};

/// The value that allows all namespaces.
const ALL: &str = "*";

/// Refuses a `ClusterStack` whose own `spec.source` refers to a `GitRepository` of another namespace without consent.
/// `allowed` is the value of the annotation of that `GitRepository`. The operator's default source is the choice of those
/// who run the operator, and needs no annotation.
pub fn check(stack: &ClusterStack, allowed: Option<&str>) -> Result<(), StackError> {
    let Some((namespace, name)) = Stack::source_key(stack, None) else { return Ok(()) };
    let from = stack.metadata.namespace.as_deref().unwrap_or("default");
    if namespace == from || allows(allowed.unwrap_or_default(), from) {
        return Ok(());
    }
    let command = command(&namespace, &name, from, allowed.is_some());
    let (stack, from) = (stack.metadata.name.clone().unwrap_or_default(), from.to_owned());
    Err(StackError::SourceNotAllowed { stack, namespace, name, from, command })
}

/// Whether a value of the annotation, which is a list of names that are separated by commas, or `*`, has a namespace.
fn allows(value: &str, namespace: &str) -> bool {
    value.split(',').map(str::trim).any(|allowed| allowed == ALL || allowed == namespace)
}

/// Returns the command with which the owner of the `GitRepository` allows the namespace, besides those that are allowed
/// now. It does not tell their names.
fn command(namespace: &str, name: &str, from: &str, has_others: bool) -> String {
    let on = format!("gitrepository {name} --namespace={namespace}");
    if !has_others {
        return format!("kubectl annotate {on} {ALLOWED_NAMESPACES}={from}");
    }
    let path = ALLOWED_NAMESPACES.replace('.', r"\.");
    let others = format!("$(kubectl get {on} --output=jsonpath='{{.metadata.annotations.{path}}}')");
    format!("kubectl annotate {on} --overwrite \"{ALLOWED_NAMESPACES}={others},{from}\"")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::api::Reason;

    fn stack(source: &Value) -> ClusterStack {
        let spec =
            json!({"provider": "docker", "name": "demo", "kubernetesVersion": "1.34", "source": source});
        let stack = json!({
            "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack",
            "metadata": {"name": "demo", "namespace": "team-b"}, "spec": spec,
        });
        serde_json::from_value(stack).unwrap()
    }

    #[test]
    fn reference_into_another_namespace_needs_consent() {
        let to = |namespace: &str| json!({"gitRepositoryRef": {"name": "stacks", "namespace": namespace}});
        let there = to("flux-system");
        let git = json!({"git": {"url": "https://git.example.org/stacks.git"}});
        let table = [
            ("no annotation", &there, None, false),
            ("an empty one", &there, Some(""), false),
            ("commas only", &there, Some(" , ,"), false),
            ("its name", &there, Some("team-b"), true),
            ("its name among others", &there, Some("team-a, team-b ,team-c"), true),
            ("the names of others", &there, Some("team-a,team-c"), false),
            ("the beginning of its name", &there, Some("team"), false),
            ("a longer name", &there, Some("team-bc"), false),
            ("a pattern, which is no name", &there, Some("team-*"), false),
            ("another separator", &there, Some("team-a team-b"), false),
            ("all", &there, Some("*"), true),
            ("all, among names", &there, Some("team-a,*"), true),
            ("its own namespace by name", &to("team-b"), None, true),
            ("its own namespace", &json!({"gitRepositoryRef": {"name": "stacks"}}), None, true),
            ("a repository of its own", &git, None, true),
            ("the default source of the operator", &Value::Null, None, true),
        ];
        for (what, source, allowed, expected) in table {
            assert_eq!(check(&stack(source), allowed).is_ok(), expected, "{what}");
        }
    }

    #[test]
    fn refusal_has_the_command_of_the_owner() {
        let source = json!({"gitRepositoryRef": {"name": "stacks", "namespace": "flux-system"}});
        let refusal = |allowed| {
            let error = check(&stack(&source), allowed).unwrap_err();
            assert_eq!(error.reason(), Reason::SourceNotAllowed);
            error.to_string()
        };
        assert_eq!(
            refusal(None),
            "ClusterStack demo refers to GitRepository flux-system/stacks, which does not allow namespace team-b in its \
             annotation clusterstack.x-k8s.io/allowed-namespaces: nothing is written, and what was delivered stays; its \
             owner allows it with: kubectl annotate gitrepository stacks --namespace=flux-system \
             clusterstack.x-k8s.io/allowed-namespaces=team-b"
        );
        let other = refusal(Some("team-a"));
        let added = "kubectl annotate gitrepository stacks --namespace=flux-system --overwrite \
                     \"clusterstack.x-k8s.io/allowed-namespaces=$(kubectl get gitrepository stacks \
                     --namespace=flux-system --output=jsonpath='{.metadata.annotations.clusterstack\\.x-k8s\\.io\
                     /allowed-namespaces}'),team-b\"";
        assert!(other.ends_with(added), "{other}");
        assert!(!other.contains("team-a"), "{other}");
    }
}
