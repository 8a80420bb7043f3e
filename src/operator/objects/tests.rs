use serde_json::json;

use super::*;

/// A `ClusterStack` finds the Clusters of its releases by its line. With channel `custom`, it finds releases with any
/// suffix.
#[test]
fn line_of_a_stack_is_one_of_its_releases() {
    let of = |channel: &str| {
        let spec =
            json!({"provider": "docker", "name": "scs", "kubernetesVersion": "1.30", "channel": channel});
        index::line("stacks", &serde_json::from_value(spec).unwrap())
    };
    for (release, channels) in [
        ("docker-scs-1-30-v1", &["stable"][..]),
        ("docker-scs-1-30-v0-sha-rwvgrna", &["custom", "sha"]),
        ("docker-scs-1-30-v0-custom-1", &["custom"]),
    ] {
        let lines: Vec<String> = index::lines_of("stacks", &release.parse().unwrap()).collect();
        assert_eq!(lines, channels.iter().map(|channel| of(channel)).collect::<Vec<_>>(), "{release}");
    }
}
