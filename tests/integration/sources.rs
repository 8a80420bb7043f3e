//! How the program reaches registries: proxies, credentials, and what it says when it cannot.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use crate::support::{Run, scratch};

/// Something that listens, answers this to everybody, and tells the first line of what it was asked.
fn listen(answer: &'static str) -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, requests) = channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut buffer = [0; 4096];
            let count = stream.read(&mut buffer).unwrap();
            let text = String::from_utf8_lossy(&buffer[..count]).into_owned();
            sender.send(text).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (address, requests)
}

const NO_TAGS: &str = "HTTP/1.1 200 OK\r\nContent-Length: 11\r\nConnection: close\r\n\r\n{\"tags\":[]}";
const REFUSED: &str = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// Runs the program without this machine's proxies and logins, in this environment.
fn run(arguments: &[&str], environment: &[(&str, &str)]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stackflux"));
    for proxy in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"] {
        command.env_remove(proxy).env_remove(proxy.to_lowercase());
    }
    command.env_remove("DOCKER_CONFIG").env_remove("GITHUB_TOKEN").env("HOME", scratch("sources-home"));
    let output = command.args(arguments).envs(environment.iter().copied()).output().unwrap();
    Run {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code().unwrap(),
    }
}

#[test]
fn proxy_is_used_except_for_loopback() {
    let (registry, asked) = listen(NO_TAGS);
    let (proxy, through) = listen(REFUSED);
    let proxy = format!("http://user:hidden@{proxy}");
    let proxies =
        [("http_proxy", proxy.as_str()), ("HTTPS_PROXY", proxy.as_str()), ("ALL_PROXY", proxy.as_str())];
    let run_at = |source: &str, more: &[(&str, &str)]| {
        run(&["releases", source, "--plain-http"], &[&proxies, more].concat())
    };
    let there = run_at(&format!("oci://{registry}/a/b"), &[]);
    assert_eq!(there.code, 1, "nothing is there: {}", there.stderr);
    assert!(asked.recv().unwrap().starts_with("GET /v2/a/b/tags/list?n=1000 HTTP/1.1"));
    assert!(through.try_recv().is_err(), "loopback goes straight");
    let elsewhere = run_at("oci://registry.example.com/a/b", &[]);
    assert_eq!(elsewhere.code, 2, "{}", elsewhere.stdout);
    assert!(through.recv().unwrap().starts_with("GET http://registry.example.com/v2/a/b/tags/list"));
    assert!(!elsewhere.stderr.contains("hidden"), "{}", elsewhere.stderr);
    let straight = run_at("oci://registry.invalid/a/b", &[("NO_PROXY", "invalid")]);
    assert_eq!(straight.code, 2, "{}", straight.stdout);
    assert!(through.try_recv().is_err(), "NO_PROXY is honoured");
}

#[test]
fn registry_password_is_sent_but_not_printed() {
    let (registry, asked) = listen(
        "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    );
    let source = format!("oci://{registry}/a/b");
    let arguments = ["releases", &source, "--plain-http", "--username", "me"];
    let missing = run(&arguments, &[]);
    assert_eq!(missing.code, 2);
    assert!(missing.stderr.contains("--password-file"), "{}", missing.stderr);
    let refused = run(&arguments, &[("STACKFLUX_REGISTRY_PASSWORD", "hidden-password")]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("not allowed") && !refused.stderr.contains("hidden"),
        "{}",
        refused.stderr
    );
    let asked: Vec<String> = asked.try_iter().collect();
    assert!(!asked[0].to_lowercase().contains("authorization"), "{}", asked[0]);
    assert!(asked[1].contains("Basic bWU6aGlkZGVuLXBhc3N3b3Jk"), "{}", asked[1]);
    let config = scratch("sources-docker");
    std::fs::write(config.join("config.json"), "{\"auths\": \"hidden\"}").unwrap();
    let config = config.display().to_string();
    let broken = run(&["releases", &source, "--plain-http", "--docker-config", &config], &[]);
    assert_eq!(broken.code, 2);
    assert!(broken.stderr.contains("config.json") && !broken.stderr.contains("hidden"), "{}", broken.stderr);
}

#[test]
fn usual_mistakes_are_explained() {
    let directory = scratch("sources-mistakes");
    let (empty, nothing) = (directory.join("empty"), directory.join("nothing"));
    std::fs::write(&empty, "\n").unwrap();
    std::fs::create_dir(&nothing).unwrap();
    let (empty, nothing) = (empty.display().to_string(), nothing.display().to_string());
    for arguments in [
        ["releases", "github://a/b", "--github-token-file", &empty].as_slice(),
        &["releases", "oci://127.0.0.1:1/a/b", "--username", "me", "--password-file", &empty],
    ] {
        let run = run(arguments, &[]);
        assert_eq!(run.code, 2, "{}", run.stdout);
        assert!(run.stderr.contains(&format!("{empty}: the file is empty")), "{}", run.stderr);
    }
    let (registry, _asked) = listen(NO_TAGS);
    let source = format!("oci://{registry}/a/b");
    for docker in ["", &nothing] {
        let run = run(&["releases", &source, "--plain-http"], &[("DOCKER_CONFIG", docker)]);
        assert_eq!(run.code, 1, "nobody in particular may ask, and nothing is there: {}", run.stderr);
    }
    let named = run(&["releases", &source, "--plain-http", "--docker-config", &nothing], &[]);
    assert!(named.code == 2 && named.stderr.contains("config.json"), "{}", named.stderr);
    for source in ["ghcr.io/org/repo:docker-demo-1-34-v1", "oci:/host/x", "git@github.com:org/repo.git"] {
        let run = run(&["releases", source], &[]);
        assert!(run.code == 2 && run.stderr.contains("oci://host/repository"), "{}", run.stderr);
    }
}

#[test]
fn address_with_a_password_is_not_repeated() {
    let stack = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/integration/cli/stack");
    let secret = "https://user:hidden@git.example.org/a.git";
    let git = format!("git+{secret}");
    let mirror = format!("registry.example.org={secret}");
    let release = "openstack-demo-1-34-v1";
    for arguments in [
        ["generate", stack, "--release", release, "--url", secret].as_slice(),
        &["generate", stack, "--release", release, "--url", "https://hidden@git.example.org/a.git"],
        &["generate", stack, "--release", release, "--url", "https://git.example.org/a", "--to-git", secret],
        &["publish", stack, "--release", release, "--to", secret],
        &["publish", &git, "--release", release, "--to", "nowhere"],
        &["releases", &git],
        &["releases", "oci://registry.example.org/a", "--mirror", &mirror],
        &["releases", "github://a/b", "--github-api", secret],
        &["promote", release, "--to", "prod", "--repository", secret],
    ] {
        let run = run(arguments, &[("NO_COLOR", "1")]);
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.stdout);
        assert!(!run.stderr.contains("hidden"), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains("password") || run.stderr.contains("user"), "{}", run.stderr);
    }
}
