//! Measures each hostile template: milliseconds and peak memory, each in a process of its own.
//!
//! `cargo bench -p gotemplate` fails when one takes more than a second or 256 MiB.
#![allow(clippy::disallowed_methods, reason = "a program that measures")]
#![allow(clippy::print_stdout, reason = "a program that prints")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a program for developers")]
#![allow(missing_docs, reason = "no library")]

#[path = "../tests/against_go/hostile/inputs.rs"]
mod inputs;

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use gotemplate::Template;

const TIME: Duration = Duration::from_secs(1);
const MEBIBYTES: u64 = 256;

fn main() -> ExitCode {
    match std::env::var("GOTEMPLATE_HOSTILE") {
        Ok(name) => one(&name),
        Err(_) => all(),
    }
}

/// Measures every input in a child process.
fn all() -> ExitCode {
    let program = std::env::current_exe().expect("the path of this program");
    let mut within = true;
    println!("{:>8} {:>8}  template", "ms", "MiB");
    for input in inputs::all() {
        let status = Command::new(&program).env("GOTEMPLATE_HOSTILE", input.name).status().expect("a child");
        within &= status.success();
    }
    if within { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Measures one input and prints its line.
fn one(name: &str) -> ExitCode {
    let input = inputs::all().into_iter().find(|input| input.name == name).expect("a name of an input");
    let start = Instant::now();
    let answer = match Template::parse("template", &input.template) {
        Ok(template) => {
            template.render(&input.data).map_or_else(|error| error.to_string(), |_| "rendered".into())
        }
        Err(error) => error.to_string(),
    };
    let (time, memory) = (start.elapsed(), peak_mebibytes());
    let reason: String = answer.lines().next().unwrap_or_default().chars().take(100).collect();
    println!("{:>8} {memory:>8}  {name}: {reason}", time.as_millis());
    if time <= TIME && memory <= MEBIBYTES { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns the peak resident set of this process in MiB, from Linux.
fn peak_mebibytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("the peak");
    line.split_whitespace().nth(1).expect("a number").parse::<u64>().expect("a number") / 1024
}
