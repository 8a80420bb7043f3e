//! `generate` over the example: its golden output, and a directory that is written again and again.

mod inputs;
mod overrides;
mod settings;
mod to_git;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::git::{commit_and_push, git};
use crate::support::{Run, copy, scratch, stackflux};

/// The commit that the README and the golden output pin the example to.
const REVISION: &str = "4f2d1c0a9b8e7f6a5d4c3b2a1908f7e6d5c4b3a2";

fn examples(below: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(below).to_str().unwrap().to_owned()
}

/// A copy of the example's clusters, and a directory to write to.
struct Example {
    clusters: PathBuf,
    output: PathBuf,
}

impl Example {
    fn new(name: &str) -> Self {
        let directory = scratch(name);
        copy(Path::new(&examples("clusters")), &directory);
        Self { clusters: directory.join("clusters"), output: directory.join("output") }
    }

    fn edit(&self, cluster: &str, old: &str, new: &str) {
        let path = self.clusters.join(format!("{cluster}.yaml"));
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(old), "{} has no {old:?}", path.display());
        fs::write(path, text.replace(old, new)).unwrap();
    }

    fn generate(&self) -> Run {
        self.generate_with(&[])
    }

    fn generate_with(&self, more: &[&str]) -> Run {
        let output = self.output.to_str().unwrap();
        self.run(&[&["--output-dir", output], more].concat())
    }

    fn run(&self, more: &[&str]) -> Run {
        let (stack, settings) = (examples("stack"), examples("clusterstack.yaml"));
        let clusters = self.clusters.to_str().unwrap();
        let pinned =
            ["generate", &stack, "--settings", &settings, "--revision", REVISION, "--filename", clusters];
        stackflux(&[&pinned[..], more].concat())
    }

    fn files(&self) -> BTreeMap<String, String> {
        files(&self.output)
    }
}

/// The files that have objects.
fn objects(files: &BTreeMap<String, String>) -> BTreeMap<&String, &String> {
    let is_object = |path: &String| {
        let name = path.rsplit('/').next().unwrap();
        !["kustomization.yaml", "stackflux.index"].contains(&name)
    };
    files.iter().filter(|(path, _)| is_object(path)).collect()
}

