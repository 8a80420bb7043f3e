use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;
use crate::release::tests::builder::{raw_archive, small_release, stack_repository};
use crate::release::{Digest, File};

const V1: &str = "docker-demo-1-34-v1";
const V2: &str = "docker-demo-1-34-v2";
const V10: &str = "docker-demo-1-34-v10";

/// Entries of an archive: path, type, content.
#[derive(Clone, Default)]
struct Tree(Vec<(String, EntryType, Vec<u8>)>);

impl Tree {
    fn file(mut self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.0.push((path.to_owned(), EntryType::Regular, content.as_ref().to_vec()));
        self
    }

    fn other(mut self, path: &str, kind: EntryType) -> Self {
        self.0.push((path.to_owned(), kind, Vec::new()));
        self
    }

    /// Adds a small release below `releases/`.
    fn release(mut self, name: &str) -> Self {
        for (path, content) in small_release(name, name) {
            self = self.file(&format!("releases/{name}/{path}"), content);
        }
        self
    }

    fn pack(&self) -> Vec<u8> {
        raw_archive(self.0.iter().map(|(path, kind, content)| (path.as_str(), *kind, "", content.as_slice())))
    }

    fn read(&self) -> Found<Release> {
        read_all(&self.pack(), &CatalogLimits::default()).unwrap()
    }
}

/// Reads all releases of `docker`.
fn read_all(archive: &[u8], limits: &CatalogLimits) -> Result<Found<Release>, CatalogError> {
    read(archive, "releases", limits, |name| name.provider() == "docker", |loaded| loaded.release)
}

fn names<T>(found: &Found<T>) -> Vec<String> {
    found.releases.keys().map(ToString::to_string).collect()
}

#[track_caller]
fn refused(found: &Found<Release>, name: &str, reason: Reason, message: &str) {
    let findings = found.releases[&name.parse().unwrap()].as_ref().expect_err("it was read");
    let errors: Vec<_> = findings.errors().collect();
    let [error] = errors.as_slice() else { panic!("not one error:\n{findings}") };
    assert_eq!((error.reason, error.message.as_str()), (reason, message));
}

#[test]
fn catalog_lists_matching_releases_only() {
    let tree = Tree::default()
        .file("README.md", "x")
        .file("releases.md", "x")
        .file("releases/README.md", "x")
        .file("releases/.github/ci.yaml", "x")
        .release(V1)
        .release(V10)
        .release(V2)
        .file("releases/docker-demo-v5/metadata.yaml", "x")
        .file("releases/docker-demo-1-29-v2-test/metadata.yaml", "x")
        .file("releases/docker-demo-1-29-v2-test/other.yaml", "x")
        .file("releases/openstack-demo-1-34-v1/metadata.yaml", "this one would be refused")
        .other("releases/docker-demo-1-34-v7", EntryType::Symlink)
        .file("other/docker-demo-1-34-v8/metadata.yaml", "x");
    let found = tree.read();
    assert_eq!(names(&found), [V1, V2, V10], "in their order, not in that of text");
    assert!(found.releases.values().all(Result::is_ok));
    assert_eq!(found.others, Others { unwanted: 1, malformed: 2 });
}

#[test]
fn release_digest_is_that_of_its_files() {
    let mut files = Files::default();
    for (path, content) in small_release(V2, V2) {
        files.insert(&path, File { content: content.into_bytes(), executable: false }).unwrap();
    }
    let found = read_all(&stack_repository(&[V1, V2]), &CatalogLimits::default()).unwrap();
    let release = found.releases[&V2.parse().unwrap()].as_ref().unwrap();
    assert_eq!(release.digest, Digest::of(&files, ""));
}

