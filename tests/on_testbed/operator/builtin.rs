//! The built-in stack repository: from a registry to addons, without a Git server.

mod many;
mod service;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use stackflux_testbed::Operator;

use super::scenario::{SHORT_LEASE, STACK, Scenario, TIMEOUT, V1, V2, condition, eventually};
use super::upstream::push;
use crate::git::git;
use crate::push::Layout;
use crate::support::{scratch, stackflux};
use service::Service;

/// Two replicas behind a Service. Each has a volume of its own.
struct Replicas {
    service: Service,
    operators: Vec<Operator>,
    volumes: PathBuf,
}

impl Replicas {
    fn start(scenario: &Scenario<'_>, flags: &[&str]) -> Self {
        let volumes = scratch(&format!("{}-volumes", scenario.namespace));
        let ports = [(); 3].map(|()| scenario.testbed.free_port().unwrap());
        let is_encrypted = flags.iter().any(|flag| flag.starts_with("--builtin-cert-dir="));
        let scheme = if is_encrypted { "https" } else { "http" };
        let url = format!("--builtin-url={scheme}://127.0.0.1:{}", ports[0]);
        let start = |port: &u16| {
            let address = format!("--builtin-addr=127.0.0.1:{port}");
            let path = format!("--builtin-path={}", volumes.join(port.to_string()).display());
            let own = [&url, &address, &path].map(String::as_str);
            scenario
                .candidate(scenario.testbed.operator_kubeconfig(), &[&own[..], &SHORT_LEASE, flags].concat())
        };
        let operators: Vec<Operator> = ports[1..].iter().map(start).collect();
        let backends =
            ports[1..].iter().zip(&operators).map(|(port, operator)| (*port, operator.health_port()));
        Self { service: Service::start(ports[0], backends.collect()), operators, volumes }
    }

    fn wait_ready(&self) {
        for operator in &self.operators {
            operator.wait_ready(TIMEOUT).unwrap();
        }
    }
}

/// Returns what must not change: the spec of each `HelmRelease` and `HelmChart`, and what Flux has applied.
fn delivered(scenario: &Scenario<'_>) -> Value {
    let items = ["helmreleases", "helmcharts"].into_iter().flat_map(|kind| scenario.list(kind));
    let fields = items.map(|item| {
        let history = item["status"]["history"].as_array().map(Vec::len);
        json!([item["kind"], item["metadata"]["name"], item["metadata"]["generation"], item["spec"], history])
    });
    fields.collect()
}

fn is_fetched(source: &Value) -> bool {
    condition(source, "Ready").0 == "True"
}

#[test]
fn lost_built_in_repository_is_made_again() {
    let scenario = Scenario::shared("builtin");
    let (registry, repository) = (scenario.testbed.registry(), format!("{}/stacks", scenario.namespace));
    push(registry, &repository, V1, Layout::Plain);
    let upstream = format!("--default-upstream=oci://{}/{repository}", registry.address());
    let replicas = Replicas::start(&scenario, &[&upstream, "--default-upstream-insecure"]);
    // As for the Go operator: it has no source.
    scenario.apply_stack(&["v1"], &json!({"source": null}));
    scenario.wait_ready("clusterstack", STACK);
    scenario.create_cluster("a", V1, "one");
    scenario.wait_addons("a");
    let catalog = scenario.get("gitrepository", &format!("{STACK}-catalog")).unwrap();
    let kubeconfig = scenario.management().kubeconfig().to_str().unwrap();
    let access = ["--namespace", &scenario.namespace, "--kubeconfig", kubeconfig];
    let tree = stackflux(&[&["tree"][..], &access].concat()).stdout;
    assert!(tree.contains(crate::text(&catalog, "/spec/url")), "{tree}");

    // Both replicas lose their volumes, and nothing answers at the upstream source: only Flux has the release.
    let before = delivered(&scenario);
    for operator in &replicas.operators {
        operator.process().unwrap().kill().unwrap();
    }
    fs::remove_dir_all(&replicas.volumes).unwrap();
    let name = format!("{STACK}-catalog");
    let asked = json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "lost"}}});
    for source in [&name, V1] {
        scenario.patch("gitrepository", source, &asked);
        scenario
            .wait("gitrepository", source, "not fetched", |source| condition(source, "Ready").0 == "False");
    }
    let nowhere = json!({"upstream": {"url": "oci://127.0.0.1:1/stacks", "insecure": true}});
    scenario.patch("clusterstack", STACK, &json!({"spec": {"source": nowhere}}));
    for operator in &replicas.operators {
        operator.start_again().unwrap();
    }
    for source in [&name, V1] {
        scenario.wait("gitrepository", source, "fetched again", is_fetched);
    }
    replicas.wait_ready();
    scenario.wait("clusterstack", STACK, "upstream is down", |stack| {
        condition(stack, "ReleasesPublished").1 == "UpstreamUnavailable"
    });
    scenario.patch("clusterstack", STACK, &json!({"spec": {"source": null}}));
    scenario.wait_ready("clusterstack", STACK);
    assert_eq!(delivered(&scenario), before, "nothing changes in the clusters");

    // A release is added: Flux gets it from both replicas.
    push(registry, &repository, V2, Layout::Scs);
    scenario.patch("clusterstack", STACK, &json!({"spec": {"versions": ["v1", "v2"]}}));
    scenario.wait_ready("clusterstackrelease", V2);
    eventually("both replicas have the same releases", || {
        let heads = replicas.service.backends().map(|port| {
            let url = format!("http://127.0.0.1:{port}/{}.git", uid(&scenario));
            git(Path::new("/"), &["ls-remote", &url, "refs/heads/main"]).split('\t').next().map(str::to_owned)
        });
        let heads: Vec<_> = heads.collect();
        heads[0].is_some() && heads[0] == heads[1]
    });

    // The move to a repository of the user's own, with the same commits.
    scenario.wait_addons("a");
    let before = delivered(&scenario);
    let to = scenario.url();
    let ejected = stackflux(&[&["eject", STACK, "--to", &to][..], &access].concat());
    assert_eq!(ejected.code, 0, "{}", ejected.stderr);
    scenario.patch(
        "clusterstack",
        STACK,
        &json!({"spec": {"source": {"git": {"url": to, "ref": {"branch": "main"}}}}}),
    );
    scenario.wait("gitrepository", V1, "fetched from there", |source| {
        source["spec"]["url"] == to.as_str() && is_fetched(source)
    });
    scenario.wait_ready("clusterstack", STACK);
    assert_eq!(delivered(&scenario), before, "no addon is upgraded by the move");
}

