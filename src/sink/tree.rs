//! Files below a root, in any storage.

use std::collections::BTreeMap;

/// The result of reading a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The path does not exist.
    Nothing,
    /// A regular file with this content.
    File(Vec<u8>),
    /// A regular file that is larger than the requested maximum.
    TooLarge,
    /// Something else, such as a link, which is neither read nor overwritten.
    Other(&'static str),
}

/// Files below a root: a directory, or a path in a commit.
pub trait Tree {
    /// An error in reading a file.
    type Error: std::error::Error;

    /// Reads a path, whose parts are separated by `/`. Returns [`Found::TooLarge`] for a file of more than `most` bytes.
    fn read(&self, path: &str, most: usize) -> Result<Found, Self::Error>;
}

/// A tree in memory.
impl Tree for BTreeMap<String, Vec<u8>> {
    type Error = std::convert::Infallible;

    fn read(&self, path: &str, most: usize) -> Result<Found, Self::Error> {
        Ok(match self.get(path) {
            Some(bytes) if bytes.len() > most => Found::TooLarge,
            Some(bytes) => Found::File(bytes.clone()),
            None => Found::Nothing,
        })
    }
}
