//! An admission policy that refuses the operator's writes.

use serde_json::json;
use stackflux_testbed::Object;

use super::{Scenario, eventually};

impl Scenario<'_> {
    /// Makes an admission policy refuse every write of objects of a kind in the namespace. `object` is one of them.
    pub(crate) fn refuse(&self, resource: &str, object: &str) {
        let name = self.policy();
        let rules = json!([{
            "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": [resource],
        }]);
        let selector = json!({"matchLabels": {"kubernetes.io/metadata.name": self.namespace}});
        let version = "admissionregistration.k8s.io/v1";
        let policy = json!({
            "apiVersion": version, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name},
            "spec": {
                "matchConstraints": {"resourceRules": rules, "namespaceSelector": selector},
                "validations": [{"expression": "false", "message": "refused by the test"}],
            },
        });
        let binding = json!({
            "apiVersion": version, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name},
            "spec": {"policyName": name, "validationActions": ["Deny"]},
        });
        self.management().apply(&format!("{policy}\n---\n{binding}")).unwrap();
        eventually("the policy holds", || self.is_refused(resource, object));
    }

    /// Deletes that policy, and waits until it has no effect.
    pub(crate) fn refuse_no_more(&self, resource: &str, object: &str) {
        let name = self.policy();
        for kind in ["validatingadmissionpolicybinding", "validatingadmissionpolicy"] {
            self.management().kubectl(&["delete", kind, &name]).unwrap();
        }
        eventually("the policy holds no longer", || !self.is_refused(resource, object));
    }

    fn is_refused(&self, resource: &str, object: &str) -> bool {
        let probed = Object { kind: resource, namespace: &self.namespace, name: object };
        let probe = json!({"metadata": {"annotations": {"probe": "1"}}});
        self.management().merge(probed, "somebody", &probe).is_err()
    }

    fn policy(&self) -> String {
        format!("{}.example.org", self.namespace)
    }
}
