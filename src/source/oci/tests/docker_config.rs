//! Docker configs and credential helpers.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use secrecy::ExposeSecret as _;

use super::super::credentials::{DockerConfig, DockerConfigError, helper};
use super::*;

/// Formats credentials as text.
fn shown(credentials: &Credentials) -> String {
    match credentials {
        Credentials::Anonymous => "nobody".to_owned(),
        Credentials::Password { user, password } => format!("{user}:{}", password.expose_secret()),
        Credentials::IdentityToken(token) => format!("token {}", token.expose_secret()),
    }
}

async fn of(config: &Value, registry: &str, repository: &str) -> Result<String, OriginError> {
    let docker = DockerConfig::parse(config.to_string().as_bytes()).unwrap();
    let keychain = Keychain { docker, ..Keychain::default() };
    keychain.of(registry, repository, true).await.map(|credentials| shown(&credentials))
}

#[tokio::test]
async fn which_entry_is_whose() {
    let config = json!({"auths": {
        "registry.example.com": {"auth": "dXNlcjpwYXNz"},
        "https://other.example.com:5000/v2/": {"auth": "b3RoZXI6cGFzczp3b3Jk"},
        "https://index.docker.io/v1/": {"auth": "aHViOnNlY3JldA=="},
        "quay.io/organisation": {"username": "robot", "password": "beep"},
        "quay.io": {"auth": "cXVheTpwYXNz"},
        "ghcr.io": {"auth": "dXNlcjpwYXNz", "identitytoken": "refresh"},
        "empty.example.com": {},
        "empty-auth.example.com": {"auth": ""},
        "old.example.com": {"auth": "dXNlcjpwYXNzAAA="},
    }});
    for (registry, repository, expected) in [
        ("registry.example.com", "a/b", "user:pass"),
        ("REGISTRY.example.com", "a/b", "user:pass"),
        ("registry.example.com:5000", "a/b", "nobody"),
        ("evil-registry.example.com", "a/b", "nobody"),
        ("other.example.com:5000", "a", "other:pass:word"),
        ("docker.io", "org/x", "hub:secret"),
        ("registry-1.docker.io", "org/x", "hub:secret"),
        ("quay.io", "organisation/x", "robot:beep"),
        ("quay.io", "organisations/x", "quay:pass"),
        ("ghcr.io", "x", "token refresh"),
        ("empty.example.com", "x", "nobody"),
        ("empty-auth.example.com", "x", "nobody"),
        ("old.example.com", "x", "user:pass"),
    ] {
        assert_eq!(of(&config, registry, repository).await.unwrap(), expected, "{registry}/{repository}");
    }
}

#[tokio::test]
async fn unreadable_config_is_not_shown() {
    for auth in ["hidden!", "aGlkZGVu", "/////w=="] {
        let error = of(&json!({"auths": {"a": {"auth": auth}}}), "a", "x").await.unwrap_err();
        assert!(matches!(error, OriginError::Settings(_)), "{error}");
        assert!(!format!("{error}{error:?}").contains("hidden"), "{error}");
    }
    for json in
        ["", "hidden", "[1]", "{\"auths\": \"hidden\"}", "{\"auths\": {\"a\": {\"auth\": [\"hidden\"]}}}"]
    {
        let error = DockerConfig::parse(json.as_bytes()).unwrap_err();
        assert!(matches!(error, DockerConfigError::Json { .. }), "{error}");
        assert!(!format!("{error}{error:?}").contains("hidden"), "{error}");
    }
    let config = DockerConfig::parse(b"{\"auths\": {\"a\": {\"auth\": \"hidden\"}}}").unwrap();
    assert!(!format!("{config:?}").contains("hidden"));
}

#[tokio::test]
async fn helpers_run_only_if_allowed_and_plainly_named() {
    let config = json!({"credsStore": "store", "credHelpers": {"https://ghcr.io/": "own"}});
    let docker = DockerConfig::parse(config.to_string().as_bytes()).unwrap();
    assert_eq!((docker.helper("ghcr.io"), docker.helper("quay.io")), (Some("own"), Some("store")));
    let error = of(&config, "quay.io", "x").await.unwrap_err();
    assert!(error.to_string().contains("names docker-credential-store"), "{error}");
    for name in ["../evil", "a/b", "a b", "-x", "a;b", "", "a\nb"] {
        let config = json!({"credsStore": name});
        let docker = DockerConfig::parse(config.to_string().as_bytes()).unwrap();
        let keychain = Keychain { docker, helpers: true, ..Keychain::default() };
        match keychain.of("quay.io", "x", true).await {
            Err(OriginError::Settings(error)) => {
                assert!(error.contains("invalid credential helper"), "{error}");
            }
            Ok(credentials) => assert!(name.is_empty() && credentials.is_anonymous(), "{name:?}"),
            Err(error) => panic!("{error}"),
        }
    }
}

/// A timeout that no helper here reaches.
const LONG: Duration = Duration::from_mins(1);

/// Creates a helper from a script.
fn script(text: &str) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("docker-credential-test");
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    (directory, path.display().to_string())
}

#[test]
fn helper_output_is_read() {
    let answer = |text: &str| {
        let (_directory, program) = script(text);
        helper::run(&program, "quay.io", LONG).map(|found| found.as_ref().map(shown))
    };
    let echo = "read server; echo \"{\\\"ServerURL\\\": \\\"$server\\\", \\\"Username\\\": \\\"$1 $server\\\", \\\"Secret\\\": \\\"s\\\"}\"";
    assert_eq!(answer(echo), Ok(Some("get quay.io:s".to_owned())));
    let token = "cat >/dev/null; echo '{\"Username\": \"<token>\", \"Secret\": \"refresh\"}'";
    assert_eq!(answer(token), Ok(Some("token refresh".to_owned())));
    assert_eq!(answer("echo 'credentials not found in native keychain'; exit 1"), Ok(None));
    assert_eq!(answer("echo '{\"Username\": \"\", \"Secret\": \"\"}'"), Ok(Some("nobody".to_owned())));
    for broken in
        ["echo hidden; exit 1", "echo hidden", "echo '{\"Username\": \"hidden\"'", "yes hidden", "exit 0"]
    {
        let error = answer(broken).unwrap_err();
        assert!(!error.contains("hidden"), "{error}");
    }
    assert!(helper::run("/no/such/helper", "quay.io", LONG).unwrap_err().contains("cannot be run"));
}

#[test]
fn hanging_helper_is_stopped() {
    for hanging in ["exec sleep 600", "exec >&-; exec sleep 600"] {
        let (directory, program) = script(&format!("echo $$ > \"$(dirname \"$0\")/pid\"; {hanging}"));
        let file = directory.path().join("pid");
        let started = || std::fs::read_to_string(&file).is_ok_and(|pid| pid.ends_with('\n'));
        // On a slow machine, a script may not have started when the timeout ends it.
        let within = (1..).map(|seconds| Duration::from_millis(300) * seconds);
        let error = within.map(|within| helper::run(&program, "quay.io", within).unwrap_err());
        let error = error.take(20).find(|_| started()).unwrap();
        assert!(error.contains("timed out"), "{error}");
        let pid = std::fs::read_to_string(&file).unwrap();
        assert!(!std::path::Path::new("/proc").join(pid.trim()).exists(), "it is still there");
    }
}
