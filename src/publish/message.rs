//! Message of a commit that publishes a release: its content, and the origin of every byte.

use std::path::Path;

use super::Prepared;
use crate::git::Message;
use crate::release::finding::Printable;
use crate::release::{Addon, Chart, Release};
use crate::source::address::Address;

pub use crate::promote::trailers::{CONTENT_DIGEST, SOURCE, VERSION};

/// Trailer: digest or commit of the content at its source.
pub const SOURCE_DIGEST: &str = "Stackflux-Source-Digest";
/// Trailer: the verified signature, and its key.
pub const VERIFIED: &str = "Stackflux-Verified";
/// Trailer: a fetched chart, with its name, version, archive digest and URL; or a component, with its name and origin.
pub const VENDORED: &str = "Stackflux-Vendored";

/// Returns the message for a release. The same release from the same source has the same message.
#[must_use]
pub fn message(prepared: &Prepared) -> Message {
    let (release, provenance) = (&prepared.release, &prepared.provenance);
    let mut message = Message::new(format!("Publish {}", release.name));
    message.body = body(prepared);
    message = message.trailer(SOURCE, &public(&provenance.source, release));
    if let Some(digest) = &provenance.digest {
        message = message.trailer(SOURCE_DIGEST, digest);
    }
    message = message.trailer(CONTENT_DIGEST, &release.digest.to_string());
    if let Some(verified) = &provenance.verified {
        message = message.trailer(VERIFIED, verified);
    }
    for chart in &prepared.vendored {
        let vendored =
            format!("{} {} {} from {}", chart.missing.name, chart.version, chart.digest, chart.url);
        message = message.trailer(VENDORED, &vendored);
    }
    for component in &prepared.components {
        message = message.trailer(VENDORED, &format!("{} from {}", component.name, component.from));
    }
    message.trailer(VERSION, env!("CARGO_PKG_VERSION"))
}

/// Returns the source of a release for the public history. A path on the publisher's machine is reduced to its last part:
/// the rest reveals something about the publisher, and is of no use to others.
fn public(source: &str, release: &Release) -> String {
    let name_of = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    match source.parse() {
        Ok(Address::Path(path)) => name_of(&path).unwrap_or_else(|| release.name.to_string()),
        Ok(Address::Git(mut address)) => {
            let path = address.url.strip_prefix("file://").map(Path::new);
            if let Some(name) = path.and_then(name_of) {
                address.url = format!("file://.../{name}");
            }
            address.to_string()
        }
        _ => source.to_owned(),
    }
}

fn body(prepared: &Prepared) -> String {
    let release = &prepared.release;
    let class = &release.cluster_class;
    let mut lines =
        vec![format!("Kubernetes {}, cluster class {} {}", release.kubernetes, class.name, class.version)];
    lines.extend(release.addons.iter().map(|addon| format!("- {}: {}", addon.name, contents(addon))));
    // Names and versions are free text of a chart: each must stay on its line.
    let lines = lines.iter().map(|line| Printable(line).to_string());
    lines.collect::<Vec<_>>().join("\n")
}

/// Lists the charts of an addon: the charts that it wraps, or otherwise its own.
fn contents(addon: &Addon) -> String {
    let Some(chart) = addon.chart() else { return "manifests".to_owned() };
    let Chart { name, version, dependencies, .. } = chart;
    let wrapped = dependencies.iter().map(|wrapped| {
        let version = wrapped.vendored.as_ref().unwrap_or(&wrapped.version);
        format!("{} {version}", wrapped.name)
    });
    let wrapped: Vec<String> = wrapped.collect();
    if wrapped.is_empty() { format!("{name} {version}") } else { wrapped.join(", ") }
}

#[cfg(test)]
mod tests {
    use crate::git::Message;
    use crate::publish::tests::{prepared, vendored};

    #[test]
    fn commit_message_names_release_and_origin() {
        let mut prepared = prepared("openstack-demo-1-34-v2");
        prepared.vendored = vec![vendored(&prepared, "1.2.3", b"archive")];
        let text = super::message(&prepared).to_string();
        let version = env!("CARGO_PKG_VERSION");
        let archive = crate::release::Digest::of_bytes(b"archive");
        let digest = prepared.release.digest;
        assert_eq!(
            text,
            format!(
                "Publish openstack-demo-1-34-v2

Kubernetes v1.34.2, cluster class class v2
- cni: cilium ~1.2
- policies: manifests

Stackflux-Source: oci://host/stacks:openstack-demo-1-34-v2@sha256:ab
Stackflux-Source-Digest: sha256:ab
Stackflux-Content-Digest: {digest}
Stackflux-Vendored: cilium 1.2.3 {archive} from https://charts/cilium-1.2.3.tgz
Stackflux-Version: {version}
"
            )
        );
    }

    #[test]
    fn chart_name_cannot_add_a_trailer() {
        let mut prepared = prepared("openstack-demo-1-34-v2");
        prepared.release.cluster_class.name = "class\n\nStackflux-Verified: me".to_owned();
        prepared.provenance.source = "oci://host/x\nStackflux-Verified: me".to_owned();
        let parsed = Message::parse(&super::message(&prepared).to_string());
        assert_eq!(parsed.value(super::VERIFIED), None);
        assert_eq!(parsed.value(super::SOURCE), Some("oci://host/x Stackflux-Verified: me"));
    }

    #[test]
    fn path_of_the_publisher_is_left_out() {
        let name = "openstack-demo-1-34-v2";
        let mut prepared = prepared(name);
        for (source, expected) in [
            ("/home/ann/stacks/releases/openstack-demo-1-34-v2", name),
            ("../stacks/openstack-demo-1-34-v2.tgz", "openstack-demo-1-34-v2.tgz"),
            (".", name),
            (
                "git+file:///home/ann/stacks.git//releases?ref=main",
                "git+file://.../stacks.git//releases?ref=main",
            ),
            ("git+https://host/stacks.git//releases", "git+https://host/stacks.git//releases"),
            ("github://org/stacks@openstack-demo-1-34-v2", "github://org/stacks@openstack-demo-1-34-v2"),
        ] {
            prepared.provenance.source = source.to_owned();
            let parsed = Message::parse(&super::message(&prepared).to_string());
            assert_eq!(parsed.value(super::SOURCE), Some(expected), "{source}");
        }
    }
}
