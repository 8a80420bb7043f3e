//! Records what a running Flux says: `cargo run --example record` writes `tests/recorded/*.json` again.
//!
//! Every file is one object in one state, brought about with a tiny chart and a few manifests (`content/`) on the
//! testbed. The table `src/rollup/tests/recorded.rs` says which verdict each has to give. Many states last only for
//! moments, so all changes of all objects are watched, and a row is the first change that shows what it asks for.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a program of clock, processes and files, for people"
)]

mod helm_release;
mod kustomization;
mod oci;
#[allow(
    dead_code,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "code of the tests, of which this uses a part"
)]
#[path = "../../support/push.rs"]
mod push;
mod session;
mod source;

use session::{Result, Session};

fn main() -> Result<()> {
    let session = Session::start()?;
    if std::env::args().any(|part| part == "oci") {
        oci::record(&session)?;
        return session.end();
    }
    source::record(&session)?;
    oci::record(&session)?;
    helm_release::record(&session)?;
    kustomization::record(&session)?;
    session.end()
}
