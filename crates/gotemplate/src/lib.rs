#![doc = include_str!("../README.md")]

mod error;
mod eval;
mod fault;
mod fields;
mod format;
mod functions;
mod lex;
pub mod limits;
mod parse;
mod roots;
mod syntax;
mod value;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

pub use error::{ParseError, Place, Position, RenderError};
pub use fields::{Extent, FieldPath, Seen};
pub use functions::{FunctionInfo, functions};
pub use limits::Limit;
pub use roots::OutsideRead;

/// A parsed template. Cheap to clone and to share between threads.
#[derive(Clone)]
pub struct Template(Arc<Parsed>);

struct Parsed {
    name: String,
    source: String,
    templates: syntax::Templates,
    fields: BTreeSet<FieldPath>,
}

impl Template {
    /// Parses a source. The name is shown in errors.
    ///
    /// # Errors
    ///
    /// The source is longer or nested deeper than the [`limits`], or Go would not parse it. A function that does not
    /// exist is an error at any place.
    pub fn parse(name: &str, source: &str) -> Result<Template, ParseError> {
        let templates = parse::parse(name, source).map_err(|wrong| ParseError {
            place: Place::at(name, source, wrong.offset),
            message: wrong.message,
            suggestion: wrong.suggestion,
        })?;
        let fields = fields::fields_read(name, &templates);
        Ok(Template(Arc::new(Parsed { name: name.to_owned(), source: source.to_owned(), templates, fields })))
    }

    /// Returns the name that was given when the template was parsed.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the source.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// Returns everything that the template can read from the data, whichever branches it takes.
    #[must_use]
    pub fn fields(&self) -> &BTreeSet<FieldPath> {
        &self.0.fields
    }

    /// Returns the reads of other roots than these, which are all that the data ever have.
    #[must_use]
    pub fn reads_outside(&self, roots: &[&'static str]) -> Vec<OutsideRead> {
        roots::outside(&self.0.name, &self.0.source, &self.0.templates, roots)
    }

    /// Renders the template with the data as its dot. The same data give the same bytes.
    ///
    /// # Errors
    ///
    /// [`RenderError::Missing`] if a field is needed that is absent or null, [`RenderError::Limit`] if rendering uses
    /// more than the [`limits`], and [`RenderError::Failed`] if Go fails, too, or if the text is not UTF-8.
    pub fn render(&self, data: &serde_json::Value) -> Result<String, RenderError> {
        eval::render(&self.0.name, &self.0.source, &self.0.templates, data)
    }
}

/// Checks the syntax of a template of another program, such as one of a Helm chart. It may have any length, though its tree
/// takes a hundred times the memory of the source, and call any function. The name is shown in the error.
///
/// # Errors
///
/// Go would not parse it, whatever functions there are.
pub fn check_syntax(name: &str, source: &str) -> Result<(), ParseError> {
    parse::check(name, source).map_err(|wrong| ParseError {
        place: Place::at(name, source, wrong.offset),
        message: wrong.message,
        suggestion: wrong.suggestion,
    })
}

impl fmt::Debug for Template {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Template")
            .field("name", &self.0.name)
            .field("fields", &self.0.fields)
            .finish()
    }
}
