use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

use super::identity::Identity;
use super::*;

mod hostile;

const MANIFEST: &[u8] = include_bytes!("../../tests/signatures/manifest.json");
const P256: &str = include_str!("../../tests/signatures/p256.pub");
const ED25519: &str = include_str!("../../tests/signatures/ed25519.pub");
const SIGNATURES: &str = include_str!("../../tests/signatures/signatures.json");
const PAYLOAD: &[u8] = include_bytes!("../../tests/signatures/payload.json");
const BUNDLE_P256: &[u8] = include_bytes!("../../tests/signatures/bundle-p256.json");
const BUNDLE_ED25519: &[u8] = include_bytes!("../../tests/signatures/bundle-ed25519.json");
const ATTESTATION: &[u8] = include_bytes!("../../tests/signatures/attestation.json");

fn manifest() -> Digest {
    Digest::of_bytes(MANIFEST)
}

fn other() -> Digest {
    Digest::of_bytes(b"another manifest")
}

fn key(pem: &str) -> PublicKey {
    pem.parse().unwrap()
}

/// Returns the signature in the n-th layer of the manifest under cosign's tag.
fn signature(layer: usize) -> String {
    let signatures: Value = serde_json::from_str(SIGNATURES).unwrap();
    signatures["layers"][layer]["annotations"][simple_signing::SIGNATURE].as_str().unwrap().to_owned()
}

/// A key of the test, which signs texts that cosign would not.
struct Signer(EcdsaKeyPair);

impl Signer {
    fn new() -> Self {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        Self(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pair.as_ref(), &random).unwrap())
    }

    fn key(&self) -> PublicKey {
        key(&pem(&[&der(P256)[..26], self.0.public_key().as_ref()].concat()))
    }

    fn sign(&self, message: &[u8]) -> String {
        STANDARD.encode(self.0.sign(&SystemRandom::new(), message).unwrap())
    }

    /// Returns a signed bundle with this payload in its envelope.
    fn bundle(&self, payload_type: &str, payload: &[u8]) -> Value {
        let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len());
        let signed = [head.as_bytes(), payload].concat();
        json!({
            "mediaType": bundle::MEDIA_TYPE,
            "verificationMaterial": {"publicKey": {"hint": ""}},
            "dsseEnvelope": {
                "payload": STANDARD.encode(payload),
                "payloadType": payload_type,
                "signatures": [{"sig": self.sign(&signed)}],
            },
        })
    }

    /// Checks a bundle whose usual statement `change` has modified.
    fn states(&self, change: impl FnOnce(&mut Value)) -> Result<Verified, Unverified> {
        let mut statement = json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{"digest": {"sha256": hex(&manifest())}}],
            "predicateType": bundle::PREDICATE,
            "predicate": {},
        });
        change(&mut statement);
        self.check(&self.bundle("application/vnd.in-toto+json", statement.to_string().as_bytes()))
    }

    fn check(&self, bundle: &Value) -> Result<Verified, Unverified> {
        bundle::check(&self.key(), &manifest(), bundle.to_string().as_bytes())
    }

    /// Checks a signed text that `change` has modified.
    fn says(&self, change: impl FnOnce(&mut Value)) -> Result<Verified, Unverified> {
        let mut payload: Value = serde_json::from_slice(PAYLOAD).unwrap();
        change(&mut payload);
        let payload = payload.to_string();
        simple_signing::check(&self.key(), &manifest(), payload.as_bytes(), &self.sign(payload.as_bytes()))
    }
}

fn pem(der: &[u8]) -> String {
    format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", STANDARD.encode(der))
}

fn der(pem: &str) -> Vec<u8> {
    let body: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    STANDARD.decode(body).unwrap()
}

fn hex(digest: &Digest) -> String {
    digest.to_string().trim_start_matches("sha256:").to_owned()
}

fn malformed(result: Result<Verified, Unverified>) -> String {
    match result {
        Err(Unverified::Malformed(what)) => what,
        other => panic!("{other:?}"),
    }
}

