//! The artifact of a stack repository of any bytes: no panic, within the limits, and only what was asked for.
#![no_main]

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use libfuzzer_sys::fuzz_target;
use stackflux::release::Limits;
use stackflux::release::catalog::{self, CatalogLimits};

const BLOCK: usize = 512;

// The input is the archive as it is, and a tar archive that is still to be packed: nothing guesses a checksum.
fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    check(&gzip(&with_checksums(bytes)));
});

fn check(archive: &[u8]) {
    let release = Limits { unpacked: 64 << 10, entries: 16, yaml_file: 4 << 10 };
    let limits = CatalogLimits { unpacked: 256 << 10, entries: 64, release };
    let read = || {
        let mut kept = Vec::new();
        let wanted = |name: &stackflux::names::ReleaseName| name.provider() == "docker";
        let found = catalog::read(archive, "releases", &limits, wanted, |loaded| {
            assert!(loaded.files.size() <= limits.release.unpacked && loaded.files.len() <= limits.release.entries);
            assert!(!loaded.release.packed);
            kept.push((loaded.release.name.clone(), loaded.release.digest));
            loaded.release.digest
        });
        (found.map(|found| (found.releases, found.others)).map_err(|error| error.to_string()), kept)
    };
    let (found, kept) = read();
    assert_eq!((&found, &kept), (&read().0, &read().1));
    let Ok((releases, others)) = found else { return };
    assert!(releases.len() + others.unwanted + others.malformed <= limits.entries);
    for (name, release) in releases {
        assert_eq!(name.provider(), "docker");
        match release {
            Ok(digest) => assert!(kept.contains(&(name, digest))),
            Err(findings) => assert!(findings.has_errors() && !findings.to_string().contains('\x1b')),
        }
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory takes all bytes");
    encoder.finish().expect("memory takes all bytes")
}

/// The same, with the right checksum in every block that says that it is a header.
fn with_checksums(bytes: &[u8]) -> Vec<u8> {
    let mut archive = bytes.to_vec();
    for block in archive.chunks_exact_mut(BLOCK).filter(|block| block[257..262] == *b"ustar") {
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
    archive
}
