//! Helpers for tests of Git.

use std::path::{Path, PathBuf};

use git2::{Oid, Repository, RepositoryInitOptions};
use jiff::Timestamp;
use tempfile::TempDir;

use super::{Access, BareRepository, Credentials, Edit, Identity, TreeId};
use crate::release::File;

/// Creates a bare repository without a commit, whose default branch is `main`.
pub(crate) fn bare() -> (TempDir, PathBuf) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("remote.git");
    Repository::init_opts(&path, RepositoryInitOptions::new().bare(true).initial_head("main")).unwrap();
    (directory, path)
}

pub(crate) fn access(directory: &Path) -> Access {
    Access { url: directory.to_str().unwrap().parse().unwrap(), credentials: Credentials::default() }
}

pub(crate) fn clone(directory: &Path) -> BareRepository {
    BareRepository::temporary(access(directory)).unwrap()
}

/// Returns an identity with this time.
pub(crate) fn identity(second: i64) -> Identity {
    let time = Timestamp::from_second(second).unwrap();
    Identity::parse("Ann Example <ann@example.org>", time).unwrap()
}

pub(crate) fn file(text: &str) -> File {
    File { content: text.into(), executable: false }
}

/// Returns an edit that writes files, given as paths and texts.
pub(crate) fn edit(files: &[(&str, &str)]) -> Edit {
    let mut edit = Edit::default();
    for (path, text) in files {
        edit.write(path, file(text)).unwrap();
    }
    edit
}

/// Returns an id that consists of one hex digit.
pub(crate) fn tree_id(digit: char) -> TreeId {
    TreeId(Oid::from_str(&digit.to_string().repeat(40)).unwrap())
}
