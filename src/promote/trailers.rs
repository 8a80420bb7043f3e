//! What a commit says of itself in the last lines of its message, as `git interpret-trailers` has them.

/// The release that was promoted.
pub const PROMOTE: &str = "Stackflux-Promote";
/// The release that was rolled back.
pub const ROLLBACK: &str = "Stackflux-Rollback";
/// The stage that the content comes from and the commit that it has there: `stage@<commit>`.
pub const FROM: &str = "Stackflux-From";
/// The stage that a commit changes.
pub const STAGE: &str = "Stackflux-Stage";
/// The digest of the release's content.
pub const CONTENT_DIGEST: &str = "Stackflux-Content-Digest";
/// How long the clusters of the source stage were ready with this content.
pub const SOAK: &str = "Stackflux-Soak";
/// The hold that was lifted: its reason.
pub const LIFTED_HOLD: &str = "Stackflux-Lifted-Hold";
/// The commit that is taken back.
pub const REVERTS: &str = "Stackflux-Reverts";
/// Where `stackflux publish` got a release from.
pub const SOURCE: &str = "Stackflux-Source";
/// The version of stackflux.
pub const TOOL: &str = "Stackflux-Version";

/// The longest value, in characters.
const LONGEST: usize = 500;

/// A commit's message: what was done in a line, why, and trailers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    subject: String,
    body: String,
    trailers: Vec<(&'static str, String)>,
}

impl Message {
    /// A message with this subject and without trailers. Lines of the body are kept.
    #[must_use]
    pub fn new(subject: &str, body: &str) -> Self {
        Self { subject: one_line(subject), body: body.trim().to_owned(), trailers: Vec::new() }
    }

    /// The same with a trailer more.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.trailers.push((name, one_line(value)));
        self
    }

    /// The first line.
    #[must_use]
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// The whole text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let trailers: String = self.trailers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
        let parts = [self.subject.as_str(), self.body.as_str(), trailers.trim_end()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("\n\n") + "\n"
    }
}

/// The value of a trailer, the last one where there are several: it stands in the last paragraph of a message, and
/// that has nothing but trailers.
#[must_use]
pub fn find<'a>(message: &'a str, name: &str) -> Option<&'a str> {
    let message = message.trim_end();
    let (_, last) = message.rsplit_once("\n\n")?;
    let mut found = None;
    for line in last.lines() {
        let (key, value) = line.split_once(": ")?;
        if key.contains(char::is_whitespace) {
            return None;
        }
        if key.eq_ignore_ascii_case(name) {
            found = Some(value.trim());
        }
    }
    found
}

fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|character| !character.is_control()).take(LONGEST).collect()
}

#[cfg(test)]
mod tests;
