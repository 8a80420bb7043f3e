use std::fs;
use std::path::PathBuf;

use super::*;
use crate::error::Classify as _;

const NAME: &str = "openstack-demo-1-34-v2";

/// Creates a stack repository with one usable and one unusable release.
fn repository() -> (tempfile::TempDir, PathBuf) {
    let scratch = tempfile::tempdir().unwrap();
    let write = |path: &str, content: &str| {
        let path = scratch.path().join("releases").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    for name in [NAME, "openstack-demo-1-34-v3", "openstack-demo-v5"] {
        write(&format!("{name}/cluster-class/Chart.yaml"), "name: class\nversion: v2\n");
        write(&format!("{name}/cluster-addon/Chart.yaml"), "name: addons\nversion: v1\n");
    }
    write(&format!("{NAME}/metadata.yaml"), "versions: {clusterStack: v2, kubernetes: v1.34.2}\n");
    let path = scratch.path().to_owned();
    (scratch, path)
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

#[test]
fn local_stack_repository_is_read() {
    let (_scratch, path) = repository();
    let origin = LocalOrigin::open(&path).unwrap();
    assert_eq!(origin.single(), None);
    let name: ReleaseName = NAME.parse().unwrap();
    let broken: ReleaseName = "openstack-demo-1-34-v3".parse().unwrap();
    let missing: ReleaseName = "openstack-demo-1-34-v4".parse().unwrap();
    wait(async {
        let listing = origin.list().await.unwrap();
        assert_eq!(listing.releases, [name.clone(), broken.clone()].into());
        assert_eq!(listing.malformed, ["openstack-demo-v5"]);

        let described = origin.describe(&name).await.unwrap();
        let fetched = origin.fetch(&name).await.unwrap();
        assert_eq!(described.digest, fetched.provenance.digest);
        assert_eq!(described.addons.unwrap(), ["cluster-addon"]);
        assert_eq!(fetched.provenance.source, format!("{}/releases/{NAME}", path.display()));
        assert_eq!(fetched.files.len(), 3);

        assert_eq!(origin.describe(&broken).await.unwrap_err().reason(), "MissingFile");
        assert_eq!(origin.fetch(&missing).await.unwrap_err().reason(), "ReleaseNotFound");
    });
}

#[test]
fn single_release_is_listed() {
    let (_scratch, path) = repository();
    let path = path.join("releases").join(NAME);
    let origin = LocalOrigin::open(&path).unwrap();
    let name: ReleaseName = NAME.parse().unwrap();
    assert_eq!(origin.single(), Some(&name));
    wait(async {
        assert_eq!(origin.list().await.unwrap().releases, [name.clone()].into());
        assert_eq!(origin.fetch(&name).await.unwrap().provenance.source, path.display().to_string());
        let other = "openstack-demo-1-34-v3".parse().unwrap();
        assert_eq!(origin.fetch(&other).await.unwrap_err().reason(), "ReleaseNotFound");
    });
}

#[test]
fn release_that_is_no_directory_is_listed_with_its_problem() {
    let (_scratch, path) = repository();
    let (link, file) = ("openstack-demo-1-34-v6", "openstack-demo-1-34-v7");
    std::os::unix::fs::symlink(NAME, path.join("releases").join(link)).unwrap();
    fs::write(path.join("releases").join(file), "file").unwrap();
    let origin = LocalOrigin::open(&path).unwrap();
    wait(async {
        let listed = origin.list().await.unwrap().releases;
        for (name, expected) in [(link, "the release is a link"), (file, "the release is a file")] {
            let name: ReleaseName = name.parse().unwrap();
            assert!(listed.contains(&name));
            let error = origin.describe(&name).await.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    });
}
