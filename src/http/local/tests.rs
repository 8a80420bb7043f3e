use super::*;

#[test]
fn local_places_are_known_by_any_spelling() {
    for (host, expected) in [
        ("127.0.0.1", true),
        ("127.8.8.8", true),
        ("2130706433", true),
        ("0.0.0.0", true),
        ("[::]", true),
        ("[::1]", true),
        ("[::ffff:127.0.0.1]", true),
        ("localhost", true),
        ("LOCALHOST.", true),
        ("169.254.169.254", true),
        ("0xa9fea9fe", true),
        ("[::ffff:169.254.169.254]", true),
        ("[fe80::1]", true),
        ("[fd00:ec2::254]", true),
        ("100.100.100.200", true),
        // A registry in one's own network is nothing unusual.
        ("10.0.0.1", false),
        ("192.168.0.1", false),
        ("[fd00::1]", false),
        ("example.com", false),
        ("localhost.example.com", false),
    ] {
        let url = format!("https://{host}/").parse().unwrap();
        assert_eq!(is_local(&url), expected, "{host}");
    }
}

#[test]
fn names_with_local_addresses_alone_are_refused() {
    let addresses = |texts: &[&str]| {
        let found =
            texts.iter().map(|text| format!("{text}:0").parse().unwrap()).collect::<Vec<SocketAddr>>();
        elsewhere(found.into_iter()).map(|found| found.len()).map_err(|error| error.to_string())
    };
    assert_eq!(addresses(&["169.254.169.254"]), Err(WHY.to_owned()));
    assert_eq!(addresses(&["127.0.0.1", "[::1]"]), Err(WHY.to_owned()));
    assert_eq!(addresses(&["127.0.0.1", "192.0.2.1", "[2001:db8::1]"]), Ok(2));
    assert_eq!(addresses(&[]), Ok(0));
}
