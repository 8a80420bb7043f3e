//! Signatures of identities ("keyless"): a certificate that is valid for minutes, a log that proves when it was used, and
//! changing roots of trust for both. stackflux does not verify these; this module writes the object that lets Flux do it.

use regex::escape;
use serde_json::{Value, json};

use crate::names::ReleaseName;
use crate::release::Digest;

/// The identity that must have signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Subject of the certificate, such as an email address or the URL of a workflow.
    pub subject: String,
    /// Issuer that authenticated the subject: the URL of an `OpenID` Connect provider.
    pub issuer: String,
}

impl Identity {
    /// Returns an `OCIRepository` that becomes Ready when Flux has found a signature of this identity for the manifest.
    /// `repository` is `oci://host/path`. It copies the first layer only because Flux requires something to fetch.
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
