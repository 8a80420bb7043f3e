use super::*;

const KEY: &[u8] = include_bytes!("../../../../tests/signatures/p256.pub");
const ED25519: &[u8] = include_bytes!("../../../../tests/signatures/ed25519.pub");

fn keys(entries: &[(&str, &[u8])]) -> Result<Verification, String> {
    public_keys(&entries.iter().map(|(name, content)| ((*name).to_owned(), content.to_vec())).collect())
}

#[test]
fn all_public_keys_of_the_secret_are_used() {
    let Verification::Keys(found) = keys(&[("cosign.key", b"x"), ("a.pub", KEY), ("b.pub", KEY)]).unwrap()
    else {
        panic!("no keys");
    };
    assert_eq!(found.len(), 2);
}

#[test]
fn verification_secret_without_usable_key_is_an_error() {
    assert_eq!(keys(&[]).unwrap_err(), "none of its keys ends with .pub");
    assert_eq!(keys(&[("cosign.key", b"x"), ("pub", KEY)]).unwrap_err(), "none of its keys ends with .pub");
    assert!(
        keys(&[("a.pub", KEY), ("b.pub", ED25519)]).unwrap_err().starts_with("b.pub: this is an Ed25519 key")
    );
    assert_eq!(keys(&[("a.pub", &[0xff])]).unwrap_err(), "a.pub: this is not PEM");
}
