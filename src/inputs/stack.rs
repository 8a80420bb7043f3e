//! A `ClusterStack` as plans need it: its name, its source and its settings.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::api::cluster_stack::UpgradeGate;
use crate::api::labels::ALLOWED_NAMESPACES;
use crate::api::{
    ClusterStack, ComponentSettings, Delivery, FluxSettings, GitReference, GitSource, Reason,
    SourcePlacement, StackSource as Wanted,
};
use crate::foreign::capi::{Cluster, field};
use crate::foreign::flux::source::{Access, git_repository};
use crate::inputs::line::Line;
use crate::names::credentials::has_credentials;
use crate::names::{NameError, Namespace, ObjectName};

/// The reason why a `ClusterStack` cannot be planned.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// It does not name a source, and the operator does not have a default.
    #[error(
        "ClusterStack {0} has no spec.source: set source.upstream.url, source.git.url or source.gitRepositoryRef"
    )]
    NoSource(String),
    /// It names only where releases are published, and the operator serves no stack repositories.
    #[error(
        "ClusterStack {0} names only source.upstream, and the operator serves no stack repositories: start it with \
         --builtin-url, or set source.git.url"
    )]
    NotServed(String),
    /// It refers to a `GitRepository` that was not found.
    #[error("ClusterStack {stack} refers to GitRepository {namespace}/{name}, which does not exist")]
    SourceNotFound {
        /// The `ClusterStack`.
        stack: String,
        /// The `GitRepository`'s namespace.
        namespace: String,
        /// The `GitRepository`'s name.
        name: String,
    },
    /// It refers to a `GitRepository` of another namespace, which is not allowed.
    #[error(
        "ClusterStack {stack} refers to GitRepository {namespace}/{name}, and --no-cross-namespace-refs is set"
    )]
    AccessDenied {
        /// The `ClusterStack`.
        stack: String,
        /// The `GitRepository`'s namespace.
        namespace: String,
        /// The `GitRepository`'s name.
        name: String,
    },
    /// It refers to a `GitRepository` of another namespace, whose owner has not allowed that.
    #[error(
        "ClusterStack {stack} refers to GitRepository {namespace}/{name}, which does not allow namespace {from} in its \
         annotation {ALLOWED_NAMESPACES}: nothing is written, and what was delivered stays; its owner allows it with: \
         {command}"
    )]
    SourceNotAllowed {
        /// The `ClusterStack`.
        stack: String,
        /// The `GitRepository`'s namespace.
        namespace: String,
        /// The `GitRepository`'s name.
        name: String,
        /// The namespace of the `ClusterStack`.
        from: String,
        /// The command that allows the namespace.
        command: String,
    },
    /// The `GitRepository` has a field whose shape is not Flux's.
    #[error("GitRepository {name}: {source}")]
    SourceInvalid {
        /// The `GitRepository`'s name.
        name: String,
        /// The problem.
        source: serde_json::Error,
    },
    /// The address of its source holds credentials, which plans would copy and print.
    #[error(
        "GitRepository {0}: its URL holds a user or a password: move them to the Secret that secretRef names"
    )]
    Credentials(String),
    /// A name that Kubernetes would refuse.
    #[error(transparent)]
    Name(#[from] NameError),
}

impl StackError {
    /// Returns the reason for a status.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match self {
            Self::NoSource(_) | Self::NotServed(_) => Reason::NoSource,
            Self::SourceNotFound { .. } => Reason::SourceNotFound,
            Self::AccessDenied { .. } => Reason::AccessDenied,
            Self::SourceNotAllowed { .. } => Reason::SourceNotAllowed,
            Self::SourceInvalid { .. } | Self::Credentials(_) | Self::Name(_) => Reason::Invalid,
        }
    }
}

