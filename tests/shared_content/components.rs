//! The real `OpenStack` stack with two addons by reference: the upstream charts that its wrapper charts depend on, which the
//! registry of the testbed serves.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use stackflux::release::Digest;
use stackflux_testbed::{Object, Operator, Options, Testbed};

use crate::definitions::apply_definitions;
use crate::git::commit_and_push;
use crate::push::Pusher;
use crate::stack::{RELEASE, STACK, condition, create_clusters, is_ready, publish};
use crate::support::{copy, scratch};

const TIMEOUT: Duration = Duration::from_mins(6);
/// The same release with references.
const BY_REFERENCE: &str = "openstack-scs-1-32-v2";
/// The addons, each with its upstream chart and its version.
const REPLACED: [(&str, &str, &str); 2] =
    [("ccm", "openstack-cloud-controller-manager", "2.32.0"), ("metrics-server", "metrics-server", "3.12.2")];
/// The kinds of objects that both charts have.
const KINDS: &str = "daemonsets,deployments,services,serviceaccounts,configmaps,rolebindings,clusterroles,clusterrolebindings,apiservices,pods";

/// Writes the second release: its wrapper charts of [`REPLACED`] are references, with their values unwrapped.
fn by_reference(directory: &Path, registry: &str, digests: &[Digest]) {
    let releases = directory.join("releases");
    let work = scratch("by-reference");
    copy(&releases.join(RELEASE), &work);
    fs::rename(work.join(RELEASE), releases.join(BY_REFERENCE)).unwrap();
    let release = releases.join(BY_REFERENCE);
    let class = release.join("cluster-class");
    let chart = fs::read_to_string(class.join("Chart.yaml")).unwrap();
    fs::write(class.join("Chart.yaml"), chart.replace("version: v1\n", "version: v2\n")).unwrap();
    // Both classes would have this object.
    fs::remove_file(class.join("templates/image.yaml")).unwrap();
    fs::create_dir_all(release.join("components")).unwrap();
    let mut entries = Vec::new();
    for ((addon, chart, _), digest) in REPLACED.iter().zip(digests) {
        let wrapper = release.join("cluster-addon").join(addon);
        let read = |file: &str| fs::read_to_string(wrapper.join(file)).unwrap();
        let values: Value = serde_yaml::from_str(&read("values.yaml")).unwrap();
        let template: Value = serde_yaml::from_str(&read("overwrite.yaml")).unwrap();
        // Both have the values of the wrapped chart below its name.
        let inner = template["values"].as_str().unwrap().split_once('\n').unwrap().1;
        let write = |file: &str, text: &str| fs::write(release.join("components").join(file), text).unwrap();
        write(&format!("{addon}.values.yaml"), &serde_yaml::to_string(&values[chart]).unwrap());
        write(&format!("{addon}.yaml"), &inner.lines().map(|line| &line[2..]).collect::<Vec<_>>().join("\n"));
        entries.push(format!(
            "- name: {addon}\n  oci: {{url: oci://{registry}/charts/{chart}, digest: {digest}}}\n  components:\n  - name: {addon}\n    \
             chart: .\n    template: components/{addon}.yaml\n    values: components/{addon}.values.yaml\n"
        ));
        fs::remove_dir_all(&wrapper).unwrap();
    }
    fs::write(release.join("components.yaml"), format!("repositories:\n{}", entries.concat())).unwrap();
}

/// The objects of the replaced addons in the workload cluster, without what Helm and the API server write about them; and the UIDs
/// of the pods.
fn objects(testbed: &Testbed) -> (BTreeMap<String, Value>, BTreeSet<String>) {
    let listed = testbed.workload("one").unwrap();
    let listed = listed.kubectl(&["get", KINDS, "--all-namespaces", "--output=json"]).unwrap();
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let (mut objects, mut pods) = (BTreeMap::new(), BTreeSet::new());
    for object in listed["items"].as_array().unwrap() {
        let (kind, name) = (object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap());
        if kind == "Pod" {
            if REPLACED.iter().any(|(_, chart, _)| name.starts_with(chart)) {
                pods.insert(format!("{name} {}", object["metadata"]["uid"]));
            }
            continue;
        }
        let release =
            object["metadata"]["annotations"]["meta.helm.sh/release-name"].as_str().unwrap_or_default();
        if !REPLACED.iter().any(|(addon, ..)| *addon == release) {
            continue;
        }
        let mut bare = object.clone();
        bare.as_object_mut().unwrap().remove("status");
        for field in ["labels", "annotations", "managedFields", "resourceVersion", "generation"] {
            bare["metadata"].as_object_mut().unwrap().remove(field);
        }
        objects.insert(format!("{kind} {name}"), bare);
    }
    (objects, pods)
}

