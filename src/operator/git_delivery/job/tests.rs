use std::path::Path;

use git2::Repository;
use tempfile::TempDir;

use super::*;
use crate::git::tests::{access, bare, identity};

const PATH: &str = "fleet";

/// Runs a pass with nothing to commit, after Flux applied this revision of `main`.
fn pass(remote: &Path, clones: &Path, before: Option<Seen>, applied: CommitId) -> Done {
    let kustomization = (Key::new("flux-system", "fleet"), Some(format!("main@sha1:{applied}")));
    let job = Job {
        stack: "stacks/docker-demo-1-34".to_owned(),
        access: CloneAccess {
            directory: clones.to_owned(),
            remote: access(remote),
            signer: None,
            identity: identity(0),
        },
        branch: "main".to_owned(),
        path: PATH.to_owned(),
        by_pull_request: false,
        batch: Batch::new(),
        before,
        kustomizations: [kustomization].into(),
        applied: Applied::new(),
        may_write: Box::new(|| true),
    };
    job.run().unwrap()
}

/// Resets `main` to a commit without parents that contains one file of the operator.
fn rewrite(remote: &Path, message: &str) -> CommitId {
    let repository = Repository::open_bare(remote).unwrap();
    let blob = repository.blob(b"same content").unwrap();
    let mut below = repository.treebuilder(None).unwrap();
    below.insert("file", blob, 0o100_644).unwrap();
    let mut root = repository.treebuilder(None).unwrap();
    root.insert(PATH, below.write().unwrap(), 0o040_000).unwrap();
    let tree = repository.find_tree(root.write().unwrap()).unwrap();
    let author = git2::Signature::new("Ann", "ann@example.org", &git2::Time::new(0, 0)).unwrap();
    let commit = repository.commit(None, &author, &author, message, &tree, &[]).unwrap();
    repository.reference("refs/heads/main", commit, true, "").unwrap();
    commit.to_string().parse().unwrap()
}

#[test]
fn rewritten_history_with_the_same_files_is_applied() {
    let ((_directory, remote), clones) = (bare(), TempDir::new().unwrap());
    let first = rewrite(&remote, "first");
    let done = pass(&remote, clones.path(), None, first);
    assert_eq!(done.lagging, None);
    let second = rewrite(&remote, "the same, rewritten");
    let done = pass(&remote, clones.path(), done.seen, second);
    assert_eq!((done.lagging, done.seen.unwrap().commit), (None, second));
    assert_eq!(done.pushed, None, "nothing was to be committed");
}
