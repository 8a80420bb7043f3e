//! Derives the subject of a request to an API server from its path:
//! <https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-uris>.

use axum::http::{Method, Uri};

/// A request.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Question {
    /// The objects of a kind. The key is the same for every page of the same list.
    List(String),
    /// The changes of a kind.
    Watch,
    /// Anything else: a single object, a write, discovery.
    Other,
}

impl Question {
    pub(super) fn of(method: &Method, uri: &Uri) -> Self {
        let segments: Vec<&str> = uri.path().split('/').filter(|segment| !segment.is_empty()).collect();
        let below_version = match segments.as_slice() {
            ["api", _, rest @ ..] | ["apis", _, _, rest @ ..] => rest,
            _ => &[],
        };
        let is_collection = matches!(below_version, [_] | ["namespaces", _, _]);
        // Everything else below a namespace object: its subresources.
        let is_namespace = matches!(below_version, ["namespaces", _, "status" | "finalize"]);
        if method != Method::GET || !is_collection || is_namespace {
            return Self::Other;
        }
        let parameters = || uri.query().unwrap_or_default().split('&');
        if parameters().any(|parameter| matches!(parameter, "watch=true" | "watch=1" | "watch")) {
            return Self::Watch;
        }
        let volatile =
            ["limit=", "continue=", "resourceVersion=", "resourceVersionMatch=", "timeoutSeconds="];
        let lasting =
            parameters().filter(|parameter| !volatile.iter().any(|name| parameter.starts_with(name)));
        Self::List(lasting.fold(uri.path().to_owned(), |key, parameter| key + "&" + parameter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(uri: &str) -> Question {
        Question::of(&Method::GET, &uri.parse().unwrap())
    }

    #[test]
    fn lists_and_watches_differ_from_single_objects() {
        for uri in ["/api/v1/namespaces/a/secrets", "/apis/apps/v1/deployments?limit=5", "/api/v1/namespaces"]
        {
            assert!(matches!(question(uri), Question::List(_)), "{uri}");
            let watched = format!("{uri}{}watch=true", if uri.contains('?') { '&' } else { '?' });
            assert_eq!(question(&watched), Question::Watch, "{uri}");
            assert_eq!(Question::of(&Method::DELETE, &uri.parse().unwrap()), Question::Other, "{uri}");
        }
        for uri in [
            "/api/v1/namespaces/a",
            "/api/v1/namespaces/a/status",
            "/api/v1/namespaces/a/secrets/b",
            "/apis/apps/v1/namespaces/a/deployments/b/status",
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/b",
            "/apis/apps/v1",
            "/apis",
            "/version",
        ] {
            assert_eq!(question(uri), Question::Other, "{uri}");
        }
    }

    #[test]
    fn pages_of_one_list_share_a_key() {
        let key = question("/api/v1/pods?labelSelector=a&limit=5&continue=x");
        assert_eq!(key, question("/api/v1/pods?labelSelector=a&resourceVersion=0"));
        assert_ne!(key, question("/api/v1/pods?labelSelector=b"));
    }
}
