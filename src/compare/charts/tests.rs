use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{Contents, KindChange, Owner};
use crate::compare::change::Change;
use crate::release::{Chart, File, Files};

fn crd(name: &str, more: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  annotations:\n    name: no\n  name: {name}\nspec:\n  group: {more}\n"
    )
}

fn files(entries: &[(&str, String)]) -> Files {
    let mut files = Files::default();
    for (path, content) in entries {
        files.insert(path, File { content: content.clone().into_bytes(), executable: false }).unwrap();
    }
    files
}

fn archive(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, content) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, path, content.as_slice()).unwrap();
    }
    let mut encoder = builder.into_inner().unwrap();
    encoder.flush().unwrap();
    encoder.finish().unwrap()
}

/// Returns the names of the CRDs that differ, each with its change and the owner that deletes it.
fn kinds(from: &Files, to: &Files) -> Vec<(String, Change, Option<Owner>)> {
    kinds_of((from, true), (to, true))
}

/// Compares as [`kinds`] does, with whether each side is a chart.
fn kinds_of(from: (&Files, bool), to: (&Files, bool)) -> Vec<(String, Change, Option<Owner>)> {
    let contents = |(files, is_chart): (&Files, bool)| {
        let mut contents = Contents::default();
        contents.take(files, "a", is_chart, super::DEPTH, &mut crate::release::Limits::default());
        contents
    };
    let summary = |kind: KindChange| (kind.name, kind.change, kind.deleted_by);
    contents(from).compare(&contents(to)).kinds.into_iter().map(summary).collect()
}

#[test]
fn content_of_a_component_is_compared_whole_and_shown_short() {
    let digest = |last: char| format!("sha256:{}{last}", "0123456789ab".repeat(6).get(..63).unwrap());
    let contents = |version: &str| {
        let versions = [("platform".to_owned(), version.to_owned())].into();
        Contents { versions, ..Contents::default() }
    };
    for (from, to, expected) in [
        (digest('a'), digest('a'), None),
        (digest('a'), digest('b'), Some(("sha256:0123456789ab", "sha256:0123456789ab"))),
        ("0".repeat(40), "f".repeat(40), Some(("000000000000", "ffffffffffff"))),
        ("1.18.9".to_owned(), "1.18.10".to_owned(), Some(("1.18.9", "1.18.10"))),
    ] {
        let charts = contents(&from).compare(&contents(&to)).charts;
        let found =
            charts.first().map(|change| (change.from.as_deref().unwrap(), change.to.as_deref().unwrap()));
        assert_eq!(found, expected);
    }
}

#[test]
fn definitions_are_found_in_both_directories_only() {
    let from = files(&[
        ("a/crds/one.yaml", format!("# comment\n{}---\n{}", crd("kept.x", "a"), crd("gone.x", "a"))),
        (
            "a/templates/two.yaml",
            format!("{{{{- if .Values.crds }}}}\n{}{{{{- end }}}}\n", crd("templated.x", "a")),
        ),
        ("a/values.yaml", crd("value.x", "a")),
        ("b/crds/one.yaml", crd("other.x", "a")),
    ]);
    let to = files(&[
        ("a/crds/renamed.yaml", format!("---\n\n{}# end\n", crd("kept.x", "a"))),
        ("a/crds/new.yml", crd("\"new.x\"", "a")),
        ("a/templates/two.yaml", "kind: CustomResourceDefinitions\nmetadata:\n  name: no.x\n".to_owned()),
    ]);
    assert_eq!(
        kinds(&from, &to),
        [
            ("gone.x".to_owned(), Change::Removed, None),
            ("new.x".to_owned(), Change::Added, None),
            ("templated.x".to_owned(), Change::Removed, Some(Owner::Helm)),
        ],
        "Helm keeps what is in crds/, and deletes what was a template"
    );
}

#[test]
fn template_that_becomes_crd_is_deleted() {
    let (template, crd) =
        (files(&[("a/templates/x.yaml", crd("x", "a"))]), files(&[("a/crds/x.yaml", crd("x", "a"))]));
    let both = files(&[("a/templates/z.yaml", self::crd("x", "a")), ("a/crds/x.yaml", self::crd("x", "a"))]);
    assert_eq!(kinds(&template, &crd), [("x".to_owned(), Change::Changed, Some(Owner::Helm))]);
    assert_eq!(kinds(&both, &crd), [("x".to_owned(), Change::Changed, Some(Owner::Helm))]);
    assert_eq!(kinds(&crd, &template), [("x".to_owned(), Change::Changed, None)]);
    let moved = files(&[("a/templates/deep/y.yaml", self::crd("x", "b"))]);
    assert_eq!(kinds(&template, &moved), [("x".to_owned(), Change::Changed, None)]);
}

#[test]
fn plain_manifests_are_pruned_everywhere() {
    let (there, gone) =
        (files(&[("a/crds/x.yaml", crd("x", "a"))]), files(&[("a/other.yaml", String::new())]));
    let kinds = |from, to| kinds_of((from, false), (to, false));
    assert_eq!(kinds(&there, &gone), [("x".to_owned(), Change::Removed, Some(Owner::Flux))]);
    assert_eq!(kinds(&there, &files(&[("a/x.yaml", crd("x", "a"))])), []);
    let chart = files(&[("a/templates/x.yaml", crd("x", "a"))]);
    let becomes_chart = kinds_of((&there, false), (&chart, true));
    assert_eq!(
        becomes_chart,
        [("x".to_owned(), Change::Changed, Some(Owner::Flux))],
        "Flux prunes what it applied"
    );
}

