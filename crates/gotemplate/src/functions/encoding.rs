//! Encodings and checksums (slim-sprig's `strings.go` and `crypto.go`).

mod base;

use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::Parameter::Text;
use super::{Arguments, Context, Function, Outcome};

const GROUP: &str = "encoding";

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("b64enc", GROUP, "The text in Base64.", &[Text], b64enc),
    Function::new("b64dec", GROUP, "The text decoded from Base64, or the error message.", &[Text], b64dec),
    Function::new("b32enc", GROUP, "The text in Base32.", &[Text], b32enc),
    Function::new("b32dec", GROUP, "The text decoded from Base32, or the error message.", &[Text], b32dec),
    Function::new("sha256sum", GROUP, "The SHA-256 checksum, in hexadecimal digits.", &[Text], sha256sum),
    Function::new("sha1sum", GROUP, "The SHA-1 checksum, in hexadecimal digits.", &[Text], sha1sum),
    Function::new("adler32sum", GROUP, "The Adler-32 checksum, in decimal digits.", &[Text], adler32sum),
];

fn b64enc<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    context.heap.text(base::encode_base64(arguments.bytes(0)?))
}

fn b32enc<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    context.heap.text(base::encode_base32(arguments.bytes(0)?))
}

fn b64dec<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let decoded = base::decode_base64(arguments.bytes(0)?);
    context.heap.text(decoded.unwrap_or_else(|at| illegal("base64", at)))
}

fn b32dec<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    let decoded = base::decode_base32(arguments.bytes(0)?);
    context.heap.text(decoded.unwrap_or_else(|at| illegal("base32", at)))
}

/// Returns Go's error text, which is the answer.
fn illegal(encoding: &str, at: usize) -> Vec<u8> {
    format!("illegal {encoding} data at input byte {at}").into_bytes()
}

fn hexadecimal(digest: &[u8]) -> String {
    let halves = digest.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    halves.filter_map(|half| char::from_digit(u32::from(half), 16)).collect()
}

fn sha256sum<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    context.heap.text(hexadecimal(&Sha256::digest(arguments.bytes(0)?)))
}

fn sha1sum<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    context.heap.text(hexadecimal(&Sha1::digest(arguments.bytes(0)?)))
}

fn adler32sum<'a>(context: &mut Context<'a>, arguments: &Arguments<'_, 'a>) -> Outcome<'a> {
    const MODULUS: u32 = 65521;
    let (low, high) = arguments.bytes(0)?.iter().fold((1, 0), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % MODULUS;
        (low, (high + low) % MODULUS)
    });
    context.heap.text(((high << 16) | low).to_string())
}
