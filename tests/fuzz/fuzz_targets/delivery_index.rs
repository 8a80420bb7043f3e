//! The index of generated files, of any bytes: no panic, no path that leads out of its directory, and what is accepted is
//! accepted again as it is written out.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stackflux::sink::index::Index;

fuzz_target!(|bytes: &[u8]| match Index::parse(bytes) {
    Ok(index) => {
        for path in index.files.keys().chain(index.directories.keys()) {
            assert!(!path.starts_with('/') && !path.split(['/', '\\']).any(|part| matches!(part, "" | "." | "..")));
        }
        let written = index.to_text();
        assert_eq!(Index::parse(written.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{written}")), index);
    }
    Err(error) => assert!(!error.to_string().is_empty()),
});