/// A `ClusterStack`'s name, source and settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Stack {
    /// The name.
    pub name: ObjectName,
    /// The namespace of the `ClusterStack`, its classes and its node images.
    pub namespace: Namespace,
    /// The UID of the `ClusterStack`; empty if it is not one of a cluster.
    pub uid: String,
    /// The line of the stack's releases, for any Kubernetes version.
    pub line: Line,
    /// The source of the stack's releases.
    pub source: StackSource,
    /// The user's settings for the Flux objects.
    pub flux: FluxSettings,
    /// Access to the repositories of components.
    pub components: ComponentSettings,
    /// The delivery of the objects to the API server. Plans do not depend on it.
    pub delivery: Delivery,
    /// Whether upgrades of Clusters to another Kubernetes version wait for their addons.
    pub upgrade_gate: UpgradeGate,
}

/// The followed `GitRepository`, with the fields that pinned ones copy.
#[derive(Clone, Debug, PartialEq)]
pub struct StackSource {
    /// The name of the `GitRepository`.
    pub name: ObjectName,
    /// The namespace of the `GitRepository`. Pinned repositories and charts are in it too.
    pub namespace: Namespace,
    /// The repository.
    pub url: String,
    /// Access to the repository, and its verification.
    pub access: Access,
    /// The directory with the releases.
    pub path: String,
    /// The reference and interval to follow, if stackflux writes the `GitRepository`; `None` if another owner does.
    pub followed: Option<Followed>,
    /// Whether it is the built-in stack repository, in which each release has a commit and a branch of its own.
    pub is_builtin: bool,
}

/// The reference that the followed `GitRepository` follows, and its interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// Flux's `spec.ref`.
    pub reference: Value,
    /// The interval as a Go duration.
    pub interval: String,
}

impl Stack {
    /// Reads a `ClusterStack`. `default` is the source of those that name none; `objects` holds the `GitRepository` that
    /// it may refer to.
    pub fn new<'a>(
        stack: &ClusterStack,
        default: Option<&Wanted>,
        objects: impl Iterator<Item = &'a Value>,
    ) -> Result<Self, StackError> {
        let source = stack.spec.source.as_ref().or(default);
        let none = || StackError::NoSource(stack.metadata.name.clone().unwrap_or_default());
        Self::with_source(stack, source.ok_or_else(none)?, objects)
    }

    /// Reads a `ClusterStack` that has this source.
    pub(super) fn with_source<'a>(
        stack: &ClusterStack,
        source: &Wanted,
        objects: impl Iterator<Item = &'a Value>,
    ) -> Result<Self, StackError> {
        let name: ObjectName = stack.metadata.name.as_deref().unwrap_or_default().parse()?;
        let namespace: Namespace = stack.metadata.namespace.as_deref().unwrap_or("default").parse()?;
        let path = source.release_path().to_owned();
        let source = match (&source.git, &source.git_repository_ref) {
            (Some(git), _) => StackSource::created(&name, &namespace, git, path)?,
            (None, Some(reference)) => {
                let of = reference.namespace.as_deref().unwrap_or(namespace.as_str());
                StackSource::referenced(&name, of, &reference.name, path, objects)?
            }
            (None, None) if source.upstream.is_some() => return Err(StackError::NotServed(name.to_string())),
            (None, None) => return Err(StackError::NoSource(name.to_string())),
        };
        if has_credentials(&source.url) {
            return Err(StackError::Credentials(format!("{}/{}", source.namespace, source.name)));
        }
        Ok(Self {
            name,
            namespace,
            uid: stack.metadata.uid.clone().unwrap_or_default(),
            line: Line::of_stack(&stack.spec),
            source,
            flux: stack.spec.flux.clone(),
            components: stack.spec.components.clone(),
            delivery: stack.spec.delivery.clone(),
            upgrade_gate: stack.spec.upgrade_gate,
        })
    }

    /// Returns namespace and name of the `GitRepository` that a `ClusterStack` follows. `None` if it names no source
    /// and there is no `default`, or if its own name does not give a valid one: then [`Stack::new`] fails with the
    /// reason.
    #[must_use]
    pub fn source_key(stack: &ClusterStack, default: Option<&Wanted>) -> Option<(String, String)> {
        let source = stack.spec.source.as_ref().or(default)?;
        let namespace = stack.metadata.namespace.as_deref().unwrap_or("default");
        match &source.git_repository_ref {
            Some(reference) if source.git.is_none() => {
                let namespace = reference.namespace.as_deref().unwrap_or(namespace);
                Some((namespace.to_owned(), reference.name.clone()))
            }
            _ => {
                let name = catalog_name(stack.metadata.name.as_deref().unwrap_or_default()).ok()?;
                Some((namespace.to_owned(), name.to_string()))
            }
        }
    }

    /// Whether a Cluster uses the class of this name in the namespace of the `ClusterStack`.
    #[must_use]
    pub fn is_class(&self, name: &str, cluster: &Cluster) -> bool {
        cluster.class().is_some_and(|class| class.name == name && class.namespace == self.namespace.as_str())
    }

    /// Whether the sources and charts of its releases are in its own namespace.
    #[must_use]
    pub fn is_beside_source(&self) -> bool {
        self.source_namespace(&self.namespace) == &self.namespace
    }

    /// Returns the namespace of the sources and charts for objects in `consumer`.
    #[must_use]
    pub fn source_namespace<'a>(&'a self, consumer: &'a Namespace) -> &'a Namespace {
        match self.flux.sources {
            SourcePlacement::Shared => &self.source.namespace,
            SourcePlacement::PerNamespace => consumer,
        }
    }

    /// Returns the namespace in a reference from `consumer` to a source or chart; `None` for its own.
    #[must_use]
    pub fn reference_namespace<'a>(&'a self, consumer: &'a Namespace) -> Option<&'a str> {
        Some(self.source_namespace(consumer))
            .filter(|namespace| *namespace != consumer)
            .map(Namespace::as_str)
    }
}

