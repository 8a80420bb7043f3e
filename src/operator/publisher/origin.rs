//! The upstream source of a `ClusterStack`, with the Secrets that the `ClusterStack` names.

use secrecy::ExposeSecret as _;

use super::super::context::Context;
use super::super::secrets::{self, SecretData};
use super::hold;
use crate::api::{Reason, Upstream};
use crate::gate::Hold;
use crate::http::{Client, Options, Url};
use crate::release::Limits;
use crate::source::address::Address;
use crate::source::github::{self, GitHubOrigin};
use crate::source::oci::credentials::{Credentials, DockerConfig, Keychain};
use crate::source::oci::signatures::Verification;
use crate::source::oci::{self, OciOrigin};
use crate::source::origin::Origin;
use crate::verify::KeyError;

/// The key of a Secret from `kubectl create secret docker-registry`.
const DOCKER_CONFIG: &str = ".dockerconfigjson";
/// Suffix of the Secret keys that hold public keys, as in Flux. `cosign generate-key-pair k8s://…` writes `cosign.pub`.
const PUBLIC_KEY: &str = ".pub";

/// Opens an upstream source. Sends only requests that read Secrets.
pub(super) async fn open(
    context: &Context,
    namespace: &str,
    upstream: &Upstream,
) -> Result<Box<dyn Origin>, Hold> {
    let invalid = |error: String| hold(Reason::Invalid, format!("source.upstream.url: {error}"));
    let address: Address = upstream.url.parse().map_err(|error| invalid(format!("{error}")))?;
    let client = client(context, namespace, upstream).await?;
    let data = match &upstream.secret_ref {
        Some(reference) => {
            Some((reference.name.as_str(), secrets::read(context, namespace, reference).await?))
        }
        None => None,
    };
    let secret = data.as_ref().map(|(name, data)| Secret { namespace, name, data });
    let failed = |error| hold(Reason::UpstreamUnavailable, format!("{error}"));
    match address {
        Address::Oci(address) => {
            let keychain = secret.map(|secret| secret.keychain()).transpose()?.unwrap_or_default();
            let verification = verification(context, namespace, upstream).await?;
            let plain_http = upstream.insecure;
            let access = oci::Access { plain_http, keychain, verification, ..oci::Access::new(client) };
            Ok(Box::new(OciOrigin::open(&address, &access, Limits::default()).await.map_err(failed)?))
        }
        Address::GitHub(address) => {
            if upstream.verify.is_some() {
                return Err(invalid(
                    "source.upstream.verify is supported for OCI registries only".to_owned(),
                ));
            }
            let token = secret.map(|secret| secret.text("token")).transpose()?;
            let api = Url::parse(github::GITHUB).map_err(|error| invalid(error.to_string()))?;
            let access = github::Access { client, api, plain_http: false, token };
            Ok(Box::new(GitHubOrigin::open(&address, &access, Limits::default()).map_err(failed)?))
        }
        Address::Git(_) | Address::Path(_) => Err(invalid("expected oci:// or github://".to_owned())),
    }
}

async fn client(context: &Context, namespace: &str, upstream: &Upstream) -> Result<Client, Hold> {
    let ca = match &upstream.cert_secret_ref {
        None => None,
        Some(reference) => {
            let data = secrets::read(context, namespace, reference).await?;
            let ca = secrets::text(&data, namespace, &reference.name, "ca.crt")?;
            Some(ca.expose_secret().as_bytes().to_vec())
        }
    };
    let client = Client::new(Options { ca, ..Options::default() });
    client.map_err(|error| hold(Reason::SecretInvalid, error.to_string()))
}

/// Returns the required signatures of releases.
async fn verification(context: &Context, namespace: &str, upstream: &Upstream) -> Result<Verification, Hold> {
    let Some(verify) = &upstream.verify else { return Ok(Verification::Nothing) };
    let data = secrets::read(context, namespace, &verify.secret_ref).await?;
    public_keys(&data).map_err(|error| {
        let message = format!("Secret {namespace}/{}: {error}", verify.secret_ref.name);
        hold(Reason::SecretInvalid, message)
    })
}

/// Returns the public keys in a Secret, of which one must have signed.
fn public_keys(data: &SecretData) -> Result<Verification, String> {
    let found = data.iter().filter(|(name, _)| name.ends_with(PUBLIC_KEY));
    let keys = found.map(|(name, content)| {
        let text = std::str::from_utf8(content).map_err(|_| format!("{name}: this is not PEM"))?;
        text.parse().map_err(|error: KeyError| format!("{name}: {error}"))
    });
    match keys.collect::<Result<Vec<_>, _>>()? {
        keys if keys.is_empty() => Err(format!("none of its keys ends with {PUBLIC_KEY}")),
        keys => Ok(Verification::Keys(keys)),
    }
}

/// A Secret that was read.
struct Secret<'a> {
    namespace: &'a str,
    name: &'a str,
    data: &'a SecretData,
}

impl Secret<'_> {
    fn text(&self, key: &str) -> Result<secrecy::SecretString, Hold> {
        secrets::text(self.data, self.namespace, self.name, key)
    }

    fn keychain(&self) -> Result<Keychain, Hold> {
        let Some(config) = self.data.get(DOCKER_CONFIG) else {
            let user = self.text("username")?.expose_secret().to_owned();
            let given = Credentials::Password { user, password: self.text("password")? };
            return Ok(Keychain { given: Some(given), ..Keychain::default() });
        };
        let docker = DockerConfig::parse(config).map_err(|error| {
            let message = format!("Secret {}/{}: {DOCKER_CONFIG}: {error}", self.namespace, self.name);
            hold(Reason::SecretInvalid, message)
        })?;
        Ok(Keychain { docker, ..Keychain::default() })
    }
}

#[cfg(test)]
mod tests;
