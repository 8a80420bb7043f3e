//! A bundle of any bytes, and one whose signed statement is any bytes: no panic, nothing counts that the key did not
//! sign, and what counts says so when it is read as plain JSON.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use stackflux::release::Digest;
use stackflux::verify::bundle::{MEDIA_TYPE, PREDICATE, check};
use stackflux_fuzz::{Signer, base64};

fuzz_target!(|bytes: &[u8]| {
    let (signer, manifest) = (Signer::get(), Digest::of_bytes(b"manifest"));
    assert!(check(&signer.key, &manifest, bytes).is_err());

    // Signed by a key of the target's own, or else nothing of it would be read.
    let payload_type = "application/vnd.in-toto+json";
    let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), bytes.len());
    let signature = signer.sign(&[head.as_bytes(), bytes].concat());
    let envelope =
        json!({"payload": base64(bytes), "payloadType": payload_type, "signatures": [{"sig": signature}]});
    let bundle = json!({"mediaType": MEDIA_TYPE, "dsseEnvelope": envelope}).to_string();
    let result = check(&signer.key, &manifest, bundle.as_bytes());
    assert_eq!(result, check(&signer.key, &manifest, bundle.as_bytes()));
    if result.is_ok() {
        let read: Value = serde_json::from_slice(bytes).expect("what counts is JSON");
        assert_eq!(read["predicateType"], PREDICATE);
        let subjects = read["subject"].as_array().map(Vec::as_slice);
        let Some([subject]) = subjects else { panic!("{read}") };
        let digest = subject["digest"]["sha256"].as_str().expect("a digest");
        assert_eq!(format!("sha256:{digest}"), manifest.to_string());
    }
});
