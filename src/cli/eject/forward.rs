//! The way to the operator's Git server: `kubectl port-forward`, or an address that the user gives.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::cli::error::CliError;

/// Time for `kubectl port-forward` to say its port.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A way to a Git server. It ends when this is dropped.
pub(super) struct Forward {
    /// The URL of the repository on this way.
    pub(super) url: String,
    kubectl: Option<Kubectl>,
}

impl Forward {
    /// Opens the way to the repository at a URL. `flags` are those of kubectl.
    pub(super) fn to(url: &str, address: Option<&str>, flags: &[String]) -> Result<Self, CliError> {
        let Some(Parts { scheme, host, port, path }) = parts(url) else {
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
        let kubectl = Kubectl::forward((service, namespace, port.unwrap_or("80")), flags)?;
        Ok(Self { url: format!("http://127.0.0.1:{}{path}", kubectl.port), kubectl: Some(kubectl) })
    }

    /// Whether the connection is one through the API server, which is encrypted.
    pub(super) fn is_encrypted(&self) -> bool {
        self.kubectl.is_some()
    }
}

/// A running `kubectl port-forward`.
struct Kubectl {
    child: Child,
    port: u16,
}

impl Drop for Kubectl {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Kubectl {
    /// Forwards a free port to a port of a Service.
    fn forward((service, namespace, port): (&str, &str, &str), flags: &[String]) -> Result<Self, CliError> {
        let failed = |why: &str| {
            CliError::usage(format!("kubectl port-forward service/{service} -n {namespace}: {why}")).hint(
                "pass the address of the operator's Git server with --builtin-addr, or check that kubectl is installed",
            )
        };
        let mut command = Command::new("kubectl");
        command.args(flags).args([
            "-n",
            namespace,
            "port-forward",
            &format!("service/{service}"),
            &format!(":{port}"),
        ]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let child = command.spawn().map_err(|error| failed(&error.to_string()))?;
        let mut kubectl = Self { child, port: 0 };
        let (sender, said) = mpsc::channel();
        let output = kubectl.child.stdout.take();
        // kubectl ends if nothing takes what it says.
        thread::spawn(move || {
            for line in
                output.into_iter().flat_map(|output| BufReader::new(output).lines()).map_while(Result::ok)
            {
                // Only the first port counts.
                let _ = sender.send(forwarded(&line));
            }
        });
        match said.recv_timeout(TIMEOUT) {
            Ok(Some(port)) => kubectl.port = port,
            Ok(None) => return Err(failed("it does not say which port it forwards")),
            Err(RecvTimeoutError::Timeout) => return Err(failed("it does not answer")),
            Err(RecvTimeoutError::Disconnected) => return Err(failed("it has ended")),
        }
        Ok(kubectl)
    }
}

/// Reads `Forwarding from 127.0.0.1:40123 -> 9080`.
fn forwarded(line: &str) -> Option<u16> {
    let (_, rest) = line.split_once("127.0.0.1:")?;
    rest.split_once(' ')?.0.parse().ok()
}

/// The parts of a URL. The path begins with `/`.
#[derive(Debug, PartialEq, Eq)]
struct Parts<'a> {
    scheme: &'a str,
    host: &'a str,
    port: Option<&'a str>,
    path: &'a str,
}

fn parts(url: &str) -> Option<Parts<'_>> {
    let (scheme, rest) = url.split_once("://")?;
    let (authority, _) = rest.split_once('/')?;
    let (host, port) = authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port)));
    Some(Parts { scheme, host, port, path: rest.strip_prefix(authority)? })
}

/// Returns name and namespace of the Service with a host name inside the cluster.
fn service(host: &str) -> Option<(&str, &str)> {
    let mut labels = host.split('.');
    let found = (labels.next()?, labels.next()?);
    (labels.next() == Some("svc")).then_some(found)
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
        let host = "stackflux-git.flux-system.svc";
        assert_eq!(parts(url), Some(Parts { scheme: "http", host, port: None, path: "/7f-3a.git" }));
        assert_eq!(parts("http://a:81/b.git").unwrap().port, Some("81"));
        let forward = Forward::to(url, Some("localhost:9080"), &[]).unwrap();
        assert_eq!(forward.url, "http://localhost:9080/7f-3a.git");
        let forward = Forward::to("http://127.0.0.1:9080/7f-3a.git", None, &[]).unwrap();
        assert_eq!(forward.url, "http://127.0.0.1:9080/7f-3a.git");
        assert!(Forward::to("https://a.b.svc/7f-3a.git", None, &[]).is_err());
    }

    #[test]
    fn port_is_read_from_the_first_line_of_kubectl() {
        assert_eq!(forwarded("Forwarding from 127.0.0.1:40123 -> 9080"), Some(40123));
        assert_eq!(forwarded(""), None);
    }
}
