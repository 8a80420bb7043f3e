//! The rows of OCI repositories, with a chart in the registry of the testbed.

use serde_json::json;
use stackflux::release::Digest;

use crate::push::{MANIFEST, Pusher};
use crate::session::{Result, Session, Sought};

const API: &str = "source.toolkit.fluxcd.io/v1";
const LAYER: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

pub(crate) fn record(session: &Session) -> Result<()> {
    let found = push(session)?.to_string();
    let missing = Digest::of_bytes(b"no manifest").to_string();
    let of = |registry: &str, repository: &str| format!("oci://{registry}/{repository}");
    let (open, protected) = (session.registry(), session.protected_registry());
    let spec = |url: String, reference: serde_json::Value| {
        json!({"url": url, "interval": "24h", "ref": reference, "insecure": true,
            "layerSelector": {"mediaType": LAYER, "operation": "copy"}})
    };
    let unverified = json!({"url": of(open, "recorded/probe"), "interval": "24h", "insecure": true,
        "ref": {"digest": found}, "verify": {"provider": "cosign", "secretRef": {"name": "keys"}}});
    session.add_secret("keys", &json!({"key.pub": include_str!("../../signatures/p256.pub")}))?;
    for (name, spec) in [
        ("exact", spec(of(open, "recorded/probe"), json!({"digest": found}))),
        ("range", spec(of(open, "recorded/probe"), json!({"semver": "1.x"}))),
        ("absent", spec(of(open, "recorded/nowhere"), json!({"tag": "1.2.3"}))),
        ("changed", spec(of(open, "recorded/probe"), json!({"digest": missing}))),
        ("private", spec(of(protected, "recorded/probe"), json!({"tag": "1.2.3"}))),
        ("beyond", spec(of(open, "recorded/probe"), json!({"semver": "9.x"}))),
        ("unsigned", unverified),
    ] {
        session.apply(API, "OCIRepository", name, &spec)?;
    }
    let rows: [(&str, &str, &[&str], &str); 7] = [
        ("oci-repository-fetched", "exact", &["Ready=True", "Observed"], &found),
        ("oci-repository-in-a-range", "range", &["Ready=True", "Observed"], &found),
        ("oci-repository-not-found", "absent", &["Ready=False"], &found),
        ("oci-repository-digest-is-gone", "changed", &["Ready=False"], &missing),
        ("oci-repository-unauthorized", "private", &["Ready=False"], &found),
        ("oci-repository-range-without-tag", "beyond", &["Ready=False"], &found),
        ("oci-repository-not-signed", "unsigned", &["Ready=False"], &found),
    ];
    for (file, name, shows, version) in rows {
        session.record(file, &Sought { kind: "OCIRepository", name, shows }, 0, version)?;
    }
    Ok(())
}

/// Pushes an artifact with the layer of a chart as `recorded/probe:1.2.3`, and returns the digest of its manifest.
fn push(session: &Session) -> Result<Digest> {
    let (chart, config) = (b"no archive", br#"{"name":"probe","version":"1.2.3"}"#);
    let described = |media_type: &str, content: &[u8]| json!({"mediaType": media_type, "digest": Digest::of_bytes(content).to_string(), "size": content.len()});
    let manifest = json!({
        "schemaVersion": 2, "mediaType": MANIFEST,
        "config": described("application/vnd.cncf.helm.config.v1+json", config),
        "layers": [described(LAYER, chart)],
    });
    let pusher = Pusher::new(session.registry(), None);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(async {
        pusher.blob("recorded/probe", chart).await;
        pusher.blob("recorded/probe", config).await;
        pusher.document("recorded/probe", "1.2.3", MANIFEST, manifest.to_string().as_bytes()).await
    }))
}
