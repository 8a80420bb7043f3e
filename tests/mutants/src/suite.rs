//! The tests that are run with each mutation.

use std::io::{BufRead as _, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::Result;
use crate::copy::Tree;
use crate::mutation::Noticed;

/// A run that takes longer than this has failed, too: a mutation can make a test wait for ever.
const TIMEOUT: Duration = Duration::from_mins(30);
/// The time in which a test that failed has to have written why.
const GRACE: Duration = Duration::from_millis(200);

/// The tests beside the code of the modules that decide. Those of other modules are about Git, HTTP and files, and take ten
/// times as long.
const UNIT_TESTS: &[&str] = &[
    "addons::",
    "foreign::",
    "gate::",
    "operator::",
    "plan::",
    "rollup::",
    "runtime::lease::",
    "subscription::",
];

/// The first test that fails.
pub(crate) struct Finding {
    pub(crate) test: String,
    /// The broken rule, or the message; for simulations only.
    pub(crate) why: String,
    /// The end of what the test has written.
    pub(crate) log: String,
}

/// The built tests.
pub(crate) struct Suite {
    directory: PathBuf,
    unit: PathBuf,
    simulation: PathBuf,
}

impl Suite {
    /// Builds the tests of a copy.
    pub(crate) fn build(tree: &Tree) -> Result<Self> {
        let unit = built(tree, &["--lib"])?;
        let simulation = built(tree, &["--profile", "simulate", "--test", "simulation"])?;
        Ok(Self { directory: tree.directory.clone(), unit, simulation })
    }

    /// Runs the test that is to notice a mutation, and then all others until one fails.
    pub(crate) fn first_failure(&self, mutant: Option<&str>, noticed: Noticed) -> Result<Option<Finding>> {
        let expected = match noticed {
            Noticed::ByTest(test) => self.run(&self.unit, mutant, &["--exact", test])?,
            Noticed::ByScenario(test) => {
                self.run(&self.simulation, mutant, &["--nocapture", "--exact", test])?
            }
            Noticed::Nowhere(_) => None,
        };
        if expected.is_some() {
            return Ok(expected);
        }
        if let Some(failure) = self.run(&self.unit, mutant, UNIT_TESTS)? {
            return Ok(Some(failure));
        }
        // The guards expect that something else is noticed.
        self.run(&self.simulation, mutant, &["--nocapture", "scenarios::", "--skip", "guards::"])
    }

    /// Runs tests until one fails.
    fn run(&self, program: &PathBuf, mutant: Option<&str>, arguments: &[&str]) -> Result<Option<Finding>> {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.directory).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env_remove("MUTANT").env_remove("UPDATE_GOLDEN");
        command.envs(mutant.map(|name| ("MUTANT", name)));
        let mut child = command.spawn().map_err(|error| format!("{}: {error}", program.display()))?;
        let lines = lines(&mut child);
        let found = first_failure(&lines);
        // Only this process: the tests start no others.
        _ = child.kill();
        _ = child.wait();
        Ok(found)
    }
}

/// Builds one test program, and returns its path.
fn built(tree: &Tree, arguments: &[&str]) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["test", "--locked", "--package", "stackflux", "--no-run"])
        .args(arguments)
        .current_dir(&tree.directory)
        .env("CARGO_TARGET_DIR", &tree.target)
        // A change of the list or of the code is built in half the time.
        .env("CARGO_PROFILE_SIMULATE_LTO", "off")
        .env("CARGO_PROFILE_SIMULATE_INCREMENTAL", "true")
        .output()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let mut program = text.lines().filter(|line| line.trim_start().starts_with("Executable"));
    let program = program.find_map(|line| Some(line.rsplit_once('(')?.1.trim_end_matches(')')));
    match program {
        Some(program) if output.status.success() => Ok(tree.directory.join(program)),
        _ => Err(format!("the copy with all mutations cannot be built:\n{text}")),
    }
}

/// A line that a program writes.
enum Line {
    Out(String),
    Error(String),
}

