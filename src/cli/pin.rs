//! `stackflux pin`.

mod resolve;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::error::CliError;
use super::git_access::GitAccess;
use super::origin_access::OriginAccess;
use super::{CommandResult, Outcome, live, terminal, unused};
use crate::release::{self, COMPONENTS, ComponentSource, Files, Limits, ListedRepository, list_repositories};
use crate::source::address::Address;
use crate::source::oci::signatures::Verification;
use crate::subscription::first_error;

/// Replace references of components.yaml that can change by commits and digests
///
/// Asks the repositories what each tag, branch or range of versions stands for now, and writes branch and commit, or the
/// digest, into the file. Comments and order stay; a comment at the end of the line says what the reference stood for. A
/// branch is written if the commit is in it, because Flux clones all branches for a commit alone.
///
/// Refuses a chart whose dependencies are not inside, because Flux does not fetch them, and a chart whose version Helm does not
/// accept. Writes nothing if one reference cannot be pinned.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Pin all references of a release before it is published
  stackflux pin stacks/releases/openstack-scs-1-34-v1
  # Pin one repository, whose server needs a password
  stackflux pin stacks/releases/openstack-scs-1-34-v1 --repository platform --git-password-file token")]
#[allow(clippy::doc_markdown, reason = "it is the text of --help, which knows no Markdown")]
pub(super) struct Arguments {
    /// Directory of the release
    #[arg(value_name = "RELEASE")]
    release: PathBuf,
    /// Name of the only repository to pin
    #[arg(long, value_name = "NAME")]
    repository: Option<String>,
    #[command(flatten)]
    access: OriginAccess,
    #[command(flatten)]
    git: GitAccess,
}

impl Arguments {
    /// Refuses flags about releases in registries and on GitHub.
    pub(super) fn refuse_unused(&self) -> Result<(), CliError> {
        self.access.refuse_unused(&Address::Path(self.release.clone()), true)?;
        let is_signed = self.access.verification()? != Verification::Nothing;
        unused::refuse(
            [("--key or --certificate-identity", is_signed)],
            "it is about the signatures of releases",
        )
    }
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let path = arguments.release.join(COMPONENTS);
    let before = read(&path).map_err(|error| CliError::io(&path, error))?;
    let listed = list(&before)?;
    if let Some(name) = &arguments.repository
        && !listed.iter().any(|repository| repository.name == *name)
    {
        return Err(CliError::usage(format!("{} has no repository {name}", path.display())));
    }
    check_servers(arguments, &listed)?;
    let mut text = before.clone();
    while let Some(repository) = list(&text)?.into_iter().find(|repository| is_wanted(arguments, repository))
    {
        let exact = live::block_on(resolve::exact(&repository, &arguments.access, &arguments.git))?;
        let Some(pinned) = repository.pinned(&text, &exact, &Limits::default()) else {
            return Err(by_hand(&repository, &exact));
        };
        text = pinned;
        let (name, followed) = (&repository.name, repository.source.followed());
        terminal::success(format!("{name}: {followed} is {}", exact.exact().unwrap_or_default()));
    }
    if text == before {
        terminal::success("all references are exact");
    } else {
        fs::write(&path, text).map_err(|error| CliError::io(&path, error))?;
    }
    Ok(Outcome::Done)
}

/// Reads the file up to the limit, which [`list`] reports if the file is longer.
fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let most = Limits::default().yaml_file + 1;
    File::open(path)?.take(most as u64).read_to_string(&mut text)?;
    Ok(text)
}

fn list(text: &str) -> Result<Vec<ListedRepository>, CliError> {
    let mut files = Files::default();
    files.insert(COMPONENTS, release::File { content: text.as_bytes().to_vec(), executable: false })?;
    list_repositories(&files, &Limits::default())
        .map_err(|findings| CliError::usage(first_error(&findings)).hint("stackflux lint shows all findings"))
}

/// Whether a repository has to be pinned.
fn is_wanted(arguments: &Arguments, repository: &ListedRepository) -> bool {
    let is_named = arguments.repository.as_ref().is_none_or(|name| *name == repository.name);
    is_named && repository.source.exact().is_none()
}

/// Refuses to send the password of one server to others, which the author of the release chose.
fn check_servers(arguments: &Arguments, listed: &[ListedRepository]) -> Result<(), CliError> {
    let wanted = || listed.iter().filter(|repository| is_wanted(arguments, repository));
    let servers = |is_git: bool| -> BTreeSet<&str> {
        let sources = wanted().map(|repository| &repository.source);
        let sources = sources.filter(|source| matches!(source, ComponentSource::Git { .. }) == is_git);
        sources.map(|source| server(source.url())).collect()
    };
    let is_sent_to_many = |has_password: bool, is_git| has_password && servers(is_git).len() > 1;
    if is_sent_to_many(arguments.git.has_password(), true)
        || is_sent_to_many(arguments.access.has_password(), false)
    {
        let error = CliError::usage("the password would be sent to more than one server");
        return Err(error.hint("pin one repository at a time: --repository NAME"));
    }
    Ok(())
}

/// Returns scheme, host and port of an address.
fn server(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    let length = url[host..].find('/').unwrap_or(url.len() - host);
    &url[..host + length]
}

/// Says what to write where the text cannot be edited.
fn by_hand(repository: &ListedRepository, exact: &ComponentSource) -> CliError {
    let (name, url) = (&repository.name, repository.source.url());
    let field = if matches!(exact, ComponentSource::Git { .. }) { "commit" } else { "digest" };
    CliError::usage(format!("cannot edit the reference of repository {name} ({url}) in {COMPONENTS}"))
        .hint(format!("write {field}: {} in its place", exact.exact().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::server;

    #[test]
    fn server_is_scheme_host_and_port() {
        for (url, expected) in [
            ("https://h:8443/a/b.git", "https://h:8443"),
            ("ssh://git@h/a", "ssh://git@h"),
            ("oci://h", "oci://h"),
        ] {
            assert_eq!(server(url), expected);
        }
    }
}
