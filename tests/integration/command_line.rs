//! `docs/reference/command-line.md`: the conventions of the command line, held against clap's definitions of all commands.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command as Process;

use clap::{Arg, Command};
use regex::Regex;
use stackflux::cli::definition;

use crate::documents::{assert_is, cell};

const HEAD: &str = "\
# Conventions of the command line

<!-- Generated from the commands by tests/integration/command_line.rs; to update, run UPDATE_GOLDEN=1 cargo test. -->

Every command follows these rules. `stackflux COMMAND --help` has the rest, with examples.

## Objects

| form | object |
|---|---|
| `KIND/NAME`, `KIND NAME…` | the kinds are `clusterstack` (`csk`, `cs`), `release` (`cskr`, `csr`) and `cluster` (`cl`, `caddon`), in any case, also in the plural |
| `KIND/NAMESPACE/NAME`, `NAMESPACE/NAME` | an object of another namespace than that of the context |
| `NAME` | a Cluster; a command that only reads takes a ClusterStack or a release, if there is no Cluster of this name. `eject` and `inputs export` take a ClusterStack |
| `…` after a form | several objects |
| `--all`, `-l`, `-A` | all objects of a kind, those with labels, in all namespaces |

Names and `-l` exclude each other, and so do `-A` and `-n`.

## Exit codes

| code | meaning |
|---|---|
| 0 | done; what was asked for is ready, or does not differ |
| 1 | not ready, differs, held back, or a list or selection found nothing |
| 2 | an error: the arguments, a server, or an object, release or file that was named and does not exist |

## Flags

| flag | meaning |
|---|---|
| `-n`, `--namespace` | the namespace (default: that of the context) |
| `-A`, `--all-namespaces` | all namespaces |
| `-l`, `--selector` | only Clusters with these labels |
| `--kubeconfig`, `--context` | the management cluster. Like `-n`, they can stand in front of the command |
| `-f`, `--filename` | objects from files, directories, or `-` for standard input |
| `-o`, `--output` | the format, never a file. `wide` shortens and wraps nothing; `name` prints names that other commands take; tables and sentences are wrapped to the width of a terminal, commands to copy are not |
| `--no-headers` | leaves out the header lines of a table |
| `-w`, `--watch` | repeats the output |
| `--wait`, `--timeout` | ends when everything is ready; a duration is written as `90s`, `5m` or `1h30m` |
| `--dry-run` | writes nothing |

Colours are for terminals alone, and only in tables and texts for people. `NO_COLOR=1` turns them off.

## Commands

| command | arguments | flags of the table above | formats of `-o` | exits with 1 if |
|---|---|---|---|---|
";

/// The flags of the table, in its order: long, and the short form that each has.
const FLAGS: [(&str, Option<char>); 12] = [
    ("namespace", Some('n')),
    ("all-namespaces", Some('A')),
    ("selector", Some('l')),
    ("all", None),
    ("kubeconfig", None),
    ("filename", Some('f')),
    ("output", Some('o')),
    ("no-headers", None),
    ("watch", Some('w')),
    ("wait", None),
    ("timeout", None),
    ("dry-run", None),
];

/// All commands that do something, with their words.
pub(crate) fn commands() -> Vec<(String, Command)> {
    fn add(command: &Command, words: &str, found: &mut Vec<(String, Command)>) {
        let mut below = command.get_subcommands().filter(|command| command.get_name() != "help").peekable();
        if below.peek().is_none() {
            found.push((words.trim().to_owned(), command.clone()));
        }
        below.for_each(|command| add(command, &format!("{words} {}", command.get_name()), found));
    }
    let mut root = definition();
    root.build();
    let mut found = Vec::new();
    add(&root, "", &mut found);
    found
}

fn formats(command: &Command) -> Vec<String> {
    let output = command.get_arguments().find(|argument| argument.get_long() == Some("output"));
    let values = output.map(Arg::get_possible_values).unwrap_or_default();
    values.iter().map(|value| value.get_name().to_owned()).collect()
}