impl StackSource {
    fn created(
        stack: &ObjectName,
        namespace: &Namespace,
        git: &GitSource,
        path: String,
    ) -> Result<Self, StackError> {
        let name = catalog_name(stack.as_str())?;
        let invalid = |source| StackError::SourceInvalid { name: name.to_string(), source };
        let access = serde_json::to_value(git).and_then(|git| Access::deserialize(&git)).map_err(invalid)?;
        let followed =
            Followed { reference: reference(git.reference.as_ref()), interval: git.interval.to_string() };
        Ok(Self {
            namespace: namespace.clone(),
            url: git.url.clone(),
            access,
            path,
            followed: Some(followed),
            is_builtin: false,
            name,
        })
    }

    fn referenced<'a>(
        stack: &ObjectName,
        namespace: &str,
        name: &str,
        path: String,
        objects: impl Iterator<Item = &'a Value>,
    ) -> Result<Self, StackError> {
        let object = git_repository(objects, namespace, name).ok_or_else(|| StackError::SourceNotFound {
            stack: stack.to_string(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })?;
        let empty = json!({});
        let spec = field(object, &["spec"]).unwrap_or(&empty);
        let invalid = |source| StackError::SourceInvalid { name: name.to_owned(), source };
        let Remote { url, access } = Remote::deserialize(spec).map_err(invalid)?;
        let (name, namespace) = (name.parse()?, namespace.parse()?);
        Ok(Self { name, namespace, url, access, path, followed: None, is_builtin: false })
    }
}

/// Returns the name of the `GitRepository` that is created for a `ClusterStack`.
pub fn catalog_name(stack: &str) -> Result<ObjectName, NameError> {
    ObjectName::bounded(&format!("{stack}-catalog"))
}

/// The part of an existing `GitRepository`'s spec that is used.
#[derive(Deserialize)]
struct Remote {
    url: String,
    #[serde(flatten)]
    access: Access,
}

/// Writes Flux's `spec.ref` for the reference that the user names; by default the branch `master`, as in Flux.
fn reference(wanted: Option<&GitReference>) -> Value {
    let empty = GitReference::default();
    let wanted = wanted.unwrap_or(&empty);
    let fields = [
        ("branch", &wanted.branch),
        ("tag", &wanted.tag),
        ("semver", &wanted.semver),
        ("name", &wanted.name),
        ("commit", &wanted.commit),
    ];
    let named =
        fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value.as_ref()?))));
    let named: Map<String, Value> = named.collect();
    if named.is_empty() { json!({"branch": "master"}) } else { Value::Object(named) }
}

#[cfg(test)]
mod tests;
