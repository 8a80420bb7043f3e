//! Checks which token realm a registry may name, and whether the realm may receive credentials.

use crate::http::{Url, redacted_url};

/// Labels below a country's domain under which others register names, as in `co.uk` and `com.au`.
const SECOND_LEVELS: [&str; 16] =
    ["ac", "co", "com", "edu", "go", "gov", "gv", "id", "ltd", "me", "mil", "ne", "net", "nom", "or", "org"];

/// A realm that is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RealmError {
    /// The realm is not a URL.
    #[error("the registry names no valid token realm")]
    NoUrl,
    /// The realm would receive credentials, or send tokens, unencrypted.
    #[error("refusing the token realm {0} that the registry names: it is not encrypted")]
    Plain(String),
    /// The realm is on another domain.
    #[error(
        "the registry names the realm {realm}, which is on another domain: it gets no credentials unless {host} is \
         allowed to issue this registry's tokens"
    )]
    Foreign {
        /// URL of the realm.
        realm: String,
        /// Host of the realm.
        host: String,
    },
}

/// Returns the URL of a registry's realm, if it may be used: over https, or over http if the registry uses http. Credentials
/// are sent to the registry's own host (on any port), to an allowed host, or to one in the registry's domain, which is the
/// registry's name without its first label: `auth.docker.io` and `gitlab.com` are in the domains of `registry-1.docker.io`
/// and `registry.gitlab.com`. Without credentials, any host may be used.
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
    // Addresses have no domain, and a public suffix belongs to no registry.
    let is_address = top.bytes().all(|byte| byte.is_ascii_digit()) || registry.contains(':');
    let is_public = words.next().is_none() && top.len() == 2 && SECOND_LEVELS.contains(&second);
    let is_below = host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    !is_address && !is_public && is_below
}
