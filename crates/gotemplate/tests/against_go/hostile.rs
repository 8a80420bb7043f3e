//! Hostile templates: each ends in an error, within the limits.

mod inputs;

use std::thread;

use super::case::{Answer, Kind};

/// The stack that Rust gives a thread.
const STACK_BYTES: usize = 2 << 20;

#[test]
fn hostile_templates_end_in_an_error() {
    let survived: Vec<_> = inputs::all()
        .into_iter()
        .filter_map(|input| {
            let name = input.name;
            let answer = thread::Builder::new()
                .stack_size(STACK_BYTES)
                .spawn(move || Answer::of(&input.template, &input.data))
                .expect("a thread")
                .join()
                .expect("a caught panic");
            let stopped = matches!(answer.kind, Kind::Refused | Kind::Failed | Kind::Limit);
            (!stopped).then(|| format!("{name}: {}", shortened(&answer)))
        })
        .collect();
    assert!(survived.is_empty(), "these did not end in an error:\n{}", survived.join("\n"));
}

fn shortened(answer: &Answer) -> String {
    format!("{answer}").chars().take(200).collect()
}
