//! The PAX records of a tar archive's entries (POSIX.1-2008, pax). The crate `tar` takes the first record of a name, and tar
//! the last one: an archive that both could read differently is refused.

use std::io::{self, Read};

use tar::{Entry, PaxExtensions};

/// Returns the error for a sparse file. Its holes are endless zeros or not in the content at all, and neither Git nor Helm
/// creates any.
pub(super) fn sparse() -> io::Error {
    io::Error::other("it has a sparse file")
}

/// Returns the path of an entry: its last record `path`, or otherwise that of its header, which may be a long name of GNU.
/// An entry that has both is refused if they differ: readers do not agree on which one counts.
pub(super) fn path<R: Read>(entry: &mut Entry<'_, R>) -> io::Result<Vec<u8>> {
    let size = entry.size();
    let mut path: Option<Vec<u8>> = None;
    let mut first = None;
    for (name, value) in records(entry.pax_extensions()?)? {
        match name.as_slice() {
            b"path" => {
                first.get_or_insert_with(|| value.clone());
                path = Some(value);
            }
            b"size" if std::str::from_utf8(&value).ok().and_then(|size| size.parse().ok()) != Some(size) => {
                return Err(io::Error::other("the headers of an entry have two sizes"));
            }
            name if is_sparse(name) => return Err(sparse()),
            _ => {}
        }
    }
    // For the crate, a long name of GNU counts before the first record.
    let own = entry.path_bytes().into_owned();
    if first.is_some_and(|first| first != own) {
        return Err(io::Error::other("an entry has two paths, one by GNU's and one by POSIX's rules"));
    }
    Ok(path.unwrap_or(own))
}

/// Checks a global header: its records would be those of every later entry. Git writes only a comment.
pub(super) fn check_global<R: Read>(entry: &mut Entry<'_, R>) -> io::Result<()> {
    for (name, _) in records(entry.pax_extensions()?)? {
        if is_sparse(&name) || [&b"path"[..], b"linkpath", b"size"].contains(&name.as_slice()) {
            let name = String::from_utf8_lossy(&name).into_owned();
            return Err(io::Error::other(format!("a global header has the record {name:?} for all entries")));
        }
    }
    Ok(())
}

fn is_sparse(name: &[u8]) -> bool {
    name.starts_with(b"GNU.sparse.")
}

/// Returns the names and values of records. After one with a line break in it, the crate loses the others.
fn records(records: Option<PaxExtensions<'_>>) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let malformed = |_| {
        io::Error::other(
            "an entry has a PAX record that cannot be read: pack it again without extended attributes (tar --no-xattrs)",
        )
    };
    let all = records.into_iter().flatten().map(|record| {
        let record = record.map_err(malformed)?;
        Ok((record.key_bytes().to_vec(), record.value_bytes().to_vec()))
    });
    all.collect()
}
