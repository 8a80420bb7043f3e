//! Archives whose bytes depend on their content alone: sorted, without owners, times and names of the machine.

use std::io::{self, Read as _, Write as _};
use std::path::Path;

use flate2::{Compression, GzBuilder};
use sha2::{Digest as _, Sha256};
use tar::{Archive, Builder, EntryType, Header};

/// An entry of an archive.
pub(crate) struct Entry {
    /// The path in the archive, without a leading slash.
    pub(crate) path: String,
    /// The permissions.
    pub(crate) mode: u32,
    pub(crate) content: Content,
}

/// The content of an entry.
pub(crate) enum Content {
    Directory,
    File(Vec<u8>),
}

impl Entry {
    /// A file that every user may read.
    pub(crate) fn file(path: &str, content: impl Into<Vec<u8>>) -> Self {
        Self { path: path.to_owned(), mode: 0o644, content: Content::File(content.into()) }
    }

    /// A program.
    pub(crate) fn program(path: &str, content: impl Into<Vec<u8>>) -> Self {
        Self { mode: 0o755, ..Self::file(path, content) }
    }

    /// A directory with these permissions.
    pub(crate) fn directory(path: &str, mode: u32) -> Self {
        Self { path: path.to_owned(), mode, content: Content::Directory }
    }
}

/// Returns the entries as a tar file.
pub(crate) fn tar(mut entries: Vec<Entry>) -> io::Result<Vec<u8>> {
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    let mut archive = Builder::new(Vec::new());
    for Entry { path, mode, content } in entries {
        let mut header = Header::new_gnu();
        header.set_mode(mode);
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        match content {
            Content::Directory => {
                header.set_entry_type(EntryType::Directory);
                header.set_size(0);
                archive.append_data(&mut header, format!("{path}/"), io::empty())?;
            }
            Content::File(bytes) => {
                header.set_size(bytes.len() as u64);
                archive.append_data(&mut header, path, bytes.as_slice())?;
            }
        }
    }
    archive.into_inner()
}

/// Returns the content of the file with this path, without a leading slash, in a tar file.
pub(crate) fn read(tar: &[u8], path: &str) -> io::Result<Vec<u8>> {
    for entry in Archive::new(tar).entries()? {
        let mut entry = entry?;
        let found = entry.path()?;
        if found.strip_prefix("./").unwrap_or(&found) == Path::new(path) {
            drop(found);
            let mut content = Vec::new();
            entry.read_to_end(&mut content)?;
            return Ok(content);
        }
    }
    Err(io::Error::other(format!("{path} is not in the archive")))
}

/// Returns bytes compressed by gzip, without a name and a time.
pub(crate) fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut compressed = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    compressed.write_all(bytes)?;
    compressed.finish()
}

/// Returns the SHA-256 digest of bytes, in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        // Writing to a String cannot fail.
        _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use flate2::read::GzDecoder;

    use super::*;

    fn packed(paths: [&str; 2]) -> Vec<u8> {
        let mut entries: Vec<Entry> = paths.iter().map(|path| Entry::program(path, *path)).collect();
        entries.push(Entry::directory("bin", 0o755));
        gzip(&tar(entries).unwrap()).unwrap()
    }

    #[test]
    fn bytes_depend_on_the_content_alone() {
        assert_eq!(packed(["bin/a", "bin/b"]), packed(["bin/b", "bin/a"]));
    }

    #[test]
    fn archive_has_what_was_put_into_it() {
        let bytes = packed(["bin/b", "bin/a"]);
        let mut archive = Archive::new(GzDecoder::new(bytes.as_slice()));
        let mut listed = Vec::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let (header, mut text) = (entry.header().clone(), String::new());
            entry.read_to_string(&mut text).unwrap();
            assert_eq!((header.mtime().unwrap(), header.uid().unwrap()), (0, 0));
            listed.push((entry.path().unwrap().display().to_string(), header.mode().unwrap(), text));
        }
        let entry = |path: &str, text: &str| (path.to_owned(), 0o755, text.to_owned());
        assert_eq!(listed, [entry("bin/", ""), entry("bin/a", "bin/a"), entry("bin/b", "bin/b")]);
    }

    #[test]
    fn file_is_read_by_its_whole_path() {
        let archive = tar(vec![Entry::file("./etc/certs", "right"), Entry::file("./a/etc/certs", "wrong")]);
        let archive = archive.unwrap();
        assert_eq!(read(&archive, "etc/certs").unwrap(), b"right");
        assert_eq!(read(&archive, "certs").unwrap_err().to_string(), "certs is not in the archive");
    }
}
