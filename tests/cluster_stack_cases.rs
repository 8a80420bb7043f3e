//! Every `ClusterStack` that is admitted, or refused with a reason: what the offline rules and a real API
//! server have to agree on.

#[path = "cluster_stack_cases/components.rs"]
mod components;
#[path = "cluster_stack_cases/delivery.rs"]
mod delivery;
#[path = "cluster_stack_cases/flux.rs"]
mod flux;

use serde_json::{Value, json};

/// Why a `ClusterStack` is refused.
pub(crate) enum Refused {
    /// It is not.
    Not,
    /// By a rule: the field that it is at, and a part of its message.
    Rule(&'static str, &'static str),
    /// By the schema: an unknown field, a wrong type, an unknown word.
    Schema,
}

/// A good `ClusterStack` with a change.
pub(crate) struct Case {
    /// The change, as a JSON merge patch of the spec of [`cluster_stack`].
    pub(crate) change: Value,
    /// What comes of it.
    pub(crate) refused: Refused,
}

/// A `ClusterStack` with every field that has one value at a time, each good.
pub(crate) fn cluster_stack(name: &str, namespace: &str, change: &Value) -> Value {
    let mut stack = json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1",
        "kind": "ClusterStack",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "provider": "openstack",
            "name": "scs2",
            "kubernetesVersion": "1.34",
            "channel": "stable",
            "versions": ["v1", "v20"],
            "autoSubscribe": true,
            "noProvider": false,
            "providerRef": {
                "apiVersion": "infrastructure.clusterstack.x-k8s.io/v1alpha1",
                "kind": "OpenStackClusterStackReleaseTemplate",
                "name": "template",
            },
            "source": {"git": {
                "url": "https://git.example.com/stacks.git",
                "ref": {"branch": "main"},
                "path": "./releases/openstack",
                "interval": "1m30s",
                "secretRef": {"name": "git-credentials"},
                "verify": {"mode": "TagAndHEAD", "secretRef": {"name": "authors.keys"}},
                "provider": "generic",
                "proxySecretRef": {"name": "proxy"},
            }, "upstream": {
                "url": "oci://registry.example.com/kaas/cluster-stacks",
                "interval": "30m",
                "secretRef": {"name": "registry"},
                "certSecretRef": {"name": "registry-ca"},
                "insecure": true,
                "verify": {"provider": "cosign", "secretRef": {"name": "cosign.keys"}},
                "pushSecretRef": {"name": "git-push"},
                "commit": {"author": {"name": "Release bot", "email": "bot@example.com"},
                           "signingKey": {"secretRef": {"name": "signing"}}},
            }},
            "delivery": {"mode": "Git", "git": {
                "url": "https://git.example.com/fleet.git",
                "branch": "main",
                "path": "clusters/prod",
                "secretRef": {"name": "git-push"},
                "commit": {"author": {"name": "stackflux", "email": "stackflux@example.com"},
                           "signingKey": {"secretRef": {"name": "signing"}}},
                "pullRequest": {"forge": "gitea", "api": "https://git.example.com/api/v1",
                                "secretRef": {"name": "forge"}},
            }},
            "flux": {
                "kubeConfig": {"secretName": "flux-{cluster}.config", "key": "kube_config.yaml"},
                "sources": "PerNamespace",
                "serviceAccountName": "deployer",
                "interval": "1h",
                "timeout": "2.5m",
                "preset": "stateless",
                "addons": flux::addons(),
                "adopt": true,
                "waits": "Ignore",
            },
            "suspend": true,
            "revisionHistoryLimit": 1000,
        },
    });
    merge(&mut stack["spec"], change);
    stack
}

/// RFC 7386.
pub(crate) fn merge(value: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = json!({});
    }
    let fields = value.as_object_mut().unwrap();
    for (key, change) in changes {
        if change.is_null() {
            fields.shift_remove(key);
        } else {
            merge(fields.entry(key.clone()).or_insert(Value::Null), change);
        }
    }
}

/// All cases.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = admitted();
    cases.extend(components::admitted());
    cases.extend(components::refused_by_rules());
    cases.extend(refused_by_rules_of_the_stack());
    cases.extend(refused_by_rules_of_the_source());
    cases.extend(flux::refused_by_rules());
    cases.extend(delivery::refused_by_rules());
    cases.extend(refused_by_the_schema());
    cases
}

