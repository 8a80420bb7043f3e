use serde_json::{Value, json};

use super::*;
use crate::inputs::ReleaseInputs;
use crate::inputs::content::{self, Catalog, CatalogEntry, Contents};
use crate::plan;
use crate::plan::tests::fixture::Fixture;

const V1: &str = "docker-demo-1-34-v1";
const EVIL: &str = "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee";
const PINNED: &str = "1111111111111111111111111111111111111111";

/// Returns the pinned source of the release and its chart of the addon `cni`, as planned.
fn objects(fixture: &Fixture) -> [Value; 2] {
    let (release, catalog) = (fixture.release("v1"), catalog(fixture));
    let contents = content::resolve(&fixture.stack, &release, &catalog, &Existing::default()).unwrap();
    let inputs = ReleaseInputs { stack: &fixture.stack, release: &release, contents: &contents };
    let plan = plan::release(&inputs).unwrap();
    let of = |kind: &str, name: &str| {
        let mut objects = plan.objects().filter(|object| object.id.kind == kind);
        objects.find(|object| object.id.name.starts_with(name)).unwrap().value.clone()
    };
    [of("GitRepository", V1), of("HelmChart", "cni-")]
}

fn catalog(fixture: &Fixture) -> Catalog {
    let release = fixture.release("v1");
    let entry = CatalogEntry::of(&release, PINNED.parse().unwrap());
    Catalog::from([(release.name, entry)])
}

fn read(value: &Value) -> FluxObject {
    serde_json::from_value(value.clone()).unwrap()
}

/// Creates a `ClusterStackRelease` whose status has these objects as written.
fn release(namespace: &str, pin: Option<(&str, String)>, written: &[&Value]) -> ClusterStackRelease {
    let objects = written.iter().map(|value| {
        let (object, digest) = (&value["metadata"], read(value).spec_digest.to_string());
        json!({
            "kind": value["kind"], "namespace": object["namespace"], "name": object["name"], "specDigest": digest,
        })
    });
    let source = pin.map(|(revision, digest)| {
        json!({"revision": revision, "digest": digest, "path": "releases/docker-demo-1-34-v1"})
    });
    serde_json::from_value(json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStackRelease",
        "metadata": {"name": V1, "namespace": namespace},
        "spec": {"source": source},
        "status": {"objects": objects.collect::<Vec<_>>()},
    }))
    .unwrap()
}

fn resolve(fixture: &Fixture, releases: &[ClusterStackRelease], live: &[Value]) -> Contents {
    let live: Vec<FluxObject> = live.iter().map(read).collect();
    let existing = existing(&fixture.stack, releases, &live);
    content::resolve(&fixture.stack, &fixture.release("v1"), &catalog(fixture), &existing).unwrap()
}

fn with(value: &Value, pointer: &str, to: &str) -> Value {
    let mut value = value.clone();
    *value.pointer_mut(pointer).unwrap() = json!(to);
    value
}

#[test]
fn edited_chart_gets_its_planned_path_again() {
    let fixture = Fixture::new();
    let [source, chart] = objects(&fixture);
    let ours = release("stacks", None, &[&source, &chart]);
    let edited = with(&chart, "/spec/chart", "./elsewhere");
    let theirs = release("others", None, &[&edited]);
    let planned = chart["spec"]["chart"].as_str().unwrap();
    let table = [
        ("as written", vec![ours.clone()], &chart, planned),
        ("edited", vec![ours.clone()], &edited, planned),
        ("edited, before the status of the write is stored", vec![], &edited, planned),
        ("edited, and recorded in another namespace", vec![ours, theirs], &edited, planned),
        // This row proves that the object counts at all.
        ("written there", vec![release("stacks", None, &[&edited])], &edited, "./elsewhere"),
    ];
    for (what, releases, live, expected) in table {
        let contents = resolve(&fixture, &releases, &[source.clone(), live.clone()]);
        let cni = contents.addons.iter().find(|(addon, _)| addon.as_str() == "cni").unwrap().1;
        assert_eq!(cni.path, expected, "{what}");
    }
}