fn row(words: &str, command: &Command) -> String {
    let name = |argument: &Arg| {
        let names = argument.get_value_names().unwrap_or_default().join(" ");
        let more = if argument.get_num_args().is_some_and(|many| many.max_values() > 2) { "…" } else { "" };
        if argument.is_required_set() { format!("`{names}{more}`") } else { format!("`[{names}{more}]`") }
    };
    let arguments: Vec<_> = command.get_positionals().map(name).collect();
    let has = |long: &str| command.get_arguments().any(|argument| argument.get_long() == Some(long));
    let flag = |(long, short): &(&str, Option<char>)| {
        short.map_or_else(|| format!("`--{long}`"), |short| format!("`-{short}`"))
    };
    let flags: Vec<_> = FLAGS.iter().filter(|(long, _)| *long != "output" && has(long)).map(flag).collect();
    let about = command.get_long_about().map(ToString::to_string).unwrap_or_default().replace('\n', " ");
    let code = Regex::new(r"with 1 if (.*?)(, and with 2|[;.]|$)").unwrap();
    let code = code.captures(&about).map(|found| cell(&found[1])).unwrap_or_default();
    let formats: Vec<_> = formats(command).iter().map(|format| format!("`{format}`")).collect();
    let cells = [arguments.join(" "), flags.join(" "), formats.join(" "), code];
    format!("| `{words}` | {} |\n", cells.join(" | "))
}

#[test]
fn conventions_are_those_of_the_commands() {
    let mut text = HEAD.to_owned();
    for (words, command) in commands() {
        write!(text, "{}", row(&words, &command)).unwrap();
    }
    assert_is(&text, "docs/reference/command-line.md");
}

#[test]
fn flags_mean_the_same_in_all_commands() {
    for (words, command) in commands() {
        let find = |long: &str| command.get_arguments().find(|argument| argument.get_long() == Some(long));
        for (long, short) in FLAGS {
            let by_short = short.and_then(|short| {
                command.get_arguments().find(|argument| argument.get_short() == Some(short))
            });
            let found = by_short.and_then(Arg::get_long);
            assert!(found.is_none_or(|found| found == long), "{words}: -{short:?} is --{found:?}");
            if let Some(argument) = find(long).filter(|_| short.is_some()) {
                assert_eq!(argument.get_short(), short, "{words} --{long}");
            }
        }
        if let Some(all) = find("all-namespaces") {
            let conflicts = command.get_arg_conflicts_with(all);
            let mut conflicts = conflicts.iter().filter_map(|argument| argument.get_long());
            assert!(conflicts.any(|long| long == "namespace"), "{words}: -A beside -n");
        }
        assert_eq!(find("kubeconfig").is_some(), find("context").is_some(), "{words}");
        let default = find("timeout").map(|timeout| timeout.get_default_values().join("".as_ref()));
        assert!(default.is_none_or(|default| default == "5m"), "{words}: --timeout");
        let formats = formats(&command);
        let is_list = formats.iter().any(|format| format == "table") && find("no-headers").is_some();
        for format in ["wide", "name"] {
            assert_eq!(formats.iter().any(|found| found == format), is_list, "{words}: -o {format}");
        }
        let known = ["table", "wide", "name", "json", "yaml", "text", "markdown"];
        assert!(formats.iter().all(|format| known.contains(&format.as_str())), "{words}: {formats:?}");
        assert!(formats.is_empty() || formats.iter().any(|format| format == "json"), "{words}: {formats:?}");
    }
}

/// Runs the program, and returns its exit code and what it wrote to stderr.
fn run(words: &[&str]) -> (i32, String) {
    let output = Process::new(env!("CARGO_BIN_EXE_stackflux")).args(words).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn lists_that_find_nothing_exit_with_one() {
    let nothing = Regex::new("with 1 if [^;.]*(nothing|none|no [a-z]+)").unwrap();
    for (words, command) in commands() {
        if formats(&command).iter().any(|format| format == "name") {
            let about = command.get_long_about().map(ToString::to_string).unwrap_or_default();
            assert!(
                nothing.is_match(&about),
                "{words}: its help says what its exit code is if it finds nothing:\n{about}"
            );
        }
    }
}

#[test]
fn exit_codes_are_the_same_in_all_commands() {
    for (words, command) in commands() {
        let words: Vec<&str> = words.split(' ').collect();
        assert_eq!(run(&[&words[..], &["--help"]].concat()).0, 0, "{words:?}");
        assert_eq!(run(&[&words[..], &["--no-such-flag"]].concat()).0, 2, "{words:?}");
        if command.get_arguments().any(|argument| argument.get_long() == Some("all-namespaces")) {
            let (code, message) = run(&[&words[..], &["-A", "-n", "demo"]].concat());
            assert!(code == 2 && message.contains("cannot be used with '--"), "{words:?}: {message}");
        }
    }
    let empty = Path::new(env!("CARGO_TARGET_TMPDIR")).join("command-line");
    fs::create_dir_all(&empty).unwrap();
    for command in ["releases", "inspect", "lint"] {
        for path in [empty.to_str().unwrap(), "nowhere"] {
            let (code, message) = run(&[command, path]);
            assert!(code == 2 && message.contains(path), "{command} {path}: {code} {message}");
        }
    }
}