fn admitted() -> Vec<Case> {
    let reference = json!({"source": {
        "git": null,
        "upstream": null,
        "gitRepositoryRef": {"name": "stacks.all", "namespace": "flux-system"},
        "path": "releases",
    }});
    let changes = vec![
        json!({}),
        reference,
        json!({"source": {"git": null, "upstream": null, "gitRepositoryRef": {"name": "stacks"}}}),
        json!({"source": null, "flux": null, "versions": null, "channel": null, "revisionHistoryLimit": null}),
        json!({"source": {"git": {"ref": null, "path": null, "interval": null, "verify": {"mode": null}}}}),
        json!({"source": {"git": {"url": "ssh://git@git.example.com:22/stacks", "path": "a..b/..c"}}}),
        json!({"source": {"git": {"ref": {"branch": null}}}}),
        json!({"source": {"git": {"ref": {"branch": null, "semver": ">=1.0.0"}}, "upstream": null}}),
        json!({"source": {"upstream": {"url": "github://SovereignCloudStack/cluster-stacks", "interval": null, "verify": {"provider": null}, "commit": null}}}),
        json!({"source": {"upstream": {"url": "oci://[::1]:5000/kaas/cluster-stacks"}}}),
        json!({"source": {"git": null, "upstream": {"pushSecretRef": null, "commit": null}}}),
        json!({"source": {"git": null, "upstream": {"pushSecretRef": null, "commit": {"signingKey": null}}}}),
        json!({"source": {
            "git": null, "upstream": {"pushSecretRef": null, "commit": null}, "secretRef": {"name": "stacks"},
        }}),
        json!({"delivery": null}),
        json!({"delivery": {"mode": "Cluster"}}),
        json!({"delivery": {"mode": null, "git": null}}),
        json!({"delivery": {"git": {"branch": null, "path": ".", "secretRef": null, "commit": {"author": {"email": null}}, "pullRequest": null}}}),
        json!({"noProvider": true, "providerRef": null}),
        json!({"noProvider": true}),
        json!({"versions": [], "revisionHistoryLimit": 0}),
        json!({"channel": "beta", "versions": ["v0-beta.1", "v12-beta.rwvgrna"]}),
        json!({"channel": "custom", "versions": ["v3-custom.0"]}),
        json!({"channel": "custom", "versions": ["v0-sha.rwvgrna", "v0-beta.1", "v12-ttl.1h"]}),
        json!({"channel": "custom", "versions": ["v0-stables.1"]}),
        json!({"kubernetesVersion": "1.9"}),
        json!({"provider": "a".repeat(63), "name": "0"}),
        json!({"flux": {"interval": "99999h", "kubeConfig": {"secretName": "{cluster}"}}}),
    ];
    let changes = changes.into_iter().chain(flux::admitted());
    changes.map(|change| Case { change, refused: Refused::Not }).collect()
}

fn rules(field: &'static str, message: &'static str, changes: Vec<Value>) -> Vec<Case> {
    let case = |change| Case { change, refused: Refused::Rule(field, message) };
    changes.into_iter().map(case).collect()
}

