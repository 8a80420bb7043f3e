//! The sources of contents: an existing content keeps its source; otherwise it is the lowest release of the line that
//! has the content.

use serde_json::json;

use super::*;
use crate::release::{File, Files, Limits};

const COMMITS: [&str; 3] = [
    "1111111111111111111111111111111111111111",
    "2222222222222222222222222222222222222222",
    "3333333333333333333333333333333333333333",
];

fn stack() -> Stack {
    let stack = json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack",
        "metadata": {"name": "demo", "namespace": "stacks"},
        "spec": {
            "provider": "docker", "name": "demo", "kubernetesVersion": "1.34", "noProvider": true,
            "source": {"git": {"url": "https://git.example.org/stacks.git"}},
        },
    });
    Stack::new(&serde_json::from_value(stack).unwrap(), None, std::iter::empty()).unwrap()
}

/// Creates a release with the one addon `cni`, whose chart has this value.
fn release(name: &str, value: &str) -> Release {
    let name: ReleaseName = name.parse().unwrap();
    let metadata = format!("versions: {{clusterStack: {}, kubernetes: v1.34.0}}\n", name.version().dotted());
    let class = format!("apiVersion: v2\nname: class\nversion: {}\n", name.version().dotted());
    let stages = "addonStages:\n  AfterControlPlaneInitialized:\n  - {name: cni, action: apply}\n";
    let mut files = Files::default();
    for (path, content) in [
        ("metadata.yaml", metadata.as_str()),
        ("clusteraddon.yaml", stages),
        ("cluster-class/Chart.yaml", class.as_str()),
        ("cluster-addon/cni/Chart.yaml", "apiVersion: v2\nname: cni\nversion: v1\n"),
        ("cluster-addon/cni/values.yaml", value),
    ] {
        files.insert(path, File { content: content.as_bytes().to_vec(), executable: false }).unwrap();
    }
    Release::load(&name, files, &Limits::default()).unwrap_or_else(|findings| panic!("{findings}")).release
}

fn catalog(releases: &[&Release]) -> Catalog {
    let entries = releases.iter().zip(COMMITS);
    entries
        .map(|(release, commit)| (release.name.clone(), CatalogEntry::of(release, commit.parse().unwrap())))
        .collect()
}

fn cni(contents: &Contents) -> (String, String) {
    let content = contents.addons.values().next().unwrap();
    let release = content.release.as_ref().unwrap();
    (release.to_string(), contents.pins[release].revision.to_string())
}

fn existing(objects: &[Value]) -> Existing {
    let mut existing = Existing::default();
    for object in objects {
        existing.insert(object);
    }
    existing
}

fn source(release: &Release, digest: &str) -> Value {
    json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": {"name": release.name.to_string(), "namespace": "stacks", "annotations": {labels::CONTENT_DIGEST: digest}},
        "spec": {"ref": {"commit": COMMITS[2]}},
    })
}

fn chart(of: &Release, in_release: &Release, digest: &str) -> Value {
    let name = format!("cni-{}", of.addons[0].digest.short());
    json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "HelmChart",
        "metadata": {"name": name, "namespace": "stacks", "annotations": {labels::CONTENT_DIGEST: digest}},
        "spec": {"sourceRef": {"name": in_release.name.to_string()}, "chart": "./elsewhere/cni"},
    })
}

#[test]
fn lowest_release_of_equal_content_is_chart_source() {
    let first = release("docker-demo-1-34-v1", "a: 1\n");
    let (second, changed) =
        (release("docker-demo-1-34-v2", "a: 1\n"), release("docker-demo-1-34-v3", "a: 2\n"));
    let catalog = catalog(&[&first, &second, &changed]);
    let of = |release| cni(&resolve(&stack(), release, &catalog, &Existing::default()).unwrap());
    assert_eq!(of(&second), ("docker-demo-1-34-v1".to_owned(), COMMITS[0].to_owned()));
    assert_eq!(of(&changed), ("docker-demo-1-34-v3".to_owned(), COMMITS[2].to_owned()));
}

#[test]
fn source_of_other_channel_is_not_used() {
    let beta = release("docker-demo-1-34-v0-beta-1", "a: 1\n");
    let stable = release("docker-demo-1-34-v2", "a: 1\n");
    let contents = resolve(&stack(), &stable, &catalog(&[&beta, &stable]), &Existing::default()).unwrap();
    assert_eq!(cni(&contents).0, "docker-demo-1-34-v2");
}

#[test]
fn custom_shares_contents_over_all_suffixes() {
    let (sha, git) =
        (release("docker-demo-1-34-v0-sha-a", "a: 1\n"), release("docker-demo-1-34-v0-git-b", "a: 1\n"));
    let stable = release("docker-demo-1-34-v1", "a: 1\n");
    let mut stack = stack();
    stack.line.channel = "custom".to_owned();
    let catalog = catalog(&[&sha, &git, &stable]);
    for release in [&sha, &git] {
        let contents = resolve(&stack, release, &catalog, &Existing::default()).unwrap();
        assert_eq!(cni(&contents).0, "docker-demo-1-34-v0-git-b", "one source for two releases of one plan");
    }
}