#[test]
fn pin_comes_from_release_not_edited_source() {
    let fixture = Fixture::new();
    let [source, _] = objects(&fixture);
    let (before, other) = ("2222222222222222222222222222222222222222", "https://evil.example.org/");
    let edited = with(&source, "/spec/ref/commit", EVIL);
    let elsewhere = Fixture { stack: fixture.stack.clone(), ..Fixture::new() };
    let mut moved = elsewhere;
    moved.stack.source.path = "theirs".to_owned();
    let [theirs, _] = objects(&moved);
    let digest = fixture.release("v1").digest.to_string();
    let pinned = |written: &[&Value]| release("stacks", Some((before, digest.clone())), written);
    let table = [
        ("the source edited", vec![pinned(&[&source])], edited.clone(), before),
        ("the edited source recorded", vec![pinned(&[&edited])], edited.clone(), before),
        (
            "the source edited, without a pin",
            vec![release("stacks", None, &[&source])],
            edited.clone(),
            PINNED,
        ),
        ("without a release", vec![], edited.clone(), PINNED),
        ("a source of another directory", vec![], with(&theirs, "/spec/ref/commit", PINNED), PINNED),
        ("the URL edited", vec![], with(&source, "/spec/url", other), PINNED),
        ("of another namespace", vec![release("others", Some((EVIL, digest.clone())), &[])], source, PINNED),
    ];
    for (what, releases, live, expected) in table {
        let contents = resolve(&fixture, &releases, &[live]);
        let pin = contents.pins.iter().find(|(release, _)| release.to_string() == V1).unwrap().1;
        assert_eq!(pin.revision.as_str(), expected, "{what}");
    }
}

#[test]
fn object_without_record_counts_with_plan_digest() {
    let fixture = Fixture::new();
    let [source, chart] = objects(&fixture);
    let (mut moved, mut earlier) = (Fixture::new(), Fixture::new());
    earlier.stack.source.access = serde_json::from_value(json!({"secretRef": {"name": "earlier"}})).unwrap();
    let mut in_directory = Fixture::new();
    in_directory.stack.source.path = "theirs".to_owned();
    moved.stack.source.url = "https://other.example.org/".to_owned();
    let table = [
        ("source", &fixture, source.clone(), true),
        ("chart", &fixture, chart.clone(), true),
        ("another interval", &fixture, with(&source, "/spec/interval", "1s"), true),
        ("another interval of the chart", &fixture, with(&chart, "/spec/interval", "1s"), true),
        ("with earlier credentials", &fixture, objects(&earlier)[0].clone(), true),
        ("another commit", &fixture, with(&source, "/spec/ref/commit", EVIL), false),
        ("another path", &fixture, with(&chart, "/spec/chart", "./elsewhere"), false),
        ("another source", &fixture, with(&chart, "/spec/sourceRef/name", "docker-demo-1-34-v2"), false),
        ("the chart of another directory", &in_directory, chart.clone(), false),
        ("another repository", &moved, source.clone(), false),
        ("no commit", &fixture, with(&source, "/spec/ref/commit", "main"), false),
        (
            "another content",
            &fixture,
            {
                let mut source = source.clone();
                source["metadata"]["annotations"][labels::CONTENT_DIGEST] = json!("sha256:0");
                source
            },
            false,
        ),
    ];
    for (what, fixture, object, expected) in table {
        assert_eq!(is_as_planned(&fixture.stack, &read(&object)), expected, "{what}");
    }
}

#[test]
fn left_pin_is_recognized_by_its_stack() {
    let fixture = Fixture::new();
    let [source, chart] = objects(&fixture);
    let (mut path, mut url, mut placed) = (Fixture::new(), Fixture::new(), Fixture::new());
    path.stack.source.path = "theirs".to_owned();
    url.stack.source.url = "https://other.example.org/".to_owned();
    placed.stack.source.namespace = "flux-system".parse().unwrap();
    let mut recreated = Fixture { stack: placed.stack.clone(), ..Fixture::new() };
    recreated.stack.uid = "another".to_owned();
    let by_hand = {
        let mut source = source.clone();
        let annotations = source["metadata"]["annotations"].as_object_mut().unwrap();
        annotations.retain(|name, _| name != labels::PLAN_DIGEST);
        source
    };
    let mut deleted = source.clone();
    deleted["metadata"]["deletionTimestamp"] = json!("2026-11-21T12:00:00Z");
    let table = [
        ("left", &fixture, source.clone(), true),
        ("made by hand", &fixture, by_hand, false),
        ("being deleted", &fixture, deleted, false),
        ("edited", &fixture, with(&source, "/spec/ref/commit", EVIL), false),
        (
            "with the name of another release",
            &fixture,
            with(&source, "/metadata/name", "docker-demo-1-34-v2"),
            false,
        ),
        ("of another directory", &fixture, objects(&path)[0].clone(), false),
        ("of another repository", &fixture, objects(&url)[0].clone(), false),
        ("copied from another namespace", &fixture, with(&source, "/metadata/namespace", "others"), false),
        ("beside the source in another namespace", &placed, objects(&placed)[0].clone(), true),
        ("there, for an earlier ClusterStack", &recreated, objects(&placed)[0].clone(), false),
        ("a chart", &fixture, chart, false),
    ];
    for (what, fixture, object, expected) in table {
        let pin = left_pin(&fixture.stack, &read(&object)).map(|(commit, _)| commit);
        assert_eq!(pin, expected.then(|| PINNED.to_owned()), "{what}");
    }
}

