use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{Contents, KindChange};
use crate::compare::parts::Change;
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

/// The names of the kinds that differ, with what became of them.
fn kinds(from: &Files, to: &Files) -> Vec<(String, Change, bool)> {
    let contents = |files: &Files| {
        let mut contents = Contents::default();
        contents.take(files, "a", true, super::DEPTH, &mut crate::release::Limits::default());
        contents
    };
    let told = |kind: KindChange| (kind.name, kind.change, kind.deleted);
    contents(from).compare(&contents(to)).kinds.into_iter().map(told).collect()
}

#[test]
fn definitions_are_found_in_both_places_and_nowhere_else() {
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
            ("gone.x".to_owned(), Change::Removed, false),
            ("new.x".to_owned(), Change::Added, false),
            ("templated.x".to_owned(), Change::Removed, true),
        ],
        "Helm keeps what is in crds/, and deletes what was a template"
    );
}

#[test]
fn definitions_in_vendored_charts_are_found_however_deep() {
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
    assert_eq!(kinds(&side("one"), &side("two")), [("deep.x".to_owned(), Change::Changed, false)]);
    assert!(kinds(&side("one"), &side("one")).is_empty());
}

#[test]
fn an_archive_that_holds_itself_many_times_ends() {
    let mut packed = archive(&[("x/crds/a.yaml", crd("deep.x", "a").into_bytes())]);
    for _ in 0..super::DEPTH + 2 {
        packed = archive(&[("x/charts/x.tgz", packed.clone()), ("x/charts/y.tgz", packed)]);
    }
    let mut side = Files::default();
    side.insert("a/charts/x.tgz", File { content: packed, executable: false }).unwrap();
    assert!(kinds(&Files::default(), &side).is_empty(), "deeper than anybody vendors");
}

#[test]
fn a_chart_that_is_not_there_is_told_of() {
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
fn a_wrapper_that_is_called_otherwise_is_the_same_wrapper() {
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
fn the_default_values_of_a_chart_are_compared_where_they_can_be_read() {
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
