//! What is refused, and what is said about it.

use std::fs;

use super::{PROMOTE, Stacks, V1, V2, with};
use crate::support::stackflux;

#[track_caller]
fn refused(stacks: &Stacks, arguments: &[&str], expected: &str) {
    let before = stacks.git(&["for-each-ref"]);
    let run = stacks.run(&with(arguments, &["--push"]));
    assert_eq!(run.code, 2, "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains(expected), "{expected:?} is not in\n{}", run.stderr);
    assert_eq!(stacks.git(&["for-each-ref"]), before, "nothing is written");
}

#[test]
fn different_content_under_same_name_is_refused() {
    let stacks = Stacks::new("other-content");
    stacks.write(&format!("prod/releases/{V1}/metadata.yaml"), "versions: {clusterStack: v1}\n");
    stacks.push("main", "somebody changed a release");
    refused(
        &stacks,
        &["promote", V1, "--to", "prod", "--offline"],
        "stage prod has docker-demo-1-34-v1 already, with other content",
    );
}

#[test]
fn missing_or_unusable_release_is_refused() {
    let stacks = Stacks::new("not-there");
    let missing = ["promote", "docker-demo-1-34-v9", "--to", "prod", "--offline"];
    refused(&stacks, &missing, "it has docker-demo-1-34-v2, docker-demo-1-34-v1");
    fs::remove_file(stacks.work().join(format!("stage/releases/{V2}/cluster-class/Chart.yaml"))).unwrap();
    stacks.push("main", "a broken release");
    refused(&stacks, &PROMOTE, &format!("stage/releases/{V2} cannot be used:\nerror: MissingFile"));
}

#[test]
fn skipped_stage_and_first_stage_are_refused() {
    let stacks = Stacks::new("order");
    refused(&stacks, &["promote", V1, "--to", "stage"], "comes after no other");
    refused(&stacks, &["promote", V1, "--from", "prod", "--to", "prod"], "promote from \"stage\"");
    refused(
        &stacks,
        &["promote", V1, "--to", "production"],
        "has no stage \"production\"; it has stage, prod",
    );
}

#[test]
fn promotion_without_clusters_of_the_stage_is_refused() {
    let stacks = Stacks::new("unasked");
    let kubeconfig = stacks.work().join("none");
    let promote = ["promote", V2, "--to", "prod", "--kubeconfig", kubeconfig.to_str().unwrap()];
    refused(&stacks, &promote, &kubeconfig.display().to_string());
}

#[test]
fn invalid_files_are_reported_with_their_lines() {
    let stacks = Stacks::new("files");
    stacks
        .write("stackflux.yaml", "stages:\n  - name: stage\n  - name: prod\n    path: b\n    after: stag\n");
    stacks.push("main", "stages that are wrong");
    refused(
        &stacks,
        &PROMOTE,
        "stackflux.yaml:3: stage \"prod\" comes after \"stag\", which does not exist\n  3 |   - name: prod\n",
    );
    stacks.write("stackflux.yaml", "stages:\n  - name: stage\n    pahts: x\n");
    stacks.push("main", "a field that there is not");
    refused(&stacks, &PROMOTE, "stackflux.yaml:3: ");
    fs::remove_file(stacks.work().join("stackflux.yaml")).unwrap();
    stacks.push("main", "no stages");
    refused(&stacks, &PROMOTE, "the stack repository has no stackflux.yaml on branch main");
    refused(&stacks, &with(&PROMOTE, &["--branch", "other"]), "the stack repository has no branch other");
}

#[test]
fn invalid_holds_and_inputs_are_reported() {
    let stacks = Stacks::new("inputs");
    stacks.write("stackflux.holds.yaml", "holds: [{release: x}]\n");
    stacks.push("main", "holds that are wrong");
    refused(&stacks, &PROMOTE, "stackflux.holds.yaml:1: ");
    let hold = format!("holds:\n- {{release: {V2}, stage: prd, reason: x, commit: a}}\n");
    stacks.write("stackflux.holds.yaml", &hold);
    stacks.push("main", "a hold on no stage");
    refused(
        &stacks,
        &PROMOTE,
        "stackflux.holds.yaml:2: stackflux.yaml has no stage \"prd\"; it has stage, prod\n",
    );
    fs::remove_file(stacks.work().join("stackflux.holds.yaml")).unwrap();
    stacks.write("prod/clusterstack.yaml", "a: [\n");
    stacks.push("main", "inputs that are wrong");
    refused(&stacks, &PROMOTE, "prod/clusterstack.yaml:1: ");
    fs::remove_file(stacks.work().join("prod/clusterstack.yaml")).unwrap();
    stacks.push("main", "inputs that are not there");
    refused(
        &stacks,
        &PROMOTE,
        "stage prod names the input prod/clusterstack.yaml, and its branch has no such file",
    );
}

#[test]
fn invalid_release_in_stage_blocks_no_promotion() {
    let stacks = Stacks::new("broken-inputs");
    fs::remove_file(stacks.work().join(format!("prod/releases/{V1}/cluster-class/Chart.yaml"))).unwrap();
    stacks.push("main", "an old release that cannot be read");
    let shown = stacks.done(&with(&PROMOTE, &["--push"]));
    for expected in [
        "Releases of the stage that cannot be compared\n",
        &format!("{V1}: prod/releases/{V1} cannot be used: error: MissingFile"),
        &format!("Cluster demo/one: it has {V1}, which cannot be compared\n"),
    ] {
        assert!(shown.stdout.contains(expected), "{expected:?} is not in\n{}", shown.stdout);
    }
    stacks.pull("main");
    stacks.write("prod/clusterstack.yaml", "a: [\n");
    stacks.push("main", "inputs that are wrong");
    let rolled_back = stacks.done(&["rollback", "prod", "--reason", "it leaks", "--push"]);
    assert!(
        rolled_back
            .stderr
            .contains("cannot read the ClusterStacks and Clusters of the stage: prod/clusterstack.yaml:1: "),
        "{}",
        rolled_back.stderr
    );
    assert_eq!(stacks.git(&["ls-tree", "--name-only", "main:prod/releases"]), V1);
}

#[test]
fn stack_following_a_tag_is_named_in_refusal() {
    let stacks = Stacks::new("elsewhere");
    let file = stacks.work().join("prod/clusterstack.yaml");
    let text = fs::read_to_string(&file).unwrap().replace("branch: main", "tag: v1");
    fs::write(&file, text).unwrap();
    stacks.push("main", "a tag");
    let shown = stacks.run(&PROMOTE);
    let expected =
        "ClusterStack demo/docker-demo-1-34 does not count: it follows the tag v1, which is not a branch\n";
    assert!(shown.stdout.contains(expected), "{}", shown.stdout);
}

#[test]
fn rolled_back_release_is_not_republished() {
    let stacks = Stacks::new("held-first");
    stacks.done(&["rollback", "stage", "--release", V2, "--reason", "it leaks", "--push"]);
    let before = stacks.git(&["for-each-ref"]);
    let to = format!("file://{}", stacks.url());
    let publish = |source: &str, more: &str| {
        let source = stacks.work().join(source).display().to_string();
        let author = "--author=Ada <ada@example.org>";
        stackflux(&["publish", &source, "--to", &to, "--path", "stage/releases", author, more])
    };
    for more in ["--dry-run", "--branch=main"] {
        let run = publish(&format!("stage/releases/{V2}"), more);
        assert_eq!(run.code, 2, "{}{}", run.stdout, run.stderr);
        let expected =
            format!("{V2} is held back from stage stage: it leaks\n→ once that is solved, remove the entry");
        assert!(run.stderr.contains(&expected), "{}", run.stderr);
    }
    // What a pipeline publishes is not what anybody asked for by name.
    let new = publish("stage", "--all-new");
    assert_eq!(new.code, 0, "{}", new.stderr);
    assert!(new.stderr.contains(&format!("! {V2} is held back from stage stage")), "{}", new.stderr);
    assert_eq!(stacks.git(&["for-each-ref"]), before, "nothing is written");
}

#[test]
fn lifting_missing_hold_is_refused() {
    let stacks = Stacks::new("not-held");
    refused(&stacks, &with(&PROMOTE, &["--lift-hold"]), "is not held back from stage prod");
}
