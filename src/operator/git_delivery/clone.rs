//! Access to the clones of repositories.

use std::path::PathBuf;

use jiff::Timestamp;

use super::super::context::Context;
use super::super::secrets;
use crate::api::Reason;
use crate::api::git_commit::{GitCommit, LocalReference};
use crate::gate::Hold;
use crate::git::{Access, Identity, Signer};

/// A clone, and what is needed to commit to its repository.
#[derive(Clone)]
pub struct CloneAccess {
    /// The directory of the clone.
    pub directory: PathBuf,
    /// The repository.
    pub remote: Access,
    /// The key that signs commits.
    pub signer: Option<Signer>,
    /// The author of commits.
    pub identity: Identity,
}

impl CloneAccess {
    /// Reads the Secrets for the repository at a URL. `now` is the time of the commits, and `failure` the reason if the
    /// directory cannot be created.
    pub async fn read(
        context: &Context,
        namespace: &str,
        (url, secret): (&str, Option<&LocalReference>),
        (commit, now): (&GitCommit, Timestamp),
        failure: Reason,
    ) -> Result<Self, Hold> {
        let remote = secrets::git_access(context, namespace, url, secret).await?;
        let signer = secrets::signer(context, namespace, commit).await?;
        let directory = context.git.directory(namespace, url);
        let directory = directory.map_err(|error| Hold { reason: failure, message: error.to_string() })?;
        let (name, email) = (commit.author.name.clone(), commit.author.email.clone());
        let identity = Identity { name, email, time: now };
        Ok(Self { directory, remote, signer, identity })
    }
}
