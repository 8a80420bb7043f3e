//! `stackflux releases`.

mod table;

use futures::{StreamExt as _, stream};

use super::error::CliError;
use super::git_access::GitAccess;
use super::origin_access::OriginAccess;
use super::output::ListOutput;
use super::{CommandResult, Outcome, live, origins, terminal, unused};
use crate::names::ReleaseName;
use crate::source::address::Address;
use crate::source::origin::{Listing, Origin};
use table::{Line, Releases};

/// Maximum number of releases described at the same time.
const AT_A_TIME: usize = 8;

/// List the releases in a registry, on GitHub, in a Git repository or in a directory
///
/// Shows the name, the Kubernetes version, the channel, the addons, the digest and the date of each release. Of a
/// registry and of GitHub, stackflux reads only the small files of a release and fetches no charts. Releases are grouped by stack and
/// channel, the lowest version first. The digest identifies the content in the source: that of an OCI manifest, of a
/// Git tree's commit, or of a directory's files.
///
/// Invalid release names are only counted. A release that cannot be described is shown with its problem.
///
/// Exits with 1 if a release cannot be described, or none is found; with 2 if the source itself cannot be read.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # The releases in a registry
  stackflux releases oci://registry.example.com/kaas/cluster-stacks
  # The names of the stable releases for Kubernetes 1.34
  stackflux releases github://SovereignCloudStack/cluster-stacks -o json |
    jq -r '.releases[] | select(.channel == \"stable\" and (.kubernetesVersion // \"\" | startswith(\"v1.34.\"))).name'
  # A stack repository at a tag, including invalid release names
  stackflux releases 'git+https://git.example.com/stacks.git//releases?ref=2026-11' --all")]
#[allow(clippy::doc_markdown, reason = "it is the text of --help, which knows no Markdown")]
pub(super) struct Arguments {
    /// Source of the releases: an oci://, github:// or git+https:// address, or a path
    ///
    /// Addresses are oci://host/repository, github://organisation/repository, and
    /// git+https://host/path.git//directory?ref=branch.
    #[arg(value_name = "SOURCE")]
    source: String,
    /// Also show invalid release names
    #[arg(short, long)]
    all: bool,
    #[command(flatten)]
    output: ListOutput,
    #[command(flatten)]
    access: OriginAccess,
    #[command(flatten)]
    git: GitAccess,
}

impl Arguments {
    /// Refuses flags that this source does not use.
    pub(super) fn refuse_unused(&self) -> Result<(), CliError> {
        let source: Address = self.source.parse()?;
        self.access.refuse_unused(&source, false)?;
        if source.release().is_some() {
            unused::refuse([("--all", self.all)], "the source names one release")?;
        }
        match source {
            Address::Git(_) => Ok(()),
            _ => unused::refuse(self.git.flags(), "the source is not a Git repository (git+https://)"),
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    // Not parsed by clap, whose error messages repeat invalid values, including passwords.
    let source: Address = arguments.source.parse()?;
    let (listing, lines) = live::block_on(async {
        let origin = origins::open(&source, &arguments.access, |url| arguments.git.to(url)).await?;
        let mut listing = origins::list(origin.as_ref()).await?;
        keep_named(&mut listing, source.release())?;
        let lines = describe(origin.as_ref(), &listing).await;
        Ok((listing, lines))
    })?;
    let malformed = listing.malformed.len();
    let releases = Releases::new(lines, if arguments.all { listing.malformed } else { Vec::new() });
    arguments.output.print(&releases, Releases::table, Releases::names)?;
    if malformed > 0 && !arguments.all {
        let message = match malformed {
            1 => "1 invalid release name".to_owned(),
            many => format!("{many} invalid release names"),
        };
        terminal::warning(format!("{message}; --all shows more"));
    }
    if releases.is_empty() {
        terminal::warning("no releases found");
        return Ok(Outcome::Differs);
    }
    Ok(if releases.has_problems() { Outcome::Differs } else { Outcome::Done })
}

/// Reduces the listing to the release that the address names, if it names one.
fn keep_named(listing: &mut Listing, named: Option<&ReleaseName>) -> Result<(), CliError> {
    let Some(name) = named else { return Ok(()) };
    listing.malformed.clear();
    listing.releases.retain(|release| release == name);
    if listing.releases.is_empty() {
        return Err(CliError::usage(format!("release {name} not found"))
            .hint("remove its name from the source to list all releases"));
    }
    Ok(())
}

/// Describes several releases at the same time; the lines are in the order of the releases.
async fn describe(origin: &dyn Origin, listing: &Listing) -> Vec<Line> {
    let lines =
        listing.releases.iter().map(|name| async move { Line::of(name, origin.describe(name).await) });
    stream::iter(lines).buffered(AT_A_TIME).collect().await
}
