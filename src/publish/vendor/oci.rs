//! Charts from OCI registries: one repository for each chart, one tag for each version
//! (<https://helm.sh/docs/topics/registries/>).

use super::{Archive, Chosen, Vendor, VendorError, choose};
use crate::publish::Vendored;
use crate::publish::dependencies::Missing;
use crate::release::{Digest, range};
use crate::source::address::{Address, OciAddress};
use crate::source::oci::{Access, Pulled, Reference, Registry};
use crate::source::origin::OriginError;

/// Media types of the chart layer: the current one, and that of Helm before 3.7.
const CHART: [&str; 2] = ["application/vnd.cncf.helm.chart.content.v1.tar+gzip", "application/tar+gzip"];

impl Vendor {
    /// Finds the chart of a dependency in its registry.
    pub(super) async fn of_registry<'a>(
        &self,
        registry: &str,
        path: &str,
        missing: &'a Missing,
    ) -> Result<Chosen<'a>, VendorError> {
        let repository = format!("{registry}/{path}/{}", missing.name).replace("//", "/");
        let wanted = missing.wanted();
        // An exact version is a tag, so the list of tags, which may be very long, is not needed.
        let version = if range::version(wanted).is_some_and(|version| is_exact(wanted, &version)) {
            wanted.to_owned()
        } else {
            let (address, opened) = self.registry(missing, &repository).await?;
            let tags = opened.tags().await.map_err(|error| failed(missing, error))?;
            let versions: Vec<String> = tags.iter().map(|tag| tag.replace('_', "+")).collect();
            choose(missing, versions.iter().map(String::as_str), &address.to_string())?.to_owned()
        };
        let reference = format!("{repository}:{}", version.replace('+', "_"));
        Ok(Chosen { missing, version, archive: Archive::Registry { reference, expected: None } })
    }

    /// Fetches the chart at `host/repository:tag`. Its manifest names the digest of the archive, which must be `expected` if
    /// the index of a Helm repository names one.
    pub(super) async fn of_reference(
        &self,
        chosen: &Chosen<'_>,
        reference: &str,
        expected: Option<Digest>,
        most: u64,
    ) -> Result<Vendored, VendorError> {
        let Chosen { missing, version, .. } = chosen;
        let refused = |why: String| VendorError::Refused {
            place: format!("oci://{reference}"),
            chart: format!("{} {version}", missing.name),
            why,
        };
        let (repository, tag) = match reference.rsplit_once(':') {
            Some((repository, tag)) if !tag.contains('/') => (repository, tag),
            _ => return Err(refused("the address has no tag".to_owned())),
        };
        let (address, registry) = self.registry(missing, repository).await?;
        let pulled = registry.manifest(&Reference::Tag(tag.to_owned())).await;
        let Pulled { digest: of_manifest, manifest, .. } = pulled.map_err(|error| failed(missing, error))?;
        let mut charts = manifest.layers.iter().filter(|layer| CHART.contains(&layer.media_type.as_str()));
        let (Some(layer), None) = (charts.next(), charts.next()) else {
            return Err(refused("expected exactly one layer that is a Helm chart".to_owned()));
        };
        if let Some(expected) = expected.filter(|expected| *expected != layer.digest) {
            return Err(refused(format!("digest mismatch: expected {expected}, got {}", layer.digest)));
        }
        let content = registry.blob(layer, most).await.map_err(|error| failed(missing, error))?;
        Ok(chosen.vendored(format!("{address}:{tag}@{of_manifest}"), layer.digest, content))
    }

    async fn registry(
        &self,
        missing: &Missing,
        repository: &str,
    ) -> Result<(OciAddress, Registry), VendorError> {
        let refused = |why: String| VendorError::Refused {
            place: format!("oci://{repository}"),
            chart: missing.name.clone(),
            why,
        };
        let parsed = format!("oci://{repository}").parse();
        let address = match parsed {
            Ok(Address::Oci(address)) if address.release.is_none() && address.digest.is_none() => address,
            Ok(_) => return Err(refused("it is not a repository of a registry".to_owned())),
            Err(error) => return Err(refused(error.to_string())),
        };
        let registry = Registry::open(&address, &self.access_to(&address.registry)).await;
        Ok((address, registry.map_err(|error| failed(missing, error))?))
    }

    /// Restricts the credentials and plain HTTP of one registry to that registry.
    pub(super) fn access_to(&self, registry: &str) -> Access {
        let mut access = self.access.clone();
        if self.named.as_deref() != Some(registry) {
            access.plain_http = false;
            access.keychain.given = None;
        }
        access
    }
}

/// Whether a range is one complete version.
fn is_exact(text: &str, version: &semver::Version) -> bool {
    text.strip_prefix('v').unwrap_or(text) == version.to_string()
}

fn failed(missing: &Missing, error: OriginError) -> VendorError {
    VendorError::Origin { chart: missing.name.clone(), error: Box::new(error) }
}
