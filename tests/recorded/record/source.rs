//! The rows of sources; what the other kinds refer to comes of them.

use serde_json::json;

use crate::session::{Result, Session, Sought};

const API: &str = "source.toolkit.fluxcd.io/v1";

pub(crate) fn record(session: &Session) -> Result<()> {
    let (url, commit) = (session.url(), session.commit.as_str());
    let missing = "0123456789abcdef0123456789abcdef01234567";
    let pinned = |commit: &str| json!({"url": url, "interval": "24h", "ref": {"commit": commit}});
    session.apply(API, "GitRepository", "content", &pinned(commit))?;
    session.apply(API, "GitRepository", "gone", &pinned(missing))?;
    session.apply(
        API,
        "GitRepository",
        "branch",
        &json!({"url": url, "interval": "24h", "ref": {"branch": "main"}}),
    )?;
    let chart = |path: &str, source: &str, strategy: &str| {
        json!({"chart": path, "interval": "24h", "reconcileStrategy": strategy,
            "sourceRef": {"kind": "GitRepository", "name": source}})
    };
    session.apply(API, "HelmChart", "addon", &chart("./charts/addon", "content", "Revision"))?;
    session.apply(API, "HelmChart", "class", &chart("./charts/addon", "content", "ChartVersion"))?;
    session.apply(API, "HelmChart", "nowhere", &chart("./charts/nowhere", "content", "Revision"))?;
    session.apply(API, "HelmChart", "sourceless", &chart("./charts/addon", "no-such-source", "Revision"))?;

    let rows: [(&str, &str, &str, &[&str], &str); 8] = [
        ("git-repository-fetched", "GitRepository", "content", &["Ready=True", "Observed"], commit),
        ("git-repository-on-a-branch", "GitRepository", "branch", &["Ready=True", "Observed"], commit),
        ("git-repository-pin-is-gone", "GitRepository", "gone", &["Ready=False"], missing),
        ("helm-chart-half-told", "HelmChart", "addon", &["Ready=True", "!Observed"], commit),
        ("helm-chart-packaged", "HelmChart", "addon", &["Ready=True", "Observed"], commit),
        ("helm-chart-keeps-its-version", "HelmChart", "class", &["Ready=True", "Observed"], commit),
        ("helm-chart-without-directory", "HelmChart", "nowhere", &["Ready=False", "Observed"], commit),
        ("helm-chart-without-source", "HelmChart", "sourceless", &["Ready=False"], commit),
    ];
    for (file, kind, name, shows, version) in rows {
        session.record(file, &Sought { kind, name, shows }, 0, version)?;
    }
    Ok(())
}
