use super::*;

/// The objects as `kind namespace/name`.
fn names(objects: &[Value]) -> Vec<String> {
    let text = |object: &Value, pointer: &str| {
        object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let name = |object: &Value| {
        format!(
            "{} {}/{}",
            text(object, "/kind"),
            text(object, "/metadata/namespace"),
            text(object, "/metadata/name")
        )
    };
    objects.iter().map(name).collect()
}

fn image(objects: &[Value]) -> &Value {
    let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
    &deployment["spec"]["template"]["spec"]["containers"][0]["image"]
}

#[test]
fn all_files_of_the_base_are_embedded() {
    let found: Kustomization = serde_yaml::from_str(KUSTOMIZATION).unwrap();
    let embedded = std::iter::once("../../crds").chain(BASE.map(|(name, _)| name));
    assert_eq!(found.resources, embedded.collect::<Vec<_>>());
    assert_eq!(found.namespace, FLUX_NAMESPACE);
}

#[test]
fn every_tag_is_this_version() {
    let found: Kustomization = serde_yaml::from_str(KUSTOMIZATION).unwrap();
    assert_eq!((found.images[0]["newName"].as_str(), found.images[0]["newTag"].as_str()), (IMAGE, VERSION));
    for (file, pointers) in [
        (include_str!("../../flux/sync.yaml"), &["/spec/images/0/newTag"][..]),
        (include_str!("../../flux/source-oci.yaml"), &["/spec/ref/tag"]),
        (include_str!("../../flux/chart.yaml"), &["/spec/ref/tag"]),
        (include_str!("../../charts/stackflux/Chart.yaml"), &["/version", "/appVersion"]),
    ] {
        let object = &read(file).unwrap()[0];
        for pointer in pointers {
            assert_eq!(object.pointer(pointer).unwrap(), VERSION, "{object:#}");
        }
    }
}

#[test]
fn image_without_tag_gets_this_version() {
    for (given, expected) in [
        ("stackflux", format!("stackflux:{VERSION}")),
        ("127.0.0.1:5000/team/stackflux", format!("127.0.0.1:5000/team/stackflux:{VERSION}")),
        ("registry.example.org/stackflux:main", "registry.example.org/stackflux:main".to_owned()),
        ("registry.example.org/stackflux@sha256:12", "registry.example.org/stackflux@sha256:12".to_owned()),
    ] {
        assert_eq!(*image(&objects(FLUX_NAMESPACE, given).unwrap()), expected);
    }
}

#[test]
fn other_namespace_has_what_flux_needs_there() {
    let (base, own) = (objects(FLUX_NAMESPACE, IMAGE).unwrap(), objects("platform", IMAGE).unwrap());
    let added = [
        "Namespace /platform",
        "ResourceQuota platform/critical-pods",
        "Role flux-system/stackflux-leases",
        "RoleBinding flux-system/stackflux-leases",
        "NetworkPolicy flux-system/allow-stackflux",
        "NetworkPolicy platform/stackflux",
    ];
    let (before, mut after) = (names(&base), names(&own));
    for name in added {
        assert!(after.iter().any(|found| found == name), "{after:#?} lacks {name}");
        after.retain(|found| found != name);
    }
    let moved: Vec<_> = before.iter().map(|name| name.replace(" flux-system/", " platform/")).collect();
    assert_eq!(after, moved);
    let text = serde_json::to_string(&own).unwrap();
    assert!(!text.contains(&format!("\"{OWN_NAMESPACE}\"")), "{text}");
}
