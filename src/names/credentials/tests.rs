use proptest::prelude::*;

use super::*;

#[test]
fn credentials_in_addresses_are_found() {
    for plain in [
        "https://git.example.org/stacks.git",
        "https://git.example.org:8443/a/b%40c",
        "ssh://git@git.example.org:22/stacks",
        "ssh://git.example.org/stacks",
        "",
    ] {
        assert!(!has_credentials(plain), "{plain}");
    }
    for secret in [
        "https://u:pw@git.example.org/stacks.git",
        "https://token@git.example.org/stacks.git",
        "http://u:p/w@git.example.org/stacks",
        "ssh://git:pw@git.example.org/stacks",
        "ssh://git:p/w@git.example.org/stacks",
        "ssh://@git.example.org/stacks",
        "ssh://git@u:pw@git.example.org/stacks",
        "https://:pw@git.example.org/",
        "git:pw@git.example.org:stacks",
        "https://git.example.org/stacks.git?token=pw",
        "https://git.example.org/stacks.git#pw",
        "ssh://git@git.example.org/stacks?pw",
        "ssh://git?pw@git.example.org/stacks",
    ] {
        assert!(has_credentials(secret), "{secret}");
    }
}

#[test]
fn credentials_in_messages_are_masked() {
    for (text, expected) in [
        (
            "failed to checkout: 'https://u:pw@git.example.org/a.git': authentication required",
            "failed to checkout: 'https://…@git.example.org/a.git': authentication required",
        ),
        ("parse \"https://u:p/w@x@host/a\": no", "parse \"https://…@host/a\": no"),
        ("https://token@github.com/o/r", "https://…@github.com/o/r"),
        ("a ssh://git@host/a b ssh://git:pw@host/a", "a ssh://git@host/a b ssh://…@host/a"),
        ("//u:p@h//u:q@h", "//…@h"),
        ("oci://u:pw@h/c:1@sha256:aa", "oci://…@h/c:1@sha256:aa"),
        ("Get \"https://h/a.git?token=pw\": EOF", "Get \"https://h/a.git?…\": EOF"),
        ("clone https://u:pw@h/a.git?token=pw: no", "clone https://…@h/a.git?… no"),
    ] {
        assert_eq!(masked(text), expected);
    }
    for text in [
        "stored artifact for revision 'main@sha1:da39'",
        "pulled 'oci://host:5000/charts/a:1.2@sha256:aa' with digest",
        "https://github.com/o/r/tree/v1@x",
        "mail a@b.c, see https://x.y/",
        "is it https://x.y/a?",
        "//",
        "@",
    ] {
        assert_eq!(masked(text), text);
    }
}

proptest! {
    #[test]
    fn message_password_never_shown(password in "[!#-&(-;=?-_a-~]{1,12}", host in "[a-z]{1,5}", around in "[ a-z:@/.]{0,12}") {
        let text = format!("{around} https://user:Q{password}Q@{host}/a.git {around}");
        let shown = masked(&text);
        let secret = format!("Q{password}Q");
        prop_assert!(!shown.contains(&secret), "{shown}");
        prop_assert_eq!(masked(&shown), shown.as_ref());
    }
}
