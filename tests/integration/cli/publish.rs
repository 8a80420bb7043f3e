//! `stackflux publish` into directories and Git repositories of this machine.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{Run, copy, expect, own_directory, run, run_with, scratch};

const RELEASE: &str = "openstack-demo-1-34-v2";

const AUTHOR: [(&str, &str); 2] = [("GIT_AUTHOR_NAME", "Stacks"), ("GIT_AUTHOR_EMAIL", "stacks@example.org")];

/// A directory with the stack repository `stack`.
fn with_stack(name: &str) -> std::path::PathBuf {
    let directory = scratch(name);
    copy(&own_directory().join("stack"), &directory.join("stack"));
    directory
}

fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git").current_dir(directory).args(arguments).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Publishes into `to`, as the author that the environment names.
fn publish(directory: &Path, source: &str, to: &str, more: &[&str]) -> Run {
    let arguments = [&["publish", source, "--to", to], more].concat();
    run_with(directory, &arguments, &AUTHOR)
}

#[test]
fn release_is_published_into_directory() {
    let directory = with_stack("publish-directory");
    let source = format!("stack/releases/{RELEASE}");
    expect(&directory, "publish-dry", &["publish", &source, "--to", "to", "--dry-run"]);
    assert!(!directory.join("to").exists(), "a dry run writes nothing");
    expect(&directory, "publish", &["publish", &source, "--to", "to"]);
    expect(&directory, "publish-again", &["publish", &source, "--to", "to"]);
    let read = |path: &str| fs::read(directory.join(path).join(RELEASE).join("metadata.yaml")).unwrap();
    assert_eq!(read("to/releases"), read("stack/releases"));

    fs::write(directory.join(&source).join("README.md"), "other").unwrap();
    expect(&directory, "publish-other", &["publish", &source, "--to", "to"]);
    assert!(!directory.join(format!("to/releases/{RELEASE}/README.md")).exists());
}

#[test]
fn unpublishable_releases_are_refused() {
    let directory = with_stack("publish-refused");
    let broken = "stack/releases/openstack-demo-1-34-v3";
    expect(&directory, "publish-unusable", &["publish", broken, "--to", "to"]);
    expect(&directory, "publish-which", &["publish", "stack", "--to", "to"]);
    expect(&directory, "publish-path", &["publish", "stack", "--to", "to", "--path", "../x", "--all-new"]);
    assert!(!directory.join("to").exists());
}

#[test]
fn digest_requires_a_single_release() {
    let directory = scratch("publish-digest");
    let digest = format!("sha256:{}", "0".repeat(64));
    // Nobody listens there: what is refused by its arguments is refused before that is seen.
    let place = "oci://127.0.0.1:1/stacks";
    let pinned = format!("{place}@{digest}");
    for more in [
        &["--all-new", "--digest", &digest][..],
        &["--digest", &digest],
        &["--digest", &digest, "--release", RELEASE, "--release", "openstack-demo-1-34-v3"],
    ] {
        let run = publish(&directory, place, "to", more);
        assert!(run.code == 2 && run.stderr.contains("a digest identifies one release"), "{}", run.stderr);
    }
    let run = publish(&directory, &pinned, "to", &["--all-new"]);
    assert!(run.code == 2 && run.stderr.contains("a digest identifies one release"), "{}", run.stderr);
    let (named, release) = (format!("{place}:{RELEASE}"), ["--release", RELEASE]);
    for (source, more) in [(&pinned, &release[..]), (&named, &["--release", RELEASE, "--digest", &digest])] {
        let run = publish(&directory, source, "to", more);
        assert!(run.code == 2 && run.stderr.contains("127.0.0.1:1"), "it is asked: {}", run.stderr);
    }
}

