//! OCI images, as a layout of files that tools copy to a registry
//! ([image layout](https://github.com/opencontainers/image-spec/blob/main/image-layout.md)).

use std::path::Path;
use std::{fs, io};

use serde_json::{Value, json};

use crate::archive::{gzip, sha256};

/// The user of the containers, as in distroless images.
pub(crate) const USER: &str = "65532";

/// An image for Linux on amd64.
pub(crate) struct Image {
    /// The name that tools select it by.
    pub(crate) tag: String,
    /// The layers as tar files, the lowest first.
    pub(crate) layers: Vec<Vec<u8>>,
    pub(crate) entrypoint: Vec<&'static str>,
}

/// Writes a layout with these images to a directory that does not exist.
pub(crate) fn write(directory: &Path, version: &str, images: Vec<Image>) -> io::Result<()> {
    let blobs = directory.join("blobs/sha256");
    fs::create_dir_all(&blobs)?;
    let blob = |media_type: &str, bytes: &[u8]| -> io::Result<Value> {
        let digest = sha256(bytes);
        fs::write(blobs.join(&digest), bytes)?;
        Ok(json!({"mediaType": media_type, "digest": format!("sha256:{digest}"), "size": bytes.len()}))
    };
    let mut manifests = Vec::new();
    for Image { tag, layers, entrypoint } in images {
        let (mut descriptors, mut diffs) = (Vec::new(), Vec::new());
        for layer in layers {
            diffs.push(format!("sha256:{}", sha256(&layer)));
            descriptors.push(blob("application/vnd.oci.image.layer.v1.tar+gzip", &gzip(&layer)?)?);
        }
        let labels = json!({
            "org.opencontainers.image.title": "stackflux", "org.opencontainers.image.version": version,
            "org.opencontainers.image.licenses": "Apache-2.0",
        });
        let config = json!({
            "architecture": "amd64", "os": "linux",
            "config": {
                "User": format!("{USER}:{USER}"), "WorkingDir": "/data", "Entrypoint": entrypoint,
                "Env": ["PATH=/usr/local/bin:/usr/bin:/bin"], "Labels": labels,
            },
            "rootfs": {"type": "layers", "diff_ids": diffs},
        });
        let config = blob("application/vnd.oci.image.config.v1+json", config.to_string().as_bytes())?;
        let media_type = "application/vnd.oci.image.manifest.v1+json";
        let manifest = json!({
            "schemaVersion": 2, "mediaType": media_type, "config": config, "layers": descriptors,
            "annotations": labels,
        });
        let mut described = blob(media_type, manifest.to_string().as_bytes())?;
        if let Some(fields) = described.as_object_mut() {
            fields.insert("platform".to_owned(), json!({"architecture": "amd64", "os": "linux"}));
            fields.insert("annotations".to_owned(), json!({"org.opencontainers.image.ref.name": tag}));
        }
        manifests.push(described);
    }
    let index = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests,
    });
    fs::write(directory.join("index.json"), index.to_string())?;
    fs::write(directory.join("oci-layout"), json!({"imageLayoutVersion": "1.0.0"}).to_string())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;
    use crate::archive::{Entry, tar};

    fn layout(directory: &Path) {
        let binary = || tar(vec![Entry::program("stackflux", "binary")]).unwrap();
        let image =
            |tag: &str, layers| Image { tag: tag.to_owned(), layers, entrypoint: vec!["/usr/stackflux"] };
        let root = tar(vec![Entry::file("passwd", "stackflux")]).unwrap();
        let images = vec![image("0.1.0", vec![root, binary()]), image("0.1.0-scratch", vec![binary()])];
        write(directory, "0.1.0", images).unwrap();
    }

    /// Returns a blob by its descriptor, whose digest and size must be right.
    fn blob(directory: &Path, descriptor: &Value) -> Vec<u8> {
        let digest = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
        let bytes = fs::read(directory.join("blobs/sha256").join(digest)).unwrap();
        assert_eq!(
            (sha256(&bytes).as_str(), descriptor["size"].as_u64()),
            (digest, Some(bytes.len() as u64))
        );
        bytes
    }

    #[test]
    fn each_descriptor_is_that_of_its_content() {
        let directory = tempfile::tempdir().unwrap();
        layout(directory.path());
        let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
        let index = json(&fs::read(directory.path().join("index.json")).unwrap());
        let manifests = index["manifests"].as_array().unwrap();
        let tags = manifests
            .iter()
            .map(|it| it["annotations"]["org.opencontainers.image.ref.name"].as_str().unwrap());
        assert_eq!(tags.collect::<Vec<_>>(), ["0.1.0", "0.1.0-scratch"]);
        for (descriptor, count) in manifests.iter().zip([2, 1]) {
            let manifest = json(&blob(directory.path(), descriptor));
            let config = json(&blob(directory.path(), &manifest["config"]));
            assert_eq!(config["config"]["User"], "65532:65532");
            let (layers, diffs) = (manifest["layers"].as_array().unwrap(), &config["rootfs"]["diff_ids"]);
            assert_eq!((layers.len(), diffs.as_array().unwrap().len()), (count, count));
            for (layer, diff) in layers.iter().zip(diffs.as_array().unwrap()) {
                let (bytes, mut plain) = (blob(directory.path(), layer), Vec::new());
                GzDecoder::new(bytes.as_slice()).read_to_end(&mut plain).unwrap();
                assert_eq!(*diff, format!("sha256:{}", sha256(&plain)));
            }
        }
    }

    #[test]
    fn layout_is_reproducible() {
        let [one, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        layout(one.path());
        layout(other.path());
        let index = |directory: &tempfile::TempDir| fs::read(directory.path().join("index.json")).unwrap();
        assert_eq!(index(&one), index(&other));
    }
}
