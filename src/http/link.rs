//! The header `Link` (RFC 8288), with which registries and forges say where the next page of a list is.

use reqwest::Url;

use super::{TransportError, redacted_url};

/// The URL of the next page, from the values of all headers `Link`. It must be at the same scheme, host and port as the
/// page that names it: who lists something gets no word in who else is asked.
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

/// The targets in one header, each with whether it is called `next`.
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

/// The parameters up to the comma that ends them, which stands in no quotes.
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
