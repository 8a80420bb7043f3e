use std::path::Path;
use std::process::Command;

use stackflux::git::{HostKeyError, Reference};

use super::*;

#[test]
fn pushed_commit_is_fetched_over_all_transports() {
    let server = server();
    let urls = [
        (server.url("transports"), Credentials::default()),
        (server.https_url("transports"), password()),
        (server.ssh_url("transports"), key()),
    ];
    for (number, (url, credentials)) in urls.iter().enumerate() {
        let commit = pushed(write(&clone(url, credentials.clone()), "file", &number.to_string()));
        for (url, credentials) in &urls {
            let clone = clone(url, credentials.clone());
            let found = clone.fetch(&Reference::Branch("main".into())).unwrap();
            assert_eq!(found, Some(commit), "{url}");
            let file = clone.snapshot(found).unwrap().file("file").unwrap().unwrap();
            assert_eq!(file.content, number.to_string().into_bytes());
        }
    }
}

#[test]
fn wrong_password_has_its_own_error() {
    let https = Some(("ann".to_owned(), SecretString::from("wrong-horse")));
    let credentials = Credentials { https, ..password() };
    let error = refused(write(&clone(&server().https_url("password"), credentials), "file", "x"));
    assert!(
        matches!(&error, GitError::Unauthorised { user, .. } if user.as_deref() == Some("ann")),
        "{error}"
    );
}

#[test]
fn missing_password_has_its_own_error() {
    let credentials = Credentials { https: None, ..password() };
    let error = refused(write(&clone(&server().https_url("password"), credentials), "file", "x"));
    assert!(matches!(error, GitError::NoCredentials { .. }), "{error}");
}

#[test]
fn server_of_other_authority_is_refused() {
    let url = server().https_url("authority");
    for ca in [Some(text("other-ca.crt").into_bytes()), None] {
        let credentials = Credentials { ca, ..password() };
        let error = refused(write(&clone(&url, credentials), "file", "x"));
        assert!(matches!(error, GitError::Transport(TransportError::Certificate { .. })), "{error}");
    }
}

#[test]
fn known_host_key_type_is_requested() {
    let known = text("known_hosts");
    let kinds: Vec<&str> = known.lines().collect();
    assert_eq!(kinds.len(), 2, "an Ed25519 and an ECDSA key");
    for line in kinds {
        let credentials = Credentials { known_hosts: Some(KnownHosts::new(line, "known_hosts")), ..key() };
        write(&clone(&server().ssh_url("kinds"), credentials), "file", line).unwrap();
    }
}

#[test]
fn unknown_and_changed_host_keys_are_refused() {
    let url = server().ssh_url("hosts");
    let with = |known: Option<&str>| {
        let known_hosts = known.map(|text| KnownHosts::new(text, "/etc/known"));
        refused(write(&clone(&url, Credentials { known_hosts, ..key() }), "file", "x"))
    };
    let host = url.split('@').nth(1).unwrap().split('/').next().unwrap().replace("127.0.0.1", "[127.0.0.1]");
    let error = with(Some("elsewhere ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ"));
    assert!(matches!(error, GitError::HostKey(HostKeyError::Unknown { .. })), "{error}");
    let shown = error.to_string();
    assert!([host.as_str(), "SHA256:", "/etc/known"].iter().all(|part| shown.contains(part)), "{shown}");
    // GitHub's key.
    let other =
        format!("{host} ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl");
    let error = with(Some(&other));
    assert!(matches!(error, GitError::HostKey(HostKeyError::Changed { .. })), "{error}");
    assert!(error.to_string().contains("SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU"), "{error}");
    let error = with(None);
    assert!(matches!(error, GitError::HostKey(HostKeyError::NoKnownHosts { .. })), "{error}");
}

fn ssh_keygen(arguments: &[&str], path: &Path) -> SecretString {
    let made = Command::new("ssh-keygen").arg("-q").args(arguments).arg("-f").arg(path).status().unwrap();
    assert!(made.success());
    SecretString::from(fs::read_to_string(path).unwrap())
}

