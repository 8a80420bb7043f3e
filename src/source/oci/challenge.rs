//! The `WWW-Authenticate` header (RFC 9110, 11.6.1): how a registry requires clients to authenticate.

use std::collections::BTreeMap;

/// A challenge of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// The scheme in lower case: `bearer`, `basic` or an unsupported one.
    pub scheme: String,
    /// The parameters, with names in lower case: `realm`, `service`, `scope`.
    pub parameters: BTreeMap<String, String>,
}

/// Parses the challenges in a header. Ignores everything else.
#[must_use]
pub fn parse(header: &str) -> Vec<Challenge> {
    let mut found: Vec<Challenge> = Vec::new();
    let mut rest = header;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let (word, after) = split_word(rest);
        if word.is_empty() {
            match rest.char_indices().nth(1) {
                // A character without a meaning here.
                Some((next, _)) => rest = rest.get(next..).unwrap_or_default(),
                None => return found,
            }
            continue;
        }
        let name = word.to_ascii_lowercase();
        if let Some(value) = after.trim_start_matches([' ', '\t']).strip_prefix('=') {
            let (value, after) = split_value(value.trim_start_matches([' ', '\t']));
            if let Some(challenge) = found.last_mut() {
                challenge.parameters.entry(name).or_insert(value);
            }
            rest = after;
        } else {
            found.push(Challenge { scheme: name, parameters: BTreeMap::new() });
            rest = after;
        }
    }
}

/// Splits off the token (RFC 9110, 5.6.2) at the beginning.
fn split_word(text: &str) -> (&str, &str) {
    let is_word =
        |character: char| character.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(character);
    text.split_at(text.find(|character| !is_word(character)).unwrap_or(text.len()))
}

/// Splits off the value of a parameter, without its quotes.
fn split_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let (value, after) = text.split_at(text.find([',', ' ', '\t']).unwrap_or(text.len()));
        return (value.to_owned(), after);
    };
    let (mut value, mut is_escaped) = (String::new(), false);
    for (at, character) in quoted.char_indices() {
        match character {
            _ if is_escaped => {
                value.push(character);
                is_escaped = false;
            }
            '\\' => is_escaped = true,
            '"' => return (value, quoted.get(at + 1..).unwrap_or_default()),
            _ => value.push(character),
        }
    }
    (value, "")
}
