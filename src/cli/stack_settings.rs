//! The `ClusterStack` that a command plans for: that of `--settings`, or one built from `--url` and the release.

use std::path::{Path, PathBuf};

use serde::Deserialize as _;
use serde_json::{Value, json};

use super::error::CliError;
use super::objects;
use super::unused::Flag;
use crate::api::{ClusterStack, GitSource};
use crate::inputs::stack::{Stack, StackError};
use crate::names::ReleaseName;
use crate::names::credentials::has_credentials;
use crate::subscription;

/// Options that describe the `ClusterStack`.
#[derive(Debug, clap::Args)]
pub(super) struct StackArguments {
    /// File with the ClusterStack: its name, its source and the settings of the Flux objects
    #[arg(short, long, value_name = "FILE", conflicts_with = "namespace")]
    settings: Option<PathBuf>,
    /// URL of the stack repository as Flux reaches it, if the file of --settings names none
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Namespace of the ClusterStack, if --settings is not given (default: default)
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(super) namespace: Option<String>,
}

impl StackArguments {
    /// Returns the flags, which only a plan uses.
    pub(super) fn flags(&self) -> [Flag; 3] {
        [
            ("--settings", self.settings.is_some()),
            ("--url", self.url.is_some()),
            ("--namespace", self.namespace.is_some()),
        ]
    }

    /// Returns the `ClusterStack` for releases such as `release`, and the inputs that it makes. `objects` may include
    /// the GitRepository that it refers to.
    pub(super) fn stack<'a>(
        &self,
        release: &ReleaseName,
        objects: impl Iterator<Item = &'a Value>,
    ) -> Result<(ClusterStack, Stack), CliError> {
        let stack = match &self.settings {
            Some(file) => self.with_url(from_file(file)?)?,
            None => self.built_from_url(release)?,
        };
        if !subscription::is_of(&stack.spec, release) {
            let spec = &stack.spec;
            let message = format!(
                "release {release} is not of the ClusterStack (provider {}, name {}, Kubernetes {}, channel {})",
                spec.provider, spec.name, spec.kubernetes_version, spec.channel
            );
            return Err(CliError::usage(message).hint("select the releases with --release"));
        }
        let inputs = Stack::new(&stack, None, objects).map_err(unplanned)?;
        Ok((stack, inputs))
    }

    /// Returns a `ClusterStack` with the stack repository of `--url`, which the operator serves or has as a default.
    fn with_url(&self, stack: ClusterStack) -> Result<ClusterStack, CliError> {
        let Some(url) = &self.url else { return Ok(stack) };
        refuse_credentials(url)?;
        if names_repository(&stack) {
            let name = stack.metadata.name.unwrap_or_default();
            let message = format!("--url is given, and ClusterStack {name} names its stack repository");
            return Err(
                CliError::usage(message).hint("remove --url, or spec.source from the file of --settings")
            );
        }
        with_repository(stack, url)
    }

    fn built_from_url(&self, release: &ReleaseName) -> Result<ClusterStack, CliError> {
        let Some(url) = &self.url else {
            return Err(CliError::usage(format!("the ClusterStack of release {release} is unknown"))
                .hint("give its file with --settings, or the URL of its stack repository with --url"));
        };
        refuse_credentials(url)?;
        let (major, minor) = release.kubernetes_minor();
        let object = json!({
            "apiVersion": "clusterstack.x-k8s.io/v1alpha1",
            "kind": "ClusterStack",
            "metadata": {"name": release.prefix(), "namespace": self.namespace.as_deref().unwrap_or("default")},
            "spec": {
                "provider": release.provider(),
                "name": release.stack(),
                "kubernetesVersion": format!("{major}.{minor}"),
                "channel": release.version().channel(),
                "noProvider": true,
                "source": {"git": {"url": url, "ref": {"branch": "main"}}},
            },
        });
        Ok(ClusterStack::deserialize(&object)?)
    }
}

/// Explains why a `ClusterStack` cannot be planned: the command line does not know what the operator serves.
fn unplanned(error: StackError) -> CliError {
    match error {
        StackError::NoSource(name) | StackError::NotServed(name) => {
            let message = format!("ClusterStack {name} does not name the URL of its stack repository");
            CliError::usage(message)
                .hint("give the URL with --url, as Flux reaches it, or set spec.source.git.url")
        }
        error => CliError::from(error)
            .hint("set spec.source.git.url, or pass the GitRepository of spec.source with --filename"),
    }
}

fn refuse_credentials(url: &str) -> Result<(), CliError> {
    if !has_credentials(url) {
        return Ok(());
    }
    let message = "--url contains a user, a password or a query, which every plan would contain";
    let hint = "remove it: Flux reads credentials from a Secret, which the file of --settings can name";
    Err(CliError::usage(message).hint(hint))
}

/// Whether a `ClusterStack` names its stack repository, and not only where releases are published.
pub(super) fn names_repository(stack: &ClusterStack) -> bool {
    let source = stack.spec.source.as_ref();
    source.is_some_and(|source| source.git.is_some() || source.git_repository_ref.is_some())
}

/// Returns a `ClusterStack` whose stack repository is at this URL, with the Secret that the source names.
pub(super) fn with_repository(mut stack: ClusterStack, url: &str) -> Result<ClusterStack, CliError> {
    let source = stack.spec.source.get_or_insert_default();
    let mut git = GitSource::deserialize(&json!({"url": url, "ref": {"branch": "main"}}))?;
    git.secret_ref.clone_from(&source.secret_ref);
    source.git = Some(git);
    Ok(stack)
}

fn from_file(file: &Path) -> Result<ClusterStack, CliError> {
    let text = objects::read_file(file)?;
    ClusterStack::from_yaml(&text).map_err(|error| CliError::io(file, error))
}
