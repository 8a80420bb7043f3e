//! The two requests that a client of Git sends to fetch.

use axum::http::Method;

/// The service of `git fetch` and `git clone`.
const UPLOAD_PACK: &str = "git-upload-pack";

/// A request for a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route<'a> {
    /// The list of its branches.
    Refs(&'a str),
    /// A pack with the objects that the body names.
    Pack(&'a str),
}

/// The reason why a request is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoRoute {
    /// The path is not that of a repository.
    Path,
    /// The method does not belong to the path.
    Method,
    /// The service is not that of a fetch: a push, an archive, or the protocol without a service.
    Service,
}

impl<'a> Route<'a> {
    /// Reads a request: `GET /<identifier>.git/info/refs?service=git-upload-pack` or
    /// `POST /<identifier>.git/git-upload-pack`.
    pub(super) fn of(method: &Method, path: &'a str, query: Option<&str>) -> Result<Self, NoRoute> {
        let (repository, rest) =
            path.strip_prefix('/').and_then(|path| path.split_once('/')).ok_or(NoRoute::Path)?;
        let identifier =
            repository.strip_suffix(".git").filter(|text| is_identifier(text)).ok_or(NoRoute::Path)?;
        let (route, needed, service) = match rest {
            "info/refs" => {
                let service = query.and_then(|query| query.strip_prefix("service="));
                (Self::Refs(identifier), Method::GET, service.unwrap_or_default())
            }
            UPLOAD_PACK | "git-receive-pack" | "git-upload-archive" => {
                (Self::Pack(identifier), Method::POST, rest)
            }
            _ => return Err(NoRoute::Path),
        };
        match (*method == needed, service == UPLOAD_PACK) {
            (false, _) => Err(NoRoute::Method),
            (true, false) => Err(NoRoute::Service),
            (true, true) => Ok(route),
        }
    }

    /// Returns the identifier of the repository.
    pub(super) fn identifier(self) -> &'a str {
        match self {
            Self::Refs(identifier) | Self::Pack(identifier) => identifier,
        }
    }
}

/// Whether the text can be a UID of Kubernetes.
fn is_identifier(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_requests_of_a_fetch_are_served() {
        let refs = "service=git-upload-pack";
        for (method, path, query, expected) in [
            (Method::GET, "/7f-3a.git/info/refs", Some(refs), Ok(Route::Refs("7f-3a"))),
            (Method::POST, "/7f-3a.git/git-upload-pack", None, Ok(Route::Pack("7f-3a"))),
            (Method::GET, "/7f-3a.git/git-upload-pack", None, Err(NoRoute::Method)),
            (Method::PUT, "/7f-3a.git/info/refs", Some(refs), Err(NoRoute::Method)),
            (Method::GET, "/7f-3a.git/info/refs", None, Err(NoRoute::Service)),
            (Method::GET, "/7f-3a.git/info/refs", Some("service=git-receive-pack"), Err(NoRoute::Service)),
            (Method::GET, "/7f-3a.git/info/refs", Some("service=git-upload-pack&x=y"), Err(NoRoute::Service)),
            (Method::POST, "/7f-3a.git/git-receive-pack", None, Err(NoRoute::Service)),
            (Method::POST, "/7f-3a.git/git-upload-archive", None, Err(NoRoute::Service)),
            (Method::GET, "/7f-3a.git/HEAD", None, Err(NoRoute::Path)),
            (Method::GET, "/7f-3a.git/objects/info/packs", None, Err(NoRoute::Path)),
            (Method::GET, "/7f-3a/info/refs", Some(refs), Err(NoRoute::Path)),
            (Method::GET, "/..git/info/refs", Some(refs), Err(NoRoute::Path)),
            (Method::GET, "/...git/info/refs", Some(refs), Err(NoRoute::Path)),
            (Method::GET, "/.git/info/refs", Some(refs), Err(NoRoute::Path)),
            (Method::GET, "/a/../b.git/info/refs", Some(refs), Err(NoRoute::Path)),
            (Method::GET, "/%2e%2e.git/info/refs", Some(refs), Err(NoRoute::Path)),
            (Method::GET, "/A.git/info/refs", Some(refs), Err(NoRoute::Path)),
            (Method::GET, "//info/refs", Some(refs), Err(NoRoute::Path)),
            (Method::GET, "/", None, Err(NoRoute::Path)),
        ] {
            assert_eq!(Route::of(&method, path, query), expected, "{method} {path} {query:?}");
        }
        let long = format!("/{}.git/info/refs", "a".repeat(65));
        assert_eq!(Route::of(&Method::GET, &long, Some(refs)), Err(NoRoute::Path));
    }
}
