//! The components: the Go package that each is built from, or the installed binary that replaces it.

use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use crate::error::{Context as _, Error, Result};
use crate::in_memory;
use crate::paths;

/// A program of the testbed.
#[derive(Debug, Eq, Hash, PartialEq)]
pub(crate) struct Tool {
    /// The name, also of the binary.
    pub(crate) name: &'static str,
    /// The Go module below `go/` that pins its version.
    pub(crate) module: &'static str,
    /// The main package.
    pub(crate) package: &'static str,
}

/// The module of everything but Cluster API, Gitea and the Git server.
pub(crate) const KUBERNETES_AND_FLUX: &str = "kubernetes-and-flux";

/// All programs, ordered so that shared packages are compiled with the first program that needs them.
pub(crate) const TOOLS: [Tool; 10] = [
    Tool { name: "git-server", module: "git-server", package: "." },
    Tool { name: "etcd", module: KUBERNETES_AND_FLUX, package: "go.etcd.io/etcd/server/v3" },
    Tool { name: "kubectl", module: KUBERNETES_AND_FLUX, package: "k8s.io/kubernetes/cmd/kubectl" },
    Tool {
        name: "kube-apiserver",
        module: KUBERNETES_AND_FLUX,
        package: "k8s.io/kubernetes/cmd/kube-apiserver",
    },
    Tool {
        name: "kube-controller-manager",
        module: KUBERNETES_AND_FLUX,
        package: "k8s.io/kubernetes/cmd/kube-controller-manager",
    },
    Tool {
        name: "kube-scheduler",
        module: KUBERNETES_AND_FLUX,
        package: "k8s.io/kubernetes/cmd/kube-scheduler",
    },
    Tool { name: "kwok", module: KUBERNETES_AND_FLUX, package: "sigs.k8s.io/kwok/cmd/kwok" },
    Tool {
        name: "source-controller",
        module: KUBERNETES_AND_FLUX,
        package: "github.com/fluxcd/source-controller",
    },
    Tool {
        name: "kustomize-controller",
        module: KUBERNETES_AND_FLUX,
        package: "github.com/fluxcd/kustomize-controller",
    },
    Tool {
        name: "helm-controller",
        module: KUBERNETES_AND_FLUX,
        package: "github.com/fluxcd/helm-controller",
    },
];

/// Cluster API's controllers, which only some testbeds run.
pub(crate) const CLUSTER_API: [Tool; 4] = [
    Tool { name: "cluster-api", module: "cluster-api", package: "sigs.k8s.io/cluster-api" },
    Tool {
        name: "kubeadm-bootstrap",
        module: "cluster-api",
        package: "sigs.k8s.io/cluster-api/bootstrap/kubeadm",
    },
    Tool {
        name: "kubeadm-control-plane",
        module: "cluster-api",
        package: "sigs.k8s.io/cluster-api/controlplane/kubeadm",
    },
    Tool {
        name: in_memory::PROGRAM,
        module: "cluster-api",
        package: "sigs.k8s.io/cluster-api/test/infrastructure/docker",
    },
];

impl Tool {
    /// The environment variable that names an installed binary, such as `TESTBED_KUBE_APISERVER`.
    pub(crate) fn variable(&self) -> String {
        format!("TESTBED_{}", self.name.to_uppercase().replace('-', "_"))
    }

    /// Whether it is one of Flux's controllers, which elect a leader.
    pub(crate) fn elects(&self) -> bool {
        self.package.starts_with("github.com/fluxcd/")
    }

    /// The installed binary that the environment names instead of a built one.
    pub(crate) fn installed(&self) -> Result<Option<PathBuf>> {
        match paths::variable(&self.variable()).map(PathBuf::from) {
            Some(path) if !path.is_file() => {
                Err(Error::new(format!("{}={} is not a file", self.variable(), path.display())))
            }
            path => Ok(path),
        }
    }

    /// The linker flags: no symbols, and for Kubernetes the version that it reports (without it Helm sees `v0.0.0` and
    /// refuses charts with a `kubeVersion`).
    pub(crate) fn linker_flags(&self) -> Result<String> {
        let mut flags = String::from("-s -w");
        if self.package.starts_with("k8s.io/kubernetes/") {
            let version = required_version(self.module, "k8s.io/kubernetes")?;
            let mut parts = version.trim_start_matches('v').split('.');
            for (name, value) in [
                ("gitVersion", Some(version.as_str())),
                ("gitMajor", parts.next()),
                ("gitMinor", parts.next()),
            ] {
                // Writing to a String cannot fail.
                let _ =
                    write!(flags, " -X k8s.io/component-base/version.{name}={}", value.unwrap_or_default());
            }
        }
        Ok(flags)
    }
}

/// The directory of a Go module of the testbed.
pub(crate) fn module_directory(module: &str) -> PathBuf {
    paths::sources().join("go").join(module)
}

/// The version of `dependency` that the `go.mod` of `module` requires.
fn required_version(module: &str, dependency: &str) -> Result<String> {
    let go_mod = module_directory(module).join("go.mod");
    let text = fs::read_to_string(&go_mod).context(|| format!("cannot read {}", go_mod.display()))?;
    let found =
        text.lines().filter_map(|line| line.trim().split_once(' ')).find(|(path, _)| *path == dependency);
    let (_, version) =
        found.ok_or_else(|| Error::new(format!("{} does not require {dependency}", go_mod.display())))?;
    Ok(version.to_owned())
}

/// The directory of the built tools and the files from their modules.
#[derive(Clone, Debug)]
pub(crate) struct Toolbox(PathBuf);

impl Toolbox {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self(directory)
    }

    /// The program of this name: the installed one that the environment names, otherwise the built one.
    pub(crate) fn program(&self, name: &str) -> Result<PathBuf> {
        let tool = TOOLS.iter().chain(&CLUSTER_API).find(|tool| tool.name == name);
        let tool = tool.ok_or_else(|| Error::new(format!("{name} is no program of the testbed")))?;
        let program = tool.installed()?.unwrap_or_else(|| self.built(tool));
        Ok(if tool.elects() { self.electing(tool, &program) } else { program })
    }

    /// The path of a program's copy that can elect a leader outside a Pod: one for each installed program.
    pub(crate) fn electing(&self, tool: &Tool, program: &Path) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        program.hash(&mut hasher);
        self.0.join("bin").join(format!("{}-{:x}", tool.name, hasher.finish()))
    }

    /// The path of the built binary of a tool.
    pub(crate) fn built(&self, tool: &Tool) -> PathBuf {
        self.0.join("bin").join(tool.name)
    }

    /// The directory of Flux's CRDs.
    pub(crate) fn flux_crds(&self) -> PathBuf {
        self.0.join("crds/flux")
    }

    /// The directory of Cluster API's CRDs.
    pub(crate) fn cluster_api_crds(&self) -> PathBuf {
        self.0.join("crds/cluster-api")
    }

    /// kwok's handling of nodes and pods.
    pub(crate) fn kwok_stages(&self) -> PathBuf {
        self.0.join("kwok-stages.yaml")
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.0
    }
}
