//! The Secrets that a ClusterStack names for Git: readable only with the documented Role, and never shown.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use stackflux_testbed::{GuardedGitServer, Operator, Testbed};

use super::fleet::{Fleet, PATH};
use super::scenario::{STACK, Scenario, V1, condition};
use super::upstream;
use crate::git::git;
use crate::push::Layout;
use crate::support::scratch;

const DOCUMENT: &str = "docs/reference/servers.md";

/// Texts that must not appear anywhere.
fn secrets_of(server: &GuardedGitServer, registry: &str) -> Vec<String> {
    let read = |name: &str| fs::read_to_string(server.file(name)).unwrap();
    let key = read("key").lines().nth(1).unwrap().to_owned();
    vec![read("password"), key, registry.to_owned()]
}

fn secret(scenario: &Scenario<'_>, name: &str, data: &BTreeMap<&str, String>) {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "stringData": data,
        "metadata": {"name": name, "namespace": scenario.namespace},
    });
    scenario.management().apply(&secret.to_string()).unwrap();
}

/// The documented Role, for this scenario.
fn role(scenario: &Scenario<'_>) -> String {
    let document = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(DOCUMENT)).unwrap();
    let (_, rest) = document.split_once("```yaml\napiVersion: rbac").unwrap();
    let (role, _) = rest.split_once("```").unwrap();
    format!(
        "apiVersion: rbac{}",
        role.replace("namespace: demo", &format!("namespace: {}", scenario.namespace))
    )
}

/// A part of the test in `process.rs`: the operator is the installed account.
pub(super) fn only_named_secrets_are_read_and_none_is_shown(testbed: &Testbed) {
    let scenario = Scenario::beside_others(testbed, "secrets");
    let server = GuardedGitServer::start().unwrap();
    let management = testbed.management();
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("flux/base");
    let apply = ["apply", "--server-side", "--force-conflicts", "--kustomize", base.to_str().unwrap()];
    management.kubectl(&apply).unwrap();
    let kubeconfig = management.kubeconfig_for_service_account(Operator::NAMESPACE, "stackflux").unwrap();
    let read = |name: &str| fs::read_to_string(server.file(name)).unwrap();
    secret(
        &scenario,
        "fleet-push",
        &[("username", "git".into()), ("password", read("password")), ("ca.crt", read("ca.crt"))].into(),
    );
    secret(
        &scenario,
        "stacks-push",
        &[("identity", read("key")), ("known_hosts", read("known_hosts"))].into(),
    );

    let (fleet, stacks) = (format!("{}-fleet", scenario.namespace), format!("{}-stacks", scenario.namespace));
    let fleet_url = server.url(&fleet);
    Fleet::of(&scenario, &fleet_url);
    let registry = testbed.protected_registry();
    let repository = format!("{}/stacks", scenario.namespace);
    upstream::push(registry, &repository, V1, Layout::Scs);
    let mut spec = upstream::source(&scenario, registry, &repository);
    // Flux reads with the key that the operator pushes with.
    spec["source"]["git"]["url"] = json!(server.ssh_url(&stacks));
    spec["source"]["git"]["secretRef"] = json!({"name": "stacks-push"});
    spec["delivery"] = json!({"mode": "Git", "git": {
        "url": server.https_url(&fleet), "path": PATH, "secretRef": {"name": "fleet-push"},
    }});
    let operator = scenario.operator_as(&kubeconfig, &[]);
    scenario.apply_stack(&[], &spec);
    for kind in ["Delivered", "ReleasesPublished"] {
        let refused = |stack: &Value| condition(stack, kind).1 == "SecretInvalid";
        let stack = scenario.wait("clusterstack", STACK, &format!("{kind}: no permission"), refused);
        let message = condition(&stack, kind).2;
        assert!(message.contains("Secret") && message.contains("cannot get resource"), "{message}");
    }
    management.apply(&role(&scenario)).unwrap();
    scenario.wait_ready("clusterstackrelease", V1);
    scenario.wait("clusterstack", STACK, "all in Git", |stack| {
        ["Delivered", "ReleasesPublished", "Ready"].iter().all(|kind| condition(stack, kind).0 == "True")
    });
    operator.process().unwrap().terminate().unwrap();

    let mut texts = vec![fs::read_to_string(operator.log()).unwrap()];
    for url in [&fleet_url, &server.url(&stacks)] {
        let clone = scratch(&format!("{}-told", scenario.namespace));
        git(clone.parent().unwrap(), &["clone", "--quiet", url, clone.to_str().unwrap()]);
        texts.push(git(&clone, &["log", "--patch", "--format=fuller"]));
    }
    let kinds =
        "events,clusterstacks,clusterstackreleases,clusteraddons,gitrepositories,helmreleases,kustomizations";
    texts.push(management.kubectl(&["get", kinds, "--all-namespaces", "--output=yaml"]).unwrap());
    assert!(texts.iter().all(|text| text.len() > 1000), "there is something to look through");
    let password = registry.user().unwrap().1;
    for secret in secrets_of(&server, password) {
        assert!(texts.iter().all(|text| !text.contains(secret.trim())), "a secret was told");
    }
}
