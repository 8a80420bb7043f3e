use tempfile::TempDir;

use super::*;
use crate::error::Classify as _;

/// Creates a repository with a commit of these entries: path, content and mode.
fn repository(entries: &[(&str, &[u8], i32)]) -> (TempDir, Repository, CommitId) {
    let directory = TempDir::new().unwrap();
    let repository = Repository::init_bare(directory.path()).unwrap();
    let mut update = git2::build::TreeUpdateBuilder::new();
    for (path, content, mode) in entries {
        let id = repository.blob(content).unwrap();
        let mode = match mode {
            0o100_755 => git2::FileMode::BlobExecutable,
            0o120_000 => git2::FileMode::Link,
            _ => git2::FileMode::Blob,
        };
        update.upsert(*path, id, mode);
    }
    let empty = repository.find_tree(repository.treebuilder(None).unwrap().write().unwrap()).unwrap();
    let tree = update.create_updated(&repository, &empty).unwrap();
    let signature = git2::Signature::new("a", "b", &git2::Time::new(0, 0)).unwrap();
    let tree = repository.find_tree(tree).unwrap();
    let commit = CommitId(repository.commit(None, &signature, &signature, "", &tree, &[]).unwrap());
    drop(tree);
    drop(empty);
    (directory, repository, commit)
}

#[test]
fn tree_entry_kinds_and_modes_are_distinguished() {
    let entries: [(&str, &[u8], i32); 4] = [
        ("d/a", b"1", 0o100_644),
        ("d/run", b"2", 0o100_755),
        ("d/link", b"/etc/passwd", 0o120_000),
        ("d/e/f", b"3", 0o100_644),
    ];
    let (_directory, repository, commit) = repository(&entries);
    let snapshot = Snapshot::new(&repository, Some(commit)).unwrap();
    let found: Vec<_> =
        snapshot.entries("d").unwrap().into_iter().map(|entry| (entry.name, entry.kind)).collect();
    let expected = [
        ("a", EntryKind::File),
        ("e", EntryKind::Directory),
        ("link", EntryKind::Link),
        ("run", EntryKind::File),
    ];
    assert_eq!(found, expected.map(|(name, kind)| (name.to_owned(), kind)));
    assert!(snapshot.file("d/run").unwrap().unwrap().executable);
    for nothing in ["d/link", "d", "d/missing", "missing/a", "d/a/x"] {
        assert_eq!(snapshot.file(nothing).unwrap(), None, "{nothing}");
    }
    let files = snapshot.files("d", &Limits::default()).unwrap();
    assert_eq!(files.iter().map(|(path, _)| path).collect::<Vec<_>>(), ["a", "e/f", "run"]);
    assert_eq!(files.links().collect::<Vec<_>>(), [("link", "/etc/passwd")]);
    assert_eq!(snapshot.tree_id("d/a").unwrap(), None);
    assert!(snapshot.tree_id("d/e").unwrap().is_some());
}

#[test]
fn snapshot_without_commit_is_empty() {
    let (_directory, repository, _) = repository(&[]);
    let snapshot = Snapshot::new(&repository, None).unwrap();
    assert_eq!(snapshot.commit(), None);
    assert_eq!(snapshot.file("a").unwrap(), None);
    assert!(snapshot.entries("").unwrap().is_empty());
    assert!(snapshot.files("", &Limits::default()).unwrap().is_empty());
}

#[test]
fn tree_over_limits_is_refused_before_reading() {
    let large = vec![0; 1_000];
    let (_directory, repository, commit) =
        repository(&[("a/large", &large, 0), ("b/1", b"", 0), ("b/2", b"", 0)]);
    let snapshot = Snapshot::new(&repository, Some(commit)).unwrap();
    let limits = Limits { unpacked: 999, entries: 2, ..Limits::default() };
    let error = snapshot.files("a", &limits).unwrap_err();
    assert!(matches!(error, GitError::FileTooLarge { size: 1_000, most: 999, .. }), "{error}");
    assert_eq!(snapshot.files("b", &limits).unwrap().len(), 2);
    let error = snapshot.files("", &limits).unwrap_err();
    assert_eq!(error.reason(), "LimitExceeded", "{error}");
}

#[test]
fn self_similar_tree_is_refused() {
    let (_directory, repository, _) = repository(&[]);
    let mut tree = repository.treebuilder(None).unwrap().write().unwrap();
    for _ in 0..100 {
        let mut builder = repository.treebuilder(None).unwrap();
        // The same tree twice: a bomb of 2^100 directories.
        builder.insert("a", tree, 0o040_000).unwrap();
        builder.insert("b", tree, 0o040_000).unwrap();
        tree = builder.write().unwrap();
    }
    let tree = repository.find_tree(tree).unwrap();
    let error = read_tree(&repository, &tree, &Limits::default()).unwrap_err();
    assert!(matches!(error, GitError::Path { .. } | GitError::TooManyFiles { .. }), "{error}");
}

#[test]
fn submodule_in_a_release_is_refused() {
    let (_directory, repository, commit) = repository(&[("r/a", b"1", 0)]);
    let above = repository.find_commit(commit.0).unwrap().tree().unwrap();
    let release = repository.find_tree(above.get_name("r").unwrap().id()).unwrap();
    let mut builder = repository.treebuilder(Some(&release)).unwrap();
    builder.insert("module", commit.0, 0o160_000).unwrap();
    let tree = repository.find_tree(builder.write().unwrap()).unwrap();
    let error = read_tree(&repository, &tree, &Limits::default()).unwrap_err();
    assert_eq!((error.reason(), error.to_string().contains("module")), ("InvalidPath", true), "{error}");
    assert!(error.to_string().contains("submodule"), "{error}");
}