#[test]
fn cosign_signature_is_verified() {
    let key = key(P256);
    let simple = simple_signing::check(&key, &manifest(), PAYLOAD, &signature(0)).unwrap();
    let reference = Some("127.0.0.1:5881/csr/openstack-demo".to_owned());
    assert_eq!(simple, Verified { key: key.fingerprint(), reference });
    let bundle = bundle::check(&key, &manifest(), BUNDLE_P256).unwrap();
    assert_eq!(bundle, Verified { key: key.fingerprint(), reference: None });
    let hex = "cc59cd3f6c1e2ee2a155ac562f3cf8a04003b9b27f868df14d603b17636baf3a";
    assert_eq!(simple_signing::tag(&manifest()), format!("sha256-{hex}.sig"));
}

#[test]
fn fingerprint_is_that_of_openssl() {
    let verified = bundle::check(&key(P256), &manifest(), BUNDLE_P256).unwrap();
    let expected = "cosign, key sha256:891cab868e3d3ab1fafbcdc874955f7adbd1a542774d8e8855e94c8982e4b604";
    assert_eq!(verified.to_string(), expected);
    let verified = simple_signing::check(&key(P256), &manifest(), PAYLOAD, &signature(0)).unwrap();
    assert_eq!(verified.to_string(), format!("{expected}, signed as 127.0.0.1:5881/csr/openstack-demo"));
}

#[test]
fn signature_of_another_manifest_or_key_is_rejected() {
    let (ours, theirs) = (key(P256), Signer::new().key());
    let simple =
        |key, manifest: &Digest, layer| simple_signing::check(key, manifest, PAYLOAD, &signature(layer));
    assert_eq!(simple(&ours, &other(), 0), Err(Unverified::OtherDigest(manifest().to_string())));
    assert_eq!(simple(&ours, &manifest(), 1), Err(Unverified::WrongSignature));
    assert_eq!(simple(&theirs, &manifest(), 0), Err(Unverified::WrongSignature));
    let bundle = bundle::check(&ours, &other(), BUNDLE_P256);
    assert_eq!(bundle, Err(Unverified::OtherDigest(manifest().to_string())));
    assert_eq!(bundle::check(&theirs, &manifest(), BUNDLE_P256), Err(Unverified::WrongSignature));
    assert_eq!(bundle::check(&ours, &manifest(), BUNDLE_ED25519), Err(Unverified::WrongSignature));
}

#[test]
fn changed_bit_of_signed_text_is_detected() {
    for position in 0..PAYLOAD.len() {
        let mut payload = PAYLOAD.to_vec();
        payload[position] ^= 1;
        let result = simple_signing::check(&key(P256), &manifest(), &payload, &signature(0));
        assert_eq!(result, Err(Unverified::WrongSignature), "byte {position}");
    }
    let longer = [PAYLOAD, b" "].concat();
    let result = simple_signing::check(&key(P256), &manifest(), &longer, &signature(0));
    assert_eq!(result, Err(Unverified::WrongSignature));
}

#[test]
fn changed_character_of_envelope_is_detected() {
    let bundle: Value = serde_json::from_slice(BUNDLE_P256).unwrap();
    let payload = bundle["dsseEnvelope"]["payload"].as_str().unwrap();
    for position in (0..payload.len()).step_by(7) {
        let mut changed = payload.as_bytes().to_vec();
        changed[position] = if changed[position] == b'A' { b'B' } else { b'A' };
        let mut bundle = bundle.clone();
        bundle["dsseEnvelope"]["payload"] = String::from_utf8(changed).unwrap().into();
        let result = bundle::check(&key(P256), &manifest(), bundle.to_string().as_bytes());
        assert_eq!(result, Err(Unverified::WrongSignature), "character {position}");
    }
}

