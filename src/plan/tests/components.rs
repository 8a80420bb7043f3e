//! Plans of releases with components.

use super::*;
use crate::api::ComponentSettings;
use crate::inputs::content::{self, Catalog, CatalogEntry, Existing};

const COMMIT: &str = "9f1c2a3b4c5d6e7f8091a2b3c4d5e6f708192a3b";
const DIGEST: &str = "sha256:3a5b7c9d1e2f4051627384950617283940516273849506172839405162738495";

const LIST: &str = "\
repositories:
- name: platform
  git:
    url: https://git.example.org/team/platform.git
    ref: {branch: main, commit: 9f1c2a3b4c5d6e7f8091a2b3c4d5e6f708192a3b}
  components:
  - {name: limits, manifests: deploy/limits, substitute: components/limits.yaml}
  - {name: ingress, chart: charts/ingress, template: components/ingress.yaml, values: components/static.yaml}
- name: monitoring
  oci:
    url: oci://registry.example.org/charts/monitoring
    digest: sha256:3a5b7c9d1e2f4051627384950617283940516273849506172839405162738495
  components:
  - {name: monitoring, chart: ., dependsOn: [cni, ingress]}
";

fn fixture() -> Fixture {
    let more = [
        ("components.yaml", LIST),
        ("components/limits.yaml", "cluster: {{ .Cluster.metadata.name | quote }}\n"),
        ("components/ingress.yaml", "name: {{ .Cluster.metadata.name }}\nport: {http: 81}\n"),
        ("components/static.yaml", "replicas: 2\nport: {http: 80, https: 443}\n"),
    ];
    Fixture {
        addons: &["cni", "limits", "ingress", "monitoring"],
        more: more.map(|(path, content)| (path.to_owned(), content)).into(),
        ..Fixture::new()
    }
}

fn settings(settings: &Value) -> ComponentSettings {
    serde_json::from_value(settings.clone()).unwrap()
}

fn spec<'p>(plan: &'p Plan, kind: &str, name: &str) -> &'p Value {
    let found = plan.objects().find(|object| object.id.kind == kind && object.id.name.starts_with(name));
    &found.unwrap_or_else(|| panic!("no {kind} {name} in {:?}", ids(plan))).value["spec"]
}

/// The names of objects of a kind.
fn names(plan: &Plan, kind: &str) -> Vec<String> {
    let of_kind = plan.objects().filter(|object| object.id.kind == kind);
    of_kind.map(|object| object.id.name.clone()).collect()
}

#[test]
fn each_form_has_its_objects() {
    let plan = fixture().plan("v1", &["one"]);
    let own = |kind: &str| -> Vec<String> {
        names(&plan, kind)
            .into_iter()
            .filter(|name| name.starts_with("demo-") && name != "demo-catalog")
            .collect()
    };
    let (git, oci, chart) = (own("GitRepository"), own("OCIRepository"), own("HelmChart"));
    assert_eq!((git.len(), oci.len(), chart.len()), (1, 1, 1), "{:?}", ids(&plan));
    assert_eq!(
        spec(&plan, "GitRepository", &git[0]),
        &json!({
            "url": "https://git.example.org/team/platform.git", "ref": {"branch": "main", "commit": COMMIT},
            "interval": "24h",
        })
    );
    assert_eq!(
        spec(&plan, "OCIRepository", &oci[0]),
        &json!({
            "url": "oci://registry.example.org/charts/monitoring", "ref": {"digest": DIGEST}, "interval": "24h",
            "layerSelector": {"mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "operation": "copy"},
        })
    );
    assert_eq!(
        spec(&plan, "HelmChart", &chart[0]),
        &json!({
            "chart": "./charts/ingress", "sourceRef": {"kind": "GitRepository", "name": git[0]},
            "reconcileStrategy": "Revision", "interval": "24h",
        })
    );
    let limits = spec(&plan, "Kustomization", "one.limits");
    assert_eq!(limits["sourceRef"], json!({"kind": "GitRepository", "name": git[0]}));
    assert_eq!(
        (&limits["path"], &limits["postBuild"]),
        (&json!("./deploy/limits"), &json!({"substitute": {"cluster": "one"}}))
    );
    let ingress = spec(&plan, "HelmRelease", "one.ingress");
    assert_eq!(ingress["chartRef"], json!({"kind": "HelmChart", "name": chart[0]}));
    assert_eq!(ingress["values"], json!({"replicas": 2, "port": {"http": 81, "https": 443}, "name": "one"}));
    let monitoring = spec(&plan, "HelmRelease", "one.monitoring");
    assert_eq!(monitoring["chartRef"], json!({"kind": "OCIRepository", "name": oci[0]}));
    assert!(
        monitoring["values"].is_null() && monitoring["commonMetadata"].is_null(),
        "the version names the content"
    );
    let needed: Vec<&str> =
        monitoring["dependsOn"].as_array().unwrap().iter().map(|of| text(of, &["name"])).collect();
    assert_eq!(needed, ["one.cni", "one.ingress"]);
    let expression = text(&monitoring["dependsOn"][1], &["readyExpr"]);
    assert!(expression.contains(&format!("dep.spec.chartRef.name == '{}'", chart[0])), "{expression}");
}

/// Two directories of one commit may have charts of one name and version: only the mark makes helm-controller upgrade.
#[test]
fn mark_of_a_chart_names_its_directory() {
    let mark = |from: &str, to: &str, template: &'static str| {
        let mut fixture = fixture();
        let list = &*LIST.replace(from, to).leak();
        for (path, content) in &mut fixture.more {
            match path.as_str() {
                "components.yaml" => *content = list,
                "components/ingress.yaml" => *content = template,
                _ => {}
            }
        }
        spec(&fixture.plan("v1", &["one"]), "HelmRelease", "one.ingress")["commonMetadata"].clone()
    };
    let before = mark("main", "main", "a: 1\n");
    assert!(before["annotations"][labels::CONTENT_DIGEST].is_string(), "{before}");
    assert_ne!(mark("charts/ingress", "charts/other", "a: 1\n"), before);
    assert_ne!(mark("commit: 9f", "commit: 8f", "a: 1\n"), before);
    assert_eq!(mark("main", "main", "a: 2\n"), before, "the values are no part of the chart");
}

