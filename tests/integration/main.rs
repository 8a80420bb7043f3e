//! The integration tests: one binary, a module per area.

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod yaml;

mod crds;
