use std::path::Path;
use std::thread;

use git2::Repository;

use super::*;
use crate::error::Classify as _;
use crate::git::Message;
use crate::git::tests::{bare, clone, identity};
use crate::publish::tests::{NAME, files, prepare, prepared, vendored, with};
use crate::release::{File, Files};

fn target(remote: &Path) -> GitTarget {
    GitTarget { clone: clone(remote), branch: "main".to_owned(), directory: "releases".to_owned() }
}

fn publish(
    target: &GitTarget,
    prepared: &Prepared,
    pull_request: bool,
) -> Result<Published<Committed>, PublishError> {
    target.publish(prepared, false, &Committing { identity: identity(0), signer: None, pull_request })
}

fn written(published: Published<Committed>) -> Committed {
    let Published::Written(committed) = published else { panic!("{published:?}") };
    committed
}

/// Returns the subjects of the branch's commits, newest first.
fn subjects(remote: &Path) -> Vec<String> {
    let repository = Repository::open_bare(remote).unwrap();
    let mut walk = repository.revwalk().unwrap();
    walk.push_ref("refs/heads/main").unwrap();
    let commit = |id: Result<_, _>| repository.find_commit(id.unwrap()).unwrap();
    walk.map(|id| commit(id).summary().unwrap().unwrap_or_default().to_owned()).collect()
}

fn read(clone: &BareRepository, commit: CommitId, directory: &str) -> Files {
    clone.snapshot(Some(commit)).unwrap().files(directory, &Limits::default()).unwrap()
}

/// Writes a file to the branch as another user would.
fn write(clone: &BareRepository, path: &str, text: &str) {
    let target = Target { branch: "main".to_owned(), push_to: None };
    update(clone, &target, None, |_| {
        let mut edit = Edit::default();
        edit.write(path, File { content: text.into(), executable: false }).unwrap();
        let proposal = Proposal { edit, message: Message::new("else").to_string(), identity: identity(0) };
        Ok::<_, PublishError>(Some(proposal))
    })
    .unwrap();
}

#[test]
fn release_is_one_commit() {
    let (_directory, remote) = bare();
    let target = target(&remote);
    write(&target.clone, "README.md", "mine");
    let release = prepared(NAME);
    let first = written(publish(&target, &release, false).unwrap()).commit;
    assert_eq!(read(&target.clone, first, &format!("releases/{NAME}")), release.files);
    assert!(read(&target.clone, first, "").get("README.md").is_some(), "nothing else is touched");
    assert_eq!(publish(&target, &release, false).unwrap(), Published::Unchanged);
    assert_eq!(subjects(&remote), [format!("Publish {NAME}"), "else".to_owned()]);
}

#[test]
fn other_content_is_refused() {
    let (_directory, remote) = bare();
    let target = target(&remote);
    publish(&target, &prepared(NAME), false).unwrap();
    let other = prepare(NAME, with(files(NAME), "cluster-addon/policies/more.yaml", "kind: List\n"));
    let error = publish(&target, &other, false).unwrap_err();
    assert_eq!(error.reason(), "ReleaseExists");
    assert!(error.to_string().ends_with("with other content: cluster-addon/policies/more.yaml"), "{error}");
    assert_eq!(subjects(&remote).len(), 1);
    assert_eq!(target.names().unwrap(), [NAME.parse().unwrap()].into());
}

#[test]
fn files_ignored_by_flux_are_not_a_difference() {
    let (_directory, remote) = bare();
    let target = target(&remote);
    publish(&target, &prepared(NAME), false).unwrap();
    write(&target.clone, &format!("releases/{NAME}/logo.png"), "x");
    assert_eq!(publish(&target, &prepared(NAME), false).unwrap(), Published::Unchanged);
}

#[test]
fn concurrent_publishers_write_each_release_once() {
    let (_directory, remote) = bare();
    let releases: Vec<Prepared> =
        (2..6).map(|number| prepared(&format!("openstack-demo-1-34-v{number}"))).collect();
    let written = thread::scope(|scope| {
        let all = releases.iter().chain(&releases);
        let running: Vec<_> =
            all.map(|release| scope.spawn(|| publish(&target(&remote), release, false).unwrap())).collect();
        running.into_iter().map(|one| one.join().unwrap()).filter(|one| *one != Published::Unchanged).count()
    });
    assert_eq!(written, 4, "each is written by one of its two publishers");
    let mut subjects = subjects(&remote);
    subjects.sort();
    let expected: Vec<String> =
        releases.iter().map(|release| format!("Publish {}", release.name())).collect();
    assert_eq!(subjects, expected);
}

