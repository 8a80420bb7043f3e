//! The files of promotion: what is accepted keeps its rules, and holds survive being written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stackflux::promote::holds::Holds;
use stackflux::promote::stages::{FILE, Stages};

fuzz_target!(|bytes: &[u8]| {
    match Stages::parse(FILE, bytes, None) {
        Ok(stages) => stages.iter().for_each(|stage| order(&stages, &stage.name)),
        Err(problems) => {
            let text = problems.to_string();
            assert!(!text.is_empty());
            assert!(!text.chars().any(|character| character.is_control() && character != '\n'), "{text:?}");
        }
    }
    if let Ok(holds) = Holds::parse(Some(bytes), None) {
        let written = holds.to_yaml();
        let again = Holds::parse(written.as_deref().map(str::as_bytes), None).unwrap();
        assert_eq!(again, holds, "{written:?}");
    }
});

/// Going back from stage to stage ends.
fn order(stages: &Stages, name: &str) {
    let mut stage = stages.stage(name).unwrap();
    let mut left = stages.iter().count();
    while let Some(after) = stage.after.as_deref() {
        left = left.checked_sub(1).unwrap_or_else(|| panic!("{name} comes after itself"));
        stage = stages.stage(after).unwrap();
    }
}
