//! Reads signatures from a registry.

use futures::future::BoxFuture;

use super::{Blob, Repository};
use crate::release::Digest;
use crate::source::oci::manifest::Descriptor;
use crate::source::oci::{Reference, Registry};
use crate::source::origin::OriginError;

impl Repository for Registry {
    fn manifest<'a>(&'a self, reference: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, OriginError>> {
        let reference =
            reference.parse().map_or_else(|_| Reference::Tag(reference.to_owned()), Reference::Digest);
        Box::pin(async move {
            match self.document(&reference).await {
                Ok(received) => Ok(Some(received.bytes)),
                Err(OriginError::NotFound { .. }) => Ok(None),
                Err(error) if error.status() == Some(404) => Ok(None),
                Err(error) => Err(error),
            }
        })
    }

    fn referrers<'a>(
        &'a self,
        manifest: &'a Digest,
        artifact_type: &'a str,
    ) -> BoxFuture<'a, Result<Option<Vec<Vec<u8>>>, OriginError>> {
        Box::pin(self.referrers(manifest, artifact_type))
    }

    fn blob<'a>(&'a self, blob: &'a Blob) -> BoxFuture<'a, Result<Vec<u8>, OriginError>> {
        Box::pin(async {
            let Blob { digest, size } = *blob;
            let (media_type, annotations) = Default::default();
            let descriptor = Descriptor { media_type, digest, size, annotations };
            self.blob(&descriptor, size).await
        })
    }
}
