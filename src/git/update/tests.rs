use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};

use git2::Repository;

use super::*;
use crate::git::Message;
use crate::git::tests::{bare, clone, edit, identity};

fn proposal(files: &[(&str, &str)]) -> Proposal {
    Proposal { edit: edit(files), message: Message::new("change").to_string(), identity: identity(0) }
}

fn main_branch() -> Target {
    Target { branch: "main".into(), push_to: None }
}

fn pull_request() -> Target {
    Target { branch: "main".into(), push_to: Some("stackflux/change".into()) }
}

fn write(clone: &BareRepository, target: &Target, files: &[(&str, &str)]) -> Updated {
    update(clone, target, None, |_| Ok::<_, Infallible>(Some(proposal(files)))).unwrap()
}

fn commit(updated: Updated) -> CommitId {
    match updated {
        Updated::Pushed { commit, .. } => commit,
        other => panic!("{other:?}"),
    }
}

fn text(clone: &BareRepository, commit: CommitId, path: &str) -> Option<String> {
    let file = clone.snapshot(Some(commit)).unwrap().file(path).unwrap();
    file.map(|file| String::from_utf8(file.content).unwrap())
}

#[test]
fn repeated_first_edit_makes_one_commit() {
    let (_directory, remote) = bare();
    let clone = clone(&remote);
    let first = commit(write(&clone, &main_branch(), &[("a/b", "1")]));
    assert_eq!(clone.fetch(&Reference::Branch("main".into())).unwrap(), Some(first));
    assert_eq!(write(&clone, &main_branch(), &[("a/b", "1")]), Updated::Nothing);
    assert_eq!(clone.fetch(&Reference::Branch("main".into())).unwrap(), Some(first));
}

#[test]
fn concurrent_push_is_kept() {
    let (_directory, remote) = bare();
    let (ours, theirs) = (clone(&remote), clone(&remote));
    write(&ours, &main_branch(), &[("a", "1")]);
    let mut runs = 0;
    let updated = update(&ours, &main_branch(), None, |snapshot| {
        runs += 1;
        if runs == 1 {
            write(&theirs, &main_branch(), &[("b", "2")]);
        }
        let seen = snapshot.file("b").unwrap().is_some();
        Ok::<_, Infallible>(Some(proposal(&[("c", if seen { "after" } else { "before" })])))
    });
    let updated = updated.unwrap();
    assert!(matches!(updated, Updated::Pushed { attempts: 2, .. }), "{updated:?}");
    let tip = commit(updated);
    let texts = ["a", "b", "c"].map(|path| text(&ours, tip, path).unwrap());
    assert_eq!(texts, ["1", "2", "after"]);
}

#[test]
fn history_rewritten_meanwhile_is_built_upon() {
    let (_directory, remote) = bare();
    let ours = clone(&remote);
    let dropped = commit(write(&ours, &main_branch(), &[("a", "1")]));
    let updated = update(&ours, &main_branch(), None, |snapshot| {
        if snapshot.file("a").unwrap().is_some() {
            // Between the plan and the push, `main` is replaced by an unrelated history.
            let repository = Repository::open_bare(&remote).unwrap();
            repository.find_reference("refs/heads/main").unwrap().delete().unwrap();
            write(&clone(&remote), &main_branch(), &[("b", "2")]);
        }
        Ok::<_, Infallible>(Some(proposal(&[("c", "3")])))
    });
    let tip = commit(updated.unwrap());
    assert!(!ours.is_ancestor(dropped, tip).unwrap(), "what was dropped stays dropped");
    assert_eq!(
        ["a", "b", "c"].map(|path| text(&ours, tip, path)),
        [None, Some("2".into()), Some("3".into())]
    );
}

#[test]
fn fifty_concurrent_updates_lose_nothing() {
    let (_directory, remote) = bare();
    let attempts = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for number in 0..50 {
            let (remote, attempts) = (&remote, &attempts);
            scope.spawn(move || {
                let path = format!("releases/{number}/metadata.yaml");
                let updated = write(&clone(remote), &main_branch(), &[(path.as_str(), "x")]);
                let Updated::Pushed { attempts: made, .. } = updated else { panic!("{updated:?}") };
                attempts.fetch_add(usize::try_from(made).unwrap(), Ordering::Relaxed);
            });
        }
    });
    let clone = clone(&remote);
    let tip = clone.fetch(&Reference::Branch("main".into())).unwrap().unwrap();
    assert_eq!(clone.snapshot(Some(tip)).unwrap().entries("releases").unwrap().len(), 50);
    assert_eq!(clone.log(tip, "", 100).unwrap().len(), 50, "one commit each");
    println!("attempts: {}", attempts.into_inner());
}

#[test]
fn error_of_change_ends_the_update() {
    let (_directory, remote) = bare();
    let clone = clone(&remote);
    let ended = update(&clone, &main_branch(), None, |_| Err::<Option<Proposal>, _>(std::fmt::Error));
    assert!(matches!(ended, Err(PushUpdateError::Change(_))), "{ended:?}");
    assert_eq!(clone.fetch(&Reference::Branch("main".into())).unwrap(), None);
}

#[test]
fn pull_request_branch_is_reused() {
    let (_directory, remote) = bare();
    let clone = clone(&remote);
    let base = commit(write(&clone, &main_branch(), &[("a", "1")]));
    let proposed = commit(write(&clone, &pull_request(), &[("b", "2")]));
    assert_eq!(clone.fetch(&Reference::Branch("main".into())).unwrap(), Some(base));
    assert!(clone.is_ancestor(base, proposed).unwrap());
    assert_eq!(write(&clone, &pull_request(), &[("b", "2")]), Updated::Present(proposed));
}

