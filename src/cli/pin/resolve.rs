//! Asks servers what a reference stands for, and looks at the charts there.

use crate::cli::error::CliError;
use crate::cli::git_access::{self, GitAccess};
use crate::cli::origin_access::OriginAccess;
use crate::cli::terminal;
use crate::foreign::flux::source::LayerSelector;
use crate::git::{BareRepository, CommitId, GitError, Reference};
use crate::release::archive::unpack;
use crate::release::chart_index::choose;
use crate::release::files::join;
use crate::release::{
    Chart, ComponentSource, Files, Findings, GitReference, HELM_INDEX_HINT, Limits, ListedRepository,
    OciReference,
};
use crate::source::address::Address;
use crate::source::oci::{self, Pulled, Registry, manifest::Descriptor};
use crate::source::origin::OriginError;
use crate::subscription::first_error;

/// The directory in which a chart is read.
const DIRECTORY: &str = "chart";

/// Returns the repository with an exact reference to what its own stands for now.
pub(super) async fn exact(
    repository: &ListedRepository,
    access: &OriginAccess,
    git: &GitAccess,
) -> Result<ComponentSource, CliError> {
    let name = &repository.name;
    match &repository.source {
        ComponentSource::Git { url, reference } => {
            let clone = BareRepository::temporary(git.to(url.parse()?)?);
            of_git(repository, &clone.map_err(|error| git_access::explain(&error))?, reference)
        }
        ComponentSource::Oci { url, reference } => of_oci(repository, url, reference, access.oci()?).await,
        ComponentSource::HelmIndex { .. } => {
            Err(CliError::usage(format!("repository {name} is the index of a Helm repository"))
                .hint(HELM_INDEX_HINT))
        }
    }
}

fn of_git(
    repository: &ListedRepository,
    clone: &BareRepository,
    reference: &GitReference,
) -> Result<ComponentSource, CliError> {
    let (name, url, followed) = (&repository.name, repository.source.url(), repository.source.followed());
    let explain = |error: GitError| git_access::explain(&error);
    let wanted = of_git_reference(repository, clone, reference)?;
    let commit = clone.fetch(&wanted).map_err(explain)?;
    let commit = commit.ok_or_else(|| CliError::usage(format!("{url} has no {followed}")))?;
    let branch = match wanted {
        Reference::Branch(branch) => Some(branch),
        _ => default_branch_with(clone, commit).map_err(explain)?,
    };
    if branch.is_none() {
        terminal::warning(format!(
            "{name}: {followed} is not in the default branch, so Flux will clone all branches"
        ));
    }
    let snapshot = clone.snapshot(Some(commit)).map_err(explain)?;
    for path in &repository.charts {
        let directory = if path == "." { "" } else { path };
        let files = snapshot.files(directory, &Limits::default()).map_err(explain)?;
        check_chart(&files, &format!("{url} {path}"))?;
    }
    let commit = Some(commit.to_string().parse()?);
    let reference = GitReference { branch, commit, ..GitReference::default() };
    Ok(ComponentSource::Git { url: url.to_owned(), reference })
}

/// Returns what the reference of a repository names, a tag for a range of versions.
fn of_git_reference(
    repository: &ListedRepository,
    clone: &BareRepository,
    reference: &GitReference,
) -> Result<Reference, CliError> {
    let GitReference { branch, tag, semver, name, .. } = reference;
    if let Some(range) = semver {
        let tags = clone.fetch_tags().map_err(|error| git_access::explain(&error))?;
        // As Flux: a tag such as v1, which moves, is not a version.
        let is_version = |tag: &&str| semver::Version::parse(tag.strip_prefix('v').unwrap_or(tag)).is_ok();
        let chosen = choose(tags.iter().map(String::as_str).filter(is_version), range)?;
        let missing =
            || CliError::usage(format!("{} has no tag in the range {range}", repository.source.url()));
        return Ok(Reference::Tag(chosen.ok_or_else(missing)?.to_owned()));
    }
    let below = |prefix: &str| Some(name.as_ref()?.strip_prefix(prefix)?.to_owned());
    let tag = tag.clone().or_else(|| below("refs/tags/")).map(Reference::Tag);
    let branch = || branch.clone().or_else(|| below("refs/heads/")).map(Reference::Branch);
    tag.or_else(branch).ok_or_else(|| {
        let (name, followed) = (&repository.name, repository.source.followed());
        CliError::usage(format!(
            "repository {name} follows {followed}: pin knows only branches and tags of Git"
        ))
        .hint("write the tag or the branch that you want into ref, and pin it")
    })
}

