//! `stackflux publish`.

mod report;
mod target;

use super::error::CliError;
use super::forge_access::ForgeAccess;
use super::git_access::{Authorship, GitAccess};
use super::origin_access::OriginAccess;
use super::output::{Format, count, print};
use super::{CommandResult, Outcome, live, origins, terminal};
use crate::names::ReleaseName;
use crate::publish::vendor::Vendor;
use crate::publish::{self, PublishError, Published};
use crate::release::{Digest, Limits};
use crate::source::address::Address;
use crate::source::origin::Origin;
use report::{Done, Entry, Report};
use target::{Place, Target};

/// Bring a release into a stack repository
///
/// Fetches the release, unpacks it, checks it as `stackflux lint` does, and writes it as one directory: into a
/// directory of this machine, or as one commit of a Git repository, whose message says what the release is and where
/// every byte of it came from. Errors of the check refuse it; warnings are told.
///
/// A release that is there with the same content is not written again, and one with other content is refused: what was
/// published is never changed. One that was rolled back from the stage whose directory it is, is refused, too, until the
/// hold on it is gone. When others push at the same time, the commit is made again on top of theirs; nothing is
/// ever overwritten or force-pushed.
///
/// Exits with 2 where a release could not be published; the others are published all the same.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # One release out of a registry into the repository that Flux follows
  stackflux publish oci://registry.example.com/kaas/cluster-stacks:openstack-scs2-1-34-v2 \\
    --to https://git.example.com/stacks.git --git-password-file token --author 'Stacks <stacks@example.com>'
  # What would that write?
  stackflux publish oci://registry.example.com/kaas/cluster-stacks:openstack-scs2-1-34-v2 \\
    --to https://git.example.com/stacks.git --dry-run
  # Everything that is new, in a pipeline
  stackflux publish github://SovereignCloudStack/cluster-stacks --all-new --to git@git.example.com:stacks.git
  # A pull request for each release that is new, with charts that the stack repository is to have
  stackflux publish oci://registry.example.com/kaas/cluster-stacks --all-new --vendor --pull-request \\
    --to https://git.example.com/stacks.git --forge gitea --forge-token-file token
  # An archive into a work tree, to be committed by hand
  stackflux publish openstack-scs2-1-34-v2.tgz --to .")]
#[allow(clippy::doc_markdown, reason = "it is the text of --help, which knows no Markdown")]
pub(super) struct Arguments {
    /// oci://host/repository:release, github://organisation/repository@release,
    /// git+https://host/path.git//directory/release?ref=branch, or a path
    #[arg(value_name = "SOURCE")]
    source: String,
    /// The stack repository: a Git URL (https://, ssh://, user@host:path, file://) or a directory
    #[arg(long, value_name = "URL|DIRECTORY")]
    to: String,
    /// The directory of the releases in the stack repository
    #[arg(long, value_name = "PATH", default_value = "releases")]
    path: String,
    /// The branch of the Git repository; without it the one that its HEAD names. An empty repository gets it (without it
    /// main)
    #[arg(long, value_name = "BRANCH")]
    branch: Option<String>,
    /// A release of a source that has several; may be given more than once
    #[arg(long = "release", value_name = "NAME")]
    releases: Vec<ReleaseName>,
    /// All releases of the source that the stack repository does not have, but for those that are held back
    #[arg(long, conflicts_with = "releases")]
    all_new: bool,
    /// Fetch the charts that the release's charts depend on and do not have in charts/, from their Helm repository or
    /// registry, each checked against the digest that is named there. Without it source-controller fetches them
    #[arg(long)]
    vendor: bool,
    /// The digest that the manifest of the release must have, where the source is a registry
    #[arg(long, value_name = "sha256:…")]
    digest: Option<Digest>,
    /// Only show what would be written, and the commit's message
    #[arg(long)]
    dry_run: bool,
    /// Print what was done, or would be, in this form
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

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    // Not by clap, which would repeat what it cannot read, passwords included.
    let source = pinned(arguments.source.parse()?, arguments)?;
    let target = Target::open(arguments)?;
    let (report, failed) = live::block_on(async {
        let beside = |url| arguments.git.to_other(url, target.url());
        let origin = origins::open(&source, &arguments.access, beside).await?;
        let vendor = vendor(arguments, &source)?;
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

/// The address with the digest that was given beside it, and with the one release that a digest is of.
fn pinned(mut source: Address, arguments: &Arguments) -> Result<Address, CliError> {
    match (&mut source, arguments.digest) {
        (_, None) => {}
        (Address::Oci(address), Some(digest)) if address.digest.is_none_or(|given| given == digest) => {
            address.digest = Some(digest);
        }
        (Address::Oci(_), Some(_)) => {
            return Err(CliError::usage("the source has another digest than --digest"));
        }
        (_, Some(_)) => {
            return Err(CliError::usage(
                "--digest is for a release in an OCI registry, whose manifest has one",
            ));
        }
    }
    if let Address::Oci(address) = &mut source
        && address.digest.is_some()
        && address.release.is_none()
    {
        let [name] = arguments.releases.as_slice() else {
            return Err(CliError::usage("a digest is that of one release, and none or several are named")
                .hint("name one, behind the source (:release) or with --release"));
        };
        address.release = Some(name.clone());
    }
    Ok(source)
}

/// The releases that are to be published.
async fn wanted(
    arguments: &Arguments,
    source: &Address,
    origin: &dyn Origin,
    target: &Target,
) -> Result<Vec<ReleaseName>, CliError> {
    match source.release() {
        Some(name) if arguments.all_new || arguments.releases.iter().any(|other| other != name) => {
            let message =
                format!("the source names the release {name}, and --release or --all-new name others");
            return Err(CliError::usage(message).hint("leave one of them out"));
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
            terminal::note(format!("nothing is new: of the {all} of {source} {target} lacks none"));
        }
        return not_held(new.into_iter(), target);
    }
    if matches!(source, Address::Path(_)) && listed.len() == 1 {
        return Ok(listed.into_iter().collect());
    }
    let message = format!("{source} has {} releases, and none is named", listed.len());
    Err(CliError::usage(message).hint("name one with --release, or take all that are new with --all-new"))
}

/// The releases that nobody holds back. Of the others it is said why they are left out: what a pipeline publishes is not
/// what anybody asked for by name.
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
            terminal::success(format!("{name} is in {target} already, with this content"));
            Ok(Entry::new(&prepared, Done::Unchanged, None))
        }
        Published::Written(place) => {
            let place = target.propose(arguments, place).await?;
            let (told, done) = match place {
                Place::PullRequest { .. } => ("proposed", Done::Proposed),
                _ => ("published", Done::Published),
            };
            terminal::success(format!("{name} is {told}: {place}"));
            Ok(Entry::new(&prepared, done, Some(place)))
        }
    }
}

/// What fetches charts, where they are to be fetched.
fn vendor(arguments: &Arguments, source: &Address) -> Result<Option<Vendor>, CliError> {
    if !arguments.vendor {
        return Ok(None);
    }
    let named = match source {
        Address::Oci(address) => Some(address.registry.as_str()),
        _ => None,
    };
    Ok(Some(Vendor::new(arguments.access.oci()?, named)))
}

fn explain(error: &PublishError) -> CliError {
    CliError::explained(error, error.hint())
}
