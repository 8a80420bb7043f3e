//! The rights that the roles of an installation grant to its account.

use std::fmt;

use serde::Deserialize;
use serde_json::Value;

/// A verb that an account may use on a resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// The namespace; `None` for all of them.
    pub namespace: Option<String>,
    /// The verb.
    pub verb: String,
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource in the plural; a subresource comes after a slash. A path of the API server begins with one.
    pub resource: String,
    /// The name of the only object; `None` for all of them.
    pub name: Option<String>,
}

impl Right {
    /// Creates the right to use a verb on a resource in all namespaces.
    #[must_use]
    pub fn everywhere(verb: &str, group: &str, resource: &str) -> Self {
        let [verb, group, resource] = [verb, group, resource].map(str::to_owned);
        Self { namespace: None, verb, group, resource, name: None }
    }

    /// Returns the arguments of `kubectl auth can-i` that ask for the right.
    #[must_use]
    pub fn question(&self) -> String {
        if self.resource.starts_with('/') {
            return format!("{} {}", self.verb, self.resource);
        }
        let place = self.namespace.as_ref().map_or_else(|| "-A".to_owned(), |name| format!("-n {name}"));
        let (resource, sub) = self.resource.split_once('/').unwrap_or((&self.resource, ""));
        let sub = if sub.is_empty() { String::new() } else { format!(" --subresource={sub}") };
        let dot = if self.group.is_empty() { "" } else { "." };
        let name = self.name.as_ref().map(|name| format!("/{name}")).unwrap_or_default();
        format!("{} {resource}{dot}{}{name}{sub} {place}", self.verb, self.group)
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.group.is_empty() { "" } else { "." };
        write!(f, "{} {}{dot}{}", self.verb, self.resource, self.group)?;
        if let Some(name) = &self.name {
            write!(f, " {name}")?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " in namespace {namespace}"),
            None => Ok(()),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    api_groups: Vec<String>,
    resources: Vec<String>,
    verbs: Vec<String>,
    #[serde(default)]
    resource_names: Vec<String>,
}

/// Returns the rights that the roles among the objects grant through a binding to an account, in their order. An aggregated
/// role has none: what it aggregates depends on the cluster.
#[must_use]
pub fn granted(objects: &[Value]) -> Vec<Right> {
    let text = |object: &Value, pointer: &str| -> String {
        object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let mut rights = Vec::new();
    for binding in objects.iter().filter(|object| text(object, "/kind").ends_with("RoleBinding")) {
        let (kind, name) = (text(binding, "/roleRef/kind"), text(binding, "/roleRef/name"));
        let namespace = Some(text(binding, "/metadata/namespace")).filter(|namespace| !namespace.is_empty());
        let is_role = |object: &&Value| {
            let is_here = kind == "ClusterRole"
                || object.pointer("/metadata/namespace") == binding.pointer("/metadata/namespace");
            (text(object, "/kind"), text(object, "/metadata/name")) == (kind.clone(), name.clone()) && is_here
        };
        let rules = objects.iter().find(is_role).and_then(|role| role.get("rules")?.as_array());
        for rule in rules.into_iter().flatten().filter_map(|rule| Rule::deserialize(rule).ok()) {
            add(&mut rights, &rule, namespace.as_ref());
        }
    }
    rights
}

/// Adds each combination of a rule's group, resource, verb and name.
fn add(rights: &mut Vec<Right>, rule: &Rule, namespace: Option<&String>) {
    let names: Vec<Option<&String>> = match rule.resource_names.as_slice() {
        [] => vec![None],
        names => names.iter().map(Some).collect(),
    };
    for group in &rule.api_groups {
        for resource in &rule.resources {
            for verb in &rule.verbs {
                rights.extend(names.iter().map(|name| Right {
                    namespace: namespace.cloned(),
                    name: name.cloned(),
                    ..Right::everywhere(verb, group, resource)
                }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FLUX_NAMESPACE, IMAGE, objects};
    use super::*;

    fn rights(namespace: &str) -> Vec<String> {
        granted(&objects(namespace, IMAGE).unwrap()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn rights_are_those_of_the_bound_roles() {
        let rights = rights(FLUX_NAMESPACE);
        for expected in [
            "patch clusters.cluster.x-k8s.io",
            "get customresourcedefinitions.apiextensions.k8s.io",
            "patch clusteraddons/status.clusterstack.x-k8s.io",
            "delete namespaces",
            "create leases.coordination.k8s.io in namespace flux-system",
            "update leases.coordination.k8s.io stackflux-leader-election in namespace flux-system",
            "get leases.coordination.k8s.io helm-controller-leader-election in namespace flux-system",
        ] {
            assert!(rights.iter().any(|right| right == expected), "{expected} is missing in {rights:#?}");
        }
        // The roles of users, and the infrastructure kinds of an aggregated role, are bound to others or not at all.
        for other in ["deletecollection", "openstackclusters"] {
            assert!(!rights.iter().any(|right| right.contains(other)), "{other}");
        }
    }

    #[test]
    fn role_in_the_namespace_of_flux_counts_too() {
        let rights = rights("platform");
        for expected in [
            "update leases.coordination.k8s.io stackflux-leader-election in namespace platform",
            "get leases.coordination.k8s.io source-controller-leader-election in namespace flux-system",
        ] {
            assert!(rights.iter().any(|right| right == expected), "{expected} is missing in {rights:#?}");
        }
    }

    #[test]
    fn right_is_a_question_for_kubectl() {
        assert_eq!(Right::everywhere("get", "", "/version").question(), "get /version");
        let of = |resource: &str, group: &str| Right::everywhere("patch", group, resource);
        let lease = Right {
            namespace: Some("platform".to_owned()),
            name: Some("leader".to_owned()),
            ..of("leases", "coordination.k8s.io")
        };
        for (right, expected) in [
            (of("namespaces", ""), "patch namespaces -A"),
            (
                of("clusterstacks/status", "example.org"),
                "patch clusterstacks.example.org --subresource=status -A",
            ),
            (lease, "patch leases.coordination.k8s.io/leader -n platform"),
        ] {
            assert_eq!(right.question(), expected);
        }
    }
}
