use super::*;
use crate::error::{Class, Classify as _};
use crate::http::TransportError;
use crate::release::File;

const NAME: &str = "openstack-scs-1-34-v2";

fn files(small: &[(&str, &str)]) -> Files {
    small.iter().fold(Files::default(), |mut files, (path, content)| {
        files.insert(path, File { content: (*content).into(), executable: false }).unwrap();
        files
    })
}

fn describe(small: &[(&str, &str)]) -> Result<Description, String> {
    Description::of(&NAME.parse().unwrap(), &files(small)).map_err(|findings| findings.to_string())
}

#[test]
fn malformed_names_are_kept_apart() {
    let listing =
        Listing::of(["openstack-scs-1-34-v10", "latest", NAME, "openstack-scs-v5", "latest", "", "../x"]);
    let names: Vec<String> = listing.releases.iter().map(ToString::to_string).collect();
    assert_eq!(names, [NAME, "openstack-scs-1-34-v10"]);
    assert_eq!(listing.malformed, ["", "../x", "latest", "openstack-scs-v5"]);
}

#[test]
fn description_has_the_small_files() {
    let metadata = ("metadata.yaml", "versions: {clusterStack: v2, kubernetes: v1.34.7}\n");
    let stages = "addonStages:
  AfterControlPlaneInitialized: [{name: cni, action: apply}, {name: ccm, action: apply}]
  BeforeClusterUpgrade: [{name: ccm, action: apply}, {name: old, action: delete}]
";
    let described = describe(&[metadata, ("clusteraddon.yaml", stages)]).unwrap();
    assert_eq!(described.kubernetes.map(|version| version.to_string()).as_deref(), Some("v1.34.7"));
    assert_eq!(described.addons.unwrap(), ["cni", "ccm"]);
    let single = describe(&[metadata]).unwrap();
    assert_eq!(single.addons.unwrap(), ["cluster-addon"]);
    assert_eq!(describe(&[]).unwrap().kubernetes, None, "it is for a place to say that a file is missing");
}

#[test]
fn invalid_description_is_refused() {
    let other = describe(&[("metadata.yaml", "versions: {clusterStack: v2, kubernetes: v1.33.7}\n")]);
    assert!(other.unwrap_err().contains("MetadataMismatch"));
    let bomb = format!("a: &a [x]\nb: [{}]\n", "*a, ".repeat(2_000));
    assert!(describe(&[("clusteraddon.yaml", &bomb)]).unwrap_err().contains("YamlBudgetExceeded"));
    assert!(describe(&[("metadata.yaml", "\u{0}")]).is_err());
}

#[test]
fn transient_errors_are_recognized() {
    let refused = |status| {
        let (place, message) = ("oci://host/x".to_owned(), String::new());
        OriginError::from(TransportError::Status {
            place,
            status,
            message,
            retry_after: None,
            challenges: Vec::new(),
        })
    };
    for (status, class) in [
        (500, Class::Transient),
        (503, Class::Transient),
        (429, Class::Transient),
        (404, Class::Terminal),
        (400, Class::Terminal),
    ] {
        assert_eq!(refused(status).class(), class, "{status}");
    }
    assert_eq!(refused(500).to_string(), "oci://host/x answered 500");
}