#[test]
fn components_do_not_change_what_was_planned_without_them() {
    let (with, without) = (fixture(), Fixture { addons: &["cni"], ..Fixture::new() });
    let all = with.plan("v1", &["one"]);
    for object in without.plan("v1", &["one"]).objects() {
        // The digest of the release is that of all its files.
        if object.id.kind == "GitRepository" && object.id.name == "docker-demo-1-34-v1" {
            continue;
        }
        let found = all.objects().find(|found| found.id == object.id).unwrap();
        assert_eq!(found.value["spec"], object.value["spec"], "{}", object.id);
    }
}

#[test]
fn releases_with_equal_references_share_sources() {
    let fixture = fixture();
    let sources = |version: &str| -> Vec<String> {
        let plan = fixture.plan(version, &["one"]);
        let of = |kind| names(&plan, kind).into_iter().filter(|name| name.starts_with("demo-"));
        ["GitRepository", "OCIRepository", "HelmChart"].into_iter().flat_map(of).collect()
    };
    assert_eq!(sources("v1"), sources("v2"));
    let object = |version: &str| {
        let plan = fixture.plan(version, &["one"]);
        let found = plan.objects().find(|object| object.id.name == "one.limits").unwrap();
        found.value.clone()
    };
    assert_eq!(object("v1"), object("v2"), "a component that a new release does not change keeps its object");

    let mut other = self::fixture();
    other.stack.name = "other".parse().unwrap();
    let plan = other.plan("v1", &["one"]);
    assert!(names(&plan, "OCIRepository").iter().all(|name| name.starts_with("other-")), "{:?}", ids(&plan));
}

#[test]
fn credentials_are_those_of_the_address() {
    let mut fixture = fixture();
    let before = fixture.plan("v1", &["one"]);
    fixture.stack.components = settings(&json!({
        "credentials": [
            {"url": "https://git.example.org", "secretRef": {"name": "all"}},
            {"url": "https://git.example.org/team", "secretRef": {"name": "team"}, "proxySecretRef": {"name": "proxy"}, "provider": "github"},
            {"url": "oci://registry.example.org", "certSecretRef": {"name": "ca"}, "insecure": true},
            {"url": "oci://registry.example.org/other", "secretRef": {"name": "other"}},
        ],
        "verify": [
            {"url": "https://git.example.org", "secretRef": {"name": "keys"}},
            {"url": "oci://registry.example.org", "matchOIDCIdentity": [{"issuer": "^a$", "subject": "^b$"}]},
        ],
    }));
    let plan = fixture.plan("v1", &["one"]);
    let git = spec(&plan, "GitRepository", "demo-");
    let git = if git["ref"]["commit"].is_null() {
        spec(&plan, "GitRepository", &names(&plan, "GitRepository")[0])
    } else {
        git
    };
    assert_eq!(git["secretRef"], json!({"name": "team"}), "{git}");
    assert_eq!((&git["proxySecretRef"], &git["provider"]), (&json!({"name": "proxy"}), &json!("github")));
    assert_eq!(git["verify"], json!({"mode": "HEAD", "secretRef": {"name": "keys"}}));
    let oci = spec(&plan, "OCIRepository", "demo-");
    assert_eq!((&oci["certSecretRef"], &oci["insecure"]), (&json!({"name": "ca"}), &json!(true)));
    assert!(oci["secretRef"].is_null(), "that of another path");
    let identity = json!([{"issuer": "^a$", "subject": "^b$"}]);
    assert_eq!(oci["verify"], json!({"provider": "cosign", "matchOIDCIdentity": identity}));
    assert_ne!(
        names(&plan, "OCIRepository"),
        names(&before, "OCIRepository"),
        "another spec is another source"
    );
}

