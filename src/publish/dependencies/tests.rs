use super::*;
use crate::publish::tests::{NAME, files, prepare, prepared, with};
use crate::publish::{Prepared, PublishError};
use crate::release::Limits;

/// Returns the missing dependencies of a release whose addon `cni` has this dependency, or the error.
fn of(dependency: &str) -> Result<Vec<Missing>, String> {
    let mut all = Files::default();
    for (path, file) in files(NAME).iter().filter(|(path, _)| *path != "cluster-addon/cni/Chart.yaml") {
        all.insert(path, file.clone()).unwrap();
    }
    let chart = format!("name: cni\nversion: v1\ndependencies: [{dependency}]\n");
    let all = with(all, "cluster-addon/cni/Chart.yaml", &chart);
    let all = with(all, "cluster-addon/policies/common/Chart.yaml", "name: common\nversion: 1.0.0\n");
    match Prepared::of(crate::publish::tests::fetched(NAME, all), &Limits::default()) {
        Ok(prepared) => Ok(prepared.missing),
        Err(PublishError::Unusable { findings, .. }) => Err(findings.to_string()),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn dependencies_of_source_controller_are_recognized() {
    let expected = Missing {
        chart: "cluster-addon/cni".to_owned(),
        name: "cilium".to_owned(),
        version: "~1.2".to_owned(),
        locked: None,
        repository: Repository::Helm("https://charts.example.com/".parse().unwrap()),
    };
    assert_eq!(prepared(NAME).missing, [expected]);
    for (repository, read) in [
        ("https://charts.example.com/stable", "https://charts.example.com/stable/"),
        ("http://charts:8080//", "http://charts:8080/"),
        ("oci://registry.example.com/charts/", "oci://registry.example.com/charts"),
        ("oci://registry:5000", "oci://registry:5000"),
    ] {
        let found = of(&format!("{{name: x, version: 1.2.3, repository: '{repository}'}}")).unwrap();
        assert_eq!(found[0].repository.to_string(), read);
    }
    assert_eq!(of("{name: common, version: 1.0.0, repository: 'file://../policies/common'}"), Ok(vec![]));
}

#[test]
fn unfetchable_dependencies_are_refused() {
    for (dependency, why) in [
        ("{name: x, version: 1}", "not in charts/ and has no repository"),
        ("{name: x, version: 1, repository: '@stable'}", "unsupported repository @stable"),
        ("{name: x, version: 1, repository: 'alias:stable'}", "unsupported repository"),
        ("{name: x, version: 1, repository: 'ftp://host/'}", "unsupported repository"),
        ("{name: x, version: 1, repository: 'oci://'}", "unsupported repository"),
        ("{name: x, version: 1, repository: 'oci://user:geheim@host/x'}", "unsupported repository"),
        ("{name: x, version: 1, repository: 'https://user:geheim@host/x'}", "has a user or a password"),
        ("{name: x, version: 1, repository: 'file://../nothing'}", "not a chart of this release"),
        ("{name: x, version: 1, repository: 'file://../../../etc'}", "leads out of the release"),
        ("{name: x, version: 1, repository: 'file:///etc'}", "not a chart of this release"),
        ("{name: ../x, version: 1, repository: 'https://host/'}", "invalid chart name"),
    ] {
        let findings = of(dependency).unwrap_err();
        let error = findings.lines().find(|line| line.starts_with("error: DependencyUnresolved")).unwrap();
        assert!(error.contains(why), "{dependency}: {findings}");
        assert!(!error.contains("geheim"), "{findings}");
    }
}

#[test]
fn vendored_chart_is_not_missing() {
    let path = "cluster-addon/cni/charts/cilium/Chart.yaml";
    let vendored = with(files(NAME), path, "name: cilium\nversion: 1.2.9\n");
    assert_eq!(prepare(NAME, vendored).missing, []);
}

#[test]
fn chart_with_two_aliases_is_missing_once() {
    let alias = |alias: &str, version: &str| {
        format!("{{name: x, version: {version}, repository: 'https://charts.example.com', alias: {alias}}}")
    };
    let versions = |dependencies: &str| -> Vec<String> {
        of(dependencies).unwrap().into_iter().map(|missing| missing.version).collect()
    };
    assert_eq!(versions(&format!("{}, {}", alias("a", "~1.2"), alias("b", "~1.2"))), ["~1.2"]);
    assert_eq!(versions(&format!("{}, {}", alias("a", "~1.2"), alias("b", "~1.3"))), ["~1.2", "~1.3"]);
}

#[test]
fn archive_version_is_read() {
    let missing = &prepared(NAME).missing[0];
    for (path, version) in [
        ("cluster-addon/cni/charts/cilium-1.2.3.tgz", Some("1.2.3")),
        ("cluster-addon/cni/charts/cilium-v1.2.3-rc.1+x.tgz", Some("v1.2.3-rc.1+x")),
        ("cluster-addon/cni/charts/cilium-operator-1.2.3.tgz", None),
        ("cluster-addon/cni/charts/cilium-latest.tgz", None),
        ("cluster-addon/cni/charts/cilium-.tgz", None),
        ("cluster-addon/csi/charts/cilium-1.2.3.tgz", None),
        ("cluster-addon/cni/charts/cilium-1.2.3.tar", None),
    ] {
        assert_eq!(missing.vendored_version(path), version, "{path}");
    }
}

/// Returns the locked version for a release whose addon `cni` has this `Chart.lock`, or the error.
fn locked(dependencies: &str) -> Result<Option<String>, String> {
    let lock = format!("dependencies: [{dependencies}]\ndigest: sha256:x\ngenerated: now\n");
    let all = with(files(NAME), "cluster-addon/cni/Chart.lock", &lock);
    let prepared = Prepared::of(crate::publish::tests::fetched(NAME, all), &Limits::default());
    prepared.map(|prepared| prepared.missing[0].locked.clone()).map_err(|error| error.to_string())
}

#[test]
fn lock_file_selects_the_version() {
    let place = "name: cilium, repository: 'https://charts.example.com/'";
    assert_eq!(locked(&format!("{{{place}, version: 1.2.7}}")), Ok(Some("1.2.7".to_owned())));
    let two = format!("{{{place}, version: 1.3.0}}, {{{place}, version: 1.2.7}}");
    assert_eq!(locked(&two), Ok(Some("1.2.7".to_owned())), "another alias of it has another version");
    for (lock, why) in [
        (format!("{{{place}, version: 1.3.0}}"), "Chart.lock has 1.3.0, which is not in the range ~1.2"),
        ("{name: cilium, repository: 'https://else/', version: 1.2.7}".to_owned(), "Chart.lock lacks it"),
        ("{name: other, version: 1.2.7}".to_owned(), "Chart.lock lacks it"),
        ("{".to_owned(), "Chart.lock cannot be read"),
        (format!("&a {{{place}, version: 1.2.7}}, *a"), "Chart.lock cannot be read"),
    ] {
        let error = locked(&lock).unwrap_err();
        assert!(error.contains("DependencyUnresolved") && error.contains(why), "{lock}: {error}");
    }
}