#[test]
fn directory_spellings_are_equivalent() {
    let archive = stack_repository(&[V1]);
    for (path, there) in [("releases", 1), ("./releases/", 1), ("/releases//", 1), ("release", 0), ("", 0)] {
        let found = read(&archive[..], path, &CatalogLimits::default(), |_| true, drop).unwrap();
        assert_eq!(found.releases.len(), there, "{path}");
    }
    let files = small_release(V1, "");
    let path = |path: &str, below: &str| format!("{path}{V1}/{below}");
    for (in_archive, given) in [("", ""), ("", "."), ("a/b/", "a/b"), ("./", "")] {
        let entries: Vec<_> = files.iter().map(|(file, content)| (path(in_archive, file), content)).collect();
        let entry = |(path, content): &'_ (String, &'_ String)| (path.clone(), (*content).clone());
        let tree =
            entries.iter().map(entry).fold(Tree::default(), |tree, (path, text)| tree.file(&path, text));
        let found = read(&tree.pack()[..], given, &CatalogLimits::default(), |_| true, drop).unwrap();
        assert_eq!(names(&found), [V1], "{in_archive:?} {given:?}");
    }
}

#[test]
fn invalid_release_affects_no_other() {
    let bad = |name: &str, entry: fn(Tree, &str) -> Tree| {
        let tree = entry(Tree::default().release(V1).release(name), &format!("releases/{name}"));
        let found = tree.release("docker-demo-1-34-v99").read();
        assert!(found.releases[&V1.parse().unwrap()].is_ok());
        assert!(found.releases[&"docker-demo-1-34-v99".parse().unwrap()].is_ok());
        found
    };
    let found = bad(V2, |tree, at| tree.other(&format!("{at}/link"), EntryType::Symlink));
    refused(&found, V2, Reason::LinkNotAllowed, "the entry is a link to \"\": links are not followed");
    let found = bad(V2, |tree, at| tree.file(&format!("{at}/../{V1}/metadata.yaml"), "x"));
    refused(&found, V2, Reason::InvalidPath, "the path has a `..` in it");
    let found = bad(V2, |tree, at| tree.other(&format!("{at}/device"), EntryType::Char));
    refused(&found, V2, Reason::SpecialFile, "the entry is a device, a pipe or something else special");
    let found = bad(V2, |tree, at| tree.file(&format!("{at}/metadata.yaml"), "twice"));
    let twice = "another entry has the same path, or is a file where this one needs a directory";
    refused(&found, V2, Reason::InvalidPath, twice);
    let found = bad(V2, |tree, at| tree.file(&format!("{at}/docker-demo-1-34-cluster-class-v2.tgz"), "x"));
    let packed = "the release is packed, and Flux does not open archives in Git";
    refused(&found, V2, Reason::PackedInRepository, packed);
}

#[test]
fn paths_outside_are_in_no_release() {
    let tree = Tree::default()
        .file(&format!("../releases/{V1}/metadata.yaml"), "x")
        .file(&format!("/releases/{V1}/metadata.yaml"), "x")
        .file(&format!("releases/../releases/{V1}/metadata.yaml"), "x")
        .other("releases", EntryType::Symlink)
        .release(V2);
    assert_eq!(names(&tree.read()), [V2]);
}

#[test]
fn release_in_two_directories_is_refused() {
    let split = |second: &str| {
        let mut tree = Tree::default().release(V1);
        let last = tree.0.pop().unwrap();
        tree = tree.release(V2);
        tree.file(second, last.2)
    };
    let found = split(&format!("releases/{V1}/metadata.yaml")).read();
    refused(&found, V1, Reason::InvalidPath, "the release's files are in two places of the archive");
    assert!(found.releases[&V2.parse().unwrap()].is_ok());
    // It stays refused when it appears a third time.
    let found = split(&format!("releases/{V1}/metadata.yaml")).release(V10).release(V1).read();
    refused(&found, V1, Reason::InvalidPath, "the release's files are in two places of the archive");
}

