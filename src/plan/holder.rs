//! Decides whose the sources are that `ClusterStack`s of several namespaces write beside a repository of a third one.
//!
//! Such a source has no owner. Two plans for it would overwrite each other forever, so one release has it: the one whose
//! status has the object; of several the one beside the repository, then that of the oldest `ClusterStack`. Releases that plan
//! the same content share a source.

use std::sync::Arc;

use jiff::Timestamp;

use super::{PlannedObject, Step};
use crate::api::{ClusterStackRelease, Reason};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::gate::Hold;
use crate::names::Key;

/// The facts beside the plan of a release.
pub struct HolderFacts<'a, Live, Since> {
    /// The release.
    pub ours: &'a ClusterStackRelease,
    /// The releases of all namespaces.
    pub all: &'a [Arc<ClusterStackRelease>],
    /// Finds a live object.
    pub live: Live,
    /// The creation time of the `ClusterStack` with this key.
    pub since: Since,
}

/// Returns why a release writes nothing: a release of another namespace has one of its sources, with other content.
pub fn hold<'a, Live, Since>(
    objects: impl IntoIterator<Item = &'a PlannedObject>,
    facts: &HolderFacts<Live, Since>,
) -> Option<Hold>
where
    Live: Fn(FluxKind, &Key) -> Option<Arc<FluxObject>>,
    Since: Fn(&Key) -> Option<Timestamp>,
{
    let here = namespace(facts.ours);
    let sources = objects.into_iter().filter(|planned| planned.step == Step::Sources);
    sources.filter(|planned| !planned.can_be_owned_in(here)).find_map(|planned| {
        let found = (facts.live)(planned.kind()?, &planned.id.key())?;
        if planned.value.get("spec").is_some_and(|spec| found.refers_to.is_content_of(spec)) {
            return None;
        }
        let id = &planned.id;
        let has = |release: &ClusterStackRelease| {
            release.spec_digest_of(&id.kind, &id.namespace, &id.name).is_some()
        };
        let rank = |release: &ClusterStackRelease| {
            let namespace = namespace(release);
            let since = release.stack_key().and_then(|stack| (facts.since)(&stack));
            (namespace != id.namespace, since.unwrap_or(Timestamp::MAX), namespace.to_owned())
        };
        let others = facts.all.iter().filter(|other| namespace(other) != here && has(other));
        let holder = others.min_by_key(|other| rank(other))?;
        let is_theirs = !has(facts.ours) || rank(holder) < rank(facts.ours);
        is_theirs.then(|| {
            let stack = holder.stack_key().map_or_else(|| namespace(holder).to_owned(), |stack| stack.to_string());
            let message = format!(
                "{id} belongs to ClusterStack {stack}, with other content: refer to a GitRepository in namespace {here}"
            );
            Hold { reason: Reason::ReleaseClaimed, message }
        })
    })
}

fn namespace(release: &ClusterStackRelease) -> &str {
    release.metadata.namespace.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::plan::ObjectId;

    /// Creates a source in a namespace, at a commit.
    fn source(namespace: &str, name: &str, commit: &str) -> Value {
        json!({
            "kind": "GitRepository", "metadata": {"name": name, "namespace": namespace},
            "spec": {"url": "https://git.example.org/stacks.git", "ref": {"commit": commit}},
        })
    }

    /// Creates a release of a namespace, whose status has these sources in the namespace `flux`.
    fn release(namespace: &str, sources: &[&str]) -> Arc<ClusterStackRelease> {
        let object = |name: &&str| json!({"kind": "GitRepository", "namespace": "flux", "name": name, "specDigest": "digest"});
        let release = json!({
            "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStackRelease",
            "metadata": {
                "name": "v1", "namespace": namespace,
                "ownerReferences": [{"apiVersion": "x", "kind": "ClusterStack", "name": "demo", "uid": "demo"}],
            },
            "spec": {}, "status": {"objects": sources.iter().map(object).collect::<Vec<_>>()},
        });
        Arc::new(serde_json::from_value(release).unwrap())
    }

    /// Returns the time at which a `ClusterStack` was created: that of namespace `a` is the oldest, and that of `flux`
    /// the youngest.
    fn since(stack: &Key) -> Option<Timestamp> {
        let day = ["a", "b", "c", "flux"].iter().position(|namespace| *namespace == stack.namespace)?;
        format!("2026-11-{}T12:00:00Z", day + 10).parse().ok()
    }

    /// Finds the namespace of the release that has a source of `ours`, which plans the sources `v1` and `v2` in a
    /// namespace.
    fn holder(
        at: &str,
        live: Option<&'static str>,
        ours: &ClusterStackRelease,
        all: &[Arc<ClusterStackRelease>],
    ) -> Option<String> {
        let planned = ["v1", "v2"].map(|name| PlannedObject {
            step: Step::Sources,
            id: ObjectId {
                api_version: String::new(),
                kind: "GitRepository".to_owned(),
                namespace: at.to_owned(),
                name: name.to_owned(),
            },
            value: source(at, name, "1"),
        });
        let live = |_, key: &Key| {
            Some(Arc::new(serde_json::from_value(source(&key.namespace, &key.name, live?)).unwrap()))
        };
        let message = hold(&planned, &HolderFacts { ours, all, live, since })?.message;
        let (_, after) = message.split_once(" belongs to ClusterStack ").unwrap();
        let (stack, advice) = after.split_once(", with other content: ").unwrap();
        let here = namespace(ours);
        assert_eq!(advice, format!("refer to a GitRepository in namespace {here}"), "{message}");
        Some(stack.to_owned())
    }

    #[test]
    fn release_keeps_source_in_third_namespace() {
        let (both, none): (&[&str], &[&str]) = (&["v1", "v2"], &[]);
        let table = [
            ("absent", "flux", None, release("b", none), vec![release("a", both)], None),
            ("theirs", "flux", Some("2"), release("b", none), vec![release("a", both)], Some("a/demo")),
            (
                "younger, but theirs",
                "flux",
                Some("2"),
                release("a", none),
                vec![release("b", both)],
                Some("b/demo"),
            ),
            ("the same content", "flux", Some("1"), release("b", none), vec![release("a", both)], None),
            ("recorded by none", "flux", Some("2"), release("b", none), vec![release("a", none)], None),
            ("of our namespace", "flux", Some("2"), release("b", none), vec![release("b", both)], None),
            ("ours", "flux", Some("2"), release("b", both), vec![release("a", none)], None),
            (
                "of both, and ours is younger",
                "flux",
                Some("2"),
                release("b", both),
                vec![release("a", both)],
                Some("a/demo"),
            ),
            (
                "of both, and ours is older",
                "flux",
                Some("2"),
                release("a", both),
                vec![release("b", both)],
                None,
            ),
            (
                "of several",
                "flux",
                Some("2"),
                release("c", none),
                vec![release("b", both), release("a", both)],
                Some("a/demo"),
            ),
            (
                "of one beside the repository",
                "flux",
                Some("2"),
                release("a", both),
                vec![release("flux", both), release("b", both)],
                Some("flux/demo"),
            ),
            ("in our namespace", "b", Some("2"), release("b", none), vec![release("a", both)], None),
        ];
        for (what, at, live, ours, mut all, expected) in table {
            all.push(ours.clone());
            assert_eq!(holder(at, live, &ours, &all).as_deref(), expected, "{what}");
        }
    }
}
