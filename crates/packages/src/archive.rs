//! Archives whose bytes depend on their content alone: sorted, without owners, times and names of the machine.

use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::{fs, str};

use flate2::{Compression, GzBuilder};
use sha2::{Digest as _, Sha256};
use tar::{Builder, EntryType, Header};

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
    /// A symbolic link to this target.
    Link(String),
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

/// Lists everything below a directory. Other kinds than files, directories and symbolic links are refused.
pub(crate) fn entries(root: &Path) -> io::Result<Vec<Entry>> {
    let (mut found, mut left) = (Vec::new(), vec![root.to_owned()]);
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory)? {
            let path = entry?.path();
            let metadata = fs::symlink_metadata(&path)?;
            let content = if metadata.is_symlink() {
                Content::Link(text(&fs::read_link(&path)?)?)
            } else if metadata.is_dir() {
                left.push(path.clone());
                Content::Directory
            } else if metadata.is_file() {
                Content::File(fs::read(&path)?)
            } else {
                return Err(io::Error::other(format!(
                    "{} is neither a file nor a directory nor a link",
                    path.display()
                )));
            };
            let below = path.strip_prefix(root).map_err(io::Error::other)?;
            found.push(Entry { path: text(below)?, mode: metadata.permissions().mode() & 0o7777, content });
        }
    }
    Ok(found)
}

fn text(path: &Path) -> io::Result<String> {
    let text = path.to_str().ok_or_else(|| io::Error::other(format!("{} is not UTF-8", path.display())))?;
    Ok(text.to_owned())
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
            Content::Link(target) => {
                header.set_entry_type(EntryType::Symlink);
                header.set_size(0);
                archive.append_link(&mut header, path, target)?;
            }
        }
    }
    archive.into_inner()
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
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn bytes_depend_on_the_content_alone() {
        let [one, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        for (root, names) in [(&one, ["a", "b"]), (&other, ["b", "a"])] {
            for name in names {
                fs::create_dir(root.path().join(name)).unwrap();
                fs::write(root.path().join(name).join("file"), name).unwrap();
            }
            std::os::unix::fs::symlink("a/file", root.path().join("link")).unwrap();
        }
        let packed = |root: &Path| gzip(&tar(entries(root).unwrap()).unwrap()).unwrap();
        assert_eq!(packed(one.path()), packed(other.path()));
    }

    #[test]
    fn archive_has_what_the_directory_has() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("bin")).unwrap();
        fs::write(root.path().join("bin/tool"), "tool").unwrap();
        fs::set_permissions(root.path().join("bin/tool"), fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink("bin", root.path().join("sbin")).unwrap();
        let bytes = gzip(&tar(entries(root.path()).unwrap()).unwrap()).unwrap();
        let mut archive = tar::Archive::new(GzDecoder::new(bytes.as_slice()));
        let mut listed = Vec::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let (header, mut text) = (entry.header().clone(), String::new());
            entry.read_to_string(&mut text).unwrap();
            let target = header.link_name().unwrap().map(|target| target.display().to_string());
            assert_eq!((header.mtime().unwrap(), header.uid().unwrap()), (0, 0));
            let path = entry.path().unwrap().display().to_string();
            listed.push((path, header.mode().unwrap() & 0o111 != 0, text, target));
        }
        assert_eq!(listed[1], ("bin/tool".to_owned(), true, "tool".to_owned(), None));
        assert_eq!(listed[2].3.as_deref(), Some("bin"));
        assert_eq!(listed.len(), 3);
    }
}
