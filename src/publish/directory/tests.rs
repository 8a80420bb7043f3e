use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::thread;

use super::*;
use crate::error::Classify as _;
use crate::publish::tests::{NAME, files, prepare, prepared, with};

fn target() -> (tempfile::TempDir, DirectoryTarget) {
    let scratch = tempfile::tempdir().unwrap();
    let top = scratch.path().join("stacks");
    (scratch, DirectoryTarget { top, directory: "a/releases".to_owned() })
}

fn names(target: &DirectoryTarget) -> Vec<String> {
    let entries = fs::read_dir(target.releases()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn release_is_written_once() {
    let (_scratch, target) = target();
    assert_eq!(target.names().unwrap(), [].into());
    let mut release = prepared(NAME);
    release
        .files
        .insert("run.sh", crate::release::File { content: b"x".to_vec(), executable: true })
        .unwrap();
    let path = target.releases().join(NAME);
    assert_eq!(target.publish(&release, false).unwrap(), Published::Written(path.clone()));
    assert_eq!(source::directory::read(&path, &Limits::default()).unwrap(), release.files);
    assert_eq!(fs::metadata(path.join("run.sh")).unwrap().permissions().mode() & 0o100, 0o100);
    assert_eq!(target.publish(&release, false).unwrap(), Published::Unchanged);
    assert_eq!(names(&target), [NAME]);
}

#[test]
fn other_content_is_refused_and_nothing_is_written() {
    let (_scratch, target) = target();
    target.publish(&prepared(NAME), false).unwrap();
    let other = prepare(NAME, with(files(NAME), "README.md", "x"));
    assert_eq!(target.publish(&other, false).unwrap_err().reason(), "ReleaseExists");
    let there = source::directory::read(&target.releases().join(NAME), &Limits::default()).unwrap();
    assert_eq!(there, prepared(NAME).files);
    assert_eq!(names(&target), [NAME]);
}

#[test]
fn leftovers_of_stopped_publisher_are_removed() {
    let (_scratch, target) = target();
    for name in [NAME, "openstack-demo-1-34-v3"] {
        let left = target.releases().join(format!("{UNFINISHED}{name}/cluster-class"));
        fs::create_dir_all(&left).unwrap();
        fs::write(left.join("Chart.yaml"), "half").unwrap();
    }
    target.publish(&prepared(NAME), false).unwrap();
    assert_eq!(names(&target), [NAME]);
}

#[test]
fn concurrent_publishers_write_each_release_once() {
    let (_scratch, target) = target();
    let releases: Vec<Prepared> =
        (2..6).map(|number| prepared(&format!("openstack-demo-1-34-v{number}"))).collect();
    let written = thread::scope(|scope| {
        let all = releases.iter().chain(&releases);
        let running: Vec<_> =
            all.map(|release| scope.spawn(|| target.publish(release, false).unwrap())).collect();
        running.into_iter().map(|one| one.join().unwrap()).collect::<Vec<_>>()
    });
    let written = written.iter().filter(|published| **published != Published::Unchanged);
    assert_eq!(written.count(), 4, "each is written by one of its two publishers");
    assert_eq!(target.names().unwrap().len(), 4);
}

#[test]
fn obstacle_is_reported() {
    let (_scratch, target) = target();
    fs::create_dir_all(target.releases()).unwrap();
    let path = target.releases().join(NAME);
    symlink("/tmp", &path).unwrap();
    let error = target.publish(&prepared(NAME), false).unwrap_err();
    assert!(error.to_string().ends_with("it exists and is not a directory"), "{error}");
    fs::remove_file(&path).unwrap();
    fs::write(target.top.join("a").join(".sourceignore"), "*.yaml\n").unwrap();
    assert_eq!(target.publish(&prepared(NAME), false).unwrap_err().reason(), "FileIgnored");
    assert_eq!(names(&target), Vec::<String>::new());
}

#[test]
fn rollback_is_found_at_the_repository_root() {
    let (scratch, target) = target();
    let hold = format!("holds: [{{release: {NAME}, stage: first, reason: it leaks, commit: abc}}]\n");
    fs::write(scratch.path().join("stackflux.holds.yaml"), &hold).unwrap();
    let stages = "stages: [{name: first, path: stacks/a/releases}]\n";
    fs::write(scratch.path().join("stackflux.yaml"), stages).unwrap();
    target.publish(&prepared("openstack-demo-1-34-v3"), false).unwrap();
    fs::remove_dir_all(&target.top).unwrap();
    fs::create_dir(scratch.path().join(".git")).unwrap();
    assert_eq!(target.publish(&prepared(NAME), false).unwrap_err().reason(), "ReleaseHeld");
    assert_eq!(names(&target), Vec::<String>::new());
    fs::remove_dir(scratch.path().join(".git")).unwrap();
    target.publish(&prepared(NAME), false).unwrap();

    fs::write(target.top.join("stackflux.holds.yaml"), &hold).unwrap();
    fs::remove_dir_all(target.releases()).unwrap();
    let error = target.publish(&prepared(NAME), false).unwrap_err();
    assert_eq!(error.reason(), "ReleaseHeld", "a directory of no repository has its own");
}

#[test]
fn directory_behind_a_link_is_refused() {
    let (scratch, target) = target();
    let elsewhere = scratch.path().join("elsewhere");
    fs::create_dir_all(elsewhere.join("releases")).unwrap();
    fs::create_dir_all(&target.top).unwrap();
    symlink(&elsewhere, target.top.join("a")).unwrap();
    let error = target.publish(&prepared(NAME), false).unwrap_err();
    assert!(error.to_string().contains("it is a link"), "{error}");
    fs::remove_file(target.top.join("a")).unwrap();
    fs::create_dir(target.top.join("a")).unwrap();
    symlink(elsewhere.join("releases"), target.releases()).unwrap();
    assert!(target.publish(&prepared(NAME), false).is_err());
    assert_eq!(fs::read_dir(elsewhere.join("releases")).unwrap().count(), 0);
}

#[test]
fn failed_publication_leaves_nothing() {
    // The directory of the releases is near the longest path that Linux accepts, and the release's files are beyond it.
    let (scratch, mut target) = target();
    let deep = vec!["d".repeat(250); 13].join("/");
    target.top = scratch.path().join(deep);
    let path = vec!["p".repeat(200); 5].join("/");
    let release = prepare(NAME, with(files(NAME), &path, "x"));
    let error = target.publish(&release, false).unwrap_err();
    assert!(matches!(&error, PublishError::Io { .. }), "{error}");
    assert_eq!(names(&target), Vec::<String>::new());
}
