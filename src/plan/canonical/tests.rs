//! The layout, character by character, and that `serde_yaml` reads back what was written. What Go reads is tested in
//! `tests/integration/yaml.rs`.

mod layout;
mod reading;
