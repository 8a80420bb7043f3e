//! The rows of `HelmRelease`.

use serde_json::{Value, json};

use crate::session::{Result, Session, Sought, with};

const API: &str = "helm.toolkit.fluxcd.io/v2";
const KIND: &str = "HelmRelease";

pub(crate) fn record(session: &Session) -> Result<()> {
    let chart = Sought { kind: "HelmChart", name: "addon", shows: &["Ready=True", "Observed"] };
    let chart = session.wait(&chart, 0)?;
    let version = chart
        .pointer("/status/artifact/revision")
        .and_then(Value::as_str)
        .ok_or("the chart has no version")?;
    let releases = Releases { session, version };
    releases.apply_all()?;
    releases.installing_and_waiting()?;
    releases.failing_to_upgrade()?;
    releases.looked_at()?;
    releases.drifted()?;
    releases.touched_by_people()
}

struct Releases<'a> {
    session: &'a Session,
    version: &'a str,
}

impl Releases<'_> {
    /// What stackflux writes (04-flux), with short times, and with these fields instead.
    fn spec(name: &str, more: &[(&str, Value)]) -> Value {
        let spec = json!({
            "chartRef": {"kind": "HelmChart", "name": "addon"},
            "kubeConfig": {"secretRef": {"name": "c1-kubeconfig", "key": "value"}},
            "releaseName": name, "targetNamespace": "kube-system", "storageNamespace": "kube-system",
            "interval": "10m", "timeout": "1m", "maxHistory": 3,
            "install": {"strategy": {"name": "RetryOnFailure", "retryInterval": "5s"}},
            "upgrade": {"timeout": "5s", "cleanupOnFail": true, "remediation": {"retries": 1, "strategy": "rollback", "remediateLastFailure": true}},
            "driftDetection": {"mode": "enabled"},
            "values": {"colour": "blue"},
        });
        with(spec, more)
    }

    fn apply(&self, name: &str, more: &[(&str, Value)]) -> Result<()> {
        self.session.apply(API, KIND, name, &Self::spec(name, more))
    }

    fn row(&self, file: &str, name: &str, shows: &[&str], mark: usize) -> Result<()> {
        self.session.record(file, &Sought { kind: KIND, name, shows }, mark, self.version)
    }

    fn apply_all(&self) -> Result<()> {
        let stuck = || ("values", json!({"stuck": true}));
        let install = json!({"timeout": "5s", "strategy": {"name": "RetryOnFailure", "retryInterval": "5s"}});
        let chart = |name: &str| ("chartRef", json!({"kind": "HelmChart", "name": name}));
        self.apply("good", &[])?;
        self.apply("reported", &[("driftDetection", json!({"mode": "warn"}))])?;
        self.apply("stuck", &[stuck(), ("install", install)])?;
        self.apply(
            "given-up",
            &[stuck(), ("install", json!({"timeout": "5s", "remediation": {"retries": 0}}))],
        )?;
        self.apply("dependent", &[("dependsOn", json!([{"name": "nobody"}]))])?;
        self.apply("chartless", &[chart("no-such-chart")])?;
        self.apply("unpackaged", &[chart("nowhere")])?;
        self.apply("valueless", &[("valuesFrom", json!([{"kind": "Secret", "name": "no-such-secret"}]))])?;
        self.session.add_dead_cluster("dead")?;
        self.apply("unreachable", &[("kubeConfig", json!({"secretRef": {"name": "dead-kubeconfig"}}))])?;
        self.apply("keyless", &[("kubeConfig", json!({"secretRef": {"name": "no-such-secret"}}))])
    }

    fn installing_and_waiting(&self) -> Result<()> {
        let rows: [(&str, &str, &[&str]); 14] = [
            ("helm-release-pending", "good", &["!Ready"]),
            (
                "helm-release-install-half-told",
                "good",
                &["Ready=Unknown Progressing: Running 'install'", "!Attempted"],
            ),
            (
                "helm-release-installing",
                "good",
                &["Ready=Unknown Progressing: Running 'install'", "Attempted"],
            ),
            ("helm-release-ready", "good", &["Ready=True", "!Reconciling", "Observed"]),
            ("helm-release-waits-for-dependency", "dependent", &["Ready=False"]),
            ("helm-release-without-chart", "chartless", &["Ready=False"]),
            ("helm-release-chart-not-packaged", "unpackaged", &["Ready=False"]),
            ("helm-release-without-values", "valueless", &["Ready=False"]),
            ("helm-release-without-kubeconfig", "keyless", &["Ready=False"]),
            ("helm-release-unreachable", "unreachable", &["Ready=False"]),
            ("helm-release-retrying", "stuck", &["Ready=False", "Reconciling=True ProgressingWithRetry"]),
            (
                "helm-release-retry-begins",
                "stuck",
                &["Ready=False InstallFailed", "Reconciling=True Progressing:"],
            ),
            (
                "helm-release-retry-runs",
                "stuck",
                &["Ready=Unknown", "Released=False", "Reconciling=True Progressing:"],
            ),
            ("helm-release-install-given-up", "given-up", &["Ready=False", "Stalled=True"]),
        ];
        rows.into_iter().try_for_each(|(file, name, shows)| self.row(file, name, shows, 0))
    }

    fn failing_to_upgrade(&self) -> Result<()> {
        let mark = self.session.mark();
        self.apply("good", &[("values", json!({"colour": "blue", "stuck": true}))])?;
        let rows: [(&str, &[&str]); 5] = [
            // The first change is ours: Flux has not looked yet, and what it said before still stands there.
            ("helm-release-changed", &["Ready=True"]),
            ("helm-release-upgrading", &["Ready=Unknown Progressing: Running 'upgrade'", "Attempted"]),
            ("helm-release-upgrade-failed", &["Ready=False UpgradeFailed", "Reconciling=True"]),
            (
                "helm-release-rolled-back",
                &["Remediated=True RollbackSucceeded", "Reconciling=True ProgressingWithRetry"],
            ),
            (
                "helm-release-rolled-back-for-good",
                &["Remediated=True RollbackSucceeded", "Stalled=True", "Observed"],
            ),
        ];
        for (file, shows) in rows {
            self.row(file, "good", shows, mark)?;
        }
        let mark = self.session.mark();
        self.apply("good", &[("values", json!({"colour": "green"}))])?;
        self.row("helm-release-changed-after-stall", "good", &["Stalled=True"], mark)?;
        self.row("helm-release-upgraded", "good", &["Ready=True", "!Reconciling", "Observed"], mark)
    }

    fn looked_at(&self) -> Result<()> {
        let mark = self.session.mark();
        self.session.request("helmrelease", "good")?;
        self.row("helm-release-at-the-interval", "good", &["Ready=True", "Reconciling=True"], mark)
    }

    fn drifted(&self) -> Result<()> {
        let drift = r#"{"data": {"colour": "red"}}"#;
        for name in ["good", "reported"] {
            let ready = Sought { kind: KIND, name, shows: &["Ready=True", "!Reconciling", "Observed"] };
            self.session.wait(&ready, 0)?;
            self.session.workload()?.kubectl(&[
                "patch",
                "configmap",
                name,
                "-n",
                "kube-system",
                "--type=merge",
                "-p",
                drift,
            ])?;
            self.session.request("helmrelease", name)?;
        }
        self.row("helm-release-drift-repaired", "good", &["Drifted=True"], 0)?;
        self.row("helm-release-drift-reported", "reported", &["Drifted=True", "!Reconciling"], 0)
    }

    fn touched_by_people(&self) -> Result<()> {
        let mark = self.session.mark();
        let written = Self::spec("good", &[("values", json!({"colour": "green"}))]);
        let foreign = json!({"spec": {"values": {"added": "by somebody"}}});
        self.session.patch("helmrelease", "good", &foreign)?;
        let sought = Sought { kind: KIND, name: "good", shows: &["Ready=True", "!Reconciling", "Observed"] };
        self.session.record_foreign("helm-release-edited", &sought, mark, self.version, &written)?;
        self.session.patch("helmrelease", "good", &json!({"spec": {"suspend": true}}))?;
        self.row("helm-release-suspended", "good", &["Suspended"], mark)?;
        self.session.delete("helmrelease", "reported")?;
        self.row("helm-release-terminating", "reported", &["Terminating"], mark)
    }
}