#[test]
fn unauthorized_key_has_its_own_error() {
    let directory = tempfile::TempDir::new().unwrap();
    let url = server().ssh_url("key");
    for kind in ["ed25519", "ecdsa", "rsa"] {
        let other = ssh_keygen(&["-t", kind, "-N", ""], &directory.path().join(kind));
        let credentials = Credentials { ssh: Some(SshKey::Key { key: other, passphrase: None }), ..key() };
        let error = refused(write(&clone(&url, credentials), "file", "x"));
        assert!(matches!(error, GitError::Unauthorised { .. }), "{kind}: {error}");
    }
    let credentials = Credentials { ssh: None, ..key() };
    let error = refused(write(&clone(&url, credentials), "file", "x"));
    assert!(matches!(error, GitError::NoCredentials { .. }), "{error}");
}

#[test]
fn encrypted_key_requires_its_password() {
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("key");
    fs::copy(server().file("key"), &path).unwrap();
    let encrypted = ssh_keygen(&["-p", "-P", "", "-N", "battery-staple"], &path);
    let with = |passphrase: Option<&str>| {
        let passphrase = passphrase.map(SecretString::from);
        let credentials =
            Credentials { ssh: Some(SshKey::Key { key: encrypted.clone(), passphrase }), ..key() };
        write(&clone(&server().ssh_url("encrypted"), credentials), "file", "x")
    };
    for wrong in [None, Some("wrong-horse")] {
        let error = refused(with(wrong));
        assert!(matches!(error, GitError::Credentials { .. }), "{error}");
    }
    pushed(with(Some("battery-staple")));
}

#[test]
fn fifty_publishers_over_http_lose_nothing() {
    let url = server().url("fifty");
    std::thread::scope(|scope| {
        for number in 0..50 {
            let url = &url;
            scope.spawn(move || {
                let clone = clone(url, Credentials::default());
                pushed(write(&clone, &format!("releases/{number}/metadata.yaml"), "x"));
            });
        }
    });
    let clone = clone(&url, Credentials::default());
    let tip = clone.fetch(&Reference::Branch("main".into())).unwrap().unwrap();
    assert_eq!(clone.snapshot(Some(tip)).unwrap().entries("releases").unwrap().len(), 50);
    assert_eq!(clone.log(tip, "", 100).unwrap().len(), 50, "one commit each");
}

#[test]
fn releases_command_trusts_ca_file_or_system() {
    let url = server().https_url("system");
    let metadata = "versions: {clusterStack: v1, kubernetes: v1.34.2}\n";
    pushed(write(&clone(&url, password()), "releases/docker-demo-1-34-v1/metadata.yaml", metadata));
    let run = |variables: &[(&str, &Path)], more: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_stackflux"))
            .args(["releases", &format!("git+{url}"), "--output=json", "--git-password-file"])
            .arg(server().file("password"))
            .args(more)
            .env("HOME", "/nowhere")
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        for secret in SECRETS {
            assert!(!stderr.contains(secret), "{stderr}");
        }
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned(), stderr)
    };
    let ca = server().file("ca.crt");
    let file = ["--git-ca-file", ca.to_str().unwrap()];
    for (variables, more) in [([].as_slice(), file.as_slice()), (&[("SSL_CERT_FILE", ca.as_path())], &[])] {
        let (code, data, stderr) = run(variables, more);
        assert_eq!(code, Some(0), "{stderr}");
        assert!(data.contains("docker-demo-1-34-v1") && data.contains("v1.34.2"), "{data}");
    }
    let (code, _, stderr) = run(&[], &[]);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("certificate"), "{stderr}");
    let (code, _, stderr) =
        run(&[], &[file[0], file[1], "--git-username", "ann", "--known-hosts-file", "/nowhere"]);
    assert_eq!(code, Some(2), "{stderr}");
}
