//! SHA-1 (RFC 3174). Stacks use it to name things, nothing depends on its strength.

pub(super) fn digest(message: &[u8]) -> [u8; 20] {
    let mut padded = message.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend_from_slice(&(message.len() as u64 * 8).to_be_bytes());

    let mut state: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    for block in padded.as_chunks::<64>().0 {
        let added = compress(state, block);
        for (word, added) in state.iter_mut().zip(added) {
            *word = word.wrapping_add(added);
        }
    }
    let mut digest = [0; 20];
    for (bytes, word) in digest.as_chunks_mut::<4>().0.iter_mut().zip(state) {
        *bytes = word.to_be_bytes();
    }
    digest
}

#[expect(clippy::many_single_char_names, reason = "the names of RFC 3174")]
fn compress([mut a, mut b, mut c, mut d, mut e]: [u32; 5], block: &[u8; 64]) -> [u32; 5] {
    let mut schedule: Vec<u32> =
        block.as_chunks::<4>().0.iter().map(|word| u32::from_be_bytes(*word)).collect();
    for round in 0..80 {
        let (function, constant) = match round {
            0..20 => ((b & c) | (!b & d), 0x5a82_7999),
            20..40 => (b ^ c ^ d, 0x6ed9_eba1),
            40..60 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
            _ => (b ^ c ^ d, 0xca62_c1d6),
        };
        let word = schedule.get(round).copied().unwrap_or_default();
        let next =
            a.rotate_left(5).wrapping_add(function).wrapping_add(e).wrapping_add(constant).wrapping_add(word);
        (a, b, c, d, e) = (next, a, b.rotate_left(30), c, d);
        // The word that is needed 16 rounds later.
        let earlier = |back: usize| schedule.get(round + 16 - back).copied().unwrap_or_default();
        let later = (earlier(3) ^ earlier(8) ^ earlier(14) ^ earlier(16)).rotate_left(1);
        schedule.push(later);
    }
    [a, b, c, d, e]
}
