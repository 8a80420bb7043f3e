use super::*;
use crate::publish::tests::{NAME, files, prepare, prepared, with};
use crate::publish::{Prepared, PublishError};
use crate::release::Limits;

/// What is missing of a release whose addon `cni` has this dependency, or what is told of it.
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
fn what_source_controller_can_fetch() {
    let expected = Missing {
        chart: "cluster-addon/cni".to_owned(),
        name: "cilium".to_owned(),
        version: "~1.2".to_owned(),
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
fn what_nobody_can_fetch() {
    for (dependency, why) in [
        ("{name: x, version: 1}", "neither in charts/ nor has it a repository"),
        ("{name: x, version: 1, repository: '@stable'}", "@stable cannot be resolved"),
        ("{name: x, version: 1, repository: 'alias:stable'}", "cannot be resolved"),
        ("{name: x, version: 1, repository: 'ftp://host/'}", "cannot be resolved"),
        ("{name: x, version: 1, repository: 'oci://'}", "cannot be resolved"),
        ("{name: x, version: 1, repository: 'oci://user:geheim@host/x'}", "cannot be resolved"),
        ("{name: x, version: 1, repository: 'https://user:geheim@host/x'}", "has a user or a password"),
        ("{name: x, version: 1, repository: 'file://../nothing'}", "no chart of this release"),
        ("{name: x, version: 1, repository: 'file://../../../etc'}", "leads out of the release"),
        ("{name: x, version: 1, repository: 'file:///etc'}", "no chart of this release"),
        ("{name: ../x, version: 1, repository: 'https://host/'}", "is no name of a chart"),
    ] {
        let told = of(dependency).unwrap_err();
        let error = told.lines().find(|line| line.starts_with("error: DependencyUnresolved")).unwrap();
        assert!(error.contains(why), "{dependency}: {told}");
        assert!(!error.contains("geheim"), "{told}");
    }
}

#[test]
fn what_is_vendored_is_not_missing() {
    let path = "cluster-addon/cni/charts/cilium/Chart.yaml";
    let vendored = with(files(NAME), path, "name: cilium\nversion: 1.2.9\n");
    assert_eq!(prepare(NAME, vendored).missing, []);
}
