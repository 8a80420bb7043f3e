//! The way to the operator's Git server: `kubectl port-forward`, or an address that the user gives.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use crate::cli::error::CliError;

/// A way to a Git server. It ends when this is dropped.
pub(super) struct Forward {
    /// The URL of the repository on this way.
    pub(super) url: String,
    kubectl: Option<Child>,
}

impl Forward {
    /// Opens the way to the repository at a URL. `flags` are those of kubectl.
    pub(super) fn to(url: &str, address: Option<&str>, flags: &[String]) -> Result<Self, CliError> {
        let Some((scheme, host, path)) = parts(url) else {
            return Err(CliError::usage(format!(
                "the URL of the GitRepository is not that of a Git server: {url}"
            )));
        };
        if let Some(address) = address {
            return Ok(Self { url: format!("{scheme}://{address}{path}"), kubectl: None });
        }
        let Some((service, namespace)) = service(host) else {
            return Ok(Self { url: url.to_owned(), kubectl: None });
        };
        if scheme == "https" {
            let message = format!(
                "{url} has a certificate for {host}, which kubectl port-forward does not reach by name"
            );
            return Err(CliError::usage(message)
                .hint("run the command where that name can be reached, with --builtin-addr"));
        }
        let (port, kubectl) = forward(service, namespace, flags)?;
        Ok(Self { url: format!("http://127.0.0.1:{port}{path}"), kubectl: Some(kubectl) })
    }
}

impl Drop for Forward {
    fn drop(&mut self) {
        if let Some(mut kubectl) = self.kubectl.take() {
            // It may have ended.
            let _ = kubectl.kill();
            let _ = kubectl.wait();
        }
    }
}

/// Splits a URL into scheme, host without port, and path.
fn parts(url: &str) -> Option<(&str, &str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let (authority, _) = rest.split_once('/')?;
    let host = authority.split_once(':').map_or(authority, |(host, _)| host);
    Some((scheme, host, rest.strip_prefix(authority)?))
}

/// Returns name and namespace of the Service with a host name inside the cluster.
fn service(host: &str) -> Option<(&str, &str)> {
    let mut labels = host.split('.');
    let found = (labels.next()?, labels.next()?);
    (labels.next() == Some("svc")).then_some(found)
}

/// Starts `kubectl port-forward` on a free port.
fn forward(service: &str, namespace: &str, flags: &[String]) -> Result<(u16, Child), CliError> {
    let failed = |why: String| {
        CliError::usage(format!("kubectl port-forward service/{service} -n {namespace}: {why}")).hint(
            "pass the address of the operator's Git server with --builtin-addr, or check that kubectl is installed",
        )
    };
    let mut command = Command::new("kubectl");
    command.args(flags).args(["-n", namespace, "port-forward", &format!("service/{service}"), ":80"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let mut line = String::new();
    if let Some(output) = child.stdout.take() {
        // Forwarding from 127.0.0.1:40123 -> 9080
        BufReader::new(output).read_line(&mut line).map_err(|error| failed(error.to_string()))?;
    }
    if let Some(port) = port(&line) {
        return Ok((port, child));
    }
    // It may have ended.
    let _ = child.kill();
    let _ = child.wait();
    Err(failed("it has ended".to_owned()))
}

fn port(line: &str) -> Option<u16> {
    let (_, rest) = line.split_once("127.0.0.1:")?;
    rest.split_once(' ')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_is_found_by_its_name_in_the_cluster() {
        for (host, expected) in [
            ("stackflux-git.flux-system.svc", Some(("stackflux-git", "flux-system"))),
            ("stackflux-git.flux-system.svc.cluster.local", Some(("stackflux-git", "flux-system"))),
            ("git.example.org", None),
            ("127.0.0.1", None),
            ("localhost", None),
        ] {
            assert_eq!(service(host), expected, "{host}");
        }
    }

    #[test]
    fn way_has_the_path_of_the_repository() {
        let url = "http://stackflux-git.flux-system.svc/7f-3a.git";
        assert_eq!(parts(url), Some(("http", "stackflux-git.flux-system.svc", "/7f-3a.git")));
        let forward = Forward::to(url, Some("localhost:9080"), &[]).unwrap();
        assert_eq!(forward.url, "http://localhost:9080/7f-3a.git");
        let forward = Forward::to("http://127.0.0.1:9080/7f-3a.git", None, &[]).unwrap();
        assert_eq!(forward.url, "http://127.0.0.1:9080/7f-3a.git");
        assert!(Forward::to("https://a.b.svc/7f-3a.git", None, &[]).is_err());
    }

    #[test]
    fn port_is_read_from_the_first_line_of_kubectl() {
        assert_eq!(port("Forwarding from 127.0.0.1:40123 -> 9080\n"), Some(40123));
        assert_eq!(port(""), None);
    }
}
