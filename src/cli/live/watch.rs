//! Repeats a command until it is interrupted, or everything is ready.

use std::fmt;
use std::future::Future;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use crate::cli::error::CliError;
use crate::cli::output::ListOutput;
use crate::cli::terminal;
use crate::cli::{CommandResult, Outcome};

/// Minimum pause between two reads.
const MIN_PAUSE: Duration = Duration::from_secs(2);
/// Minimum length of the pause, as a multiple of the last read's duration.
const PAUSE_FACTOR: u32 = 5;
/// Moves the cursor to the first column of the first row, and clears the screen and the scrollback.
const CLEAR: &str = "\u{1b}[H\u{1b}[2J\u{1b}[3J";

/// When to stop looking.
#[derive(Clone, Debug, clap::Args)]
pub(in crate::cli) struct Watch {
    /// Refresh the output until interrupted
    #[arg(short = 'w', long = "watch")]
    again: bool,
    /// Exit as soon as everything is ready, or with code 1 after --timeout
    #[arg(long)]
    wait: bool,
    /// Maximum time to wait with --wait, such as 90s or 10m
    #[arg(long, value_name = "DURATION", default_value = "5m", requires = "wait", value_parser = Timeout::parse)]
    timeout: Timeout,
}

/// The result of one read.
pub(in crate::cli) struct Rendered {
    pub(in crate::cli) text: String,
    pub(in crate::cli) notices: Vec<String>,
    /// The named objects that do not exist.
    pub(in crate::cli) missing: Vec<String>,
    pub(in crate::cli) ready: bool,
}

/// A maximum time to wait, which is shown as the user wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Timeout {
    pub(in crate::cli) limit: Duration,
    written: String,
}

impl Timeout {
    /// Parses a duration in the format of Flux's command line.
    pub(in crate::cli) fn parse(text: &str) -> Result<Self, String> {
        let parsed: jiff::SignedDuration = text
            .parse()
            .map_err(|_| format!("invalid duration {text:?}: expected a value such as 90s or 5m"))?;
        let limit = parsed.try_into().map_err(|_| "a duration must not be negative".to_owned())?;
        Ok(Self { limit, written: text.to_owned() })
    }
}

impl fmt::Display for Timeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

/// Creates the error about named objects that do not exist.
pub(in crate::cli) fn not_found(names: &[String]) -> CliError {
    CliError::usage(format!("not found: {}", names.join(", ")))
        .hint("stackflux status --all-namespaces lists what there is")
}

impl Watch {
    /// Reads as often as requested, and shows the results. Reports later reads that fail, and continues. Exits with 1
    /// if not everything is ready in the end.
    pub(in crate::cli) async fn run<Look, Looking>(
        &self,
        output: &ListOutput,
        mut look: Look,
    ) -> CommandResult
    where
        Look: FnMut() -> Looking,
        Looking: Future<Output = Result<Rendered, CliError>>,
    {
        let (begin, mut shown) = (Instant::now(), None);
        let mut rendered = look().await?;
        let mut took = begin.elapsed();
        loop {
            if self.again || !self.wait {
                self.show(&rendered, output, &mut shown)?;
            }
            if (rendered.ready && self.wait) || !(self.again || self.wait) {
                break;
            }
            if self.wait && begin.elapsed() >= self.timeout.limit {
                terminal::problem(format!("timed out after {}: not everything is ready", self.timeout));
                break;
            }
            tokio::time::sleep(MIN_PAUSE.max(took * PAUSE_FACTOR)).await;
            let start = Instant::now();
            match look().await {
                Ok(again) => rendered = again,
                Err(error) => terminal::failure(&error),
            }
            took = start.elapsed();
        }
        if self.wait && !self.again {
            self.show(&rendered, output, &mut shown)?;
        }
        if !rendered.missing.is_empty() {
            return Err(not_found(&rendered.missing));
        }
        Ok(if rendered.ready { Outcome::Done } else { Outcome::Differs })
    }

    /// Redraws a terminal; to other outputs, writes the text only if it has changed.
    fn show(
        &self,
        rendered: &Rendered,
        output: &ListOutput,
        shown: &mut Option<String>,
    ) -> Result<(), CliError> {
        let is_new = shown.as_ref() != Some(&rendered.text);
        if self.again && std::io::stdout().is_terminal() {
            terminal::data(CLEAR)?;
            output.write(&rendered.text)?;
        } else if is_new {
            let gap = if shown.is_some() { "\n" } else { "" };
            output.write(&format!("{gap}{}", rendered.text))?;
        }
        if is_new {
            let is_repeated = self.again || self.wait;
            let missing = rendered.missing.iter().filter(|_| is_repeated);
            let missing = missing.map(|name| format!("{name} not found yet"));
            missing.chain(rendered.notices.iter().cloned()).for_each(terminal::warning);
        }
        *shown = Some(rendered.text.clone());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeout_is_shown_as_it_was_written() {
        for (text, seconds) in [("5m", 300), ("300s", 300), ("90s", 90), ("1h30m", 5400), ("0s", 0)] {
            let timeout = Timeout::parse(text).unwrap();
            assert_eq!((timeout.limit.as_secs(), timeout.to_string().as_str()), (seconds, text));
        }
        for (text, error) in
            [("5", "invalid duration \"5\""), ("soon", "such as 90s or 5m"), ("-5m", "negative")]
        {
            let refused = Timeout::parse(text).unwrap_err();
            assert!(refused.contains(error), "{text}: {refused}");
        }
    }
}
