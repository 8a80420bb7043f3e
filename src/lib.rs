//! stackflux turns the contents of a cluster stack release into Flux objects for every Cluster API cluster.
//!
//! ```text
//!  registry, GitHub, Git, directory
//!        │ source, verify, publish
//!        ▼
//!  stack repository (Git) ─ promote ─▶ the next stage
//!    releases/<release>/…               Cluster API objects        ClusterStack (settings)
//!        │ fetched by Flux, read by source     │                           │
//!        ▼                                     ▼                           │
//!     release ── gotemplate ───────────▶ inputs (one immutable snapshot) ◀─┘
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
//! The modules below are in groups, one for each floor: each imports only those of the groups before its own, which
//! `tests/integration/architecture.rs` checks. The pure modules come first: no clock, no client, no file access. They are what
//! compiles without the feature `shell`; of [`sink`] the layout of files is pure, and writing them is not.
//!
//! # Where to begin
//!
//! With one Cluster, on its way through `operator::cluster::reconcile`: `operator::cluster::gather` finds its release and
//! what it refers to, `inputs` makes the snapshot of it, [`gate`] says whether to go on, [`plan::cluster`] renders the
//! values and gives the objects, [`addons`] decides what is written and what is deleted, `operator::deliver` writes the
//! objects that differ through `runtime::api_server`, and [`addons`] and [`rollup`] turn what Flux says of them into the status
//! of the `ClusterAddon`.
//!
//! Releases come in before that. `operator::stack` follows the repository and lets [`subscription`] decide which are
//! wanted; `operator::release` pins one, delivers what all its Clusters share, and keeps the class while a Cluster uses it.
//! Both get contents from `operator::release_cache`, which fetches with `source::artifact` and parses with [`release`].
//!
//! With delivery through Git the same reconciles *want* objects instead of writing them, and `operator::git_delivery`
//! commits what is wanted; `operator::publisher` brings releases into the stack repository, as `cli::publish` does by hand,
//! from any `source::origin`. Both go through [`sink`]'s layout and `git`.
//!
//! Values templates are rendered by [`gotemplate`], a crate of this workspace that knows nothing of stackflux.
//!
//! The command line is shorter: `cli::generate` does the same with files, without an operator.
//!
//! # Where to add new parts
//!
//! | what | where |
//! |---|---|
//! | a setting of a `ClusterStack`, with its rule | `api`, `api::rules` |
//! | something wrong that a release can have | `release` |
//! | a reason not to deliver, or to wait | [`gate`] |
//! | a Flux object, or a field of one | [`plan`], `foreign::flux` |
//! | a reason to write, delete or keep an object of a Cluster | [`addons`] |
//! | what a status of Flux means | [`rollup`] |
//! | another place that has releases | `source`, an implementation of `source::origin::Origin`, named in `source::address` |
//! | another proof of who made a release | `verify`, asked for in `source::oci::signatures` |
//! | another place for plans | [`sink`] |
//! | something to refuse, or to do, when a release is published | `publish` |
//! | something that a promotion shows or asks | [`promote`]; what two releases differ in is [`compare`] |
//! | another forge | `forge::dialect` |
//! | a command | a file of `cli` |

pub mod error;
pub mod names;
pub mod yaml;

pub mod api;
pub mod release;

pub mod foreign;
pub mod verify;

pub mod gate;
pub mod inputs;

pub mod plan;

pub mod subscription;

pub mod compare;
pub mod rollup;

pub mod addons;
pub mod promote;

#[cfg(feature = "shell")]
pub mod http;
#[cfg(feature = "shell")]
pub mod temporary;

#[cfg(feature = "shell")]
pub mod git;
#[cfg(feature = "shell")]
pub mod runtime;

#[cfg(feature = "shell")]
pub mod forge;
pub mod sink;
#[cfg(feature = "shell")]
pub mod source;

#[cfg(feature = "shell")]
pub mod publish;

#[cfg(feature = "shell")]
pub mod operator;

#[cfg(feature = "shell")]
pub mod cli;
