//! The limits of a template. They are constants: otherwise the author of a template could make it run for ever, or use
//! all memory.

/// The largest template source, in bytes.
pub const SOURCE_BYTES: usize = 256 * 1024;
/// The largest output of one render, in bytes.
pub const OUTPUT_BYTES: usize = 1024 * 1024;
/// Maximum depth of parentheses and blocks in a source, and of containers in a value that is walked.
pub const NESTING: usize = 100;
/// Maximum number of variables declared at the same place.
pub const VARIABLES: usize = 1_000;
/// Maximum number of calls by `template` that are open at the same time.
pub const CALLS: usize = 100;
/// Maximum number of blocks, pipelines and calls that are open at the same time in one render.
pub const OPEN: usize = 300;
/// Maximum number of steps of one render: one is an action, a command, an iteration, or [`STEP_BYTES`] read or made.
pub const STEPS: usize = 1_000_000;
/// Number of bytes read or made that count as one step.
pub const STEP_BYTES: usize = 64;
/// The longest text that a function may make, in bytes.
pub const TEXT_BYTES: usize = 1024 * 1024;
/// The longest list or map that a function may make.
pub const ELEMENTS: usize = 100_000;
/// Maximum memory of all values made in one render, in bytes.
pub const MEMORY_BYTES: usize = 64 * 1024 * 1024;
/// The longest regular expression, in bytes.
pub const REGEX_BYTES: usize = 1024;
/// The largest compiled regular expression, in bytes.
pub const REGEX_PROGRAM_BYTES: usize = 256 * 1024;

/// The limit that a render exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum Limit {
    /// More output than [`OUTPUT_BYTES`].
    #[error("the output is longer than {OUTPUT_BYTES} bytes")]
    Output,
    /// More work than [`STEPS`].
    #[error("the template takes more than {STEPS} steps")]
    Steps,
    /// More than [`CALLS`] templates or [`OPEN`] blocks open at the same time.
    #[error("templates call each other more than {CALLS} deep, or blocks are open more than {OPEN} deep")]
    Depth,
    /// A value that is nested deeper than [`NESTING`], or holds itself.
    #[error("a value is nested more than {NESTING} deep, or holds itself")]
    ValueDepth,
    /// A text longer than [`TEXT_BYTES`] or a container longer than [`ELEMENTS`].
    #[error("a value is longer than {TEXT_BYTES} bytes or {ELEMENTS} elements")]
    ValueSize,
    /// More than [`MEMORY_BYTES`] for all values together.
    #[error("the values need more than {MEMORY_BYTES} bytes")]
    Memory,
    /// A regular expression longer than [`REGEX_BYTES`] or larger than [`REGEX_PROGRAM_BYTES`] when compiled.
    #[error(
        "the regular expression is longer than {REGEX_BYTES} bytes or needs more than {REGEX_PROGRAM_BYTES} bytes"
    )]
    Regex,
}