fn uid(scenario: &Scenario<'_>) -> String {
    crate::text(&scenario.get("clusterstack", STACK).unwrap(), "/metadata/uid").to_owned()
}

/// Makes the directory of a certificate for loopback addresses, and returns it with its authority.
fn certificate(scenario: &Scenario<'_>) -> (PathBuf, String) {
    let (from, to) = (scenario.management().certificates(), scratch("builtin-private-certificate"));
    fs::create_dir_all(&to).unwrap();
    for (file, name) in [("apiserver.crt", "tls.crt"), ("apiserver.key", "tls.key")] {
        fs::copy(from.join(file), to.join(name)).unwrap();
    }
    let authority = fs::read_to_string(to.join("tls.crt")).unwrap();
    (to, authority)
}

fn secret(scenario: &Scenario<'_>, name: &str, entries: &Value) {
    let metadata = json!({"name": name, "namespace": scenario.namespace});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": entries});
    scenario.management().apply(&secret.to_string()).unwrap();
}

#[test]
fn private_releases_are_served_with_a_login() {
    let scenario = Scenario::shared("builtin-private");
    let (registry, repository) =
        (scenario.testbed.protected_registry(), format!("{}/stacks", scenario.namespace));
    push(registry, &repository, V1, Layout::Scs);
    let (directory, authority) = certificate(&scenario);
    let _replicas = Replicas::start(&scenario, &[&format!("--builtin-cert-dir={}", directory.display())]);
    let mut source = super::upstream::source(&scenario, registry, &repository)["source"].clone();
    source.as_object_mut().unwrap().shift_remove("git");
    source["upstream"].as_object_mut().unwrap().shift_remove("commit");
    scenario.apply_stack(&["v1"], &json!({"source": source}));
    let stack = scenario.wait("clusterstack", STACK, "refused without a login", |stack| {
        condition(stack, "ReleasesPublished").1 == "SecretInvalid"
    });
    assert!(condition(&stack, "ReleasesPublished").2.contains("set source.secretRef"), "{stack:#}");
    let login = json!({"username": "flux", "password": "swordfish", "ca.crt": authority});
    secret(&scenario, "stacks", &login);
    scenario.patch("clusterstack", STACK, &json!({"spec": {"source": {"secretRef": {"name": "stacks"}}}}));
    scenario.wait_ready("clusterstackrelease", V1);
    let source = scenario.get("gitrepository", V1).unwrap();
    assert_eq!(source["spec"]["secretRef"], json!({"name": "stacks"}));

    assert!(crate::text(&source, "/spec/url").starts_with("https://"), "{source:#}");

    // Another tenant knows the address and the authority, and not the password.
    secret(&scenario, "authority", &json!({"ca.crt": authority}));
    let mut stolen = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": {"name": "stolen", "namespace": scenario.namespace},
    });
    stolen["spec"] = json!({"url": source["spec"]["url"], "ref": {"branch": "main"}, "interval": "1m", "secretRef": {"name": "authority"}});
    scenario.management().apply(&stolen.to_string()).unwrap();
    let stolen =
        scenario.wait("gitrepository", "stolen", "refused", |found| condition(found, "Ready").0 == "False");
    assert!(condition(&stolen, "Ready").2.contains("authentication required"), "{stolen:#}");

    // The releases stay private, whatever the upstream source is now, and both conditions say why they are not served.
    let open = json!({"upstream": {"secretRef": null}, "secretRef": null});
    scenario.patch("clusterstack", STACK, &json!({"spec": {"source": open}}));
    scenario.wait("clusterstack", STACK, "closed", |stack| {
        let (published, source) = (condition(stack, "ReleasesPublished"), condition(stack, "SourceReady"));
        published.1 == "SecretInvalid"
            && source
                .2
                .contains("does not serve the built-in stack repository now: the releases are, or were")
    });
}
