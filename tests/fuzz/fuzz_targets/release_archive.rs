//! An archive of any bytes, and a release out of it: no panic, within the limits, and no path that leaves its directory.
#![no_main]

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use libfuzzer_sys::fuzz_target;
use stackflux::release::{Limits, Release, archive};

const BLOCK: usize = 512;

// The input is the archive as it is, and a tar archive that is still to be packed: nothing guesses a checksum.
fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    check(&gzip(&with_checksums(bytes)));
});

fn check(archive: &[u8]) {
    let limits = Limits { unpacked: 64 << 10, entries: 16, yaml_file: 4 << 10 };
    let unpacked = archive::unpack(archive, "x.tgz", &limits);
    assert_eq!(unpacked, archive::unpack(archive, "x.tgz", &limits));
    match unpacked {
        Ok(files) => {
            assert!(files.size() <= limits.unpacked && files.len() <= limits.entries);
            for (path, _) in files.iter() {
                assert!(path.split('/').all(|part| !matches!(part, "" | "." | "..")), "{path:?}");
            }
            let name = "docker-demo-1-34-v1".parse().expect("the name of a release");
            let Ok(files) = files.without_ignored() else { return };
            if let Err(findings) = Release::load(&name, files, &limits) {
                assert!(findings.has_errors());
            }
        }
        Err(findings) => assert!(findings.has_errors() && !findings.to_string().contains('\x1b')),
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