/// All files below a directory with their texts.
fn files(directory: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(below) = directories.pop() {
        for entry in fs::read_dir(&below).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else {
                let name = path.strip_prefix(directory).unwrap().to_str().unwrap().to_owned();
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn example_gives_its_golden_output() {
    let example = Example::new("golden");
    let run = example.generate();
    assert_eq!(run.code, 0, "{}", run.stderr);
    let golden = examples("output");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::remove_dir_all(&golden).ok();
        copy(&example.output, Path::new(&golden));
    }
    assert_eq!(example.files(), files(Path::new(&golden)), "UPDATE_GOLDEN=1 writes it again");
}

#[test]
fn stdout_and_directory_have_the_same_documents() {
    let example = Example::new("stdout");
    example.generate();
    let (stack, settings, clusters) =
        (examples("stack"), examples("clusterstack.yaml"), examples("clusters"));
    let run = stackflux(&[
        "generate",
        &stack,
        "--settings",
        &settings,
        "--revision",
        REVISION,
        "--filename",
        &clusters,
    ]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let mut documents: Vec<&str> = run.stdout.split("---\n").collect();
    documents.sort_unstable();
    let mut written: Vec<String> = objects(&example.files()).into_values().cloned().collect();
    written.sort_unstable();
    assert_eq!(documents, written);
}

#[test]
fn written_again_nothing_changes() {
    let example = Example::new("again");
    example.generate();
    let before = example.files();
    let run = example.generate();
    let objects = objects(&before).len();
    assert!(
        run.stderr.contains(&format!("0 written, {objects} unchanged, 0 held back and kept, 0 removed")),
        "{}",
        run.stderr
    );
    assert_eq!(example.files(), before);
}

#[test]
fn dry_run_of_a_directory_touches_nothing() {
    let example = Example::new("dry-run");
    let first = example.generate_with(&["--dry-run"]);
    assert_eq!((first.code, example.output.exists()), (1, false), "{}", first.stderr);
    assert!(first.stdout.contains("W clusters/demo/one/helmrelease-one.ccm.yaml\n"), "{}", first.stdout);
    example.generate();
    let before = example.files();
    fs::remove_file(example.clusters.join("two.yaml")).unwrap();
    example.edit("one", "docker-demo-1-34-v1", "docker-demo-1-34-v2");
    let dry = example.generate_with(&["--dry-run"]);
    assert_eq!((dry.code, example.files()), (1, before.clone()), "{}", dry.stderr);
    assert!(dry.stderr.contains("nothing was written"), "{}", dry.stderr);
    example.generate();
    let after = example.files();
    let written = after.iter().filter(|(path, text)| before.get(*path) != Some(text));
    let written = written.map(|(path, _)| format!("W {path}\n"));
    let removed = before.keys().filter(|path| !after.contains_key(*path)).map(|path| format!("D {path}\n"));
    assert_eq!(dry.stdout, written.chain(removed).collect::<String>());
    // A Namespace that no file refers to any more goes with the next run.
    example.generate();
    let again = example.generate_with(&["--dry-run"]);
    assert_eq!((again.code, again.stdout.as_str()), (0, ""), "{}", again.stderr);
}

#[test]
fn paused_cluster_keeps_its_files_and_charts() {
    let example = Example::new("paused");
    example.generate();
    let before = example.files();
    example.edit("one", "docker-demo-1-34-v1", "docker-demo-1-34-v2");
    example.edit("two", "docker-demo-1-34-v1", "docker-demo-1-34-v2");
    example.edit("two", "  topology:\n", "  paused: true\n  topology:\n");
    let run = example.generate();
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("Cluster demo/two is held: Paused"), "{}", run.stderr);
    let after = example.files();
    for (path, text) in before.iter().filter(|(path, _)| path.starts_with("clusters/demo/two/")) {
        assert_eq!(after.get(path), Some(text), "{path}");
        let name = path.strip_prefix("clusters/demo/two/").unwrap();
        let is_listed = after["clusters/demo/two/kustomization.yaml"].contains(&format!("- {name}\n"));
        assert!(
            is_listed
                || Path::new(name).extension().is_none_or(|kind| kind != "yaml")
                || name == "kustomization.yaml",
            "{name}"
        );
    }
    let charts = |files: &BTreeMap<String, String>| {
        files.keys().filter(|path| path.contains("helmchart-monitoring-")).count()
    };
    assert_eq!((charts(&before), charts(&after)), (1, 2), "the chart of the paused cluster went");
    assert_ne!(
        before["clusters/demo/one/helmrelease-one.monitoring.yaml"],
        after["clusters/demo/one/helmrelease-one.monitoring.yaml"]
    );
}

#[test]
fn removed_cluster_removes_only_its_files() {
    let example = Example::new("gone");
    example.generate();
    let mine = example.output.join("clusters/demo/two/mine.yaml");
    fs::write(&mine, "kind: Mine\n").unwrap();
    fs::remove_file(example.clusters.join("two.yaml")).unwrap();
    let run = example.generate();
    assert_eq!(run.code, 0, "{}", run.stderr);
    let left: Vec<String> =
        example.files().into_keys().filter(|path| path.starts_with("clusters/demo/two/")).collect();
    assert_eq!(left, ["clusters/demo/two/mine.yaml"]);
}

#[test]
fn foreign_kustomize_root_is_refused() {
    let example = Example::new("foreign");
    fs::create_dir_all(&example.output).unwrap();
    fs::write(example.output.join("kustomization.yaml"), "resources: []\n").unwrap();
    let run = example.generate();
    assert_eq!(run.code, 2);
    let expected = "kustomization.yaml already exists, but stackflux did not write it: nothing is written";
    assert!(run.stderr.contains(expected), "{}", run.stderr);
    assert_eq!(example.files().len(), 1);
}

#[test]
fn edited_file_is_kept_and_reported() {
    let example = Example::new("edited");
    example.generate();
    let before = example.files();
    let path = "clusters/demo/one/helmrelease-one.ccm.yaml";
    fs::write(example.output.join(path), "# mine\n").unwrap();
    for cluster in ["one", "two"] {
        example.edit(cluster, "docker-demo-1-34-v1", "docker-demo-1-34-v2");
    }
    let run = example.generate();
    assert_eq!(run.code, 1);
    let message =
        format!("✗ {path} was edited since stackflux wrote it: clusters/demo/one is left as it is\n");
    assert!(run.stderr.contains(&message), "{}", run.stderr);
    assert!(include_str!("../../docs/do/deliver-through-git.md").contains(&message), "the document shows it");
    let after = example.files();
    let changed = |cluster: &str| {
        let path = format!("clusters/demo/{cluster}/helmrelease-{cluster}.monitoring.yaml");
        before[&path] != after[&path]
    };
    assert_eq!((changed("one"), changed("two"), after[path].as_str()), (false, true, "# mine\n"));
    let run = example.generate_with(&["--overwrite", path]);
    assert_eq!((run.code, example.files()[path] == before[path]), (0, true), "{}", run.stderr);
}

#[test]
fn cluster_moved_to_other_class_keeps_its_files() {
    let example = Example::new("moved");
    example.generate();
    let before = example.files();
    example.edit("two", "docker-demo-1-34-v1", "docker-demo-1-35-v1");
    let run = example.generate();
    assert!(
        run.stderr.contains("skipping Cluster demo/two: class demo/docker-demo-1-35-v1"),
        "{}",
        run.stderr
    );
    assert_eq!((run.code, example.files()), (0, before));
}

/// A copy of the example's first release in which `old` is `new` in a file.
fn broken(name: &str, file: &str, old: &str, new: &str) -> PathBuf {
    let directory = scratch(name);
    copy(Path::new(&examples("stack/releases/docker-demo-1-34-v1")), &directory);
    let release = directory.join("docker-demo-1-34-v1");
    let path = release.join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(old), "{} has no {old:?}", path.display());
    fs::write(path, text.replacen(old, new, 1)).unwrap();
    release
}

fn generate_release(release: &Path) -> Run {
    let settings = examples("clusterstack.yaml");
    let release = release.to_str().unwrap();
    stackflux(&["generate", release, "--settings", &settings, "--revision", REVISION])
}

#[test]
fn release_outside_the_flux_path_is_refused() {
    let directory = scratch("elsewhere");
    fs::create_dir(directory.join("below")).unwrap();
    copy(Path::new(&examples("stack/releases")), &directory.join("below"));
    git(&directory, &["init", "--quiet"]);
    let remote = scratch("elsewhere-remote");
    git(&remote, &["init", "--quiet", "--bare"]);
    let commit = commit_and_push(&directory, remote.to_str().unwrap(), "releases");
    let release = directory.join("below/releases/docker-demo-1-34-v1");
    let generate =
        |settings: &str| stackflux(&["generate", release.to_str().unwrap(), "--settings", settings]);
    let run = generate(&examples("clusterstack.yaml"));
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    let expected = "✗ docker-demo-1-34-v1 is at below/releases/docker-demo-1-34-v1 in this work tree, but the \
                    ClusterStack's source expects releases below releases\n\
                    → set the path of the ClusterStack's source to below/releases (--settings), or pass the commit of \
                    the other repository (--revision)\n";
    assert_eq!(run.stderr, expected);
    let settings = fs::read_to_string(examples("clusterstack.yaml")).unwrap();
    let own = directory.join("clusterstack.yaml");
    fs::write(&own, settings.replace("path: releases\n", "path: ./below/releases/\n")).unwrap();
    let run = generate(own.to_str().unwrap());
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.contains(&format!("commit: {commit}\n")), "{}", run.stdout);
}

