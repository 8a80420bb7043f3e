//! The proxies of the environment, as the API server, Git and registries are reached through them.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use crate::support::{Run, scratch};

const REFUSED: &[u8] = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

const WANTS_PASSWORD: &[u8] = b"HTTP/1.1 407 Proxy Authentication Required\r\n\
    Proxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// A proxy that notes each request and refuses it.
struct Proxy {
    /// With a password in it.
    url: String,
    address: String,
    seen: Receiver<String>,
}

impl Proxy {
    fn start() -> Self {
        Self::answering(REFUSED)
    }

    fn answering(answer: &'static [u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (sender, seen) = channel();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut buffer = [0; 4096];
                let count = stream.read(&mut buffer).unwrap_or_default();
                let _ = sender.send(String::from_utf8_lossy(&buffer[..count]).into_owned());
                let _ = stream.write_all(answer);
            }
        });
        Self { url: format!("http://user:hidden@{address}"), address, seen }
    }

    /// The first line of the next request, and whether it had the password.
    #[track_caller]
    fn asked(&self) -> (String, bool) {
        let request = self.seen.recv_timeout(Duration::from_secs(20)).expect("the proxy was not asked");
        let has_password =
            request.to_ascii_lowercase().contains("proxy-authorization: basic dxnlcjpoawrkzw4=");
        (request.lines().next().unwrap_or_default().to_owned(), has_password)
    }

    #[track_caller]
    fn not_asked(&self) {
        assert_eq!(self.seen.try_iter().collect::<Vec<_>>(), Vec::<String>::new());
    }
}

/// The program without this machine's proxies, logins and clusters, in this environment.
fn program(arguments: &[&str], environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stackflux"));
    for variable in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"] {
        command.env_remove(variable).env_remove(variable.to_lowercase());
    }
    for variable in ["KUBECONFIG", "KUBERNETES_SERVICE_HOST", "DOCKER_CONFIG", "GITHUB_TOKEN"] {
        command.env_remove(variable);
    }
    command.env("HOME", scratch("proxies-home")).args(arguments).envs(environment.iter().copied());
    command.stdin(Stdio::null());
    command
}

fn run(arguments: &[&str], environment: &[(&str, &str)]) -> Run {
    let output = program(arguments, environment).output().unwrap();
    let run = Run {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code().unwrap(),
    };
    assert!(!run.stderr.contains("hidden"), "{}", run.stderr);
    run
}

/// A kubeconfig of an API server, perhaps with a proxy of its own.
fn kubeconfig(name: &str, server: &str, proxy: Option<&str>) -> String {
    let proxy = proxy.map(|proxy| format!(", proxy-url: '{proxy}'")).unwrap_or_default();
    let text = format!(
        "{{apiVersion: v1, kind: Config, current-context: a, users: [{{name: a, user: {{token: x}}}}],\n\
         contexts: [{{name: a, context: {{cluster: a, user: a}}}}],\n\
         clusters: [{{name: a, cluster: {{server: '{server}'{proxy}}}}}]}}\n"
    );
    let path = scratch(&format!("proxies-{name}")).join("kubeconfig");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn api_server_request_uses_the_proxy() {
    let (proxy, own) = (Proxy::start(), Proxy::start());
    let remote = kubeconfig("remote", "https://api.example.org:6443", None);
    let status = |config: &str, environment: &[(&str, &str)]| {
        let run = run(&["status", "--kubeconfig", config], environment);
        assert_eq!(run.code, 2, "{}", run.stdout);
        run.stderr
    };
    for variable in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"] {
        let stderr = status(&remote, &[(variable, &proxy.url)]);
        assert_eq!(proxy.asked(), ("CONNECT api.example.org:6443 HTTP/1.1".to_owned(), true));
        let named = format!("https://api.example.org:6443/ (through the proxy http://{})", proxy.address);
        assert!(stderr.contains(&named), "{stderr}");
        proxy.seen.try_iter().for_each(drop);
    }
    let through = [("HTTPS_PROXY", proxy.url.as_str())];
    for except in ["example.org", ".example.org", "*.example.org:6443", "10.0.0.0/8,api.example.org", "*"] {
        status(&remote, &[through[0], ("NO_PROXY", except)]);
        proxy.not_asked();
    }
    let address = kubeconfig("address", "https://192.0.2.1:6443", None);
    for (variable, except) in
        [("no_proxy", "192.0.2.0/24,"), ("NO_PROXY", ", 192.0.2.1 ,,"), ("NO_PROXY", "a,*")]
    {
        let stderr = status(&address, &[through[0], (variable, except)]);
        assert!(stderr.contains("https://192.0.2.1:6443/"), "the API server is requested: {stderr}");
        proxy.not_asked();
    }
    let stderr = status(&address, &[through[0], ("no_proxy", "a b")]);
    assert!(stderr.contains("NO_PROXY: invalid proxy"), "what kube cannot read is named: {stderr}");
    let here = kubeconfig("here", "https://127.0.0.1:1", None);
    status(&here, &through);
    proxy.not_asked();

    let with_own = kubeconfig("own", "https://api.example.org", Some(&own.url));
    status(&with_own, &[through[0], ("NO_PROXY", "api.example.org,127.0.0.1")]);
    assert_eq!(own.asked().0, "CONNECT api.example.org:443 HTTP/1.1");
    proxy.not_asked();
}

