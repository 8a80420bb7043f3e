use clap::Parser;
use secrecy::ExposeSecret as _;
use tempfile::TempDir;

use super::*;

#[derive(Debug, Parser)]
struct Command {
    #[command(flatten)]
    access: GitAccess,
    #[command(flatten)]
    authorship: Authorship,
}

fn parse(arguments: &[&str]) -> Command {
    Command::try_parse_from(["command"].iter().chain(arguments)).unwrap()
}

fn url(text: &str) -> GitUrl {
    text.parse().unwrap()
}

fn file(directory: &TempDir, name: &str, content: &str) -> String {
    let path = directory.path().join(name);
    fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn git_user_comes_from_flag_then_url() {
    let directory = TempDir::new().unwrap();
    let password = file(&directory, "password", "s3cret\n");
    let arguments = ["--git-password-file", &password];
    let user_of = |arguments: &[&str], address: &str| {
        let access = parse(arguments).access.to(url(address)).unwrap();
        let (user, password) = access.credentials.https.unwrap();
        assert_eq!(password.expose_secret(), "s3cret");
        user
    };
    assert_eq!(user_of(&arguments, "https://host/r.git"), "git");
    assert_eq!(user_of(&arguments, "https://ann@host/r.git"), "ann");
    let named = [arguments.as_slice(), &["--git-username", "bob"]].concat();
    assert_eq!(user_of(&named, "https://ann@host/r.git"), "bob");
}

#[test]
fn missing_or_empty_credential_file_is_reported() {
    let directory = TempDir::new().unwrap();
    let empty = file(&directory, "empty", "\n");
    for (flag, path) in [
        ("--git-password-file", empty.as_str()),
        ("--ssh-key-file", "/nowhere"),
        ("--known-hosts-file", "/nowhere"),
    ] {
        let error = parse(&[flag, path]).access.to(url("https://host/r.git")).unwrap_err();
        assert!(error.message.contains(path), "{flag}: {}", error.message);
    }
}

#[test]
fn signing_key_file_defaults_to_ssh() {
    let directory = TempDir::new().unwrap();
    let key = file(&directory, "key", "");
    let signer = |arguments: &[&str]| parse(arguments).authorship.signer();
    assert!(signer(&[]).is_none());
    assert!(matches!(signer(&["--signing-key", &key]), Some(Signer::SshFile(_))));
    assert!(matches!(signer(&["--signing-key", "ann@example.org"]), Some(Signer::GpgKeyId(_))));
    let gpg = ["--signing-key", key.as_str(), "--signing-format", "gpg"];
    assert!(matches!(signer(&gpg), Some(Signer::GpgKeyId(_))));
}

#[test]
fn author_requires_name_and_email() {
    let identity = parse(&["--author", "Ann Example <ann@example.org>"]).authorship.identity().unwrap();
    assert_eq!((identity.name.as_str(), identity.email.as_str()), ("Ann Example", "ann@example.org"));
    let error = parse(&["--author", "ann@example.org"]).authorship.identity().unwrap_err();
    assert!(error.message.contains("expected Name <"), "{}", error.message);
}

#[test]
fn password_is_not_sent_to_another_server() {
    let directory = TempDir::new().unwrap();
    let password = file(&directory, "password", "s3cret\n");
    let access = parse(&["--git-password-file", &password]).access;
    let own = url("https://host/stacks.git");
    let shown = |to: &str, own| access.to_other(url(to), own).unwrap().credentials.https.is_some();
    assert!(shown("https://host/releases.git", Some(&own)));
    assert!(!shown("https://other/releases.git", Some(&own)));
    assert!(!shown("http://host/releases.git", Some(&own)));
    assert!(shown("https://other/releases.git", None), "it is for nothing else");
}