/// Returns the default branch if it has a commit.
fn default_branch_with(clone: &BareRepository, commit: CommitId) -> Result<Option<String>, GitError> {
    let branch = clone.default_branch()?;
    let Some(head) = clone.fetch(&Reference::Branch(branch.clone()))? else { return Ok(None) };
    Ok(clone.is_ancestor(commit, head)?.then_some(branch))
}

async fn of_oci(
    repository: &ListedRepository,
    url: &str,
    reference: &OciReference,
    access: oci::Access,
) -> Result<ComponentSource, CliError> {
    let explain = |error: OriginError| CliError::explained(&error, error.hint());
    let Address::Oci(address) = url.parse()? else {
        return Err(CliError::usage(format!("{url} is not the address of a registry")));
    };
    let registry = Registry::open(&address, &access).await.map_err(explain)?;
    let tag = match reference {
        OciReference { tag: Some(tag), .. } => tag.clone(),
        OciReference { semver: Some(range), .. } => {
            let tags = registry.tags().await.map_err(explain)?;
            let chosen = choose(tags.iter().map(String::as_str), range)?;
            chosen
                .ok_or_else(|| CliError::usage(format!("{url} has no tag in the range {range}")))?
                .to_owned()
        }
        OciReference { .. } => "latest".to_owned(),
    };
    let pulled = registry.manifest(&oci::Reference::Tag(tag)).await.map_err(explain)?;
    if !repository.charts.is_empty() {
        let layer = chart_layer(&pulled, url)?;
        let limits = Limits::default();
        let archive = registry.blob(layer, limits.unpacked).await.map_err(explain)?;
        let files = unpack(&archive, url, &limits).map_err(|findings| unusable(&findings, url))?;
        let root = files.iter().find_map(|(path, _)| Some(path.split_once('/')?.0.to_owned()));
        check_chart(&below(&files, &root.unwrap_or_default())?, url)?;
    }
    let reference = OciReference { digest: Some(pulled.named.to_string()), ..OciReference::default() };
    Ok(ComponentSource::Oci { url: url.to_owned(), reference })
}

fn chart_layer<'a>(pulled: &'a Pulled, url: &str) -> Result<&'a Descriptor, CliError> {
    let wanted = LayerSelector::CHART.media_type;
    let layer = pulled.manifest.layers.iter().find(|layer| layer.media_type == wanted);
    layer.ok_or_else(|| {
        CliError::usage(format!("{url} is not a chart: it has no layer of the type {wanted}"))
            .hint("push the chart with helm push")
    })
}

/// Returns the files below a directory, with paths from there.
fn below(files: &Files, directory: &str) -> Result<Files, CliError> {
    let mut inner = Files::default();
    for (path, file) in files.below(directory) {
        inner.insert(path, file.clone())?;
    }
    Ok(inner)
}

/// Refuses a chart that Flux could not install from its source alone.
fn check_chart(files: &Files, place: &str) -> Result<(), CliError> {
    let mut chart = Files::default();
    for (path, file) in files.iter() {
        chart.insert(&join(DIRECTORY, path), file.clone())?;
    }
    let mut findings = Findings::default();
    let read = Chart::read(&chart, DIRECTORY, &mut Limits::default(), &mut findings);
    let Some(read) = read.filter(|_| !findings.has_errors()) else { return Err(unusable(&findings, place)) };
    match read.dependencies.iter().find(|dependency| dependency.vendored.is_none()) {
        Some(missing) => Err(CliError::usage(format!(
            "the chart {} of {place} does not contain its dependency {} {}",
            read.name, missing.name, missing.version
        ))
        .hint("Flux does not fetch it: name a chart that was packed after helm dependency build, or copy it into cluster-addon/")),
        None => Ok(()),
    }
}

