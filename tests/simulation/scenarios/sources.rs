//! The source of a `ClusterStack`, which changes.

use serde_json::json;

use super::fixture::STACK;
use crate::api_server::ApiServer;
use crate::properties::{run, settle};
use crate::repository::V1;

/// The `GitRepository` that the operator makes for the `ClusterStack`.
const MADE: &str = "docker-catalog";

#[test]
fn undeletable_earlier_source_is_reported() {
    run("source", |simulation| {
        simulation.deliver();
        let before = simulation.generations();
        let spec =
            json!({"url": "https://git.example.org/stacks.git", "ref": {"branch": "main"}, "interval": "1m"});
        simulation.apply_foreign(&json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "spec": spec,
            "metadata": {"name": "own", "namespace": simulation.namespace},
        }));
        simulation.refuse(Some(|_, call| call.method == "DELETE" && ApiServer::place_of(call).2 == MADE));
        let source = json!({"git": null, "gitRepositoryRef": {"name": "own"}});
        simulation.merge("ClusterStack", STACK, &json!({"spec": {"source": source}}));
        settle(simulation);
        simulation.expect("ClusterStack", STACK, "SourceReady", "Unknown DeliveryFailed");
        let message = simulation.message("ClusterStack", STACK, "SourceReady");
        assert!(message.contains(MADE) && message.contains("forbidden"), "{message}");
        let log = simulation.wire.cluster().log.clone();
        let mut events = log.iter().filter(|line| line.starts_with("event: DeliveryFailed"));
        assert_eq!(events.next(), None, "the condition says it, and no event follows each retry");

        simulation.refuse(None);
        settle(simulation);
        simulation.expect("ClusterStack", STACK, "SourceReady", "True Fetched");
        assert!(!simulation.has("GitRepository", MADE));
        simulation.expect_ready_at("one", V1);
        assert_eq!(simulation.generations(), before);
    });
}
