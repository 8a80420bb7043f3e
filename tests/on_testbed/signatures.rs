//! Releases in a real registry that cosign signed, in both of its formats: `tests/signatures`.

use std::path::{Path, PathBuf};

use stackflux::http::{Client, Options};
use stackflux::release::Limits;
use stackflux::source::address::Address;
use stackflux::source::oci::signatures::Verification;
use stackflux::source::oci::{Access, OciOrigin};
use stackflux::source::origin::{Fetched, Origin as _, OriginError};
use stackflux_testbed::{Registry, Testbed};

use crate::push::{MANIFEST, Pusher};
use crate::support::{scratch, stackflux};

const NAME: &str = "openstack-demo-1-34-v2";
const METADATA: &[u8] = b"versions: {clusterStack: v2, kubernetes: v1.34.2}\n";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const KEY: &str = "sha256:891cab868e3d3ab1fafbcdc874955f7adbd1a542774d8e8855e94c8982e4b604";
const DIGEST: &str = "sha256:cc59cd3f6c1e2ee2a155ac562f3cf8a04003b9b27f868df14d603b17636baf3a";

/// A file that cosign wrote.
fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/signatures").join(name)
}

fn recorded(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap()
}

/// A repository with the signed release.
struct Site {
    registry: &'static Registry,
    pusher: Pusher,
    repository: &'static str,
}

impl Site {
    async fn push(repository: &'static str) -> Self {
        let registry = Testbed::shared().registry();
        let site = Self { registry, pusher: Pusher::new(registry.address(), None), repository };
        site.pusher.blob(repository, b"{}").await;
        site.pusher.blob(repository, METADATA).await;
        site.pusher.document(repository, NAME, MANIFEST, &recorded("manifest.json")).await;
        site
    }

    async fn blobs(&self, names: &[&str]) {
        for name in names {
            self.pusher.blob(self.repository, &recorded(name)).await;
        }
    }

    /// Adds the signatures of the older format.
    async fn with_signatures(self) -> Self {
        self.blobs(&["signatures-config.json", "payload.json"]).await;
        let tag = format!("{}.sig", DIGEST.replace(':', "-"));
        self.pusher.document(self.repository, &tag, MANIFEST, &recorded("signatures.json")).await;
        self
    }

    /// Adds the bundles of the newer format; this registry has no API to find them.
    async fn with_bundles(self) -> Self {
        for key in ["ed25519", "p256"] {
            self.blobs(&[&format!("bundle-{key}.json")]).await;
            let holder = recorded(&format!("bundle-manifest-{key}.json"));
            let digest = stackflux::release::Digest::of_bytes(&holder).to_string();
            self.pusher.document(self.repository, &digest, MANIFEST, &holder).await;
        }
        let tag = DIGEST.replace(':', "-");
        self.pusher.document(self.repository, &tag, INDEX, &recorded("referrers.json")).await;
        self
    }

    fn source(&self) -> String {
        format!("oci://{}/{}", self.registry.address(), self.repository)
    }

    async fn fetch(&self, verification: Verification) -> Result<Fetched, OriginError> {
        let Address::Oci(address) = self.source().parse().unwrap() else { unreachable!() };
        let client = Client::new(Options { attempts: 1, ..Options::default() }).unwrap();
        let access = Access { plain_http: true, verification, ..Access::new(client) };
        let origin = OciOrigin::open(&address, &access, Limits::default()).await.unwrap();
        let listing = origin.list().await.unwrap();
        assert_eq!(
            (listing.releases.len(), listing.malformed),
            (1, Vec::new()),
            "signatures are no releases"
        );
        origin.fetch(&NAME.parse().unwrap()).await
    }
}

fn key() -> Verification {
    Verification::Keys(vec![String::from_utf8(recorded("p256.pub")).unwrap().parse().unwrap()])
}

#[tokio::test]
async fn release_is_verified_in_both_formats() {
    for (site, expected) in [
        (
            Site::push("signed/tag").await.with_signatures().await,
            format!("cosign, key {KEY}, signed as 127.0.0.1:5881/csr/openstack-demo"),
        ),
        (Site::push("signed/bundle").await.with_bundles().await, format!("cosign, key {KEY}")),
    ] {
        let fetched = site.fetch(key()).await.unwrap();
        assert_eq!(fetched.provenance.verified, Some(expected));
        assert_eq!(fetched.provenance.digest.as_deref(), Some(DIGEST));
        assert_eq!(fetched.files.get("metadata.yaml").unwrap().content, METADATA);
        assert_eq!(site.fetch(Verification::Nothing).await.unwrap().provenance.verified, None);
    }
}

#[tokio::test]
async fn release_signed_by_other_key_is_refused() {
    let refused = async |site: &Site| match site.fetch(key()).await.unwrap_err() {
        OriginError::Unverified { place, error } => {
            assert_eq!(place, format!("{}@{DIGEST}", site.source()));
            error
        }
        other => panic!("{other}"),
    };
    let site = Site::push("signed/not").await;
    assert!(refused(&site).await.starts_with("it is not signed: "));
    // The same release with another file: its signatures are of another manifest.
    let site = site.with_signatures().await.with_bundles().await;
    assert!(site.fetch(key()).await.is_ok());
    let manifest = String::from_utf8(recorded("manifest.json")).unwrap();
    let changed = manifest.replace("\"metadata.yaml\"", "\"csctl.yaml\"");
    assert_ne!(changed, manifest);
    site.pusher.document(site.repository, NAME, MANIFEST, changed.as_bytes()).await;
    let error = site.fetch(key()).await.unwrap_err().to_string();
    assert!(error.contains("it is not signed: "), "{error}");
}

#[tokio::test]
async fn command_reads_only_verified_releases() {
    let site = Site::push("signed/command").await.with_bundles().await;
    let (source, key) = (site.source(), path("p256.pub").display().to_string());
    let run = stackflux(&["releases", &source, "--plain-http", "--key", &key]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains(NAME) && run.stdout.contains("v1.34.2"), "{}", run.stdout);

    let other = path("ed25519.pub").display().to_string();
    let run = stackflux(&["releases", &source, "--plain-http", "--key", &other]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("this is an Ed25519 key"), "{}", run.stderr);

    let unsigned = Site::push("signed/command-not").await.source();
    let run = stackflux(&["releases", &unsigned, "--plain-http", "--key", &key]);
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("it is not signed"), "{}{}", run.stdout, run.stderr);

    let identity =
        ["--certificate-identity", "me@example.com", "--certificate-oidc-issuer", "https://idp.example.com"];
    let run = stackflux(&[&["releases", &source, "--plain-http"], &identity[..]].concat());
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("only Flux can verify"), "{}{}", run.stdout, run.stderr);

    let directory = scratch("signatures").display().to_string();
    let run = stackflux(&["releases", &directory, "--key", &key]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("only releases in a registry are signed with cosign"), "{}", run.stderr);
}
