//! Where the files of releases come from.
