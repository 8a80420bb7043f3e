//! What the fuzz targets of archives share.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

const BLOCK: usize = 512;

/// Checks the input as an archive as it is, and as a tar archive that is still to be packed: nothing guesses a checksum.
pub fn as_archives(bytes: &[u8], check: impl Fn(&[u8])) {
    check(bytes);
    check(&gzip(&with_checksums(bytes)));
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
