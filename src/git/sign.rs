//! Signs commits as Git does: with `ssh-keygen` or `gpg`.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use secrecy::{ExposeSecret as _, SecretString};

use crate::temporary::Temporary;

/// Maximum length of a program's text in an error.
const MAX_MESSAGE_CHARACTERS: usize = 1_000;

/// Script that prints the passphrase of a key from a file: the passphrase is in no argument and no variable.
const ASKPASS: &str = "#!/bin/sh\nexec cat \"$STACKFLUX_PASSPHRASE_FILE\"\n";

/// An error in signing a commit.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    /// The program is not installed.
    #[error("cannot sign the commit: the program {0} is missing on this machine")]
    Missing(&'static str),
    /// The program failed.
    #[error("{program} failed to sign the commit: {message}")]
    Failed {
        /// The program.
        program: &'static str,
        /// The program's text.
        message: String,
    },
    /// Starting the program or writing its files failed.
    #[error("cannot sign the commit: {0}")]
    Io(#[from] io::Error),
}

impl SignError {
    /// Suggests how to fix the error.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Missing("ssh-keygen") => Some("install OpenSSH's client (Debian: openssh-client)"),
            Self::Missing(_) => Some("install GnuPG (Debian: gnupg)"),
            Self::Failed { .. } | Self::Io(_) => None,
        }
    }
}

/// A key to sign commits with.
#[derive(Clone, Debug)]
pub enum Signer {
    /// A file with an SSH key: a private key, or a public key whose private key is in the SSH agent.
    SshFile(PathBuf),
    /// An SSH private key.
    SshKey {
        /// The key in OpenSSH's format or as PEM.
        key: SecretString,
        /// The passphrase of the key.
        passphrase: Option<SecretString>,
    },
    /// A key in the user's GnuPG keyring, by key id, fingerprint or user id.
    GpgKeyId(String),
    /// An exported GnuPG private key, which is imported into a keyring of its own.
    GpgKey {
        /// The armoured export.
        key: SecretString,
        /// The passphrase of the key.
        passphrase: Option<SecretString>,
    },
}

impl Signer {
    /// Returns the signature of a commit's content.
    pub(super) fn sign(&self, content: &[u8]) -> Result<String, SignError> {
        let signature = match self {
            Self::SshFile(path) => run("ssh-keygen", ssh_keygen(path), content)?,
            Self::SshKey { key, passphrase } => {
                let directory = Temporary::new("stackflux-key-")?;
                ssh_with(&directory, key, passphrase.as_ref(), content)?
            }
            Self::GpgKeyId(id) => gpg(None, &["--local-user", id], content)?,
            Self::GpgKey { key, passphrase } => {
                let keyring = Keyring::new(key, passphrase.as_ref())?;
                gpg(Some(&keyring), &[], content)?
            }
        };
        Ok(signature.trim_end().to_owned())
    }
}

fn ssh_keygen(key: &Path) -> Command {
    let mut command = Command::new("ssh-keygen");
    command.args(["-q", "-Y", "sign", "-n", "git", "-f"]).arg(key);
    command
}

/// Signs with a key that is written to a directory that only its owner can read.
fn ssh_with(
    directory: &Temporary,
    key: &SecretString,
    passphrase: Option<&SecretString>,
    content: &[u8],
) -> Result<String, SignError> {
    let path = directory.path().join("key");
    // ssh-keygen requires the final line end, which a Secret may lack.
    write_secret(&path, &format!("{}\n", key.expose_secret().trim_end()))?;
    let mut command = ssh_keygen(&path);
    if let Some(passphrase) = passphrase {
        let file = directory.path().join("passphrase");
        write_secret(&file, passphrase.expose_secret())?;
        // ssh-keygen reads the passphrase only from a terminal or from the program in SSH_ASKPASS.
        let ask = directory.path().join("askpass");
        fs::write(&ask, ASKPASS)?;
        fs::set_permissions(&ask, fs::Permissions::from_mode(0o700))?;
        command
            .env("SSH_ASKPASS", &ask)
            .env("SSH_ASKPASS_REQUIRE", "force")
            .env("STACKFLUX_PASSPHRASE_FILE", &file);
    } else {
        // No user is there to answer a prompt.
        command.env("SSH_ASKPASS_REQUIRE", "never");
    }
    run("ssh-keygen", command, content)
}

fn gpg(keyring: Option<&Keyring>, arguments: &[&str], content: &[u8]) -> Result<String, SignError> {
    let mut command = Command::new("gpg");
    if let Some(keyring) = keyring {
        keyring.use_in(&mut command);
    }
    command.args(["--detach-sign", "--armor"]).args(arguments);
    run("gpg", command, content)
}

/// A GnuPG home directory with one key, removed on drop.
struct Keyring {
    directory: Temporary,
    passphrase: Option<PathBuf>,
}

impl Keyring {
    fn new(key: &SecretString, passphrase: Option<&SecretString>) -> Result<Self, SignError> {
        let directory = Temporary::new("stackflux-gpg-")?;
        let path = directory.path().join("passphrase");
        if let Some(passphrase) = passphrase {
            write_secret(&path, passphrase.expose_secret())?;
        }
        let keyring = Self { passphrase: passphrase.map(|_| path), directory };
        let mut command = Command::new("gpg");
        keyring.use_in(&mut command);
        command.arg("--import");
        run("gpg", command, key.expose_secret().as_bytes())?;
        Ok(keyring)
    }

    fn use_in(&self, command: &mut Command) {
        command.env("GNUPGHOME", self.directory.path());
        command.args(["--batch", "--no-tty", "--quiet", "--pinentry-mode", "loopback"]);
        if let Some(passphrase) = &self.passphrase {
            command.arg("--passphrase-file").arg(passphrase);
        }
    }
}

impl Drop for Keyring {
    /// Stops the agent that GnuPG leaves running for each home directory.
    fn drop(&mut self) {
        let mut command = Command::new("gpgconf");
        command.args([OsStr::new("--homedir"), self.directory.path().as_os_str()]);
        command.args(["--kill", "gpg-agent"]);
        // If this fails, the agent exits by itself when it notices that its directory is gone.
        let _ended_later = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

fn write_secret(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

fn run(program: &'static str, mut command: Command, input: &[u8]) -> Result<String, SignError> {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => SignError::Missing(program),
        _ => SignError::Io(error),
    })?;
    // The program reads all input before it writes. If it exits earlier, its stderr has the cause.
    let written = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(input));
    let output = child.wait_with_output()?;
    if output.status.success() && written.is_ok() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let message = lines
        .join("; ")
        .chars()
        .filter(|character| !character.is_control())
        .take(MAX_MESSAGE_CHARACTERS)
        .collect();
    Err(SignError::Failed { program, message })
}

#[cfg(test)]
mod tests;