#[test]
fn object_with_keep_policy_is_not_deleted() {
    let gone = files(&[("a/Chart.yaml", String::new())]);
    let deleted_by = |annotations: &str, is_chart: bool| {
        let text = crd("x", "a").replace("  annotations:\n    name: no\n", annotations);
        let found = kinds_of((&files(&[("a/templates/x.yaml", text)]), is_chart), (&gone, is_chart));
        assert_eq!((found.len(), found[0].1), (1, Change::Removed), "{annotations}");
        found[0].2
    };
    for kept in [
        "  annotations:\n    helm.sh/resource-policy: keep\n",
        "  annotations:\n    \"helm.sh/resource-policy\": \"keep\"\n",
        "  annotations: {a: b, helm.sh/resource-policy: keep}\n",
        "  annotations:\n    {{- if .Values.more }}\n    a: b\n    {{- end }}\n    helm.sh/resource-policy: keep\n",
    ] {
        assert_eq!(deleted_by(kept, true), None, "{kept}");
        assert_eq!(deleted_by(kept, false), Some(Owner::Flux), "{kept}");
    }
    for not_kept in [
        "  annotations:\n    helm.sh/resource-policy: delete\n",
        "  annotations:\n    {{- if .Values.crds.keep }}\n    helm.sh/resource-policy: keep\n    {{- end }}\n",
    ] {
        assert_eq!(deleted_by(not_kept, true), Some(Owner::Helm), "{not_kept}");
    }
    let flux = "  annotations:\n    kustomize.toolkit.fluxcd.io/prune: disabled\n";
    assert_eq!((deleted_by(flux, false), deleted_by(flux, true)), (None, Some(Owner::Helm)));
}

#[test]
fn definitions_in_nested_vendored_charts_are_found() {
    let packed = |group: &str| {
        let inner = archive(&[("inner/crds/a.yaml", crd("deep.x", group).into_bytes())]);
        archive(&[("outer/Chart.yaml", b"name: outer\n".to_vec()), ("outer/charts/inner-1.tgz", inner)])
    };
    let side = |group: &str| {
        let mut files = Files::default();
        let file = File { content: packed(group), executable: false };
        files.insert("a/charts/outer-1.tgz", file).unwrap();
        files
    };
    assert_eq!(kinds(&side("one"), &side("two")), [("deep.x".to_owned(), Change::Changed, None)]);
    assert!(kinds(&side("one"), &side("one")).is_empty());
}

#[test]
fn nested_archive_is_read_up_to_a_limit() {
    let mut packed = archive(&[("x/crds/a.yaml", crd("deep.x", "a").into_bytes())]);
    for _ in 0..super::DEPTH + 2 {
        packed = archive(&[("x/charts/x.tgz", packed.clone()), ("x/charts/y.tgz", packed)]);
    }
    let mut side = Files::default();
    side.insert("a/charts/x.tgz", File { content: packed, executable: false }).unwrap();
    assert!(kinds(&Files::default(), &side).is_empty(), "deeper than anybody vendors");
}

#[test]
fn missing_chart_is_reported() {
    let chart = |version: &str| {
        let text = format!(
            "name: cni\nversion: v1\ndependencies:\n- {{name: cilium, version: {version}, repository: \"https://h\"}}\n"
        );
        let (files, mut found) = (files(&[("a/Chart.yaml", text)]), crate::release::Findings::default());
        let chart = Chart::read(&files, "a", &mut crate::release::Limits::default(), &mut found).unwrap();
        Contents::of(&files, "a", Some(&chart))
    };
    let compared = chart("1.16.5").compare(&chart("1.17.1"));
    assert_eq!(compared.unseen, ["cilium 1.16.5", "cilium 1.17.1"]);
    let charts: Vec<_> =
        compared.charts.iter().map(|chart| (chart.name.as_str(), chart.to.as_deref())).collect();
    assert_eq!(charts, [("cilium", Some("1.17.1"))], "the wrapper itself keeps its version");
    assert!(chart("1").compare(&Contents::default()).charts.iter().all(|chart| chart.to.is_none()));
    assert!(
        chart("1").compare(&chart("1")).unseen.is_empty(),
        "what is the same on both sides matters to nobody"
    );
}

#[test]
fn renamed_wrapper_is_the_same_wrapper() {
    let side =
        |name: &str| Contents { chart: Some((name.to_owned(), "v1".to_owned())), ..Contents::default() };
    let compared = side("scs-1-32").compare(&side("CNI"));
    let change = compared.charts.first().unwrap();
    assert_eq!(
        (change.name.as_str(), change.was.as_deref(), compared.charts.len()),
        ("CNI", Some("scs-1-32"), 1)
    );
    assert!(side("CNI").compare(&side("CNI")).charts.is_empty());
}

#[test]
fn chart_default_values_are_compared_where_readable() {
    let chart = |values: &str| {
        let text = "name: cni\nversion: v1\n".to_owned();
        let files = files(&[("a/Chart.yaml", text), ("a/values.yaml", values.to_owned())]);
        let (mut limits, mut found) =
            (crate::release::Limits::default(), crate::release::Findings::default());
        let chart = Chart::read(&files, "a", &mut limits, &mut found).unwrap();
        Contents::of(&files, "a", Some(&chart))
    };
    let changes = |from: &str, to: &str| {
        let values = chart(from).compare(&chart(to)).values.into_iter();
        values.map(|value| (value.path, value.from, value.to)).collect::<Vec<_>>()
    };
    let change = ("a.b".to_owned(), Some("1".to_owned()), Some("2".to_owned()));
    assert_eq!(changes("a: {b: 1, c: on}\n", "a: {c: true, b: 2.0}\n"), [change]);
    assert!(changes("a: [\n", "a: 1\n").is_empty() && changes("- a\n", "a: 1\n").is_empty());
}