#[test]
fn pull_request_branch_is_stable() {
    let (_directory, remote) = bare();
    let target = target(&remote);
    write(&target.clone, "README.md", "mine");
    let first = written(publish(&target, &prepared(NAME), true).unwrap());
    assert!(first.branch.starts_with(&format!("stackflux/publish-{NAME}-")), "{}", first.branch);
    write(&target.clone, "README.md", "later");
    let second = written(publish(&target, &prepared(NAME), true).unwrap());
    assert_eq!(first.branch, second.branch);
    assert_eq!(subjects(&remote), ["else", "else"], "the branch itself is not touched");
    let other = prepare(NAME, with(files(NAME), "README.md", "x"));
    let other = written(publish(&target, &other, true).unwrap());
    assert_ne!(first.branch, other.branch);
}

/// Returns the release with a chart fetched in this version.
fn with_chart(version: &str) -> Prepared {
    let prepared = prepared(NAME);
    let chart = vendored(&prepared, version, version.as_bytes());
    let files = with(prepared.files.clone(), &chart.missing.archive(version), version);
    Prepared { files, vendored: vec![chart], ..prepared }
}

#[test]
fn other_chart_version_reuses_the_pull_request() {
    let (_directory, remote) = bare();
    let target = target(&remote);
    write(&target.clone, "README.md", "mine");
    let how = Committing { identity: identity(0), signer: None, pull_request: true };
    let propose = |version: &str| target.publish(&with_chart(version), true, &how);
    let first = written(propose("1.2.3").unwrap());
    assert_eq!(written(propose("1.2.4").unwrap()), first, "with the message of what was proposed");
    assert!(first.message.value(message::VENDORED).unwrap().starts_with("cilium 1.2.3 "));
    write(&target.clone, "README.md", "later");
    assert_eq!(written(propose("1.2.4").unwrap()), first);
    let again = written(propose("1.2.3").unwrap());
    assert_eq!(again.branch, first.branch);
    assert!(target.clone.is_ancestor(first.commit, again.commit).unwrap(), "it follows its base");

    let other = target.publish(&with_chart("1.2.4"), false, &how).unwrap_err();
    assert_eq!(other.reason(), "GitBranchOccupied", "where no version is fetched, it is another content");
    let tip = target.clone.fetch(&Reference::Branch("main".to_owned())).unwrap();
    assert_eq!(target.clone.push(again.commit, "main", tip).unwrap(), crate::git::Pushed::Done);
    assert_eq!(propose("1.2.4").unwrap(), Published::Unchanged, "it was merged");
}

#[test]
fn obstacle_is_reported() {
    let (_directory, remote) = bare();
    let target = target(&remote);
    write(&target.clone, &format!("releases/{NAME}"), "a file");
    let error = publish(&target, &prepared(NAME), false).unwrap_err();
    assert!(error.to_string().ends_with("exists and is not a directory"), "{error}");
    write(&target.clone, "releases/.sourceignore", "*.yaml\n");
    let other = prepared("openstack-demo-1-34-v3");
    assert_eq!(publish(&target, &other, false).unwrap_err().reason(), "FileIgnored");
}

#[test]
fn held_release_is_not_published_to_its_stage() {
    let (_directory, remote) = bare();
    let target = target(&remote);
    write(
        &target.clone,
        "stackflux.yaml",
        "stages: [{name: first}, {name: second, path: other, after: first}]\n",
    );
    let holds = |stage: &str| {
        format!("holds: [{{release: {NAME}, stage: {stage}, reason: it leaks, commit: abc}}]\n")
    };
    write(&target.clone, "stackflux.holds.yaml", &holds("first"));
    for pull_request in [false, true] {
        let error = publish(&target, &prepared(NAME), pull_request).unwrap_err();
        assert_eq!(error.to_string(), format!("{NAME} is held back from stage first: it leaks"));
    }
    assert_eq!(subjects(&remote).len(), 2, "nothing is written");
    write(&target.clone, "stackflux.holds.yaml", "holds: [\n");
    let broken = publish(&target, &prepared(NAME), false).unwrap_err();
    assert!(broken.to_string().contains(": stackflux.holds.yaml:1: "), "{broken}");
    write(&target.clone, "stackflux.holds.yaml", &holds("second"));
    written(publish(&target, &prepared(NAME), false).unwrap());
}
