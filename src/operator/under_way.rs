//! Statuses of which the operator does not know whether the API server has them.

use kube::ResourceExt as _;

use super::latest::Latest;
use crate::api::ClusterAddon;
use crate::runtime::cache::Key;

/// The `ClusterAddon`s whose last status was sent and had no answer, each with the resource version that the request names.
///
/// The API server refuses it as soon as the object has another resource version. Until then it may replace the status.
#[derive(Debug, Default)]
pub struct UnderWay(Latest<String>);

impl UnderWay {
    /// Records that the status that was to replace the one of this state had no answer.
    pub(super) fn add(&self, replaced: &ClusterAddon) {
        _ = self.0.set(&Key::of(replaced), replaced.resource_version());
    }

    /// Whether a status that was sent may replace the one of this state.
    #[must_use]
    pub fn includes(&self, addon: &ClusterAddon) -> bool {
        let key = Key::of(addon);
        let Some(replaced) = self.0.get(&key) else { return false };
        let is_included = addon.resource_version() == Some(replaced);
        if !is_included {
            self.0.set(&key, None);
        }
        is_included
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn addon(name: &str, version: &str) -> ClusterAddon {
        let metadata = json!({"name": name, "namespace": "n", "resourceVersion": version});
        serde_json::from_value(json!({"metadata": metadata, "spec": {"clusterRef": {"name": "a"}}})).unwrap()
    }

    #[test]
    fn status_is_under_way_until_the_object_has_another_version() {
        let statuses = UnderWay::default();
        assert!(!statuses.includes(&addon("a", "1")));
        statuses.add(&addon("a", "1"));
        assert!(statuses.includes(&addon("a", "1")) && statuses.includes(&addon("a", "1")));
        assert!(!statuses.includes(&addon("b", "1")), "another object");
        assert!(!statuses.includes(&addon("a", "2")), "the API server refuses it now");
        assert!(!statuses.includes(&addon("a", "1")), "it is forgotten");
    }
}
