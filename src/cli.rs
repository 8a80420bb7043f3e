//! The command line: one file per command, and the only place that prints.
//!
//! Results go to stdout, diagnostics to stderr. Exit codes: 0 done, 1 differences, not ready or nothing found, 2 usage or error.
//! `docs/reference/command-line.md` has the conventions that all commands follow.

#![allow(clippy::disallowed_methods, reason = "the command line reads what it is given")]

mod addons;
mod clusters;
mod completion;
mod crds;
mod diff;
mod doctor;
mod eject;
mod error;
mod events;
mod explain;
mod forge_access;
mod gate;
mod generate;
mod git_access;
mod history;
mod inputs;
mod inspect;
mod install;
mod leading;
mod lint;
mod list_releases;
mod live;
mod objects;
mod operator;
mod origin_access;
mod origins;
mod output;
mod pin;
mod promote;
mod prose;
mod publish;
mod reconcile;
mod releases;
mod rollback;
mod stack_settings;
mod stages;
mod status;
mod suspend;
mod template;
mod terminal;
mod tree;
mod unused;
mod version;
mod why;

use std::env;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::http::repair_environment;
use crate::{git, temporary};
use error::CliError;

pub use diff::{Preview, planned_addons, preview};
pub use live::loaded::Loaded;

/// Cluster stack releases in, Flux objects out.
#[derive(Debug, Parser)]
#[command(name = "stackflux", version, about, max_term_width = 120, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Generate(Box<generate::Arguments>),
    #[command(subcommand)]
    Inputs(inputs::Command),
    Inspect(inspect::Arguments),
    Lint(lint::Arguments),
    Pin(Box<pin::Arguments>),
    Releases(Box<list_releases::Arguments>),
    Publish(Box<publish::Arguments>),
    Eject(Box<eject::Arguments>),
    Diff(Box<diff::Arguments>),
    Template(template::Arguments),
    Promote(Box<promote::Arguments>),
    Rollback(Box<rollback::Arguments>),
    History(Box<history::Arguments>),
    Tree(tree::Arguments),
    Status(status::Arguments),
    Why(why::Arguments),
    Explain(explain::Arguments),
    Addons(addons::Arguments),
    Events(events::Arguments),
    Reconcile(reconcile::Arguments),
    Suspend(suspend::Suspend),
    Resume(suspend::Resume),
    #[command(subcommand)]
    Gate(gate::Command),
    Doctor(doctor::Arguments),
    Install(install::Arguments),
    Crds(crds::Arguments),
    Operator(Box<operator::Arguments>),
    Completion(completion::Arguments),
    Version(version::Arguments),
}

/// The result of a command that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// All is as wanted.
    Done,
    /// There are differences, findings, or something is held back.
    Differs,
    /// The command failed, and has reported the cause with its other results.
    Failed,
}

type CommandResult = Result<Outcome, CliError>;

/// Returns the definition of the command line.
#[must_use]
pub fn definition() -> clap::Command {
    Cli::command()
}

/// Runs the command that the process was started with.
#[must_use]
pub fn main() -> ExitCode {
    // First of all, while this process has one thread.
    repair_environment();
    if env::args_os().skip(1).eq([git::CONNECT]) {
        return git::serve();
    }
    // The link names this program also after its file was replaced.
    let link = Path::new("/proc/self/exe");
    if let Ok(program) = if link.exists() { Ok(link.to_owned()) } else { env::current_exe() } {
        git::set_connection_program(program);
    }
    let command = match Cli::try_parse_from(leading::behind_command(env::args_os(), &Cli::command())) {
        Ok(Cli { command }) => command,
        Err(message) => return terminal::usage(&message),
    };
    if !matches!(command, Command::Operator(_)) {
        temporary::remove_on_signals();
    }
    let result = refuse_unused(&command).and_then(|()| run(command));
    drop(temporary::remove_all());
    match result {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Differs) => ExitCode::from(1),
        Ok(Outcome::Failed) => ExitCode::from(2),
        Err(error) => {
            terminal::failure(&error);
            ExitCode::from(2)
        }
    }
}

/// Refuses flags that the command would ignore, where clap cannot know it.
fn refuse_unused(command: &Command) -> Result<(), CliError> {
    match command {
        Command::Generate(arguments) => arguments.refuse_unused(),
        Command::Publish(arguments) => arguments.refuse_unused(),
        Command::Pin(arguments) => arguments.refuse_unused(),
        Command::Releases(arguments) => arguments.refuse_unused(),
        Command::Diff(arguments) => arguments.refuse_unused(),
        Command::Promote(arguments) => arguments.delivery.refuse_unused(),
        Command::Rollback(arguments) => arguments.delivery.refuse_unused(),
        _ => Ok(()),
    }
}

fn run(command: Command) -> CommandResult {
    match command {
        Command::Generate(arguments) => generate::run(&arguments),
        Command::Inputs(command) => inputs::run(&command),
        Command::Inspect(arguments) => inspect::run(&arguments),
        Command::Lint(arguments) => lint::run(&arguments),
        Command::Pin(arguments) => pin::run(&arguments),
        Command::Releases(arguments) => list_releases::run(&arguments),
        Command::Publish(arguments) => publish::run(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Template(arguments) => template::run(&arguments),
        Command::Promote(arguments) => promote::run(&arguments),
        Command::Rollback(arguments) => rollback::run(&arguments),
        Command::History(arguments) => history::run(&arguments),
        Command::Tree(arguments) => tree::run(&arguments),
        Command::Status(arguments) => status::run(&arguments),
        Command::Why(arguments) => why::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Addons(arguments) => addons::run(&arguments),
        Command::Events(arguments) => events::run(&arguments),
        Command::Reconcile(arguments) => reconcile::run(&arguments),
        Command::Eject(arguments) => eject::run(&arguments),
        Command::Suspend(arguments) => suspend::suspend(&arguments),
        Command::Resume(arguments) => suspend::resume(&arguments),
        Command::Gate(command) => gate::run(&command),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Install(arguments) => install::run(&arguments),
        Command::Crds(arguments) => crds::run(&arguments),
        Command::Operator(arguments) => operator::run(*arguments),
        Command::Completion(arguments) => completion::run(&arguments),
        Command::Version(arguments) => version::run(&arguments),
    }
}

#[cfg(test)]
mod tests;
