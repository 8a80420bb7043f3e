//! The stack repository: its commits, and the artifacts that source-controller would serve.

mod release;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::OnceLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use stackflux::cli::Loaded;
use stackflux::inputs::line::Line;
use stackflux::names::ReleaseName;
use stackflux::operator::release_cache::{CatalogKey, ReleaseCache};
use stackflux::release::Digest;
use stackflux::runtime::cache::Key;
use stackflux::source::artifact::{ArtifactRef, Download, FetchLimits, ReleaseSelection};

pub(crate) use release::Files;
use release::release;

/// The first release of the example.
pub(crate) const V1: &str = "docker-demo-1-34-v1";
/// The second one: its chart `monitoring` differs.
pub(crate) const V2: &str = "docker-demo-1-34-v2";
/// The second release without the addon `monitoring`.
pub(crate) const WITHOUT_MONITORING: &str = "docker-demo-1-34-v3";
/// The second release with `monitoring` as plain manifests.
pub(crate) const MONITORING_AS_MANIFESTS: &str = "docker-demo-1-34-v4";
/// The second release for another Kubernetes version, with another `cni` and another `monitoring`.
pub(crate) const PATCHED: &str = "docker-demo-1-34-v6";
/// The second release with one component of each form.
pub(crate) const COMPONENTS: &str = "docker-demo-1-34-v7";
/// The same with another commit, without the artifact, and with a chart instead of manifests.
pub(crate) const OTHER_COMPONENTS: &str = "docker-demo-1-34-v8";
/// The second release with other content of all addons but `cni`.
pub(crate) const ALL_OTHER: &str = "docker-demo-1-34-v9";
/// [`PATCHED`] with a chart that is installed before an upgrade and deleted again.
pub(crate) const HELPED: &str = "docker-demo-1-34-v10";
/// The second release with other content of `monitoring`, which is deleted and installed again.
pub(crate) const AGAIN: &str = "docker-demo-1-34-v11";
/// A release with an invalid file.
pub(crate) const BROKEN: &str = "docker-demo-1-34-v5";

/// A commit of the stack repository, with the releases that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Commit {
    /// The hash of the commit.
    pub(crate) id: &'static str,
    releases: &'static [&'static str],
    /// The release whose content differs from that in earlier commits.
    mutated: Option<&'static str>,
}

/// The commits in order.
pub(crate) const COMMITS: [Commit; 8] = [
    Commit { id: "1111111111111111111111111111111111111111", releases: &[V1], mutated: None },
    Commit { id: "2222222222222222222222222222222222222222", releases: &[V1, V2], mutated: None },
    Commit {
        id: "3333333333333333333333333333333333333333",
        releases: &[V1, V2, WITHOUT_MONITORING, MONITORING_AS_MANIFESTS],
        mutated: None,
    },
    Commit { id: "4444444444444444444444444444444444444444", releases: &[V1, V2, BROKEN], mutated: Some(V2) },
    Commit { id: "5555555555555555555555555555555555555555", releases: &[V1, V2, PATCHED], mutated: None },
    Commit {
        id: "6666666666666666666666666666666666666666",
        releases: &[V1, V2, COMPONENTS, OTHER_COMPONENTS],
        mutated: None,
    },
    Commit { id: "7777777777777777777777777777777777777777", releases: &[V1, V2, ALL_OTHER], mutated: None },
    Commit {
        id: "8888888888888888888888888888888888888888",
        releases: &[V1, V2, HELPED, AGAIN],
        mutated: None,
    },
];

/// The releases of the artifacts, read once for all simulations of the process.
pub(crate) struct Repository {
    /// The releases in memory: nothing is fetched while a simulation runs.
    pub(crate) release_cache: ReleaseCache,
    artifacts: BTreeMap<&'static str, Value>,
    /// The versions of charts, by commit and path.
    charts: BTreeMap<(&'static str, String), String>,
}

impl Repository {
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<Repository> = OnceLock::new();
        SHARED.get_or_init(Self::read)
    }

    /// The artifact of a commit, as in the status of a `GitRepository`; `None` if it is one of another repository.
    pub(crate) fn artifact(&self, commit: &str) -> Option<Value> {
        self.artifacts.get(commit).cloned()
    }

    /// The version of the chart in a directory of a commit.
    pub(crate) fn chart_version(&self, commit: &str, path: &str) -> Option<&str> {
        let path = path.trim_start_matches("./").to_owned();
        let commit = COMMITS.iter().find(|known| known.id == commit)?;
        self.charts.get(&(commit.id, path)).map(String::as_str)
    }

    fn read() -> Self {
        let (mut archives, mut charts) = (BTreeMap::new(), BTreeMap::new());
        for commit in &COMMITS {
            let files = files(commit);
            archives.insert(commit.id, archive(&files));
            for (path, content) in &files {
                let Some(directory) = path.strip_suffix("/Chart.yaml") else { continue };
                let text = String::from_utf8(content.clone()).unwrap();
                let version = text.lines().find_map(|line| line.strip_prefix("version: ")).unwrap();
                charts.insert((commit.id, directory.to_owned()), version.to_owned());
            }
        }
        let address = serve(archives.clone());
        let artifacts = archives.iter().map(|(commit, file)| {
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
                let selection =
                    ReleaseSelection { path: "releases".to_owned(), line: line.clone(), is_builtin: false };
                let key = CatalogKey { repository, selection };
                let read = release_cache.catalog(&key, &ArtifactRef::new(&found).unwrap()).await.unwrap();
                let broken: ReleaseName = BROKEN.parse().unwrap();
                assert!(
                    read.releases.iter().all(|(name, found)| found.is_err() == (*name == broken)),
                    "{read:?}"
                );
            }
        });
        Self { release_cache, artifacts, charts }
    }
}

/// The files of a commit.
pub(crate) fn files(commit: &Commit) -> Files {
    let content = |name: &&str| match release(name) {
        release if commit.mutated == Some(*name) => {
            release.edited("metadata.yaml", "versions:", "# changed\nversions:").into_files()
        }
        release => release.into_files(),
    };
    commit.releases.iter().flat_map(content).collect()
}

/// The archive of a commit.
fn archive(files: &Files) -> Vec<u8> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, path, content.as_slice()).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
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

/// The releases of the stack repository at a commit, read once from a work tree for all simulations.
pub(crate) fn loaded(head: usize) -> &'static Loaded {
    static COMMITTED: OnceLock<Vec<Loaded>> = OnceLock::new();
    let load = |commit: &Commit| {
        let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!(
            "stacks-{}-{}",
            std::process::id(),
            &commit.id[..1]
        ));
        for (path, content) in files(commit) {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let loaded = Loaded::read(&root).unwrap();
        fs::remove_dir_all(&root).unwrap();
        loaded
    };
    &COMMITTED.get_or_init(|| COMMITS.iter().map(load).collect())[head]
}
