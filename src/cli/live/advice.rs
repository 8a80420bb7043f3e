//! Explains failed requests to an API server, and what to do about them.

use kube::Error;

use super::Session;
use crate::cli::error::CliError;
use crate::runtime::client::explain;

/// Explains why kinds cannot be listed, if the other kinds can still be read: a text to append to the kinds.
pub(super) fn about_list(kinds: &str, error: &Error) -> Option<String> {
    let Error::Api(status) = error else { return None };
    if status.is_forbidden() {
        let message = &status.message;
        return Some(format!(
            "are left out: you may not list them here ({message}); kubectl auth can-i --list shows your permissions"
        ));
    }
    matches!(status.code, 404 | 405).then(|| not_served(kinds).to_owned())
}

/// Explains that the API server does not have these kinds: a text to append to the kinds.
pub(super) fn not_served(kinds: &str) -> &'static str {
    match kinds {
        "ClusterStacks" | "ClusterStackReleases" | "ClusterAddons" => {
            "are unknown to the API server: stackflux's CRDs are not installed; \
             stackflux crds | kubectl apply --server-side -f - installs them"
        }
        "Clusters" => {
            "are unknown to the API server: Cluster API is not installed; is this the management cluster?"
        }
        _ => {
            "are unknown to the API server: Flux is not installed, or is older than 2.9; \
             flux check shows its version"
        }
    }
}

/// Creates the error of a failed request, with what to do about it.
pub(super) fn failed(session: &Session, error: &Error) -> CliError {
    let (server, message) = (&session.server, explain(error));
    let outcome = if matches!(error, Error::Api(_)) { "refused the request" } else { "cannot be reached" };
    let failure = CliError::usage(format!("the API server {server} {outcome}: {message}"));
    match hint(error, &message.to_lowercase()) {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn hint(error: &Error, message: &str) -> Option<&'static str> {
    if let Error::Api(status) = error {
        return match status.code {
            401 => Some(
                "the API server rejected the credentials of the kubeconfig: log in again, or fetch a new kubeconfig",
            ),
            403 => {
                Some("kubectl auth can-i --list shows your permissions; --namespace reads one namespace only")
            }
            404 => {
                Some("check --namespace and --context; stackflux status --all-namespaces lists what is there")
            }
            429 | 500.. => Some("the API server is overloaded or starting: try again"),
            _ => None,
        };
    }
    let has = |word: &str| message.contains(word);
    if has("certificate") && has("expired") {
        Some(
            "a certificate has expired: fetch a new kubeconfig, or have the API server's certificate renewed",
        )
    } else if has("certificate") || has("unknownissuer") {
        Some("the kubeconfig's CA did not sign the API server's certificate: was the cluster recreated?")
    } else if has("refused") || has("dns") || has("unreachable") || has("timed out") || has("elapsed") {
        Some(
            "check that the API server of this --context runs and can be reached; kubectl cluster-info tries the same",
        )
    } else if has("exec") {
        Some(
            "the kubeconfig runs a program to log in, and that failed: run kubectl version to see what it says",
        )
    } else {
        None
    }
}
