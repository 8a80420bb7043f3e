//! A signed text of any bytes: no panic, and what counts as a signature says so when it is read as plain JSON.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use stackflux::release::Digest;
use stackflux::verify::simple_signing::check;
use stackflux_fuzz::Signer;

// Signed by a key of the target's own, or else nothing of it would be read.
fuzz_target!(|payload: &[u8]| {
    let (signer, manifest) = (Signer::get(), Digest::of_bytes(b"manifest"));
    let signature = signer.sign(payload);
    let result = check(&signer.key, &manifest, payload, &signature);
    assert_eq!(result, check(&signer.key, &manifest, payload, &signature));
    if let Ok(verified) = result {
        let read: Value = serde_json::from_slice(payload).expect("what counts is JSON");
        assert_eq!(read["critical"]["image"]["docker-manifest-digest"], manifest.to_string());
        assert!(!verified.to_string().contains(char::is_control));
    }
    // As a signature of something else it is nothing.
    assert!(check(&signer.key, &manifest, b"another text", &String::from_utf8_lossy(payload)).is_err());
});