#[test]
fn malformed_proxy_is_named_by_its_variable() {
    let https = kubeconfig("malformed", "https://api.example.org:6443", None);
    let http = kubeconfig("malformed-http", "http://api.example.org:6443", None);
    let here = kubeconfig("malformed-here", "https://127.0.0.1:1", None);
    let status = |config: &str, environment: &[(&str, &str)]| {
        let run = run(&["status", "--kubeconfig", config], environment);
        assert_eq!(run.code, 2, "{}", run.stdout);
        run.stderr
    };
    let of_https =
        ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"].map(|variable| (variable, &https));
    let of_http = ["HTTP_PROXY", "http_proxy", "all_proxy"].map(|variable| (variable, &http));
    for (variable, config) in of_https.into_iter().chain(of_http) {
        for proxy in
            [":::", "http://", "hidden:::", "http://[::1", "http://hidden@bad host:3128", "http://h:port"]
        {
            // A malformed proxy that is not used is not the cause.
            let other = if config == &https { "HTTP_PROXY" } else { "HTTPS_PROXY" };
            let stderr = status(config, &[(variable, proxy), (other, ":::")]);
            assert!(stderr.contains(&format!("{variable}: invalid proxy: ")), "{proxy}: {stderr}");
            assert!(!stderr.contains("kubeconfig"), "{proxy}: {stderr}");
        }
    }
    for variable in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"] {
        let stderr = status(&here, &[(variable, ":::")]);
        assert!(stderr.contains("https://127.0.0.1:1/ cannot be reached"), "no proxy is used: {stderr}");
        let stderr = status(&https, &[(variable, ":::"), ("NO_PROXY", "api.example.org")]);
        assert!(stderr.contains("https://api.example.org:6443/ cannot be reached"), "{stderr}");
    }
}

#[test]
fn blanks_around_a_proxy_are_ignored() {
    let (proxy, config) = (Proxy::start(), kubeconfig("blanks", "https://api.example.org:6443", None));
    let status = ["status", "--kubeconfig", &config];
    let spaced = format!(" {} ", proxy.url);
    let stderr = run(&status, &[("https_proxy", &spaced)]).stderr;
    assert!(stderr.contains(&format!("(through the proxy http://{})", proxy.address)), "{stderr}");
    assert_eq!(proxy.asked().0, "CONNECT api.example.org:6443 HTTP/1.1");
    let stderr = run(&status, &[("HTTPS_PROXY", " "), ("NO_PROXY", "api.example.org")]).stderr;
    assert!(stderr.contains("https://api.example.org:6443/ cannot be reached"), "{stderr}");
}

/// Ends the process with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn operator_request_uses_the_proxy() {
    let proxy = Proxy::start();
    let config = kubeconfig("operator", "https://api.example.org:6443", None);
    let arguments = ["operator", "--kubeconfig", &config, "--runtime-namespace", "flux-system"];
    let mut command = program(&arguments, &[("HTTPS_PROXY", &proxy.url), ("NO_PROXY", "example.com,")]);
    let _operator = Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    assert_eq!(proxy.asked(), ("CONNECT api.example.org:6443 HTTP/1.1".to_owned(), true));
}

#[test]
fn git_request_uses_the_proxy() {
    let proxy = Proxy::start();
    let releases = |source: &str, more: &[(&str, &str)]| {
        let all = [("HTTP_PROXY", proxy.url.as_str()), ("HTTPS_PROXY", proxy.url.as_str())];
        let run = run(&["releases", source], &[&all, more].concat());
        assert_eq!(run.code, 2, "{}", run.stdout);
        run.stderr
    };
    let stderr = releases("git+https://git.example.org/a.git", &[]);
    assert_eq!(proxy.asked().0, "CONNECT git.example.org:443 HTTP/1.1");
    assert!(stderr.contains(&format!("through the proxy http://{}", proxy.address)), "{stderr}");
    proxy.seen.try_iter().for_each(drop);
    releases("git+https://git.example.invalid/a.git", &[("NO_PROXY", "example.invalid")]);
    releases("git+https://127.0.0.1:1/a.git", &[]);
    // libgit2 knows no proxy for plain HTTP.
    releases("git+http://git.example.invalid/a.git", &[]);
    proxy.not_asked();
}

#[test]
fn git_error_of_the_proxy_is_not_the_servers() {
    let (source, proxy) = ("git+https://git.example.org/a.git", Proxy::answering(WANTS_PASSWORD));
    let run = run(&["releases", source], &[("HTTPS_PROXY", &proxy.url)]);
    assert_eq!((run.code, proxy.asked().1), (2, false));
    assert!(proxy.asked().1, "the password is sent when it is asked for");
    let named = format!("(through the proxy http://{})", proxy.address);
    assert!(run.stderr.contains(&named) && run.stderr.contains("proxy authentication"), "{}", run.stderr);
}

#[test]
fn registry_error_names_the_proxy() {
    let proxy = Proxy::start();
    let run = run(&["releases", "oci://registry.example.org/a/b"], &[("HTTPS_PROXY", &proxy.url)]);
    assert_eq!(proxy.asked(), ("CONNECT registry.example.org:443 HTTP/1.1".to_owned(), true));
    assert!(run.stderr.contains(&format!("(through the proxy http://{})", proxy.address)), "{}", run.stderr);
}

#[test]
fn malformed_proxy_names_the_variable() {
    let config = kubeconfig("malformed", "https://api.example.org:6443", None);
    for arguments in [
        ["status", "--kubeconfig", &config].as_slice(),
        &["releases", "git+https://git.example.org/a.git"],
        &["releases", "oci://registry.example.org/a/b"],
        &["releases", "github://example/b"],
    ] {
        for proxy in ["http://user:hidden@h:port", "socks5://user:hidden@h"] {
            let run = run(arguments, &[("HTTPS_PROXY", proxy)]);
            assert_eq!(run.code, 2, "{}", run.stdout);
            assert!(run.stderr.contains("HTTPS_PROXY: invalid proxy: "), "{arguments:?}: {}", run.stderr);
        }
    }
}
