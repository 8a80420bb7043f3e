//! Releases in a real registry, in the layouts of the programs that push them.

use std::collections::BTreeMap;

use stackflux::http::{Client, Options};
use stackflux::release::{Digest, Limits};
use stackflux::source::address::{Address, OciAddress};
use stackflux::source::oci::credentials::{Credentials, Keychain};
use stackflux::source::oci::{Access, OciOrigin};
use stackflux::source::origin::{Origin as _, OriginError};
use stackflux_testbed::{Registry, Testbed};

use crate::push::{Layout, Pusher, packed};
use crate::support::{scratch, stackflux};

const V1: &str = "docker-demo-1-34-v1";

/// A release in files, one of which is large enough to arrive in many pieces.
fn release(name: &str) -> BTreeMap<String, Vec<u8>> {
    let directory = scratch(&format!("registry-{name}")).join(name);
    for chart in ["cluster-class", "cluster-addon/cni"] {
        std::fs::create_dir_all(directory.join(chart)).unwrap();
        let text = "apiVersion: v2\nname: chart\nversion: v1\n";
        std::fs::write(directory.join(chart).join("Chart.yaml"), text).unwrap();
    }
    let stages = "addonStages: {AfterControlPlaneInitialized: [{name: cni, action: apply}]}\n";
    std::fs::write(directory.join("clusteraddon.yaml"), stages).unwrap();
    let metadata = "versions: {clusterStack: v1, kubernetes: v1.34.2}\n";
    std::fs::write(directory.join("metadata.yaml"), metadata).unwrap();
    let mut files = packed(&directory);
    let bytes = (0_u32..300_000).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    files.insert("large.bin".to_owned(), bytes);
    files
}

fn pusher(registry: &Registry) -> Pusher {
    Pusher::new(registry.address(), registry.user())
}

fn address(registry: &Registry, rest: &str) -> OciAddress {
    match format!("oci://{}/{rest}", registry.address()).parse().unwrap() {
        Address::Oci(address) => address,
        other => panic!("{other}"),
    }
}

fn access(password: Option<(&str, &str)>) -> Access {
    let credentials = |(user, password): (&str, &str)| Credentials::Password {
        user: user.to_owned(),
        password: password.to_owned().into(),
    };
    let keychain = Keychain { given: password.map(credentials), ..Keychain::default() };
    let options = Options { attempts: 1, ..Options::default() };
    Access { plain_http: true, keychain, ..Access::new(Client::new(options).unwrap()) }
}

async fn open(address: &OciAddress, access: &Access) -> OciOrigin {
    OciOrigin::open(address, access, Limits::default()).await.unwrap()
}

#[tokio::test]
async fn both_layouts_are_fetched_as_pushed() {
    let registry = Testbed::shared().registry();
    let files = release(V1);
    let mut digests = Vec::new();
    for (layout, repository) in [(Layout::Scs, "layouts/scs"), (Layout::Plain, "layouts/plain")] {
        let digest = pusher(registry).push(repository, V1, &files, layout).await;
        let origin = open(&address(registry, repository), &access(None)).await;
        let name = V1.parse().unwrap();
        let fetched = origin.fetch(&name).await.unwrap();
        let came: BTreeMap<_, _> =
            fetched.files.iter().map(|(path, file)| (path.to_owned(), file.content.clone())).collect();
        assert_eq!(came, files, "{layout:?}");
        let source = format!("oci://{}/{repository}:{V1}@{digest}", registry.address());
        assert_eq!(fetched.provenance.source, source);
        assert_eq!(fetched.provenance.digest, Some(digest.to_string()));
        let described = origin.describe(&name).await.unwrap();
        assert_eq!(described.kubernetes.unwrap().to_string(), "v1.34.2");
        assert_eq!(described.addons.unwrap(), ["cni"]);
        assert_eq!(described.digest, Some(digest.to_string()));
        assert_eq!(described.date.is_some(), layout == Layout::Scs);
        digests.push(digest);
    }
    assert_ne!(digests[0], digests[1]);
}

