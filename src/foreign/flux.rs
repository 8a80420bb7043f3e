//! The kinds of Flux 2.9: an authored view per kind (the fields that stackflux applies, serialised only) and an observed
//! view (metadata, conditions and the status fields that stackflux reads).
//!
//! Field names and meanings are those of Flux's API reference (`docs/spec` of each controller). An authored view holds
//! exactly the fields that stackflux sets and so owns. All other fields are left to Flux's defaults or to other managers.

pub mod definition;
pub mod helm;
mod kind;
pub mod kustomize;
pub mod observed;
pub mod ownership;
pub mod source;

use std::collections::BTreeMap;

use serde::Serialize;

pub use self::kind::FluxKind;
use crate::names::{Namespace, ObjectName};

/// A whole object as it is applied.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Authored<Spec> {
    /// Group and version.
    pub api_version: &'static str,
    /// The kind.
    pub kind: FluxKind,
    /// Name, labels and annotations.
    pub metadata: Metadata,
    /// The desired state.
    pub spec: Spec,
}

/// The metadata that stackflux sets.
#[derive(Clone, Debug, Serialize)]
pub struct Metadata {
    /// The name.
    #[serde(serialize_with = "as_text")]
    pub name: ObjectName,
    /// The namespace.
    #[serde(serialize_with = "as_text")]
    pub namespace: Namespace,
    /// Labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<&'static str, String>,
    /// Annotations.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<&'static str, String>,
}

/// A kind of Flux that stackflux applies.
pub trait Kind: Serialize {
    /// The kind.
    const KIND: FluxKind;
}

impl<Spec: Kind> Authored<Spec> {
    /// Creates an object of the specification's kind.
    #[must_use]
    pub fn new(metadata: Metadata, spec: Spec) -> Self {
        Self { api_version: Spec::KIND.api_version(), kind: Spec::KIND, metadata, spec }
    }
}

/// A reference to an object of the same namespace by name.
#[derive(Clone, Debug, Serialize)]
pub struct LocalReference<'a> {
    /// The name.
    pub name: &'a str,
}

/// A reference to an object by kind and name, with its namespace if it differs from the referrer's.
#[derive(Clone, Debug, Serialize)]
pub struct Reference<'a> {
    /// The kind.
    pub kind: FluxKind,
    /// The name.
    pub name: &'a str,
    /// The namespace; absent for the referrer's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<&'a str>,
}

/// The Secret with a kubeconfig, and the key in it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KubeConfig<'a> {
    /// The Secret, in the namespace of the object that refers to it.
    pub secret_ref: SecretKeyReference<'a>,
}

/// A Secret of the same namespace and one of its keys.
#[derive(Clone, Debug, Serialize)]
pub struct SecretKeyReference<'a> {
    /// The name.
    pub name: &'a str,
    /// The key.
    pub key: &'a str,
}

fn as_text<S: serde::Serializer>(name: &impl ToString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&name.to_string())
}
