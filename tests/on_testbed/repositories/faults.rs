use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use stackflux::git::{Reference, TransferLimits};

use super::*;

/// Accepts connections on loopback for as long as the tests run; returns the address.
fn listen(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> String {
    listen_on("127.0.0.1:0", serve)
}

fn listen_on(address: &str, serve: impl Fn(TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind(address).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (serve, stream) = (Arc::clone(&serve), stream.unwrap());
            thread::spawn(move || serve(stream));
        }
    });
    address
}

/// Answers each request with the result of `answer` for its head.
fn answer(mut stream: TcpStream, mut answer: impl FnMut(&str) -> String) {
    let mut head = Vec::new();
    let mut byte = [0];
    while stream.read(&mut byte).is_ok_and(|read| read == 1) {
        head.push(byte[0]);
        if head.ends_with(b"\r\n\r\n") {
            let text = answer(&String::from_utf8_lossy(&head));
            if stream.write_all(text.as_bytes()).is_err() {
                return;
            }
            head.clear();
        }
    }
}

fn reply(status: &str, header: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{header}\r\nContent-Length: 0\r\n\r\n")
}

/// The moment at which a push breaks.
#[derive(Clone, Copy, Debug)]
enum Break {
    /// Before the server has received it.
    Before,
    /// After the server has accepted it, before its answer.
    After,
}

/// Forwards connections to the server, and breaks the first pushes.
fn breaking(at: Break, times: u32) -> String {
    let left = AtomicU32::new(times);
    listen(move |client| {
        let upstream = TcpStream::connect(server().address()).unwrap();
        let is_broken = Arc::new(AtomicBool::new(false));
        let (mut from, mut to) = (client.try_clone().unwrap(), upstream.try_clone().unwrap());
        thread::spawn({
            let is_broken = Arc::clone(&is_broken);
            move || pass_answers(upstream, client, &is_broken)
        });
        let mut buffer = vec![0; 1 << 16];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            let text = String::from_utf8_lossy(&buffer[..read]);
            if text.starts_with("POST") && text.contains("git-receive-pack") && take_one(&left) {
                is_broken.store(true, Ordering::Relaxed);
                if matches!(at, Break::Before) {
                    break;
                }
            }
            if to.write_all(&buffer[..read]).is_err() {
                break;
            }
        }
        drop(to.shutdown(Shutdown::Both));
        drop(from.shutdown(Shutdown::Both));
    })
}

fn take_one(left: &AtomicU32) -> bool {
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
}

/// Forwards the server's answers, except the answer to a push that breaks.
fn pass_answers(mut from: TcpStream, mut to: TcpStream, is_broken: &AtomicBool) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        if !is_broken.load(Ordering::Relaxed) {
            drop(to.write_all(&buffer[..read]));
        } else if buffer[..read].ends_with(b"0\r\n\r\n") {
            break;
        }
    }
    drop(from.shutdown(Shutdown::Both));
    drop(to.shutdown(Shutdown::Both));
}

fn log(repository: &str) -> Vec<String> {
    let clone = clone(&server().url(repository), Credentials::default());
    let Some(tip) = clone.fetch(&Reference::Branch("main".into())).unwrap() else { return Vec::new() };
    clone.log(tip, "", 100).unwrap().into_iter().map(|entry| entry.message.subject).collect()
}

#[test]
fn interrupted_push_arrives_once() {
    for (at, repository) in [(Break::Before, "breaks-before"), (Break::After, "breaks-after")] {
        pushed(write(&clone(&server().url(repository), Credentials::default()), "first", "x"));
        let clone = clone(&format!("http://{}/{repository}.git", breaking(at, 2)), Credentials::default());
        let updated = write(&clone, "second", "x").unwrap();
        let attempts = match (at, updated) {
            (_, Updated::Pushed { attempts, .. }) => attempts,
            other => panic!("{other:?}"),
        };
        assert_eq!(attempts, if matches!(at, Break::Before) { 3 } else { 1 }, "{at:?}");
        assert_eq!(log(repository), ["write second", "write first"], "{at:?}");
    }
}

#[test]
fn push_after_network_failure_loses_nothing() {
    for (at, repository) in [(Break::Before, "away-before"), (Break::After, "away-after")] {
        let url = server().url(repository);
        pushed(write(&clone(&url, Credentials::default()), "first", "x"));
        let away = clone(&format!("http://{}/{repository}.git", breaking(at, 1_000)), Credentials::default());
        let updated = write(&away, "second", "x");
        if matches!(at, Break::Before) {
            let error = refused(updated);
            assert!(matches!(error, GitError::Transport(TransportError::Unreachable { .. })), "{error}");
        }
        write(&clone(&url, Credentials::default()), "second", "x").unwrap();
        assert_eq!(log(repository), ["write second", "write first"], "{at:?}");
    }
}

