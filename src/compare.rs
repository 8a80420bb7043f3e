//! Two releases compared: file by file, and as plans of the Clusters that go from one to the other.

pub mod change;
pub mod charts;
pub mod files;
pub mod parts;
pub mod plans;
pub mod unified;
pub mod values;

use crate::release::{Files, Loaded, Release};

/// One of two releases, with its files unpacked.
#[derive(Clone, Debug)]
pub struct Side {
    /// The release.
    pub release: Release,
    /// Its files.
    pub files: Files,
}

impl From<Loaded> for Side {
    fn from(loaded: Loaded) -> Self {
        Self { release: loaded.release, files: loaded.files }
    }
}
