//! The stack repository: its commits, and the artifacts that source-controller would serve.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::OnceLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use stackflux::inputs::line::Line;
use stackflux::names::ReleaseName;
use stackflux::operator::release_cache::{CatalogKey, ReleaseCache};
use stackflux::release::Digest;
use stackflux::runtime::cache::Key;
use stackflux::source::artifact::{ArtifactRef, Download, FetchLimits};

/// A commit of the stack repository, with the releases that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Commit {
    /// The hash of the commit.
    pub(crate) id: &'static str,
    releases: &'static [&'static str],
}

pub(crate) const V1: &str = "docker-demo-1-34-v1";
pub(crate) const V2: &str = "docker-demo-1-34-v2";

/// The first commit has one release, the second one more.
pub(crate) const COMMITS: [Commit; 2] = [
    Commit { id: "1111111111111111111111111111111111111111", releases: &[V1] },
    Commit { id: "2222222222222222222222222222222222222222", releases: &[V1, V2] },
];

/// The releases of the artifacts, read once for all simulations of the process.
pub(crate) struct Repository {
    /// The releases in memory: nothing is fetched while a simulation runs.
    pub(crate) release_cache: ReleaseCache,
    artifacts: BTreeMap<&'static str, Value>,
}

impl Repository {
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<Repository> = OnceLock::new();
        SHARED.get_or_init(Self::read)
    }

    /// The artifact of a commit, as in the status of a `GitRepository`.
    pub(crate) fn artifact(&self, commit: &str) -> Value {
        self.artifacts[commit].clone()
    }

    fn read() -> Self {
        let files: BTreeMap<&str, Vec<u8>> =
            COMMITS.iter().map(|commit| (commit.id, archive(commit))).collect();
        let address = serve(files.clone());
        let artifacts = files.iter().map(|(commit, file)| {
            let artifact = json!({
                "url": format!("http://{address}/{commit}"),
                "path": commit,
                "digest": Digest::of_bytes(file).to_string(),
                "revision": format!("main@sha1:{commit}"),
                "size": file.len(),
                "lastUpdateTime": "2026-11-20T20:42:54Z",
            });
            (*commit, artifact)
        });
        let artifacts: BTreeMap<&str, Value> = artifacts.collect();
        let release_cache = ReleaseCache::new(Download::new(None, FetchLimits::default()).unwrap());
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let line = Line::of(&V1.parse::<ReleaseName>().unwrap());
        runtime.block_on(async {
            for artifact in artifacts.values() {
                let found = serde_json::from_value(artifact.clone()).unwrap();
                let repository = Key::new("warm", "up");
                let key = CatalogKey { repository, path: "releases".to_owned(), line: line.clone() };
                let read = release_cache.catalog(&key, &ArtifactRef::new(&found).unwrap()).await.unwrap();
                assert!(read.releases.values().all(Result::is_ok), "{read:?}");
            }
        });
        Self { release_cache, artifacts }
    }
}

/// The archive of a commit.
fn archive(commit: &Commit) -> Vec<u8> {
    let releases = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/stack/releases");
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for release in commit.releases {
        let mut files = Vec::new();
        collect(&releases.join(release), &mut files);
        files.sort();
        for file in files {
            let content = fs::read(&file).unwrap();
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            let path = file.strip_prefix(releases.parent().unwrap()).unwrap();
            archive.append_data(&mut header, path, content.as_slice()).unwrap();
        }
    }
    archive.into_inner().unwrap().finish().unwrap()
}

fn collect(directory: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// Serves these files as long as the process lives. Returns the address.
fn serve(files: BTreeMap<&'static str, Vec<u8>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let read = stream.read(&mut request).unwrap();
            let text = String::from_utf8_lossy(&request[..read]).into_owned();
            let file = files.iter().find(|(commit, _)| text.starts_with(&format!("GET /{commit} ")));
            let (_, file) = file.unwrap();
            let head =
                format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", file.len());
            stream.write_all(&[head.as_bytes(), file].concat()).unwrap();
        }
    });
    address
}