#[test]
fn certificate_for_other_name_is_refused() {
    // It is for localhost and 127.0.0.1.
    let url = server().https_url("name");
    let upstream = url.split('/').nth(2).unwrap().to_owned();
    let elsewhere = listen_on("127.0.0.2:0", move |client| {
        let upstream = TcpStream::connect(&upstream).unwrap();
        let (from, to) = (client.try_clone().unwrap(), upstream.try_clone().unwrap());
        thread::spawn(move || pass_answers(from, to, &AtomicBool::new(false)));
        pass_answers(upstream, client, &AtomicBool::new(false));
    });
    let error = refused(write(&clone(&format!("https://{elsewhere}/name.git"), password()), "file", "x"));
    assert!(matches!(error, GitError::Transport(TransportError::Certificate { .. })), "{error}");
}

/// Asserts that the error is about the connection, so that it is retried.
fn assert_interrupted(error: &GitError, place: &str) {
    use TransportError::{Timeout, Unreachable};
    assert!(matches!(error, GitError::Transport(Timeout { .. } | Unreachable { .. })), "{place}: {error}");
}

#[test]
fn silent_server_times_out() {
    server();
    let silent = listen(|stream| {
        thread::sleep(10 * SILENCE);
        drop(stream);
    });
    thread::scope(|scope| {
        for scheme in ["http://", "https://", "ssh://git@"] {
            let url = format!("{scheme}{silent}/r.git");
            scope.spawn(move || {
                assert_interrupted(&refused(write(&clone(&url, key()), "file", "x")), &url);
            });
        }
    });
}

/// Forwards this many bytes of the SSH server's answers; then it closes the connection, or stays silent.
fn ssh_that_ends_after(bytes: u64, is_silent: bool) -> String {
    let url = server().ssh_url("ends");
    let upstream = url.split(['@', '/']).nth(3).unwrap().to_owned();
    let place = listen(move |client| {
        let upstream = TcpStream::connect(&upstream).unwrap();
        let (mut questions, mut to) = (client.try_clone().unwrap(), upstream.try_clone().unwrap());
        thread::spawn(move || drop(std::io::copy(&mut questions, &mut to)));
        let mut answers = upstream.take(bytes);
        drop(std::io::copy(&mut answers, &mut &client));
        if is_silent {
            thread::sleep(10 * SILENCE);
        }
        drop(client.shutdown(Shutdown::Both));
    });
    format!("ssh://git@{place}/ends.git")
}

#[test]
fn ssh_connection_that_ends_is_not_a_bad_key() {
    let known_at = |url: &str| {
        let port = url.rsplit(':').next().unwrap().split('/').next().unwrap().to_owned();
        let lines = text("known_hosts");
        let keys =
            lines.lines().map(|line| format!("[127.0.0.1]:{port} {}", line.split_once(' ').unwrap().1));
        KnownHosts::new(keys.collect::<Vec<_>>().join("\n"), "known_hosts")
    };
    let written = |url: &str| {
        write(&clone(url, Credentials { known_hosts: Some(known_at(url)), ..key() }), "file", "x")
    };
    // The server authenticates after about 1,250 bytes of answers, and begins with Git before 1,600.
    let ends = (900..1_550).step_by(50).flat_map(|bytes| [(bytes, false), (bytes, true)]);
    let refusals = Mutex::new(0);
    thread::scope(|scope| {
        for (bytes, is_silent) in ends {
            let (refusals, written) = (&refusals, &written);
            scope.spawn(move || match refused(written(&ssh_that_ends_after(bytes, is_silent))) {
                // Some servers close the connection after a wrong key: libgit2 calls an end after the key a refusal.
                GitError::Unauthorised { .. } if !is_silent => *refusals.lock().unwrap() += 1,
                error => assert_interrupted(&error, &format!("after {bytes} bytes")),
            });
        }
    });
    // Then a server was silent there, too.
    assert!(*refusals.lock().unwrap() > 0, "no connection ended after the server had the key");
    pushed(written(&ssh_that_ends_after(u64::MAX, false)));
}

