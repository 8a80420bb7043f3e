//! An upstream registry that lies about most of its releases: the others are published, no lie is accepted, and the
//! operator stays small.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::Response;
use serde_json::{Value, json};
use stackflux::release::Digest;
use tokio::runtime::Runtime;

use super::scenario::{STACK, Scenario, V2, condition};
use crate::git::git;
use crate::push::packed;
use crate::support::scratch;

const REPOSITORY: &str = "hostile/stacks";
/// More memory than an operator uses that has read all of it to its end.
const MAX_MEMORY: u64 = 250 << 20;

fn release(version: u32) -> String {
    format!("{STACK}-v{version}")
}

fn endless() -> Body {
    let zeros = futures::stream::repeat_with(|| Ok::<_, Infallible>(Bytes::from_static(&[b' '; 8192])));
    Body::from_stream(zeros)
}

fn answered(status: u16, body: impl Into<Body>) -> Response<Body> {
    Response::builder().status(status).body(body.into()).unwrap()
}

fn layer(title: &str, digest: &Digest, size: u64) -> Value {
    json!({
        "mediaType": "application/octet-stream", "digest": digest.to_string(), "size": size,
        "annotations": {"org.opencontainers.image.title": title},
    })
}

/// The registry: the second release as it should be; each other one is a lie of its own.
struct Registry {
    blobs: BTreeMap<String, Vec<u8>>,
    good: Vec<Value>,
}

impl Registry {
    fn new() -> Self {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/stack/releases").join(V2);
        let (mut blobs, mut good) = (BTreeMap::new(), Vec::new());
        for (title, content) in packed(&example) {
            let digest = Digest::of_bytes(&content);
            good.push(layer(&title, &digest, content.len() as u64));
            blobs.insert(digest.to_string(), content);
        }
        Self { blobs, good }
    }

    fn answer(&self, path: &str) -> Response<Body> {
        let of = |content: &[u8]| Digest::of_bytes(content);
        let manifest = |layers: &[Value]| {
            let config = json!({"mediaType": "application/vnd.oci.empty.v1+json", "digest": of(b"{}").to_string(), "size": 2});
            let manifest = json!({"schemaVersion": 2, "config": config, "layers": layers});
            answered(200, manifest.to_string())
        };
        let below = path.strip_prefix(&format!("/v2/{REPOSITORY}/")).unwrap_or_default();
        match below.split_once('/').unwrap_or_default() {
            ("tags", _) => {
                let tags: Vec<String> = (1..=6).map(release).collect();
                answered(200, json!({"tags": tags}).to_string())
            }
            ("manifests", tag) if tag == release(1) => answered(200, endless()),
            ("manifests", tag) if tag == release(2) => manifest(&self.good),
            ("manifests", tag) if tag == release(3) => manifest(&[layer("metadata.yaml", &of(b"truth"), 5)]),
            ("manifests", tag) if tag == release(4) => {
                manifest(&[layer("metadata.yaml", &of(b"huge"), 10 << 30)])
            }
            ("manifests", tag) if tag == release(5) => {
                manifest(&[layer("metadata.yaml", &of(b"endless"), 7)])
            }
            ("manifests", tag) if tag == release(6) => manifest(&[layer("metadata.yaml", &of(b"circle"), 6)]),
            ("blobs", digest) if digest == of(b"truth").to_string() => answered(200, "a lie"),
            ("blobs", digest) if digest == of(b"endless").to_string() => answered(200, endless()),
            ("blobs", digest) if digest == of(b"circle").to_string() => {
                Response::builder().status(307).header("location", path).body(Body::empty()).unwrap()
            }
            ("blobs", digest) => match self.blobs.get(digest) {
                Some(content) => answered(200, content.clone()),
                None => answered(404, ""),
            },
            _ => answered(404, ""),
        }
    }

    /// Serves the registry. Ends with the runtime.
    fn serve(self, runtime: &Runtime) -> String {
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let (address, registry) = (listener.local_addr().unwrap().to_string(), Arc::new(self));
        let router =
            Router::new().fallback(async move |request: Request| registry.answer(request.uri().path()));
        runtime.spawn(async move { axum::serve(listener, router).await.unwrap() });
        address
    }
}

#[test]
fn lies_of_an_upstream_do_not_stop_its_good_release() {
    let (scenario, runtime) = (Scenario::shared("hostile"), Runtime::new().unwrap());
    let address = Registry::new().serve(&runtime);
    let operator = scenario.operator();
    let versions = ["v1", "v2", "v3", "v4", "v5", "v6"];
    let source = json!({"source": {
        "git": {"url": scenario.url(), "ref": {"branch": "main"}, "interval": "2s"},
        "upstream": {
            "url": format!("oci://{address}/{REPOSITORY}"), "interval": "2s", "insecure": true,
            "commit": {"author": {"name": "Release bot", "email": "bot@example.com"}},
        },
    }});
    scenario.apply_stack(&versions, &source);
    scenario.wait_ready("clusterstackrelease", V2);
    let failed = |stack: &Value| condition(stack, "ReleasesPublished").1 == "PublishFailed";
    let stack = scenario.wait("clusterstack", STACK, "PublishFailed", failed);
    let message = condition(&stack, "ReleasesPublished").2;
    assert!(message.contains(&release(1)) && message.contains("4 more releases"), "{message}");

    let clone = scratch("hostile-clone");
    git(clone.parent().unwrap(), &["clone", "--quiet", &scenario.url(), clone.to_str().unwrap()]);
    let releases = git(&clone, &["ls-tree", "--name-only", "HEAD", "releases/"]);
    assert_eq!(releases.trim(), format!("releases/{V2}"));
    let memory = operator.process().unwrap().peak_memory_bytes().unwrap();
    assert!(memory < MAX_MEMORY, "the operator took {memory} bytes");
}
