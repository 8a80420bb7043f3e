//! Takes guards out of the operator, one at a time, and shows which test notices each: `make mutants`.
//!
//! All mutations are put into one copy of the repository, which is built once. The variable `MUTANT` switches one of them on
//! while the tests run. Without it, the copy behaves as the repository does, which is checked first.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of processes and files, for people"
)]

mod copy;
mod mutation;
mod mutations;
mod suite;

use std::collections::BTreeSet;
use std::env;
use std::process::ExitCode;

use mutation::{Mutation, Noticed};
use suite::{Finding, Suite};

/// The reason why the program ends early.
type Result<T> = std::result::Result<T, String>;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("mutants: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the selected mutations. Returns whether all of them end as the list says.
fn run() -> Result<bool> {
    let all = mutations::all();
    let selected = selected(&all, env::var("MUTANT").ok().as_deref())?;
    let tree = copy::mutated(&all)?;
    let suite = Suite::build(&tree)?;
    if let Some(failure) = suite.first_failure(None, Noticed::Nowhere(""))? {
        return Err(format!("the tests fail without any mutation:\n{}\n{}", failure.test, failure.log));
    }
    let width = selected.iter().map(|mutation| mutation.name.len()).max().unwrap_or_default();
    let (mut survivors, mut all_as_listed) = (Vec::new(), true);
    for mutation in &selected {
        let failure = suite.first_failure(Some(mutation.name), mutation.noticed)?;
        println!("{:width$}  {}", mutation.name, shown(mutation, failure.as_ref()));
        if failure.is_none() {
            all_as_listed &= matches!(mutation.noticed, Noticed::Nowhere(_));
            survivors.push(mutation);
        }
    }
    println!("\n{} of {} mutations are noticed", selected.len() - survivors.len(), selected.len());
    for mutation in survivors {
        let why = match mutation.noticed {
            Noticed::Nowhere(why) => format!("which may be: {why}"),
            _ => "add a test that notices it, or say in the list why it may survive".to_owned(),
        };
        println!("{} survives ({}: {}): {why}", mutation.name, mutation.file, mutation.breaks);
    }
    Ok(all_as_listed)
}

/// The mutations with these names, or all of them.
fn selected<'a>(all: &'a [Mutation], names: Option<&str>) -> Result<Vec<&'a Mutation>> {
    let Some(names) = names.filter(|names| !names.is_empty()) else { return Ok(all.iter().collect()) };
    let names: BTreeSet<&str> = names.split(',').map(str::trim).collect();
    if let Some(unknown) = names.iter().find(|name| all.iter().all(|mutation| mutation.name != **name)) {
        let known: Vec<&str> = all.iter().map(|mutation| mutation.name).collect();
        return Err(format!("no mutation has the name {unknown}; there are:\n{}", known.join("\n")));
    }
    Ok(all.iter().filter(|mutation| names.contains(mutation.name)).collect())
}

/// One line about the end of a mutation.
fn shown(mutation: &Mutation, failure: Option<&Finding>) -> String {
    let Some(failure) = failure else { return "SURVIVES".to_owned() };
    let is_expected = match mutation.noticed {
        Noticed::ByTest(test) | Noticed::ByScenario(test) => failure.test == test,
        Noticed::Nowhere(_) => false,
    };
    let note = if is_expected { "" } else { " (the list says otherwise)" };
    let why = if failure.why.is_empty() { String::new() } else { format!(": {}", failure.why) };
    format!("{}{note}{why}", failure.test)
}
