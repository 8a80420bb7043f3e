//! Credentials in the address of a repository: refused where an address is read, masked where Flux repeats one.

use std::borrow::Cow;

/// Placeholder for credentials in a message.
const MASK: &str = "…";

/// Whether an address holds a user and a password, a query, or what may be one of them.
///
/// In `https://` a user alone counts, too: forges take a token there. The user of `ssh://` is not a secret, and every forge
/// needs one (`git`). Any other `@` counts, as a password with a `/` puts its end into the path; there an `@` is written
/// as `%40`. A query or a fragment counts, too, as some servers take a token there (`?token=…`), and Git has no use for one.
#[must_use]
pub fn has_credentials(address: &str) -> bool {
    let rest = match address.strip_prefix("ssh://").and_then(|rest| rest.split_once('@')) {
        Some((user, rest)) if !user.is_empty() && !user.contains([':', '/', '?', '#']) => rest,
        _ => address,
    };
    rest.contains(['@', '?', '#'])
}

/// Masks the credentials of each address in a text with `//…@`, and its query.
///
/// An address ends at a blank or a quote, which Go escapes in one. Everything before the last `@` of an address
/// is masked, because a password may hold any character; the `@` before a digest does not belong to credentials.
#[must_use]
pub fn masked(text: &str) -> Cow<'_, str> {
    if !text.contains("//") || !text.contains(['@', '?']) {
        return Cow::Borrowed(text);
    }
    let (mut shown, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once("//") {
        let (address, more) = after.find(ends_address).map_or((after, ""), |at| after.split_at(at));
        shown.push_str(before);
        shown.push_str("//");
        shown.push_str(&of_address(before.ends_with("ssh:"), address));
        rest = more;
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

fn ends_address(character: char) -> bool {
    character.is_whitespace() || character.is_control() || matches!(character, '"' | '\'' | '`' | '<' | '>')
}

/// Masks the credentials and the query of an address without its scheme.
fn of_address(is_ssh: bool, address: &str) -> Cow<'_, str> {
    let shown = without_user(is_ssh, address);
    match shown.split_once('?') {
        Some((place, query)) if !query.is_empty() => format!("{place}?{MASK}").into(),
        _ => shown,
    }
}

fn without_user(is_ssh: bool, address: &str) -> Cow<'_, str> {
    let ends = address.rmatch_indices('@').map(|(at, _)| address.split_at(at));
    let Some((named, end)) = ends.into_iter().find(|(_, end)| !is_digest(end)) else { return address.into() };
    let is_secret = named.contains(':') || (!is_ssh && !named.contains('/'));
    if is_secret { format!("{MASK}{end}").into() } else { address.into() }
}

/// Whether an `@` and what follows it is a digest, as behind the name of an image.
fn is_digest(end: &str) -> bool {
    ["@sha1:", "@sha256:", "@sha512:"].iter().any(|algorithm| end.starts_with(algorithm))
}

#[cfg(test)]
mod tests;
