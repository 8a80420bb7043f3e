//! Delivery by pull requests, on a real Gitea: nothing is applied before a user merges it.

use serde_json::json;
use stackflux_testbed::Gitea;

use super::record::{is_recording, record};
use super::reviewed::{Reviewed, apply_secret};
use super::scenario::{STACK, Scenario, V1, condition, eventually};

#[test]
fn plan_waits_until_its_pull_request_is_merged() {
    let (scenario, gitea) = (Scenario::shared("pulls"), Gitea::start().unwrap());
    let reviewed = Reviewed::start(&scenario, &gitea);
    scenario.publish(&[V1]);
    let operator = scenario.operator();
    scenario.apply_stack(&["v1"], &reviewed.delivery());
    let open = scenario.wait("clusterstack", STACK, "a pull request", |stack| {
        condition(stack, "Delivered").1 == "PullRequestOpen"
    });
    assert_eq!(condition(&open, "Delivered").2, format!("waits for pull request {}", reviewed.address(1)));
    assert!(scenario.get("gitrepository", &format!("{STACK}-catalog")).is_none(), "nothing is applied");
    let pulls = reviewed.pulls();
    let branch = format!("stackflux/{}-{STACK}-", scenario.namespace);
    assert!(pulls[0]["head"]["ref"].as_str().unwrap().starts_with(&branch), "{pulls:?}");
    assert!(pulls[0]["title"].as_str().unwrap().starts_with("stackflux: "), "{pulls:?}");

    assert!(reviewed.merge(1));
    scenario.wait("gitrepository", &format!("{STACK}-catalog"), "applied by Flux", |_| true);
    // The catalog is read, and the objects for its release wait in the next one.
    eventually("another pull request", || reviewed.open() == [2]);
    expired_tokens_are_reported(&scenario, &reviewed);
    let log = std::fs::read_to_string(operator.log()).unwrap();
    assert!(!log.contains(gitea.token()), "the token is in the log");
}

/// Gitea accepts neither the token with which the operator pushes, nor that with which Flux fetches: both are named.
fn expired_tokens_are_reported(scenario: &Scenario<'_>, reviewed: &Reviewed<'_>) {
    reviewed.push_with(scenario, "expired");
    // What follows is to be committed.
    assert!(reviewed.merge(2));
    let refused = scenario.wait("clusterstack", STACK, "the push is refused", |stack| {
        let (status, reason, _) = condition(stack, "Delivered");
        // It becomes False after five minutes.
        reason == "PushFailed" && (status == "False" || !is_recording())
    });
    let message = condition(&refused, "Delivered").2;
    assert!(message.contains("password or token"), "{message}");
    record("push-token", scenario);

    let reader = Scenario::shared("pulls-reader");
    let operator = reader.operator();
    apply_secret(&reader, "reader", &json!({"username": "reader", "password": "expired"}));
    let git = json!({"url": reviewed.url(), "ref": {"branch": "main"}, "interval": "2s", "secretRef": {"name": "reader"}});
    reader.apply_stack(&["v1"], &json!({"source": {"git": git}}));
    reader.wait("clusterstack", STACK, "the password is refused", |stack| {
        condition(stack, "SourceReady").0 == "False"
    });
    record("git-password", &reader);
    drop(operator);
}
