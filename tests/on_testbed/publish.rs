//! `stackflux publish`: from a registry into a repository that Flux follows, by several processes at once, and killed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use serde_json::{Value, json};
use stackflux::release::Digest;
use stackflux_testbed::{Gitea, Testbed};

use crate::forge::Site;
use crate::git::git;
use crate::operator::random::Random;
use crate::operator::scenario::{STACK, Scenario, V1, V2};
use crate::push::{Layout, Pusher, packed};
use crate::support::{scratch, stackflux};

const AUTHOR: &str = "Stacks <stacks@example.org>";

/// The arguments that publish into a repository or a directory, which has no commits.
fn arguments<'a>(source: &'a str, to: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let author: &[&str] = if to.contains("://") { &["--author", AUTHOR] } else { &[] };
    [&["publish", source, "--to", to], author, more].concat()
}

/// Starts the program.
fn start(source: &str, to: &str, more: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stackflux"));
    command.args(arguments(source, to, more));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

#[track_caller]
fn publish(source: &str, to: &str, more: &[&str]) -> String {
    let run = stackflux(&arguments(source, to, more));
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.stderr
}

/// The whole of a branch in a work tree of its own.
fn clone(url: &str, name: &str) -> PathBuf {
    let directory = scratch(&format!("{name}-clone"));
    git(
        directory.parent().unwrap(),
        &["clone", "--quiet", "--branch", "main", url, directory.to_str().unwrap()],
    );
    directory
}

/// The files of a directory, except Git's own: paths and the digests of contents.
fn contents(directory: &Path) -> BTreeMap<PathBuf, Digest> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = PathBuf::from(entry.file_name());
        if entry.file_type().unwrap().is_dir() && name != Path::new(".git") {
            found.extend(
                contents(&entry.path()).into_iter().map(|(path, content)| (name.join(path), content)),
            );
        } else if entry.file_type().unwrap().is_file() {
            found.insert(name, Digest::of_bytes(&fs::read(entry.path()).unwrap()));
        }
    }
    found
}

/// A stack repository of small releases, each with this number of manifests.
fn stacks(name: &str, releases: &[&str], manifests: usize) -> PathBuf {
    let directory = scratch(name);
    for release in releases {
        let top = directory.join("releases").join(release);
        let version = release.rsplit('-').next().unwrap();
        let write = |path: &str, content: &str| {
            let path = top.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        write("metadata.yaml", &format!("versions: {{clusterStack: {version}, kubernetes: v1.34.2}}\n"));
        write("cluster-class/Chart.yaml", &format!("name: class\nversion: {version}\n"));
        write(
            "clusteraddon.yaml",
            "addonStages: {AfterControlPlaneInitialized: [{name: all, action: apply}]}\n",
        );
        for number in 0..manifests {
            let manifest =
                format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {release}-{number}}}\n");
            write(&format!("cluster-addon/all/{number}.yaml"), &manifest);
        }
    }
    directory
}

