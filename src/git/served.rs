//! A bare repository that this process serves: the releases of the built-in stack repository.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use git2::{Branch, BranchType, Commit, ErrorCode, Oid, Repository, TreeWalkMode, TreeWalkResult};
use jiff::Timestamp;
use tracing::warn;

use super::clone::{Lock, create};
use super::error::found;
use super::{CommitId, Edit, GitError, Identity, TreeId, leftovers};
use crate::builtin::{AUTHOR, BRANCH, RELEASES, message, root_commit};
use crate::names::ReleaseName;
use crate::release::Files;

/// The bare repository with the releases of one `ClusterStack`, which one process writes. A reader finds each branch complete,
/// also while another one is added.
#[derive(Debug)]
pub struct ServedRepository {
    path: PathBuf,
    _lock: Lock,
}

impl ServedRepository {
    /// Opens the repository in a directory, or creates it. A branch whose content is lost is no longer there.
    ///
    /// # Errors
    /// Another process has it, or it cannot be read. It is never deleted: it may have releases that are nowhere else.
    pub fn open(directory: &Path) -> Result<Self, GitError> {
        fs::create_dir_all(directory).map_err(GitError::io(directory))?;
        let (lock, path) = (Lock::take(directory)?, directory.join("repository.git"));
        match fs::metadata(path.join("HEAD")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => drop(create(&path)?),
            Err(error) => return Err(GitError::io(&path)(error)),
            Ok(_) => {
                leftovers::remove(&path)?;
                remove_broken(&Repository::open_bare(&path)?)?;
            }
        }
        Ok(Self { path, _lock: lock })
    }

    /// Returns its directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it has releases of an upstream with credentials.
    #[must_use]
    pub fn is_private(&self) -> bool {
        self.private().exists()
    }

    /// Records that it has releases of an upstream with credentials, for ever.
    pub fn set_private(&self) -> Result<(), GitError> {
        let mark = self.private();
        File::create(&mark).and_then(|file| file.sync_all()).map_err(GitError::io(&mark))
    }

    fn private(&self) -> PathBuf {
        self.path.with_file_name("private")
    }

    /// Returns the commits of the releases that it has.
    pub fn releases(&self) -> Result<BTreeMap<ReleaseName, CommitId>, GitError> {
        commits(&Repository::open_bare(&self.path)?)
    }

    /// Returns the commit of all releases; `None` without releases.
    pub fn main(&self) -> Result<Option<CommitId>, GitError> {
        let repository = Repository::open_bare(&self.path)?;
        let main = found(repository.find_reference(&format!("refs/heads/{BRANCH}")))?;
        Ok(main.and_then(|main| main.target()).map(CommitId))
    }

    /// Adds a release, and replaces one of its name.
    pub fn add(&self, name: &ReleaseName, files: &Files) -> Result<CommitId, GitError> {
        let repository = Repository::open_bare(&self.path)?;
        let mut edit = Edit::default();
        for (path, file) in files.iter() {
            edit.write(&format!("{RELEASES}/{name}/{path}"), file.clone())?;
        }
        let tree = edit.apply(&repository, None)?;
        let commit = commit(&repository, tree, &message(name), &[])?;
        let planned = root_commit(name, files);
        if commit.to_string() != planned.as_str() {
            let (release, planned, made) = (name.to_string(), planned.to_string(), commit.to_string());
            return Err(GitError::OtherCommit { release, planned, made });
        }
        pack(&repository)?;
        repository.reference(&format!("refs/heads/{name}"), commit.0, true, "")?;
        Ok(commit)
    }

    /// Makes the merge of all releases, unless it is there. Returns its commit; `None` without releases.
    pub fn merge(&self) -> Result<Option<CommitId>, GitError> {
        let repository = Repository::open_bare(&self.path)?;
        let releases = commits(&repository)?;
        if releases.is_empty() {
            return Ok(None);
        }
        let main = self.main()?;
        if let Some(main) = main
            && repository.find_commit(main.0)?.parent_ids().eq(releases.values().map(|commit| commit.0))
        {
            return Ok(Some(main));
        }
        let (mut edit, mut parents) = (Edit::default(), Vec::new());
        for (name, commit) in releases {
            let (parent, path) = (repository.find_commit(commit.0)?, format!("{RELEASES}/{name}"));
            edit.copy_directory(TreeId(parent.tree()?.get_path(Path::new(&path))?.id()), &path)?;
            parents.push(parent);
        }
        let parents: Vec<&Commit<'_>> = parents.iter().collect();
        let merge = commit(&repository, edit.apply(&repository, None)?, "All releases\n", &parents)?;
        pack(&repository)?;
        repository.reference(&format!("refs/heads/{BRANCH}"), merge.0, true, "")?;
        Ok(Some(merge))
    }
}

