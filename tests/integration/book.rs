//! The documents as a site, which `make book` builds.
//!
//! mdBook gets a copy of `docs/`: the list of chapters is made from the tables of `docs/README.md`, and links to files that are not
//! in the site lead to the repository. Then everything that mdBook has written is checked.

mod site;
mod source;

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// `make book` runs it: it needs mdBook (`MDBOOK`), and writes to the directory `BOOK`.
#[test]
#[ignore = "make book runs it"]
fn site_is_whole() {
    let [program, book] = ["MDBOOK", "BOOK"].map(|name| {
        env::var_os(name).map_or_else(|| panic!("{name} is not set: run `make book`"), PathBuf::from)
    });
    let sources = book.with_file_name("book-source");
    source::write(&sources, env!("CARGO_PKG_REPOSITORY"));
    let run = Command::new(program).arg("build").arg(&sources).arg("--dest-dir").arg(&book).output().unwrap();
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && !said.contains("WARN") && !said.contains("ERROR"), "{said}");
    let wrong = site::complaints(&book, &source::pages());
    assert!(wrong.is_empty(), "{wrong:#?}");
}
