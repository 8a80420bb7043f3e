use std::process::Command;

use super::*;
use crate::git::tests::file;

fn name(version: u32) -> ReleaseName {
    format!("docker-demo-1-34-v{version}").parse().unwrap()
}

fn release(version: u32) -> Files {
    let mut files = Files::default();
    files.insert("metadata.yaml", file(&format!("version: {version}\n"))).unwrap();
    files.insert("cluster-addon/cni/Chart.yaml", file("name: cni\n")).unwrap();
    files
}

/// Runs the git program in a directory.
fn git(directory: &Path, arguments: &[&str]) -> String {
    let run = Command::new("git").arg("-C").arg(directory).args(arguments).output().unwrap();
    assert!(run.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).unwrap().trim().to_owned()
}

fn open(directory: &tempfile::TempDir) -> ServedRepository {
    ServedRepository::open(&directory.path().join("served")).unwrap()
}

#[test]
fn same_releases_make_the_same_commits_in_any_order() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (one, other) = (open(&one), open(&other));
    for version in [1, 2, 10] {
        one.add(&name(version), &release(version)).unwrap();
        one.merge().unwrap();
    }
    for version in [10, 2, 1] {
        other.add(&name(version), &release(version)).unwrap();
    }
    assert_eq!(one.main().unwrap(), other.merge().unwrap());
    assert_eq!(one.releases().unwrap(), other.releases().unwrap());
    assert_eq!(one.releases().unwrap().len(), 3);
    assert_eq!(git(one.path(), &["rev-parse", "HEAD^2"]), one.releases().unwrap()[&name(2)].to_string());
}

#[test]
fn git_finds_the_repository_sound() {
    let directory = tempfile::tempdir().unwrap();
    let served = open(&directory);
    assert_eq!(served.main().unwrap(), None);
    assert_eq!(served.merge().unwrap(), None);
    for version in 1..=70 {
        served.add(&name(version), &release(version)).unwrap();
    }
    served.merge().unwrap();
    git(served.path(), &["fsck", "--strict", "--full"]);
    let clone = directory.path().join("clone");
    git(directory.path(), &["clone", "--quiet", served.path().to_str().unwrap(), clone.to_str().unwrap()]);
    assert_eq!(fs::read_dir(clone.join("releases")).unwrap().count(), 70);
    assert_eq!(
        git(&clone, &["ls-tree", "-r", "--name-only", &format!("origin/{}", name(7))]).lines().count(),
        2
    );
    let loose = git(served.path(), &["count-objects"]);
    assert!(loose.starts_with("0 objects"), "{loose}");
}

#[test]
fn replaced_release_is_the_only_change() {
    let directory = tempfile::tempdir().unwrap();
    let served = open(&directory);
    for version in [1, 2] {
        served.add(&name(version), &release(version)).unwrap();
    }
    let (before, main) = (served.releases().unwrap(), served.merge().unwrap());
    assert_eq!(served.add(&name(2), &release(2)).unwrap(), before[&name(2)]);
    assert_eq!(served.merge().unwrap(), main, "the same again changes nothing");
    served.add(&name(2), &release(3)).unwrap();
    let after = served.releases().unwrap();
    assert_eq!((before[&name(1)], before[&name(2)] == after[&name(2)]), (after[&name(1)], false));
    assert_ne!(served.merge().unwrap(), main);
}

#[test]
fn repository_has_one_writer_and_survives_its_end() {
    let directory = tempfile::tempdir().unwrap();
    let served = open(&directory);
    served.add(&name(1), &release(1)).unwrap();
    let main = served.merge().unwrap();
    let place = directory.path().join("served");
    assert!(matches!(ServedRepository::open(&place), Err(GitError::InUse(_))));
    drop(served);
    let served = open(&directory);
    assert_eq!((served.releases().unwrap().len(), served.main().unwrap()), (1, main));

    // The machine ended before the packs were on the disk.
    let packs = served.path().join("objects/pack");
    drop(served);
    for file in fs::read_dir(&packs).unwrap() {
        fs::remove_file(file.unwrap().path()).unwrap();
    }
    let served = open(&directory);
    assert_eq!((served.releases().unwrap().len(), served.main().unwrap()), (0, None));
    served.add(&name(1), &release(1)).unwrap();
    assert_eq!(served.merge().unwrap(), main, "it is as it was");
}

#[test]
fn private_repository_stays_private() {
    let directory = tempfile::tempdir().unwrap();
    let served = open(&directory);
    assert!(!served.is_private());
    served.set_private().unwrap();
    drop(served);
    assert!(open(&directory).is_private());
}

#[test]
fn lost_merge_is_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let served = open(&directory);
    served.add(&name(1), &release(1)).unwrap();
    let main = served.merge().unwrap();
    git(served.path(), &["update-ref", "-d", "refs/heads/main"]);
    assert_eq!(served.merge().unwrap(), main);
    // Each object of a release counts.
    let blob = git(served.path(), &["rev-parse", &format!("{}:releases/{0}/metadata.yaml", name(1))]);
    for pack in fs::read_dir(served.path().join("objects/pack")).unwrap() {
        fs::rename(pack.as_ref().unwrap().path(), directory.path().join(pack.unwrap().file_name())).unwrap();
    }
    let packs = fs::read_dir(directory.path()).unwrap().filter_map(|entry| {
        let path = entry.unwrap().path();
        path.extension().is_some_and(|kind| kind == "pack").then_some(path)
    });
    for pack in packs {
        let unpacked = Command::new("git")
            .arg("-C")
            .arg(served.path())
            .args(["unpack-objects", "-q"])
            .stdin(File::open(pack).unwrap())
            .status();
        assert!(unpacked.unwrap().success());
    }
    fs::remove_file(served.path().join("objects").join(&blob[..2]).join(&blob[2..])).unwrap();
    drop(served);
    assert_eq!(open(&directory).releases().unwrap().len(), 0);
}

#[test]
fn size_of_a_directory_counts_all_files() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir_all(directory.path().join("a/b")).unwrap();
    fs::write(directory.path().join("a/one"), "12345").unwrap();
    fs::write(directory.path().join("a/b/two"), "123").unwrap();
    assert_eq!(directory_size(directory.path()), 8);
    assert_eq!(directory_size(&directory.path().join("none")), 0);
}
