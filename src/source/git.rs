//! The commit that pins a release, which Flux fetches.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use git2::{Commit, ObjectType, Oid, Repository, Tree, TreeWalkMode, TreeWalkResult};

use crate::error::{Class, Classify};
use crate::release::{File, Files, Finding, PathError};

/// Maximum number of paths that an error names.
const MAX_PATHS: usize = 10;

/// An error in finding the commit of a directory.
#[derive(Debug, thiserror::Error)]
pub enum PinError {
    /// The directory is not in a work tree.
    #[error("{}: this directory is not in a Git work tree, so there is no commit to pin the release to", .0.display())]
    NoWorkTree(PathBuf),
    /// The repository has no commit.
    #[error("{}: this Git repository has no commit yet", .0.display())]
    NoCommit(PathBuf),
    /// The commit does not have the directory.
    #[error("{path} is not in commit {revision}: the release is not committed")]
    NotCommitted {
        /// The directory, from the root of the work tree.
        path: String,
        /// The commit.
        revision: String,
    },
    /// The work tree differs from the commit.
    #[error("{path} differs from commit {revision}, which Flux fetches: {}", paths.join(", "))]
    Differs {
        /// The directory, from the root of the work tree.
        path: String,
        /// The commit.
        revision: String,
        /// The files that differ, or are on one side only, by path from the directory.
        paths: Vec<String>,
    },
    /// The commit has a path that a release must not have.
    #[error("{path}: {error}")]
    Path {
        /// The path in the commit.
        path: String,
        /// The cause.
        error: PathError,
    },
    /// The `.sourceignore` rules of the commit are invalid.
    #[error("{0}")]
    Ignore(Box<Finding>),
    /// Reading from this machine failed.
    #[error("{}: {error}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// A call of libgit2 failed.
    #[error("Git: {}", .0.message())]
    Git(#[from] git2::Error),
}

impl PinError {
    /// Suggests how to fix the error.
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

impl Classify for PinError {
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
    /// The 40 hex digits of the commit.
    pub revision: String,
    /// The release's directory from the root of the repository, with `/`: `releases/openstack-scs2-1-34-v2`.
    pub path: String,
    /// Whether the search ended here because the clone is shallow: a full clone may have an older commit.
    pub cut_off: bool,
}

/// A directory of a work tree.
pub struct Checkout {
    repository: Repository,
    path: String,
}

impl Checkout {
    /// Finds the work tree that contains this directory.
    pub fn of(directory: &Path) -> Result<Self, PinError> {
        let real = |path: &Path| {
            fs::canonicalize(path).map_err(|error| PinError::Io { path: path.to_owned(), error })
        };
        let directory = real(directory)?;
        let outside = || PinError::NoWorkTree(directory.clone());
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

    /// Returns the last commit on the first-parent line of HEAD that changed the directory. HEAD itself would change with
    /// every unrelated commit, give every chart another revision, and so upgrade every addon. A merge of the built-in stack
    /// repository changes with every release, too: there it is the merged commit that has nothing but the directory.
    pub fn pin(&self) -> Result<Pin, PinError> {
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
        if commit.parent_count() > 1 {
            let roots = commit.parents().filter(|parent| parent.parent_count() == 0);
            let root = roots
                .into_iter()
                .find(|root| self.only_content(root).is_ok_and(|only| only == Some(content)));
            commit = root.unwrap_or(commit);
        }
        // libgit2 hides the parents that a shallow clone does not have.
        cut_off |= commit.parent_count() == 0 && self.repository.is_shallow();
        Ok(Pin { revision: commit.id().to_string(), path: self.path.clone(), cut_off })
    }

    /// Checks that the work tree equals HEAD, as far as Flux would pack it.
    pub fn check_committed(&self, files: &Files) -> Result<(), PinError> {
        let head = self.head()?;
        let committed = self.read(&self.content(&head)?)?;
        let mut paths = files.differences(&committed);
        if paths.is_empty() {
            return Ok(());
        }
        if paths.len() > MAX_PATHS {
            let more = format!("and {} more", paths.len() - MAX_PATHS);
            paths.truncate(MAX_PATHS);
            paths.push(more);
        }
        Err(PinError::Differs { path: self.path.clone(), revision: head.id().to_string(), paths })
    }

    fn head(&self) -> Result<Commit<'_>, PinError> {
        let head = self.repository.head().map_err(|error| match error.code() {
            git2::ErrorCode::UnbornBranch => {
                PinError::NoCommit(self.repository.workdir().unwrap_or(self.repository.path()).to_owned())
            }
            _ => error.into(),
        })?;
        Ok(head.peel_to_commit()?)
    }

    fn content<'a>(&'a self, commit: &Commit<'a>) -> Result<Tree<'a>, PinError> {
        let tree = commit.tree()?;
        if self.path.is_empty() {
            return Ok(tree);
        }
        let missing =
            || PinError::NotCommitted { path: self.path.clone(), revision: commit.id().to_string() };
        let entry = tree.get_path(Path::new(&self.path)).map_err(|_| missing())?;
        entry.to_object(&self.repository)?.into_tree().map_err(|_| missing())
    }

    /// Returns the directory of a commit that has nothing else; `None` if it has.
    fn only_content(&self, commit: &Commit<'_>) -> Result<Option<Oid>, git2::Error> {
        let mut tree = commit.tree()?;
        for name in Path::new(&self.path) {
            let below = tree.get(0).filter(|entry| entry.name_bytes() == name.as_encoded_bytes());
            let Some(id) = below.filter(|_| tree.len() == 1).map(|entry| entry.id()) else { return Ok(None) };
            let Ok(below) = self.repository.find_tree(id) else { return Ok(None) };
            tree = below;
        }
        Ok(Some(tree.id()))
    }

    /// Reads the files of a tree as Flux would pack them after a checkout, which fetches no submodules.
    fn read(&self, tree: &Tree<'_>) -> Result<Files, PinError> {
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
            return Err(PinError::Path { path, error: PathError::Submodule });
        }
        let mut files = Files::default();
        for (path, id, mode) in entries {
            let content = self.repository.find_blob(id)?.content().to_owned();
            let added = if mode == 0o120_000 {
                files.insert_link(&path, &String::from_utf8_lossy(&content))
            } else {
                files.insert(&path, File { content, executable: mode & 0o100 != 0 })
            };
            added.map_err(|error| PinError::Path { path, error })?;
        }
        files.without_ignored().map_err(PinError::Ignore)
    }
}
