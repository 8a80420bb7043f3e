use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;
use crate::error::Classify as _;
use crate::publish::tests::{NAME, fetched, files, prepare, prepared, vendored, with};
use crate::release::Reason;

/// Returns a packed chart with a file of this path and content.
pub(crate) fn packed(path: &str, content: &str) -> Vec<u8> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let mut header = tar::Header::new_ustar();
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    // `set_path` would refuse what an attacker writes.
    header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
    header.set_cksum();
    archive.append(&header, content.as_bytes()).unwrap();
    archive.into_inner().unwrap().finish().unwrap()
}

#[test]
fn release_with_errors_is_refused() {
    let broken = with(files(NAME), "cluster-addon/policies/x.yaml", "version: << .ClusterAddonVersion >>\n");
    let error = Prepared::of(fetched(NAME, broken), &Limits::default()).unwrap_err();
    assert_eq!(error.reason(), "PlaceholderLeft");
    let other = Prepared::of(fetched("openstack-demo-1-33-v2", files(NAME)), &Limits::default()).unwrap_err();
    assert_eq!(other.reason(), "MetadataMismatch");
}

#[test]
fn signed_content_must_be_of_the_release() {
    let (chart, metadata) = ("cluster-class/Chart.yaml", "metadata.yaml");
    let replaced = |files: Files, path: &str, content: &str| {
        let others = files.iter().filter(|(other, _)| *other != path);
        let files = others.fold(Files::default(), |mut files, (path, file)| {
            files.insert(path, file.clone()).unwrap();
            files
        });
        with(files, path, content)
    };
    // As in source form: the chart has version `v1` in every release.
    let own = replaced(files(NAME), chart, "name: openstack-demo-1-34-cluster-class\nversion: v1\n");
    for (files, is_refused) in [
        (own.clone(), false),
        (replaced(own.clone(), chart, "name: docker-demo-1-34-cluster-class\nversion: v2\n"), true),
        (replaced(own.clone(), chart, "name: openstack-demo-1-33-cluster-class\nversion: v2\n"), true),
        (replaced(own, metadata, "versions: {kubernetes: v1.34.2}\n"), true),
        (files(NAME), true),
    ] {
        assert!(Prepared::of(fetched(NAME, files.clone()), &Limits::default()).is_ok(), "unsigned");
        for (verified, is_pinned) in [(Some("cosign, key".to_owned()), false), (None, true)] {
            let mut fetched = fetched(NAME, files.clone());
            (fetched.provenance.verified, fetched.provenance.is_pinned) = (verified, is_pinned);
            let reason = Prepared::of(fetched, &Limits::default()).map_err(|error| error.reason());
            assert_eq!(reason.err(), is_refused.then_some("MetadataMismatch"));
        }
    }
}

#[test]
fn links_are_refused() {
    let mut linked = files(NAME);
    linked.insert_link("cluster-addon/policies/passwd", "/etc/passwd").unwrap();
    let error = Prepared::of(fetched(NAME, linked), &Limits::default()).unwrap_err();
    assert_eq!(error.reason(), "LinkNotAllowed");
}

#[test]
fn fetched_chart_is_stored_in_its_parent() {
    let prepared = prepared(NAME);
    assert!(prepared.warnings.iter().any(|finding| finding.reason == Reason::DependencyNotVendored));
    let before = prepared.release.digest;
    let archive = packed("cilium/Chart.yaml", "name: cilium\nversion: 1.2.3\n");
    let chart = vendored(&prepared, "1.2.3", &archive);
    let complete = prepared.with(vec![chart], &Limits::default()).unwrap();
    assert_eq!(complete.files.get("cluster-addon/cni/charts/cilium-1.2.3.tgz").unwrap().content, archive);
    assert_eq!(
        complete.release.addons[0].chart().unwrap().dependencies[0].vendored.as_deref(),
        Some("1.2.3")
    );
    assert!(
        complete.release.digest != before
            && complete.missing.len() == 1
            && complete.warnings.iter().next().is_none()
    );
}

#[test]
fn invalid_fetched_chart_is_refused() {
    for (content, reason) in [
        (b"no archive".to_vec(), "InvalidArchive"),
        (packed("cilium/../../x", "x"), "InvalidPath"),
        (packed("other/Chart.yaml", "name: other\nversion: 1.2.3\n"), "ChartMismatch"),
        (packed("cilium/Chart.yaml", "name: cilium\nversion: 1.2.4\n"), "ChartMismatch"),
    ] {
        let prepared = prepared(NAME);
        let chart = vendored(&prepared, "1.2.3", &content);
        let error = prepared.with(vec![chart], &Limits::default()).unwrap_err();
        assert_eq!(error.reason(), reason, "{error}");
    }
}

#[test]
fn two_versions_of_a_chart_are_stored() {
    let chart = |version: &str| packed("cilium/Chart.yaml", &format!("name: cilium\nversion: {version}\n"));
    let dependency = |alias: &str, version: &str| {
        format!(
            "{{name: cilium, alias: {alias}, version: {version}, repository: 'https://charts.example.com'}}"
        )
    };
    let mut all = Files::default();
    for (path, file) in files(NAME).iter().filter(|(path, _)| *path != "cluster-addon/cni/Chart.yaml") {
        all.insert(path, file.clone()).unwrap();
    }
    let both = format!("{}, {}", dependency("a", "~1.2"), dependency("b", "~1.10"));
    let both = format!("name: cni\nversion: v1\ndependencies: [{both}]\n");
    let prepared = prepare(NAME, with(all, "cluster-addon/cni/Chart.yaml", &both));
    let charts = ["1.2.3", "1.10.0"].map(|version| vendored(&prepared, version, &chart(version)));
    let complete = prepared.with(charts.to_vec(), &Limits::default()).unwrap();
    let dependencies = &complete.release.addons[0].chart().unwrap().dependencies;
    let versions: Vec<_> = dependencies.iter().map(|one| one.vendored.as_deref().unwrap()).collect();
    assert_eq!(versions, ["1.2.3", "1.10.0"], "each in the version of its range");
}

#[test]
fn invalid_version_matches_no_chart() {
    for content in [
        packed("other/Chart.yaml", "name: other\nversion: 1.0.0\n"),
        packed("cilium/Chart.yaml", "name: cilium\nversion: latest\n"),
    ] {
        let prepared = prepared(NAME);
        let chart = vendored(&prepared, "latest", &content);
        let error = prepared.with(vec![chart], &Limits::default()).unwrap_err();
        assert_eq!(error.reason(), "ChartMismatch", "{error}");
    }
}

#[test]
fn invalid_git_path_error_names_the_archive() {
    for path in ["cilium/.GIT/config", "cilium/git~1/x"] {
        let findings =
            crate::release::archive::unpack(&packed(path, "x"), "a.tgz", &Limits::default()).unwrap_err();
        let text = findings.to_string();
        assert!(text.contains("InvalidPath") && text.contains(path) && text.contains("`.git`"), "{text}");
    }
}
