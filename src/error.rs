//! The class of each error (whether a retry can help), and its reason (one name for logs, events and metrics).

/// Whether trying again can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Permanent until the input changes: wait for a change.
    Terminal,
    /// The same input may succeed later: back off and try again.
    Transient,
}

/// An error that can be acted on by a machine.
pub trait Classify {
    /// Whether trying again can help.
    fn class(&self) -> Class;

    /// Returns one `PascalCase` word that is at once condition reason, event reason and metric label.
    fn reason(&self) -> &'static str;
}
