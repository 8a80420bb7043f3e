//! What fuzz targets share.

use std::io::Write as _;
use std::sync::OnceLock;

use ::base64::Engine as _;
use ::base64::engine::general_purpose::STANDARD;

use flate2::Compression;
use flate2::write::GzEncoder;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use stackflux::verify::PublicKey;

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

/// Bytes as base64.
pub fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// A key that signs what is to be checked.
pub struct Signer {
    pair: EcdsaKeyPair,
    random: SystemRandom,
    /// Its public half.
    pub key: PublicKey,
}

impl Signer {
    /// The one of this process.
    pub fn get() -> &'static Self {
        static SIGNER: OnceLock<Signer> = OnceLock::new();
        SIGNER.get_or_init(Self::new)
    }

    fn new() -> Self {
        let (algorithm, random) = (&ECDSA_P256_SHA256_ASN1_SIGNING, SystemRandom::new());
        let pair = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a new key");
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, pair.as_ref(), &random).expect("the key just made");
        let head = b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00";
        let der = base64(&[head, pair.public_key().as_ref()].concat());
        let pem = format!("-----BEGIN PUBLIC KEY-----\n{der}\n-----END PUBLIC KEY-----\n");
        Self { pair, random, key: pem.parse().expect("a public key") }
    }

    /// The signature of a message, as cosign writes it.
    pub fn sign(&self, message: &[u8]) -> String {
        base64(self.pair.sign(&self.random, message).expect("a signature").as_ref())
    }
}
