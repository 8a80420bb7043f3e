use proptest::prelude::*;

use super::*;

/// Returns an Ed25519 key whose bytes are all `byte`.
fn key(byte: u8) -> Vec<u8> {
    let mut key = vec![0, 0, 0, 11];
    key.extend(b"ssh-ed25519");
    key.extend([0, 0, 0, 32]);
    key.extend([byte; 32]);
    key
}

fn line_of(hosts: &str, byte: u8) -> String {
    format!("{hosts} ssh-ed25519 {} a comment\n", STANDARD.encode(key(byte)))
}

fn check(text: &str, host: &str, port: u16, byte: u8) -> Result<(), HostKeyError> {
    KnownHosts::new(text, "/etc/known").check(host, port, &key(byte))
}

#[test]
fn host_is_known_by_name_and_port() {
    let text = ["# a comment", "", &line_of("host,10.0.0.1", 1), &line_of("[host]:2222", 2)].join("\n");
    assert_eq!(check(&text, "host", 22, 1), Ok(()));
    assert_eq!(check(&text, "HOST", 22, 1), Ok(()));
    assert_eq!(check(&text, "10.0.0.1", 22, 1), Ok(()));
    assert_eq!(check(&text, "host", 2222, 2), Ok(()));
    for (host, port, byte) in [("host", 22, 2), ("host", 2222, 1)] {
        assert!(matches!(check(&text, host, port, byte), Err(HostKeyError::Changed { .. })));
    }
    for (host, port) in [("other", 22), ("host", 2223), ("10.0.0.1", 2222), ("hos", 22), ("host.example", 22)]
    {
        assert!(matches!(check(&text, host, port, 1), Err(HostKeyError::Unknown { .. })), "{host}");
    }
}

#[test]
fn ipv6_address_has_no_brackets() {
    assert_eq!(check(&line_of("::1", 1), "[::1]", 22, 1), Ok(()));
    assert_eq!(check(&line_of("[::1]:2222", 1), "[::1]", 2222, 1), Ok(()));
}

#[test]
fn any_listed_key_is_accepted() {
    let text = line_of("host", 1) + &line_of("host", 2);
    assert_eq!(check(&text, "host", 22, 2), Ok(()));
    let Err(HostKeyError::Changed { known, .. }) = check(&text, "host", 22, 3) else {
        panic!("it is unknown")
    };
    assert_eq!(known.len(), 2);
}

#[test]
fn hashed_name_matches_ssh_keygen() {
    let hashed = "|1|E9Hsbx3eFdtqfcwspk1hXDDe0gU=|2uBb30w15xynVHBso/8Whmq+0Fw= ssh-ed25519 \
                  AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl";
    let known = KnownHosts::new(hashed, "/etc/known");
    assert!(known.plain("github.com", 22).starts_with("github.com ssh-ed25519 AAAA"));
    assert_eq!(known.plain("github.example", 22), "");
    assert_eq!(known.plain("github.com", 2222), "");
}

#[test]
fn revoked_key_overrides_other_lines() {
    let text = line_of("host", 1) + &format!("@revoked {}", line_of("*", 1));
    assert!(matches!(check(&text, "host", 22, 1), Err(HostKeyError::Revoked { .. })));
    let text = line_of("host", 1) + &format!("@revoked {}", line_of("host", 2));
    assert_eq!(check(&text, "host", 22, 1), Ok(()));
    assert!(matches!(check(&text, "host", 22, 2), Err(HostKeyError::Revoked { .. })));
    // A line with a revoked key does not make a host known.
    let text = format!("@revoked {}", line_of("host", 2));
    assert!(matches!(check(&text, "host", 22, 1), Err(HostKeyError::Unknown { .. })));
}

#[test]
fn authority_key_is_not_a_host_key() {
    let text = format!("@cert-authority {}", line_of("host", 1));
    assert!(matches!(check(&text, "host", 22, 1), Err(HostKeyError::Unknown { .. })));
}

#[test]
fn patterns_match_as_sshd_has_them() {
    let cases = [
        ("*.example.org", "git.example.org", true),
        ("*.example.org", "example.org", false),
        ("*.example.org,!bad.example.org", "bad.example.org", false),
        ("!bad.example.org,*.example.org", "bad.example.org", false),
        ("!bad.example.org", "git.example.org", false),
        ("git?.example.org", "git1.example.org", true),
        ("git?.example.org", "git.example.org", false),
        ("*", "anything", true),
        ("**a*b", "xxaxxb", true),
        ("a*b*c", "abcb", false),
    ];
    for (pattern, host, known) in cases {
        assert_eq!(check(&line_of(pattern, 1), host, 22, 1).is_ok(), known, "{pattern} {host}");
    }
}

#[test]
fn pattern_of_stars_is_matched_quickly() {
    let pattern = "*a".repeat(5_000) + "b";
    assert!(!is_like(&pattern, &"a".repeat(5_000)));
}

#[test]
fn invalid_lines_are_ignored() {
    let broken = [
        "host",
        "host ssh-ed25519",
        "host ssh-ed25519 ????",
        "host ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl",
        "|1|x|y ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl",
        "@revoked",
        "@other host ssh-ed25519 AAAA",
        "host ssh-ed25519 /////w==",
    ];
    for line in broken {
        assert!(matches!(check(line, "host", 22, 1), Err(HostKeyError::Unknown { .. })), "{line}");
    }
}

#[test]
fn error_names_host_fingerprint_and_file() {
    let key =
        STANDARD.decode("AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl").unwrap();
    let error = KnownHosts::new("", "/etc/known").check("github.com", 22, &key).unwrap_err().to_string();
    assert_eq!(
        error,
        "unknown host github.com: it shows ssh-ed25519 SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU, \
         but /etc/known has no line for it"
    );
}

#[test]
fn unknown_key_type_is_not_printed() {
    let mut key = vec![0, 0, 0, 4];
    key.extend(b"\x1b[2J");
    assert_eq!(kind(&key), "a key of unknown kind");
    assert_eq!(kind(&[255, 255, 255, 255]), "a key of unknown kind");
    assert_eq!(kind(&[]), "a key of unknown kind");
}

proptest! {
    /// Only the listed key is trusted, and no text panics.
    #[test]
    fn random_text_trusts_no_key(
        text in "(@revoked |@cert-authority )?[!*?,|a-c0-9.:\\[\\]=]{0,12} (ssh-ed25519|ssh-rsa|x) [A-Za-z0-9+/=]{0,60}( [ -~]{0,8})?",
        shown in proptest::collection::vec(proptest::num::u8::ANY, 0..40),
    ) {
        let known = KnownHosts::new(text.as_str(), "x");
        prop_assert!(known.check("a.b", 22, &shown).is_err(), "{}", text);
        prop_assert!(!known.plain("a.b", 2222).contains('@'), "{}", text);
    }
}
