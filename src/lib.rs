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
//!                                          sink: the cluster, files, or a commit
//!                                            │ applied by Flux, which reports in the objects' status
//!                                            ▼
//!                                          rollup: verdict per object, conditions
//! ```
//!
//! The modules stand in the order in which data flows. All but the last five are pure: no clock, no client, no file
//! access. They are what compiles without the feature `shell`.
//!
//! # Where to begin
//!
//! With one Cluster, on its way through `operator::cluster::reconcile`: `operator::cluster::gather` finds its release and
//! what it refers to, `inputs` makes the snapshot of it, [`gate`] says whether to go on, [`plan::cluster`] renders the
//! values and gives the objects, `operator::deliver` writes those that differ through `sink::cluster`, and [`rollup`]
//! turns what Flux says of them into the status of the `ClusterAddon`.
//!
//! Releases come in before that. `operator::stack` follows the repository and lets [`subscription`] decide which are
//! wanted; `operator::release` pins one, delivers what all its Clusters share, and keeps the class until nobody uses it.
//! Both get contents from `operator::library`, which fetches with `source::artifact` and parses with [`release`].
//!
//! With delivery through Git the same reconciles *want* objects instead of writing them, and `operator::git_delivery`
//! commits what is wanted; `operator::publisher` brings releases into the stack repository, as `cli::publish` does by hand,
//! from any `source::origin`. Both go through [`sink`]'s layout and `git`.
//!
//! The command line is shorter: `cli::generate` goes the same way over files, without an operator.

pub mod error;
pub mod names;

pub mod api;
pub mod foreign;

pub mod release;
pub mod template;
pub mod verify;

pub mod inputs;

pub mod gate;
pub mod plan;

pub mod compare;

pub mod subscription;

pub mod rollup;

pub mod promote;

pub mod sink;

#[cfg(feature = "shell")]
pub mod cli;
#[cfg(feature = "shell")]
pub mod forge;
#[cfg(feature = "shell")]
pub mod git;
#[cfg(feature = "shell")]
pub mod http;
#[cfg(feature = "shell")]
pub mod operator;
#[cfg(feature = "shell")]
pub mod publish;
#[cfg(feature = "shell")]
pub mod source;
