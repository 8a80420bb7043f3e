use serde_json::{Value, json};

use super::state::GitDelivery;
use super::*;

fn stack(name: &str, delivery: &str, upstream: bool) -> Arc<ClusterStack> {
    let mut source = json!({"git": {"url": "https://git.example.org/releases.git"}});
    if upstream {
        source["upstream"] = json!({
            "url": "oci://registry.example.org/stacks",
            "commit": {"author": {"name": "Bot", "email": "bot@example.org"}},
        });
    }
    let mut stack = json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack",
        "metadata": {"name": name, "namespace": "stacks"},
        "spec": {"provider": "docker", "name": name, "kubernetesVersion": "1.34", "source": source},
    });
    if !delivery.is_empty() {
        stack["spec"]["delivery"] = git(delivery);
    }
    Arc::new(serde_json::from_value(stack).unwrap())
}

fn git(url: &str) -> Value {
    let commit = json!({"author": {"name": "Bot", "email": "bot@example.org"}});
    json!({"mode": "Git", "git": {"url": url, "branch": "main", "path": "fleet", "commit": commit}})
}

#[test]
fn clone_of_an_old_address_is_unused() {
    const OLD: &str = "https://git.example.org/old.git";
    const NEW: &str = "https://git.example.org/new.git";
    let name = |url: &str| BTreeSet::from([clone_name("stacks", url)]);
    let before = stack("demo", OLD, false);
    assert_eq!(unused(&before, &[stack("demo", NEW, false)]), name(OLD), "the address was changed");
    assert_eq!(unused(&before, &[]), name(OLD), "the ClusterStack was deleted");
    assert_eq!(unused(&before, &[stack("demo", "", false)]), name(OLD), "delivery without Git");
    let other = stack("other", OLD, false);
    assert_eq!(unused(&before, &[stack("demo", NEW, false), other]), BTreeSet::new(), "another one uses it");
    let publisher = stack("demo", "", true);
    assert_eq!(unused(&publisher, &[stack("demo", "", false)]), name("https://git.example.org/releases.git"));
}

#[tokio::test]
async fn clone_is_removed_when_its_thread_has_ended() {
    let git = GitDelivery::default();
    let directory = git.directory("stacks", "https://git.example.org/old.git").unwrap();
    std::fs::create_dir_all(directory.join("objects")).unwrap();
    git.remove(&clone_name("stacks", "https://git.example.org/old.git"));
    while directory.exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
