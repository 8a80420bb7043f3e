//! Pushes releases to an OCI registry like the programs that publish them: by plain requests, without stackflux's own
//! code for registries.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use stackflux::http::{Answer, Client, Method, Options, Request, Url};
use stackflux::release::Digest;

/// The metadata of a release's layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Media types `application/vnd.scs.…`, and annotations of the manifest.
    Scs,
    /// The default media type of layers, and only titles.
    Plain,
}

/// The media type of a manifest.
pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// A client of a registry.
pub(crate) struct Pusher {
    client: Client,
    address: String,
    authorization: Option<String>,
}

impl Pusher {
    /// A client of the registry at `host:port`.
    pub(crate) fn new(address: &str, user: Option<(&str, &str)>) -> Self {
        let client = Client::plain(Options::default()).unwrap();
        let basic = |(user, password)| format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
        Self { client, address: address.to_owned(), authorization: user.map(basic) }
    }

    /// Pushes files under a tag, and returns the digest of the manifest.
    pub(crate) async fn push(
        &self,
        repository: &str,
        tag: &str,
        files: &BTreeMap<String, Vec<u8>>,
        layout: Layout,
    ) -> Digest {
        let mut layers = Vec::new();
        for (name, content) in files {
            self.blob(repository, content).await;
            layers.push(layer(name, content, layout));
        }
        self.blob(repository, b"{}").await;
        let bytes = manifest(&layers, layout).to_string().into_bytes();
        self.document(repository, tag, MANIFEST, &bytes).await
    }

    /// Pushes a packed chart as Helm does, and returns the digest of its manifest.
    pub(crate) async fn chart(
        &self,
        repository: &str,
        (name, version): (&str, &str),
        archive: &[u8],
    ) -> Digest {
        let config = json!({"name": name, "version": version, "apiVersion": "v2"}).to_string();
        let config = ("application/vnd.cncf.helm.config.v1+json", config.as_bytes());
        let layer = ("application/vnd.cncf.helm.chart.content.v1.tar+gzip", archive);
        self.archive(repository, version, config, layer, &json!({})).await
    }

    /// Pushes a packed directory as `flux push artifact` does, and returns the digest of its manifest.
    pub(crate) async fn artifact(&self, repository: &str, tag: &str, archive: &[u8]) -> Digest {
        let config = ("application/vnd.cncf.flux.config.v1+json", b"{}".as_slice());
        let layer = ("application/vnd.cncf.flux.content.v1.tar+gzip", archive);
        let annotations = json!({
            "org.opencontainers.image.created": "2026-11-22T10:00:00Z",
            "org.opencontainers.image.source": "https://git.example.org/platform.git",
            "org.opencontainers.image.revision": tag,
        });
        self.archive(repository, tag, config, layer, &annotations).await
    }

    /// Pushes a configuration and a single layer, each with its media type.
    async fn archive(
        &self,
        repository: &str,
        tag: &str,
        config: (&str, &[u8]),
        layer: (&str, &[u8]),
        annotations: &Value,
    ) -> Digest {
        let described = |(media_type, content): (&str, &[u8])| json!({"mediaType": media_type, "digest": Digest::of_bytes(content).to_string(), "size": content.len()});
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "annotations": annotations,
            "config": described(config), "layers": [described(layer)],
        });
        self.blob(repository, layer.1).await;
        self.blob(repository, config.1).await;
        self.document(repository, tag, MANIFEST, manifest.to_string().as_bytes()).await
    }

    /// Pushes a manifest or a list of manifests under a tag or its digest, and returns its digest.
    pub(crate) async fn document(
        &self,
        repository: &str,
        reference: &str,
        media_type: &'static str,
        bytes: &[u8],
    ) -> Digest {
        let digest = Digest::of_bytes(bytes);
        let request = self.request(Method::PUT, &format!("{repository}/manifests/{reference}"));
        let put = self.send(request.body(media_type, bytes.to_vec())).await;
        assert_eq!(put.header("docker-content-digest"), Some(digest.to_string().as_str()));
        digest
    }

    /// Pushes bytes: a POST returns the address, a PUT sends the bytes.
    pub(crate) async fn blob(&self, repository: &str, content: &[u8]) {
        let begun = self.send(self.request(Method::POST, &format!("{repository}/blobs/uploads/"))).await;
        let mut url: Url = begun.url().join(begun.header("location").unwrap()).unwrap();
        url.query_pairs_mut().append_pair("digest", &Digest::of_bytes(content).to_string());
        let request = self.signed(Request::new(Method::PUT, url));
        self.send(request.body("application/octet-stream", content.to_vec())).await;
    }

    fn request(&self, method: Method, path: &str) -> Request {
        let url = format!("http://{}/v2/{path}", self.address);
        self.signed(Request::new(method, url.parse().unwrap()))
    }

    fn signed(&self, request: Request) -> Request {
        match &self.authorization {
            Some(value) => request.authorization(&value.as_str().into()).unwrap(),
            None => request,
        }
    }

    async fn send(&self, request: Request) -> Answer {
        self.client.send(&request).await.unwrap().success().unwrap()
    }
}

fn layer(name: &str, content: &[u8], layout: Layout) -> Value {
    let is_archive = Path::new(name).extension().is_some_and(|kind| kind == "tgz");
    let kind = if is_archive { "tar+gzip" } else { "yaml" };
    let media_type = match layout {
        Layout::Scs => format!("application/vnd.scs.cluster-stack.file.v1+{kind}"),
        Layout::Plain => "application/vnd.oci.image.layer.v1.tar".to_owned(),
    };
    json!({
        "mediaType": media_type,
        "digest": Digest::of_bytes(content).to_string(),
        "size": content.len(),
        "annotations": {"org.opencontainers.image.title": name},
    })
}

fn manifest(layers: &[Value], layout: Layout) -> Value {
    let config_type = match layout {
        Layout::Scs => "application/vnd.scs.cluster-stack.config.v1+json",
        Layout::Plain => "application/vnd.oci.empty.v1+json",
    };
    let mut manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {"mediaType": config_type, "digest": Digest::of_bytes(b"{}").to_string(), "size": 2},
        "layers": layers,
    });
    if let (Layout::Scs, Some(manifest)) = (layout, manifest.as_object_mut()) {
        let annotations = json!({
            "kubernetesVersion": "v1.27.3",
            "hash": "0123456789abcdef",
            "org.opencontainers.image.created": "2026-05-04T10:20:30Z",
        });
        manifest.insert("annotations".to_owned(), annotations);
    }
    manifest
}

/// The files to push for a release's directory: its files, and its directories packed and named as the builders do.
/// Packed ones stay as they are.
pub(crate) fn packed(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let release = directory.file_name().unwrap().to_str().unwrap();
    let (line, version) = release.rsplit_once('-').unwrap();
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            // The builders use the singular.
            let part = name.strip_suffix("images").map_or(name.clone(), |part| format!("{part}image"));
            let archive = format!("{line}-{part}-{version}.tgz");
            files.insert(archive, tar(directory, &name));
        } else {
            files.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    files
}

fn tar(directory: &Path, name: &str) -> Vec<u8> {
    let mut command = Command::new("tar");
    command.arg("-C").arg(directory.join(name));
    command.args(["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "-czf", "-", "."]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}
