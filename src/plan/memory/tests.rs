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
        ("beside the source in another namespace", &placed, objects(&placed)[0].clone(), false),
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

#[test]
fn releases_beside_one_repository_share_the_commit() {
    let mut here = Fixture::new();
    here.stack.source.namespace = "flux".parse().unwrap();
    let (mut path, mut url) = (here.stack.clone(), here.stack.clone());
    path.source.path = "theirs".to_owned();
    url.source.url = "https://other.example.org/".to_owned();
    let source = with(&objects(&here)[0], "/metadata/namespace", "flux");
    let digest = here.release("v1").digest.to_string();
    let release = |namespace: &str, commit: &str, has: &[&Value]| {
        release(namespace, Some((commit, digest.clone())), has)
    };
    let table = [
        ("of another namespace", &here.stack, release("others", PINNED, &[&source]), true),
        ("without the source", &here.stack, release("others", PINNED, &[]), false),
        ("at another commit than its source", &here.stack, release("others", EVIL, &[&source]), false),
        ("of our namespace", &here.stack, release("stacks", PINNED, &[&source]), false),
        ("of another directory", &path, release("others", PINNED, &[&source]), false),
        ("of another repository", &url, release("others", PINNED, &[&source]), false),
        ("beside our own repository", &Fixture::new().stack, release("others", PINNED, &[&source]), false),
    ];
    for (what, stack, other, expected) in table {
        let pin = shared_pin(stack, &read(&source), [&other]);
        assert_eq!(pin, expected.then(|| (PINNED.to_owned(), digest.clone())), "{what}");
    }
}
