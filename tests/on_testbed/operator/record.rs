//! Records the objects of situations, over which the texts of `why` and `status` are tested without a cluster.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::scenario::Scenario;

/// The kinds that the live commands read.
const KINDS: [&str; 9] = [
    "clusterstack",
    "clusterstackrelease",
    "clusteraddon",
    "cluster",
    "helmrelease",
    "kustomization",
    "gitrepository",
    "ocirepository",
    "helmchart",
];

/// Whether situations are recorded: the variable `RECORD_SITUATIONS` is set.
pub(super) fn is_recording() -> bool {
    std::env::var_os("RECORD_SITUATIONS").is_some()
}

/// Writes `tests/situations/<name>.json` if situations are recorded. The specs stay as they are: their digests count.
pub(super) fn record(name: &str, scenario: &Scenario) {
    if !is_recording() {
        return;
    }
    let objects = KINDS.iter().flat_map(|kind| scenario.list(kind));
    let objects: Vec<String> = objects.map(|object| without_noise(object).to_string()).collect();
    let (now, namespace) = (jiff::Timestamp::now(), &scenario.namespace);
    let text = format!(
        "{{\"now\":\"{now}\",\"namespace\":\"{namespace}\",\"objects\":[\n{}\n]}}\n",
        objects.join(",\n")
    );
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/situations");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join(format!("{name}.json")), text).unwrap();
}

/// Leaves out what says nothing about a situation, and differs each time.
fn without_noise(mut object: Value) -> Value {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|field, _| !["managedFields", "resourceVersion"].contains(&field.as_str()));
    }
    object
}
