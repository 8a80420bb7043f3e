//! Flux objects, and tests that the commands report on them what the operator finds.

use std::path::Path;

use super::*;
use crate::explain::flux::FluxObject;
use crate::foreign::flux::observed::{self, SpecDigest};
use crate::names::Key;
use crate::rollup::{ConditionStatus, Expected, Moment, Report, judge};

/// Returns the spec of the `HelmRelease` of an addon.
pub(super) fn chart() -> Value {
    json!({"chartRef": {"kind": "HelmChart", "name": "cni-1", "namespace": "stacks"}})
}

/// Returns the spec of a pinned `GitRepository`.
pub(super) fn pinned() -> Value {
    json!({"ref": {"commit": COMMIT}})
}

/// Returns a Flux object that Flux has reconciled with these conditions.
pub(super) fn flux(
    (kind, namespace, name): (FluxKind, &str, &str),
    spec: &Value,
    conditions: &[Value],
    inventory: &[&str],
) -> FluxObject {
    let is_ready = conditions.iter().any(|of| of["type"] == "Ready" && of["status"] == "True");
    let (deployed, revision) =
        if is_ready { ("deployed", Some(format!("sha1:{COMMIT}"))) } else { ("failed", None) };
    let mut metadata = metadata(namespace, name);
    if let Some((cluster, _)) = name.split_once('.') {
        metadata["labels"]["cluster.x-k8s.io/cluster-name"] = json!(cluster);
    }
    let entries: Vec<_> = inventory.iter().map(|id| json!({"id": id, "v": "v1"})).collect();
    let mut object = json!({"kind": kind, "metadata": metadata, "spec": spec});
    object["status"] = match kind {
        FluxKind::HelmRelease => json!({
            "lastAttemptedGeneration": 1,
            "history": [{"version": 1, "status": deployed, "chartVersion": "1.0.0", "action": "install"}],
            "inventory": {"entries": entries},
        }),
        FluxKind::HelmChart => {
            let artifact = revision.as_ref().map(|_| json!({"revision": "1.0.0"}));
            json!({"artifact": artifact, "observedSourceArtifactRevision": revision})
        }
        _ => json!({"artifact": revision.map(|revision| json!({"revision": revision}))}),
    };
    object["status"]["observedGeneration"] = json!(1);
    object["status"]["conditions"] = json!(conditions);
    read(object)
}

/// A record of a running Flux, as in the truth table of the operator.
struct Record {
    object: Value,
    /// The spec as stackflux wrote it.
    written: Value,
    version: String,
}

const WRITTEN: &str = "2026-11-20T10:00:00Z";
const SOON: &str = "2026-11-20T10:00:30Z";

impl Record {
    #[allow(clippy::disallowed_methods, reason = "a test reads files")]
    fn read(file: &Path) -> Self {
        let record: Value = read(serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap());
        let object = record["object"].clone();
        let written = record.get("written").unwrap_or(&object["spec"]).clone();
        Self { object, written, version: record["version"].as_str().unwrap().to_owned() }
    }

    fn id(&self) -> (FluxKind, Key) {
        let text = |name: &str| self.object["metadata"][name].as_str().unwrap();
        let kind = FluxKind::of(self.object["kind"].as_str().unwrap()).unwrap();
        (kind, Key::new(text("namespace"), text("name")))
    }

    /// Returns the operator's report on the object.
    fn operator(&self) -> Report {
        let expected = Expected {
            spec_digest: SpecDigest::of(self.written.clone()),
            version: Some(self.version.clone()),
            revision_before: None,
            since: WRITTEN.parse().unwrap(),
        };
        let object: observed::FluxObject = read(self.object.clone());
        judge(&object, &expected, &Moment::at(SOON.parse().unwrap())).report()
    }

    /// Returns the objects of a cluster in which the status of an object of stackflux names the object.
    fn lists(&self) -> Lists {
        let ((kind, Key { namespace, name }), digest) = (self.id(), SpecDigest::of(self.written.clone()));
        let mut lists =
            Lists { flux: vec![(kind, Some(vec![read(self.object.clone())]))], ..Lists::default() };
        let since = json!(WRITTEN);
        if kind.is_source() {
            let object = json!({
                "kind": kind, "namespace": namespace, "name": name, "specDigest": digest.to_string(), "since": since,
            });
            let mut release = rolled::release();
            release["status"]["objects"] = json!([object]);
            lists.releases = vec![read(release)];
        } else {
            let mut owner = addon(&namespace, "one", "Applied", "Applied", "");
            owner["status"]["addons"] = json!([{
                "name": "cni", "object": {"kind": kind, "name": name}, "since": since,
                "expected": {"specDigest": digest.to_string(), "version": self.version},
            }]);
            lists.addons = vec![read(owner)];
        }
        if let Some(source) = self.object.pointer("/spec/sourceRef/name").and_then(Value::as_str) {
            let spec = json!({"ref": {"commit": self.version}});
            let source = flux((FluxKind::GitRepository, &namespace, source), &spec, &[], &[]);
            lists.flux.push((FluxKind::GitRepository, Some(vec![source])));
        }
        lists
    }
}

/// Flux's own `Ready` is true of an old chart, and of an object that another client changed.
#[test]
#[allow(clippy::disallowed_methods, reason = "a test reads files")]
fn flux_object_has_the_verdict_of_the_operator() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.filter(|file| file.extension().is_some_and(|of| of == "json")).collect();
    assert!(files.len() > 40, "{files:?}");
    for file in files {
        let record = Record::read(&file);
        let (operator, (kind, key)) = (record.operator(), record.id());
        let snapshot = Snapshot::new(record.lists(), None, SOON.parse().unwrap());
        let shown = snapshot.flux_report(kind, &key);
        assert_eq!(shown.status, operator.status, "{}: {shown:?}, {operator:?}", file.display());
        if operator.status != ConditionStatus::True {
            assert_eq!(shown, operator, "{}", file.display());
        }
    }
}

#[test]
fn silent_source_controller_is_that_of_the_operator() {
    let mut lists = lists();
    let report = |lists: Lists| {
        let snapshot = Snapshot::new(lists, None, NOW.parse().unwrap());
        snapshot.flux_report(FluxKind::GitRepository, &Key::new("stacks", "demo-catalog"))
    };
    assert_eq!(report(lists.clone()).reason, "Succeeded");
    let silent =
        condition("SourceReady", "Unknown", "ApplierUnavailable", "source-controller has not renewed");
    lists.stacks[0].status.as_mut().unwrap().conditions = vec![read(silent)];
    let found = report(lists);
    assert_eq!((found.status, found.reason.as_str()), (ConditionStatus::Unknown, "ApplierUnavailable"));
}