fn size(directory: &Path) -> u64 {
    fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            if path.is_dir() { size(&path) } else { fs::metadata(path).unwrap().len() }
        })
        .sum()
}

#[test]
fn referenced_charts_install_the_same_objects() {
    let testbed = Testbed::start_own(&Options { workloads: &["one"], ..Options::default() }).unwrap();
    let (management, namespace) = (testbed.management(), testbed.namespace("stacks").unwrap());
    apply_definitions(management);
    let (url, directory) = (testbed.git().url(&namespace), scratch("components-openstack"));
    publish(&directory, &url);
    let registry = testbed.registry();
    let pusher = Pusher::new(registry.address(), registry.user());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let digests = REPLACED.map(|(addon, chart, version)| {
        let archive = format!("releases/{RELEASE}/cluster-addon/{addon}/charts/{chart}-{version}.tgz");
        let archive = fs::read(directory.join(archive)).unwrap();
        runtime.block_on(pusher.chart(&format!("charts/{chart}"), (chart, version), &archive))
    });
    by_reference(&directory, registry.address(), &digests);
    commit_and_push(&directory, &url, BY_REFERENCE);
    let stack = json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack",
        "metadata": {"name": STACK, "namespace": namespace},
        "spec": {
            "provider": "openstack", "name": "scs", "kubernetesVersion": "1.32", "noProvider": true,
            "versions": ["v1", "v2"],
            "source": {"git": {"url": url, "ref": {"branch": "main"}}},
            "components": {"credentials": [{"url": format!("oci://{}", registry.address()), "insecure": true}]},
        },
    });
    management.apply(&stack.to_string()).unwrap();
    create_clusters(&testbed, &namespace, &["one"]);
    let binary = Path::new(env!("CARGO_BIN_EXE_stackflux"));
    let _operator = Operator::start(&testbed, binary, testbed.operator_kubeconfig(), &[]).unwrap();
    let ready_at = |release: &'static str| {
        let object = Object { kind: "clusteraddon", namespace: &namespace, name: "cluster-addon-one" };
        let is_so = |addon: &Value| is_ready(addon) && addon["status"]["release"]["applied"] == release;
        management.wait(object, release, TIMEOUT, is_so).unwrap()
    };
    ready_at(RELEASE);
    let (before, pods_before) = objects(&testbed);
    assert!(before.len() >= 10, "{:?}", before.keys());
    assert!(!pods_before.is_empty());

    let change = json!({"spec": {"topology": {"classRef": {"name": BY_REFERENCE}}}}).to_string();
    let in_namespace = format!("--namespace={namespace}");
    let patch =
        ["patch", "cluster.cluster.x-k8s.io", "one", &in_namespace, "--type=merge", "--patch", &change];
    management.kubectl(&patch).unwrap();
    let addon = ready_at(BY_REFERENCE);
    let (after, pods_after) = objects(&testbed);
    let names = |objects: &BTreeMap<String, Value>| objects.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&after), names(&before));
    let is_restarted = |name: &str| before[name]["spec"]["template"] != after[name]["spec"]["template"];
    for (name, object) in &after {
        let mut bare = [&before[name], object].map(Clone::clone);
        // The version of a chart from a registry has the digest, which is in labels of pods.
        for object in &mut bare {
            if let Some(labels) = object.pointer_mut("/spec/template/metadata/labels") {
                labels
                    .as_object_mut()
                    .unwrap()
                    .retain(|label, _| !["chart", "helm.sh/chart"].contains(&label.as_str()));
            }
        }
        assert_eq!(bare[0], bare[1], "{name}");
    }
    let restarted: Vec<&String> = after.keys().filter(|name| is_restarted(name)).collect();
    let kept = pods_before.intersection(&pods_after).count();
    eprintln!(
        "{} objects are the same; restarted, because of a label with the chart's version: {restarted:?}",
        after.len()
    );
    assert_eq!(kept, pods_before.len() - restarted.len(), "{pods_before:?} {pods_after:?}");
    let releases = directory.join("releases");
    let sizes = [RELEASE, BY_REFERENCE].map(|release| size(&releases.join(release)));
    eprintln!("size of the release: {} bytes with copies, {} bytes with references", sizes[0], sizes[1]);
    assert!(sizes[1] < sizes[0]);
    let sources =
        addon["status"]["addons"].as_array().unwrap().iter().filter(|addon| !addon["source"].is_null());
    assert_eq!(sources.count(), REPLACED.len(), "{addon:#}");
    assert_eq!(condition(&addon, "Delivered").0, "True");
}