#[test]
fn rewritten_source_counts_with_its_new_commit() {
    let fixture = Fixture::new();
    let [source, _] = objects(&fixture);
    let mut earlier = Fixture::new();
    earlier.stack.source.access = serde_json::from_value(json!({"secretRef": {"name": "earlier"}})).unwrap();
    let [before, _] = objects(&earlier);
    // The status still has the spec of the write before.
    let releases = [release("stacks", None, &[&before])];
    let existing = existing(&fixture.stack, &releases, [read(&source)]);
    let at = "4444444444444444444444444444444444444444";
    let entry = CatalogEntry::of(&fixture.release("v1"), at.parse().unwrap());
    let catalog = Catalog::from([(fixture.release("v1").name, entry)]);
    let contents = content::resolve(&fixture.stack, &fixture.release("v1"), &catalog, &existing).unwrap();
    assert!(contents.pins.values().all(|pin| pin.revision.as_str() == PINNED), "{:?}", contents.pins);
}

/// Plans v1 for a `ClusterStack` of a namespace, which refers to a repository in the namespace `flux`.
fn referring(namespace: &str, uid: &str) -> Fixture {
    let mut fixture = Fixture::new();
    fixture.stack.namespace = namespace.parse().unwrap();
    fixture.stack.uid = uid.to_owned();
    fixture.stack.source.namespace = "flux".parse().unwrap();
    fixture
}

/// Returns an object as an earlier version wrote it: with its plain name and without a claim.
fn unclaimed(fixture: &Fixture, release: &ClusterStackRelease, object: &Value) -> Value {
    let contents = resolve(fixture, std::slice::from_ref(release), &[]);
    let mut pins = contents.pins;
    let mut pin = pins.remove(&V1.parse::<ReleaseName>().unwrap()).unwrap();
    pin.owned.claim = None;
    assert_eq!(object["kind"], "GitRepository");
    let namespace = fixture.stack.source_namespace(&fixture.stack.namespace);
    sources::pinned(&fixture.stack, namespace, &V1.parse().unwrap(), &pin).unwrap().value
}

/// The names of the sources and charts of a plan of v1.
fn names(fixture: &Fixture, releases: &[ClusterStackRelease], live: &[Value]) -> Vec<String> {
    let contents = resolve(fixture, releases, live);
    let release = fixture.release("v1");
    let inputs = ReleaseInputs { stack: &fixture.stack, release: &release, contents: &contents };
    let plan = plan::release(&inputs).unwrap();
    let sources = plan.objects().filter(|object| object.kind().is_some_and(FluxKind::is_source));
    sources.map(|object| format!("{} {}", object.id.kind, object.id.name)).collect()
}

