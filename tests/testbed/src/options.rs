//! The parts of a testbed.

/// The parts of a testbed that a test starts for itself.
///
/// ```
/// use stackflux_testbed::Options;
/// let many_objects_no_helm = Options { workloads: &[], flux: &["source-controller"], ..Options::default() };
/// # assert!(many_objects_no_helm.audit);
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// The names of the workload clusters.
    pub workloads: &'static [&'static str],
    /// The Flux controllers to run: `source-controller`, `kustomize-controller`, `helm-controller`.
    pub flux: &'static [&'static str],
    /// Number of releases that helm-controller reconciles at the same time (`--concurrent`).
    pub helm_concurrent: u32,
    /// Whether kustomize- and helm-controller refuse references to other namespaces (`--no-cross-namespace-refs`).
    pub no_cross_namespace_refs: bool,
    /// Whether Cluster API's controllers run, and how; with an infrastructure provider in memory.
    pub cluster_api: Providers,
    /// Whether the management API server keeps a log of all writes, see [`Audit`](crate::Audit).
    pub audit: bool,
}

/// Cluster API's controllers in a testbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Providers {
    /// They do not run.
    None,
    /// They run with the feature gate `RuntimeSDK`, and so call hooks.
    WithHooks,
    /// They run without it, as by default.
    WithoutHooks,
}

impl Default for Options {
    /// One workload cluster, all of Flux, four releases at a time as Flux's own default is, and the log of writes.
    fn default() -> Self {
        Self {
            workloads: &["one"],
            flux: &["source-controller", "kustomize-controller", "helm-controller"],
            helm_concurrent: 4,
            no_cross_namespace_refs: false,
            cluster_api: Providers::None,
            audit: true,
        }
    }
}

impl Options {
    /// The testbed that tests share and users start. A release holds its worker of helm-controller while Helm waits, so the
    /// scenarios would wait for the workers of each other.
    pub(crate) fn shared() -> Self {
        Self { workloads: &["one", "two"], helm_concurrent: 20, ..Self::default() }
    }
}
