//! Reads the only Secrets that the operator needs: those that a `ClusterStack` names for publishing and for delivery
//! through Git.
//!
//! Each Secret is read when it is needed, and neither watched nor cached. The default installation does not include the
//! Role for Secrets; see `docs/reference/servers.md`.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use secrecy::SecretString;

use super::context::Context;
use crate::api::Reason;
use crate::api::git_commit::{GitCommit, LocalReference};
use crate::gate::Hold;
use crate::git::{Access, Credentials, GitUrl, Signer};
use crate::runtime::cache::Key;

/// The data of a Secret, by key.
pub type SecretData = BTreeMap<String, Vec<u8>>;

/// Reads a Secret of a namespace. The returned hold is for the object that names the Secret.
pub async fn read(
    context: &Context,
    namespace: &str,
    reference: &LocalReference,
) -> Result<SecretData, Hold> {
    let key = Key::new(namespace, &reference.name);
    let found: Option<Secret> =
        context.api.get(&key).await.map_err(|error| invalid(format!("cannot read Secret {key}: {error}")))?;
    let found = found.ok_or_else(|| invalid(format!("Secret {key} does not exist")))?;
    Ok(found.data.unwrap_or_default().into_iter().map(|(key, bytes)| (key, bytes.0)).collect())
}

/// Returns the text at a key of a Secret.
pub fn text(data: &SecretData, namespace: &str, name: &str, key: &str) -> Result<SecretString, Hold> {
    let bytes =
        data.get(key).ok_or_else(|| invalid(format!("Secret {namespace}/{name} has no key {key}")))?;
    let text = std::str::from_utf8(bytes);
    let text = text.map_err(|_| invalid(format!("Secret {namespace}/{name}: {key} is not UTF-8 text")))?;
    Ok(SecretString::from(text.trim_end().to_owned()))
}

/// Returns the access to a Git repository.
pub async fn git_access(
    context: &Context,
    namespace: &str,
    url: &str,
    reference: Option<&LocalReference>,
) -> Result<Access, Hold> {
    let url: GitUrl = url.parse().map_err(|error| invalid(format!("{error}")))?;
    let credentials = match reference {
        None => Credentials::default(),
        Some(reference) => {
            let data = read(context, namespace, reference).await?;
            let name = format!("{namespace}/{}", reference.name);
            Credentials::from_secret(&name, &data).map_err(|error| invalid(error.to_string()))?
        }
    };
    Ok(Access { url, credentials })
}

/// Returns the key that signs commits, if one is named.
pub async fn signer(context: &Context, namespace: &str, commit: &GitCommit) -> Result<Option<Signer>, Hold> {
    let Some(key) = &commit.signing_key else { return Ok(None) };
    let (data, name) = (read(context, namespace, &key.secret_ref).await?, &key.secret_ref.name);
    let passphrase = data.contains_key("passphrase");
    let passphrase = passphrase.then(|| text(&data, namespace, name, "passphrase")).transpose()?;
    if data.contains_key("git.asc") {
        let key = text(&data, namespace, name, "git.asc")?;
        return Ok(Some(Signer::GpgKey { key, passphrase }));
    }
    if !data.contains_key("identity") {
        return Err(invalid(format!("Secret {namespace}/{name} has neither git.asc nor identity")));
    }
    Ok(Some(Signer::SshKey { key: text(&data, namespace, name, "identity")?, passphrase }))
}

fn invalid(message: String) -> Hold {
    Hold { reason: Reason::SecretInvalid, message }
}
