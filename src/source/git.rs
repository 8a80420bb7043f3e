//! The commit that pins a release: what Flux will be told to fetch.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use git2::{Commit, ObjectType, Oid, Repository, Tree, TreeWalkMode, TreeWalkResult};

use crate::error::{Class, Classify};
use crate::release::{File, Files, Finding, PathError};

/// The most paths that an error names.
const MOST_PATHS: usize = 10;

/// Why a directory has no pin.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The directory is in no work tree.
    #[error("{}: this directory is not in a Git work tree, so there is no commit to pin the release to", .0.display())]
    NoWorkTree(PathBuf),
    /// The repository is new.
    #[error("{}: this Git repository has no commit yet", .0.display())]
    NoCommit(PathBuf),
    /// HEAD has no such directory.
    #[error("{path} is not in commit {revision}: the release is not committed")]
    NotCommitted {
        /// The directory, from the top of the work tree.
        path: String,
        /// The commit.
        revision: String,
    },
    /// The work tree has something else than the commit.
    #[error("{path} differs from commit {revision}, which Flux fetches: {}", paths.join(", "))]
    Differs {
        /// The directory, from the top of the work tree.
        path: String,
        /// The commit.
        revision: String,
        /// Files that differ, or are on one side only, from the directory.
        paths: Vec<String>,
    },
    /// A path that no release can have.
    #[error("{path}: {error}")]
    Path {
        /// The path in the commit.
        path: String,
        /// What is wrong with it.
        error: PathError,
    },
    /// The commit's rules of what Flux leaves out cannot be used.
    #[error("{0}")]
    Ignore(Box<Finding>),
    /// The operating system refused.
    #[error("{}: {error}", path.display())]
    Io {
        /// What was to be read.
        path: PathBuf,
        /// The refusal.
        error: io::Error,
    },
    /// libgit2 refused.
    #[error("Git: {}", .0.message())]
    Git(#[from] git2::Error),
}

impl GitError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoWorkTree(_) => {
                Some("commit the release to a stack repository, or name the commit with --revision")
            }
            Self::NoCommit(_) | Self::NotCommitted { .. } | Self::Differs { .. } => {
                Some("commit the release's directory first, including files that .gitignore hides")
            }
            Self::Ignore(_) | Self::Path { .. } | Self::Io { .. } | Self::Git(_) => None,
        }
    }
}

impl Classify for GitError {
    fn class(&self) -> Class {
        match self {
            Self::Io { .. } => Class::Transient,
            _ => Class::Terminal,
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::NoWorkTree(_) => "NoWorkTree",
            Self::NoCommit(_) | Self::NotCommitted { .. } => "NotCommitted",
            Self::Differs { .. } => "WorkTreeDiffers",
            Self::Path { .. } => "InvalidPath",
            Self::Ignore(finding) => finding.reason.as_str(),
            Self::Io { .. } => "SourceUnreadable",
            Self::Git(_) => "GitFailed",
        }
    }
}

/// The commit that pins a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The commit's 40 hex digits.
    pub revision: String,
    /// The release's directory from the top of the repository, with `/`: `releases/openstack-scs2-1-34-v2`.
    pub path: String,
    /// Whether the history ended at this commit because the clone is shallow: a full clone may give an older commit.
    pub cut_off: bool,
}

/// A directory of a work tree.
pub struct Checkout {
    repository: Repository,
    path: String,
}

impl Checkout {
    /// Finds the work tree that this directory is in.
    pub fn of(directory: &Path) -> Result<Self, GitError> {
        let real = |path: &Path| {
            fs::canonicalize(path).map_err(|error| GitError::Io { path: path.to_owned(), error })
        };
        let directory = real(directory)?;
        let outside = || GitError::NoWorkTree(directory.clone());
        let repository = match Repository::discover(&directory) {
            Ok(repository) => repository,
            Err(error) if error.code() == git2::ErrorCode::NotFound => return Err(outside()),
            Err(error) => return Err(error.into()),
        };
        let top = real(repository.workdir().ok_or_else(outside)?)?;
        let below = directory.strip_prefix(&top).map_err(|_| outside())?;
        let parts: Option<Vec<&str>> = below.iter().map(|part| part.to_str()).collect();
        let path = parts.ok_or_else(outside)?.join("/");
        Ok(Self { repository, path })
    }

