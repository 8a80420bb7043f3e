//! Builds each component once, into a cache that is keyed by everything that determines the result.

use std::env::consts::ARCH;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use crate::cluster_api_schemas;
use crate::debian::DOCKER_REGISTRY;
use crate::election;
use crate::error::{Context as _, Error, Result};
use crate::in_memory;
use crate::paths;
use crate::tools::{CLUSTER_API, KUBERNETES_AND_FLUX, TOOLS, Tool, Toolbox, module_directory};

/// Flux's CRDs, by module.
const FLUX_CRDS: [(&str, &str); 3] = [
    ("github.com/fluxcd/source-controller", "config/crd/bases"),
    ("github.com/fluxcd/kustomize-controller", "config/crd/bases"),
    ("github.com/fluxcd/helm-controller", "config/crd/bases"),
];

/// Cluster API's CRDs, and those of its Docker and in-memory infrastructure provider.
const CLUSTER_API_CRDS: [(&str, &str); 4] = [
    ("sigs.k8s.io/cluster-api", "config/crd/bases"),
    ("sigs.k8s.io/cluster-api", "bootstrap/kubeadm/config/crd/bases"),
    ("sigs.k8s.io/cluster-api", "controlplane/kubeadm/config/crd/bases"),
    ("sigs.k8s.io/cluster-api/test", "infrastructure/docker/config/crd/bases"),
];

/// kwok's stages that make nodes and pods ready, and jobs complete, at once.
const KWOK_STAGES: [&str; 4] = [
    "kustomize/stage/node/fast/node-initialize.yaml",
    "kustomize/stage/pod/fast/pod-ready.yaml",
    "kustomize/stage/pod/fast/pod-complete.yaml",
    "kustomize/stage/pod/fast/pod-delete.yaml",
];

/// Builds all missing components, with progress on stderr. Returns the directory of the results.
pub fn build() -> Result<PathBuf> {
    let toolbox = ensure_built()?;
    ensure_cluster_api(&toolbox)?;
    Ok(toolbox.directory().to_owned())
}

/// Builds Cluster API's controllers, if they are missing.
pub(crate) fn ensure_cluster_api(toolbox: &Toolbox) -> Result<()> {
    let _lock = lock(toolbox.directory())?;
    build_tools(toolbox, &CLUSTER_API)
}

/// Waits for other test processes that may be building the same. The lock ends with the file handle.
fn lock(directory: &Path) -> Result<File> {
    let path = directory.join("lock");
    let lock = File::create(&path).context(|| format!("cannot create {}", path.display()))?;
    lock.lock().context(|| format!("cannot lock {}", path.display()))?;
    Ok(lock)
}

pub(crate) fn ensure_built() -> Result<Toolbox> {
    let directory = paths::cache()?.join(key()?);
    let bin = directory.join("bin");
    fs::create_dir_all(&bin).context(|| format!("cannot create {}", bin.display()))?;
    let _lock = lock(&directory)?;
    let toolbox = Toolbox::new(directory);
    build_tools(&toolbox, &TOOLS)?;
    for tool in TOOLS.iter().filter(|tool| tool.elects()) {
        let program = tool.installed()?.unwrap_or_else(|| toolbox.built(tool));
        once(&toolbox.electing(tool, &program), |incomplete| election::adapt(&program, incomplete))?;
    }
    once(&toolbox.flux_crds(), |incomplete| copy_crds(KUBERNETES_AND_FLUX, &FLUX_CRDS, incomplete, |_| ()))?;
    once(&toolbox.cluster_api_crds(), |incomplete| {
        copy_crds("cluster-api", &CLUSTER_API_CRDS, incomplete, cluster_api_schemas::adapt)
    })?;
    once(&toolbox.kwok_stages(), write_kwok_stages)?;
    DOCKER_REGISTRY.program()?;
    Ok(toolbox)
}