#[tokio::test]
async fn all_tags_are_listed_and_classified() {
    let registry = Testbed::shared().registry();
    let files = BTreeMap::from([("metadata.yaml".to_owned(), b"x".to_vec())]);
    let mut expected = Vec::new();
    for number in 1..=120 {
        let name = format!("docker-demo-1-34-v{number}");
        pusher(registry).push("pages", &name, &files, Layout::Plain).await;
        expected.push(name);
    }
    pusher(registry).push("pages", "latest", &files, Layout::Plain).await;
    let origin = open(&address(registry, "pages"), &access(None)).await;
    let listing = origin.list().await.unwrap();
    let found: Vec<String> = listing.releases.iter().map(ToString::to_string).collect();
    assert_eq!(found, expected);
    assert_eq!(listing.malformed, ["latest"]);
}

#[tokio::test]
async fn pinned_digest_is_fetched() {
    let registry = Testbed::shared().registry();
    let first = release(V1);
    let pinned = pusher(registry).push("pinned", V1, &first, Layout::Plain).await;
    let mut second = first.clone();
    second.insert("metadata.yaml".to_owned(), b"changed".to_vec());
    let moved = pusher(registry).push("pinned", V1, &second, Layout::Plain).await;
    let name = V1.parse().unwrap();
    for (rest, expected) in [(format!("pinned:{V1}@{pinned}"), pinned), (format!("pinned:{V1}"), moved)] {
        let fetched = open(&address(registry, &rest), &access(None)).await.fetch(&name).await.unwrap();
        assert_eq!(fetched.provenance.digest, Some(expected.to_string()), "{rest}");
    }
    let nothing = format!("pinned:{V1}@{}", Digest::of_bytes(b"nothing"));
    let error = open(&address(registry, &nothing), &access(None)).await.fetch(&name).await.unwrap_err();
    assert!(matches!(error, OriginError::NoRelease { .. }), "{error}");
}

#[tokio::test]
async fn missing_release_is_reported() {
    let registry = Testbed::shared().registry();
    let origin = open(&address(registry, "no/such/repository"), &access(None)).await;
    assert!(matches!(origin.list().await.unwrap_err(), OriginError::NotFound { .. }));
    let error = origin.describe(&V1.parse().unwrap()).await.unwrap_err();
    assert!(matches!(error, OriginError::NoRelease { .. }), "{error}");
    assert!(error.to_string().contains(registry.address()), "{error}");
}

#[tokio::test]
async fn protected_registry_accepts_the_password() {
    let registry = Testbed::shared().protected_registry();
    pusher(registry).push("private", V1, &release(V1), Layout::Scs).await;
    let place = address(registry, "private");
    let name = V1.parse().unwrap();
    let listing = open(&place, &access(registry.user())).await.list().await.unwrap();
    assert_eq!(listing.releases.len(), 1);
    open(&place, &access(registry.user())).await.fetch(&name).await.unwrap();
    for credentials in [None, Some(("testbed", "wrong-secret"))] {
        let error = open(&place, &access(credentials)).await.fetch(&name).await.unwrap_err();
        assert!(matches!(error, OriginError::Unauthorised { .. }), "{error}");
        assert!(!format!("{error} {error:?}").contains("wrong-secret"), "{error}");
    }
}

#[tokio::test]
async fn releases_command_lists_the_registry() {
    let testbed = Testbed::shared();
    let registry = testbed.protected_registry();
    pusher(registry).push("listed", V1, &release(V1), Layout::Scs).await;
    pusher(registry).push("listed", "docker-demo-v1", &release(V1), Layout::Scs).await;
    let (user, password) = registry.user().unwrap();
    let file = scratch("registry-password").join("password");
    std::fs::write(&file, format!("{password}\n")).unwrap();
    let source = format!("oci://{}/listed", registry.address());
    let file = file.display().to_string();
    let mut arguments = vec!["releases", &source, "--username", user, "--password-file", &file];
    let run = stackflux(&arguments);
    assert_eq!(run.code, 2, "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("does not speak TLS"), "plain HTTP has to be asked for: {}", run.stderr);
    arguments.push("--plain-http");
    let run = stackflux(&arguments);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains(V1) && run.stdout.contains("v1.34.2"), "{}", run.stdout);
    assert!(run.stderr.contains("1 invalid release name; --all shows more"), "{}", run.stderr);
    assert!(!format!("{}{}", run.stdout, run.stderr).contains(password));
}
