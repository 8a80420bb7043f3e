//! Automatic releases: from a registry into the stack repository, and from there to a ready stack.

use serde_json::{Value, json};
use stackflux::release::Digest;
use stackflux_testbed::Registry;

use super::scenario::{STACK, Scenario, V1, V2, condition};
use crate::git::git;
use crate::push::{Layout, Pusher, packed};
use crate::support::scratch;

/// Pushes a release of the example into a registry, as the builders do.
pub(crate) fn push(registry: &Registry, repository: &str, release: &str, layout: Layout) -> Digest {
    let example =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/stack/releases").join(release);
    push_files(registry, repository, release, layout, &packed(&example))
}

pub(crate) fn push_files(
    registry: &Registry,
    repository: &str,
    release: &str,
    layout: Layout,
    files: &std::collections::BTreeMap<String, Vec<u8>>,
) -> Digest {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let pusher = Pusher::new(registry.address(), registry.user());
    runtime.block_on(pusher.push(repository, release, files, layout))
}

/// A source whose releases come from a registry that requires a password.
pub(crate) fn source(scenario: &Scenario<'_>, registry: &Registry, repository: &str) -> Value {
    let (user, password) = registry.user().unwrap();
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "registry", "namespace": scenario.namespace},
        "stringData": {"username": user, "password": password},
    });
    scenario.management().apply(&secret.to_string()).unwrap();
    json!({"autoSubscribe": true, "source": {
        "git": {"url": scenario.url(), "ref": {"branch": "main"}, "interval": "2s"},
        "upstream": {
            "url": format!("oci://{}/{repository}", registry.address()), "interval": "2s", "insecure": true,
            "secretRef": {"name": "registry"},
            "commit": {"author": {"name": "Release bot", "email": "bot@example.com"}},
        },
    }})
}

#[test]
fn upstream_release_is_published_and_offered() {
    let scenario = Scenario::shared("upstream");
    let (registry, repository) =
        (scenario.testbed.protected_registry(), format!("{}/stacks", scenario.namespace));
    // An invalid release is reported, and does not hold back the one after it.
    let files = [("metadata.yaml".to_owned(), b"versions: {}\n".to_vec())].into();
    push_files(registry, &repository, V1, Layout::Scs, &files);
    push(registry, &repository, V2, Layout::Plain);
    let _operator = scenario.operator();
    scenario.apply_stack(&["v1"], &source(&scenario, registry, &repository));
    scenario.wait_ready("clusterstackrelease", V2);
    let stack = scenario.wait("clusterstack", STACK, "told", |stack| {
        condition(stack, "ReleasesPublished").1 == "PublishFailed"
    });
    assert!(condition(&stack, "ReleasesPublished").2.contains(V1), "{stack:#}");

    // None of it was written, and after it is fixed it is published automatically.
    let digest = push(registry, &repository, V1, Layout::Scs);
    scenario.wait_ready("clusterstackrelease", V1);
    let stack = scenario.wait("clusterstack", STACK, "published", |stack| {
        let (status, reason, _) = condition(stack, "ReleasesPublished");
        (status, reason) == ("True", "Published") && condition(stack, "Ready").0 == "True"
    });
    assert_eq!(stack["status"]["latestRelease"], V2);
    let clone = scratch(&format!("{}-clone", scenario.namespace));
    git(clone.parent().unwrap(), &["clone", "--quiet", &scenario.url(), clone.to_str().unwrap()]);
    let log = git(&clone, &["log", "--format=%an <%ae> %s"]);
    let lines: Vec<&str> = log.lines().collect();
    let by = "Release bot <bot@example.com> Publish";
    assert_eq!(lines, [format!("{by} {V1}"), format!("{by} {V2}")]);
    let message = git(&clone, &["log", "-1", "--format=%B"]);
    let from = format!("Stackflux-Source: oci://{}/{repository}:{V1}@{digest}", registry.address());
    assert!(message.contains(&from), "{message}");

    // Nothing listens there.
    let nowhere = json!({"spec": {"source": {"upstream": {"url": "oci://127.0.0.1:1/stacks"}}}});
    scenario.patch("clusterstack", STACK, &nowhere);
    let stack = scenario.wait("clusterstack", STACK, "not reached", |stack| {
        condition(stack, "ReleasesPublished").1 == "UpstreamUnavailable"
    });
    assert!(condition(&stack, "ReleasesPublished").2.contains("127.0.0.1:1"), "{stack:#}");
}
