//! Pull requests for changes.

use super::super::context::Context;
use super::super::metrics::{RemoteOperation, classified};
use super::super::secrets;
use super::job::Proposed;
use crate::api::delivery::{ForgeKind as Kind, PullRequests};
use crate::api::{GitDelivery, Reason};
use crate::explain::cause::{Component, hinted};
use crate::forge::{Forge, ForgeKind, Opened, PullRequest, Repository, fenced};
use crate::gate::Hold;
use crate::git::GitUrl;
use crate::http::{Client, Options};
use crate::runtime::cache::Key;

/// Finds or opens the pull request of a pushed branch.
pub(super) async fn open(
    context: &Context,
    key: &Key,
    git: &GitDelivery,
    settings: &PullRequests,
    proposed: Proposed,
) -> Result<Opened, Hold> {
    let data = secrets::read(context, &key.namespace, &settings.secret_ref).await?;
    let token = secrets::text(&data, &key.namespace, &settings.secret_ref.name, "token")?;
    let url: GitUrl = git.url.parse().map_err(|error| failed(&error))?;
    let repository = Repository::of(&url, settings.forge.map(kind), settings.api.as_deref());
    let repository =
        repository.map_err(|error| failed(&format!("{error}; set delivery.git.pullRequest.forge or api")))?;
    let ca = match &git.secret_ref {
        Some(reference) => secrets::read(context, &key.namespace, reference).await?.remove("ca.crt"),
        None => None,
    };
    let client = Client::new(Options { ca, ..Options::default() }).map_err(|error| failed(&error))?;
    let Proposed { branch, message } = proposed;
    // Charts choose the keys of values, so keys are not rendered as Markdown.
    let body = fenced(&message.body);
    let wanted = PullRequest { head: branch, base: git.branch.clone(), title: message.subject, body };
    let forge = Forge::new(client, repository, token);
    let opened = forge.pull_request(&wanted);
    let opened = context.metrics.measure(RemoteOperation::PullRequest, opened, classified).await;
    opened.map_err(|error| failed(&error))
}

fn kind(kind: Kind) -> ForgeKind {
    match kind {
        Kind::Github => ForgeKind::GitHub,
        Kind::Gitlab => ForgeKind::GitLab,
        Kind::Gitea => ForgeKind::Gitea,
    }
}

fn failed(error: &impl std::fmt::Display) -> Hold {
    let message = hinted(Component::Delivery, &format!("cannot open a pull request: {error}"));
    Hold { reason: Reason::PushFailed, message }
}
