use std::collections::BTreeMap;
use std::sync::Mutex;

use serde_json::{Value, json};

use super::*;
use crate::http::TransportError;
use crate::verify::stored::MAX_SIGNATURES;

const MANIFEST: &[u8] = include_bytes!("../../../../tests/signatures/manifest.json");
const P256: &str = include_str!("../../../../tests/signatures/p256.pub");
/// A key that made none of the signatures.
const OTHER: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE4U7XlPcbrgx9OxowOaYs3QGk1fIM
v6FuNDAZmpc+ZLpzlYShPu3VmdBwU1AOSSuGMvl86KqLdtOD6ps93SfU7A==
-----END PUBLIC KEY-----
";
const SIGNATURES: &[u8] = include_bytes!("../../../../tests/signatures/signatures.json");
const PAYLOAD: &[u8] = include_bytes!("../../../../tests/signatures/payload.json");
const REFERRERS: &[u8] = include_bytes!("../../../../tests/signatures/referrers.json");
const HOLDERS: [&[u8]; 2] = [
    include_bytes!("../../../../tests/signatures/bundle-manifest-ed25519.json"),
    include_bytes!("../../../../tests/signatures/bundle-manifest-p256.json"),
];
const BUNDLES: [&[u8]; 2] = [
    include_bytes!("../../../../tests/signatures/bundle-ed25519.json"),
    include_bytes!("../../../../tests/signatures/bundle-p256.json"),
];

/// A repository of a registry, and the requests to it.
#[derive(Default)]
struct Fake {
    manifests: BTreeMap<String, Vec<u8>>,
    blobs: BTreeMap<Digest, Vec<u8>>,
    /// Pages of the referrers API; `None` without that API.
    referrers: Option<Vec<Vec<u8>>>,
    broken: Option<fn() -> OriginError>,
    asked: Mutex<Vec<String>>,
}

impl Fake {
    fn manifest(mut self, reference: impl Into<String>, manifest: &[u8]) -> Self {
        self.manifests.insert(reference.into(), manifest.to_vec());
        self
    }

    fn blob(mut self, bytes: &[u8]) -> Self {
        self.blobs.insert(Digest::of_bytes(bytes), bytes.to_vec());
        self
    }

    /// Adds signatures in the older format.
    fn signatures(self, signatures: &[u8]) -> Self {
        let tag = simple_signing::tag(&manifest());
        self.manifest(tag, signatures).blob(PAYLOAD)
    }

    /// Adds the bundles and their manifests.
    fn bundles(self) -> Self {
        let held = HOLDERS
            .into_iter()
            .fold(self, |fake, holder| fake.manifest(Digest::of_bytes(holder).to_string(), holder));
        BUNDLES.into_iter().fold(held, Self::blob)
    }

    fn check(&self, key: &str) -> Result<Option<Verified>, OriginError> {
        self.check_with(vec![key.parse().unwrap()])
    }

    fn check_with(&self, keys: Vec<PublicKey>) -> Result<Option<Verified>, OriginError> {
        let (release, manifest) = ("openstack-demo-1-34-v2".parse().unwrap(), manifest());
        let repository = "oci://registry.example.com/csr/openstack-demo";
        let signed = Signed { release: &release, repository, manifest: &manifest };
        block_on(Verification::Keys(keys).check(self, signed))
    }

    /// Returns the reason why no signature is accepted.
    fn refuses(&self) -> String {
        match self.check(P256) {
            Err(OriginError::Unverified { place, error }) => {
                assert_eq!(place, format!("oci://registry.example.com/csr/openstack-demo@{}", manifest()));
                error
            }
            other => panic!("{other:?}"),
        }
    }

    fn note(&self, what: impl Into<String>) {
        self.asked.lock().unwrap().push(what.into());
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Repository for Fake {
    fn manifest<'a>(&'a self, reference: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, OriginError>> {
        self.note(reference);
        Box::pin(async { Ok(self.manifests.get(reference).cloned()) })
    }

    fn referrers<'a>(
        &'a self,
        manifest: &'a Digest,
        artifact_type: &'a str,
    ) -> BoxFuture<'a, Result<Option<Vec<Vec<u8>>>, OriginError>> {
        self.note(format!("referrers {manifest} {artifact_type}"));
        Box::pin(async { Ok(self.referrers.clone()) })
    }

