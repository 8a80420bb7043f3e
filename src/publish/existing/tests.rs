use super::*;
use crate::error::Classify as _;
use crate::publish::dependencies::Missing;
use crate::publish::tests::{NAME, files, prepare, prepared, vendored, with};

fn existing(release: Option<Files>, ignore_files: &[(&str, &str)]) -> Existing {
    let ignore_files = ignore_files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    Existing {
        place: "stacks".to_owned(),
        directory: "releases".to_owned(),
        release,
        ignore_files: ignore_files.collect(),
        held: None,
    }
}

/// Returns the files of a release with these versions of its chart.
fn with_versions(versions: &[&str]) -> Files {
    versions.iter().fold(files(NAME), |files, version| {
        with(files, &format!("cluster-addon/cni/charts/cilium-{version}.tgz"), version)
    })
}

#[test]
fn existing_release_is_not_written_again() {
    assert!(existing(None, &[]).needs(&prepared(NAME), false).unwrap());
    assert!(!existing(Some(files(NAME)), &[]).needs(&prepared(NAME), false).unwrap());
    assert!(!existing(Some(files(NAME)), &[("", "*.yaml\n")]).needs(&prepared(NAME), false).unwrap());
}

#[test]
fn held_release_is_not_written_and_existing_stays() {
    let hold = |release| {
        let stage = "stage".to_owned();
        let held =
            Hold { release: NAME.to_owned(), stage, reason: "it leaks".to_owned(), commit: "a".to_owned() };
        Existing { held: Some(held), ..existing(release, &[]) }
    };
    let error = hold(None).needs(&prepared(NAME), false).unwrap_err();
    assert_eq!(error.to_string(), format!("{NAME} is held back from stage stage: it leaks"));
    assert_eq!(error.reason(), "ReleaseHeld");
    assert!(error.hint().unwrap().contains("stackflux.holds.yaml"));
    assert!(!hold(Some(files(NAME))).needs(&prepared(NAME), false).unwrap());
}

#[test]
fn release_that_flux_refuses_is_not_written_and_existing_stays() {
    let endless = |files| {
        let files = with(files, "cluster-addon/cni/overwrite.yaml", "a: {{ .Values.x }}\n");
        (prepare(NAME, files.clone()), files)
    };
    let (prepared, files) = endless(files(NAME));
    let error = existing(None, &[]).needs(&prepared, false).unwrap_err();
    assert_eq!(error.reason(), "UnknownRoot");
    assert!(error.to_string().contains("cluster-addon/cni/overwrite.yaml:1:7"), "{error}");
    assert!(!existing(Some(files), &[]).needs(&prepared, false).unwrap(), "it is in use");
}

#[test]
fn other_content_is_refused() {
    let mut linked = files(NAME);
    linked.insert_link("x", "y").unwrap();
    for (other, path) in [
        (with(files(NAME), "README.md", "x"), "README.md"),
        (with_versions(&["1.2.3"]), "cluster-addon/cni/charts/cilium-1.2.3.tgz"),
        (linked, "x"),
        (files("openstack-demo-1-34-v3"), "cluster-class/Chart.yaml, metadata.yaml"),
    ] {
        let error = existing(Some(other), &[]).needs(&prepared(NAME), false).unwrap_err();
        assert_eq!(error.reason(), "ReleaseExists");
        assert_eq!(error.to_string(), format!("{NAME} exists in stacks with other content: {path}"));
    }
    let many = (0..12).fold(files(NAME), |files, number| with(files, &format!("x{number:02}"), ""));
    let error = existing(Some(many), &[]).needs(&prepared(NAME), false).unwrap_err().to_string();
    assert!(error.ends_with("x08, x09 and 2 more"), "{error}");
}

#[test]
fn executable_bit_is_part_of_the_content() {
    let mut other = Files::default();
    for (path, file) in files(NAME).iter() {
        let file = File { executable: path == "metadata.yaml", ..file.clone() };
        other.insert(path, file).unwrap();
    }
    assert!(existing(Some(other), &[]).needs(&prepared(NAME), false).is_err());
}

#[test]
fn version_range_keeps_the_published_version() {
    let has = |versions: &[&str]| existing(Some(with_versions(versions)), &[]);
    let fresh = prepared(NAME);
    let vendored = vec![vendored(&fresh, "1.2.9", b"1.2.9")];
    let newer = Prepared { files: with_versions(&["1.2.9"]), vendored, ..fresh.clone() };
    for prepared in [&fresh, &newer] {
        assert!(!has(&["1.2.3"]).needs(prepared, true).unwrap());
        assert!(has(&["1.3.0"]).needs(prepared, true).is_err(), "outside the range");
        assert!(has(&["1.2.3", "1.2.4"]).needs(prepared, true).is_err(), "one too many");
        assert!(has(&["1.2.3", "x"]).needs(prepared, true).is_err(), "no version");
        let other = with(with_versions(&["1.2.3"]), "x", "");
        assert!(existing(Some(other), &[]).needs(prepared, true).is_err(), "something else differs");
    }
    assert!(has(&["1.2.3"]).needs(&newer, false).is_err(), "nothing was to be fetched");
}

#[test]
fn chart_with_common_name_prefix_is_distinguished() {
    let other = "cluster-addon/cni/charts/cilium-operator-0.5.0.tgz";
    let fresh = prepared(NAME);
    let fresh = Prepared { files: with(fresh.files, other, "own"), ..fresh };
    let has = |files: Files| existing(Some(files), &[]).has(&fresh, true);
    assert!(has(with(with_versions(&["1.2.3"]), other, "own")));
    assert!(!has(with(files(NAME), other, "own")), "the chart itself is not there");
    assert!(!has(with(with_versions(&["1.2.3"]), other, "else")));
    assert!(!has(with_versions(&["1.2.3"])));
    let without = existing(Some(with(with_versions(&["1.2.3"]), other, "own")), &[]);
    assert!(!without.has(&prepared(NAME), true), "the release has no such archive");
}

#[test]
fn two_ranges_have_a_version_each() {
    let fresh = prepared(NAME);
    let of = |version: &str| Missing { version: version.to_owned(), ..fresh.missing[0].clone() };
    let two = Prepared { missing: vec![of("~1.2"), of("^1")], ..fresh.clone() };
    let has = |versions: &[&str]| existing(Some(with_versions(versions)), &[]).has(&two, true);
    assert!(has(&["1.2.3", "1.9.0"]));
    assert!(has(&["1.2.3"]), "both take it");
    assert!(!has(&["1.9.0"]));
    assert!(!has(&["1.2.3", "1.3.0", "1.9.0"]));
}

#[test]
fn files_ignored_by_the_repository_are_reported() {
    let left_out = |ignore_files: &[(&str, &str)]| {
        existing(None, ignore_files).needs(&prepared(NAME), false).map_err(|error| error.to_string())
    };
    assert_eq!(left_out(&[("", "*.md\nmetadata.yaml\n")]), Ok(true));
    for patterns in
        [[("", "*.yaml\n")], [("releases", "Chart.yaml\n")], [("", "/releases/*/cluster-addon/\n")]]
    {
        let error = left_out(&patterns).unwrap_err();
        assert!(
            error.contains("leaves out files that its charts need: cluster-addon/cni/Chart.yaml"),
            "{error}"
        );
    }
    assert_eq!(left_out(&[("", "*.yaml\n"), ("releases", "!*.yaml\n")]), Ok(true));
    let brought_back = prepare(NAME, with(files(NAME), ".sourceignore", "!*.yaml\n"));
    assert!(existing(None, &[("", "*.yaml\n")]).needs(&brought_back, false).unwrap());
}