#[test]
fn all_new_option_publishes_missing_releases() {
    let directory = with_stack("publish-new");
    let Run { code, stderr, .. } = publish(&directory, "stack", "to", &["--release", RELEASE]);
    assert_eq!(code, 0, "{stderr}");
    // The broken one is told, and does not keep back the other.
    let Run { code, stderr, .. } = publish(&directory, "stack", "to", &["--all-new"]);
    assert_eq!(code, 2, "{stderr}");
    assert!(!stderr.contains(&format!("{RELEASE} is")), "it is not looked at again: {stderr}");
    assert!(stderr.contains("✗ openstack-demo-1-34-v3 is not published"), "{stderr}");
    let mut names: Vec<_> =
        fs::read_dir(directory.join("to/releases")).unwrap().collect::<Result<_, _>>().unwrap();
    names.sort_by_key(fs::DirEntry::file_name);
    let names: Vec<_> = names.iter().map(|entry| entry.file_name().into_string().unwrap()).collect();
    assert_eq!(names, ["openstack-demo-1-34-v1", RELEASE]);
    fs::remove_dir_all(directory.join("stack/releases/openstack-demo-1-34-v3")).unwrap();
    let Run { code, stderr, .. } = publish(&directory, "stack", "to", &["--all-new"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("already has the 2 releases of stack"), "{stderr}");
}

#[test]
fn release_is_one_commit() {
    let directory = with_stack("publish-git");
    git(&directory, &["init", "-q", "--bare", "--initial-branch=main", "stacks.git"]);
    let to = format!("file://{}/stacks.git", directory.display());
    let source = format!("stack/releases/{RELEASE}");
    for code in [0, 0] {
        let run = publish(&directory, &source, &to, &[]);
        assert_eq!(run.code, code, "{}", run.stderr);
    }
    let bare = directory.join("stacks.git");
    assert_eq!(git(&bare, &["rev-list", "--count", "main"]), "1\n");
    assert_eq!(git(&bare, &["log", "-1", "--format=%an <%ae>"]), "Stacks <stacks@example.org>\n");
    let message = git(&bare, &["log", "-1", "--format=%B"]);
    for line in [
        format!("Publish {RELEASE}"),
        "Kubernetes v1.34.2, cluster class demo-class v2".to_owned(),
        format!("Stackflux-Source: {RELEASE}"),
        format!("Stackflux-Version: {}", env!("CARGO_PKG_VERSION")),
    ] {
        assert!(message.lines().any(|found| found == line), "{line}: {message}");
    }
    let trailers = git(&bare, &["log", "-1", "--format=%(trailers:key=Stackflux-Content-Digest,valueonly)"]);
    let Run { stdout, .. } = run(&directory, &["inspect", &source, "-o", "json"]);
    assert!(stdout.contains(trailers.trim()), "{trailers}");

    // The work tree has what the release has, to the byte and the mode.
    git(&directory, &["clone", "-q", "stacks.git", "work"]);
    let work = format!("work/releases/{RELEASE}");
    let compared =
        Command::new("diff").current_dir(&directory).args(["-r", &source, &work]).output().unwrap();
    assert!(compared.status.success(), "{}", String::from_utf8_lossy(&compared.stdout));

    fs::write(directory.join(&source).join("README.md"), "other").unwrap();
    let refused = publish(&directory, &source, &to, &[]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("exists in") && refused.stderr.contains("README.md"),
        "{}",
        refused.stderr
    );
    assert_eq!(git(&bare, &["rev-list", "--count", "main"]), "1\n");
}

#[test]
fn branch_defaults_to_that_of_the_repository() {
    let directory = with_stack("publish-branch");
    git(&directory, &["init", "-q", "--bare", "--initial-branch=master", "stacks.git"]);
    let (bare, to) = (directory.join("stacks.git"), format!("file://{}/stacks.git", directory.display()));
    git(&directory, &["clone", "-q", "stacks.git", "work"]);
    let work = directory.join("work");
    git(
        &work,
        &["-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first"],
    );
    git(&work, &["push", "-q", "origin", "master"]);

    for (more, expected) in [
        (vec!["--branch", "main"], "branch main not found: the repository has master"),
        (vec!["--branch", "main", "--dry-run"], "branch main not found"),
        (vec!["--branch", "refs/heads/master"], "name the branch without refs/heads/"),
    ] {
        let refused = publish(&directory, "stack", &to, &[&["--release", RELEASE], &more[..]].concat());
        assert!(refused.code == 2 && refused.stderr.contains(expected), "{more:?}: {}", refused.stderr);
    }
    let run = publish(&directory, "stack", &to, &["--release", RELEASE]);
    assert!(run.code == 0 && run.stderr.contains("on branch master"), "{}", run.stderr);
    assert_eq!(git(&bare, &["rev-list", "--count", "master"]), "2\n");
    assert_eq!(git(&bare, &["for-each-ref", "--format=%(refname)"]), "refs/heads/master\n");
}

#[test]
fn empty_repository_whose_head_names_another_branch_is_used() {
    let directory = with_stack("publish-head");
    git(&directory, &["init", "-q", "--bare", "--initial-branch=master", "stacks.git"]);
    let to = format!("file://{}/stacks.git", directory.display());
    for state in ["is published", "already exists"] {
        let run = publish(&directory, "stack", &to, &["--release", RELEASE]);
        assert!(run.code == 0 && run.stderr.contains(state), "{}", run.stderr);
    }
    let releases = run(&directory, &["releases", &format!("git+{to}")]);
    assert!(releases.code == 0 && releases.stdout.contains(RELEASE), "{}", releases.stderr);
}

#[test]
fn target_like_a_server_is_not_a_directory() {
    let directory = with_stack("publish-colon");
    for to in ["git.example.com:stacks.git", "bob:s3cret@git.example.com:stacks.git", "ext::sh -c x"] {
        let run = publish(&directory, "stack", to, &["--release", RELEASE]);
        assert!(run.code == 2 && run.stderr.contains("invalid Git address"), "{}", run.stderr);
        assert!(run.stderr.contains("as ./name:more") && !run.stderr.contains("s3cret"), "{}", run.stderr);
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "nothing is written");
    }
    let run = publish(&directory, "stack", "./a:b", &["--release", RELEASE]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(directory.join("a:b/releases").join(RELEASE).is_dir());
}

#[test]
fn missing_author_is_refused_before_fetching() {
    let directory = with_stack("publish-author");
    git(&directory, &["init", "-q", "--bare", "stacks.git"]);
    let to = format!("file://{}/stacks.git", directory.display());
    let home = directory.to_str().unwrap();
    let environment = [("HOME", home), ("XDG_CONFIG_HOME", home), ("GIT_CONFIG_NOSYSTEM", "1")];
    let run = run_with(&directory, &["publish", "nowhere", "--to", &to], &environment);
    assert!(run.code == 2 && run.stderr.contains("missing commit author"), "{}", run.stderr);
    let bare = publish(&directory, "stack", "stacks.git", &["--all-new"]);
    assert!(bare.code == 2 && bare.stderr.contains("pass file://"), "{}", bare.stderr);
}

#[test]
fn pull_request_requires_forge_and_token() {
    let directory = with_stack("publish-proposed");
    let into_directory = publish(&directory, "stack", "to", &["--all-new", "--pull-request"]);
    assert!(
        into_directory.code == 2 && into_directory.stderr.contains("is a directory"),
        "{}",
        into_directory.stderr
    );
    let more = ["--all-new", "--pull-request", "--forge", "gitea"];
    let without = publish(&directory, "stack", "https://git.example.com/acme/stacks.git", &more);
    assert!(without.code == 2 && without.stderr.contains("missing forge token"), "{}", without.stderr);
    assert!(!directory.join("to").exists());
}
