use std::path::Path;
use std::sync::Arc;

use git2::Repository;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::git::tests::{access, bare, identity};
use crate::plan::tests::fixture::Fixture;

const PATH: &str = "fleet";

/// Runs a pass with nothing to commit, after Flux applied this revision of `main`.
fn pass(remote: &Path, clones: &Path, before: Option<Seen>, applied: CommitId) -> Done {
    let kustomization = (Key::new("flux-system", "fleet"), Some(format!("main@sha1:{applied}")));
    let kustomizations = [kustomization].into();
    Job { before, kustomizations, ..job(remote, clones) }.run().unwrap()
}

/// Returns a pass with nothing to commit.
fn job(remote: &Path, clones: &Path) -> Job {
    Job {
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
        before: None,
        kustomizations: BTreeMap::new(),
        applied: Applied::new(),
        may_write: Box::new(|| true),
    }
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

#[test]
fn change_without_a_pull_request_branch_is_not_pushed() {
    let (remote, clones) = (Path::new("/nowhere"), Path::new("/nowhere"));
    let target = |by_pull_request, own_branch: Option<&str>| {
        let job = Job { by_pull_request, ..job(remote, clones) };
        job.target(own_branch.map(str::to_owned)).map(|target| (target.branch, target.push_to))
    };
    let main = || "main".to_owned();
    assert_eq!(target(false, None), Some((main(), None)));
    assert_eq!(target(true, Some("stackflux/x")), Some((main(), Some("stackflux/x".to_owned()))));
    assert_eq!(target(true, None), None, "the base had the change, and it may have moved since");
}

#[test]
fn conflicting_subject_is_not_committed_in_part() {
    let edit_cluster: fn(&mut Value) = |cluster| cluster["spec"]["controlPlaneEndpoint"]["port"] = json!(1);
    let plan = Fixture { edit_cluster, ..Fixture::new() }.plan("v1", &["a", "one"]);
    let (first, second) = (Subject::Release("v1".to_owned()), Subject::Release("v2".to_owned()));
    let planned = |plan: Plan| Change::Planned(Arc::new(plan));
    let changes = [(first, planned(Fixture::new().plan("v1", &["one"]))), (second.clone(), planned(plan))];
    let job = Job { batch: changes.into(), ..job(Path::new("/nowhere"), Path::new("/nowhere")) };
    let (merged, conflicts) = job.merged();
    assert_eq!(conflicts.keys().collect::<Vec<_>>(), [&second]);
    assert_eq!(merged.digest(), Fixture::new().plan("v1", &["one"]).digest());
}

#[test]
fn commit_of_another_history_is_lost() {
    let ((_directory, remote), clones) = (bare(), TempDir::new().unwrap());
    let ours = rewrite(&remote, "ours");
    let before = pass(&remote, clones.path(), None, ours).seen;
    let repository = Repository::open_bare(&remote).unwrap();
    let commit = |tree: git2::Oid, parents: &[CommitId]| {
        let author = git2::Signature::new("Ann", "ann@example.org", &git2::Time::new(1, 0)).unwrap();
        let tree = repository.find_tree(tree).unwrap();
        let find = |parent: &CommitId| repository.find_commit(parent.to_string().parse().unwrap()).unwrap();
        let parents: Vec<_> = parents.iter().map(find).collect();
        let parents: Vec<_> = parents.iter().collect();
        let commit = repository.commit(None, &author, &author, "Ann's", &tree, &parents).unwrap();
        repository.reference("refs/heads/main", commit, true, "").unwrap();
        commit.to_string().parse::<CommitId>().unwrap()
    };
    let empty = repository.treebuilder(None).unwrap().write().unwrap();
    let on_top = commit(empty, &[ours]);
    let done = pass(&remote, clones.path(), before.clone(), on_top);
    assert_eq!((done.lost, done.is_changed_by_others), (None, true), "a commit on top is no loss");
    let other = commit(empty, &[]);
    let done = pass(&remote, clones.path(), before, other);
    assert_eq!((done.lost, done.is_changed_by_others), (Some(ours), true));
}

/// Returns a pass that commits the objects of a release.
fn first_commit(remote: &Path, clones: &Path) -> Job {
    let change = Change::Planned(Arc::new(Fixture::new().plan("v1", &[])));
    Job { batch: [(Subject::Release("v1".to_owned()), change)].into(), ..job(remote, clones) }
}

#[test]
fn only_the_leader_pushes() {
    let ((_directory, remote), clones) = (bare(), TempDir::new().unwrap());
    let follower = Job { may_write: Box::new(|| false), ..first_commit(&remote, clones.path()) };
    let refused = follower.run().err().unwrap();
    assert!(matches!(refused, PushUpdateError::Change(ChangeError::NotLeader)), "{refused}");
    let has_branch = || Repository::open_bare(&remote).unwrap().find_reference("refs/heads/main").is_ok();
    assert!(!has_branch());
    assert!(first_commit(&remote, clones.path()).run().unwrap().pushed.is_some() && has_branch());
}

#[test]
fn first_commit_lacks_no_object_that_flux_applied() {
    let ((_directory, remote), clones) = (bare(), TempDir::new().unwrap());
    let of_cluster = Fixture::new().plan("v1", &["one"]);
    let object = of_cluster.addons().next().unwrap().id.clone();
    let applied = [(object, Subject::Cluster(Key::new("stacks", "one")))].into();
    let done = Job { applied, ..first_commit(&remote, clones.path()) }.run().unwrap();
    assert_eq!(done.pushed, None);
    let reasons: Vec<Reason> = done.held.values().map(|hold| hold.reason).collect();
    assert_eq!(reasons, [Reason::PushFailed]);
}
