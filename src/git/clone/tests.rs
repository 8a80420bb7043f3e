use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use git2::{ObjectType, Oid};
use tempfile::TempDir;

use super::*;
use crate::error::Classify as _;
use crate::git::tests::{access, bare, edit, identity};
use crate::git::{Credentials, Reference};

/// Creates a bare repository with one commit on `main`, which the tag `v1` also names, and returns that commit.
fn remote() -> (TempDir, PathBuf, CommitId) {
    let (directory, path) = bare();
    let clone = BareRepository::temporary(access(&path)).unwrap();
    let commit = commit(&clone, None, "1");
    clone.push(commit, "main", None).unwrap();
    let repository = Repository::open(&path).unwrap();
    let object = repository.find_object(commit.0, None).unwrap();
    repository.tag("v1", &object, &identity(0).signature().unwrap(), "a tag of its own", false).unwrap();
    (directory, path, commit)
}

fn commit(clone: &BareRepository, parent: Option<CommitId>, text: &str) -> CommitId {
    clone.commit(parent, &edit(&[("file", text)]), "test\n", &identity(0), None).unwrap().unwrap()
}

#[test]
fn every_reference_kind_resolves_to_its_commit() {
    let (_directory, url, commit) = remote();
    let references = [
        Reference::Head,
        Reference::Branch("main".into()),
        Reference::Tag("v1".into()),
        Reference::Commit(commit),
    ];
    for reference in references {
        let clone = BareRepository::temporary(access(&url)).unwrap();
        assert_eq!(clone.fetch(&reference).unwrap(), Some(commit), "{reference:?}");
        assert!(clone.snapshot(Some(commit)).unwrap().file("file").unwrap().is_some());
    }
}

#[test]
fn missing_reference_is_none_after_its_deletion() {
    let (_directory, url, first) = remote();
    let clone = BareRepository::temporary(access(&url)).unwrap();
    let no_commit = "0123456789abcdef0123456789abcdef01234567".parse().unwrap();
    for missing in [Reference::Branch("x".into()), Reference::Tag("x".into()), Reference::Commit(no_commit)] {
        assert_eq!(clone.fetch(&missing).unwrap(), None, "{missing:?}");
    }
    assert_eq!(clone.fetch(&Reference::Branch("main".into())).unwrap(), Some(first));
    Repository::open(&url).unwrap().find_reference("refs/heads/main").unwrap().delete().unwrap();
    assert_eq!(clone.fetch(&Reference::Branch("main".into())).unwrap(), None);
}

#[test]
fn branch_with_non_utf8_name_is_ignored() {
    let (_directory, url, commit) = remote();
    let branches = url.join("refs/heads");
    fs::copy(branches.join("main"), branches.join(OsStr::from_bytes(b"caf\xe9"))).unwrap();
    let clone = BareRepository::temporary(access(&url)).unwrap();
    assert_eq!(clone.fetch(&Reference::Branch("main".into())).unwrap(), Some(commit));
    assert_eq!(clone.fetch(&Reference::Head).unwrap(), Some(commit));
}

#[test]
fn missing_branch_and_empty_repository_are_reported() {
    let (directory, path) = bare();
    let clone = BareRepository::temporary(access(&path)).unwrap();
    for reference in [Reference::Head, Reference::Branch("main".into())] {
        assert_eq!(clone.fetch(&reference).unwrap(), None);
    }
    let clone = BareRepository::temporary(access(&directory.path().join("missing.git"))).unwrap();
    let error = clone.fetch(&Reference::Head).unwrap_err();
    assert_eq!(error.reason(), "GitRepositoryNotFound", "{error}");
}

#[test]
fn invalid_reference_names_are_refused() {
    let (_directory, url, commit) = remote();
    let clone = BareRepository::temporary(access(&url)).unwrap();
    for name in ["", "*", "a..b", "a b", "a:b", "a\nb", "/a", "a.lock", "a^"] {
        for reference in [Reference::Branch(name.into()), Reference::Tag(name.into())] {
            assert!(matches!(clone.fetch(&reference), Err(GitError::Name(_))), "{reference:?}");
        }
        assert!(matches!(clone.push(commit, name, None), Err(GitError::Name(_))), "{name:?}");
    }
}

#[test]
fn full_reference_name_is_not_a_branch() {
    let (_directory, url, commit) = remote();
    let clone = BareRepository::temporary(access(&url)).unwrap();
    for result in [
        clone.fetch(&Reference::Branch("refs/heads/main".into())).map(drop),
        clone.fetch_to_change("refs/heads/main").map(drop),
        clone.push(commit, "refs/heads/master", None).map(drop),
    ] {
        let error = result.unwrap_err();
        assert!(matches!(error, GitError::Name(_)) && error.hint().is_some(), "{error}");
    }
}

