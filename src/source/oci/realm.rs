//! Who may be asked for a token in a registry's name, and be shown our credentials for it.

use crate::http::{Url, redacted_url};

/// What stands before a country's domain where others register names below it, as in `co.uk` and `com.au`.
const SECOND_LEVELS: [&str; 16] =
    ["ac", "co", "com", "edu", "go", "gov", "gv", "id", "ltd", "me", "mil", "ne", "net", "nom", "or", "org"];

/// Why a realm is not asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RealmError {
    /// It is no URL.
    #[error("the registry names no valid token realm")]
    NoUrl,
    /// It would see credentials, or give tokens, in the clear.
    #[error("refusing the token realm {0} that the registry names: it is not encrypted")]
    Plain(String),
    /// It belongs to somebody else.
    #[error(
        "the registry names the realm {realm}, which is on another domain: it gets no credentials unless {host} is \
         allowed to issue this registry's tokens"
    )]
    Foreign {
        /// The realm.
        realm: String,
        /// Its host.
        host: String,
    },
}

/// The realm that a registry names, if it may be asked: over https, or over http where the registry itself was to be
/// asked over http. Credentials go to the registry's own host (on any port), to a host that was allowed, or to one in
/// the registry's domain, which is the registry's name without its first word: `auth.docker.io` and `gitlab.com` are
/// in the domains of `registry-1.docker.io` and `registry.gitlab.com`. Without credentials any host may be asked.
pub(super) fn check(
    realm: &str,
    registry: &Url,
    has_credentials: bool,
    allowed: &[String],
) -> Result<Url, RealmError> {
    let url = Url::parse(realm).map_err(|_| RealmError::NoUrl)?;
    let host = url.host_str().ok_or(RealmError::NoUrl)?;
    match (url.scheme(), registry.scheme()) {
        ("https", _) | ("http", "http") => {}
        _ => return Err(RealmError::Plain(redacted_url(&url))),
    }
    let own = registry.host_str().unwrap_or_default();
    let is_allowed = allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(host));
    if has_credentials && host != own && !is_allowed && !in_domain(host, own) {
        return Err(RealmError::Foreign { realm: redacted_url(&url), host: host.to_owned() });
    }
    Ok(url)
}

/// Whether a host is in the domain of a registry.
fn in_domain(host: &str, registry: &str) -> bool {
    let Some((_, domain)) = registry.split_once('.') else { return false };
    let mut words = domain.rsplit('.');
    let (Some(top), Some(second)) = (words.next(), words.next()) else { return false };
    // Addresses have no domains, and a domain that many share is nobody's.
    let is_address = top.bytes().all(|byte| byte.is_ascii_digit()) || registry.contains(':');
    let is_public = words.next().is_none() && top.len() == 2 && SECOND_LEVELS.contains(&second);
    let is_below = host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    !is_address && !is_public && is_below
}
