//! Helm's records in a workload cluster: one Secret `sh.helm.release.v1.<release>.v<revision>` per revision, see
//! <https://helm.sh/docs/topics/advanced/#storage-backends>.

use serde_json::Value;

use super::Cluster;
use crate::error::{Context as _, Error, Result};

/// One revision of a Helm release.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HelmRevision {
    /// The number; 1 is the installation.
    pub revision: u32,
    /// `deployed`, `superseded`, `failed`, `pending-upgrade`, `uninstalling`, ...
    pub status: String,
}

impl Cluster {
    /// The revisions of a Helm release in its storage namespace, oldest first; empty if it was never installed, and if
    /// it was uninstalled.
    pub fn helm_revisions(&self, namespace: &str, release: &str) -> Result<Vec<HelmRevision>> {
        let secrets = self.list_labelled("secrets", namespace, &format!("owner=helm,name={release}"))?;
        let mut revisions = secrets.iter().map(revision).collect::<Result<Vec<HelmRevision>>>()?;
        revisions.sort_by_key(|revision| revision.revision);
        Ok(revisions)
    }

    /// Fails if an installed release has been uninstalled here, or is being uninstalled: no revision is left, or one of
    /// them says so.
    pub fn assert_no_helm_uninstall(&self, namespace: &str, release: &str) -> Result<()> {
        let revisions = self.helm_revisions(namespace, release)?;
        let uninstalled = |revision: &HelmRevision| revision.status.starts_with("uninstall");
        if revisions.is_empty() || revisions.iter().any(uninstalled) {
            let name = self.name();
            return Err(Error::new(format!(
                "Helm uninstalled {namespace}/{release} in {name}: {revisions:?}"
            )));
        }
        Ok(())
    }
}

fn revision(secret: &Value) -> Result<HelmRevision> {
    let label = |name: &str| {
        let label = secret.pointer(&format!("/metadata/labels/{name}")).and_then(Value::as_str);
        label.ok_or_else(|| Error::new(format!("a Secret of Helm has no label {name}: {secret}")))
    };
    let number = label("version")?;
    let revision = number.parse().context(|| format!("{number} is no revision of Helm"))?;
    Ok(HelmRevision { revision, status: label("status")?.to_owned() })
}
