//! The `Link` header (RFC 8288), in which registries and forges name the next page of a list.

use reqwest::Url;

use super::{TransportError, redacted_url};

/// Returns the URL of the next page, from the values of all `Link` headers. It must have the scheme, host and port of
/// `page`: a list must not direct requests to other hosts.
pub fn next_page<'a>(
    page: &Url,
    headers: impl Iterator<Item = &'a str>,
) -> Result<Option<Url>, TransportError> {
    let Some(target) = headers.flat_map(links).find_map(|(target, is_next)| is_next.then_some(target)) else {
        return Ok(None);
    };
    let url = page.join(target).map_err(|_| TransportError::Malformed {
        place: redacted_url(page),
        error: "invalid URL of the next page in the header Link".to_owned(),
    })?;
    if url.origin() != page.origin() {
        let why = "the next page of a list must be on the same server";
        return Err(TransportError::Redirect {
            place: redacted_url(page),
            to: redacted_url(&url),
            why: why.to_owned(),
        });
    }
    Ok(Some(url))
}

/// Returns the targets in a header, each with whether its relation is `next`.
fn links(header: &str) -> Vec<(&str, bool)> {
    let mut found = Vec::new();
    let mut rest = header;
    while let Some((_, after)) = rest.split_once('<') {
        let Some((target, after)) = after.split_once('>') else { break };
        let (parameters, after) = split_at_comma(after);
        found.push((target, is_next(parameters)));
        rest = after;
    }
    found
}

/// Splits at the first comma outside quotes, which ends the parameters.
fn split_at_comma(text: &str) -> (&str, &str) {
    let mut is_quoted = false;
    for (at, character) in text.char_indices() {
        match character {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => return text.split_at(at),
            _ => {}
        }
    }
    (text, "")
}

fn is_next(parameters: &str) -> bool {
    parameters.split(';').any(|parameter| {
        let Some((name, value)) = parameter.split_once('=') else { return false };
        let mut relations = value.trim().trim_matches('"').split_ascii_whitespace();
        name.trim().eq_ignore_ascii_case("rel")
            && relations.any(|relation| relation.eq_ignore_ascii_case("next"))
    })
}
