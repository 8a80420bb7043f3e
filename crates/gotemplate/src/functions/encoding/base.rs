//! Base64 and Base32 with padding (RFC 4648), with Go's positions of errors. Line ends are skipped.

use base64::alphabet;
use base64::engine::{Engine as _, GeneralPurpose, GeneralPurposeConfig};

/// Decodes as Go's `StdEncoding` does, which ignores the excess bits of a last character.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

const BASE32: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

pub(super) fn encode_base64(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

pub(super) fn encode_base32(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len() * 8 / 5 + 8);
    let character = |bits: u64| BASE32.get((bits & 0x1f) as usize).copied().unwrap_or(b'=');
    for chunk in bytes.chunks(5) {
        let bits =
            chunk.iter().fold(0, |bits, byte| (bits << 8) | u64::from(*byte)) << (8 * (5 - chunk.len()));
        let used = (chunk.len() * 8).div_ceil(5);
        text.extend((0..used).map(|index| character(bits >> (35 - 5 * index))));
        text.resize(text.len() + 8 - used, b'=');
    }
    text
}

fn without_line_ends(text: &[u8]) -> Vec<u8> {
    text.iter().copied().filter(|byte| !is_line_end(*byte)).collect()
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

/// Decodes Base64; fails with the offset at which Go reports an error.
pub(super) fn decode_base64(text: &[u8]) -> Result<Vec<u8>, usize> {
    BASE64.decode(without_line_ends(text)).map_err(|_| wrong_in_base64(text))
}

/// Finds the offset that Go reports for a wrong text: it counts line ends, and characters back to the start of a group that
/// is not full.
fn wrong_in_base64(text: &[u8]) -> usize {
    let mut in_group = 0;
    for (position, byte) in text.iter().enumerate().filter(|(_, byte)| !is_line_end(**byte)) {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/') {
            in_group = (in_group + 1) % 4;
        } else if *byte != b'=' || in_group < 2 {
            return position;
        } else {
            return wrong_after_padding(text, position + 1, in_group);
        }
    }
    text.len() - in_group
}

/// Finds that offset for a text whose first padding is before `position`.
fn wrong_after_padding(text: &[u8], position: usize, in_group: usize) -> usize {
    let next = |from: usize| {
        let rest = text.get(from..).unwrap_or_default();
        from + rest.iter().take_while(|byte| is_line_end(**byte)).count()
    };
    if in_group == 3 {
        return next(position);
    }
    match text.get(next(position)) {
        None => text.len(),
        Some(b'=') => next(next(position) + 1),
        Some(_) => next(position) - 1,
    }
}

/// Appends the bytes of a group of Base32, without a last partial byte.
fn push_group(bytes: &mut Vec<u8>, codes: &[u32]) {
    let (mut held, mut count) = (0_u32, 0_u32);
    for code in codes {
        held = ((held << 5) | code) & 0xffff;
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((held >> count) & 0xff).unwrap_or_default());
        }
    }
}

fn code(byte: u8) -> Option<u32> {
    let position = BASE32.iter().position(|known| *known == byte)?;
    u32::try_from(position).ok()
}

/// Decodes Base32; fails with the offset at which Go reports an error. Go removes the line ends first, so its offsets
/// do not count them.
pub(super) fn decode_base32(text: &[u8]) -> Result<Vec<u8>, usize> {
    let text = without_line_ends(text);
    let mut bytes = Vec::with_capacity(text.len());
    let mut start = 0;
    while start < text.len() {
        let group = text.get(start..(start + 8).min(text.len())).unwrap_or_default();
        let mut codes = Vec::with_capacity(8);
        for (index, byte) in group.iter().enumerate() {
            let left = text.len() - (start + index) - 1;
            if *byte == b'=' && index >= 2 && left < 8 {
                // There must be enough padding, and nothing but padding.
                if left + index < 7 {
                    return Err(text.len());
                }
                for further in 0..7 - index {
                    let at = start + index + 1 + further;
                    if text.get(at) != Some(&b'=') {
                        return Err(at - 1);
                    }
                }
                if matches!(index, 1 | 3 | 6) {
                    return Err(start + index);
                }
                push_group(&mut bytes, &codes);
                // Text after the padding is ignored.
                return Ok(bytes);
            }
            codes.push(code(*byte).ok_or(start + index)?);
        }
        if group.len() < 8 {
            return Err(text.len() - group.len());
        }
        push_group(&mut bytes, &codes);
        start += 8;
    }
    Ok(bytes)
}