#[test]
fn non_der_signature_is_ignored() {
    let good = STANDARD.decode(signature(0)).unwrap();
    let mut trailing = good.clone();
    trailing.push(0);
    let mut long_form = vec![0x30, 0x81, good[1]];
    long_form.extend(&good[2..]);
    let raw = [7; 64].to_vec();
    let zero = b"\x30\x06\x02\x01\x00\x02\x01\x00".to_vec();
    for bytes in [trailing, long_form, raw, zero, good[..good.len() - 1].to_vec(), Vec::new()] {
        let result = simple_signing::check(&key(P256), &manifest(), PAYLOAD, &STANDARD.encode(&bytes));
        assert_eq!(result, Err(Unverified::WrongSignature), "{bytes:?}");
    }
    let result = simple_signing::check(&key(P256), &manifest(), PAYLOAD, "MEQ*");
    assert!(malformed(result).starts_with("the signature: "));
}

#[test]
fn signed_text_must_be_a_signature_payload() {
    let signer = Signer::new();
    assert!(signer.says(|_| {}).is_ok());
    let other_type = |payload: &mut Value| payload["critical"]["type"] = json!("atomic container signature");
    let expected = Unverified::OtherStatement("atomic container signature".to_owned());
    assert_eq!(signer.says(other_type), Err(expected));
    let digest = |digest: Value| {
        signer.says(|payload| payload["critical"]["image"]["docker-manifest-digest"] = digest)
    };
    assert_eq!(digest(json!("")), Err(Unverified::OtherDigest(String::new())));
    assert_eq!(digest(json!(hex(&manifest()))), Err(Unverified::OtherDigest(hex(&manifest()))));
    assert!(malformed(digest(json!([manifest().to_string()]))).starts_with("the signed text: "));
    let reference =
        |text: &str| signer.says(|payload| payload["critical"]["identity"]["docker-reference"] = json!(text));
    assert_eq!(reference("").unwrap().reference, None);
    for hostile in ["a\nb", "a\u{1b}[2J", "ä", &"a".repeat(641)] {
        assert_eq!(malformed(reference(hostile)), "docker-reference is not the name of a repository");
    }
}

#[test]
fn ambiguous_payload_is_refused() {
    let signer = Signer::new();
    let (ours, theirs) = (manifest(), other());
    let twice = format!(
        r#"{{"critical": {{"identity": {{"docker-reference": "a"}}, "type": "cosign container image signature",
           "image": {{"docker-manifest-digest": "{theirs}", "docker-manifest-digest": "{ours}"}}}}}}"#
    );
    let result =
        simple_signing::check(&signer.key(), &ours, twice.as_bytes(), &signer.sign(twice.as_bytes()));
    assert!(malformed(result).starts_with("the signed text: not the expected JSON"));
    let statement = format!(
        r#"{{"_type": "https://in-toto.io/Statement/v1", "predicateType": "{}",
           "subject": [{{"digest": {{"sha256": "{}", "sha256": "{}"}}}}]}}"#,
        bundle::PREDICATE,
        hex(&theirs),
        hex(&ours)
    );
    let result = signer.check(&signer.bundle("application/vnd.in-toto+json", statement.as_bytes()));
    assert!(malformed(result).starts_with("the statement: not the expected JSON"));
}

#[test]
fn other_statement_is_not_a_signature() {
    let expected = Unverified::OtherStatement("https://in-toto.io/Statement/v0.1".to_owned());
    assert_eq!(bundle::check(&key(P256), &manifest(), ATTESTATION), Err(expected));
    let signer = Signer::new();
    assert!(signer.states(|_| {}).is_ok());
    let provenance = "https://slsa.dev/provenance/v1";
    let result = signer.states(|statement| statement["predicateType"] = json!(provenance));
    assert_eq!(result, Err(Unverified::OtherStatement(provenance.to_owned())));
    let result = signer.check(&signer.bundle("text/plain", b"{}"));
    assert_eq!(result, Err(Unverified::OtherStatement("text/plain".to_owned())));
}

