use tempfile::TempDir;

use super::*;
use crate::git::tests::{access, edit, identity};
use crate::git::{BareRepository, CommitId, GitError};

fn program(program: &str, arguments: &[&str], directory: &Path) -> Vec<u8> {
    let output = Command::new(program)
        .args(arguments)
        .env("GNUPGHOME", directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn clone(directory: &TempDir) -> BareRepository {
    BareRepository::open(&directory.path().join("clone"), access(&directory.path().join("remote.git")))
        .unwrap()
}

fn commit(clone: &BareRepository, signer: &Signer) -> Result<CommitId, GitError> {
    let message = "subject\n\nSource: x\n";
    clone.commit(None, &edit(&[("a", "1")]), message, &identity(0), Some(signer)).map(Option::unwrap)
}

fn ssh(key: &str, passphrase: Option<&str>) -> Signer {
    Signer::SshKey { key: SecretString::from(key), passphrase: passphrase.map(SecretString::from) }
}

/// Creates an SSH key, and the file that lists its owner as an allowed signer.
fn ssh_key(directory: &TempDir, passphrase: &str) -> PathBuf {
    let key = directory.path().join("key");
    let arguments = ["-q", "-t", "ed25519", "-N", passphrase, "-f", key.to_str().unwrap()];
    program("ssh-keygen", &arguments, directory.path());
    let public = fs::read_to_string(key.with_extension("pub")).unwrap();
    fs::write(directory.path().join("allowed"), format!("ann@example.org {public}")).unwrap();
    key
}

fn verify(directory: &TempDir, commit: CommitId) {
    let repository = directory.path().join("clone/repository.git");
    let allowed = format!("gpg.ssh.allowedSignersFile={}", directory.path().join("allowed").display());
    let arguments =
        ["-c", &allowed, "-C", repository.to_str().unwrap(), "verify-commit", &commit.to_string()];
    program("git", &arguments, &directory.path().join("gpg"));
}

#[test]
fn commit_signed_with_ssh_is_accepted_by_git() {
    let directory = TempDir::new().unwrap();
    let key = ssh_key(&directory, "");
    let clone = clone(&directory);
    verify(&directory, commit(&clone, &Signer::SshFile(key.clone())).unwrap());
    let text = fs::read_to_string(key).unwrap();
    verify(&directory, commit(&clone, &ssh(text.trim_end(), None)).unwrap());
}

#[test]
fn encrypted_ssh_key_signs_only_with_its_passphrase() {
    let directory = TempDir::new().unwrap();
    let key = fs::read_to_string(ssh_key(&directory, "s3cret \"$phrase'")).unwrap();
    let clone = clone(&directory);
    verify(&directory, commit(&clone, &ssh(&key, Some("s3cret \"$phrase'"))).unwrap());
    for passphrase in [None, Some("another")] {
        let error = commit(&clone, &ssh(&key, passphrase)).unwrap_err().to_string();
        assert!(error.contains("passphrase") && !error.contains("another"), "{error}");
    }
}

#[test]
fn commit_signed_with_gpg_is_accepted_by_git() {
    let directory = TempDir::new().unwrap();
    let home = directory.path().join("gpg");
    fs::create_dir(&home).unwrap();
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
    let batch = ["--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "s3cret phrase"];
    let make = ["--quick-generate-key", "ann@example.org", "ed25519", "sign", "never"];
    program("gpg", &[batch.as_slice(), &make].concat(), &home);
    let export = ["--armor", "--export-secret-keys", "ann@example.org"];
    let key = String::from_utf8(program("gpg", &[batch.as_slice(), &export].concat(), &home)).unwrap();
    let clone = clone(&directory);
    let signer = |passphrase: &str| Signer::GpgKey {
        key: SecretString::from(key.as_str()),
        passphrase: Some(SecretString::from(passphrase)),
    };
    verify(&directory, commit(&clone, &signer("s3cret phrase")).unwrap());
    let error = commit(&clone, &signer("another")).unwrap_err().to_string();
    assert!(error.contains("gpg") && !error.contains("another"), "{error}");
    program("gpgconf", &["--kill", "gpg-agent"], &home);
}

#[test]
fn failed_signature_makes_no_commit() {
    let directory = TempDir::new().unwrap();
    let clone = clone(&directory);
    let error = commit(&clone, &Signer::SshFile(directory.path().join("missing"))).unwrap_err();
    assert!(error.to_string().contains("ssh-keygen failed to sign the commit"), "{error}");
    let error = commit(&clone, &ssh("no key", None)).unwrap_err();
    assert!(!error.to_string().contains("no key"), "{error}");
    let missing = run("no-such-program", Command::new("no-such-program"), b"").unwrap_err();
    assert!(matches!(missing, SignError::Missing("no-such-program")), "{missing}");
}
