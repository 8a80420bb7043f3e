//! `stackflux install --export` prints what kustomize builds.

use serde_json::Value;

use super::objects;
use crate::support::stackflux;

fn exported(arguments: &[&str]) -> Vec<Value> {
    let run = stackflux(&[&["install", "--export"], arguments].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.stdout.split("\n---\n").map(|document| serde_yaml::from_str(document).unwrap()).collect()
}

#[test]
fn export_equals_kustomize_in_the_same_order() {
    for (arguments, overlay) in [(&[][..], "base"), (&["-n", "stackflux-system"], "own-namespace")] {
        let (found, expected) = (exported(arguments), objects(overlay));
        assert!(expected.len() > 15, "{overlay}: {}", expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "{overlay}");
        }
        assert_eq!(found.len(), expected.len(), "{overlay}");
    }
}
