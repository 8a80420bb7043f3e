use tempfile::TempDir;

use super::*;
use crate::git::Credentials;
use crate::git::tests::{bare, clone, edit, identity};
use crate::source::address::Address;

const V1: &str = "docker-demo-1-34-v1";
const V2: &str = "docker-demo-1-34-v2";

/// Creates a bare repository with two releases below `releases`, the second changed last, and returns its commits.
fn repository() -> (TempDir, Vec<CommitId>) {
    let (directory, path) = bare();
    let clone = clone(&path);
    let metadata =
        |version: u32| format!("versions: {{clusterStack: v{version}, kubernetes: v1.34.{version}}}\n");
    let changes = [
        (format!("releases/{V1}/metadata.yaml"), metadata(1)),
        (format!("releases/{V2}/metadata.yaml"), metadata(2)),
        ("README.md".to_owned(), "later".to_owned()),
    ];
    let ignored = format!("releases/{V1}/logo.png");
    let mut commits: Vec<CommitId> = Vec::new();
    for (second, (path, text)) in (0..).zip(changes) {
        let others =
            [("releases/openstack-demo-v5/x", ""), ("releases/.hidden/x", ""), (ignored.as_str(), "")];
        let edit = edit(&[[(path.as_str(), text.as_str())].as_slice(), &others].concat());
        let parent = commits.last().copied();
        let commit = clone.commit(parent, &edit, "test\n", &identity(second), None).unwrap().unwrap();
        clone.push(commit, "main", parent).unwrap();
        commits.push(commit);
    }
    (directory, commits)
}

fn origin(directory: &TempDir, rest: &str) -> RemoteOrigin {
    let address = format!("git+file://{}/remote.git{rest}", directory.path().display());
    let Address::Git(address) = address.parse().unwrap() else { panic!("{address} is no address of Git's") };
    let access = Access { url: address.url.parse().unwrap(), credentials: Credentials::default() };
    RemoteOrigin::open(address, access, Limits::default()).unwrap()
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn name(name: &str) -> ReleaseName {
    name.parse().unwrap()
}

#[test]
fn listing_finds_releases_with_or_without_path() {
    let (directory, _) = repository();
    for rest in ["", "//releases", "?ref=main", "//releases?ref=main"] {
        let listing = wait(origin(&directory, rest).list()).unwrap();
        assert_eq!(listing.releases, [name(V1), name(V2)].into(), "{rest}");
        assert_eq!(listing.malformed, ["openstack-demo-v5"], "{rest}");
    }
}

#[test]
fn only_branch_is_read_if_head_names_another() {
    let (directory, _) = repository();
    let remote = git2::Repository::open(directory.path().join("remote.git")).unwrap();
    remote.set_head("refs/heads/master").unwrap();
    let listing = wait(origin(&directory, "").list()).unwrap();
    assert_eq!(listing.releases, [name(V1), name(V2)].into());
}

#[test]
fn release_is_pinned_to_its_last_change() {
    let (directory, commits) = repository();
    let origin = origin(&directory, "");
    for (release, version, commit) in [(V1, 1, commits[0]), (V2, 2, commits[1])] {
        let described = wait(origin.describe(&name(release))).unwrap();
        assert_eq!(described.kubernetes.unwrap().to_string(), format!("v1.34.{version}"));
        assert_eq!(described.digest, Some(commit.to_string()));
        assert_eq!(described.date.unwrap().as_second(), i64::from(version) - 1);
        let fetched = wait(origin.fetch(&name(release))).unwrap();
        assert_eq!(fetched.files.iter().map(|(path, _)| path).collect::<Vec<_>>(), ["metadata.yaml"]);
        let expected = format!("/remote.git//releases/{release}?ref={commit}");
        assert!(fetched.provenance.source.ends_with(&expected), "{}", fetched.provenance.source);
        // The provenance is an address that leads to the same files.
        let Address::Git(again) = fetched.provenance.source.parse().unwrap() else { panic!("no address") };
        let access = Access { url: again.url.parse().unwrap(), credentials: Credentials::default() };
        let again = RemoteOrigin::open(again, access, Limits::default()).unwrap();
        assert_eq!(wait(again.fetch(&name(release))).unwrap().files, fetched.files);
    }
}

#[test]
fn older_commit_has_its_old_content() {
    let (directory, commits) = repository();
    let listing = wait(origin(&directory, &format!("?ref={}", commits[0])).list()).unwrap();
    assert_eq!(listing.releases, [name(V1)].into());
}

#[test]
fn missing_release_or_directory_is_reported() {
    let (directory, _) = repository();
    let reason = |result: Result<Fetched, OriginError>| result.unwrap_err().reason();
    let missing = name("docker-demo-1-34-v9");
    assert_eq!(reason(wait(origin(&directory, "").fetch(&missing))), "ReleaseNotFound");
    for rest in ["//nosuch", "//releases/nosuch", "//README.md"] {
        let error = wait(origin(&directory, rest).list()).unwrap_err();
        let expected = format!(": not found: the directory {}", &rest[2..]);
        assert!(error.to_string().ends_with(&expected), "{error}");
        assert_eq!(reason(wait(origin(&directory, rest).fetch(&name(V1)))), "SourceNotFound", "{rest}");
    }
    for rest in ["?ref=missing", "?ref=0123456789abcdef0123456789abcdef01234567"] {
        assert_eq!(reason(wait(origin(&directory, rest).fetch(&name(V1)))), "SourceNotFound", "{rest}");
    }
    let elsewhere = TempDir::new().unwrap();
    assert_eq!(reason(wait(origin(&elsewhere, "").fetch(&name(V1)))), "SourceNotFound");
}

#[test]
fn unpublishable_release_is_described_with_its_problem() {
    let scratch = TempDir::new().unwrap();
    let root = scratch.path().join("work");
    let releases = root.join("releases");
    std::fs::create_dir_all(releases.join(V1)).unwrap();
    std::fs::write(
        releases.join(V1).join("metadata.yaml"),
        "versions: {clusterStack: v1, kubernetes: v1.34.1}\n",
    )
    .unwrap();
    std::os::unix::fs::symlink("/etc/passwd", releases.join(V1).join("link")).unwrap();
    std::os::unix::fs::symlink(V1, releases.join(V2)).unwrap();
    std::fs::write(releases.join("docker-demo-1-34-v3"), "file").unwrap();
    let repository = git2::Repository::init(&root).unwrap();
    let mut index = repository.index().unwrap();
    index.add_all(["*"], git2::IndexAddOption::DEFAULT, None).unwrap();
    let tree = repository.find_tree(index.write_tree().unwrap()).unwrap();
    let author = git2::Signature::now("test", "test@localhost").unwrap();
    repository.commit(Some("HEAD"), &author, &author, "test", &tree, &[]).unwrap();
    let bare = scratch.path().join("remote.git");
    git2::build::RepoBuilder::new().bare(true).clone(root.to_str().unwrap(), &bare).unwrap();
    let origin = origin(&scratch, "");
    let listed = wait(origin.list()).unwrap().releases;
    assert_eq!(listed, [name(V1), name(V2), name("docker-demo-1-34-v3")].into());
    for (release, expected) in [
        (V1, "LinkNotAllowed: link: it is a link to \"/etc/passwd\""),
        (V2, "the release is a link: Flux leaves it out of an artifact"),
        ("docker-demo-1-34-v3", "the release is a file"),
    ] {
        let error = wait(origin.describe(&name(release))).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    for release in [V2, "docker-demo-1-34-v3"] {
        assert!(wait(origin.fetch(&name(release))).is_err(), "{release}");
    }
}
