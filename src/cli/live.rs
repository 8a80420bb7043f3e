//! The shared parts of the commands on a live cluster: connecting, reading and watching.
//!
//! ```text
//! flags ─ session ─ read: one LIST per kind ─▶ Snapshot ─ pure functions ─▶ tree, table, sentences
//! ```

mod advice;
pub(super) mod events;
pub(super) mod lists;
pub(super) mod loaded;
pub(super) mod prepared;
pub(super) mod present;
pub(super) mod read;
pub(super) mod request;
pub(super) mod selection;
pub(super) mod subject;
pub(super) mod text;
pub(super) mod view;
pub(super) mod watch;

use std::collections::BTreeSet;
use std::future::Future;
use std::path::PathBuf;

use kube::Client;

use super::error::CliError;
use super::unused::Flag;
use crate::names::Key;
use crate::runtime::client::{ClusterAccess, Connected, connect};
use subject::Subject;

/// Which cluster, and as whom.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Access {
    /// Kubeconfig file (default: the files in $KUBECONFIG, otherwise ~/.kube/config)
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig (default: the current context)
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

/// Which cluster, as whom, and in which namespace.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Connection {
    #[command(flatten)]
    access: Access,
    /// Namespace to use (default: that of the context)
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
}

/// The connection to the management cluster, and the namespaces and Clusters to read.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Look {
    #[command(flatten)]
    connection: Connection,
    /// Include all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,
    /// Include only Clusters with these labels, such as `stage=prod,region!=west`
    #[arg(short = 'l', long, value_name = "LABELS")]
    selector: Option<String>,
}

/// A connection to a cluster.
#[derive(Clone)]
pub(super) struct Session {
    client: Client,
    /// The URL of its API server.
    server: String,
    /// The namespace of `--namespace`, otherwise that of the context.
    pub(super) namespace: String,
}

/// The objects to read.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    /// The namespace; `None` for all namespaces.
    pub(super) namespace: Option<String>,
    /// The label selector of Clusters.
    pub(super) selector: Option<String>,
}

impl Access {
    /// Returns the flags, which only a command that reads a live cluster uses.
    pub(super) fn flags(&self) -> [Flag; 2] {
        [("--kubeconfig", self.kubeconfig.is_some()), ("--context", self.context.is_some())]
    }

    /// Connects. Sends no request yet.
    pub(super) async fn open(&self, namespace: Option<String>) -> Result<Session, CliError> {
        let access = ClusterAccess { kubeconfig: self.kubeconfig.clone(), context: self.context.clone() };
        let Connected { client, namespace: default, server, .. } = connect(&access).await?;
        Ok(Session { client, server, namespace: namespace.unwrap_or(default) })
    }
}

impl Connection {
    /// Connects. Sends no request yet.
    pub(super) async fn open(&self) -> Result<Session, CliError> {
        self.access.open(self.namespace.clone()).await
    }

    /// Returns the namespace and the name of a named object. Refuses another namespace than that of `--namespace`.
    pub(super) fn key(&self, session: &Session, subject: &Subject) -> Result<Key, CliError> {
        let Some(own) = &subject.namespace else { return Ok(Key::new(&session.namespace, &subject.name)) };
        match &self.namespace {
            Some(flag) if flag != own => {
                let message = format!("{own}/{} is not in namespace {flag} of --namespace", subject.name);
                Err(CliError::usage(message)
                    .hint("remove --namespace, or the namespace in front of the name"))
            }
            _ => Ok(Key::new(own, &subject.name)),
        }
    }

    /// Returns the flags that give kubectl the same cluster.
    pub(super) fn flags(&self) -> Vec<String> {
        let Access { kubeconfig, context } = &self.access;
        let kubeconfig = kubeconfig.iter().map(|path| format!("--kubeconfig={}", path.display()));
        kubeconfig.chain(context.iter().map(|name| format!("--context={name}"))).collect()
    }
}

impl Session {
    /// Returns the client.
    pub(super) fn client(&self) -> Client {
        self.client.clone()
    }

    /// Creates the error of a failed request, with what to do about it.
    pub(super) fn failed(&self, error: &kube::Error) -> CliError {
        advice::failed(self, error)
    }
}

impl Look {
    /// Whether `--namespace` was given.
    pub(super) fn names_namespace(&self) -> bool {
        self.connection.namespace.is_some()
    }

    /// Refuses `--selector` beside a name.
    pub(super) fn refuse_selector(&self) -> Result<(), CliError> {
        if self.selector.is_some() {
            return Err(CliError::usage("names and --selector exclude each other").hint("remove one of them"));
        }
        Ok(())
    }

    /// Connects, and returns the scope of objects to read. Sends no request yet.
    pub(super) async fn open(&self) -> Result<(Session, Scope), CliError> {
        let session = self.connection.open().await?;
        let namespace = (!self.all_namespaces).then(|| session.namespace.clone());
        Ok((session, Scope { namespace, selector: self.selector.clone() }))
    }

    /// Connects, and returns the scope that has the named objects. Sends no request yet.
    pub(super) async fn open_for(&self, subjects: &[Subject]) -> Result<(Session, Scope), CliError> {
        if !subjects.is_empty() {
            self.refuse_selector()?;
        }
        let (session, mut scope) = self.open().await?;
        let mut namespaces = BTreeSet::new();
        for subject in subjects.iter().filter(|subject| !self.all_namespaces || subject.namespace.is_some()) {
            namespaces.insert(self.connection.key(&session, subject)?.namespace);
        }
        let anywhere = self.all_namespaces && subjects.iter().any(|subject| subject.namespace.is_none());
        if namespaces.len() > 1 || (anywhere && !namespaces.is_empty()) {
            return Err(CliError::usage("the objects are in several namespaces")
                .hint("name those of one namespace at a time"));
        }
        scope.namespace = namespaces.pop_first().or(scope.namespace);
        Ok((session, scope))
    }
}

/// Runs a command that talks to a cluster.
pub(super) fn block_on<T>(command: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| CliError::usage(format!("cannot start: {error}")))?.block_on(command)
}

#[cfg(test)]
mod tests;