#[test]
fn existing_chart_keeps_source_and_release_its_pin() {
    let (first, second) =
        (release("docker-demo-1-34-v1", "a: 1\n"), release("docker-demo-1-34-v2", "a: 1\n"));
    let catalog = catalog(&[&first, &second]);
    let kept = existing(&[
        source(&second, &second.digest.to_string()),
        chart(&second, &second, &second.addons[0].digest.to_string()),
    ]);
    let contents = resolve(&stack(), &second, &catalog, &kept).unwrap();
    assert_eq!(cni(&contents), ("docker-demo-1-34-v2".to_owned(), COMMITS[2].to_owned()));
    assert_eq!(contents.addons.values().next().unwrap().path, "./elsewhere/cni");
}

#[test]
fn sources_in_other_namespaces_pin_nothing() {
    let first = release("docker-demo-1-34-v1", "a: 1\n");
    let pinned = |namespace: &str, digest: &str| {
        let mut source = source(&first, digest);
        source["metadata"]["namespace"] = json!(namespace);
        source
    };
    let digest = first.digest.to_string();
    let mut stack = stack();
    let catalog = catalog(&[&first]);
    let of = |stack: &Stack, objects: &[Value]| {
        cni(&resolve(stack, &first, &catalog, &existing(objects)).unwrap()).1
    };
    let other = pinned("tenant", "sha256:other");
    assert_eq!(of(&stack, std::slice::from_ref(&other)), COMMITS[0]);
    stack.flux.sources = SourcePlacement::PerNamespace;
    assert_eq!(of(&stack, std::slice::from_ref(&other)), COMMITS[0], "a tenant wrote it");
    assert_eq!(of(&stack, &[pinned("tenant", &digest)]), COMMITS[0], "a copy beside its users");
    assert_eq!(of(&stack, &[pinned("stacks", &digest), other]), COMMITS[2], "it is beside the class");
}

#[test]
fn chart_in_other_namespace_chooses_no_source() {
    let (v1, v2) = ("docker-demo-1-34-v1", "docker-demo-1-34-v2");
    let (first, second) = (release(v1, "a: 1\n"), release(v2, "a: 1\n"));
    let digest = first.addons[0].digest.to_string();
    let copy = |namespace: &str, digest: &str| {
        let mut copy = chart(&first, &second, digest);
        copy["metadata"]["namespace"] = json!(namespace);
        copy["spec"]["chart"] = json!(format!("./releases/{v2}/cluster-addon/cni"));
        copy
    };
    let catalog = catalog(&[&first, &second]);
    let of = |stack: &Stack, object: Value| {
        cni(&resolve(stack, &first, &catalog, &existing(&[object])).unwrap()).0
    };
    let mut stack = stack();
    for placement in [SourcePlacement::Shared, SourcePlacement::PerNamespace] {
        stack.flux.sources = placement;
        assert_eq!(of(&stack, copy("stacks", &digest)), v2, "it keeps its source: {placement:?}");
        assert_eq!(of(&stack, copy("tenant", &digest)), v1, "a tenant wrote it: {placement:?}");
        assert_eq!(of(&stack, copy("tenant", "sha256:other")), v1, "it blocks no release: {placement:?}");
    }
}

#[test]
fn deleted_or_foreign_object_is_not_counted() {
    let first = release("docker-demo-1-34-v1", "a: 1\n");
    let mut deleted = chart(&first, &first, "sha256:other");
    deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let mut foreign = source(&first, "");
    foreign["metadata"]["annotations"] = json!({});
    let contents = resolve(&stack(), &first, &catalog(&[&first]), &existing(&[deleted, foreign])).unwrap();
    assert_eq!(cni(&contents).1, COMMITS[0]);
}

#[test]
fn different_content_under_same_name_is_refused() {
    let first = release("docker-demo-1-34-v1", "a: 1\n");
    let kept = existing(&[chart(&first, &first, "sha256:other")]);
    let error = resolve(&stack(), &first, &catalog(&[&first]), &kept).unwrap_err();
    assert!(
        matches!(&error, ContentError::ChartNameCollision { existing, .. } if existing == "sha256:other"),
        "{error}"
    );
}

#[test]
fn release_changed_after_pin_is_refused() {
    let first = release("docker-demo-1-34-v1", "a: 1\n");
    let kept = existing(&[source(&first, "sha256:before")]);
    let error = resolve(&stack(), &first, &catalog(&[&first]), &kept).unwrap_err();
    assert!(
        matches!(&error, ContentError::ReleaseMutated { pinned, .. } if pinned == "sha256:before"),
        "{error}"
    );
}

#[test]
fn release_without_commit_is_refused() {
    let first = release("docker-demo-1-34-v1", "a: 1\n");
    let error = resolve(&stack(), &first, &Catalog::new(), &Existing::default()).unwrap_err();
    assert_eq!(error, ContentError::Unpinned(first.name));
}

