use secrecy::SecretString;

use super::message::Failure;
use super::*;
use crate::error::Classify as _;
use crate::git::tests::{bare, clone as clone_of};
use crate::git::{Access, Credentials, HostKeyError, KnownHosts, SshKey};

fn clone_with(url: &str, credentials: Credentials) -> BareRepository {
    BareRepository::temporary(Access { url: url.parse().unwrap(), credentials }).unwrap()
}

/// Returns what a process reads of the request for this repository.
fn received(clone: &BareRepository) -> (Access, String) {
    let work = Work::Push {
        commit: "0123456789abcdef0123456789abcdef01234567".parse().unwrap(),
        reference: "refs/heads/main".into(),
        expected: None,
    };
    let text = Request::new(clone, work).text().unwrap();
    let request: Request<'_> = serde_json::from_str(text.expose_secret()).unwrap();
    assert_eq!(request.limits(), clone.limits);
    assert_eq!(request.repository.as_os_str(), clone.repository.path().as_os_str());
    (request.access().unwrap(), text.expose_secret().to_owned())
}

#[test]
fn process_gets_url_and_credentials() {
    let secret = |text: &str| SecretString::from(text);
    let shown = |key: &Option<SshKey>| match key {
        None => String::new(),
        Some(SshKey::Agent) => "agent".to_owned(),
        Some(SshKey::Key { key, passphrase }) => {
            [key.expose_secret(), passphrase.as_ref().map_or("-", |text| text.expose_secret())].join(" ")
        }
    };
    for url in
        ["https://ann@host:8443/a.git", "http://[::1]:3000/a/b", "ssh://bob@host/a.git", "bob@host:a.git"]
    {
        for (ssh, expected) in [
            (None, ""),
            (Some(SshKey::Agent), "agent"),
            (Some(SshKey::Key { key: secret("KEY\n"), passphrase: None }), "KEY\n -"),
            (Some(SshKey::Key { key: secret("KEY"), passphrase: Some(secret("phrase")) }), "KEY phrase"),
        ] {
            let credentials = Credentials {
                https: Some(("ann".to_owned(), secret("s3cret"))),
                ssh,
                known_hosts: Some(KnownHosts::new("host x y", "a Secret")),
                ca: Some(vec![0, 255]),
                plain_http: true,
            };
            let clone = clone_with(url, credentials);
            let (access, _) = received(&clone);
            assert_eq!(access.url, clone.access.url);
            assert_eq!(access.url.user(), clone.access.url.user());
            let https = access.credentials.https.unwrap();
            assert_eq!((https.0.as_str(), https.1.expose_secret()), ("ann", "s3cret"));
            assert_eq!(shown(&access.credentials.ssh), expected);
            assert_eq!(access.credentials.known_hosts, clone.access.credentials.known_hosts);
            assert_eq!(access.credentials.ca, clone.access.credentials.ca);
            assert!(access.credentials.plain_http);
        }
    }
}

/// The static binary would reserve 1 GiB, and the process may have 512 MiB. `make test-packages` runs it.
#[test]
fn allocator_of_the_process_reserves_nothing() {
    let command = command(&PathBuf::from("stackflux"));
    let mut set = command.get_envs().filter_map(|(name, value)| Some((name.to_str()?, value?.to_str()?)));
    assert_eq!(set.next(), Some(("MIMALLOC_ARENA_RESERVE", "0")));
    assert_eq!(set.next(), None);
}

#[test]
fn errors_are_those_of_the_process() {
    let clone = clone_with("https://host/a.git", Credentials::default());
    let url = clone.url();
    let text = || "text".to_owned();
    let errors = [
        TransportError::Unreachable { place: url.clone(), error: text() }.into(),
        TransportError::Certificate { place: url.clone(), error: text() }.into(),
        TransportError::Timeout { place: url.clone(), after: std::time::Duration::from_secs(3) }.into(),
        TransportError::Redirect { place: url.clone(), to: text(), why: text() }.into(),
        TransportError::TooLarge { place: url.clone(), most: 7, unit: "bytes" }.into(),
        TransportError::TooLarge { place: url.clone(), most: 7, unit: "MiB" }.into(),
        GitError::NoCredentials { url: url.clone(), wanted: "SSH key" },
        GitError::NoCredentials { url: url.clone(), wanted: "user name and password or token" },
        GitError::Unauthorised { url: url.clone(), what: "password or token", user: Some(text()) },
        GitError::Unauthorised { url: url.clone(), what: "SSH key", user: None },
        GitError::Forbidden(url.clone()),
        GitError::HostKey(HostKeyError::NoKnownHosts { host: text(), key: text() }),
        GitError::Credentials { what: text(), why: text() },
        GitError::NotFound(url.clone()),
        GitError::Refused { url: url.clone(), branch: text(), server_message: text() },
        GitError::Memory { url: url.clone(), most: 512 },
        GitError::Failed { url, error: text() },
    ];
    for error in errors {
        let expected = (error.to_string(), error.class(), error.reason(), error.hint());
        let line = serde_json::to_string(&Err::<Answer, _>(Failure::from(error))).unwrap() + "\n";
        let failure = message::answer(line.as_bytes()).unwrap().unwrap_err();
        let error = failure.error(&clone);
        assert_eq!((error.to_string(), error.class(), error.reason(), error.hint()), expected);
    }
}

#[test]
fn objects_of_a_connection_without_an_answer_are_checked() {
    let clone = clone_with("https://host/a.git", Credentials::default());
    let fetch = || {
        let work = Work::Fetch { refspecs: Vec::new(), name: String::new() };
        run_program(&"false".into(), &clone, work).unwrap_err().to_string()
    };
    assert!(fetch().contains("the process of the connection ended (exit status: 1)"), "{}", fetch());
    let huge = vec![b'x'; 9 << 20];
    let id = clone.repository.odb().unwrap().write(git2::ObjectType::Tag, &huge).unwrap();
    assert_eq!(fetch(), format!("https://host/a.git: tag {id}: exceeds the limit of 8 MiB"));
    assert!(!clone.repository.path().join("HEAD").exists());
}

#[test]
fn answer_is_the_last_line() {
    let answer = |text: &str| message::answer(text.as_bytes()).is_some();
    assert!(answer("{\"Ok\":{\"Pushed\":\"Done\"}}\n"));
    assert!(answer("a text of a library\n{\"Ok\":{\"Pushed\":\"Done\"}}\n"));
    for none in ["", "\n", "{\"Ok\":{\"Pushed\":\"Done\"}}", "{\"Ok\":{\"Pushed\":\"Done\"}}\nKilled\n"] {
        assert!(!answer(none), "{none:?}");
    }
}

#[test]
fn end_without_an_answer_names_its_cause() {
    let (_directory, path) = bare();
    let clone = clone_of(&path);
    let of = |status, text: &str| ended(&clone, ExitStatus::from_raw(status), text.as_bytes()).to_string();
    let memory = of(ABORTED, "memory allocation of 134217728 bytes failed\n");
    assert!(memory.contains("exceeds its limit of memory (512 MiB"), "{memory}");
    assert!(
        of(ABORTED, "free(): invalid pointer\n")
            .ends_with("(signal: 6 (SIGABRT) (core dumped)) free(): invalid pointer")
            || of(ABORTED, "free(): invalid pointer\n")
                .ends_with("(signal: 6 (SIGABRT)) free(): invalid pointer")
    );
    assert!(of(11, "").ends_with("the process of the connection ended (signal: 11 (SIGSEGV))"));
}
