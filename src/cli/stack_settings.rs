//! The `ClusterStack` that a command plans for: that of `--settings`, or one built from `--url` and the release.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::CliError;
use super::objects;
use super::unused::Flag;
use crate::api::ClusterStack;
use crate::inputs::stack::Stack;
use crate::names::ReleaseName;
use crate::names::credentials::has_credentials;
use crate::subscription;

/// Options that describe the `ClusterStack`.
#[derive(Debug, clap::Args)]
pub(super) struct StackArguments {
    /// File with the ClusterStack: its name, its source and the settings of the Flux objects
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["url", "namespace"])]
    settings: Option<PathBuf>,
    /// URL of the stack repository as Flux reaches it, if --settings is not given
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
            Some(file) => from_file(file)?,
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
        let inputs = Stack::new(&stack, None, objects).map_err(|error| {
            CliError::from(error)
                .hint("set spec.source.git.url, or pass the GitRepository of spec.source with --filename")
        })?;
        Ok((stack, inputs))
    }

    fn built_from_url(&self, release: &ReleaseName) -> Result<ClusterStack, CliError> {
        let Some(url) = &self.url else {
            return Err(CliError::usage(format!("the ClusterStack of release {release} is unknown"))
                .hint("give its file with --settings, or the URL of its stack repository with --url"));
        };
        if has_credentials(url) {
            let message = "--url contains a user, a password or a query, which every plan would contain";
            return Err(CliError::usage(message).hint(
                "remove it: Flux reads credentials from a Secret, which the file of --settings can name",
            ));
        }
        let (major, minor) = release.kubernetes_minor();
        let object = serde_json::json!({
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
        Ok(serde_json::from_value(object)?)
    }
}

fn from_file(file: &Path) -> Result<ClusterStack, CliError> {
    let text = objects::read_file(file)?;
    ClusterStack::from_yaml(&text).map_err(|error| CliError::io(file, error))
}
