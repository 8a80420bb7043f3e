//! `stackflux publish`.

mod report;
mod target;

use super::error::CliError;
use super::forge_access::ForgeAccess;
use super::git_access::{Authorship, GitAccess};
use super::origin_access::OriginAccess;
use super::output::{Format, count, print};
use super::{CommandResult, Outcome, live, origins, terminal, unused};
use crate::git::GitUrl;
use crate::names::ReleaseName;
use crate::publish::vendor::Vendor;
use crate::publish::{self, PublishError, Published};
use crate::release::{Digest, Limits};
use crate::source::address::Address;
use crate::source::origin::Origin;
use report::{Done, Entry, Report};
use target::{Destination, Target};

/// Publish a release to a stack repository
///
/// Fetches the release, unpacks it, checks it as `stackflux lint` does, and writes it as one directory: into a local
/// directory, or as one commit of a Git repository, whose message records what the release contains and where every
/// byte of it came from. Errors of the check refuse the release; warnings are printed.
///
/// A release that already exists with the same content is not written again, and one with different content is
/// refused: a published release never changes. A release that was rolled back from the stage that owns the directory
/// is also refused, until its hold is lifted. If others push at the same time, the commit is made again on top of
/// theirs; nothing is ever overwritten or force-pushed.
///
/// Exits with 2 if a release could not be published; the other releases are still published.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Publish one release from a registry to the repository that Flux follows
  stackflux publish oci://registry.example.com/kaas/cluster-stacks:openstack-scs2-1-34-v2 \\
    --to https://git.example.com/stacks.git --git-password-file token --author 'Stacks <stacks@example.com>'
  # Show what that would write
  stackflux publish oci://registry.example.com/kaas/cluster-stacks:openstack-scs2-1-34-v2 \\
    --to https://git.example.com/stacks.git --dry-run
  # Publish every new release, in a pipeline
  stackflux publish github://SovereignCloudStack/cluster-stacks --all-new --to git@git.example.com:stacks.git
  # Open a pull request for each new release, and vendor the charts that it depends on
  stackflux publish oci://registry.example.com/kaas/cluster-stacks --all-new --vendor --pull-request \\
    --to https://git.example.com/stacks.git --forge gitea --forge-token-file token
  # Unpack an archive into a work tree, to commit by hand
  stackflux publish openstack-scs2-1-34-v2.tgz --to .")]
#[allow(clippy::doc_markdown, reason = "it is the text of --help, which knows no Markdown")]
pub(super) struct Arguments {
    /// Source of the release: an oci://, github:// or git+https:// address, or a path
    ///
    /// Addresses are oci://host/repository:release, github://organisation/repository@release, and
    /// git+https://host/path.git//directory/release?ref=branch.
    #[arg(value_name = "SOURCE")]
    source: String,
    /// Stack repository: a Git URL (https://, ssh://, user@host:path, file://) or a directory
    #[arg(long, value_name = "URL|DIRECTORY")]
    to: String,
    /// Directory of the releases in the stack repository
    #[arg(long, value_name = "PATH", default_value = "releases")]
    path: String,
    /// Branch to push to (default: the repository's HEAD branch)
    ///
    /// In an empty repository the branch is created (default: main).
    #[arg(long, value_name = "BRANCH")]
    branch: Option<String>,
    /// Release to publish, if the source has several; can be given more than once
    #[arg(long = "release", value_name = "NAME")]
    releases: Vec<ReleaseName>,
    /// Publish every release that is missing from the stack repository, except held ones
    #[arg(long, conflicts_with = "releases")]
    all_new: bool,
    /// Vendor the charts that the release's charts depend on and do not have in charts/, and its components
    ///
    /// Fetches each chart from its Helm repository or registry, and checks it against the digest given there. Fetches
    /// the content of each component by its commit or digest into cluster-addon/. By default, source-controller
    /// fetches these charts and components.
    #[arg(long)]
    vendor: bool,
    /// Digest that the manifest of the release must have, if the source is a registry
    #[arg(long, value_name = "sha256:…")]
    digest: Option<Digest>,
    /// Only show what would be written, and the commit message
    #[arg(long)]
    dry_run: bool,
    /// Print what was done, or would be done, in this format
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<Format>,
    #[command(flatten)]
    access: OriginAccess,
    #[command(flatten)]
    git: GitAccess,
    #[command(flatten)]
    authorship: Authorship,
    #[command(flatten)]
    forge: ForgeAccess,
}

