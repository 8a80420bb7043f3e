//! Manifests by the OCI image specification, and by Docker's before it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, de};

use crate::release::finding::shortened;
use crate::release::{Digest, File, Files, Limits};

/// Annotation with the file name of a layer.
const TITLE: &str = "org.opencontainers.image.title";
/// Annotation with the creation time of a release.
const CREATED: &str = "org.opencontainers.image.created";
/// Annotation with which oras marks a directory that it packed.
const UNPACK: &str = "io.deis.oras.content.unpack";

/// The descriptor of a blob or manifest.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// Media type. Builders differ, so it is ignored for releases.
    #[serde(default)]
    pub media_type: String,
    /// Digest of the content.
    #[serde(deserialize_with = "digest")]
    pub digest: Digest,
    /// Size of the content in bytes.
    pub size: u64,
    /// Annotations.
    #[serde(default, deserialize_with = "or_default")]
    pub annotations: BTreeMap<String, String>,
}

impl Descriptor {
    /// Returns the file name of the layer.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.annotations.get(TITLE).map(String::as_str)
    }
}

/// The manifest of a release or another artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The layers, in order.
    pub layers: Vec<Descriptor>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
}

/// A document of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Document {
    /// A manifest.
    Manifest(Manifest),
    /// An index: a list of manifests.
    Index(Vec<Descriptor>),
}

/// The fields of both documents.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    schema_version: u32,
    layers: Option<Vec<Descriptor>>,
    manifests: Option<Vec<Descriptor>>,
    #[serde(default, deserialize_with = "or_default")]
    annotations: BTreeMap<String, String>,
}

impl Document {
    /// Parses a document; the error quotes nothing of it.
    pub fn parse(json: &[u8]) -> Result<Self, String> {
        let wire: Wire = serde_json::from_slice(json).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            format!("invalid OCI or Docker manifest (line {line}, column {column})")
        })?;
        match wire {
            Wire { schema_version, .. } if schema_version != 2 => {
                Err(format!("unsupported manifest schema version {schema_version}: expected 2"))
            }
            // Clients read a document that is both in different ways (CVE-2021-41190).
            Wire { layers: Some(_), manifests: Some(_), .. } => {
                Err("it is a manifest and a list of manifests at once, which is ambiguous".to_owned())
            }
            Wire { manifests: Some(manifests), .. } => Ok(Self::Index(manifests)),
            Wire { layers: Some(layers), annotations, .. } => {
                Ok(Self::Manifest(Manifest { layers, annotations }))
            }
            Wire { .. } => Err("it has no layers".to_owned()),
        }
    }
}

impl Manifest {
    /// Returns the layers that are files of a release, with their names. Reports an invalid layer before any of them is
    /// fetched.
    pub fn files(&self, limits: &Limits) -> Result<Vec<(String, Descriptor)>, String> {
        let titled: Vec<(&str, &Descriptor)> =
            self.layers.iter().filter_map(|layer| Some((layer.title()?, layer))).collect();
        if titled.is_empty() {
            return Err(format!("no layer has the annotation {TITLE}, so it is not a release"));
        }
        if titled.len() > limits.entries {
            let (most, has) = (limits.entries, titled.len());
            return Err(format!("the release exceeds the limit of {most} files: it has {has}"));
        }
        let size = titled.iter().fold(0, |size: u64, (_, layer)| size.saturating_add(layer.size));
        if size > limits.unpacked {
            let most = limits.unpacked;
            return Err(format!("the release exceeds the limit of {most} bytes: it has {size}"));
        }
        let mut names = Files::default();
        for (title, layer) in &titled {
            let empty = File { content: Vec::new(), executable: false };
            names
                .insert(title, empty)
                .map_err(|error| format!("a layer has the title {}: {error}", shown(title)))?;
            if layer.annotations.get(UNPACK).is_some_and(|unpack| unpack == "true") {
                return Err(format!(
                    "the layer {} is a directory that oras packed: push files instead",
                    shown(title)
                ));
            }
        }
        Ok(titled.into_iter().map(|(title, layer)| (title.to_owned(), layer.clone())).collect())
    }

    /// Returns the creation time in the annotations.
    #[must_use]
    pub fn created(&self) -> Option<Timestamp> {
        self.annotations.get(CREATED)?.parse().ok()
    }
}

/// Shortens and escapes a title for messages.
fn shown(title: &str) -> String {
    format!("{:?}", shortened(title, 100))
}

fn digest<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
}

/// Deserializes a map that may be `null`.
fn or_default<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
