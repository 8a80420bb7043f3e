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
}
