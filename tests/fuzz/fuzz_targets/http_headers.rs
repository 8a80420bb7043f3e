//! The headers `WWW-Authenticate` and `Link` of any text: no panic, and no next page on another host.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stackflux::http::{Url, next_page};
use stackflux::source::oci::challenge;

// Each line is a header of its own.
fuzz_target!(|text: &str| {
    for challenge in text.lines().flat_map(challenge::parse) {
        let names = challenge.parameters.keys().chain([&challenge.scheme]);
        for name in names {
            assert!(!name.is_empty() && !name.contains([' ', '"', ',', '=']), "{name:?}");
            assert_eq!(*name, name.to_ascii_lowercase());
        }
    }
    let page: Url = "https://registry.example.com/v2/x/tags/list?n=1000".parse().expect("a URL");
    if let Ok(Some(next)) = next_page(&page, text.lines()) {
        assert_eq!(next.origin(), page.origin());
    }
});
