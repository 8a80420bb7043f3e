use super::*;

fn read(data: &[(&str, &str)]) -> Result<Credentials, SecretError> {
    let data = data.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect();
    Credentials::from_secret("deploy", &data)
}

#[test]
fn a_secret_of_flux_is_read() {
    let https = read(&[("username", "ann"), ("password", "s3cret\n"), ("ca.crt", "PEM")]).unwrap();
    let (user, password) = https.https.unwrap();
    assert_eq!((user.as_str(), password.expose_secret()), ("ann", "s3cret"));
    assert_eq!(https.ca.as_deref(), Some(b"PEM".as_slice()));
    assert!(https.ssh.is_none() && https.known_hosts.is_none() && !https.plain_http);
    let ssh =
        [("identity", "KEY\n"), ("identity.pub", "x"), ("known_hosts", "host x y"), ("password", "phrase")];
    let ssh = read(&ssh).unwrap();
    let Some(SshKey::Key { key, passphrase: Some(passphrase) }) = ssh.ssh else { panic!("no key") };
    assert_eq!((key.expose_secret(), passphrase.expose_secret()), ("KEY\n", "phrase"));
    assert!(ssh.known_hosts.is_some() && ssh.https.is_none());
}

#[test]
fn half_a_secret_names_what_it_lacks() {
    let lacks = |data: &[(&str, &str)]| match read(data) {
        Err(SecretError::Incomplete { lacks, .. }) => lacks,
        other => panic!("{other:?}"),
    };
    assert_eq!(lacks(&[("username", "ann")]), "password");
    assert_eq!(lacks(&[("password", "x")]), "username");
    assert_eq!(lacks(&[("identity", "x")]), "known_hosts");
    assert_eq!(read(&[("other", "x")]).unwrap_err(), SecretError::Empty("deploy".into()));
    for key in ["bearerToken", "githubAppID", "tls.crt"] {
        assert!(matches!(read(&[(key, "x")]), Err(SecretError::Unsupported { .. })), "{key}");
    }
    let binary = BTreeMap::from([("username".to_owned(), vec![255]), ("password".to_owned(), b"x".to_vec())]);
    let error = Credentials::from_secret("deploy", &binary).unwrap_err();
    assert!(matches!(error, SecretError::NotText { key: "username", .. }), "{error}");
}

#[test]
fn nothing_secret_is_printed() {
    let https = read(&[("username", "ann"), ("password", "s3cret")]).unwrap();
    let ssh = read(&[("identity", "s3cret"), ("known_hosts", ""), ("password", "s3cret")]).unwrap();
    for credentials in [https, ssh] {
        let url = "https://host/r".parse().unwrap();
        let shown = format!(
            "{credentials:?} {:?} {:?}",
            credentials.ssh,
            Access { url, credentials: credentials.clone() }
        );
        assert!(!shown.contains("s3cret"), "{shown}");
        assert_eq!(credentials.redact("you sent s3cret, s3cret"), "you sent ***, ***");
    }
    let empty = read(&[("username", "ann"), ("password", "")]).unwrap();
    assert_eq!(empty.redact("text"), "text");
}