#[test]
fn sources_of_components_are_beside_the_stack() {
    let mut fixture = fixture();
    fixture.stack.source.namespace = "flux-system".parse().unwrap();
    fixture.stack.source.followed = None;
    let plan = fixture.plan("v1", &["one"]);
    for object in plan.objects().filter(|object| object.id.name.starts_with("demo-")) {
        assert_eq!(object.id.namespace, "stacks", "{}", object.id);
    }
    assert_eq!(spec(&plan, "HelmRelease", "one.monitoring")["chartRef"]["namespace"], Value::Null);
    assert_eq!(spec(&plan, "HelmRelease", "one.cni")["chartRef"]["namespace"], "flux-system");

    fixture.edit_cluster = |cluster| {
        cluster["metadata"]["namespace"] = json!("tenant");
        cluster["spec"]["topology"]["classRef"]["namespace"] = json!("stacks");
    };
    let plan = fixture.plan("v1", &["one"]);
    assert_eq!(spec(&plan, "HelmRelease", "one.monitoring")["chartRef"]["namespace"], "stacks");
    assert_eq!(spec(&plan, "Kustomization", "one.limits")["sourceRef"]["namespace"], "stacks");
}

#[test]
fn helm_names_of_components_do_not_depend_on_adoption() {
    let mut fixture = fixture();
    fixture.stack.flux.adopt = true;
    let plan = fixture.plan("v1", &["one"]);
    let of = |addon: &str| {
        let spec = spec(&plan, "HelmRelease", &format!("one.{addon}"));
        (text(spec, &["releaseName"]).to_owned(), text(spec, &["storageNamespace"]).to_owned())
    };
    assert_eq!(of("monitoring"), ("monitoring".to_owned(), "kube-system".to_owned()));
    assert_eq!(of("cni"), ("cluster-addon".to_owned(), "cni-helm".to_owned()));
}

#[test]
fn substitutions_are_texts() {
    let held = |content: &'static str| {
        let mut fixture = fixture();
        fixture.more[1].1 = content;
        let plan = fixture.plan("v1", &["one"]);
        let held = plan.held().first().map(|held| (held.hold.reason, held.hold.message.clone()));
        (held, plan.objects().any(|object| object.id.name == "one.limits"))
    };
    for (content, message) in [
        ("size: 3\n", "components/limits.yaml: the value of size must be a string: write it in quotes"),
        (
            "a-b: c\n",
            "components/limits.yaml: \"a-b\" is not a variable: use letters, digits and '_', but no digit at its start",
        ),
    ] {
        assert_eq!(held(content), (Some((Reason::ValuesInvalid, message.to_owned())), false));
    }
    let mut fixture = fixture();
    fixture.more[1].1 = "{}\n";
    let plan = fixture.plan("v1", &["one"]);
    assert!(spec(&plan, "Kustomization", "one.limits")["postBuild"].is_null(), "nothing is substituted");
}

/// What a ClusterStack must allow before the sources of components are planned.
#[test]
fn sources_that_cannot_be_written_are_refused() {
    let refused = |fixture: &Fixture| {
        let release = fixture.release("v1");
        let catalog = Catalog::from([(
            release.name.clone(),
            CatalogEntry::of(&release, "0".repeat(40).parse().unwrap()),
        )]);
        content::resolve(&fixture.stack, &release, &catalog, &Existing::default()).map(drop)
    };
    let mut fixture = fixture();
    assert!(refused(&fixture).is_ok());
    fixture.stack.flux.sources = SourcePlacement::PerNamespace;
    let message = refused(&fixture).unwrap_err().to_string();
    assert!(message.contains("components need spec.flux.sources: Shared"), "{message}");
    fixture.stack.flux.sources = SourcePlacement::Shared;

    let unencrypted: &'static str = LIST.replace("https://git", "http://git").leak();
    fixture.more[0].1 = unencrypted;
    let message = refused(&fixture).unwrap_err().to_string();
    assert!(message.starts_with("http://git.example.org/team/platform.git is not encrypted"), "{message}");
    let insecure = json!({"credentials": [{"url": "http://git.example.org", "insecure": true}]});
    fixture.stack.components = settings(&insecure);
    assert!(refused(&fixture).is_ok());
}
