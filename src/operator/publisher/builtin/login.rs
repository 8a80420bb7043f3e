//! The login that Flux needs for a built-in stack repository.

use super::super::super::context::Context;
use super::super::super::secrets::{self, SecretData};
use super::super::{Stop, hold};
use crate::api::{ClusterStack, Reason};
use crate::runtime::cache::Key;
use crate::serve::Login;

/// Returns the login that clients of the repository need. Releases of an upstream with credentials are not given to everybody.
pub(super) async fn login(
    context: &Context,
    key: &Key,
    stack: &ClusterStack,
    is_private: bool,
) -> Result<Option<Login>, Stop> {
    let source = context.settings.defaults.source_of(stack);
    let Some(reference) = source.and_then(|source| source.secret_ref.as_ref()) else {
        if !is_private {
            return Ok(None);
        }
        let message = "the releases are, or were, those of an upstream with credentials, and every tenant of Flux could \
                       read them: set source.secretRef to a Secret with username and password, which the operator then \
                       requires of Flux";
        return Err(hold(Reason::SecretInvalid, message.to_owned()).into());
    };
    let data = secrets::read(context, &key.namespace, reference).await?;
    let settings = context.settings.builtin.as_ref();
    let is_encrypted = settings.is_some_and(|settings| settings.is_encrypted || settings.insecure_auth);
    of_secret(&data, is_private, is_encrypted).map_err(|problem| {
        let message = format!("Secret {}/{}: {problem}", key.namespace, reference.name);
        hold(Reason::SecretInvalid, message).into()
    })
}

/// Reads the login in a Secret, which may have only certificates.
fn of_secret(data: &SecretData, is_private: bool, is_encrypted: bool) -> Result<Option<Login>, String> {
    let (user, password) = (data.get("username"), data.get("password"));
    let (Some(user), Some(password)) = (user, password) else {
        return match (user.or(password), is_private) {
            (None, false) => Ok(None),
            _ => Err("expected the keys username and password".to_owned()),
        };
    };
    let text = |key: &str, bytes: &'_ [u8]| -> Result<String, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| format!("{key} is not UTF-8 text"))?;
        // Flux sends it as it is.
        if text.trim() != text || text.is_empty() {
            return Err(format!("{key} is empty, or begins or ends with a space or a line break"));
        }
        Ok(text.to_owned())
    };
    let (user, password) = (text("username", user)?, text("password", password)?);
    if user.contains(':') {
        return Err("username has a ':', which HTTP cannot send".to_owned());
    }
    if !is_encrypted {
        return Err(
            "the operator serves plain HTTP, which would send the password unencrypted: start it with \
                    --builtin-cert-dir, or with --builtin-insecure-auth"
                .to_owned(),
        );
    }
    Ok(Some(Login::new(&user, &password)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_has_a_login_or_why_not() {
        let (user, password) = (("username", "flux"), ("password", "secret"));
        let login = Login::new("flux", "secret");
        for (entries, is_private, is_encrypted, expected) in [
            (vec![user, password], true, true, Ok(Some(login.clone()))),
            (vec![user, password], false, true, Ok(Some(login))),
            (vec![("ca.crt", "…")], false, true, Ok(None)),
            (vec![("ca.crt", "…")], true, true, Err("expected the keys username and password")),
            (vec![user], false, true, Err("expected the keys username and password")),
            (vec![user, ("password", "secret\n")], true, true, Err("password is empty, or begins or ends")),
            (vec![user, ("password", "")], true, true, Err("password is empty, or begins or ends")),
            (vec![("username", "a:b"), password], true, true, Err("username has a ':'")),
            (vec![user, password], true, false, Err("the operator serves plain HTTP")),
        ] {
            let data: SecretData =
                entries.iter().map(|(key, text)| ((*key).to_owned(), text.as_bytes().to_vec())).collect();
            match (of_secret(&data, is_private, is_encrypted), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{entries:?}"),
                (Err(found), Err(expected)) => assert!(found.starts_with(expected), "{entries:?}: {found}"),
                (found, expected) => panic!("{entries:?}: {found:?} {expected:?}"),
            }
        }
    }
}