/// The key of everything in the cache: the pinned modules, our own sources, the list of tools, the machine.
///
/// The standard hasher may change with the Rust version; then everything is linked once more, from Go's own cache.
fn key() -> Result<String> {
    let mut hasher = DefaultHasher::new();
    (ARCH, &TOOLS, &CLUSTER_API, FLUX_CRDS, CLUSTER_API_CRDS, KWOK_STAGES).hash(&mut hasher);
    include_str!("cluster_api_schemas.rs").hash(&mut hasher);
    include_str!("in_memory.rs").hash(&mut hasher);
    for file in [
        "kubernetes-and-flux/go.mod",
        "kubernetes-and-flux/go.sum",
        "cluster-api/go.mod",
        "cluster-api/go.sum",
        "git-server/go.mod",
        "git-server/go.sum",
        "git-server/main.go",
        "git-server/ssh.go",
        "git-server/tls.go",
    ] {
        let path = module_directory(file);
        fs::read(&path).context(|| format!("cannot read {}", path.display()))?.hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

fn build_tools(toolbox: &Toolbox, tools: &'static [Tool]) -> Result<()> {
    let mut missing = Vec::new();
    for tool in tools {
        if tool.installed()?.is_none() && !toolbox.built(tool).exists() {
            missing.push(tool);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    say(&format!("building {} components into {}\n", missing.len(), toolbox.directory().display()))?;
    say(
        "(once; on two cores about nine minutes for all of Kubernetes and Flux, and three for Cluster API)\n",
    )?;
    for (index, tool) in missing.iter().enumerate() {
        say(&format!("  [{}/{}] {} ... ", index + 1, missing.len(), tool.name))?;
        let start = Instant::now();
        once(&toolbox.built(tool), |incomplete| compile(tool, incomplete))?;
        say(&format!("{:.0} s\n", start.elapsed().as_secs_f64()))?;
    }
    Ok(())
}

fn compile(tool: &Tool, output: &Path) -> Result<()> {
    let linker_flags = tool.linker_flags()?;
    let mut command = go(tool.module);
    command.args(["build", "-mod=readonly", "-buildvcs=false", "-trimpath", "-ldflags", &linker_flags, "-o"]);
    command.arg(output);
    if tool.name == in_memory::PROGRAM {
        let adapted = in_memory::adapt(tool.module, &output.with_extension("adapted"))?;
        command.arg(format!("-modfile={}", adapted.display()));
    }
    command.arg(tool.package);
    let hint = format!("; {}=<path> names an installed {} instead", tool.variable(), tool.name);
    run(&mut command).map(drop).map_err(|error| Error::new(format!("{error}{hint}")))
}

/// Creates a missing file or directory: under another name first, so that a partial one is never used.
pub(crate) fn once(path: &Path, make: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    let incomplete = path.with_added_extension("incomplete");
    make(&incomplete)?;
    fs::rename(&incomplete, path).context(|| format!("cannot rename {}", incomplete.display()))
}

/// Copies CRDs from modules as JSON, each changed by `adapt`.
fn copy_crds(
    module: &str,
    sources: &[(&str, &str)],
    target: &Path,
    adapt: impl Fn(&mut Value),
) -> Result<()> {
    fs::create_dir_all(target).context(|| format!("cannot create {}", target.display()))?;
    for (dependency, directory) in sources {
        let directory = source_directory(module, dependency)?.join(directory);
        let entries = fs::read_dir(&directory).context(|| format!("cannot list {}", directory.display()))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            let text = fs::read_to_string(&path).context(|| format!("cannot read {}", path.display()))?;
            let mut crd: Value =
                serde_yaml::from_str(&text).context(|| format!("cannot parse {}", path.display()))?;
            adapt(&mut crd);
            let copy = target.join(path.file_name().unwrap_or_default()).with_extension("json");
            fs::write(&copy, crd.to_string()).context(|| format!("cannot write {}", copy.display()))?;
        }
    }
    Ok(())
}

fn write_kwok_stages(target: &Path) -> Result<()> {
    let directory = source_directory(KUBERNETES_AND_FLUX, "sigs.k8s.io/kwok")?;
    let mut stages = String::new();
    for stage in KWOK_STAGES {
        let path = directory.join(stage);
        stages += &fs::read_to_string(&path).context(|| format!("cannot read {}", path.display()))?;
        stages += "\n---\n";
    }
    fs::write(target, stages).context(|| format!("cannot write {}", target.display()))
}

/// The directory of a dependency's sources in Go's cache; downloads them first if they are missing.
pub(crate) fn source_directory(module: &str, dependency: &str) -> Result<PathBuf> {
    run(go(module).args(["mod", "download", dependency]))?;
    let directory = run(go(module).args(["list", "-mod=readonly", "-m", "-f", "{{.Dir}}", dependency]))?;
    Ok(PathBuf::from(directory.trim()))
}

/// Go in a module's directory. Without C: no compiler for it is needed, and the binaries are static.
pub(crate) fn go(module: &str) -> Command {
    let mut command = Command::new("go");
    command
        .current_dir(module_directory(module))
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off")
        .env_remove("GOFLAGS");
    command
}

pub(crate) fn run(command: &mut Command) -> Result<String> {
    let what = format!("{command:?}");
    let output = command.output().context(|| format!("cannot run {what}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let errors = String::from_utf8_lossy(&output.stderr);
        Err(Error::new(format!("{what} failed ({}):\n{}", output.status, errors.trim_end())))
    }
}

/// Prints progress. Written to stderr directly: the test runner captures the output of `eprint!`.
pub(crate) fn say(text: &str) -> Result<()> {
    let mut stderr = io::stderr().lock();
    stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush())
        .context(|| "cannot write to stderr".to_owned())
}
