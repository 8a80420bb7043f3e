use super::*;
use crate::error::Classify as _;
use crate::git::{Credentials, Edit, Identity};
use crate::release::File as Content;

fn access(url: &str) -> Access {
    Access { url: url.parse().unwrap(), credentials: Credentials::default() }
}

/// A bare repository with one commit on `main`, which the tag `v1` names too, and the commit.
fn remote(directory: &TempDir) -> (String, CommitId) {
    let path = directory.path().join("remote.git");
    let mut options = RepositoryInitOptions::new();
    let repository = Repository::init_opts(&path, options.bare(true).initial_head("main")).unwrap();
    let url = path.to_str().unwrap().to_owned();
    let clone = Clone::temporary(access(&url)).unwrap();
    let commit = commit(&clone, None, "1");
    clone.push(commit, "main", None).unwrap();
    let object = repository.find_object(commit.0, None).unwrap();
    let identity = Identity::parse("Ann <ann@example.org>", jiff::Timestamp::UNIX_EPOCH).unwrap();
    repository.tag("v1", &object, &identity.signature().unwrap(), "a tag of its own", false).unwrap();
    (url, commit)
}

fn commit(clone: &Clone, parent: Option<CommitId>, text: &str) -> CommitId {
    let mut edit = Edit::default();
    edit.write("file", Content { content: text.into(), executable: false }).unwrap();
    let identity = Identity::parse("Ann <ann@example.org>", jiff::Timestamp::UNIX_EPOCH).unwrap();
    clone.commit(parent, &edit, "test\n", &identity, None).unwrap().unwrap()
}

#[test]
fn a_branch_a_tag_a_commit_and_the_first_branch_lead_to_a_commit() {
    let directory = TempDir::new().unwrap();
    let (url, commit) = remote(&directory);
    let references = [
        Reference::Head,
        Reference::Branch("main".into()),
        Reference::Tag("v1".into()),
        Reference::Commit(commit),
    ];
    for reference in references {
        let clone = Clone::temporary(access(&url)).unwrap();
        assert_eq!(clone.fetch(&reference).unwrap(), Some(commit), "{reference:?}");
        assert!(clone.snapshot(Some(commit)).unwrap().file("file").unwrap().is_some());
    }
}

#[test]
fn what_is_not_there_is_none_also_after_it_was_there() {
    let directory = TempDir::new().unwrap();
    let (url, first) = remote(&directory);
    let clone = Clone::temporary(access(&url)).unwrap();
    let no_commit = "0123456789abcdef0123456789abcdef01234567".parse().unwrap();
    for missing in [Reference::Branch("x".into()), Reference::Tag("x".into()), Reference::Commit(no_commit)] {
        assert_eq!(clone.fetch(&missing).unwrap(), None, "{missing:?}");
    }
    assert_eq!(clone.fetch(&Reference::Branch("main".into())).unwrap(), Some(first));
    Repository::open(&url).unwrap().find_reference("refs/heads/main").unwrap().delete().unwrap();
    assert_eq!(clone.fetch(&Reference::Branch("main".into())).unwrap(), None);
}

#[test]
fn an_empty_repository_has_no_branch_and_a_missing_one_is_told() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("empty.git");
    Repository::init_bare(&path).unwrap();
    let clone = Clone::temporary(access(path.to_str().unwrap())).unwrap();
    for reference in [Reference::Head, Reference::Branch("main".into())] {
        assert_eq!(clone.fetch(&reference).unwrap(), None);
    }
    let clone = Clone::temporary(access(directory.path().join("missing.git").to_str().unwrap())).unwrap();
    let error = clone.fetch(&Reference::Head).unwrap_err();
    assert_eq!(error.reason(), "GitRepositoryNotFound", "{error}");
}

#[test]
fn names_that_are_no_names_are_refused() {
    let directory = TempDir::new().unwrap();
    let (url, commit) = remote(&directory);
    let clone = Clone::temporary(access(&url)).unwrap();
    for name in ["", "*", "a..b", "a b", "a:b", "a\nb", "/a", "a.lock", "a^"] {
        for reference in [Reference::Branch(name.into()), Reference::Tag(name.into())] {
            assert!(matches!(clone.fetch(&reference), Err(GitError::Name(_))), "{reference:?}");
        }
        assert!(matches!(clone.push(commit, name, None), Err(GitError::Name(_))), "{name:?}");
    }
}

#[test]
fn a_clone_belongs_to_one_at_a_time_and_keeps_what_it_has() {
    let directory = TempDir::new().unwrap();
    let (url, first) = remote(&directory);
    let kept = directory.path().join("kept");
    let clone = Clone::open(&kept, access(&url)).unwrap();
    clone.fetch(&Reference::Branch("main".into())).unwrap();
    assert!(matches!(Clone::open(&kept, access(&url)), Err(GitError::InUse(_))));
    drop(clone);
    let clone = Clone::open(&kept, access(&url)).unwrap();
    assert!(clone.snapshot(Some(first)).unwrap().file("file").unwrap().is_some(), "without another fetch");
}

#[test]
fn what_a_killed_process_has_left_is_no_obstacle() {
    let directory = TempDir::new().unwrap();
    let (url, first) = remote(&directory);
    let kept = directory.path().join("kept");
    let fetched = || Clone::open(&kept, access(&url)).unwrap().fetch(&Reference::Branch("main".into()));
    assert_eq!(fetched().unwrap(), Some(first));
    fs::write(kept.join("repository.git/refs/remotes/origin/main.lock"), "").unwrap();
    fs::write(kept.join("repository.git/packed-refs.lock"), "").unwrap();
    let second = commit(&Clone::open(&kept, access(&url)).unwrap(), Some(first), "2");
    Clone::open(&kept, access(&url)).unwrap().push(second, "main", Some(first)).unwrap();
    assert_eq!(fetched().unwrap(), Some(second));
    fs::write(kept.join("repository.git/HEAD"), "").unwrap();
    assert_eq!(fetched().unwrap(), Some(second), "made anew");
}

#[test]
fn credentials_do_not_go_over_plain_http_to_another_machine() {
    let https = Some(("ann".to_owned(), secrecy::SecretString::from("s3cret")));
    let with = |plain_http| Credentials { https: https.clone(), plain_http, ..Credentials::default() };
    let fetch = |url: &str, credentials| {
        let clone = Clone::temporary(Access { url: url.parse().unwrap(), credentials }).unwrap();
        clone.fetch(&Reference::Head).unwrap_err()
    };
    // Nobody listens there.
    assert!(matches!(fetch("http://host.invalid/r.git", with(false)), GitError::PlainHttp { .. }));
    assert!(matches!(fetch("http://host.invalid/r.git", with(true)), GitError::Unreachable { .. }));
    assert!(matches!(fetch("http://127.0.0.1:9/r.git", with(false)), GitError::Unreachable { .. }));
}
