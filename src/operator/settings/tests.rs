use std::time::Duration;

use clap::Parser as _;

use super::*;
use crate::runtime::logs::{LogEncoding, LogLevel};

/// A program with nothing but the flags of the operator.
#[derive(clap::Parser)]
struct Program {
    #[command(flatten)]
    flags: Flags,
}

fn settings(flags: &[&str]) -> Result<Settings, String> {
    // Do not read the environment of the test process.
    let hermetic = ["stackflux", "--runtime-namespace=flux-system"];
    let program = Program::try_parse_from(hermetic.iter().chain(flags)).map_err(|error| error.to_string())?;
    program.flags.settings().map_err(|error| error.to_string())
}

fn source(flags: &[&str]) -> serde_json::Value {
    serde_json::to_value(settings(flags).unwrap().defaults.source).unwrap()
}

#[test]
fn default_settings_watch_all_and_elect_a_leader() {
    let settings = settings(&[]).unwrap();
    assert_eq!(settings.watch, WatchSettings { all_namespaces: true, label_selector: None });
    assert_eq!(settings.election, Some(LeaseSettings::default()));
    assert_eq!(settings.logs, LogSettings { level: LogLevel::Info, encoding: LogEncoding::Json });
    assert_eq!(
        (settings.metrics_addr.to_string(), settings.health_addr.to_string()),
        (":8080".into(), ":9440".into())
    );
    assert_eq!(settings.flux_namespace.as_str(), "flux-system");
    assert_eq!((settings.defaults, settings.source_controller_addr), (Defaults::default(), None));
}

#[test]
fn switches_are_read_as_by_flux() {
    let watches_all = |flag| settings(&[flag]).map(|settings| settings.watch.all_namespaces);
    assert_eq!(watches_all("--watch-all-namespaces"), Ok(true));
    assert_eq!(watches_all("--watch-all-namespaces=true"), Ok(true));
    assert_eq!(watches_all("--watch-all-namespaces=false"), Ok(false));
    assert!(watches_all("--watch-all-namespaces=no").is_err());
    assert_eq!(settings(&["--enable-leader-election=false"]).unwrap().election, None);
    assert!(settings(&["--no-cross-namespace-refs"]).unwrap().defaults.no_cross_namespace_refs);
}

#[test]
fn election_durations_must_not_overlap() {
    let election = |times: [&str; 3]| {
        let flags = ["lease-duration", "renew-deadline", "retry-period"];
        let flags: Vec<String> =
            flags.iter().zip(times).map(|(flag, time)| format!("--leader-election-{flag}={time}")).collect();
        settings(&flags.iter().map(String::as_str).collect::<Vec<_>>())
            .map(|settings| settings.election.unwrap())
    };
    let expected = LeaseSettings {
        duration: Duration::from_secs(90),
        renew_deadline: Duration::from_millis(1500),
        retry_period: Duration::from_millis(200),
    };
    assert_eq!(election(["1m30s", "1.5s", "200ms"]), Ok(expected));
    for times in [["10s", "10s", "2s"], ["9s", "10s", "2s"], ["15s", "2s", "2s"]] {
        assert!(election(times).unwrap_err().contains("must be longer than"), "{times:?}");
    }
    for times in [["15", "10s", "2s"], ["0s", "10s", "2s"], ["-15s", "10s", "2s"], ["15s", "10s", ""]] {
        assert!(election(times).unwrap_err().contains("invalid duration"), "{times:?}");
    }
}

#[test]
fn default_source_has_the_form_of_a_stack_source() {
    assert_eq!(
        source(&[
            "--default-source-url=https://git.example.org/stacks.git",
            "--default-source-secret=credentials"
        ]),
        serde_json::json!({"git": {
            "url": "https://git.example.org/stacks.git",
            "ref": {"branch": "main"},
            "path": "releases",
            "interval": "1m",
            "secretRef": {"name": "credentials"},
        }})
    );
    assert_eq!(
        source(&["--default-source-git-repository=flux-system/stacks", "--default-source-path=a/b"]),
        serde_json::json!({"gitRepositoryRef": {"name": "stacks", "namespace": "flux-system"}, "path": "a/b"})
    );
}

#[test]
fn invalid_default_source_is_refused() {
    let refused = |flags: &[&str]| settings(flags).unwrap_err();
    let url = "--default-source-url=https://git.example.org/stacks.git";
    assert!(
        refused(&["--default-source-url=git@example.org:stacks.git"])
            .contains("url must begin with https://")
    );
    assert!(refused(&[url, "--default-source-path=../other"]).contains("a path must be relative"));
    assert!(refused(&[url, "--default-source-secret=no name"]).contains("the name of an object"));
    assert!(refused(&["--default-source-secret=credentials"]).contains("--default-source-url"));
    assert!(refused(&[url, "--default-source-git-repository=a/b"]).contains("cannot be used with"));
    assert!(refused(&["--default-source-git-repository=stacks"]).contains("expected <namespace>/<name>"));
}

#[test]
fn source_controller_address_requires_host_and_port() {
    let address = |text: &str| settings(&[&format!("--source-controller-addr={text}")]);
    assert_eq!(address("localhost:8081").unwrap().source_controller_addr.as_deref(), Some("localhost:8081"));
    for text in ["localhost", ":8081", "http://localhost:8081", "localhost:0", "localhost:port"] {
        assert!(address(text).unwrap_err().contains("expected <host>:<port>"), "{text}");
    }
}

#[test]
fn built_in_repositories_need_the_url_of_the_server() {
    let url = "--builtin-url=https://git.example.org";
    let served = settings(&[url, "--builtin-cert-dir=/tls"]).unwrap();
    assert_eq!(served.defaults.builtin_url.as_deref(), Some("https://git.example.org"));
    assert!(served.builtin.unwrap().is_encrypted);
    assert!(settings(&[url]).unwrap().builtin.is_some(), "a proxy may end TLS");
    assert_eq!(settings(&[]).unwrap().builtin, None);
    let upstream = "--default-upstream=oci://registry.example.org/stacks";
    assert_eq!(source(&[url, upstream])["upstream"]["url"], "oci://registry.example.org/stacks");
    for (flags, expected) in [
        (&["--builtin-cert-dir=/tls"][..], "--builtin-url"),
        (&["--builtin-url=http://git.example.org", "--builtin-cert-dir=/tls"], "must begin with https://"),
        (&["--builtin-url=git.example.org"], "expected http://"),
        (&["--builtin-url=http://user@git.example.org"], "expected http://"),
        (&[upstream], "--builtin-url"),
        (&[url, upstream, "--default-source-url=https://git.example.org/a.git"], "cannot be used with"),
        (&[url, upstream, "--default-source-branch=main"], "cannot be used with"),
        (&[url, "--default-upstream=oci://user@registry.example.org/stacks"], "url must be oci://"),
    ] {
        let error = settings(flags).unwrap_err();
        assert!(error.contains(expected), "{flags:?}: {error}");
    }
}
