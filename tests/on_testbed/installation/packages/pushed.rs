//! The packages in a registry, signed as cosign does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use stackflux::release::Digest;
use stackflux_testbed::Registry;

use super::super::repository;
use crate::push::{MANIFEST, Pusher};
use crate::support::scratch;

const VERSION: &str = env!("CARGO_PKG_VERSION");
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const SIGNATURE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

/// The packages, below a prefix of their own.
pub(super) struct Pushed {
    prefix: String,
    directory: PathBuf,
}

impl Pushed {
    /// Makes and pushes the packages under the paths of the files in `flux/`, and signs them; another chart stays unsigned.
    pub(super) fn new(registry: &Registry, name: &str) -> Self {
        let directory = scratch(name);
        run(
            &directory,
            &["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "key"],
        );
        run(&directory, &["openssl", "pkey", "-in", "key", "-pubout", "-out", "cosign.pub"]);
        let own = Self { prefix: format!("{}/{name}", registry.address()), directory };
        let pusher = Pusher::new(registry.address(), None);
        let (chart, manifests) = own.packages();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let repository = format!("{name}/stackflux-manifests");
            let digest = pusher.artifact(&repository, VERSION, &manifests).await;
            own.sign(&pusher, &repository, &digest).await;
            let repository = format!("{name}/charts/stackflux");
            let digest = pusher.chart(&repository, ("stackflux", VERSION), &chart).await;
            own.sign(&pusher, &repository, &digest).await;
            pusher.chart(&format!("{name}/unsigned/stackflux"), ("stackflux", VERSION), &chart).await;
        });
        own
    }

    /// The address of a repository.
    pub(super) fn url(&self, path: &str) -> String {
        format!("oci://{}/{path}", self.prefix)
    }

    /// The Secret with the public key.
    pub(super) fn secret(&self, namespace: &str) -> Value {
        let key = fs::read_to_string(self.directory.join("cosign.pub")).unwrap();
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "stackflux-cosign", "namespace": namespace},
            "stringData": {"cosign.pub": key},
        })
    }

    /// The chart and the manifests. Two runs in two directories make the same bytes.
    fn packages(&self) -> (Vec<u8>, Vec<u8>) {
        let [first, second] = ["first", "second"].map(|name| {
            let target = self.directory.join(name);
            let mut make = Command::new("make");
            make.args(["--no-print-directory", "chart"]).current_dir(repository(""));
            // Of the `make` that runs the tests.
            make.env_remove("MAKEFLAGS").env_remove("MAKELEVEL").env("CARGO_TARGET_DIR", &target);
            let output = make.output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let read =
                |name: &str| fs::read(target.join("dist").join(format!("{name}-{VERSION}.tgz"))).unwrap();
            (read("stackflux"), read("stackflux-manifests"))
        });
        assert!(first == second, "`make chart` makes other bytes each time");
        first
    }

    /// Pushes a signature of the older format of cosign.
    async fn sign(&self, pusher: &Pusher, repository: &str, digest: &Digest) {
        let payload = json!({
            "critical": {
                "identity": {"docker-reference": ""}, "image": {"docker-manifest-digest": digest.to_string()},
                "type": "cosign container image signature",
            },
            "optional": null,
        });
        let payload = payload.to_string().into_bytes();
        fs::write(self.directory.join("payload"), &payload).unwrap();
        let signature = run(&self.directory, &["openssl", "dgst", "-sha256", "-sign", "key", "payload"]);
        let of = |bytes: &[u8]| Digest::of_bytes(bytes).to_string();
        let root = json!({"type": "layers", "diff_ids": [of(&payload)]});
        let config =
            json!({"architecture": "", "os": "", "rootfs": root, "config": {}}).to_string().into_bytes();
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST,
            "config": {"mediaType": CONFIG, "size": config.len(), "digest": of(&config)},
            "layers": [{
                "mediaType": SIGNATURE, "size": payload.len(), "digest": of(&payload),
                "annotations": {"dev.cosignproject.cosign/signature": STANDARD.encode(signature)},
            }],
        });
        pusher.blob(repository, &payload).await;
        pusher.blob(repository, &config).await;
        let tag = format!("{}.sig", digest.to_string().replace(':', "-"));
        pusher.document(repository, &tag, MANIFEST, manifest.to_string().as_bytes()).await;
    }
}

/// Runs a program in a directory, and returns what it prints.
fn run(directory: &Path, words: &[&str]) -> Vec<u8> {
    let output = Command::new(words[0]).args(&words[1..]).current_dir(directory).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}
