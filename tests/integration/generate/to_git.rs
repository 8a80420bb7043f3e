//! `generate --to-git`: the files of `--output-dir` as commits.

use std::path::{Path, PathBuf};

use super::{Example, files};
use crate::git::{commit_and_push, git};
use crate::support::{Run, scratch};

/// An example and a bare repository that it goes to.
struct Delivered {
    example: Example,
    repository: PathBuf,
}

impl Delivered {
    fn new(name: &str) -> Self {
        let repository = scratch(&format!("{name}-repository"));
        git(&repository, &["init", "--quiet", "--bare", "--initial-branch=main"]);
        Self { example: Example::new(name), repository }
    }

    fn url(&self) -> &str {
        self.repository.to_str().unwrap()
    }

    fn run(&self, more: &[&str]) -> Run {
        let target = ["--to-git", self.url(), "--path", "fleet/demo", "--author", "Test <test@localhost>"];
        self.example.run(&[&target[..], more].concat())
    }

    fn log(&self, format: &str) -> Vec<String> {
        let format = format!("--format={format}");
        git(&self.repository, &["log", &format, "main"]).lines().map(str::to_owned).collect()
    }

    /// A work tree of what is there now.
    fn work_tree(&self, name: &str) -> PathBuf {
        let directory = scratch(name);
        git(&directory, &["clone", "--quiet", self.url(), "."]);
        directory
    }

    fn files(&self, name: &str) -> std::collections::BTreeMap<String, String> {
        files(&self.work_tree(name).join("fleet/demo"))
    }
}

#[test]
fn commit_matches_directory_and_repeat_makes_none() {
    let delivered = Delivered::new("to-git");
    let run = delivered.run(&[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains(" on main"), "{}", run.stderr);
    delivered.example.generate();
    assert_eq!(delivered.files("to-git-first"), delivered.example.files());
    assert_eq!(delivered.log("%an %s"), ["Test stackflux: 2 clusters: docker-demo-1-34-v1"]);
    let trailers = delivered.log("%(trailers:only,unfold)").join("\n");
    assert!(trailers.contains("Stackflux-Cluster-Stack: demo/docker-demo-1-34"), "{trailers}");
    assert!(trailers.contains("Stackflux-Plan-Digest: sha256:"), "{trailers}");

    let run = delivered.run(&[]);
    assert_eq!((run.code, delivered.log("%s").len()), (0, 1), "{}", run.stderr);
    assert!(run.stderr.contains("no commit"), "{}", run.stderr);

    for cluster in ["one", "two"] {
        delivered.example.edit(cluster, "docker-demo-1-34-v1", "docker-demo-1-34-v2");
    }
    let dry = delivered.run(&["--dry-run"]);
    assert_eq!((dry.code, delivered.log("%s").len()), (1, 1), "{}", dry.stderr);
    assert!(dry.stdout.contains("\nW clusters/demo/one/helmrelease-one.monitoring.yaml\n"), "{}", dry.stdout);
    let run = delivered.run(&[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    delivered.example.generate();
    assert_eq!(delivered.files("to-git-second"), delivered.example.files());
    let commit = delivered.log("%B").join("\n");
    assert!(dry.stdout.starts_with(commit.split("\n\nstackflux:").next().unwrap().trim()), "{}", dry.stdout);
    assert!(
        commit.contains("- changed HelmRelease demo/one.monitoring: release docker-demo-1-34-v1"),
        "{commit}"
    );
}

#[test]
fn foreign_files_are_kept_and_edits_refused() {
    let delivered = Delivered::new("to-git-others");
    let push = |directory: &Path, path: &str| {
        std::fs::create_dir_all(directory.join(path).parent().unwrap()).unwrap();
        std::fs::write(directory.join(path), "mine\n").unwrap();
        commit_and_push(directory, delivered.url(), "mine");
    };
    let first = scratch("to-git-others-first");
    git(&first, &["init", "--quiet", "--initial-branch=main"]);
    push(&first, "README.md");
    assert_eq!(delivered.run(&[]).code, 0);
    let edited = "fleet/demo/clusters/demo/one/helmrelease-one.ccm.yaml";
    push(&delivered.work_tree("to-git-others-second"), edited);
    for cluster in ["one", "two"] {
        delivered.example.edit(cluster, "docker-demo-1-34-v1", "docker-demo-1-34-v2");
    }
    let run = delivered.run(&[]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("helmrelease-one.ccm.yaml was edited since stackflux wrote it"),
        "{}",
        run.stderr
    );
    let last = git(&delivered.repository, &["show", "--format=", "--name-only", "main"]);
    assert!(last.contains("clusters/demo/two/") && !last.contains("clusters/demo/one/"), "{last}");
    let there = delivered.work_tree("to-git-others-third");
    for path in ["README.md", edited] {
        assert_eq!(std::fs::read_to_string(there.join(path)).unwrap(), "mine\n");
    }
}

#[test]
fn missing_cluster_is_kept_until_removal_is_allowed() {
    let delivered = Delivered::new("to-git-gone");
    assert_eq!(delivered.run(&[]).code, 0);
    std::fs::remove_file(delivered.example.clusters.join("two.yaml")).unwrap();
    let run = delivered.run(&[]);
    assert_eq!((run.code, delivered.log("%s").len()), (1, 1), "{}", run.stderr);
    assert!(run.stderr.contains("prune budget exceeded; kept: Cluster demo/two"), "{}", run.stderr);
    let digest = run.stderr.split("--allow-prune ").nth(1).unwrap().split(' ').next().unwrap();
    let run = delivered.run(&["--allow-prune", digest]);
    assert_eq!((run.code, delivered.log("%s").len()), (0, 2), "{}", run.stderr);
    delivered.example.generate();
    assert_eq!(delivered.files("to-git-gone-second"), delivered.example.files());
}