#[test]
fn unusable_release_is_named_with_its_errors() {
    let release = broken("unusable", "clusteraddon.yaml", "action: apply", "action: aply");
    let run = generate_release(&release);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    let expected = format!(
        "✗ {}: the release cannot be used:\nerror: UnknownAction: clusteraddon.yaml:",
        release.canonicalize().unwrap().display()
    );
    assert!(run.stderr.starts_with(&expected), "{}", run.stderr);
}

#[test]
fn deletions_that_generate_leaves_out_are_reported_once() {
    let (apply, delete) =
        ("- name: monitoring\n      action: apply", "- name: monitoring\n      action: delete");
    let run = generate_release(&broken("deletes", "clusteraddon.yaml", apply, delete));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let warnings: Vec<_> = run.stderr.lines().filter(|line| line.contains("stages delete")).collect();
    let expected = "! docker-demo-1-34-v1: stages delete monitoring; the output has what a cluster has when all stages have ended";
    assert_eq!(warnings, [expected]);
    let run = generate_release(Path::new(&examples("stack/releases/docker-demo-1-34-v1")));
    assert!(!run.stderr.contains("stages delete"), "{}", run.stderr);
}

#[test]
fn wait_is_refused_unless_it_is_ignored() {
    let wait = "action: apply\n      waitForPreCondition: {objects: [], conditions: 'true'}";
    let release = broken("waits", "clusteraddon.yaml", "action: apply", wait);
    let run = generate_release(&release);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    let error = "WaitNotSupported: clusteraddon.yaml:8:7: waitForPreCondition is not supported: cni moves at \
                 AfterControlPlaneInitialized without it";
    assert!(run.stderr.contains(error), "{}", run.stderr);
    assert!(run.stderr.contains("spec.flux.waits: Ignore"), "{}", run.stderr);

    let settings = fs::read_to_string(examples("clusterstack.yaml")).unwrap() + "  flux: {waits: Ignore}\n";
    let own = release.with_file_name("clusterstack.yaml");
    fs::write(&own, settings).unwrap();
    let (release, own) = (release.to_str().unwrap(), own.to_str().unwrap());
    let run = stackflux(&["generate", release, "--settings", own, "--revision", REVISION]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let warning = "! docker-demo-1-34-v1: waitForPreCondition of cni at AfterControlPlaneInitialized is ignored, as \
                   spec.flux.waits says\n";
    assert!(run.stderr.contains(warning), "{}", run.stderr);

    let run = stackflux(&["lint", release]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(run.stdout.contains("error[WaitNotSupported]"), "{}", run.stdout);
    let run = stackflux(&["lint", release, "--settings", own]);
    assert_eq!(run.code, 0, "{}", run.stdout);
    assert!(run.stdout.contains("warning[WaitNotSupported]"), "{}", run.stdout);

    let wrong = fs::read_to_string(own)
        .unwrap()
        .replace("{waits: Ignore}", "{waits: Ignore, addons: {cni: {dependsOn: [monitoring]}}}");
    fs::write(own, wrong).unwrap();
    let error =
        "cni moves before an upgrade of the cluster, and monitoring only after it: neither would move";
    let run = stackflux(&["lint", release, "--settings", own]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    let place = "docker-demo-1-34-v1: spec.flux.addons.cni.dependsOn: ";
    assert!(run.stdout.contains(&format!("error[DependencyInvalid]: {place}{error}")), "{}", run.stdout);
    let run = stackflux(&["generate", release, "--settings", own, "--revision", REVISION]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains(error), "{}", run.stderr);
}

/// A failed `kubectl get` before the pipe must not read as "there are no Clusters": their files would be removed.
#[test]
fn empty_output_is_not_an_empty_list() {
    let example = Example::new("nothing");
    example.generate();
    let files = example.files();
    for name in ["one", "two"] {
        fs::write(example.clusters.join(format!("{name}.yaml")), "# nothing\n").unwrap();
    }
    let run = example.generate();
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("clusters: no Kubernetes object found"), "{}", run.stderr);
    assert_eq!(example.files(), files);
}

#[test]
fn release_changed_after_pin_is_refused() {
    let example = Example::new("mutated");
    example.generate();
    let source = example.output.join("sources/demo/gitrepository-docker-demo-1-34-v1.yaml");
    let text = fs::read_to_string(&source).unwrap();
    let old = text.lines().find(|line| line.contains("content-digest")).unwrap();
    let new = format!("    clusterstack.x-k8s.io/content-digest: sha256:{}", "0".repeat(64));
    fs::write(&source, text.replace(old, &new)).unwrap();
    let run = example.generate();
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("docker-demo-1-34-v1 was changed after it was pinned"), "{}", run.stderr);
}
