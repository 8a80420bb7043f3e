//! Delivery by pull requests, on a real Gitea: nothing is applied before a user merges it.

use serde_json::json;
use stackflux_testbed::Gitea;

use super::fleet::{Fleet, PATH};
use super::scenario::{STACK, Scenario, V1, condition, eventually};
use crate::forge::{Site, merged};

#[test]
fn plan_waits_until_its_pull_request_is_merged() {
    let (scenario, gitea) = (Scenario::shared("pulls"), Gitea::start().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let site = runtime.block_on(Site::create(&gitea, "fleet"));
    let url = site.url().to_string();
    Fleet::of(&scenario, &url);
    for (name, data) in [
        ("fleet-push", json!({"username": gitea.user(), "password": gitea.token()})),
        ("forge", json!({"token": gitea.token()})),
    ] {
        let metadata = json!({"name": name, "namespace": scenario.namespace});
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data});
        scenario.management().apply(&secret.to_string()).unwrap();
    }
    scenario.publish(&[V1]);
    let operator = scenario.operator();
    let git = json!({
        "url": url, "path": PATH, "secretRef": {"name": "fleet-push"},
        "pullRequest": {"forge": "gitea", "secretRef": {"name": "forge"}},
    });
    scenario.apply_stack(&["v1"], &json!({"delivery": {"mode": "Git", "git": git}}));
    let open = scenario.wait("clusterstack", STACK, "a pull request", |stack| {
        condition(stack, "Delivered").1 == "PullRequestOpen"
    });
    let pull = format!("{}/{}/fleet/pulls/1", gitea.url(), gitea.user());
    assert_eq!(condition(&open, "Delivered").2, format!("waits for pull request {pull}"));
    assert!(scenario.get("gitrepository", &format!("{STACK}-catalog")).is_none(), "nothing is applied");
    let pulls = runtime.block_on(site.pulls());
    let branch = format!("stackflux/{}-{STACK}-", scenario.namespace);
    assert!(pulls[0]["head"]["ref"].as_str().unwrap().starts_with(&branch), "{pulls:?}");
    assert!(pulls[0]["title"].as_str().unwrap().starts_with("stackflux: "), "{pulls:?}");

    runtime.block_on(merged(&site, &format!("/repos/{}/fleet/pulls/1/merge", gitea.user())));
    scenario.wait("gitrepository", &format!("{STACK}-catalog"), "applied by Flux", |_| true);
    // The catalog is read, and the objects for its release wait in the next one.
    eventually("another pull request", || {
        runtime.block_on(site.pulls()).iter().any(|pull| pull["state"] == "open" && pull["number"] == 2)
    });
    let log = std::fs::read_to_string(operator.log()).unwrap();
    assert!(!log.contains(gitea.token()), "the token is in the log");
}