#[test]
fn registry_release_reaches_the_catalog() {
    let scenario = Scenario::shared("publish");
    let registry = scenario.testbed.registry();
    let repository = format!("{}/stacks", scenario.namespace);
    let address = format!("oci://{}/{repository}", registry.address());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let push = |release: &str, layout| {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/stack/releases").join(release);
        let pusher = Pusher::new(registry.address(), registry.user());
        runtime.block_on(pusher.push(&repository, release, &packed(&example), layout))
    };
    let digest = push(V1, Layout::Scs);
    let listed = stackflux(&["releases", &address, "--plain-http", "-o", "json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed["releases"][0]["name"], V1);
    assert_eq!(listed["releases"][0]["digest"], digest.to_string());

    let wrong = format!("{address}:{V1}@sha256:{}", "0".repeat(64));
    let arguments = ["publish", &wrong, "--to", &scenario.url(), "--author", AUTHOR, "--plain-http"];
    assert_eq!(stackflux(&arguments).code, 2, "a digest that is not the release's");

    let url = scenario.url();
    publish(&format!("{address}:{V1}@{digest}"), &url, &["--plain-http"]);
    let again = publish(&format!("{address}:{V1}"), &url, &["--plain-http"]);
    assert!(again.contains("with the same content"), "{again}");
    let _operator = scenario.operator();
    scenario.apply_stack(&[], &json!({"autoSubscribe": true}));
    scenario.wait_ready("clusterstackrelease", V1);

    push(V2, Layout::Plain);
    let output = publish(&address, &url, &["--all-new", "--plain-http"]);
    assert!(output.contains(V2) && !output.contains(V1), "{output}");
    scenario.wait_ready("clusterstackrelease", V2);
    scenario.wait_ready("clusterstack", STACK);

    let work = clone(&url, &scenario.namespace);
    assert_eq!(git(&work, &["log", "--format=%s"]), format!("Publish {V2}\nPublish {V1}"));
    let sources = git(&work, &["log", "-1", "HEAD~1", "--format=%(trailers:key=Stackflux-Source,valueonly)"]);
    assert_eq!(sources, format!("{address}:{V1}@{digest}"));
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/stack/releases").join(V1);
    assert_eq!(contents(&work.join("releases").join(V1)), contents(&example), "unpacked as it was before");
}

#[test]
fn concurrent_publishers_lose_nothing() {
    let testbed = Testbed::shared();
    let releases: Vec<String> = (1..=4).map(|number| format!("docker-many-1-34-v{number}")).collect();
    let names: Vec<&str> = releases.iter().map(String::as_str).collect();
    let stacks = stacks("publish-many", &names, 3);
    let url = testbed.git().url(&testbed.namespace("publish-many").unwrap());
    let source = stacks.to_str().unwrap();
    let running: Vec<Child> =
        names.iter().chain(&names).map(|name| start(source, &url, &["--release", name])).collect();
    for child in running {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let work = clone(&url, "publish-many");
    let mut subjects: Vec<String> = git(&work, &["log", "--format=%s"]).lines().map(str::to_owned).collect();
    subjects.sort();
    let expected: Vec<String> = names.iter().map(|name| format!("Publish {name}")).collect();
    assert_eq!(subjects, expected, "each release is one commit, whoever was first");
    assert_eq!(contents(&work), contents(&stacks));
}

#[test]
fn killed_publisher_leaves_all_or_nothing() {
    let testbed = Testbed::shared();
    let name = "docker-killed-1-34-v1";
    let stacks = stacks("publish-killed", &[name], 300);
    let url = testbed.git().url(&testbed.namespace("publish-killed").unwrap());
    let directory = scratch("publish-killed-directory");
    let release = stacks.join("releases").join(name);
    let (mut random, mut killed) = (Random(0x5eed), 0);
    for _ in 0..10 {
        let into = [url.as_str(), directory.to_str().unwrap()];
        let mut running = into.map(|to| start(release.to_str().unwrap(), to, &[]));
        thread::sleep(random.pause(250));
        for child in &mut running {
            child.kill().unwrap();
            killed += usize::from(child.wait().unwrap().signal() == Some(9));
        }
        let there = directory.join("releases").join(name);
        assert!(!there.exists() || contents(&there) == contents(&release), "a part of a release is there");
    }
    assert!(killed > 0, "none was killed at work");
    publish(release.to_str().unwrap(), &url, &[]);
    publish(release.to_str().unwrap(), directory.to_str().unwrap(), &[]);
    assert_eq!(contents(&directory), contents(&stacks), "nothing else is left");
    let work = clone(&url, "publish-killed");
    assert_eq!(git(&work, &["log", "--format=%s"]), format!("Publish {name}"));
    assert_eq!(contents(&work), contents(&stacks));
}

#[tokio::test]
async fn release_is_published_by_pull_request() {
    let gitea = Gitea::start().unwrap();
    let site = Site::create(&gitea, "releases").await;
    let name = "docker-proposed-1-34-v1";
    let stacks = stacks("publish-proposed", &[name], 2);
    let token = stacks.join("token");
    fs::write(&token, gitea.token()).unwrap();
    let (url, token) = (site.url().to_string(), token.to_str().unwrap());
    let publish = || {
        let more = ["--release", name, "--pull-request", "--forge", "gitea", "--forge-token-file", token];
        let access = ["--git-username", gitea.user(), "--git-password-file", token];
        publish(stacks.to_str().unwrap(), &url, &[more.as_slice(), &access].concat())
    };
    let output = publish();
    assert!(output.contains(&format!("{name} is proposed: ")) && !output.contains(gitea.token()), "{output}");
    let pulls = site.pulls().await;
    assert_eq!(pulls[0]["title"], format!("Publish {name}"));
    assert!(pulls[0]["body"].as_str().unwrap().contains("Stackflux-Content-Digest: sha256:"));
    assert!(output.contains(pulls[0]["html_url"].as_str().unwrap()), "{output}");

    assert!(publish().contains("is proposed"), "the same one is found");
    assert_eq!(site.pulls().await.len(), 1);
    assert!(site.merge(1).await);
    assert!(publish().contains("with the same content"), "it was merged");
    assert_eq!(site.pulls().await.len(), 1);
}
