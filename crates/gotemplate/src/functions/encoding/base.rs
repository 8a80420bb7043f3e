//! Base64 and Base32 with padding (RFC 4648), with Go's positions of errors.

/// An encoding that puts a number of bits into each character.
pub(super) struct Base {
    alphabet: &'static [u8],
    bits: u32,
    /// Characters in a full group.
    group: usize,
}

pub(super) const BASE64: Base =
    Base { alphabet: b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", bits: 6, group: 4 };

pub(super) const BASE32: Base = Base { alphabet: b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", bits: 5, group: 8 };

pub(super) fn encode(bytes: &[u8], base: &Base) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len() * 8 / 5 + base.group);
    let (mut held, mut count) = (0_u32, 0_u32);
    let mask = (1 << base.bits) - 1;
    let character = |code: u32| base.alphabet.get(code as usize).copied().unwrap_or(b'=');
    for byte in bytes {
        held = ((held << 8) | u32::from(*byte)) & 0xffff;
        count += 8;
        while count >= base.bits {
            count -= base.bits;
            text.push(character((held >> count) & mask));
        }
    }
    if count > 0 {
        text.push(character((held << (base.bits - count)) & mask));
    }
    while text.len() % base.group != 0 {
        text.push(b'=');
    }
    text
}

/// The bytes that a text says, or at which of its bytes it is wrong. Line ends are skipped.
pub(super) fn decode(text: &[u8], base: &Base) -> Result<Vec<u8>, usize> {
    if base.group == 8 { decode_base32(text) } else { decode_base64(text) }
}

fn code(byte: u8, base: &Base) -> Option<u32> {
    let position = base.alphabet.iter().position(|known| *known == byte)?;
    u32::try_from(position).ok()
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

/// The bytes of a group of characters, without what its last bits do not fill.
fn push_group(bytes: &mut Vec<u8>, codes: &[u32], base: &Base) {
    let (mut held, mut count) = (0_u32, 0_u32);
    for code in codes {
        held = ((held << base.bits) | code) & 0xffff;
        count += base.bits;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((held >> count) & 0xff).unwrap_or_default());
        }
    }
}

fn decode_base64(text: &[u8]) -> Result<Vec<u8>, usize> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut codes = Vec::with_capacity(4);
    let mut position = 0;
    while let Some(&byte) = text.get(position) {
        position += 1;
        if is_line_end(byte) {
            continue;
        }
        if let Some(code) = code(byte, &BASE64) {
            codes.push(code);
            if codes.len() == 4 {
                push_group(&mut bytes, &codes, &BASE64);
                codes.clear();
            }
            continue;
        }
        if byte != b'=' || codes.len() < 2 {
            return Err(position - 1);
        }
        return padded(text, position, &codes, bytes);
    }
    if codes.is_empty() { Ok(bytes) } else { Err(position - codes.len()) }
}

/// The end of a text whose first padding stands before `position`.
fn padded(text: &[u8], position: usize, codes: &[u32], bytes: Vec<u8>) -> Result<Vec<u8>, usize> {
    let mut bytes = bytes;
    let mut position = position;
    let skip = |mut position: usize| {
        while text.get(position).is_some_and(|byte| is_line_end(*byte)) {
            position += 1;
        }
        position
    };
    if codes.len() == 2 {
        position = skip(position);
        match text.get(position) {
            None => return Err(text.len()),
            Some(b'=') => position += 1,
            Some(_) => return Err(position - 1),
        }
    }
    position = skip(position);
    push_group(&mut bytes, codes, &BASE64);
    if position < text.len() { Err(position) } else { Ok(bytes) }
}

/// Go removes the line ends first, so its positions do not count them.
fn decode_base32(text: &[u8]) -> Result<Vec<u8>, usize> {
    let text: Vec<u8> = text.iter().copied().filter(|byte| !is_line_end(*byte)).collect();
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
                push_group(&mut bytes, &codes, &BASE32);
                // What follows the padding is ignored.
                return Ok(bytes);
            }
            codes.push(code(*byte, &BASE32).ok_or(start + index)?);
        }
        if group.len() < 8 {
            return Err(text.len() - group.len());
        }
        push_group(&mut bytes, &codes, &BASE32);
        start += 8;
    }
    Ok(bytes)
}
