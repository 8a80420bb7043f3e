//! Further needs of the operator's tests: components that stop, the log of writes, a proxy that lies, clusters as data.
#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by unwrapping, its helpers too, and writes the files that it applies"
)]

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stackflux_testbed::{
    ClusterApi, Infrastructure, Lie, LyingProxy, NewCluster, Object, Options, OwnTestbed, Testbed, Write,
};

/// The garbage collector looks for new kinds every 30 seconds.
const TIMEOUT: Duration = Duration::from_mins(1);

/// One testbed for the tests that stop nothing, without the parts that none of them needs.
fn own() -> &'static OwnTestbed {
    static OWN: OnceLock<OwnTestbed> = OnceLock::new();
    OWN.get_or_init(|| {
        Testbed::start_own(&Options { workloads: &[], flux: &["source-controller"], ..Options::default() })
            .unwrap()
    })
}

/// Runs kubectl as the user of a kubeconfig. Returns its output, or its error.
fn kubectl(kubeconfig: &Path, arguments: &[&str]) -> Result<String, String> {
    let program = own().management().kubectl_path();
    let output = Command::new(program)
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .arg(format!("--cache-dir={}", kubeconfig.with_extension("cache").display()))
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

fn config_map(namespace: &str, name: &str) -> String {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}})
        .to_string()
}

#[test]
fn restarted_components_keep_their_data() {
    let testbed = Testbed::start_own(&Options::default()).unwrap();
    for name in ["source-controller", "helm-controller", "management-kube-apiserver", "one-kube-apiserver"] {
        let component = testbed.component(name);
        let first = component.process().unwrap();
        first.pause().unwrap();
        first.resume().unwrap();
        first.kill().unwrap();
        assert!(!component.process().unwrap().is_running(), "{name}");
        component.start_again().unwrap();
        assert!(component.process().unwrap().is_running(), "{name}");
    }
    testbed.component("kustomize-controller").process().unwrap().terminate().unwrap();
    let namespace = testbed.namespace("after").unwrap();
    testbed.management().apply(&config_map(&namespace, "written")).unwrap();
    let node = Object { kind: "node", namespace: "", name: "worker" };
    assert!(testbed.workload("one").unwrap().get(node).unwrap().is_some());
    assert!(testbed.component("absent").process().is_err());
}

#[test]
fn writes_are_counted_by_user_without_dry_runs() {
    let testbed = own();
    let namespace = testbed.namespace("audit").unwrap();
    let mark = testbed.audit().mark().unwrap();
    let operator = |arguments: &[&str]| {
        kubectl(testbed.operator_kubeconfig(), &[&["-n", &namespace], arguments].concat()).unwrap()
    };
    operator(&["create", "configmap", "first"]);
    operator(&["create", "configmap", "dry", "--dry-run=server"]);
    operator(&["get", "configmaps"]);
    operator(&["patch", "configmap", "first", "--type=merge", "--patch={\"data\":{\"a\":\"b\"}}"]);
    operator(&["create", "-f", lease(&namespace).to_str().unwrap()]);
    testbed.management().apply(&config_map(&namespace, "second")).unwrap();
    operator(&["delete", "configmap", "first"]);

    let writes = testbed.audit().operator_writes_since(mark).unwrap();
    let short = |write: &Write| format!("{} {}/{} {}", write.verb, write.resource, write.name, write.code);
    let found: Vec<String> = writes.iter().map(short).collect();
    let expected =
        ["create configmaps/first 201", "patch configmaps/first 200", "delete configmaps/first 200"];
    assert_eq!(found, expected);
    assert!(writes.iter().all(|write| write.namespace == namespace && write.subresource.is_empty()));
    let all = testbed.audit().writes_since(mark).unwrap();
    let by_test =
        |write: &&Write| write.user == "admin" && write.name == "second" && write.namespace == namespace;
    assert_eq!(all.iter().filter(by_test).count(), 1, "{all:?}");
}

fn lease(namespace: &str) -> std::path::PathBuf {
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "lease", "namespace": namespace}});
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lease.json");
    std::fs::write(&path, lease.to_string()).unwrap();
    path
}

#[test]
fn service_account_permissions_follow_its_roles() {
    let testbed = own();
    let namespace = testbed.namespace("rbac").unwrap();
    let management = testbed.management();
    management
        .kubectl(&["create", "role", "reader", "-n", &namespace, "--verb=get", "--resource=configmaps"])
        .unwrap();
    let account = format!("--serviceaccount={namespace}:default");
    management
        .kubectl(&["create", "rolebinding", "reader", "-n", &namespace, "--role=reader", &account])
        .unwrap();
    management.apply(&config_map(&namespace, "readable")).unwrap();
    let kubeconfig = management.kubeconfig_for_service_account(&namespace, "default").unwrap();
    kubectl(&kubeconfig, &["get", "configmap", "readable", "-n", &namespace]).unwrap();
    let refusal = kubectl(&kubeconfig, &["get", "secrets", "-n", &namespace]).unwrap_err();
    let user = format!("system:serviceaccount:{namespace}:default");
    assert!(refusal.contains("Forbidden") && refusal.contains(&user), "{refusal}");
}