fn unusable(findings: &Findings, place: &str) -> CliError {
    CliError::usage(format!("{place}: {}", first_error(findings)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::tests::{bare, clone, edit, identity};
    use crate::release::{File, list_repositories};

    fn refused(chart: &str, more: &[&str]) -> Option<String> {
        let mut files = Files::default();
        for (path, text) in [("Chart.yaml", chart)].into_iter().chain(more.iter().map(|path| (*path, "{}"))) {
            files.insert(path, File { content: text.as_bytes().to_vec(), executable: false }).unwrap();
        }
        check_chart(&files, "oci://h/x").err().map(|error| error.message)
    }

    #[test]
    fn chart_that_flux_cannot_install_is_refused() {
        let dependency = "dependencies:\n- {name: b, version: 1.0.0, repository: 'https://h'}\n";
        assert_eq!(refused("name: a\nversion: 1.2.3\n", &["templates/x.yaml"]), None);
        for (chart, message) in [
            ("name: a\nversion: latest\n", "invalid version latest: Helm does not accept it"),
            ("name: a\n", "version is missing"),
            (
                &format!("name: a\nversion: 1.2.3\n{dependency}"),
                "the chart a of oci://h/x does not contain its dependency b 1.0.0",
            ),
        ] {
            let found = refused(chart, &[]).unwrap();
            assert!(found.contains(message), "{found}");
        }
        let found =
            refused(&format!("name: a\nversion: 1.2.3\n{dependency}"), &["charts/b/values.yaml"]).unwrap();
        assert!(found.contains("does not contain its dependency b"), "{found}");
    }

    #[test]
    fn reference_of_git_becomes_branch_and_commit() {
        let (_directory, path) = bare();
        let clone = clone(&path);
        let (mut commits, tags) = (Vec::new(), ["v1.2.0", "v1.10.0", "v2.0.0-rc.1", "v1"]);
        for (second, tag) in (0..).zip(tags) {
            let (edit, parent) = (edit(&[("all.yaml", tag)]), commits.last().copied());
            let commit = clone.commit(parent, &edit, "test\n", &identity(second), None).unwrap().unwrap();
            clone.push(commit, "main", parent).unwrap();
            let remote = git2::Repository::open(&path).unwrap();
            let object = remote.revparse_single(&commit.to_string()).unwrap();
            remote.tag_lightweight(tag, &object, false).unwrap();
            commits.push(commit);
        }
        let pinned = |reference: &str| {
            let text = format!(
                "repositories: [{{name: p, git: {{url: 'https://h/p.git', ref: {{{reference}}}}}, components: []}}]"
            );
            let mut files = Files::default();
            files.insert("components.yaml", File { content: text.into_bytes(), executable: false }).unwrap();
            let listed = list_repositories(&files, &Limits::default()).unwrap();
            let ComponentSource::Git { reference, .. } = &listed[0].source else { panic!("{listed:?}") };
            match of_git(&listed[0], &self::clone(&path), reference) {
                Ok(ComponentSource::Git { reference: GitReference { branch, commit, .. }, .. }) => {
                    assert_eq!(branch.as_deref(), Some("main"));
                    let is_it = |of: &CommitId| {
                        commit.as_ref().is_some_and(|commit| commit.as_str() == of.to_string())
                    };
                    tags[commits.iter().position(is_it).unwrap()].to_owned()
                }
                other => other.unwrap_err().message,
            }
        };
        for (reference, expected) in [
            ("semver: 1.x", "v1.10.0"),
            ("semver: '>=2.0.0-0'", "v2.0.0-rc.1"),
            ("semver: 3.x", "https://h/p.git has no tag in the range 3.x"),
            ("tag: v1.2.0", "v1.2.0"),
            ("tag: v9", "https://h/p.git has no tag v9"),
            ("semver: v1", "v1.10.0"),
            ("branch: main", "v1"),
            ("name: refs/heads/main", "v1"),
            ("name: refs/tags/v1.2.0", "v1.2.0"),
            (
                "name: refs/pull/1/head",
                "repository p follows name refs/pull/1/head: pin knows only branches and tags of Git",
            ),
        ] {
            assert_eq!(pinned(reference), expected, "{reference}");
        }
    }
}
