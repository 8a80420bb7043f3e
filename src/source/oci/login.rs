//! Authentication to a repository of a registry: `Basic`, or a token of its realm
//! (<https://distribution.github.io/distribution/spec/auth/token/>).

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use tokio::sync::Mutex;

use super::challenge::{self, Challenge};
use super::credentials::Credentials;
use super::realm;
use crate::http::{self, Client, Method, Request, TransportError, Url};
use crate::source::origin::OriginError;

/// Timeout of a token request.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(30);

/// Credentials for a repository, and the last accepted `Authorization`.
#[derive(Debug)]
pub(super) struct Login {
    pub(super) http: Client,
    /// URL of the registry.
    pub(super) registry: Url,
    /// Name of the repository at the registry.
    pub(super) repository: String,
    pub(super) credentials: Credentials,
    /// Hosts of token realms that the user allowed.
    pub(super) realms: Vec<String>,
    pub(super) current: Mutex<Option<SecretString>>,
}

/// The answer of a token realm; realms use either name.
#[derive(Deserialize)]
struct Answer {
    token: Option<String>,
    access_token: Option<String>,
}

impl Login {
    /// Adds the current `Authorization` to a request, and returns it too.
    pub(super) async fn sign(
        &self,
        request: Request,
    ) -> Result<(Request, Option<SecretString>), OriginError> {
        let current = self.current.lock().await.clone();
        let request = match &current {
            Some(value) => request.authorization(value)?,
            None => request,
        };
        Ok((request, current))
    }

    /// Authenticates after a 401. Returns any other failure as an error.
    pub(super) async fn answer(
        &self,
        failure: TransportError,
        used: Option<&SecretString>,
    ) -> Result<(), OriginError> {
        let TransportError::Status { place, status: 401, challenges, .. } = failure else {
            return Err(self.refused(failure));
        };
        let mut current = self.current.lock().await;
        if current.as_ref().map(ExposeSecret::expose_secret) != used.map(ExposeSecret::expose_secret) {
            // Another request has just authenticated.
            return Ok(());
        }
        let challenges: Vec<Challenge> =
            challenges.iter().flat_map(|header| challenge::parse(header)).collect();
        let refused =
            |error: &str| OriginError::Unauthorised { place: place.clone(), error: error.to_owned() };
        let named = |scheme: &str| challenges.iter().find(|challenge| challenge.scheme == scheme);
        let value = match (named("bearer"), named("basic")) {
            (Some(bearer), _) => self.token(bearer, &place).await?,
            (None, Some(_)) => self.credentials.basic().ok_or_else(|| refused(self.why_not()))?,
            (None, None) => {
                return Err(refused(
                    "the server names no supported authentication scheme (WWW-Authenticate)",
                ));
            }
        };
        *current = Some(value);
        Ok(())
    }

    /// Converts the failure of a request that is not repeated.
    pub(super) fn refused(&self, failure: TransportError) -> OriginError {
        match failure {
            TransportError::Status { place, status: 401 | 403, .. } => {
                OriginError::Unauthorised { place, error: self.why_not().to_owned() }
            }
            failure => failure.into(),
        }
    }

    /// Describes why a registry denies access, as far as is known here.
    fn why_not(&self) -> &'static str {
        match self.credentials {
            Credentials::Anonymous => "no such repository, or it requires credentials",
            Credentials::Password { .. } | Credentials::IdentityToken(_) => {
                "no such repository, or the credentials for this registry give no access to it"
            }
        }
    }

    /// Requests a token from the realm of a challenge, and returns it as the value of `Authorization`.
    async fn token(&self, challenge: &Challenge, place: &str) -> Result<SecretString, OriginError> {
        let refused = |error: String| OriginError::Unauthorised { place: place.to_owned(), error };
        let parameter = |name: &str| challenge.parameters.get(name).map_or("", String::as_str);
        let has_credentials = !self.credentials.is_anonymous();
        let url = realm::check(parameter("realm"), &self.registry, has_credentials, &self.realms);
        let url = url.map_err(|error| refused(error.to_string()))?;
        let named = http::redacted_url(&url);
        let request = self.token_request(url, parameter("service"), &self.scope(parameter("scope")))?;
        let answer =
            match self.http.send(&request.within(TOKEN_TIMEOUT).named_by(&self.registry)).await?.success() {
                Err(TransportError::Status { status: 400 | 401 | 403, .. }) if has_credentials => {
                    return Err(refused(format!("{named} rejected the credentials for this registry")));
                }
                answer => answer?.json::<Answer>().await?,
            };
        let token = answer.token.or(answer.access_token).filter(|token| !token.is_empty());
        let token = token
            .ok_or_else(|| TransportError::Malformed { place: named, error: "it has no token".to_owned() })?;
        Ok(format!("Bearer {token}").into())
    }

    /// Returns the scope to request: pulling from this repository, in the registry's words if those are also a pull scope.
    fn scope(&self, wanted: &str) -> String {
        let is_pull = wanted.starts_with("repository:") && wanted.ends_with(":pull") && !wanted.contains(' ');
        if is_pull { wanted.to_owned() } else { format!("repository:{}:pull", self.repository) }
    }

    fn token_request(&self, mut url: Url, service: &str, scope: &str) -> Result<Request, OriginError> {
        // Credentials in the registry's challenge are not sent.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        let Credentials::IdentityToken(token) = &self.credentials else {
            url.query_pairs_mut().append_pair("service", service).append_pair("scope", scope);
            let request = Request::get(url);
            return Ok(match self.credentials.basic() {
                Some(value) => request.authorization(&value)?,
                None => request,
            });
        };
        let mut form = Url::parse("form:").map_err(|_| OriginError::Settings(http::redacted_url(&url)))?;
        form.query_pairs_mut()
            .append_pair("grant_type", "refresh_token")
            .append_pair("client_id", "stackflux")
            .append_pair("service", service)
            .append_pair("scope", scope)
            .append_pair("refresh_token", token.expose_secret());
        let body = form.query().unwrap_or_default().as_bytes().to_vec();
        Ok(Request::new(Method::POST, url).body("application/x-www-form-urlencoded", body))
    }
}
