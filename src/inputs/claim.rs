//! Which `ClusterStack` a source or chart belongs to, and the names of those that are written beside the repository of
//! another namespace.
//!
//! Sources and charts in the namespace of a `ClusterStack` are shared by the `ClusterStack`s of that namespace. In another
//! namespace each `ClusterStack` has its own, with its namespace, name and UID, so that two teams do not meet there. Objects
//! of earlier versions keep their names.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::api::labels::{STACK_NAME, STACK_NAMESPACE, STACK_UID};
use crate::inputs::stack::Stack;
use crate::names::{NameError, ObjectName, ReleaseName};
use crate::release::Digest;

/// The number of hex digits that tell the `ClusterStack` in a name.
const DIGITS: usize = 10;

/// The `ClusterStack`, or all of a namespace, that a source or chart belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The namespace.
    pub namespace: String,
    /// Name and UID of the `ClusterStack`, as far as they are known; empty if the object is shared in the namespace.
    pub name: String,
    /// The UID.
    pub uid: String,
}

impl Claim {
    /// Reads the claim in the metadata of an object; `None` for one that an earlier version wrote, or another client.
    #[must_use]
    pub fn of(object: &ObjectMeta) -> Option<Self> {
        let label = |name: &str| object.labels.as_ref()?.get(name).cloned();
        let name = object.annotations.as_ref().and_then(|found| found.get(STACK_NAME).cloned());
        let (name, uid) = (name.unwrap_or_default(), label(STACK_UID).unwrap_or_default());
        Some(Self { namespace: label(STACK_NAMESPACE)?, name, uid })
    }

    /// Returns the claim of a `ClusterStack` on what has a name of its own.
    #[must_use]
    pub fn own(stack: &Stack) -> Self {
        Self { name: stack.name.to_string(), uid: stack.uid.clone(), ..Self::shared(stack) }
    }

    /// Returns the claim of the namespace of a `ClusterStack`.
    #[must_use]
    pub fn shared(stack: &Stack) -> Self {
        Self { namespace: stack.namespace.to_string(), name: String::new(), uid: String::new() }
    }

    /// Whether a `ClusterStack` takes over an object with this claim that no status names. In another namespace, an
    /// earlier `ClusterStack` of the same name may have been that of another team.
    #[must_use]
    pub fn is_of(&self, stack: &Stack) -> bool {
        let is_same = self.namespace == stack.namespace.as_str();
        is_same && (stack.is_beside_source() || *self == Self::own(stack))
    }

    /// Returns the labels.
    pub fn labels(&self) -> impl Iterator<Item = (&'static str, String)> {
        let uid = Some((STACK_UID, self.uid.clone())).filter(|_| !self.uid.is_empty());
        std::iter::once((STACK_NAMESPACE, self.namespace.clone())).chain(uid)
    }

    /// Returns the annotation.
    pub fn annotations(&self) -> impl Iterator<Item = (&'static str, String)> {
        Some((STACK_NAME, self.name.clone())).filter(|_| !self.name.is_empty()).into_iter()
    }
}

/// Returns the name that only this `ClusterStack` gives: that which is used in its own namespace, and hex digits.
pub fn own_name(stack: &Stack, plain: &str) -> Result<ObjectName, NameError> {
    ObjectName::bounded(&format!("{plain}-{}", digits(stack)))
}

/// Returns both names that a source or chart of this `ClusterStack` may have.
#[must_use]
pub fn names(stack: &Stack, plain: &str) -> Vec<String> {
    own_name(stack, plain).map(|own| own.to_string()).into_iter().chain([plain.to_owned()]).collect()
}

/// Reads the release in the name of a source.
#[must_use]
pub fn release_of(stack: &Stack, source: &str) -> Option<ReleaseName> {
    let own = source.strip_suffix(&digits(stack)).and_then(|rest| rest.strip_suffix('-')?.parse().ok());
    own.or_else(|| source.parse().ok())
}

fn digits(stack: &Stack) -> String {
    let digest = Digest::of_bytes(format!("{}/{}", stack.namespace, stack.name).as_bytes()).to_string();
    digest.trim_start_matches("sha256:").chars().take(DIGITS).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn stack() -> Stack {
        let spec = json!({
            "provider": "docker", "name": "demo", "kubernetesVersion": "1.34",
            "source": {"git": {"url": "https://git.example.org/stacks.git"}},
        });
        let metadata = json!({"name": "demo", "namespace": "stacks", "uid": "uid"});
        let version = "clusterstack.x-k8s.io/v1alpha1";
        let stack =
            json!({"apiVersion": version, "kind": "ClusterStack", "metadata": metadata, "spec": spec});
        Stack::new(&serde_json::from_value(stack).unwrap(), None, std::iter::empty()).unwrap()
    }

    fn claim(labels: &Value, annotations: &Value) -> Option<Claim> {
        let object = json!({"labels": labels, "annotations": annotations});
        Claim::of(&serde_json::from_value(object).unwrap())
    }

    #[test]
    fn left_object_is_taken_over_by_its_own_stack_only() {
        let stack = stack();
        let mut there = stack.clone();
        there.source.namespace = "flux-system".parse().unwrap();
        let named = |namespace: &str, name: &str, uid: &str| {
            let labels = json!({STACK_NAMESPACE: namespace, STACK_UID: uid});
            claim(&labels, &json!({STACK_NAME: name})).unwrap()
        };
        let shared = |namespace: &str| claim(&json!({STACK_NAMESPACE: namespace}), &json!({})).unwrap();
        let table = [
            ("its namespace, beside it", &stack, shared("stacks"), true),
            ("another namespace, beside it", &stack, shared("tenant"), false),
            ("its own, beside it", &stack, named("stacks", "demo", "uid"), true),
            ("an earlier one of its name, beside it", &stack, named("stacks", "demo", "before"), true),
            ("one of another namespace, beside it", &stack, named("tenant", "demo", "uid"), false),
            ("its own, elsewhere", &there, named("stacks", "demo", "uid"), true),
            ("an earlier one of its name, elsewhere", &there, named("stacks", "demo", "before"), false),
            ("another one of its namespace, elsewhere", &there, named("stacks", "other", "uid"), false),
            ("its namespace, elsewhere", &there, shared("stacks"), false),
            ("the namespace of the repository, elsewhere", &there, shared("flux-system"), false),
        ];
        for (what, stack, claim, expected) in table {
            assert_eq!(claim.is_of(stack), expected, "{what}");
        }
        assert_eq!(claim(&json!({}), &json!({STACK_NAME: "demo"})), None, "an earlier version wrote it");
    }

    #[test]
    fn own_names_differ_between_stacks_and_tell_the_release() {
        let stack = stack();
        let (mut renamed, mut moved) = (stack.clone(), stack.clone());
        renamed.name = "other".parse().unwrap();
        moved.namespace = "tenant".parse().unwrap();
        let release = "docker-demo-1-34-v1";
        let names = [&stack, &renamed, &moved].map(|stack| own_name(stack, release).unwrap().to_string());
        assert!(names[0] != names[1] && names[0] != names[2] && names[1] != names[2], "{names:?}");
        assert_eq!(release_of(&stack, &names[0]).unwrap().to_string(), release);
        assert_eq!(release_of(&stack, release).unwrap().to_string(), release);
        assert_eq!(release_of(&stack, &names[1]), None);
        let custom = "docker-demo-1-34-v0-sha-c0ffee";
        assert_eq!(release_of(&stack, custom).unwrap().to_string(), custom);
    }
}