#[test]
fn statement_is_about_one_manifest() {
    let signer = Signer::new();
    let subject = |digest: &Digest| json!({"digest": {"sha256": hex(digest)}});
    let subjects = |subjects: Value| signer.states(|statement| statement["subject"] = subjects);
    let count = |count| Err(Unverified::Count { what: "subjects", count });
    assert_eq!(subjects(json!([subject(&manifest()), subject(&other())])), count(2));
    assert_eq!(subjects(json!([subject(&other()), subject(&manifest())])), count(2));
    assert_eq!(subjects(json!([])), count(0));
    assert_eq!(subjects(json!([subject(&other())])), Err(Unverified::OtherDigest(other().to_string())));
    assert!(
        malformed(subjects(json!([{"digest": {"sha512": "00"}}])))
            .starts_with("the statement: not the expected JSON")
    );
    assert!(malformed(subjects(json!([null]))).starts_with("the statement: "));
}

#[test]
fn bundle_has_one_signed_envelope() {
    let signer = Signer::new();
    let statement = json!({"_type": "", "subject": [], "predicateType": ""}).to_string();
    let good = signer.bundle("application/vnd.in-toto+json", statement.as_bytes());
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut bundle = good.clone();
        change(&mut bundle);
        signer.check(&bundle)
    };
    let result = changed(&|bundle| {
        let signature = bundle["dsseEnvelope"]["signatures"][0].clone();
        bundle["dsseEnvelope"]["signatures"] = json!([signature, {"sig": ""}]);
    });
    assert_eq!(result, Err(Unverified::Count { what: "signatures", count: 2 }));
    let result = changed(&|bundle| bundle["dsseEnvelope"]["signatures"] = json!([]));
    assert_eq!(result, Err(Unverified::Count { what: "signatures", count: 0 }));
    let result = changed(&|bundle| bundle["dsseEnvelope"]["payloadType"] = json!("text/plain"));
    assert_eq!(result, Err(Unverified::WrongSignature));
    let result = changed(&|bundle| bundle["dsseEnvelope"] = Value::Null);
    assert_eq!(malformed(result), "it has no envelope (dsseEnvelope)");
    let result = changed(&|bundle| {
        bundle["mediaType"] = json!("application/vnd.dev.sigstore.bundle+json;version=0.1");
    });
    assert!(malformed(result).contains("its media type is"));
}

#[test]
fn keyless_signature_is_reported_as_such() {
    for material in ["certificate", "x509CertificateChain"] {
        let mut bundle: Value = serde_json::from_slice(BUNDLE_ED25519).unwrap();
        bundle["verificationMaterial"] = json!({material: {"rawBytes": "MIIB"}});
        let result = bundle::check(&key(P256), &manifest(), bundle.to_string().as_bytes());
        assert_eq!(result, Err(Unverified::Keyless));
    }
}

#[test]
fn truncated_or_endless_input_is_refused() {
    for end in 0..BUNDLE_P256.len() {
        let result = bundle::check(&key(P256), &manifest(), &BUNDLE_P256[..end]);
        assert!(malformed(result).starts_with("the bundle: "), "{end} bytes");
    }
    let huge = vec![b' '; bundle::MAX_BUNDLE_BYTES + 1];
    let expected = Unverified::TooLarge { size: huge.len(), most: bundle::MAX_BUNDLE_BYTES };
    assert_eq!(bundle::check(&key(P256), &manifest(), &huge), Err(expected));
    let expected = Unverified::TooLarge { size: huge.len(), most: simple_signing::MAX_PAYLOAD_BYTES };
    assert_eq!(simple_signing::check(&key(P256), &manifest(), &huge, ""), Err(expected));
    let deep = "[".repeat(100_000);
    assert!(malformed(bundle::check(&key(P256), &manifest(), deep.as_bytes())).starts_with("the bundle: "));
}