/// Removes the branches whose commit or files are not there: after a crash of the machine, a pack may be empty.
fn remove_broken(repository: &Repository) -> Result<(), GitError> {
    for branch in repository.branches(Some(BranchType::Local))? {
        let (mut branch, _) = branch?;
        if !is_whole(repository, &branch)? {
            let name = branch.name()?.unwrap_or_default().to_owned();
            warn!(directory = %repository.path().display(), branch = name, "removed a branch whose content is lost");
            branch.get_mut().delete()?;
        }
    }
    Ok(())
}

/// Whether all objects of a branch are there. What cannot be read for another reason may be there.
fn is_whole(repository: &Repository, branch: &Branch<'_>) -> Result<bool, GitError> {
    let Some(tree) = found(branch.get().peel_to_tree())? else { return Ok(false) };
    let (database, mut is_whole) = (repository.odb()?, true);
    let walked = tree.walk(TreeWalkMode::PreOrder, |_, entry| {
        is_whole = database.exists(entry.id());
        if is_whole { TreeWalkResult::Ok } else { TreeWalkResult::Abort }
    });
    match walked {
        Err(error) if is_whole && error.code() != ErrorCode::NotFound => Err(error.into()),
        walked => Ok(walked.is_ok() && is_whole),
    }
}

/// Makes sure that a pack outlives a crash of the machine, before what it has is removed.
fn sync(packs: &Path, name: &str) -> Result<(), GitError> {
    for file in fs::read_dir(packs).map_err(GitError::io(packs))? {
        let file = file.map_err(GitError::io(packs))?;
        if file.file_name().to_string_lossy().contains(name) {
            File::open(file.path()).and_then(|file| file.sync_all()).map_err(GitError::io(&file.path()))?;
        }
    }
    File::open(packs).and_then(|directory| directory.sync_all()).map_err(GitError::io(packs))
}

/// Returns the size in bytes of all files below a directory that can be read.
#[must_use]
pub fn directory_size(directory: &Path) -> u64 {
    let Ok(found) = fs::read_dir(directory) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => directory_size(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    };
    found.flatten().map(size).sum()
}

fn commits(repository: &Repository) -> Result<BTreeMap<ReleaseName, CommitId>, GitError> {
    let mut commits = BTreeMap::new();
    for branch in repository.branches(Some(BranchType::Local))? {
        let (branch, _) = branch?;
        let name = branch.name()?.and_then(|name| name.parse().ok());
        commits.extend(name.zip(branch.get().target().map(CommitId)));
    }
    Ok(commits)
}

fn commit(
    repository: &Repository,
    tree: Oid,
    message: &str,
    parents: &[&Commit<'_>],
) -> Result<CommitId, GitError> {
    let (name, email) = (AUTHOR.0.to_owned(), AUTHOR.1.to_owned());
    let author = Identity { name, email, time: Timestamp::UNIX_EPOCH }.signature()?;
    Ok(CommitId(repository.commit(None, &author, &author, message, &repository.find_tree(tree)?, parents)?))
}

/// Moves the objects that libgit2 wrote as a file each into one pack, from which Git answers much faster.
fn pack(repository: &Repository) -> Result<(), GitError> {
    let objects = repository.path().join("objects");
    let (mut builder, mut files) = (repository.packbuilder()?, Vec::new());
    builder.set_threads(1);
    for directory in fs::read_dir(&objects).map_err(GitError::io(&objects))? {
        let directory = directory.map_err(GitError::io(&objects))?;
        let begin = directory.file_name().to_string_lossy().into_owned();
        if begin.len() != 2 {
            continue;
        }
        for file in fs::read_dir(directory.path()).map_err(GitError::io(&directory.path()))? {
            let file = file.map_err(GitError::io(&objects))?;
            // Another name is that of an unfinished file.
            if let Ok(id) = Oid::from_str(&format!("{begin}{}", file.file_name().to_string_lossy())) {
                builder.insert_object(id, None)?;
                files.push(file.path());
            }
        }
    }
    if files.is_empty() {
        return Ok(());
    }
    let packs = objects.join("pack");
    builder.write(&packs, 0o644)?;
    sync(&packs, builder.name()?.unwrap_or_default())?;
    for file in files {
        fs::remove_file(&file).map_err(GitError::io(&file))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
