//! The effect of a changed object.

use serde_json::json;

use super::*;

#[test]
fn references_and_patches_upgrade_an_addon() {
    let old = json!({"spec": {"values": {"a": 1}, "interval": "1m"}});
    for (field, value, expected) in [
        ("values", json!({"a": 2}), Some(Effect::UpgradesValues)),
        ("valuesFrom", json!([{"kind": "Secret", "name": "a"}]), Some(Effect::UpgradesValues)),
        ("postRenderers", json!([{"kustomize": {}}]), Some(Effect::UpgradesValues)),
        ("interval", json!("2m"), None),
    ] {
        let mut new = old.clone();
        new["spec"][field] = value;
        assert_eq!(effect("HelmRelease", Some(&old), Some(&new)), expected, "{field}");
    }
}
