//! An index of a Helm repository and a range of versions, whatever they are: nothing panics, and what is chosen is there
//! and in the range.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stackflux::release::chart_index::{Index, choose};
use stackflux::release::range::{Range, version};

// The range is the first line; the rest is the index.
fuzz_target!(|text: &str| {
    let (wanted, index) = text.split_once('\n').unwrap_or((text, ""));
    let Ok(index) = Index::parse(index.as_bytes()) else { return };
    let there = index.versions("x").iter().map(|entry| entry.version.as_str());
    let Ok(Some(chosen)) = choose(there.clone(), wanted) else { return };
    assert!(there.clone().any(|version| version == chosen));
    if chosen != wanted {
        let range: Range = if wanted.is_empty() { "*" } else { wanted }.parse().unwrap();
        assert!(range.has(&version(chosen).unwrap()));
    }
});
