//! The operator reads releases from artifacts of a real source-controller.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use stackflux::foreign::flux::observed::Artifact;
use stackflux::inputs::line::Line;
use stackflux::names::ReleaseName;
use stackflux::operator::release_cache::{CatalogKey, ReleaseCache, ReleaseCacheError};
use stackflux::release::{Digest, Limits};
use stackflux::runtime::cache::Key;
use stackflux::source::artifact::{ArtifactRef, Download, FetchLimits, ReleaseSelection};
use stackflux::source::directory;
use stackflux_testbed::{Object, Testbed};

use crate::support::scratch;

const V1: &str = "docker-demo-1-34-v1";
const V10: &str = "docker-demo-1-34-v10";

fn write_release(tree: &Path, name: &str) {
    let version = name.rsplit('-').next().unwrap();
    let files = [
        ("metadata.yaml", format!("versions: {{clusterStack: {version}, kubernetes: v1.34.2}}\n")),
        ("cluster-class/Chart.yaml", format!("apiVersion: v2\nname: class\nversion: {version}\n")),
        ("cluster-addon/Chart.yaml", "apiVersion: v2\nname: addons\nversion: v1\n".to_owned()),
        ("cluster-addon/files/logo.png", "ignored by default".to_owned()),
        ("README.md", format!("This is {name}.\n")),
    ];
    for (path, content) in files {
        let path = tree.join("releases").join(name).join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// The artifact of a `GitRepository` of this spec.
fn artifact(testbed: &Testbed, namespace: &str, name: &str, spec: &str) -> ArtifactRef {
    let url = testbed.git().url(namespace);
    let object = format!(
        "{{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, metadata: {{name: {name}, namespace: {namespace}}}, \
         spec: {{url: {url:?}, interval: 24h, {spec}}}}}"
    );
    let management = testbed.management();
    management.apply(&object).unwrap();
    let object = Object { kind: "gitrepository", namespace, name };
    let fetched = management.wait_ready(object, Duration::from_mins(1)).unwrap();
    let artifact: &Value = fetched.pointer("/status/artifact").unwrap();
    ArtifactRef::new(&serde_json::from_value::<Artifact>(artifact.clone()).unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn catalog_and_pinned_release_agree() {
    let testbed = Testbed::shared();
    let namespace = testbed.namespace("artifacts").unwrap();
    let tree = scratch("artifacts");
    for name in [V1, V10, "docker-other-1-34-v1", "docker-demo-v5"] {
        write_release(&tree, name);
    }
    let commit = testbed.git().push_directory(&namespace, "main", &tree, "releases").unwrap();
    let name = |text: &str| text.parse::<ReleaseName>().unwrap();
    let of_tree = |name: &str| {
        let files = directory::read(&tree.join("releases").join(name), &Limits::default()).unwrap();
        Digest::of(&files, "")
    };

    let followed = artifact(testbed, &namespace, "catalog", "ref: {branch: main}");
    let cache = || ReleaseCache::new(Download::new(None, FetchLimits::default()).unwrap());
    let line = Line::of(&name(V1));
    let selection = ReleaseSelection { path: "releases".to_owned(), line, is_builtin: false };
    let key = CatalogKey { repository: Key::new(&namespace, "catalog"), selection };
    let read = cache().catalog(&key, &followed).await.unwrap();
    assert_eq!(read.revision.as_str(), commit);
    let catalog = read.catalog();
    let found: Vec<_> = catalog.iter().map(|(name, entry)| (name.to_string(), entry.digest)).collect();
    assert_eq!(found, [(V1.to_owned(), of_tree(V1)), (V10.to_owned(), of_tree(V10))]);
    assert_eq!((read.others.unwanted, read.others.malformed), (1, 1));

    let pin = format!("ref: {{commit: {commit}}}, sparseCheckout: [releases/{V1}]");
    let pinned = artifact(testbed, &namespace, V1, &pin);
    let (cache, digest) = (cache(), of_tree(V1));
    let release = cache.pinned_release(&pinned, "releases", &name(V1), digest).await.unwrap();
    assert_eq!((release.name.to_string().as_str(), release.digest), (V1, digest));
    let wrong = cache.pinned_release(&pinned, "releases", &name(V1), of_tree(V10)).await.unwrap_err();
    assert!(matches!(wrong, ReleaseCacheError::ReleaseMutated { .. }), "{wrong}");
}