#[test]
fn paths_have_the_form_of_flux() {
    let name: ReleaseName = "docker-demo-1-34-v1".parse().unwrap();
    for (root, below, expected) in [
        ("releases", "cluster-addon/cni", "./releases/docker-demo-1-34-v1/cluster-addon/cni"),
        ("./a/b/", "", "./a/b/docker-demo-1-34-v1"),
        ("", "x", "./docker-demo-1-34-v1/x"),
    ] {
        assert_eq!(release_path(root, &name, below), expected);
    }
}

/// Creates a release whose one addon is a directory of manifests.
fn with_manifests(name: &str) -> Release {
    let name: ReleaseName = name.parse().unwrap();
    let metadata = format!("versions: {{clusterStack: {}, kubernetes: v1.34.0}}\n", name.version().dotted());
    let class = format!("apiVersion: v2\nname: class\nversion: {}\n", name.version().dotted());
    let stages = "addonStages:\n  AfterControlPlaneInitialized:\n  - {name: quota, action: apply}\n";
    let manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: quota}\n";
    let mut files = Files::default();
    for (path, content) in [
        ("metadata.yaml", metadata.as_str()),
        ("clusteraddon.yaml", stages),
        ("cluster-class/Chart.yaml", class.as_str()),
        ("cluster-addon/quota/quota.yaml", manifest),
    ] {
        files.insert(path, File { content: content.as_bytes().to_vec(), executable: false }).unwrap();
    }
    Release::load(&name, files, &Limits::default()).unwrap_or_else(|findings| panic!("{findings}")).release
}

/// Creates the `Kustomization` of a cluster that has the manifests of `of`, from the release `from`. A user edited its
/// path: no plan takes that path over.
fn manifests(of: &Release, from: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {
            "name": "one.quota", "namespace": "clusters", "labels": {labels::ADDON: "quota"},
            "annotations": {labels::CONTENT_DIGEST: of.addons[0].digest.to_string()},
        },
        "spec": {"sourceRef": {"name": from, "namespace": namespace}, "path": "./elsewhere/quota"},
    })
}

#[test]
fn manifests_of_a_cluster_keep_their_source() {
    let (v1, v2) = ("docker-demo-1-34-v1", "docker-demo-1-34-v2");
    let (first, second) = (with_manifests(v1), with_manifests(v2));
    let other = Release { name: "docker-demo-1-34-v0-beta-1".parse().unwrap(), ..with_manifests(v1) };
    let of = |objects: &[Value], catalog: &Catalog| {
        let contents = resolve(&stack(), &second, catalog, &existing(objects)).unwrap();
        let content = contents.addons.values().next().unwrap();
        (content.release.as_ref().unwrap().to_string(), content.path.clone())
    };
    let from = |release: &str| (release.to_owned(), format!("./releases/{release}/cluster-addon/quota"));
    let both = catalog(&[&first, &second]);
    assert_eq!(of(&[], &both), from(v1));
    // A lower release was added since.
    assert_eq!(of(&[manifests(&second, v2, "stacks")], &both), from(v2));
    // The release has left the stack repository, or has another content there.
    let gone = catalog(&[&second]);
    assert_eq!(of(&[manifests(&second, v1, "stacks")], &gone), from(v2));
    let mut changed = both.clone();
    changed.get_mut(&first.name).unwrap().addons.clear();
    assert_eq!(of(&[manifests(&second, v1, "stacks")], &changed), from(v2));
    // One of another stack, one of another line, and one that is being deleted.
    assert_eq!(of(&[manifests(&second, v2, "others")], &both), from(v1));
    let all = catalog(&[&first, &second, &other]);
    assert_eq!(of(&[manifests(&second, "docker-demo-1-34-v0-beta-1", "stacks")], &all), from(v1));
    let mut goes = manifests(&second, v2, "stacks");
    goes["metadata"]["deletionTimestamp"] = json!("2026-11-21T12:00:00Z");
    assert_eq!(of(&[goes], &both), from(v1));
}

#[test]
fn release_changed_after_its_pin_supplies_nothing() {
    let (v1, v2) = ("docker-demo-1-34-v1", "docker-demo-1-34-v2");
    let (first, second) = (release(v1, "a: 1\n"), release(v2, "a: 1\n"));
    let catalog = catalog(&[&first, &second]);
    let digest = first.digest.to_string();
    for (what, revision, digest, expected) in [
        ("pinned with this content", COMMITS[2], digest.as_str(), (v1, COMMITS[2])),
        ("pinned with other content", COMMITS[2], "sha256:0", (v2, COMMITS[1])),
        ("pinned at no commit", "main", digest.as_str(), (v2, COMMITS[1])),
    ] {
        let (revision, digest, path) = (revision.to_owned(), digest.to_owned(), "releases".to_owned());
        let mut existing = Existing::default();
        existing.insert_pin(first.name.clone(), &PinnedSource { revision, digest, path });
        let (source, commit) = cni(&resolve(&stack(), &second, &catalog, &existing).unwrap());
        assert_eq!((source.as_str(), commit.as_str()), expected, "{what}");
        // The release itself is not planned with other content.
        let is_mutated = matches!(
            resolve(&stack(), &first, &catalog, &existing),
            Err(ContentError::ReleaseMutated { .. })
        );
        assert_eq!(is_mutated, what == "pinned with other content", "{what}");
    }
}