#[test]
fn first_branch_is_that_of_head() {
    let (_directory, url, commit) = remote();
    let repository = Repository::open(&url).unwrap();
    let object = repository.find_commit(commit.0).unwrap();
    repository.branch("master", &object, false).unwrap();
    let clone = BareRepository::temporary(access(&url)).unwrap();
    for branch in ["master", "main"] {
        repository.set_head(&format!("refs/heads/{branch}")).unwrap();
        assert_eq!(clone.default_branch().unwrap(), branch);
    }
    repository.set_head("refs/heads/gone").unwrap();
    let error = clone.default_branch().unwrap_err();
    assert!(
        error.to_string().ends_with("HEAD does not point to a branch of the repository: it has main, master"),
        "{error}"
    );
    let (_directory, empty) = bare();
    Repository::open(&empty).unwrap().set_head("refs/heads/trunk").unwrap();
    assert_eq!(BareRepository::temporary(access(&empty)).unwrap().default_branch().unwrap(), "main");
}

#[test]
fn only_branch_is_the_default_without_head() {
    let (_directory, url, commit) = remote();
    let repository = Repository::open(&url).unwrap();
    repository.set_head("refs/heads/master").unwrap();
    let clone = BareRepository::temporary(access(&url)).unwrap();
    assert_eq!(clone.default_branch().unwrap(), "main", "git init --bare, and a first push");
    let object = repository.find_commit(commit.0).unwrap();
    repository.branch("stackflux/publish-demo", &object, false).unwrap();
    assert_eq!(clone.default_branch().unwrap(), "main", "and a pull request");
    repository.find_reference("refs/heads/main").unwrap().delete().unwrap();
    assert!(matches!(clone.default_branch(), Err(GitError::NoHead { .. })), "only a pull request");
}

#[test]
fn branch_is_created_in_empty_repository_only() {
    let (_directory, url, commit) = remote();
    let clone = BareRepository::temporary(access(&url)).unwrap();
    assert_eq!(clone.fetch_to_change("main").unwrap(), Some(commit));
    let error = clone.fetch_to_change("master").unwrap_err();
    assert_eq!(error.reason(), "GitReferenceInvalid");
    assert!(
        error.to_string().contains("branch master not found") && error.to_string().ends_with("has main"),
        "{error}"
    );
    let (_directory, empty) = bare();
    assert_eq!(BareRepository::temporary(access(&empty)).unwrap().fetch_to_change("master").unwrap(), None);
}

#[test]
fn clone_is_exclusive_and_reused() {
    let (directory, url, first) = remote();
    let kept = directory.path().join("kept");
    let clone = BareRepository::open(&kept, access(&url)).unwrap();
    clone.fetch(&Reference::Branch("main".into())).unwrap();
    assert!(matches!(BareRepository::open(&kept, access(&url)), Err(GitError::InUse(_))));
    drop(clone);
    let clone = BareRepository::open(&kept, access(&url)).unwrap();
    assert!(clone.snapshot(Some(first)).unwrap().file("file").unwrap().is_some(), "without another fetch");
}

#[test]
fn dropped_lock_is_free_while_a_child_has_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let lock = Lock::take(directory.path()).unwrap();
    // What a child process has between its start and its program.
    let inherited = lock.0.try_clone().unwrap();
    drop(lock);
    Lock::take(directory.path()).unwrap();
    drop(inherited);
}

#[test]
fn leftovers_of_killed_process_are_ignored() {
    let (directory, url, first) = remote();
    let kept = directory.path().join("kept");
    let fetched =
        || BareRepository::open(&kept, access(&url)).unwrap().fetch(&Reference::Branch("main".into()));
    assert_eq!(fetched().unwrap(), Some(first));
    fs::write(kept.join("repository.git/refs/remotes/origin/main.lock"), "").unwrap();
    fs::write(kept.join("repository.git/packed-refs.lock"), "").unwrap();
    let second = commit(&BareRepository::open(&kept, access(&url)).unwrap(), Some(first), "2");
    BareRepository::open(&kept, access(&url)).unwrap().push(second, "main", Some(first)).unwrap();
    assert_eq!(fetched().unwrap(), Some(second));
    fs::write(kept.join("repository.git/HEAD"), "").unwrap();
    assert_eq!(fetched().unwrap(), Some(second), "made anew");
}