#[test]
fn limits_apply_to_each_release() {
    let limits = CatalogLimits {
        release: Limits { unpacked: 2000, entries: 8, ..Limits::default() },
        ..CatalogLimits::default()
    };
    let large = Tree::default()
        .release(V1)
        .file(&format!("releases/{V1}/z"), [0; 2000])
        .file("releases/openstack-demo-1-34-v1/z", [0; 4000])
        .file("z", [0; 4000])
        .release(V2);
    let found = read_all(&large.pack(), &limits).unwrap();
    refused(&found, V1, Reason::LimitExceeded, "the release exceeds the limit of 2000 bytes");
    assert!(found.releases[&V2.parse().unwrap()].is_ok(), "what is not wanted does not count");
    let many = (0..9).fold(Tree::default().release(V1), |tree, number| {
        tree.file(&format!("releases/{V1}/z/{number}"), "")
    });
    let found = read_all(&many.release(V2).pack(), &limits).unwrap();
    refused(&found, V1, Reason::LimitExceeded, "the release exceeds the limit of 8 entries");
    assert!(found.releases[&V2.parse().unwrap()].is_ok());
}

#[test]
fn limits_apply_to_the_archive() {
    let tree =
        (0..20).fold(Tree::default(), |tree, number| tree.file(&format!("elsewhere/{number}"), [0; 100]));
    let archive = tree.pack();
    let limits = |entries, unpacked| CatalogLimits { unpacked, entries, ..CatalogLimits::default() };
    assert!(read_all(&archive, &limits(20, 2000)).is_ok());
    let error = read_all(&archive, &limits(19, 2000)).unwrap_err();
    assert!(matches!(error, CatalogError::TooManyEntries(19)), "{error}");
    let error = read_all(&archive, &limits(20, 1999)).unwrap_err();
    assert!(matches!(error, CatalogError::TooLarge(1999)), "{error}");
    assert_eq!((error.class(), error.reason()), (Class::Terminal, "LimitExceeded"));
}

/// Creates an archive with an entry that claims a size, and then zeros.
fn bomb(kind: EntryType, claimed: u64) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.set_path("a").unwrap();
    header.set_entry_type(kind);
    header.set_size(claimed);
    if kind == EntryType::GNUSparse {
        // One hole of 4 GiB.
        let gnu = header.as_gnu_mut().unwrap();
        gnu.realsize.copy_from_slice(b"40000000000\0");
        gnu.sparse[0].offset.copy_from_slice(b"40000000000\0");
        gnu.sparse[0].numbytes.copy_from_slice(b"00000000000\0");
    }
    header.set_cksum();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(header.as_bytes()).unwrap();
    for _ in 0..8 {
        encoder.write_all(&vec![0; 1 << 20]).unwrap();
    }
    encoder.finish().unwrap()
}

#[test]
fn archive_bombs_are_refused() {
    let unreadable = |archive: &[u8], message: &str| {
        let error = read_all(archive, &CatalogLimits::default()).unwrap_err();
        assert_eq!(error.to_string(), format!("the archive cannot be read: {message}"));
    };
    let error = read_all(&bomb(EntryType::Regular, 2 << 30), &CatalogLimits::default()).unwrap_err();
    assert!(matches!(error, CatalogError::TooLarge(_)), "{error}");
    let long = "the name or headers of an entry exceed the limit of 1 MiB";
    for kind in [EntryType::GNULongName, EntryType::GNULongLink, EntryType::XHeader] {
        unreadable(&bomb(kind, 4 << 20), long);
    }
    unreadable(&bomb(EntryType::GNUSparse, 0), "it has a sparse file");
}

#[test]
fn invalid_archive_is_refused() {
    let archive = stack_repository(&[V1, V2]);
    for bytes in [&b""[..], b"x", b"\x1f\x8b", &archive[..archive.len() / 2]] {
        let error = read_all(bytes, &CatalogLimits::default()).unwrap_err();
        assert!(matches!(error, CatalogError::Unreadable(_)), "{error}");
        assert_eq!((error.class(), error.reason()), (Class::Terminal, "InvalidArchive"));
    }
}
