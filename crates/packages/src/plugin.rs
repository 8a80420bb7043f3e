//! The manifest of the plugin `flux stackflux`, for a catalog of plugins of the Flux CLI
//! ([`cli.fluxcd.io/v1beta1`](https://pkg.go.dev/github.com/fluxcd/flux2/v2/pkg/plugin)).

use serde_json::{Value, json};

/// The name of the archive of a version for Linux on amd64.
pub(crate) fn archive_name(version: &str) -> String {
    format!("stackflux_{version}_linux_amd64.tar.gz")
}

/// Returns the manifest of a version. Flux takes only a plugin whose program has a name that begins with `flux-`: it installs
/// the one in the archive under that name.
///
/// `digest` is the SHA-256 digest of the archive, which is offered below `url`.
pub(crate) fn manifest(version: &str, digest: &str, url: &str) -> Value {
    let url = format!("{}/{}", url.trim_end_matches('/'), archive_name(version));
    let platform = json!({
        "os": "linux", "arch": "amd64", "url": url, "checksum": format!("sha256:{digest}"), "extractPath": "stackflux",
    });
    json!({
        "apiVersion": "cli.fluxcd.io/v1beta1", "kind": "Plugin", "name": "stackflux",
        "description": "Cluster stack releases as Flux objects for every Cluster API cluster",
        "bin": "flux-stackflux",
        "versions": [{"version": version, "platforms": [platform]}],
    })
}
