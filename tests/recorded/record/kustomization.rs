//! The rows of `Kustomization`.

use serde_json::{Value, json};

use crate::session::{Result, Session, Sought, with};

const API: &str = "kustomize.toolkit.fluxcd.io/v1";
const KIND: &str = "Kustomization";

pub(crate) fn record(session: &Session) -> Result<()> {
    let version = session.commit.as_str();
    let spec = |path: &str, more: &[(&str, Value)]| {
        let spec = json!({
            "sourceRef": {"kind": "GitRepository", "name": "content"}, "path": format!("./manifests/{path}"),
            "kubeConfig": {"secretRef": {"name": "c1-kubeconfig", "key": "value"}},
            "interval": "10m", "retryInterval": "5s", "timeout": "30s", "prune": true, "wait": true,
        });
        with(spec, more)
    };
    let none = ("sourceRef", json!({"kind": "GitRepository", "name": "no-such-source"}));
    session.apply(API, KIND, "good", &spec("good", &[]))?;
    session.apply(API, KIND, "refused", &spec("refused", &[]))?;
    session.apply(API, KIND, "stuck", &spec("stuck", &[]))?;
    session.apply(API, KIND, "pathless", &spec("nowhere", &[]))?;
    session.apply(API, KIND, "sourceless", &spec("good", &[none]))?;
    session.apply(API, KIND, "dependent", &spec("good", &[("dependsOn", json!([{"name": "nobody"}]))]))?;

    let rows: [(&str, &str, &[&str]); 8] = [
        ("kustomization-ready", "good", &["Ready=True", "!Reconciling", "Observed"]),
        (
            "kustomization-refused-by-the-api",
            "refused",
            &["Ready=False", "Reconciling=True ProgressingWithRetry"],
        ),
        ("kustomization-without-path", "pathless", &["Ready=False"]),
        ("kustomization-without-source", "sourceless", &["Ready=False"]),
        ("kustomization-waits-for-dependency", "dependent", &["Ready=False"]),
        ("kustomization-waits-for-health", "stuck", &["Ready=Unknown", "Healthy=Unknown"]),
        ("kustomization-unhealthy", "stuck", &["Ready=False HealthCheckFailed"]),
        ("kustomization-retries-health", "stuck", &["Ready=Unknown", "Healthy=False"]),
    ];
    for (file, name, shows) in rows {
        session.record(file, &Sought { kind: KIND, name, shows }, 0, version)?;
    }
    let mark = session.mark();
    session.request("kustomization", "good")?;
    let look = ["Ready=Unknown", "Reconciling=True"];
    session.record(
        "kustomization-at-the-interval",
        &Sought { kind: KIND, name: "good", shows: &look },
        mark,
        version,
    )?;
    session.patch("kustomization", "good", &json!({"spec": {"suspend": true}}))?;
    session.record(
        "kustomization-suspended",
        &Sought { kind: KIND, name: "good", shows: &["Suspended"] },
        mark,
        version,
    )?;
    session.delete("kustomization", "stuck")?;
    session.record(
        "kustomization-terminating",
        &Sought { kind: KIND, name: "stuck", shows: &["Terminating"] },
        mark,
        version,
    )
}
