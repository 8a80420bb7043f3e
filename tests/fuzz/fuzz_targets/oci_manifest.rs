//! A manifest of any bytes: no panic, no more than the limits, and no file outside the release.
#![no_main]

use std::collections::BTreeSet;

use libfuzzer_sys::fuzz_target;
use stackflux::release::Limits;
use stackflux::source::oci::manifest::Document;

fuzz_target!(|json: &[u8]| {
    let limits = Limits { unpacked: 1 << 20, entries: 8, yaml_file: 1 << 10 };
    match Document::parse(json) {
        Ok(Document::Manifest(manifest)) => {
            let _ = manifest.created();
            let Ok(files) = manifest.files(&limits) else { return };
            assert!(!files.is_empty() && files.len() <= limits.entries);
            assert!(files.iter().map(|(_, layer)| layer.size).sum::<u64>() <= limits.unpacked);
            let names: BTreeSet<&String> = files.iter().map(|(name, _)| name).collect();
            assert_eq!(names.len(), files.len());
            for name in names {
                assert!(name.split('/').all(|part| !matches!(part, "" | "." | "..")), "{name:?}");
            }
        }
        Ok(Document::Index(_)) => {}
        Err(error) => assert!(!error.is_empty() && error.len() < 1_000, "{error}"),
    }
});
