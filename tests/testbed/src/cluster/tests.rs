use serde_json::json;

use super::*;

#[test]
fn ready_is_for_the_current_generation_only() {
    let with = |observed: i64, status: &str| {
        json!({"metadata": {"generation": 2}, "status": {"conditions": [
            {"type": "Ready", "status": status, "observedGeneration": observed},
        ]}})
    };
    assert!(is_ready(&with(2, "True")));
    assert!(!is_ready(&with(1, "True")));
    assert!(!is_ready(&with(2, "False")));
    assert!(!is_ready(&json!({"metadata": {"generation": 1}})));
    for (seen, ready) in [(2, true), (1, false), (-1, false)] {
        let mut object = with(2, "True");
        object["status"]["observedGeneration"] = json!(seen);
        assert_eq!(is_ready(&object), ready, "{seen}");
    }
}