fn names(list: &str) -> Vec<String> {
    let list: Value = serde_json::from_str(list).unwrap();
    let items = list["items"].as_array().unwrap();
    items.iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn lying_proxy_falsifies_lists_and_watches_only() {
    let testbed = own();
    let namespace = testbed.namespace("lies").unwrap();
    let proxy = LyingProxy::start(testbed.operator_kubeconfig()).unwrap();
    let ask = |arguments: &[&str]| kubectl(proxy.kubeconfig(), arguments);
    let path = format!("/api/v1/namespaces/{namespace}/configmaps");
    let watched = format!("{path}?watch=true&timeoutSeconds=600");
    let (list, watch) = (["get", "--raw", path.as_str()], ["get", "--raw", watched.as_str()]);
    let mark = testbed.audit().mark().unwrap();

    ask(&["create", "configmap", "old", "-n", &namespace]).unwrap();
    assert_eq!(testbed.audit().operator_writes_since(mark).unwrap().len(), 1, "the user stays");
    let before = names(&ask(&list).unwrap());
    ask(&["create", "configmap", "new", "-n", &namespace]).unwrap();
    assert_eq!(names(&ask(&list).unwrap()).len(), before.len() + 1);
    assert_eq!(proxy.lies_served(), 0);

    proxy.set_lie(Lie::StaleLists);
    assert_eq!(names(&ask(&list).unwrap()), before);
    proxy.set_lie(Lie::EmptyLists);
    assert_eq!(names(&ask(&list).unwrap()), Vec::<String>::new());
    assert!(ask(&watch).unwrap().contains("the proxy refuses"));
    for status in [401, 410, 500] {
        proxy.set_lie(Lie::Refused(status));
        ask(&list).unwrap_err();
        ask(&watch).unwrap_err();
        ask(&["get", "configmap", "new", "-n", &namespace]).unwrap();
    }
    proxy.set_lie(Lie::ClosedWatches);
    assert_eq!(ask(&watch).unwrap(), "");
    assert_eq!(proxy.lies_served(), 10);

    // A client that got a false list has to list again before a watch is true.
    proxy.set_lie(Lie::EmptyLists);
    ask(&list).unwrap();
    proxy.set_lie(Lie::None);
    assert!(ask(&watch).unwrap().contains("the proxy refuses"));
    assert_eq!(names(&ask(&list).unwrap()).len(), before.len() + 1);

    // A running watch ends when another lie begins.
    std::thread::scope(|scope| {
        let running = scope.spawn(|| ask(&watch));
        std::thread::sleep(Duration::from_secs(1));
        assert!(!running.is_finished());
        proxy.set_lie(Lie::EmptyLists);
        let events = running.join().unwrap().unwrap();
        assert!(events.contains("\"new\""), "{events}");
    });
}

#[test]
fn hundreds_of_clusters_are_changed_and_deleted() {
    let testbed = own();
    let namespace = testbed.namespace("clusters").unwrap();
    let clusters: Vec<NewCluster> = (0..200)
        .map(|number| NewCluster {
            namespace: namespace.clone(),
            name: format!("c{number}"),
            class: "class-v1".to_owned(),
            version: "v1.34.0".to_owned(),
            endpoint: format!("10.0.0.{number}"),
            infrastructure: if number == 0 { Infrastructure::OpenStack } else { Infrastructure::Dev },
            initialized: number != 1,
        })
        .collect();
    let api = ClusterApi::new(testbed.management()).unwrap();
    let start = Instant::now();
    api.create(&clusters).unwrap();
    println!("200 clusters with what they own: {:?}", start.elapsed());

    let get = |kind, name| testbed.management().get(Object { kind, namespace: &namespace, name }).unwrap();
    let all = testbed.management().kubectl(&["get", "clusters", "-n", &namespace, "-o", "json"]).unwrap();
    assert_eq!(names(&all).len(), 200);
    let first = get("clusters.cluster.x-k8s.io", "c0").unwrap();
    assert_eq!(first["status"]["initialization"]["controlPlaneInitialized"], json!(true));
    assert_eq!(first["spec"]["infrastructureRef"]["kind"], json!("OpenStackCluster"));
    assert_eq!(
        get("openstackcluster", "c0").unwrap()["metadata"]["ownerReferences"][0]["uid"],
        first["metadata"]["uid"]
    );
    assert_eq!(get("kubeadmcontrolplane", "c0").unwrap()["spec"]["version"], json!("v1.34.0"));
    assert_eq!(get("clusters.cluster.x-k8s.io", "c1").unwrap().get("status"), None);

    api.patch_status(&namespace, "c1", &json!({"status": {"phase": "Failed"}})).unwrap();
    api.upgrade(&namespace, "c1", "class-v2", "v1.35.0").unwrap();
    let second = get("clusters.cluster.x-k8s.io", "c1").unwrap();
    assert_eq!(second["status"]["phase"], json!("Failed"));
    assert_eq!(second["spec"]["topology"]["classRef"], json!({"name": "class-v2"}));
    api.delete(&namespace, &["c0".to_owned(), "c1".to_owned()]).unwrap();
    let left = Object { kind: "openstackcluster", namespace: &namespace, name: "c0" };
    testbed.management().wait_gone(left, TIMEOUT).unwrap();
}