impl Arguments {
    /// Refuses flags that neither this source nor this target uses.
    pub(super) fn refuse_unused(&self) -> Result<(), CliError> {
        let source: Address = self.source.parse()?;
        self.access.refuse_unused(&source, self.vendor)?;
        if target::is_git(self.to.strip_prefix("git+").unwrap_or(&self.to)) {
            return Ok(());
        }
        let branch = ("--branch", self.branch.is_some());
        let flags = std::iter::once(branch).chain(self.authorship.flags());
        unused::refuse(flags, "--to is a directory, and nothing is committed")?;
        match source {
            Address::Git(_) => Ok(()),
            _ if self.vendor => Ok(()),
            _ => unused::refuse(self.git.flags(), "neither the source nor --to is a Git repository"),
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    // Not parsed by clap, whose error messages repeat invalid values, including passwords.
    let source = pinned(arguments.source.parse()?, arguments)?;
    let target = Target::open(arguments)?;
    let (report, failed) = live::block_on(async {
        let beside = |url| arguments.git.to_other(url, target.url());
        let origin = origins::open(&source, &arguments.access, beside).await?;
        let vendor = vendor(arguments, &source, target.url())?;
        let names = wanted(arguments, &source, origin.as_ref(), &target).await?;
        let mut report = Report::default();
        let mut failed = false;
        for name in names {
            match publish(arguments, origin.as_ref(), &target, vendor.as_ref(), &name).await {
                Ok(entry) => report.add(entry),
                Err(error) => {
                    failed = true;
                    terminal::failure(&error);
                }
            }
        }
        Ok((report, failed))
    })?;
    let format = arguments.output.or(arguments.dry_run.then_some(Format::Table));
    if let Some(format) = format {
        print(&report, format, Report::text)?;
    }
    Ok(if failed { Outcome::Failed } else { Outcome::Done })
}

/// Adds the digest of `--digest` to the address, and the single release that a digest identifies.
fn pinned(mut source: Address, arguments: &Arguments) -> Result<Address, CliError> {
    match (&mut source, arguments.digest) {
        (_, None) => {}
        (Address::Oci(address), Some(digest)) if address.digest.is_none_or(|given| given == digest) => {
            address.digest = Some(digest);
        }
        (Address::Oci(_), Some(_)) => {
            return Err(CliError::usage("--digest differs from the digest in the source"));
        }
        (_, Some(_)) => {
            return Err(CliError::usage("--digest requires a source in an OCI registry"));
        }
    }
    if let Address::Oci(address) = &mut source
        && address.digest.is_some()
        && address.release.is_none()
    {
        let [name] = arguments.releases.as_slice() else {
            return Err(CliError::usage("a digest identifies one release, but none or several are named")
                .hint("name one in the source (:release) or with --release"));
        };
        address.release = Some(name.clone());
    }
    Ok(source)
}

/// Returns the releases to publish.
async fn wanted(
    arguments: &Arguments,
    source: &Address,
    origin: &dyn Origin,
    target: &Target,
) -> Result<Vec<ReleaseName>, CliError> {
    match source.release() {
        Some(name) if arguments.all_new || arguments.releases.iter().any(|other| other != name) => {
            let message = format!("the source names release {name}, but --release or --all-new names others");
            return Err(CliError::usage(message).hint("remove one of them"));
        }
        Some(name) => return Ok(vec![name.clone()]),
        None if !arguments.releases.is_empty() => return Ok(arguments.releases.clone()),
        None => {}
    }
    let listed = origins::list(origin).await?.releases;
    if arguments.all_new {
        let there = target.names().map_err(|error| explain(&error))?;
        let all = count(listed.len(), "release");
        let new: Vec<_> = listed.into_iter().filter(|name| !there.contains(name)).collect();
        if new.is_empty() {
            terminal::note(format!("nothing to publish: {target} already has the {all} of {source}"));
        }
        return not_held(new.into_iter(), target);
    }
    if matches!(source, Address::Path(_)) && listed.len() == 1 {
        return Ok(listed.into_iter().collect());
    }
    let message = format!("{source} has {}, but none is named", count(listed.len(), "release"));
    Err(CliError::usage(message).hint("name one with --release, or publish every new one with --all-new"))
}

/// Returns the releases that are not held, and warns about each held one: a pipeline publishes releases that were not
/// requested by name.
fn not_held(names: impl Iterator<Item = ReleaseName>, target: &Target) -> Result<Vec<ReleaseName>, CliError> {
    let mut free = Vec::new();
    for name in names {
        match target.existing(&name).map_err(|error| explain(&error))?.held {
            Some(hold) => terminal::warning(PublishError::Held(hold)),
            None => free.push(name),
        }
    }
    Ok(free)
}

async fn publish(
    arguments: &Arguments,
    origin: &dyn Origin,
    target: &Target,
    vendor: Option<&Vendor>,
    name: &ReleaseName,
) -> Result<Entry, CliError> {
    let existing = target.existing(name).map_err(|error| explain(&error))?;
    let prepared = publish::prepare(origin, name, vendor, &existing, &Limits::default()).await;
    let prepared = prepared.map_err(|error| explain(&error))?;
    for warning in prepared.warnings.iter() {
        terminal::warning(format!("{name}: {warning}"));
    }
    let vendoring = vendor.is_some();
    if arguments.dry_run {
        let needed = existing.needs(&prepared, vendoring).map_err(|error| explain(&error))?;
        return Ok(Entry::new(&prepared, if needed { Done::WouldPublish } else { Done::Unchanged }, None));
    }
    match target.publish(&prepared, vendoring)? {
        Published::Unchanged => {
            terminal::success(format!("{name} already exists in {target} with the same content"));
            Ok(Entry::new(&prepared, Done::Unchanged, None))
        }
        Published::Written(place) => {
            let place = target.propose(arguments, place).await?;
            let (verb, done) = match place {
                Destination::PullRequest { .. } => ("proposed", Done::Proposed),
                _ => ("published", Done::Published),
            };
            terminal::success(format!("{name} is {verb}: {place}"));
            Ok(Entry::new(&prepared, done, Some(place)))
        }
    }
}

/// Returns the vendor that fetches charts, if `--vendor` is given.
fn vendor(
    arguments: &Arguments,
    source: &Address,
    target: Option<&GitUrl>,
) -> Result<Option<Vendor>, CliError> {
    if !arguments.vendor {
        return Ok(None);
    }
    let named = match source {
        Address::Oci(address) => Some(address.registry.as_str()),
        _ => None,
    };
    let vendor = Vendor::new(arguments.access.oci()?, named);
    Ok(Some(vendor.with_git(arguments.git.credentials("git")?, target)))
}

fn explain(error: &PublishError) -> CliError {
    CliError::explained(error, error.hint())
}