    /// The last commit on the first-parent line of HEAD that changed the directory. HEAD itself would give every
    /// chart another revision, and so upgrade every addon, with each commit to something else.
    pub fn pin(&self) -> Result<Pin, GitError> {
        let mut commit = self.head()?;
        let content = self.content(&commit)?.id();
        let mut cut_off = false;
        while commit.parent_count() > 0 {
            let parent = match commit.parent(0) {
                Ok(parent) => parent,
                Err(error) if error.code() == git2::ErrorCode::NotFound && self.repository.is_shallow() => {
                    cut_off = true;
                    break;
                }
                Err(error) => return Err(error.into()),
            };
            if self.content(&parent).ok().map(|tree| tree.id()) != Some(content) {
                break;
            }
            commit = parent;
        }
        // libgit2 hides the parents that a shallow clone does not have.
        cut_off |= commit.parent_count() == 0 && self.repository.is_shallow();
        Ok(Pin { revision: commit.id().to_string(), path: self.path.clone(), cut_off })
    }

    /// Checks that the work tree has what HEAD has, as far as Flux would pack it.
    pub fn check_committed(&self, files: &Files) -> Result<(), GitError> {
        let head = self.head()?;
        let committed = self.read(&self.content(&head)?)?;
        let mut paths = files.differences(&committed);
        if paths.is_empty() {
            return Ok(());
        }
        if paths.len() > MOST_PATHS {
            let more = format!("and {} more", paths.len() - MOST_PATHS);
            paths.truncate(MOST_PATHS);
            paths.push(more);
        }
        Err(GitError::Differs { path: self.path.clone(), revision: head.id().to_string(), paths })
    }

    fn head(&self) -> Result<Commit<'_>, GitError> {
        let head = self.repository.head().map_err(|error| match error.code() {
            git2::ErrorCode::UnbornBranch => {
                GitError::NoCommit(self.repository.workdir().unwrap_or(self.repository.path()).to_owned())
            }
            _ => error.into(),
        })?;
        Ok(head.peel_to_commit()?)
    }

    fn content<'a>(&'a self, commit: &Commit<'a>) -> Result<Tree<'a>, GitError> {
        let tree = commit.tree()?;
        if self.path.is_empty() {
            return Ok(tree);
        }
        let missing =
            || GitError::NotCommitted { path: self.path.clone(), revision: commit.id().to_string() };
        let entry = tree.get_path(Path::new(&self.path)).map_err(|_| missing())?;
        entry.to_object(&self.repository)?.into_tree().map_err(|_| missing())
    }

    /// The files of a tree as Flux would pack them after a checkout, which fetches no submodules.
    fn read(&self, tree: &Tree<'_>) -> Result<Files, GitError> {
        let mut entries: Vec<(String, Oid, i32)> = Vec::new();
        let mut submodule = None;
        tree.walk(TreeWalkMode::PreOrder, |directory, entry| {
            let path = || format!("{directory}{}", String::from_utf8_lossy(entry.name_bytes()));
            match entry.kind() {
                Some(ObjectType::Blob) => entries.push((path(), entry.id(), entry.filemode())),
                Some(ObjectType::Commit) => submodule = Some(path()),
                _ => {}
            }
            TreeWalkResult::Ok
        })?;
        if let Some(path) = submodule {
            return Err(GitError::Path { path, error: PathError::Submodule });
        }
        let mut files = Files::default();
        for (path, id, mode) in entries {
            let content = self.repository.find_blob(id)?.content().to_owned();
            let added = if mode == 0o120_000 {
                files.insert_link(&path, &String::from_utf8_lossy(&content))
            } else {
                files.insert(&path, File { content, executable: mode & 0o100 != 0 })
            };
            added.map_err(|error| GitError::Path { path, error })?;
        }
        files.without_ignored().map_err(GitError::Ignore)
    }
}
