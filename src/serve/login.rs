//! Basic authentication (RFC 7617).

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

/// A user and a password, of which only a digest is kept.
#[derive(Clone, PartialEq, Eq)]
pub struct Login([u8; 32]);

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Login(..)")
    }
}

impl Login {
    /// Creates the login of a user. The name has no `:`, because the protocol cannot send it.
    #[must_use]
    pub fn new(user: &str, password: &str) -> Self {
        Self(Sha256::digest(format!("{user}:{password}")).into())
    }

    /// Whether a request has this login. Takes the same time for each wrong one of the same length.
    pub(super) fn is_in(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).and_then(credentials);
        let given: [u8; 32] = Sha256::digest(given.unwrap_or_default()).into();
        let difference = self.0.iter().zip(given).fold(0, |all, (one, other)| all | (one ^ other));
        std::hint::black_box(difference) == 0
    }
}

/// Returns `user:password` of the value of the header.
fn credentials(value: &str) -> Option<Vec<u8>> {
    let (scheme, encoded) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("basic").then(|| STANDARD.decode(encoded.trim()).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn only_the_login_is_accepted() {
        let login = Login::new("flux", "a:b");
        for (value, expected) in [
            (None, false),
            (Some(format!("Basic {}", STANDARD.encode("flux:a:b"))), true),
            (Some(format!("basic  {}", STANDARD.encode("flux:a:b"))), true),
            (Some(format!("Basic {}", STANDARD.encode("flux:a"))), false),
            (Some(format!("Basic {}", STANDARD.encode("flux:a:b "))), false),
            (Some(format!("Bearer {}", STANDARD.encode("flux:a:b"))), false),
            (Some("Basic %%%".to_owned()), false),
            (Some("Basic".to_owned()), false),
        ] {
            let header = value.as_ref().map(|value| (AUTHORIZATION, HeaderValue::from_str(value).unwrap()));
            assert_eq!(login.is_in(&header.into_iter().collect()), expected, "{value:?}");
        }
        assert_eq!(format!("{login:?}"), "Login(..)");
    }
}
