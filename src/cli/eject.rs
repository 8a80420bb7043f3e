//! `stackflux eject`.

mod forward;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::DynamicObject;
use kube::core::GroupVersionKind;

use super::error::CliError;
use super::git_access::{self, GitAccess};
use super::live::request::Target;
use super::live::subject::ClusterStackArgument;
use super::live::{self, Connection, Session};
use super::{CommandResult, Outcome, terminal};
use crate::builtin::BRANCH;
use crate::explain::Named;
use crate::foreign::capi::text;
use crate::git::{Access, BareRepository, CommitId, Credentials, GitUrl, Pushed, Reference};
use crate::inputs::stack::catalog_name;
use crate::names::Key;
use forward::Forward;

/// Push the built-in stack repository of a ClusterStack to a Git repository of your own
///
/// The operator serves the stack repository of a ClusterStack whose source has only upstream. This command fetches it, and
/// pushes it to a branch of another repository with the same commits. Each release stays pinned to its commit, so that no
/// addon is upgraded when the ClusterStack follows the other repository.
///
/// The operator's Git server is reached by `kubectl port-forward`. The branch must not exist: nothing is overwritten. Prints what
/// to set in the ClusterStack.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "stackflux eject [OPTIONS] --to <URL> [csk/]NAME",
    after_help = "Examples:
  # Push the stack repository of a ClusterStack to an empty repository
  stackflux eject docker-demo-1-34 -n demo --to https://git.example.com/stacks.git --git-password-file token"
)]
#[allow(clippy::doc_markdown, reason = "it is the text of --help, which knows no Markdown")]
pub(super) struct Arguments {
    #[command(flatten)]
    stack: ClusterStackArgument,
    /// Git repository to push to (https://, ssh://, user@host:path, file://)
    #[arg(long, value_name = "URL")]
    to: String,
    /// Branch to push to
    #[arg(long, value_name = "BRANCH", default_value = "main")]
    branch: String,
    /// Address of the operator's Git server to use instead of kubectl port-forward
    #[arg(long, value_name = "HOST:PORT")]
    builtin_addr: Option<String>,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    git: GitAccess,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let to: GitUrl = arguments.to.parse()?;
    let to = arguments.git.to(to)?;
    let subject = arguments.stack.subject()?;
    let (key, url, credentials) = live::block_on(async {
        let session = arguments.connection.open().await?;
        let key = arguments.connection.key(&session, &subject)?;
        let source = source(&session, &key).await?;
        let credentials = credentials(&session, &key.namespace, &source).await?;
        Ok((key, text(&source.data, &["spec", "url"]).to_owned(), credentials))
    })?;
    let forward = Forward::to(&url, arguments.builtin_addr.as_deref(), &arguments.connection.flags())?;
    let credentials = Credentials { plain_http: forward.is_encrypted(), ..credentials };
    let from = Access { url: forward.url.parse()?, credentials };
    let clone = BareRepository::temporary(from).map_err(|error| git_access::explain(&error))?;
    let main =
        clone.fetch(&Reference::Branch(BRANCH.to_owned())).map_err(|error| git_access::explain(&error))?;
    drop(forward);
    let main =
        main.ok_or_else(|| CliError::usage(format!("{url} has no branch {BRANCH}: it has no release yet")))?;
    push(clone, to, &arguments.branch, main)?;
    terminal::success(format!("pushed {main} to branch {} of {}", arguments.branch, arguments.to));
    terminal::note(format!(
        "to follow it, set in ClusterStack {key}:\n  source:\n    git:\n      url: {}\n      ref: {{branch: {}}}",
        arguments.to, arguments.branch
    ));
    Ok(Outcome::Done)
}

/// Pushes a fetched commit to another repository, unless its branch has it.
fn push(clone: BareRepository, to: Access, branch: &str, commit: CommitId) -> Result<(), CliError> {
    let clone = clone.with_access(to);
    let is =
        clone.fetch(&Reference::Branch(branch.to_owned())).map_err(|error| git_access::explain(&error))?;
    if is == Some(commit) {
        return Ok(());
    }
    let occupied = || {
        CliError::usage(format!("branch {branch} of {} has other commits", clone.access().url))
            .hint("name another branch with --branch, or an empty repository with --to")
    };
    if is.is_some() {
        return Err(occupied());
    }
    match clone.push(commit, branch, None).map_err(|error| git_access::explain(&error))? {
        Pushed::Done => Ok(()),
        Pushed::Rejected(_) => Err(occupied()),
    }
}

/// Reads the GitRepository of a ClusterStack, whose stack repository has to be built in.
async fn source(session: &Session, key: &Key) -> Result<DynamicObject, CliError> {
    let stack = Target::new(session, Named::Clusterstack, key).get().await?;
    let kind = GroupVersionKind::gvk("source.toolkit.fluxcd.io", "v1", "GitRepository");
    let kind = kube::core::ApiResource::from_gvk_with_plural(&kind, "gitrepositories");
    let api: Api<DynamicObject> = Api::namespaced_with(session.client(), &key.namespace, &kind);
    let catalog = catalog_name(&key.name).map_err(|error| CliError::usage(error.to_string()))?;
    let source = api.get(catalog.as_str()).await.map_err(|error| session.failed(&error))?;
    let own = format!("/{}.git", stack.metadata.uid.as_deref().unwrap_or_default());
    if !text(&source.data, &["spec", "url"]).ends_with(&own) {
        let message = format!("ClusterStack {key} has no built-in stack repository");
        return Err(CliError::usage(message).hint("clone the repository of its source with git"));
    }
    Ok(source)
}

/// Reads the Secret that the GitRepository names, if any.
async fn credentials(
    session: &Session,
    namespace: &str,
    source: &DynamicObject,
) -> Result<Credentials, CliError> {
    let name = text(&source.data, &["spec", "secretRef", "name"]);
    if name.is_empty() {
        return Ok(Credentials::default());
    }
    let api: Api<Secret> = Api::namespaced(session.client(), namespace);
    let secret = api.get(name).await.map_err(|error| session.failed(&error))?;
    let data: BTreeMap<String, Vec<u8>> =
        secret.data.unwrap_or_default().into_iter().map(|(key, bytes)| (key, bytes.0)).collect();
    let credentials = Credentials::from_secret(&format!("{namespace}/{name}"), &data);
    credentials.map_err(|error| CliError::usage(error.to_string()))
}