/// The attack: a tenant has the operator write the pin of a release into the namespace of its victim, which offers the
/// release later.
#[test]
fn pin_that_was_written_for_a_tenant_is_not_taken_over() {
    let (victim, tenant) = (referring("flux", "victim"), referring("tenant", "tenant"));
    let theirs = release("tenant", Some((EVIL, victim.release("v1").digest.to_string())), &[]);
    let plain = json!({"kind": "GitRepository", "metadata": {"namespace": "flux", "name": V1}, "spec": {}});
    let recorded = release("tenant", Some((EVIL, victim.release("v1").digest.to_string())), &[&plain]);
    let claimed = |releases: &[ClusterStackRelease]| {
        let contents = resolve(&tenant, releases, &[]);
        let pin = contents.pins.values().next().unwrap();
        sources::pinned(&tenant.stack, &"flux".parse().unwrap(), &V1.parse().unwrap(), pin).unwrap().value
    };
    let by_earlier_version = unclaimed(&tenant, &recorded, &plain);
    assert_eq!(by_earlier_version["spec"]["ref"]["commit"], EVIL);
    let mut renamed = claimed(std::slice::from_ref(&theirs));
    assert_ne!(renamed["metadata"]["name"], V1);
    renamed["metadata"]["name"] = json!(V1);
    for (what, releases, live) in [
        ("by an earlier version", vec![recorded.clone()], by_earlier_version.clone()),
        ("by an earlier version, whose release is gone", vec![], by_earlier_version),
        ("with the tenant's claim", vec![recorded.clone()], claimed(std::slice::from_ref(&recorded))),
        ("with the tenant's claim and a name of its own", vec![theirs.clone()], claimed(&[theirs])),
        ("with the tenant's claim and the plain name", vec![], renamed),
    ] {
        assert_eq!(left_pin(&victim.stack, &read(&live)), None, "{what}");
        let contents = resolve(&victim, &releases, &[live]);
        assert!(contents.pins.values().all(|pin| pin.revision.as_str() == PINNED), "{what}");
    }
}

#[test]
fn two_teams_beside_one_repository_have_names_of_their_own() {
    let [a, b, beside] = [("a", "1"), ("b", "2"), ("flux", "3")].map(|(name, uid)| referring(name, uid));
    let [of_a, of_b, of_owner] = [&a, &b, &beside].map(|fixture| names(fixture, &[], &[]));
    assert!(of_a.iter().all(|name| !of_b.contains(name) && !of_owner.contains(name)), "{of_a:?}");
    assert!(of_b.iter().all(|name| !of_owner.contains(name)), "{of_b:?}");
    assert!(of_owner.contains(&format!("GitRepository {V1}")), "{of_owner:?}");
    // A name that a team has since an earlier version stays theirs.
    let plain = json!({"kind": "GitRepository", "metadata": {"namespace": "flux", "name": V1}, "spec": {}});
    let theirs = release("a", None, &[&plain]);
    assert!(!names(&beside, std::slice::from_ref(&theirs), &[]).contains(&format!("GitRepository {V1}")));
    assert!(names(&a, &[theirs], &[]).contains(&format!("GitRepository {V1}")));
}

/// An upgrade of the operator: names and specs stay, and the claim is added.
#[test]
fn objects_of_an_earlier_version_keep_names_and_specs() {
    let (a, b, beside) = (referring("a", "1"), referring("b", "2"), referring("flux", "3"));
    for (what, fixture, sharing, claim) in [
        ("beside the ClusterStack", &beside, None, Some("flux")),
        ("beside a repository of another namespace", &a, None, Some("a")),
        ("shared by two namespaces", &a, Some(&b), None),
    ] {
        let namespace = fixture.stack.namespace.as_str();
        let planned = beside.release("v1");
        let [source, chart] = objects(&beside);
        let before: Vec<Value> = [source, chart]
            .into_iter()
            .map(|mut object| {
                let metadata = object["metadata"].as_object_mut().unwrap();
                metadata["labels"].as_object_mut().unwrap().shift_remove(labels::STACK_NAMESPACE);
                object
            })
            .collect();
        let pin = Some((PINNED, planned.digest.to_string()));
        let record = |namespace: &str| release(namespace, pin.clone(), &before.iter().collect::<Vec<_>>());
        let releases: Vec<_> = [namespace]
            .into_iter()
            .chain(sharing.map(|other| other.stack.namespace.as_str()))
            .map(record)
            .collect();
        let contents = resolve(fixture, &releases, &before);
        let inputs = ReleaseInputs { stack: &fixture.stack, release: &planned, contents: &contents };
        let plan = plan::release(&inputs).unwrap();
        for before in &before {
            let found = plan.objects().find(|object| {
                object.id.kind == before["kind"] && object.id.name == before["metadata"]["name"]
            });
            let found = &found.unwrap_or_else(|| panic!("{what}: {before:#} has no plan")).value;
            assert_eq!(found["spec"], before["spec"], "{what}");
            let of = found["metadata"]["labels"].get(labels::STACK_NAMESPACE).and_then(Value::as_str);
            assert_eq!(of, claim, "{what}");
        }
    }
}
