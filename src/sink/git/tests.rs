//! Paths that lead out of the directory, and the same bytes as in a directory.

use std::collections::BTreeMap;

use jiff::Timestamp;
use tempfile::TempDir;

use super::*;
use crate::git::{Access, BareRepository, Credentials, Identity, Reference, update as push};
use crate::git::{Proposal, Target, Updated};
use crate::plan::tests::fixture::Fixture;
use crate::sink::update::{Budget, Delivery, DeliveryError, Limit, Overwrite, Scope, update};

fn clone(repository: &TempDir) -> BareRepository {
    let url = repository.path().to_str().unwrap().parse().unwrap();
    BareRepository::temporary(Access { url, credentials: Credentials::default() }).unwrap()
}

fn proposal(edit: Edit) -> Proposal {
    let identity = Identity::parse("Test <test@localhost>", Timestamp::UNIX_EPOCH).unwrap();
    Proposal { edit, message: "a change".to_owned(), identity }
}

fn target() -> Target {
    Target { branch: "main".to_owned(), push_to: None }
}

#[test]
fn commit_has_directory_files_and_repeat_is_none() {
    let repository = TempDir::new().unwrap();
    git2::Repository::init_bare(repository.path()).unwrap();
    let plan = Fixture::new().plan("v1", &["one", "two"]);
    let delivery = Delivery {
        stack: "stacks/demo".to_owned(),
        plan: &plan,
        scope: Scope::default(),
        overwrite: Overwrite::default(),
        budget: Budget { limit: Limit::All, allowed: None },
    };
    let expected = update(&BTreeMap::new(), &delivery).unwrap().writes;
    let clone = clone(&repository);
    let deliver = |path: &str| {
        push(&clone, &target(), None, |snapshot| {
            let changes = update(&Below::new(snapshot, path), &delivery)?;
            let edit = edit(&changes, path).map_err(DeliveryError::Tree)?;
            Ok::<_, DeliveryError<GitError>>((!edit.is_empty()).then(|| proposal(edit)))
        })
        .unwrap()
    };
    for path in ["./deep/down/", "."] {
        assert!(matches!(deliver(path), Updated::Pushed { attempts: 1, .. }), "{path}");
        assert_eq!(deliver(path), Updated::Nothing, "{path}");
        let tip = clone.fetch(&Reference::Branch("main".to_owned())).unwrap();
        let snapshot = clone.snapshot(tip).unwrap();
        let below = Below::new(&snapshot, path);
        for (file, bytes) in &expected {
            assert_eq!(below.read(file, 1 << 20).unwrap(), Found::File(bytes.clone()), "{path} {file}");
        }
    }
}

#[test]
fn links_directories_large_files_are_distinguished() {
    let repository = TempDir::new().unwrap();
    let bare = git2::Repository::init_bare(repository.path()).unwrap();
    let blob = bare.blob(b"text").unwrap();
    let mut inner = bare.treebuilder(None).unwrap();
    inner.insert("file", blob, 0o100_644).unwrap();
    let inner = inner.write().unwrap();
    let mut top = bare.treebuilder(None).unwrap();
    top.insert("file", blob, 0o100_644).unwrap();
    top.insert("link", blob, 0o120_000).unwrap();
    top.insert("sources", inner, 0o040_000).unwrap();
    let tree = bare.find_tree(top.write().unwrap()).unwrap();
    let who = git2::Signature::new("a", "a@localhost", &git2::Time::new(0, 0)).unwrap();
    bare.commit(Some("refs/heads/main"), &who, &who, "files", &tree, &[]).unwrap();
    let clone = clone(&repository);
    let tip = clone.fetch(&Reference::Branch("main".to_owned())).unwrap();
    let snapshot = clone.snapshot(tip).unwrap();
    let below = Below::new(&snapshot, "");
    for (path, expected) in [
        ("file", Found::File(b"text".to_vec())),
        ("sources/file", Found::File(b"text".to_vec())),
        ("link", Found::Other("a link or a submodule")),
        ("sources", Found::Other("a directory")),
        ("file/below", Found::Other("below a link or a file")),
        ("link/below/it", Found::Other("below a link or a file")),
        ("sources/nothing", Found::Nothing),
        ("nothing/at/all", Found::Nothing),
    ] {
        assert_eq!(below.read(path, 4).unwrap(), expected, "{path}");
    }
    assert_eq!(below.read("file", 3).unwrap(), Found::TooLarge);
    let inside = Below::new(&snapshot, "file");
    assert_eq!(inside.read("x", 4).unwrap(), Found::Other("below a link or a file"));
}
