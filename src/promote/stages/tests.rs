use jiff::SignedDuration;

use super::{FILE, StageError, Stages};
use crate::promote::yaml::MAX_FILE_BYTES;

const THREE: &str = "\
# What our releases go through.
stages:
  - name: dev
    path: dev/releases
  - name: stage
    path: stage/releases
    after: dev
  - name: prod
    branch: production
    after: stage
    soak: 24h
    inputs: [prod/clusters, prod/clusterstack.yaml]
";

fn problems(text: &str) -> Vec<String> {
    let problems = Stages::parse(FILE, text.as_bytes(), None).unwrap_err();
    problems.0.iter().map(ToString::to_string).collect()
}

/// Creates a file with these stages, one per line in flow style.
fn file(stages: &[&str]) -> String {
    let lines: Vec<String> = stages.iter().map(|stage| format!("  - {{{stage}}}\n")).collect();
    format!("stages:\n{}", lines.concat())
}

#[test]
fn stages_are_read_with_their_defaults() {
    let stages = Stages::parse(FILE, THREE.as_bytes(), None).unwrap();
    let (from, to) = stages.step(None, "prod").unwrap();
    assert_eq!((from.name.as_str(), to.name.as_str()), ("stage", "prod"));
    assert_eq!((to.path.as_str(), to.branch.as_deref()), ("releases", Some("production")));
    assert_eq!(to.required_soak(), Some(SignedDuration::from_hours(24)));
    assert_eq!((from.required_soak(), from.inputs.len()), (None, 0));
    let release = "openstack-scs-1-32-v1".parse().unwrap();
    assert_eq!(from.release_path(&release), "stage/releases/openstack-scs-1-32-v1");
}

#[test]
fn release_is_promoted_one_stage_at_a_time() {
    let stages = Stages::parse(FILE, THREE.as_bytes(), None).unwrap();
    assert!(stages.step(Some("stage"), "prod").is_ok());
    assert!(matches!(stages.step(Some("dev"), "prod"), Err(StageError::NotNext { .. })));
    assert!(matches!(stages.step(Some("prod"), "stage"), Err(StageError::NotNext { .. })));
    assert!(matches!(stages.step(None, "dev"), Err(StageError::First(_))));
    let unknown = stages.step(Some("stag"), "prod").unwrap_err().to_string();
    assert_eq!(unknown, "stackflux.yaml has no stage \"stag\"; it has dev, stage, prod");
}

#[test]
fn stage_file_errors_have_line_numbers() {
    let unknown = problems("stages:\n  - name: dev\n    paht: releases\n");
    assert!(unknown[0].starts_with("stackflux.yaml:3: ") && unknown[0].contains("paht"), "{unknown:?}");
    assert!(unknown[0].ends_with("\n  3 |     paht: releases"), "{unknown:?}");
    let soak = problems("stages:\n  - name: dev\n    after: x\n    soak: a day\n");
    assert!(soak[0].contains(":4: \"a day\" is not a duration"), "{soak:?}");
    let twice = problems("stages:\n  - name: dev\n    name: dev\n");
    assert!(twice[0].starts_with("stackflux.yaml:3: "), "{twice:?}");
    for text in
        ["", "stages: []\n", "[]\n", "stages: {name: dev}\n", "stages:\n  - name: a\n---\nstages: []\n"]
    {
        assert_eq!(problems(text).len(), 1, "{text:?}");
    }
}

#[test]
fn stage_conflicts_are_reported_together() {
    let text = file(&[
        "name: a, after: c",
        "name: b, path: releases/b, after: nowhere",
        "name: c, path: c, after: a",
        "name: a, path: c/d",
        "name: d, path: releases, branch: other",
        "name: e, path: e, after: a",
    ]);
    assert_eq!(
        problems(&text),
        [
            "stackflux.yaml:2: stage \"a\" comes after itself\n  2 |   - {name: a, after: c}",
            "stackflux.yaml:3: stage \"b\" has the directory releases/b and \"a\" has releases: each stage needs one \
             of its own\n  3 |   - {name: b, path: releases/b, after: nowhere}",
            "stackflux.yaml:3: stage \"b\" comes after \"nowhere\", which does not exist\n  3 |   - {name: b, \
             path: releases/b, after: nowhere}",
            "stackflux.yaml:4: stage \"c\" comes after itself\n  4 |   - {name: c, path: c, after: a}",
            "stackflux.yaml:5: duplicate stage \"a\"\n  5 |   - {name: a, path: c/d}",
            "stackflux.yaml:5: stage \"a\" has the directory c/d and \"c\" has c: each stage needs one of its own\n  \
             5 |   - {name: a, path: c/d}",
        ]
    );
}

#[test]
fn stage_without_branch_uses_that_of_the_file() {
    let text = file(&["name: a", "name: b, branch: trunk"]);
    let parse = |branch| Stages::parse(FILE, text.as_bytes(), branch).map(drop);
    let error = parse(Some("trunk")).unwrap_err().to_string();
    assert!(error.contains("stage \"b\" has the directory releases and \"a\" has releases"), "{error}");
    assert_eq!((parse(Some("main")), parse(None)), (Ok(()), Ok(())));
}

#[test]
fn unsafe_names_paths_and_branches_are_refused() {
    for stage in [
        "name: A",
        "name: \"\"",
        "name: \"a b\"",
        "name: a, path: ../releases",
        "name: a, path: /releases",
        "name: a, path: releases/",
        "name: a, path: \"\"",
        "name: a, inputs: [a/../../b]",
        "name: a, branch: \"-x\"",
        "name: a, branch: \"a..b\"",
        "name: a, branch: \"a b\"",
        "name: a, branch: \"a.lock\"",
        "name: a, branch: \"refs/\"",
        "name: a, branch: \"\"",
        "name: a, soak: 1h",
    ] {
        assert_eq!(problems(&file(&[stage])).len(), 1, "{stage}");
    }
    for stage in ["name: a-1, path: a/b.c, branch: release/1.x", "name: \"1\", inputs: [x, y/z.yaml]"] {
        assert!(Stages::parse(FILE, file(&[stage]).as_bytes(), None).is_ok(), "{stage}");
    }
}

#[test]
fn expensive_file_is_refused() {
    assert!(problems(&" ".repeat(MAX_FILE_BYTES + 1))[0].contains("exceeds the limit"));
    assert!(problems(&"[".repeat(100)).len() == 1);
    let many: Vec<String> = (0..65).map(|at| format!("name: s{at}, path: p{at}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert!(problems(&file(&many))[0].contains("65 entries"));
    let bomb =
        "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nstages: [*b,*b,*b,*b,*b,*b,*b,*b]\n";
    assert_eq!(problems(bomb).len(), 1);
    assert_eq!(
        Stages::parse(FILE, &[0xff, 0xfe], None).unwrap_err().to_string(),
        "stackflux.yaml: the file is not UTF-8"
    );
}
