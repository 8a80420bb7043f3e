//! How every error of the program says whether waiting helps, and by which one name it is known.

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

    /// One `PascalCase` word that is at once condition reason, event reason and metric label.
    fn reason(&self) -> &'static str;
}