#[test]
fn clone_with_many_commits_is_replaced() {
    let (directory, url, first) = remote();
    let kept = directory.path().join("kept");
    let clone = BareRepository::open(&kept, access(&url)).unwrap();
    clone.fetch(&Reference::Branch("main".into())).unwrap();
    drop(clone);
    let loose = kept.join("repository.git/objects/17");
    fs::create_dir_all(&loose).unwrap();
    for number in 0..=MAX_LOOSE_OBJECTS {
        fs::write(loose.join(format!("{number:038x}")), "").unwrap();
    }
    let clone = BareRepository::open(&kept, access(&url)).unwrap();
    assert!(!loose.exists());
    assert_eq!(clone.fetch(&Reference::Branch("main".into())).unwrap(), Some(first));
}

/// Writes a commit of 9 MiB, or one with a directory of that size, and returns it with what is too large.
fn huge(repository: &Repository, is_directory: bool) -> (Oid, String) {
    let author = identity(0).signature().unwrap();
    let database = repository.odb().unwrap();
    let size = if is_directory { 9 << 20 } else { 0 };
    let file = database.write(ObjectType::Blob, b"").unwrap();
    let entry = |number| [format!("100644 {number:020}\0").as_bytes(), file.as_bytes()].concat();
    let entries: Vec<u8> = (0..size / 48).flat_map(entry).collect();
    let tree = database.write(ObjectType::Tree, &entries).unwrap();
    let message = "x".repeat((9 << 20) - size);
    let content = repository.find_tree(tree).unwrap();
    let commit = repository.commit(None, &author, &author, &message, &content, &[]).unwrap();
    (commit, if is_directory { format!("directory {tree}") } else { format!("commit {commit}") })
}

#[test]
fn huge_commit_or_directory_is_refused_unread() {
    for is_directory in [false, true] {
        let (directory, url, first) = remote();
        let repository = Repository::open(&url).unwrap();
        let kept = directory.path().join("kept");
        let open = || BareRepository::open(&kept, access(&url)).unwrap();
        let branch =
            |name, commit| repository.reference(&format!("refs/heads/{name}"), commit, true, "").unwrap();
        let refused = |name: &str| {
            let error = open().fetch(&Reference::Branch(name.into())).unwrap_err();
            assert_eq!(error.reason(), "LimitExceeded");
            error.to_string()
        };
        branch("a", first.0);
        open().fetch(&Reference::Branch("a".into())).unwrap();
        let (commit, what) = huge(&repository, is_directory);
        repository.find_reference("refs/heads/a").unwrap().delete().unwrap();
        branch("a/b", commit);
        branch("main", commit);
        let expected = format!("{}: {what}: exceeds the limit of 8 MiB", url.display());
        // First as a reference that cannot be written beside the one that is there: the commit is there nevertheless. Later,
        // nothing of it is left that could be read.
        for name in ["a/b", "main", "main"] {
            assert_eq!(refused(name), expected, "{name}");
        }
    }
}

#[test]
fn credentials_are_not_sent_over_remote_plain_http() {
    let https = Some(("ann".to_owned(), secrecy::SecretString::from("s3cret")));
    let with = |plain_http| Credentials { https: https.clone(), plain_http, ..Credentials::default() };
    let fetch = |url: &str, credentials| {
        let clone = BareRepository::temporary(Access { url: url.parse().unwrap(), credentials }).unwrap();
        clone.fetch(&Reference::Head).unwrap_err()
    };
    // Nothing listens there.
    assert!(matches!(fetch("http://host.invalid/r.git", with(false)), GitError::PlainHttp { .. }));
    // Servers are not asked by this program.
    for (url, plain_http) in [("http://host.invalid/r.git", true), ("http://127.0.0.1:9/r.git", false)] {
        let error = fetch(url, with(plain_http));
        assert!(error.to_string().contains("this process has no program for connections"), "{error}");
    }
}

#[test]
fn name_like_an_option_is_refused() {
    let (_directory, url, _) = remote();
    let clone = BareRepository::temporary(access(&url)).unwrap();
    for reference in [Reference::Branch("-x".into()), Reference::Tag("--upload-pack=x".into())] {
        let error = clone.fetch(&reference).unwrap_err();
        assert!(matches!(error, GitError::Name(_)), "{error}");
    }
}

#[test]
fn temporary_clone_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_directory, url, _) = remote();
    let clone = BareRepository::temporary(access(&url)).unwrap();
    let directory = clone.repository.path().parent().unwrap().to_owned();
    assert_eq!(fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
    drop(clone);
    assert!(!directory.exists());
}