#[test]
fn keys_that_cannot_check_signatures_are_named() {
    let refused = |text: &str| text.parse::<PublicKey>().unwrap_err();
    let block = |label: &str| format!("-----BEGIN {label}-----\nc2VjcmV0\n-----END {label}-----\n");
    for label in ["PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED SIGSTORE PRIVATE KEY", "OPENSSH PRIVATE KEY"] {
        assert_eq!(refused(&block(label)), KeyError::Private, "{label}");
    }
    assert_eq!(refused(&block("CERTIFICATE")), KeyError::Certificate);
    assert_eq!(refused(&block("RSA PUBLIC KEY")), KeyError::Unsupported("an RSA key"));
    assert_eq!(refused(&block("PGP PUBLIC KEY BLOCK")), KeyError::Unsupported("a PGP key"));
    assert_eq!(refused("ssh-ed25519 AAAAC3Nza me@example.com\n"), KeyError::Ssh);
    assert_eq!(refused(&format!("{P256}{P256}")), KeyError::Several);
    assert_eq!(refused(ED25519), KeyError::Ed25519);
    let rsa =
        b"\x30\x82\x01\x22\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00\x03\x82\x01\x0f\x00";
    assert_eq!(refused(&pem(rsa)), KeyError::Unsupported("an RSA key"));
    let p384 =
        b"\x30\x76\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x05\x2b\x81\x04\x00\x22\x03\x62\x00";
    assert_eq!(refused(&pem(p384)), KeyError::Unsupported("an ECDSA key on P-384"));
}

#[test]
fn incomplete_key_is_refused() {
    let refused = |text: &str| match text.parse::<PublicKey>() {
        Err(KeyError::Malformed(what)) => what,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(""), "expected PEM that begins with -----BEGIN PUBLIC KEY-----");
    assert_eq!(refused("-----BEGIN PUBLIC KEY-----\nMFkw"), "-----END PUBLIC KEY----- is missing");
    assert_eq!(refused(&P256.replace("MFkw", "MFk*")), "the text between the markers is not base64");
    assert_eq!(refused(&"x".repeat(20_000)), "it exceeds the limit of 16 KiB");
    let unknown = "not an ECDSA key on P-256, or cut off";
    let whole = der(P256);
    assert!(pem(&whole).parse::<PublicKey>().is_ok());
    assert_eq!(refused(&pem(&whole[..whole.len() - 1])), unknown);
    assert_eq!(refused(&pem(&[&whole[..], b"\0"].concat())), unknown);
    let mut compressed = whole;
    compressed[26] = 2;
    assert_eq!(refused(&pem(&compressed)), unknown);
}

#[test]
fn key_with_crlf_is_read() {
    assert_eq!(key(&P256.replace('\n', "\r\n")), key(P256));
    assert_eq!(key(&format!("comment\n\n{P256}\n")), key(P256));
}

#[test]
fn identity_is_matched_exactly_in_flux() {
    let identity = Identity {
        subject: "https://github.com/scs/stacks/.github/workflows/release.yml@refs/heads/main".to_owned(),
        issuer: "https://token.actions.githubusercontent.com".to_owned(),
    };
    let name = "openstack-demo-1-34-v2".parse().unwrap();
    let object =
        identity.checked_by_flux(&name, "oci://registry.example.com/csr/openstack-demo", &manifest());
    assert_eq!(object["spec"]["ref"], json!({"digest": manifest().to_string()}));
    let matched = &object["spec"]["verify"]["matchOIDCIdentity"][0];
    assert_eq!(matched["issuer"], json!(r"^https://token\.actions\.githubusercontent\.com$"));
    let expected = r"^https://github\.com/scs/stacks/\.github/workflows/release\.yml@refs/heads/main$";
    assert_eq!(matched["subject"], json!(expected));
}

#[test]
fn signature_tags_differ_from_release_names() {
    let tag = manifest().to_string().replace(':', "-");
    for ending in ["", ".sig", ".att", ".sbom"] {
        assert!(stored::is_tag_of_signatures(&format!("{tag}{ending}")), "{ending}");
    }
    for other in [
        "sha256-00",
        "sha256-",
        "latest",
        "openstack-demo-1-34-v2",
        &format!("{tag}0"),
        &format!("{tag}.txt"),
    ] {
        assert!(!stored::is_tag_of_signatures(other), "{other}");
    }
}