#[test]
fn pull_request_without_base_is_refused() {
    let (_directory, remote) = bare();
    let clone = clone(&remote);
    let ended = update(&clone, &pull_request(), None, |_| Ok::<_, Infallible>(Some(proposal(&[("b", "2")]))));
    assert!(matches!(ended, Err(PushUpdateError::Git(GitError::NoBranch { .. }))), "{ended:?}");
    assert_eq!(clone.fetch(&Reference::Branch("stackflux/change".into())).unwrap(), None);
}

#[test]
fn branch_without_shared_history_is_refused() {
    let (_directory, remote) = bare();
    let clone = clone(&remote);
    write(&clone, &main_branch(), &[("a", "1")]);
    let target = Target { branch: "master".into(), push_to: None };
    let ended = update(&clone, &target, None, |_| Ok::<_, Infallible>(Some(proposal(&[("b", "2")]))));
    assert!(matches!(ended, Err(PushUpdateError::Git(GitError::NoBranch { .. }))), "{ended:?}");
    assert_eq!(Repository::open(&remote).unwrap().references().unwrap().count(), 1);
}

#[test]
fn pull_request_merges_its_base() {
    let (_directory, remote) = bare();
    let clone = clone(&remote);
    write(&clone, &main_branch(), &[("a", "1")]);
    let proposed = commit(write(&clone, &pull_request(), &[("b", "2")]));
    let base = commit(write(&clone, &main_branch(), &[("a", "3")]));
    let merged = commit(write(&clone, &pull_request(), &[("b", "2")]));
    assert!(clone.is_ancestor(base, merged).unwrap());
    assert!(clone.is_ancestor(proposed, merged).unwrap());
    assert_eq!(text(&clone, merged, "a").as_deref(), Some("3"));
    assert_eq!(text(&clone, merged, "b").as_deref(), Some("2"));
}

#[test]
fn branch_of_merged_pull_request_is_reused() {
    let (_directory, remote) = bare();
    let clone = clone(&remote);
    write(&clone, &main_branch(), &[("a", "1")]);
    let proposed = commit(write(&clone, &pull_request(), &[("b", "2")]));
    let tip = clone.fetch(&Reference::Branch("main".into())).unwrap();
    assert_eq!(clone.push(proposed, "main", tip).unwrap(), Pushed::Done);
    let reverted = commit(write(&clone, &main_branch(), &[("b", "before")]));
    let again = commit(write(&clone, &pull_request(), &[("b", "2")]));
    assert!(clone.is_ancestor(reverted, again).unwrap());
}

#[test]
fn foreign_commit_on_pull_request_branch_is_kept() {
    let (_directory, remote) = bare();
    let clone = clone(&remote);
    write(&clone, &main_branch(), &[("a", "1")]);
    let proposed = commit(write(&clone, &pull_request(), &[("b", "2")]));
    let theirs = clone.commit(Some(proposed), &edit(&[("c", "3")]), "theirs", &identity(0), None);
    let theirs = theirs.unwrap().unwrap();
    assert_eq!(clone.push(theirs, "stackflux/change", Some(proposed)).unwrap(), Pushed::Done);
    let ended = update(&clone, &pull_request(), None, |_| Ok::<_, Infallible>(Some(proposal(&[("b", "2")]))));
    assert!(matches!(ended, Err(PushUpdateError::Occupied { .. })), "{ended:?}");
    let tip = clone.fetch(&Reference::Branch("stackflux/change".into())).unwrap();
    assert_eq!(tip, Some(theirs));
}

#[test]
fn local_repository_with_hook_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_directory, remote) = bare();
    let clone = clone(&remote);
    for hook in ["pre-receive", "update", "reference-transaction"] {
        let path = remote.join("hooks").join(hook);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "#!/bin/sh\nexit 1\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let push =
            || update(&clone, &main_branch(), None, |_| Ok::<_, Infallible>(Some(proposal(&[("a", hook)]))));
        let error = push().unwrap_err();
        assert!(matches!(error, PushUpdateError::Git(GitError::Refused { .. })), "{error}");
        assert!(error.to_string().contains(&format!("has the hook {hook}")), "{error}");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(push(), Ok(Updated::Pushed { .. })), "Git does not run it either");
    }
}

#[test]
fn push_from_unexpected_commit_changes_nothing() {
    let (_directory, remote) = bare();
    let clone = clone(&remote);
    let first = commit(write(&clone, &main_branch(), &[("a", "1")]));
    let second = commit(write(&clone, &main_branch(), &[("a", "2")]));
    // It descends from the tip, so the server alone would accept it.
    let third = clone.commit(Some(second), &edit(&[("a", "3")]), "third", &identity(0), None);
    let third = third.unwrap().unwrap();
    for expected in [Some(first), None] {
        let pushed = clone.push(third, "main", expected).unwrap();
        assert!(matches!(pushed, Pushed::Rejected(_)), "{pushed:?}");
    }
    assert_eq!(clone.fetch(&Reference::Branch("main".into())).unwrap(), Some(second));
    assert_eq!(Repository::open(&remote).unwrap().references().unwrap().count(), 1, "nothing is left behind");
}