    fn blob<'a>(&'a self, blob: &'a Blob) -> BoxFuture<'a, Result<Vec<u8>, OriginError>> {
        self.note(format!("blob {}", blob.digest));
        let missing = || OriginError::NotFound { place: "registry".to_owned(), what: "the blob".to_owned() };
        let found = self.blobs.get(&blob.digest).cloned();
        Box::pin(async move { found.ok_or_else(self.broken.unwrap_or(missing)) })
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn manifest() -> Digest {
    Digest::of_bytes(MANIFEST)
}

fn tag() -> String {
    manifest().to_string().replace(':', "-")
}

fn edited(bytes: &[u8], edit: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut value = serde_json::from_slice(bytes).unwrap();
    edit(&mut value);
    value.to_string().into_bytes()
}

#[test]
fn unverified_source_requests_no_signatures() {
    let (fake, release, manifest) = (Fake::default(), "openstack-demo-1-34-v2".parse().unwrap(), manifest());
    let signed =
        Signed { release: &release, repository: "oci://registry.example.com/a", manifest: &manifest };
    assert_eq!(block_on(Verification::default().check(&fake, signed)).unwrap(), None);
    assert_eq!(fake.asked(), [""; 0]);
}

#[test]
fn signature_under_the_tag_is_sufficient() {
    let fake = Fake::default().signatures(SIGNATURES);
    let verified = fake.check(P256).unwrap().unwrap();
    assert_eq!(verified.reference.as_deref(), Some("127.0.0.1:5881/csr/openstack-demo"));
    assert_eq!(fake.asked(), [format!("{}.sig", tag()), format!("blob {}", Digest::of_bytes(PAYLOAD))]);
}

#[test]
fn bundles_are_found_without_the_api_of_referrers() {
    let fake = Fake::default().manifest(tag(), REFERRERS).bundles();
    assert!(fake.check(P256).unwrap().is_some());
    assert_eq!(
        fake.asked()[..3],
        [format!("{}.sig", tag()), format!("referrers {} {}", manifest(), bundle::MEDIA_TYPE), tag()]
    );
}

#[test]
fn bundles_are_found_on_every_page_of_referrers() {
    let pages: [Vec<u8>; 2] = [0, 1].map(|kept| {
        edited(REFERRERS, |index| index["manifests"] = json!([index["manifests"][kept].clone()]))
    });
    let fake = Fake { referrers: Some(pages.to_vec()), ..Fake::default() }.bundles();
    assert!(fake.check(P256).unwrap().is_some());
    assert!(!fake.asked().contains(&tag()));
}

#[test]
fn unsigned_release_is_refused() {
    let expected =
        format!("it is not signed: there is no tag {}.sig and no cosign bundle that refers to it", tag());
    assert_eq!(Fake::default().refuses(), expected);
    assert_eq!(Fake { referrers: Some(Vec::new()), ..Fake::default() }.refuses(), expected);
}

#[test]
fn rejected_signatures_are_listed_with_reasons() {
    let swapped = edited(SIGNATURES, |manifest| {
        let layers = manifest["layers"].as_array_mut().unwrap();
        layers.swap(0, 1);
        layers[1]["annotations"] = json!({});
    });
    let index = edited(REFERRERS, |index| drop(index["manifests"].as_array_mut().unwrap().pop()));
    let refused = Fake::default().signatures(&swapped).manifest(tag(), &index).bundles().refuses();
    let tag = tag();
    let bundle = Digest::of_bytes(HOLDERS[0]);
    assert_eq!(
        refused.lines().collect::<Vec<_>>(),
        [
            "no signature by the key sha256:891cab868e3d3ab1fafbcdc874955f7adbd1a542774d8e8855e94c8982e4b604:",
            &format!("  {tag}.sig, layer 1: the signature does not match the key and the signed text"),
            &format!(
                "  {tag}.sig, layer 2: it is malformed: a layer without the annotation dev.cosignproject.cosign/signature"
            ),
            &format!("  bundle {bundle}: the signature does not match the key and the signed text"),
        ]
    );
}

#[test]
fn certificate_makes_a_signature_keyless() {
    let keyless = edited(SIGNATURES, |manifest| {
        let layers = manifest["layers"].as_array_mut().unwrap();
        layers.remove(0);
        layers[0]["annotations"][simple_signing::CERTIFICATE] = json!("-----BEGIN CERTIFICATE-----");
    });
    let refused = Fake::default().signatures(&keyless).refuses();
    assert!(
        refused
            .contains("layer 1: it was signed by an identity (keyless), which cannot be verified with a key"),
        "{refused}"
    );
}

#[test]
fn certificate_does_not_hide_the_key() {
    let ours: PublicKey = P256.parse().unwrap();
    let keys = vec![OTHER.parse().unwrap(), ours];
    let material = |bundle: &mut Value| bundle["verificationMaterial"] = json!({"certificate": {}});
    let bundle = edited(BUNDLES[1], material);
    let digest = Digest::of_bytes(&bundle).to_string();
    let holder = edited(HOLDERS[1], |holder| {
        holder["layers"][0]["digest"] = json!(digest);
        holder["layers"][0]["size"] = json!(bundle.len());
    });
    let held = Digest::of_bytes(&holder).to_string();
    let index = edited(REFERRERS, |index| index["manifests"][0]["digest"] = json!(held));
    let fake = Fake { referrers: Some(vec![index]), ..Fake::default() }.manifest(held, &holder).blob(&bundle);
    assert!(fake.check_with(keys).unwrap().is_some());
}

#[test]
fn invalid_signature_does_not_hide_a_valid_one() {
    let fake = Fake::default()
        .manifest(simple_signing::tag(&manifest()), b"{}")
        .manifest(tag(), REFERRERS)
        .bundles();
    assert!(fake.check(P256).unwrap().is_some());
    // The signed text is gone, but the bundle is valid.
    let mut fake = Fake::default().signatures(SIGNATURES).manifest(tag(), REFERRERS).bundles();
    fake.blobs.remove(&Digest::of_bytes(PAYLOAD));
    assert!(fake.check(P256).unwrap().is_some());
}

#[test]
fn transient_failure_is_not_a_verdict() {
    let unreachable = || {
        OriginError::Transport(TransportError::Unreachable {
            place: "registry".to_owned(),
            error: "reset".to_owned(),
        })
    };
    let mut fake = Fake { broken: Some(unreachable), ..Fake::default() }.signatures(SIGNATURES);
    fake.blobs.clear();
    assert!(matches!(fake.check(P256), Err(OriginError::Transport(TransportError::Unreachable { .. }))));
}

#[test]
fn oversized_or_undigested_signature_is_skipped() {
    for change in [json!({"size": 1_u64 << 40}), json!({"digest": "sha512:00"})] {
        let large = edited(SIGNATURES, |manifest| {
            for layer in manifest["layers"].as_array_mut().unwrap() {
                layer.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            }
        });
        let fake = Fake::default().signatures(&large);
        assert_eq!(fake.refuses().lines().count(), 3);
        assert!(!fake.asked().iter().any(|asked| asked.starts_with("blob")), "{:?}", fake.asked());
    }
}

#[test]
fn signatures_without_end_are_not_looked_at() {
    let many = edited(SIGNATURES, |manifest| {
        let wrong = manifest["layers"][1].clone();
        manifest["layers"] = vec![wrong; 1000].into();
    });
    let index = edited(REFERRERS, |index| {
        let wrong = index["manifests"][0].clone();
        index["manifests"] = vec![wrong; 1000].into();
    });
    let pages = Some(vec![index; 3]);
    let fake = Fake { referrers: pages, ..Fake::default() }.signatures(&many).bundles();
    assert!(fake.refuses().ends_with(&format!("\n  and {} more", 2 * MAX_SIGNATURES - MAX_REASONS)));
    let blobs = fake.asked().iter().filter(|asked| asked.starts_with("blob")).count();
    assert_eq!(blobs, 2 * MAX_SIGNATURES);
}

#[test]
fn non_signature_artifact_is_skipped() {
    let index = edited(REFERRERS, |index| {
        index["manifests"][0]["annotations"] = json!({bundle::PREDICATE_TYPE: "https://cyclonedx.org/bom"});
        index["manifests"][1]["artifactType"] = json!("application/spdx+json");
    });
    let fake = Fake { referrers: Some(vec![index]), ..Fake::default() }.bundles();
    assert!(fake.refuses().starts_with("it is not signed"));
}

#[test]
fn keyless_identity_is_left_to_flux() {
    let identity =
        Identity { subject: "me@example.com".to_owned(), issuer: "https://idp.example.com".to_owned() };
    let (fake, release, manifest) = (Fake::default(), "openstack-demo-1-34-v2".parse().unwrap(), manifest());
    let signed =
        Signed { release: &release, repository: "oci://registry.example.com/a", manifest: &manifest };
    let refused = block_on(Verification::Identity(identity).check(&fake, signed)).unwrap_err().to_string();
    assert!(refused.contains("only Flux can verify"), "{refused}");
    let (_, object) = refused.split_once("\n\n").unwrap();
    let object: Value = serde_yaml::from_str(object).unwrap();
    assert_eq!(object["kind"], "OCIRepository");
    assert_eq!(object["spec"]["verify"]["matchOIDCIdentity"][0]["subject"], r"^me@example\.com$");
    assert_eq!(fake.asked(), [""; 0]);
}

#[test]
fn one_of_several_keys_is_enough_and_none_is_never() {
    let ours: PublicKey = P256.parse().unwrap();
    let theirs: PublicKey = OTHER.parse().unwrap();
    for keys in [vec![ours.clone(), theirs.clone()], vec![theirs.clone(), ours.clone()]] {
        let tag = Fake::default().signatures(SIGNATURES).check_with(keys.clone()).unwrap().unwrap();
        let bundle = Fake::default().manifest(self::tag(), REFERRERS).bundles();
        let bundle = bundle.check_with(keys).unwrap().unwrap();
        assert_eq!((tag.key, bundle.key), (ours.fingerprint(), ours.fingerprint()));
    }
    for (keys, expected) in [
        (vec![theirs.clone(), theirs], "no signature by one of 2 keys"),
        (vec![], "no signature by one of 0 keys"),
    ] {
        let error = Fake::default().signatures(SIGNATURES).check_with(keys).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
