//! A cluster stack release, read from files and checked whole.
