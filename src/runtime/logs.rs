//! The operator's log, on standard error.
//!
//! Spans name the object of a line (`cluster`, `addon`, `release`, `stack`). Their fields are part of every line within them,
//! in both encodings and at every level.

use std::io::{self, IsTerminal as _};

use clap::ValueEnum;
use tracing::level_filters::LevelFilter;
use tracing::{Metadata, Subscriber};
use tracing_subscriber::filter::{FilterFn, filter_fn};
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::registry;
use tracing_subscriber::util::{SubscriberInitExt as _, TryInitError};

/// The log level, named as in Flux's controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    /// Everything, including messages of libraries
    Trace,
    /// Every decision and every write
    Debug,
    /// Changes
    Info,
    /// What needs attention, and failures
    Warn,
    /// Failures
    Error,
}

/// The form of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogEncoding {
    /// One object per line, for programs
    Json,
    /// Text for people
    Console,
}

/// The settings of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// The lowest level to log.
    pub level: LogLevel,
    /// The form of a line.
    pub encoding: LogEncoding,
}

impl LogLevel {
    /// Returns the log level for stackflux itself.
    fn own(self) -> LevelFilter {
        match self {
            Self::Trace => LevelFilter::TRACE,
            Self::Debug => LevelFilter::DEBUG,
            Self::Info => LevelFilter::INFO,
            Self::Warn => LevelFilter::WARN,
            Self::Error => LevelFilter::ERROR,
        }
    }

    /// Returns the log level for libraries. They log each failed request as an error without naming its object; the operator
    /// logs the same failures with their objects.
    fn libraries(self) -> LevelFilter {
        match self {
            Self::Trace => LevelFilter::TRACE,
            Self::Debug => LevelFilter::WARN,
            Self::Info | Self::Warn | Self::Error => LevelFilter::OFF,
        }
    }

    fn filter(self) -> FilterFn<impl Fn(&Metadata<'_>) -> bool> {
        let (own, libraries) = (self.own(), self.libraries());
        let crate_name = env!("CARGO_CRATE_NAME");
        filter_fn(move |metadata| {
            let is_own = metadata.target().split("::").next() == Some(crate_name);
            // Spans are enabled at every level, so that the lines in them have their fields.
            let wanted = if is_own { own } else { libraries };
            (is_own && metadata.is_span()) || *metadata.level() <= wanted
        })
    }
}

/// Starts to log to standard error. Fails if the process has a global logger already.
pub fn start(settings: LogSettings) -> Result<(), TryInitError> {
    subscriber(settings, io::stderr, io::stderr().is_terminal()).try_init()
}

fn subscriber<W>(settings: LogSettings, writer: W, colours: bool) -> impl Subscriber + Send + Sync
where
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    // A line that cannot be written is lost. The layer's default, a report on standard error, would panic.
    let lines = fmt::layer().with_writer(writer).log_internal_errors(false);
    let lines = match settings.encoding {
        LogEncoding::Json => lines.json().flatten_event(true).with_current_span(false).boxed(),
        LogEncoding::Console => lines.with_ansi(colours).with_target(false).boxed(),
    };
    registry().with(lines.with_filter(settings.level.filter()))
}

#[cfg(test)]
mod tests;