fn refused_by_rules_of_the_stack() -> Vec<Case> {
    [
        rules(
            "spec.provider",
            "provider must be a lower-case word",
            vec![
                json!({"provider": "open-stack"}),
                json!({"provider": ""}),
                json!({"provider": "OpenStack"}),
            ],
        ),
        rules(
            "spec.name",
            "name must be a lower-case word",
            vec![json!({"name": "scs-2"}), json!({"name": "scs 2"})],
        ),
        rules(
            "spec.kubernetesVersion",
            "kubernetesVersion must be <major>.<minor>",
            ["1", "v1.34", "1.34.2", "1.034", "1.", "1,34"]
                .map(|text| json!({"kubernetesVersion": text}))
                .into(),
        ),
        rules(
            "spec.channel",
            "channel must be a lower-case word",
            vec![json!({"channel": "Beta", "versions": []})],
        ),
        rules(
            "spec.versions",
            "a version must be v<number>",
            ["2", "v", "v02", "v1.0", "V1", "v1 ", "v1234567890123456789"]
                .map(|text| json!({"versions": ["v1", text]}))
                .into(),
        ),
        rules(
            "spec.versions",
            "a version must be v<number>",
            ["v0-beta", "v0-beta-1", "v0-beta.", "v0-beta.1.2", "v0-beta.a-b"]
                .map(|text| json!({"channel": "beta", "versions": [text]}))
                .into(),
        ),
        rules(
            "spec.versions",
            "a version must be v<number>",
            [
                "v0-sha.a.b",
                "v0-sha-rwvgrna",
                "v0-git-a.b",
                "v0-sha.a-b",
                "v0-SHA.a",
                "v0-sha.A",
                "v0-.a",
                "v0-sha.",
            ]
            .map(|text| json!({"channel": "custom", "versions": [text]}))
            .into(),
        ),
        rules(
            "spec",
            "versions must belong to the channel",
            vec![
                json!({"versions": ["v1", "v0-beta.1"]}),
                json!({"channel": "beta", "versions": ["v1"]}),
                json!({"channel": "beta", "versions": ["v0-alpha.1"]}),
                json!({"channel": null, "versions": ["v0-stable.1"]}),
                json!({"channel": "custom", "versions": ["v1"]}),
                json!({"channel": "custom", "versions": ["v0-sha.a", "v0-stable.1"]}),
            ],
        ),
        rules(
            "spec",
            "providerRef is required unless noProvider is true",
            vec![json!({"providerRef": null}), json!({"providerRef": null, "noProvider": null})],
        ),
        rules(
            "spec.revisionHistoryLimit",
            "between 0 and 1000",
            vec![json!({"revisionHistoryLimit": 1001}), json!({"revisionHistoryLimit": 4_000_000_000_u32})],
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn refused_by_rules_of_the_source() -> Vec<Case> {
    let git = |change: Value| json!({"source": {"git": change}});
    let reference =
        |change: Value| json!({"source": {"git": null, "upstream": null, "gitRepositoryRef": change}});
    let reference_with_path = json!({"source": {
        "git": null, "upstream": null, "gitRepositoryRef": {"name": "stacks"}, "path": "a/..",
    }});
    let name = "the name of an object";
    [
        rules(
            "spec.source",
            "source.upstream excludes source.gitRepositoryRef",
            vec![
                json!({"source": {"git": null, "gitRepositoryRef": {"name": "stacks"}}}),
                git(json!({"ref": {"branch": null, "tag": "v1"}})),
            ],
        ),
        rules(
            "spec.source",
            "source must have either git or gitRepositoryRef",
            vec![
                json!({"source": {"git": null, "upstream": null}}),
                json!({"source": {"gitRepositoryRef": {"name": "stacks"}}}),
            ],
        ),
        rules(
            "spec.source",
            "source.upstream.pushSecretRef and source.upstream.commit.signingKey require source.git",
            vec![
                json!({"source": {"git": null, "upstream": {"commit": null}}}),
                json!({"source": {"git": null, "upstream": {"pushSecretRef": null}}}),
            ],
        ),
        rules(
            "spec.source",
            "source.secretRef is for the stack repository that the operator serves",
            vec![json!({"source": {"secretRef": {"name": "stacks"}}})],
        ),
        rules("spec.source", "source.path requires", vec![json!({"source": {"path": "releases"}})]),
        rules("spec.source.path", "a path must be relative", vec![reference_with_path]),
        rules(
            "spec.source.git.path",
            "a path must be relative",
            ["/releases", "..", "../releases", "a/../../b", ""].map(|path| git(json!({"path": path}))).into(),
        ),
        rules(
            "spec.source.git.url",
            "url must begin with",
            ["git.example.com:stacks.git", "file:///stacks", "https://", "HTTPS://git.example.com", ""]
                .map(|url| git(json!({"url": url})))
                .into(),
        ),
        rules(
            "spec.source.git.url",
            "url must not contain credentials",
            [
                "https://u:pw@git.example.com/stacks.git",
                "https://token@git.example.com/stacks.git",
                "https://u:p/w@git.example.com/stacks.git",
                "ssh://git:pw@git.example.com/stacks",
            ]
            .map(|url| git(json!({"url": url})))
            .into(),
        ),
        rules(
            "spec.source.git.ref",
            "ref must have at most one of",
            ["tag", "commit", "semver", "name"].map(|field| git(json!({"ref": {field: "v1"}}))).into(),
        ),
        rules("spec.source.git.secretRef.name", name, vec![git(json!({"secretRef": {"name": "Upper"}}))]),
        rules(
            "spec.source.git.proxySecretRef.name",
            name,
            vec![git(json!({"proxySecretRef": {"name": "a..b"}}))],
        ),
        rules(
            "spec.source.git.verify.secretRef.name",
            name,
            vec![git(json!({"verify": {"secretRef": {"name": "-a"}}}))],
        ),
        rules(
            "spec.source.secretRef.name",
            name,
            vec![json!({"source": {
                "git": null, "upstream": {"pushSecretRef": null, "commit": null}, "secretRef": {"name": "a_b"},
            }})],
        ),
        rules(
            "spec.source.gitRepositoryRef.name",
            name,
            vec![reference(json!({"name": ""})), reference(json!({"name": "a".repeat(64)}))],
        ),
        rules(
            "spec.source.gitRepositoryRef.namespace",
            "a namespace must consist of",
            vec![reference(json!({"name": "stacks", "namespace": "flux.system"}))],
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn refused_by_the_schema() -> Vec<Case> {
    let changes = vec![
        json!({"provider": null}),
        json!({"provider": "a".repeat(64)}),
        json!({"kubernetesVersion": 1.34}),
        json!({"kubernetesVersion": 1}),
        json!({"versions": "v1"}),
        json!({"versions": (0..257).map(|number| format!("v{number}")).collect::<Vec<_>>()}),
        json!({"noProvider": "yes"}),
        json!({"noProviders": true}),
        json!({"providerRef": {"names": "template"}}),
        json!({"revisionHistoryLimit": "two"}),
        json!({"revisionHistoryLimit": -1}),
        json!({"source": {"git": {"url": null}}}),
        json!({"source": {"git": {"ref": {"branches": "main"}}}}),
        json!({"source": {"git": {"verify": {"mode": "Head"}}}}),
        json!({"source": {"git": {"verify": {"secretRef": null}}}}),
        json!({"source": {"git": {"provider": "gitlab"}}}),
        json!({"source": {"git": {"path": "a".repeat(257)}}}),
        json!({"source": {"upstream": {"url": null}}}),
        json!({"source": {"upstream": {"verify": {"provider": "notation"}}}}),
        json!({"delivery": {"mode": "git"}}),
        json!({"delivery": {"git": {"path": null}}}),
        json!({"delivery": {"git": {"pullRequest": {"forge": "bitbucket"}}}}),
        json!({"flux": {"sources": "shared"}}),
        json!({"flux": {"preset": "hard"}}),
        json!({"flux": {"interval": "10"}}),
        json!({"flux": {"interval": 10}}),
        json!({"flux": {"timeout": "0s"}}),
        json!({"flux": {"timeout": "1d"}}),
        json!({"flux": {"timeout": "100000h"}}),
        json!({"flux": {"addons": ["cni"]}}),
        json!({"flux": {"addons": {"cni": {"driftDetection": "off"}}}}),
        json!({"flux": {"addons": {"cni": {"driftDetection": {"mode": "warn"}}}}}),
        json!({"flux": {"addons": {"cni": {"after": ["ccm"]}}}}),
        json!({"flux": {"addons": {"cni": {"values": ["a"]}}}}),
        json!({"flux": {"addons": {"cni": {"valuesFrom": [{"kind": "Secret"}]}}}}),
        json!({"flux": {"addons": {"cni": {"valuesFrom": [{"kind": "Deployment", "name": "a"}]}}}}),
        json!({"flux": {"addons": {"cni": {"postRenderers": [{}]}}}}),
        json!({"flux": {"addons": {"cni": {"postRenderers": [{"kustomize": {"patches": [{}]}}]}}}}),
        json!({"flux": {"addons": {"cni": {"postRenderers": vec![json!({"kustomize": {}}); 9]}}}}),
        json!({"flux": {"addons": {"cni": {"decryption": {"provider": "age"}}}}}),
    ];
    changes.into_iter().map(|change| Case { change, refused: Refused::Schema }).collect()
}
