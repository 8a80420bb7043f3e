//! From the output of `inputs export`, stackflux generates the operator's objects without the operator, and the same
//! bytes for any output directory.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use stackflux::api::labels::MANAGED_BY;
use stackflux::plan::delivery::written;

use super::scenario::{STACK, Scenario, V1, V2};
use crate::git::git;
use crate::support::{Run, scratch, stackflux};
use crate::text;

const KINDS: &str = "gitrepositories.source.toolkit.fluxcd.io,helmcharts.source.toolkit.fluxcd.io,\
                     helmreleases.helm.toolkit.fluxcd.io,kustomizations.kustomize.toolkit.fluxcd.io";

/// Kind, namespace and name.
type Place = (String, String, String);

fn place(object: &Value) -> Place {
    let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default();
    (text(object, "/kind").to_owned(), namespace.to_owned(), text(object, "/metadata/name").to_owned())
}

/// With sorted fields: the API server has them in another order.
fn sorted(mut object: Value) -> Value {
    object.sort_all_objects();
    object
}

/// The operator's objects as it wrote them.
fn live(scenario: &Scenario) -> BTreeMap<Place, Value> {
    let (namespace, ours) =
        (format!("--namespace={}", scenario.namespace), format!("--selector={MANAGED_BY}=stackflux"));
    let list = ["get", KINDS, &namespace, &ours, "--output=json", "--show-managed-fields"];
    let list: Value = serde_json::from_str(&scenario.management().kubectl(&list).unwrap()).unwrap();
    let objects = list["items"].as_array().unwrap().iter();
    objects.map(|object| (place(object), sorted(written(object)))).collect()
}

fn export(scenario: &Scenario) -> Run {
    let kubeconfig = scenario.management().kubeconfig();
    let kubeconfig = kubeconfig.to_str().unwrap();
    stackflux(&["inputs", "export", STACK, "--kubeconfig", kubeconfig, "--namespace", &scenario.namespace])
}

/// All files below a directory with their bytes.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let listed = git(directory, &["ls-files", "--others", "--cached"]);
    listed.lines().map(|path| (path.to_owned(), fs::read(directory.join(path)).unwrap())).collect()
}

#[test]
fn operator_generate_and_git_give_the_same() {
    let scenario = Scenario::shared("inputsexport");
    scenario.publish(&[V1, V2]);
    scenario.apply_stack(&["v1", "v2"], &json!({"flux": {"timeout": "6m"}}));
    let operator = scenario.operator();
    scenario.wait_ready("clusterstackrelease", V2);
    scenario.create_cluster("a", V1, "one");
    scenario.create_cluster("b", V2, "two");
    scenario.wait_addons("a");
    scenario.wait_addons("b");
    let exported = export(&scenario);
    assert_eq!(exported.code, 0, "{}", exported.stderr);
    assert!(!exported.stdout.contains("kind: Secret\n") && !exported.stdout.contains("managedFields"));
    let directory = scratch("inputsexport-files");
    let (inputs, output) = (directory.join("inputs.yaml"), directory.join("output"));
    fs::write(&inputs, &exported.stdout).unwrap();

    let stack = scenario.path("");
    let arguments = ["generate", stack.to_str().unwrap(), "--inputs", inputs.to_str().unwrap()];
    let printed = stackflux(&arguments);
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    let generated = printed.stdout.split("---\n").map(|document| {
        let object: Value = serde_yaml::from_str(document).unwrap();
        (place(&object), sorted(object))
    });
    let mut generated: BTreeMap<Place, Value> = generated.collect();
    let storage = generated.keys().filter(|place| place.0 == "Namespace").count();
    assert_eq!(storage, 2, "Helm's record of either class");
    generated.retain(|place, _| place.0 != "Namespace");
    assert_eq!(generated, live(&scenario));
    operator.process().unwrap().kill().unwrap();

    let run = stackflux(&[&arguments[..], &["--output-dir", output.to_str().unwrap()]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let (repository, tree) = (scenario.testbed.git().url("inputsexport-fleet"), scratch("inputsexport-tree"));
    let target = ["--to-git", &repository, "--path", "fleet", "--author", "Test <test@localhost>"];
    let run = stackflux(&[&arguments[..], &target].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    git(&tree, &["clone", "--quiet", &repository, "."]);
    git(&output, &["init", "--quiet"]);
    assert_eq!(files(&tree.join("fleet")), files(&output));
    let again = stackflux(&[&arguments[..], &target].concat());
    assert!(again.code == 0 && again.stderr.contains("no commit"), "{}", again.stderr);
}
