//! Releases that go from stage to stage and back, in Git repositories of this machine.
//!
//! The repository is the one of `examples/promotion`. What a run prints is compared with transcripts in `promote/`;
//! commits, which differ from run to run, are replaced in them.

mod files;
mod refused;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::git::git;
use crate::stages::two_stages;
use crate::support::{Run, scratch, stackflux};

pub(crate) const V1: &str = "docker-demo-1-34-v1";
pub(crate) const V2: &str = "docker-demo-1-34-v2";

/// A repository and a work tree of it.
pub(crate) struct Stacks {
    directory: PathBuf,
}

impl Stacks {
    /// Both stages have v1; stage has v2 as well, and prod two clusters at v1.
    pub(crate) fn new(name: &str) -> Self {
        let stacks = Self { directory: scratch(&format!("promote-{name}")) };
        git(&stacks.directory, &["init", "--quiet", "--bare", "--initial-branch=main", "stacks.git"]);
        two_stages(&stacks.directory);
        stacks.push("main", "two stages");
        stacks
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.directory.join("work")
    }

    pub(crate) fn url(&self) -> String {
        self.directory.join("stacks.git").display().to_string()
    }

    /// Commits all of the work tree and pushes it to a branch.
    pub(crate) fn push(&self, branch: &str, message: &str) {
        let work = self.work();
        git(&work, &["add", "--all", "--force"]);
        git(&work, &["commit", "--quiet", "--message", message]);
        git(&work, &["push", "--quiet", &self.url(), &format!("HEAD:{branch}")]);
    }

    /// Brings a branch of the repository to the work tree.
    pub(crate) fn pull(&self, branch: &str) {
        git(&self.work(), &["fetch", "--quiet", &self.url(), branch]);
        git(&self.work(), &["reset", "--quiet", "--hard", "FETCH_HEAD"]);
    }

    /// What Git says of the repository.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git(Path::new(&self.url()), arguments)
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        fs::write(self.work().join(path), content).unwrap();
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        let url = self.url();
        let repository = ["--repository", &url];
        let author = ["--author", "Ada <ada@example.org>"];
        let author: &[&str] = if arguments.first() == Some(&"history") { &[] } else { &author };
        stackflux(&[arguments, &repository, author].concat())
    }

    /// Runs what has to succeed.
    #[track_caller]
    pub(crate) fn done(&self, arguments: &[&str]) -> Run {
        let run = self.run(arguments);
        assert_eq!(run.code, 0, "{arguments:?}\n{}{}", run.stdout, run.stderr);
        run
    }

    /// Compares a run with the transcript of that name.
    #[track_caller]
    pub(crate) fn expect(&self, name: &str, arguments: &[&str]) {
        let Run { stdout, stderr, code } = self.run(arguments);
        let printed = stable(&format!("{stdout}--- stderr\n{stderr}--- exit {code}\n"));
        let transcript = format!("$ stackflux {}\n{printed}", arguments.join(" "));
        let golden =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/integration/promote/{name}.txt"));
        if std::env::var("UPDATE_GOLDEN").is_ok() {
            fs::write(&golden, &transcript).unwrap();
        }
        let written = fs::read_to_string(&golden).unwrap_or_default();
        let place = golden.display();
        assert!(written == transcript, "{place} differs (UPDATE_GOLDEN=1 writes it):\n{transcript}");
    }
}

