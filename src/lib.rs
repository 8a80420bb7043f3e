//! stackflux turns the contents of a cluster stack release into Flux objects for every Cluster API cluster.
//!
//! ```text
//!  stack repository (Git)               Cluster API objects        ClusterStack (settings)
//!    releases/<release>/…               Cluster, infra, control plane      │
//!        │ source                            │                             │
//!        ▼                                   ▼                             │
//!     release ── template ─────────────▶ inputs (one immutable snapshot) ◀─┘
//!                                            │ gate: may it be delivered?
//!                                            ▼
//!                                          plan: ordered Flux objects, the same inputs give the same bytes
//!                                            │
//!                                            ▼
//!                                          sink: the cluster, or files
//!                                            │ applied by Flux, which reports in the objects' status
//!                                            ▼
//!                                          rollup: verdict per object, conditions
//! ```
//!
//! The modules stand in the order in which data flows. All but the last four are pure: no clock, no client, no file
//! access. They are what compiles without the feature `shell`.

pub mod error;
pub mod names;

pub mod api;
pub mod foreign;

pub mod release;
pub mod template;

pub mod inputs;

pub mod gate;
pub mod plan;
pub mod subscription;

pub mod rollup;

#[cfg(feature = "shell")]
pub mod cli;
#[cfg(feature = "shell")]
pub mod operator;
#[cfg(feature = "shell")]
pub mod sink;
#[cfg(feature = "shell")]
pub mod source;
