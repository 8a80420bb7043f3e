//! The grammar of names: what is a release, what is its class, which of two is newer.

use super::*;

fn release(name: &str) -> ReleaseName {
    name.parse().unwrap()
}

#[test]
fn stable_release_and_class_names_agree() {
    let name = release("openstack-scs2-1-34-v2");
    assert_eq!((name.provider(), name.stack(), name.kubernetes_minor()), ("openstack", "scs2", (1, 34)));
    assert_eq!(name.version().channel(), "stable");
    assert_eq!(name.class_name(), "openstack-scs2-1-34-v2");
    assert_eq!(ReleaseName::from_class_name(&name.class_name()).unwrap(), name);
}

#[test]
fn channel_release_and_class_names_are_read() {
    let name = release("docker-scs-1-30-v0-sha-rwvgrna");
    assert_eq!(name.version().channel(), "sha");
    assert_eq!(name.class_name(), "docker-scs-1-30-v0-sha.rwvgrna");
    assert_eq!(ReleaseName::from_class_name("docker-scs-1-30-v0-sha.rwvgrna").unwrap(), name);
    assert!(ReleaseName::from_class_name("docker-scs-1-30-v0-sha-rwvgrna").is_err());
}

#[test]
fn custom_channel_accepts_any_suffix_stable_none() {
    for (version, channel, expected) in [
        ("v0-sha-rwvgrna", "custom", true),
        ("v0-custom-0", "custom", true),
        ("v0-beta-1", "custom", true),
        ("v1", "custom", false),
        ("v1", "stable", true),
        ("v0-sha-rwvgrna", "stable", false),
        ("v0-sha-rwvgrna", "sha", true),
        ("v0-sha-rwvgrna", "beta", false),
    ] {
        let name = release(&format!("docker-scs-1-30-{version}"));
        assert_eq!(name.version().is_of_channel(channel), expected, "{version} in {channel}");
    }
}

#[test]
fn malformed_names_of_real_repositories_are_refused() {
    for name in [
        "openstack-scs-v5",
        "openstack-scs-1-29-v2-test",
        "openstack-scs-1-29-2",
        "openstack-scs-1-x-v2",
        "openstack-scs-01-29-v2",
        "openstack-scs-1-29-v02",
        "openstack-scs-1-29-v",
        "openstack-scs-1-29-v+1",
        "Openstack-scs-1-29-v1",
        "-scs-1-29-v1",
        "openstack-scs-1-29-v1-stable-1",
        "openstack-scs-1-29-v99999999999999999999",
        "",
    ] {
        assert!(name.parse::<ReleaseName>().is_err(), "{name:?} was taken for a release name");
    }
}

#[test]
fn versions_compare_within_their_channel_as_numbers() {
    let ordered = ["a-b-1-9-v1", "a-b-1-10-v1", "a-b-1-10-v2", "a-b-1-10-v10"];
    for pair in ordered.windows(2) {
        assert!(release(pair[0]) < release(pair[1]), "{pair:?}");
    }
    assert!(release("a-b-1-10-v0-beta-9") < release("a-b-1-10-v0-beta-10"));
    assert!(release("a-b-1-10-v0-sha-aaa") < release("a-b-1-10-v0-sha-aab"));
    assert!(release("a-b-1-10-v0-sha-99") < release("a-b-1-10-v0-sha-1a"));
}

#[test]
fn long_names_stay_distinct_short_ones_unchanged() {
    let (one, two) = (format!("{}.cni", "c".repeat(60)), format!("{}.csi", "c".repeat(60)));
    let (one, two) = (ObjectName::bounded(&one).unwrap(), ObjectName::bounded(&two).unwrap());
    assert_ne!(one, two);
    assert!(one.as_str().len() <= MAX_OBJECT_NAME);
    assert_eq!(ObjectName::bounded("c1.cni").unwrap().as_str(), "c1.cni");
    assert!(ObjectName::bounded("C1.cni").is_err());
}

#[test]
fn names_fit_into_helm_release_names() {
    assert!("a".repeat(53).parse::<AddonName>().is_ok());
    assert!("a".repeat(54).parse::<AddonName>().is_err());
    let release = |stack: usize| format!("docker-{}-1-34-v1", "s".repeat(stack)).parse::<ReleaseName>();
    assert_eq!(release(41).unwrap().prefix().len(), 53);
    assert!(release(42).unwrap_err().to_string().contains("53 characters"));
}

#[test]
fn kubernetes_versions_need_their_v() {
    assert_eq!("v1.34.2".parse::<KubernetesVersion>().unwrap().minor(), (1, 34));
    assert!("1.34.2".parse::<KubernetesVersion>().is_err());
    assert!("v1.34".parse::<KubernetesVersion>().is_err());
}