/// The text without what differs from run to run: commits and times.
fn stable(text: &str) -> String {
    let is_hex =
        |word: &str| [12, 40].contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut out = String::new();
    for part in text.split_inclusive(|character: char| !character.is_ascii_alphanumeric()) {
        let end = part.len()
            - part.chars().last().filter(|last| !last.is_ascii_alphanumeric()).map_or(0, char::len_utf8);
        let (word, rest) = part.split_at(end);
        let is_digest_of_chart = out.ends_with("monitoring-");
        out.push_str(if is_hex(word) && !is_digest_of_chart { "<commit>" } else { word });
        out.push_str(rest);
    }
    let lines = out.lines().map(|line| {
        let shape = |byte: u8| if byte.is_ascii_digit() { b'0' } else { byte };
        let begin: Vec<u8> = line.bytes().take(17).map(shape).collect();
        match line.get(17..).filter(|_| begin == b"0000-00-00 00:00Z") {
            Some(rest) => format!("<date> <time>{rest}"),
            None => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

const PROMOTE: [&str; 5] = ["promote", V2, "--to", "prod", "--offline"];
const ROLLBACK: [&str; 4] = ["rollback", "prod", "--reason", "monitoring loses samples"];

fn with<'a>(arguments: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [arguments, more].concat()
}

#[test]
fn promotion_is_shown_before_writing() {
    let stacks = Stacks::new("shown");
    let before = stacks.git(&["rev-parse", "main"]);
    stacks.expect("promote", &PROMOTE);
    stacks.expect("promote-markdown", &with(&PROMOTE, &["--output", "markdown"]));
    let json = stacks.run(&with(&PROMOTE, &["--output", "json"]));
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["upgrades"][0]["clusters"][1]["objects"][0]["effect"], "upgradesChart");
    assert_eq!(json["stacks"][0]["offered"], "latest");
    assert_eq!(stacks.git(&["rev-parse", "main"]), before);
    assert_eq!(stacks.git(&["branch", "--list"]), "* main");
}

#[test]
fn stage_content_is_promoted_exactly_once() {
    let stacks = Stacks::new("content");
    stacks.done(&with(&PROMOTE, &["--push"]));
    let tree = |stage: &str| stacks.git(&["rev-parse", &format!("main:{stage}/releases/{V2}")]);
    assert_eq!(tree("prod"), tree("stage"));
    let changed = stacks.git(&["diff", "--name-only", "main^", "main"]);
    let path = format!("prod/releases/{V2}/");
    assert!(changed.lines().count() > 20 && changed.lines().all(|line| line.starts_with(&path)), "{changed}");
    let message = stacks.git(&["log", "-1", "--format=%an <%ae>%n%B", "main"]);
    let digest = "sha256:6a2f16b44229be5364572ed362143ed9579871b9fe72fe10aecb820758b4968d";
    for line in [
        "Ada <ada@example.org>",
        "Promote docker-demo-1-34-v2 from stage to prod",
        "Stackflux-Promote: docker-demo-1-34-v2",
        &format!("Stackflux-From: stage@{}", stacks.git(&["rev-parse", "main^"])),
        &format!("Stackflux-Content-Digest: {digest}"),
        "Stackflux-Soak: not asked (--offline)",
    ] {
        assert!(message.lines().any(|found| found == line), "{line:?} is not in\n{message}");
    }
    let commit = stacks.git(&["rev-parse", "main"]);
    let again = stacks.done(&with(&PROMOTE, &["--push"]));
    assert!(
        again.stdout.is_empty()
            && again.stderr.contains("stage prod has docker-demo-1-34-v2 with this content")
    );
    assert_eq!(stacks.git(&["rev-parse", "main"]), commit);
}

#[test]
fn rollback_holds_release_until_lifted() {
    let stacks = Stacks::new("rollback");
    let before = stacks.git(&["rev-parse", "main:prod/releases"]);
    stacks.done(&with(&PROMOTE, &["--push"]));
    let clusters = stacks.work().join("prod/clusters/one.yaml");
    stacks.pull("main");
    let moved = fs::read_to_string(&clusters).unwrap().replace(V1, V2);
    fs::write(&clusters, moved).unwrap();
    stacks.push("main", "cluster one goes to v2");

    stacks.expect("rollback", &ROLLBACK);
    stacks.done(&with(&ROLLBACK, &["--push"]));
    assert_eq!(stacks.git(&["rev-parse", "main:prod/releases"]), before, "what it was, byte for byte");
    let held = stacks.git(&["show", "main:stackflux.holds.yaml"]);
    assert!(
        held.contains("release: docker-demo-1-34-v2") && held.contains("monitoring loses samples"),
        "{held}"
    );
    let changed = stacks.git(&["diff", "--name-only", "main^", "main"]);
    assert!(changed.lines().all(|line| line.starts_with("prod/releases/") || line == "stackflux.holds.yaml"));
    let reverted = format!("This reverts commit {}.", stacks.git(&["rev-parse", "main~2"]));
    let message = stacks.git(&["log", "-1", "--format=%B", "main"]);
    assert!(message.contains(&reverted), "{message}");

    stacks.expect("promote-held", &with(&PROMOTE, &["--push"]));
    let lifted = stacks.done(&with(&PROMOTE, &["--push", "--lift-hold"]));
    assert!(lifted.stdout.contains("A hold is lifted: monitoring loses samples"), "{}", lifted.stdout);
    let files = stacks.git(&["ls-tree", "--name-only", "main"]);
    assert!(!files.contains("stackflux.holds.yaml"), "nothing is held any more: {files}");
    let again = stacks.run(&with(&PROMOTE, &["--lift-hold"]));
    assert!(again.stderr.contains("has docker-demo-1-34-v2 with this content"), "{}", again.stderr);
    stacks.expect("history", &["history", "prod"]);
}

#[test]
fn history_that_finds_nothing_exits_with_one() {
    let stacks = Stacks::new("no-history");
    let stages = fs::read_to_string(stacks.work().join("stackflux.yaml")).unwrap();
    stacks.write(
        "stackflux.yaml",
        &format!("{stages}  - name: later\n    path: later/releases\n    after: prod\n"),
    );
    stacks.push("main", "a stage without releases");
    let run = stacks.run(&["history", "later"]);
    assert_eq!((run.code, run.stdout.lines().count()), (1, 1), "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("no releases in the history of stage later"), "{}", run.stderr);
    assert_eq!(stacks.run(&["history", "nowhere"]).code, 2);
}

#[test]
fn multi_release_rollback_requires_release_flag() {
    let stacks = Stacks::new("several");
    let run = stacks.run(&["rollback", "stage", "--reason", "x", "--push"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("brought several: docker-demo-1-34-v1, docker-demo-1-34-v2"),
        "{}",
        run.stderr
    );
    stacks.done(&["rollback", "stage", "--reason", "x", "--push", "--release", V1]);
    let left = stacks.git(&["ls-tree", "--name-only", "main:stage/releases"]);
    assert_eq!(left, V2);
    let again = stacks.run(&["rollback", "stage", "--reason", "x", "--push"]);
    assert_eq!(again.code, 2, "what is done twice is done once: {}", again.stdout);
    let expected = format!("is a rollback of {V1}\n→ to roll back another release, name it with --release");
    assert!(again.stderr.contains(&expected), "{}", again.stderr);
    let message = || stacks.git(&["log", "-1", "--format=%B", "main"]);
    assert!(!message().contains("This reverts"), "it came with other things: {}", message());
    let second = stacks.done(&["rollback", "stage", "--reason", "x", "--push", "--release", V2]);
    assert!(second.stdout.contains(&format!("Roll {V2} back from stage\n")), "{}", second.stdout);
    let third = stacks.run(&["rollback", "stage", "--reason", "x", "--release", V2]);
    assert!(third.stderr.contains("stage stage has no release docker-demo-1-34-v2"), "{}", third.stderr);
}

#[test]
fn stages_may_be_branches() {
    let stacks = Stacks::new("branches");
    let stages =
        "stages:\n- {name: stage, branch: stage}\n- {name: prod, branch: production, after: stage}\n";
    stacks.write("stackflux.yaml", stages);
    stacks.push("main", "branches");
    let main = stacks.git(&["rev-parse", "main"]);
    for (branch, stage) in [("stage", "stage"), ("production", "prod")] {
        git(&stacks.work(), &["reset", "--quiet", "--hard", &main]);
        fs::rename(stacks.work().join(stage).join("releases"), stacks.work().join("releases")).unwrap();
        fs::remove_file(stacks.work().join("stackflux.yaml")).unwrap();
        stacks.push(branch, "a branch of its own");
    }
    stacks.done(&["promote", V2, "--to", "prod", "--push"]);
    let tree = |branch: &str| stacks.git(&["rev-parse", &format!("{branch}:releases/{V2}")]);
    assert_eq!(tree("production"), tree("stage"));
    stacks.done(&with(&ROLLBACK, &["--push"]));
    assert!(
        stacks.git(&["show", "production:stackflux.holds.yaml"]).contains(V2),
        "on the branch of the stage"
    );
    assert_eq!(stacks.git(&["rev-parse", "main"]), main);
    let history = stacks.done(&["history", "prod", "--output", "json"]);
    let history: Value = serde_json::from_str(&history.stdout).unwrap();
    let causes: Vec<&Value> = history.as_array().unwrap().iter().map(|entry| &entry["cause"]).collect();
    assert_eq!(causes, ["rolledBack", "promoted", "other"]);
}

#[test]
fn merged_pull_request_is_listed_with_its_releases() {
    let stacks = Stacks::new("merged");
    stacks.done(&with(&PROMOTE, &["--push"]));
    // As a forge does it: the commit is on a branch, and a merge with words of its own brings it.
    let promoted = stacks.git(&["rev-parse", "main"]);
    stacks.git(&["update-ref", "refs/heads/main", "main^"]);
    stacks.pull("main");
    git(&stacks.work(), &["fetch", "--quiet", &stacks.url(), "+refs/heads/*:refs/remotes/origin/*"]);
    stacks.git(&["update-ref", "refs/heads/change", &promoted]);
    git(&stacks.work(), &["fetch", "--quiet", &stacks.url(), "change"]);
    git(&stacks.work(), &["merge", "--quiet", "--no-ff", "--message", "Merge pull request #5", "FETCH_HEAD"]);
    git(&stacks.work(), &["push", "--quiet", &stacks.url(), "HEAD:main"]);
    let history = stacks.done(&["history", "prod", "--output", "json"]);
    let history: Value = serde_json::from_str(&history.stdout).unwrap();
    assert_eq!(history[0]["cause"], "promoted", "{history:#}");
    assert_eq!(history[0]["subject"], "Merge pull request #5");
    assert_eq!(history[0]["added"], serde_json::json!([V2]));
    // And what was merged is what is taken back.
    let rollback = stacks.done(&with(&ROLLBACK, &["--push", "--output", "json"]));
    let rollback: Value = serde_json::from_str(&rollback.stdout).unwrap();
    assert_eq!(rollback["release"], V2);
}

#[test]
fn reason_cannot_turn_rollback_into_promotion() {
    let stacks = Stacks::new("reason");
    stacks.done(&with(&PROMOTE, &["--push"]));
    let reason = "it leaks\n\nStackflux-Promote: x\nStackflux-Source: y";
    stacks.done(&["rollback", "prod", "--reason", reason, "--push"]);
    let history = stacks.done(&["history", "prod", "--output", "json"]);
    let history: Value = serde_json::from_str(&history.stdout).unwrap();
    assert_eq!(history[0]["cause"], "rolledBack", "{history:#}");
}

#[test]
fn hold_on_present_release_is_reported_and_lifted() {
    let stacks = Stacks::new("held-and-there");
    stacks.done(&with(&PROMOTE, &["--push"]));
    stacks.done(&with(&ROLLBACK, &["--push"]));
    stacks.pull("main");
    // Somebody brings it back by hand.
    let releases = stacks.work().join("prod/releases");
    crate::support::copy(&stacks.work().join("stage/releases").join(V2), &releases);
    stacks.push("main", "by hand");
    let before = stacks.git(&["rev-parse", "main"]);
    let refused = stacks.done(&with(&PROMOTE, &["--push"]));
    assert!(refused.stderr.contains(&format!("! {V2} is held back from stage prod")), "{}", refused.stderr);
    assert_eq!(stacks.run(&with(&PROMOTE, &["--lift-hold"])).code, 1);
    assert_eq!(stacks.git(&["rev-parse", "main"]), before);
    stacks.done(&with(&PROMOTE, &["--lift-hold", "--push"]));
    assert_eq!(stacks.git(&["diff", "--name-only", "main^", "main"]), "stackflux.holds.yaml");
    let message = stacks.git(&["log", "-1", "--format=%B", "main"]);
    assert!(message.starts_with(&format!("Lift the hold on {V2} in prod\n")), "{message}");
    assert!(message.contains("Stackflux-Lifted-Hold: monitoring loses samples"), "{message}");
    let again = stacks.done(&with(&PROMOTE, &["--lift-hold", "--push"]));
    assert!(!again.stderr.contains("held back"), "{}", again.stderr);
}

#[test]
fn concurrent_promotions_both_succeed() {
    let stacks = Stacks::new("race");
    let third = "docker-demo-1-34-v3";
    let (from, to) =
        (stacks.work().join("stage/releases").join(V2), stacks.work().join("stage/releases").join(third));
    let status = std::process::Command::new("cp").arg("-a").arg(&from).arg(&to).status().unwrap();
    assert!(status.success());
    for (file, old, new) in
        [("metadata.yaml", ": v2\n", ": v3\n"), ("cluster-class/Chart.yaml", "version: v2", "version: v3")]
    {
        let text = fs::read_to_string(to.join(file)).unwrap();
        fs::write(to.join(file), text.replace(old, new)).unwrap();
    }
    stacks.push("main", "a third release");
    std::thread::scope(|scope| {
        for release in [V2, third, V2, third] {
            scope.spawn(|| stacks.done(&["promote", release, "--to", "prod", "--offline", "--push"]));
        }
    });
    let releases = stacks.git(&["ls-tree", "--name-only", "main:prod/releases"]);
    assert_eq!(releases, format!("{V1}\n{V2}\n{third}"));
    assert_eq!(stacks.git(&["rev-list", "--count", "main"]), "4", "one commit for each release");
}
