//! The testbed: real Kubernetes API servers and a real Flux on loopback, without containers.
//!
//! ```text
//! management: etcd, kube-apiserver, kube-controller-manager,      Git server (git http-backend)
//!             source-, kustomize-, helm-controller  ◀──────────────  pushes of tests and users
//!                 │ Secret <cluster>-kubeconfig
//!                 ▼
//! one, two:   etcd, kube-apiserver, kube-controller-manager,      OCI registries (docker-registry)
//!             kube-scheduler, kwok, two nodes
//! ```
//! Tests call [`Testbed::shared`]; users call the binary `testbed` (see `README.md` beside it).
#![allow(
    clippy::disallowed_methods,
    reason = "a harness is nothing but clock, environment and files; only the core of stackflux must be pure"
)]

mod audit;
mod building;
mod client;
mod cluster;
mod cluster_api;
mod cluster_api_schemas;
mod control_plane;
mod debian;
mod election;
mod error;
mod flux;
mod git;
mod gitea;
mod in_memory;
mod lying_proxy;
mod operator;
mod options;
mod own;
mod paths;
mod ports;
mod probe;
mod process;
mod providers;
mod registry;
mod seconds;
mod start;
mod testbed;
mod tools;

pub use audit::{Audit, Mark, Write};
pub use building::build;
pub use cluster::{Cluster, HelmRevision, Object};
pub use cluster_api::{ClusterApi, Infrastructure, NewCluster};
pub use debian::promtool;
pub use error::{Error, Result};
pub use git::{GitServer, GuardedGitServer};
pub use gitea::Gitea;
pub use lying_proxy::{Lie, LyingProxy};
pub use operator::Operator;
pub use options::{Options, Providers};
pub use own::{Component, OwnTestbed};
pub use probe::answers;
pub use process::Process;
pub use registry::Registry;
pub use testbed::Testbed;
