use tempfile::TempDir;

use super::*;
use crate::error::Classify as _;
use crate::git::tests::{bare, edit, file, identity};
use crate::git::{BareRepository, CommitId, Snapshot};
use crate::release::Limits;

fn clone() -> (TempDir, BareRepository) {
    let (directory, remote) = bare();
    (directory, crate::git::tests::clone(&remote))
}

fn commit(clone: &BareRepository, parent: Option<CommitId>, edit: &Edit) -> Option<CommitId> {
    clone.commit(parent, edit, "test\n", &identity(0), None).unwrap()
}

/// Returns all paths with their content.
fn all(snapshot: &Snapshot<'_>) -> Vec<(String, String)> {
    let files = snapshot.files("", &Limits::default()).unwrap();
    let text = |file: &File| String::from_utf8(file.content.clone()).unwrap();
    files.iter().map(|(path, file)| (path.to_owned(), text(file))).collect()
}

/// Returns the files after an edit of `a/b`, `a/c/d` and `e`, whose content is their path.
fn after(change: impl FnOnce(&mut Edit, &Snapshot<'_>)) -> Vec<(String, String)> {
    let (_directory, clone) = clone();
    let first = commit(&clone, None, &edit(&[("a/b", "a/b"), ("a/c/d", "a/c/d"), ("e", "e")]));
    let mut change_of = Edit::default();
    change(&mut change_of, &clone.snapshot(first).unwrap());
    let second = commit(&clone, first, &change_of).or(first);
    all(&clone.snapshot(second).unwrap())
}

fn listed(files: &[(&str, &str)]) -> Vec<(String, String)> {
    files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn unnamed_files_are_kept() {
    let found = after(|edit, _| {
        edit.write("a/c/x", file("1")).unwrap();
        edit.write("new/er/y", file("2")).unwrap();
        edit.remove("e").unwrap();
    });
    assert_eq!(found, listed(&[("a/b", "a/b"), ("a/c/d", "a/c/d"), ("a/c/x", "1"), ("new/er/y", "2")]));
}

#[test]
fn emptied_directory_is_removed() {
    let (_directory, clone) = clone();
    let first = commit(&clone, None, &edit(&[("a/b/c/d", "1"), ("e", "2")]));
    let mut remove = Edit::default();
    remove.remove("a/b/c/d").unwrap();
    let second = commit(&clone, first, &remove);
    let entries = clone.snapshot(second).unwrap().entries("").unwrap();
    assert_eq!(entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), ["e"]);
}

#[test]
fn removing_all_files_makes_an_empty_tree() {
    let found = after(|edit, _| edit.clear_directory("").unwrap());
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn removing_missing_file_makes_no_commit() {
    let (_directory, clone) = clone();
    let first = commit(&clone, None, &edit(&[("a/b", "1")]));
    let mut change = Edit::default();
    change.remove("x").unwrap();
    change.remove("a/x/y").unwrap();
    change.clear_directory("z").unwrap();
    assert_eq!(commit(&clone, first, &change), None);
    assert_eq!(commit(&clone, first, &edit(&[("a/b", "1")])), None, "the same content");
    assert_eq!(commit(&clone, None, &change), None, "nothing out of nothing");
}

#[test]
fn emptied_directory_has_only_later_files() {
    let found = after(|edit, _| {
        edit.write("a/lost", file("0")).unwrap();
        edit.clear_directory("a").unwrap();
        edit.write("a/c/x", file("1")).unwrap();
    });
    assert_eq!(found, listed(&[("a/c/x", "1"), ("e", "e")]));
}

#[test]
fn copied_directory_has_source_and_later_edits() {
    let found = after(|edit, snapshot| {
        let tree = snapshot.tree_id("a").unwrap().unwrap();
        edit.copy_directory(tree, "copy").unwrap();
        edit.write("copy/c/x", file("1")).unwrap();
        edit.remove("copy/b").unwrap();
        edit.remove("a").unwrap();
    });
    assert_eq!(found, listed(&[("copy/c/d", "a/c/d"), ("copy/c/x", "1"), ("e", "e")]));
}

#[test]
fn obstacle_is_replaced_only_if_removed() {
    let found = after(|edit, _| {
        edit.remove("e").unwrap();
        edit.write("e/f", file("2")).unwrap();
    });
    assert_eq!(found, listed(&[("a/b", "a/b"), ("a/c/d", "a/c/d"), ("e/f", "2")]));
    let found = after(|edit, _| {
        edit.write("new", file("1")).unwrap();
        edit.write("new/z", file("2")).unwrap();
    });
    assert_eq!(found.last().unwrap().0, "new/z", "within the edit the later one wins");
    let (_directory, clone) = clone();
    let first = commit(&clone, None, &edit(&[("a/b", "1"), ("e", "2")]));
    for (path, way) in [("a", "a"), ("e/f", "e"), ("e/f/g", "e"), ("a/b/c", "a/b")] {
        let error = clone.commit(first, &edit(&[(path, "3")]), "test\n", &identity(0), None).unwrap_err();
        assert!(matches!(&error, GitError::Path { path, error: PathError::Taken } if path == way), "{error}");
    }
}

#[test]
fn removing_below_a_file_leaves_the_file() {
    let found = after(|edit, _| edit.remove("e/x/y").unwrap());
    assert_eq!(found, listed(&[("a/b", "a/b"), ("a/c/d", "a/c/d"), ("e", "e")]));
}

#[test]
fn file_mode_is_kept() {
    let (_directory, clone) = clone();
    let mut change = Edit::default();
    let executable = File { content: b"#!/bin/sh".to_vec(), executable: true };
    change.write("run", executable.clone()).unwrap();
    let commit = commit(&clone, None, &change);
    assert_eq!(clone.snapshot(commit).unwrap().file("run").unwrap(), Some(executable));
}

#[test]
fn paths_that_lead_elsewhere_are_refused() {
    let mut edit = Edit::default();
    for path in ["", "/a", "../a", "a/../b", "a//b", "a/", "./a", "a\\b", "a\nb"] {
        assert_eq!(edit.write(path, file("")).unwrap_err().reason(), "InvalidPath", "{path:?}");
        assert_eq!(edit.remove(path).unwrap_err().reason(), "InvalidPath", "{path:?}");
    }
    assert!(edit.is_empty());
}

#[test]
fn edit_digest_is_independent_of_its_base() {
    let digest = |files: &[(&str, &str)]| edit(files).digest();
    assert_eq!(digest(&[("a", "1"), ("b", "2")]), digest(&[("b", "2"), ("a", "1")]));
    let others = [
        digest(&[]),
        digest(&[("a", "1")]),
        digest(&[("a", "2")]),
        digest(&[("b", "1")]),
        digest(&[("a/b", "1")]),
        {
            let mut edit = Edit::default();
            edit.remove("a").unwrap();
            edit.digest()
        },
        {
            let mut edit = Edit::default();
            edit.clear_directory("a").unwrap();
            edit.digest()
        },
    ];
    let different: std::collections::BTreeSet<_> = others.into_iter().collect();
    assert_eq!(different.len(), 7);
}

#[test]
fn single_file_change_writes_only_objects_on_its_path() {
    let (_directory, clone) = clone();
    let mut first = Edit::default();
    for cluster in 0..200 {
        for addon in ["ccm", "cni", "csi", "metrics-server"] {
            first.write(&format!("clusters/{cluster}/{addon}.yaml"), file(&format!("{cluster}"))).unwrap();
        }
    }
    let parent = commit(&clone, None, &first);
    let objects = || {
        let mut count = 0;
        clone
            .repository
            .odb()
            .unwrap()
            .foreach(|_| {
                count += 1;
                true
            })
            .unwrap();
        count
    };
    let before = objects();
    commit(&clone, parent, &edit(&[("clusters/17/cni.yaml", "changed")])).unwrap();
    assert_eq!(objects() - before, 5, "a file, three directories and a commit");
}

#[test]
fn git_directory_name_is_refused_with_its_path() {
    for path in [
        ".git",
        "a/.GIT/config",
        "releases/x/git~1/hooks/post-checkout",
        ".git./x",
        ".git::$INDEX_ALLOCATION/x",
    ] {
        let error = Edit::default().write(path, File { content: Vec::new(), executable: false }).unwrap_err();
        assert!(
            matches!(&error, GitError::Path { path: reported, error: PathError::Git } if reported == path),
            "{error}"
        );
    }
    Edit::default().write("a/.github/git~10", File { content: Vec::new(), executable: false }).unwrap();
}