#[test]
fn endless_server_times_out() {
    let line = |text: &str| format!("{:04x}{text}", text.len() + 4);
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let references = [
        line("# service=git-upload-pack\n"),
        "0000".to_owned(),
        line(&format!("{commit} HEAD\0side-band-64k ofs-delta\n")),
        line(&format!("{commit} refs/heads/main\n")),
        "0000".to_owned(),
    ];
    let references = references.concat();
    let slow = listen(move |stream| {
        let mut progress = stream.try_clone().unwrap();
        answer(stream, |head| {
            if head.starts_with("GET") {
                let kind = "application/x-git-upload-pack-advertisement";
                return format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{references}",
                    references.len()
                );
            }
            let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
            let kind = "application/x-git-upload-pack-result";
            let begun =
                format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n");
            progress.write_all((begun + &chunk(&line("NAK\n"))).as_bytes()).unwrap();
            while progress.write_all(chunk(&line("\x02counting\r")).as_bytes()).is_ok() {
                thread::sleep(Duration::from_millis(100));
            }
            String::new()
        });
    });
    let overall = Duration::from_secs(1);
    let clone = clone(&format!("http://{slow}/r.git"), Credentials::default());
    let error = refused(write(
        &clone.with_limits(TransferLimits { overall, ..TransferLimits::default() }),
        "file",
        "x",
    ));
    assert!(
        matches!(error, GitError::Transport(TransportError::Timeout { after, .. }) if after == overall),
        "{error}"
    );
}

#[test]
fn redirect_sends_no_password() {
    let heads: Arc<Mutex<Vec<String>>> = Arc::default();
    let elsewhere = {
        let heads = Arc::clone(&heads);
        listen(move |stream| {
            answer(stream, |head| {
                heads.lock().unwrap().push(head.to_owned());
                reply("401 Unauthorized", "WWW-Authenticate: Basic realm=\"elsewhere\"")
            });
        })
    };
    let port = elsewhere.rsplit(':').next().unwrap().to_owned();
    let with_password = || Credentials { https: password().https, ..Credentials::default() };
    for host in ["127.0.0.1", "localhost"] {
        for asks_first in [false, true] {
            let to = format!("Location: http://{host}:{port}/r.git/info/refs?service=git-upload-pack");
            let redirecting = listen(move |stream| {
                answer(stream, |head| {
                    if asks_first && !head.contains("Authorization: ") {
                        reply("401 Unauthorized", "WWW-Authenticate: Basic realm=\"here\"")
                    } else {
                        reply("302 Found", &to)
                    }
                });
            });
            let error =
                refused(write(&clone(&format!("http://{redirecting}/r.git"), with_password()), "file", "x"));
            assert!(
                matches!(error, GitError::Transport(TransportError::Redirect { .. })),
                "{host} {asks_first}: {error}"
            );
        }
    }
    for head in heads.lock().unwrap().iter() {
        assert!(!head.contains("Authorization"), "{head}");
    }
}

#[test]
fn oversized_repository_is_refused() {
    let url = server().url("too-much");
    let mut state = 1_u64;
    // Content that does not compress.
    let noise: String = (0..200_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b'!' + u8::try_from((state >> 33) % 90).unwrap())
        })
        .collect();
    pushed(write(&clone(&url, Credentials::default()), "file", &noise));
    let limits = TransferLimits { bytes: 50_000, ..TransferLimits::default() };
    let small = clone(&url, Credentials::default()).with_limits(limits);
    let error = refused(write(&small, "other", "x"));
    assert!(matches!(error, GitError::Transport(TransportError::TooLarge { most: 50_000, .. })), "{error}");
}

#[test]
fn server_refusal_is_reported_without_password() {
    let url = server().https_url("hook");
    pushed(write(&clone(&url, password()), "first", "x"));
    let hook = server().repository("hook").join("hooks/pre-receive");
    let script = "#!/bin/sh\necho run >>hooks/runs\nprintf 'no release on Fridays\\033[2J, correct-horse\\n' >&2\nexit 1\n";
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, script).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let error = refused(write(&clone(&url, password()), "second", "x"));
    let GitError::Refused { branch, server_message, .. } = &error else { panic!("{error}") };
    assert_eq!(branch, "main");
    assert!(server_message.contains("pre-receive hook declined"), "{server_message}");
    assert!(
        server_message.contains("no release on Fridays") && !server_message.contains('\u{1b}'),
        "{server_message}"
    );
    assert_eq!(fs::read_to_string(hook.with_file_name("runs")).unwrap(), "run\n", "asked once");
    assert_eq!(log("hook"), ["write first"]);
}

#[test]
fn commits_contain_no_secret() {
    for (url, credentials) in
        [(server().https_url("secrets"), password()), (server().ssh_url("secrets"), key())]
    {
        pushed(write(&clone(&url, credentials), "file", &url));
    }
    let mut command = std::process::Command::new("git");
    command.arg("-C").arg(server().repository("secrets")).args(["log", "-p", "--all", "--format=raw"]);
    let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(output.contains("write file"));
    for secret in SECRETS {
        assert!(!output.contains(secret), "{secret}");
    }
}
