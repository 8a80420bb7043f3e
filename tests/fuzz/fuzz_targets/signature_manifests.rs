//! Manifests and indexes of any bytes that are to hold or list signatures: no panic, the same answer twice, and no more
//! to fetch than is looked at.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stackflux::verify::stored::{MAX_SIGNATURES, bundle, bundles, is_tag_of_signatures, signatures};
use stackflux::verify::{bundle as of_bundle, simple_signing};

fuzz_target!(|bytes: &[u8]| {
    let found = signatures(bytes);
    assert_eq!(found, signatures(bytes));
    if let Ok(found) = found {
        assert!(found.len() <= MAX_SIGNATURES);
        assert!(found.iter().flatten().all(|found| found.payload.size <= simple_signing::MAX_PAYLOAD_BYTES as u64));
    }
    let found = bundles(bytes);
    assert_eq!(found, bundles(bytes));
    assert!(found.is_ok_and(|found| found.len() <= MAX_SIGNATURES) || bundles(bytes).is_err());
    assert!(bundle(bytes).is_ok_and(|blob| blob.size <= of_bundle::MAX_BUNDLE_BYTES as u64) || bundle(bytes).is_err());
    if let Ok(tag) = std::str::from_utf8(bytes) {
        assert!(!is_tag_of_signatures(tag) || tag.parse::<stackflux::names::ReleaseName>().is_err());
    }
});
