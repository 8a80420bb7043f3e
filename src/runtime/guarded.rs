//! Objects of lists and watches that are read one by one: one that cannot be read does not hide the others.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// An object of a list or a watch, or the reason why it cannot be read.
///
/// It is what kube's `DeserializeGuard` is, which reads each object into a tree and reads a copy of the tree. This one reads the
/// text, so that it deserialises with `serde_json` alone, and from events that have their type first, as the API server writes
/// them.
///
/// # Errors
///
/// The text is not JSON, or its metadata cannot be read.
#[derive(Clone, Debug)]
pub struct Guarded<K>(pub Result<K, Unreadable>);

/// An object that cannot be read.
#[derive(Clone, Debug)]
pub struct Unreadable {
    /// The error.
    pub error: String,
    /// Its metadata.
    pub metadata: ObjectMeta,
}

/// The part of an object that names it.
#[derive(Deserialize)]
struct Named {
    #[serde(default)]
    metadata: ObjectMeta,
}

impl<'de, K: DeserializeOwned> Deserialize<'de> for Guarded<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let unreadable = |error: serde_json::Error| {
            let Named { metadata } = serde_json::from_str(text.get()).map_err(D::Error::custom)?;
            Ok(Err(Unreadable { error: without_place(&error), metadata }))
        };
        serde_json::from_str(text.get()).map(Ok).or_else(unreadable).map(Self)
    }
}

/// Returns the text of an error without its line and column: only the API server has the text in which they are.
fn without_place(error: &serde_json::Error) -> String {
    let (text, place) = (error.to_string(), format!(" at line {} column {}", error.line(), error.column()));
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}

impl<K: Resource> Resource for Guarded<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(of: &K::DynamicType) -> Cow<'_, str> {
        K::kind(of)
    }

    fn group(of: &K::DynamicType) -> Cow<'_, str> {
        K::group(of)
    }

    fn version(of: &K::DynamicType) -> Cow<'_, str> {
        K::version(of)
    }

    fn plural(of: &K::DynamicType) -> Cow<'_, str> {
        K::plural(of)
    }

    fn meta(&self) -> &ObjectMeta {
        self.0.as_ref().map_or_else(|unreadable| &unreadable.metadata, K::meta)
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.0.as_mut().map_or_else(|unreadable| &mut unreadable.metadata, K::meta_mut)
    }
}

#[cfg(test)]
mod tests {
    use kube::core::{ObjectList, WatchEvent};
    use serde_json::json;

    use super::*;
    use crate::api::ClusterAddon;

    const API: (&str, &str) = ("clusterstack.x-k8s.io/v1alpha1", "ClusterAddon");

    fn names(list: &ObjectList<Guarded<ClusterAddon>>) -> Vec<(&str, bool)> {
        list.items.iter().map(|item| (item.meta().name.as_deref().unwrap(), item.0.is_ok())).collect()
    }

    #[test]
    fn list_has_what_can_be_read_and_the_names_of_the_rest() {
        let addon = |name: &str, spec: serde_json::Value| {
            let metadata = json!({"name": name});
            json!({"apiVersion": API.0, "kind": API.1, "metadata": metadata, "spec": spec})
        };
        let [good, bad] =
            [addon("good", json!({"clusterRef": {"name": "one"}})), addon("bad", json!("nonsense"))];
        let list = json!({
            "apiVersion": API.0, "kind": "ClusterAddonList", "metadata": {"resourceVersion": "7"}, "items": [bad, good],
        });
        let list: ObjectList<Guarded<ClusterAddon>> = serde_json::from_str(&list.to_string()).unwrap();
        assert_eq!(names(&list), [("bad", false), ("good", true)]);
        let Err(Unreadable { error, .. }) = &list.items[0].0 else { panic!("it is read") };
        assert_eq!(error, "invalid type: string \"nonsense\", expected struct ClusterAddonSpec");
    }

    #[test]
    fn event_of_an_unreadable_object_names_it() {
        let line =
            r#"{"type":"MODIFIED","object":{"kind":"ClusterAddon","metadata":{"name":"bad"},"spec":[]}}"#;
        let event: WatchEvent<Guarded<ClusterAddon>> = serde_json::from_str(line).unwrap();
        let WatchEvent::Modified(object) = event else { panic!("{event:?}") };
        assert!(object.0.is_err());
        assert_eq!(object.meta().name.as_deref(), Some("bad"));
        let type_last = r#"{"object":{"kind":"ClusterAddon","metadata":{"name":"good"}},"type":"MODIFIED"}"#;
        assert!(serde_json::from_str::<WatchEvent<Guarded<ClusterAddon>>>(type_last).is_err());
    }

    #[test]
    fn object_without_metadata_that_can_be_read_is_an_error() {
        for text in [r#"{"metadata":5}"#, "5", "{"] {
            assert!(serde_json::from_str::<Guarded<ClusterAddon>>(text).is_err(), "{text}");
        }
    }
}
