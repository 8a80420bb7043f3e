//! Files below a root, wherever they are.

use std::collections::BTreeMap;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// A regular file with these bytes.
    File(Vec<u8>),
    /// A regular file with more bytes than were asked for.
    TooLarge,
    /// Something else, such as `a link`: it is neither read nor written over.
    Other(&'static str),
}

/// Files below a root: a directory, or a path in a commit.
pub trait Tree {
    /// Why a file could not be read.
    type Error: std::error::Error;

    /// What is at a path, whose parts are separated by `/`. Of a file that has more than `most` bytes none are read.
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