/// Reads what a program writes, without an end to either of its two streams that waits for the other one.
fn lines(child: &mut Child) -> Receiver<Line> {
    let (sender, receiver) = channel();
    let read = |stream: Option<Box<dyn Read + Send>>, line: fn(String) -> Line| {
        let sender = sender.clone();
        thread::spawn(move || {
            let lines = stream.map(BufReader::new).into_iter().flat_map(|stream| stream.split(b'\n'));
            for text in lines.map_while(std::result::Result::ok) {
                if sender.send(line(String::from_utf8_lossy(&text).into_owned())).is_err() {
                    return;
                }
            }
        });
    };
    read(child.stdout.take().map(|stream| Box::new(stream) as _), Line::Out);
    read(child.stderr.take().map(|stream| Box::new(stream) as _), Line::Error);
    receiver
}

/// Waits for the first test that fails, or for the end.
fn first_failure(lines: &Receiver<Line>) -> Option<Finding> {
    let end = Instant::now() + TIMEOUT;
    let (mut failed, mut until, mut errors, mut is_done) = (None, end, Vec::new(), false);
    loop {
        match lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Line::Error(line)) => errors.push(line),
            Ok(Line::Out(line)) => {
                is_done |= line.starts_with("test result: ok");
                let test = line.strip_prefix("test ").and_then(|line| line.strip_suffix(" ... FAILED"));
                if let Some(test) = test.filter(|_| failed.is_none()) {
                    failed = Some(test.to_owned());
                    until = Instant::now() + GRACE;
                }
            }
            Err(RecvTimeoutError::Timeout) if failed.is_none() => {
                let why = format!("it does not end within {} s", TIMEOUT.as_secs());
                return Some(Finding { test: "all".to_owned(), why, log: tail(&errors) });
            }
            Err(_) => break,
        }
    }
    match failed {
        Some(test) => Some(Finding { why: why(&test, &errors), test, log: tail(&errors) }),
        None if is_done => None,
        // It ended in the middle of a test.
        None => {
            Some(Finding { test: "all".to_owned(), why: "the process ended".to_owned(), log: tail(&errors) })
        }
    }
}

/// The last lines.
fn tail(lines: &[String]) -> String {
    lines.get(lines.len().saturating_sub(400)..).unwrap_or_default().join("\n")
}

/// Why a scenario failed: the seed, and the broken rule or the message of the panic.
fn why(test: &str, errors: &[String]) -> String {
    let Some(place) = errors.iter().rposition(|line| line.contains("; repeat it: ") && line.ends_with(test))
    else {
        return String::new();
    };
    let order =
        errors.get(place).and_then(|line| line.split_once(" fails with ")).map_or("", |(_, order)| order);
    let order = order.split_once(';').map_or(order, |(order, _)| order);
    let rule = errors.get(place + 1..).into_iter().flatten().find(|line| !line.is_empty());
    let rule = rule.filter(|rule| rule.contains(": ") || rule.starts_with("it ends with"));
    let panic = || {
        let before = errors.get(..place).unwrap_or_default();
        let panic = before.iter().rposition(|line| line.contains("panicked at "))?;
        before.get(panic + 1)
    };
    let rule = rule.or_else(panic).map_or("", String::as_str);
    format!("{order}: {}", rule.chars().take(160).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::why;

    #[test]
    fn a_scenario_says_which_rule_it_breaks() {
        let errors = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let broken = "panicked at a.rs:\n1 step\n\nkeeps fails with seed 7; repeat it: SEED=7 make simulate \
                      SCENARIO=scenarios::keeps\nLie: it never had that\nnote: more";
        assert_eq!(why("scenarios::keeps", &errors(broken)), "seed 7: Lie: it never had that");
        let ended = "panicked at a.rs:\n\nkeeps fails with seed 7; repeat it: SEED=7 make simulate \
                     SCENARIO=scenarios::keeps\n\nit ends with\na";
        assert_eq!(why("scenarios::keeps", &errors(ended)), "seed 7: it ends with");
        let own = "thread 'a' panicked at a.rs:\nno uninstall\nnote\nstep\n\nkeeps fails with the calm order; repeat it: \
                   make simulate SCENARIO=scenarios::keeps";
        assert_eq!(why("scenarios::keeps", &errors(own)), "the calm order: no uninstall");
        assert_eq!(why("scenarios::other", &errors(own)), "");
    }
}
