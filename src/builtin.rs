//! The built-in stack repository: which commit each release has there.
//!
//! A commit is a function of the release alone. Two replicas that bring in the same release have the same commit, and one
//! that lost its volume makes it again. Each release is a root commit on a branch of its own, which has only that release:
//!
//! ```text
//! docker-demo-1-34-v1  ●──┐
//! docker-demo-1-34-v2  ●──┴─▶ main, made again with each release
//! ```
//! Pins are root commits, because those never change. Another format of these commits would upgrade every addon, so a test
//! has the digest of an example.

use std::collections::BTreeMap;

use sha1::{Digest as _, Sha1};

use crate::names::{ReleaseName, Revision};
use crate::release::Files;

/// The directory of the releases.
pub const RELEASES: &str = "releases";
/// The branch that merges all releases, for people and for Flux.
pub const BRANCH: &str = "main";
/// Name and email address of author and committer. Their time is the epoch.
pub const AUTHOR: (&str, &str) = ("stackflux", "stackflux@built-in.invalid");

/// The SHA-1 of a Git object.
type Id = [u8; 20];

/// Returns the message of the commit of a release.
#[must_use]
pub fn message(name: &ReleaseName) -> String {
    format!("Release {name}\n")
}

/// Returns the commit of a release. Ignored files and links do not count, because Flux does not pack them.
#[must_use]
pub fn root_commit(name: &ReleaseName, files: &Files) -> Revision {
    let mut root = Directory::default();
    for (path, file) in files.iter() {
        let mode = if file.executable { "100755" } else { "100644" };
        root.insert(&format!("{RELEASES}/{name}/{path}"), (mode, id("blob", &file.content)));
    }
    let (author, email) = AUTHOR;
    let content = format!(
        "tree {}\nauthor {author} <{email}> 0 +0000\ncommitter {author} <{email}> 0 +0000\n\n{}",
        Revision::of_sha1(root.id()),
        message(name)
    );
    Revision::of_sha1(id("commit", content.as_bytes()))
}

/// A directory as Git has it.
#[derive(Default)]
struct Directory {
    /// Modes and digests of the files, by name.
    files: BTreeMap<String, (&'static str, Id)>,
    directories: BTreeMap<String, Directory>,
}

impl Directory {
    fn insert(&mut self, path: &str, file: (&'static str, Id)) {
        match path.split_once('/') {
            Some((name, rest)) => self.directories.entry(name.to_owned()).or_default().insert(rest, file),
            None => drop(self.files.insert(path.to_owned(), file)),
        }
    }

    /// Returns the digest of the tree. Git sorts a directory as if its name ended with `/`.
    fn id(&self) -> Id {
        let files = self.files.iter().map(|(name, (mode, id))| (name.clone(), (*mode, name, *id)));
        let directories =
            self.directories.iter().map(|(name, below)| (format!("{name}/"), ("40000", name, below.id())));
        let sorted: BTreeMap<_, _> = files.chain(directories).collect();
        let mut content = Vec::new();
        for (mode, name, id) in sorted.into_values() {
            content.extend_from_slice(format!("{mode} {name}\0").as_bytes());
            content.extend_from_slice(&id);
        }
        id("tree", &content)
    }
}

fn id(kind: &str, content: &[u8]) -> Id {
    let header = format!("{kind} {}\0", content.len());
    Sha1::new().chain_update(header).chain_update(content).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::File;

    fn files(all: &[(&str, &str, bool)]) -> Files {
        let mut files = Files::default();
        for (path, content, executable) in all {
            let file = File { content: content.as_bytes().to_vec(), executable: *executable };
            files.insert(path, file).unwrap();
        }
        files
    }

    fn name() -> ReleaseName {
        "docker-demo-1-34-v1".parse().unwrap()
    }

    #[test]
    fn commit_of_a_release_never_changes() {
        // `a.b` is before the directory `a` in Git's order, and after the file `a`.
        let all = [("metadata.yaml", "x: 1\n", false), ("a/run", "#!/bin/sh\n", true), ("a.b", "", false)];
        assert_eq!(root_commit(&name(), &files(&all)).as_str(), "6d9724643bd3dab54f4d18b87ea7532df53921d5");
    }

    #[test]
    fn ignored_files_do_not_count() {
        let all = files(&[("metadata.yaml", "x: 1\n", false)]);
        let mut more = all.clone();
        more.insert_ignored("logo.png").unwrap();
        more.insert_link("link", "metadata.yaml").unwrap();
        assert_eq!(root_commit(&name(), &all), root_commit(&name(), &more));
        let other = files(&[("metadata.yaml", "x: 1\n", true)]);
        assert_ne!(root_commit(&name(), &all), root_commit(&name(), &other), "the mode counts");
    }
}
