//! Selects the objects that a command changes: by their names, by the labels of Clusters, or all of a kind.

use std::collections::BTreeSet;

use super::lists::{Listed, list};
use super::request::Target;
use super::subject::{KINDS, Subject, kind_of, subjects};
use super::{Connection, Scope, Session, lists};
use crate::api::{self, ClusterAddon, ClusterStack, ClusterStackRelease};
use crate::cli::error::CliError;
use crate::explain::Named;
use crate::foreign::capi::text;
use crate::foreign::flux::ownership::cluster_of;
use crate::names::Key;

/// The objects to change.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub(in crate::cli) struct Selection {
    /// Objects: csk/demo, csr/NAME, cl/one, or NAMESPACE/NAME of a Cluster; also as KIND NAME…
    ///
    /// Kinds are clusterstack (csk, cs), release (cskr, csr) and cluster (cl, caddon). Without a kind, a Cluster is meant. With --all
    /// or --selector, only a kind can be given.
    #[arg(value_name = "KIND/NAME", required_unless_present_any = ["all", "selector"])]
    objects: Vec<String>,
    #[command(flatten)]
    connection: Connection,
    /// Select all Clusters that have addons of stackflux, or all objects of KIND
    #[arg(long, conflicts_with = "selector")]
    all: bool,
    /// Select the Clusters, or the objects of KIND, with these labels, such as `stage=prod,region!=west`
    #[arg(short = 'l', long, value_name = "LABELS")]
    selector: Option<String>,
    /// Include all namespaces, with --all or --selector
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,
}

/// What was selected.
pub(in crate::cli) struct Selected {
    pub(in crate::cli) targets: Vec<Target>,
    /// Whether the objects were named.
    pub(in crate::cli) named: bool,
    /// The message if nothing was selected.
    pub(in crate::cli) nothing: String,
}

impl Selection {
    /// Connects, and finds the objects. Those that are named need not exist.
    pub(in crate::cli) async fn targets(&self, refused: Option<Named>) -> Result<Selected, CliError> {
        if self.all || self.selector.is_some() {
            let kind = self.kind()?;
            refuse(kind, refused)?;
            return self.select(kind).await;
        }
        if self.all_namespaces {
            return Err(CliError::usage("--all-namespaces has no effect on objects that are named")
                .hint("name each as NAMESPACE/NAME, or add --all or --selector"));
        }
        let subjects = subjects(&self.objects)?;
        subjects.iter().try_for_each(|subject| refuse(subject.named(), refused))?;
        let session = self.connection.open().await?;
        let target = |subject: &Subject| {
            let key = self.connection.key(&session, subject)?;
            Ok(Target::new(&session, subject.named(), &key))
        };
        let targets = subjects.iter().map(target).collect::<Result<_, CliError>>()?;
        Ok(Selected { targets, named: true, nothing: String::new() })
    }

    /// Returns the kind to select; Clusters if none is given.
    fn kind(&self) -> Result<Named, CliError> {
        match self.objects.as_slice() {
            [] => Ok(Named::Cluster),
            [word] => kind_of(word).ok_or_else(|| self.exclusive()),
            _ => Err(self.exclusive()),
        }
    }

    fn exclusive(&self) -> CliError {
        let flag = if self.all { "--all" } else { "--selector" };
        CliError::usage(format!("names and {flag} exclude each other: {}", self.objects.join(" ")))
            .hint(KINDS)
    }

    async fn select(&self, kind: Named) -> Result<Selected, CliError> {
        let session = self.connection.open().await?;
        let namespace = (!self.all_namespaces).then(|| session.namespace.clone());
        let place = namespace.as_ref().map(|name| format!(" in namespace {name}")).unwrap_or_default();
        let labels =
            self.selector.as_ref().map(|labels| format!(" with labels {labels}")).unwrap_or_default();
        let scope = Scope { namespace, selector: self.selector.clone() };
        let keys = keys(&session, kind, &scope).await.map_err(|error| session.failed(&error))?;
        let targets = keys.iter().map(|key| Target::new(&session, kind, key)).collect();
        Ok(Selected { targets, named: false, nothing: format!("no {kind}{labels} found{place}") })
    }
}

fn refuse(kind: Named, refused: Option<Named>) -> Result<(), CliError> {
    if Some(kind) == refused {
        return Err(CliError::usage("a release cannot be suspended")
            .hint("suspend its ClusterStack, or single Clusters"));
    }
    Ok(())
}

/// Lists the objects of a kind in scope; of Clusters, those that have a `ClusterAddon`.
async fn keys(session: &Session, kind: Named, scope: &Scope) -> Result<Vec<Key>, kube::Error> {
    let client = &session.client;
    let ours = |plural| Listed::new(api::GROUP, api::VERSION, plural);
    Ok(match kind {
        Named::Clusterstack => {
            list::<ClusterStack>(client, &ours("clusterstacks"), scope).await?.iter().map(Key::of).collect()
        }
        Named::Release => {
            let found = list::<ClusterStackRelease>(client, &ours("clusterstackreleases"), scope).await?;
            found.iter().map(Key::of).collect()
        }
        Named::Cluster => {
            let inside = Scope { selector: None, ..scope.clone() };
            let addons = list::<ClusterAddon>(client, &ours("clusteraddons"), &inside).await?;
            let all = addons.iter().map(cluster_of);
            if scope.selector.is_none() {
                return Ok(all.collect());
            }
            let selected = lists::clusters(client, scope).await?;
            let key = |object| {
                let of = |field| text(object, &["metadata", field]);
                Key::new(of("namespace"), of("name"))
            };
            let selected: BTreeSet<Key> = selected.iter().map(key).collect();
            all.filter(|key| selected.contains(key)).collect()
        }
    })
}
