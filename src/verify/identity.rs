//! Signatures of identities ("keyless"): a certificate that lives for minutes, a log that proves when it was used, and
//! the roots of trust of both, which change. stackflux does not check these; Flux does, and this is how to ask it.

use regex::escape;
use serde_json::{Value, json};

use crate::names::ReleaseName;
use crate::release::Digest;

/// Who must have signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The subject of the certificate, such as an e-mail address or the address of a workflow.
    pub subject: String,
    /// Who vouched for the subject: the address of an `OpenID` Connect provider.
    pub issuer: String,
}

impl Identity {
    /// An `OCIRepository` that is Ready once Flux found a signature of this identity for the manifest: `repository` is
    /// `oci://host/path`. It copies the artifact's first layer, which nobody needs, so that there is something to fetch.
    #[must_use]
    pub fn checked_by_flux(&self, release: &ReleaseName, repository: &str, manifest: &Digest) -> Value {
        let exactly = |text: &str| format!("^{}$", escape(text));
        json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1",
            "kind": "OCIRepository",
            "metadata": {"name": release.to_string()},
            "spec": {
                "interval": "24h",
                "url": repository,
                "ref": {"digest": manifest.to_string()},
                "layerSelector": {"operation": "copy"},
                "verify": {
                    "provider": "cosign",
                    "matchOIDCIdentity": [{"issuer": exactly(&self.issuer), "subject": exactly(&self.subject)}],
                },
            },
        })
    }
}
