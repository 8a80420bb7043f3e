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
//! The modules below are in groups, one for each floor. A module imports only those of earlier groups, which
//! `tests/integration/architecture.rs` checks. The pure modules come first: no clock, no client, no file access. They
//! compile without the feature `shell`. Of [`sink`], the layout of files is pure, and writing them is not.
//!
//! # Which function decides
//!
//! Each question has a pure function with a table of tests. The operator and the command line call the same ones.
//!
//! | question | function |
//! |---|---|
//! | Which release does a Cluster have? | [`ClassReference::release`](foreign::capi::ClassReference::release) of its class |
//! | Which releases are offered, in use, kept or retiring? | [`subscription::roles()`] |
//! | Why is there no release to deliver to a Cluster? | [`addons::lack()`], [`rollup::missing_release`] |
//! | Which `ClusterStack` holds a release, also if two claim it? | [`subscription::holder`], [`subscription::claim`] |
//! | What happens to a release: is it delivered, kept or removed? | [`subscription::decide_release_action`] |
//! | What happens to a Cluster: delivered, orphaned, or suspended and deleted? | [`gate::cluster_action`] |
//! | May addons be delivered to a Cluster, or what holds them? | [`gate::cluster`] |
//! | What is planned? | [`plan::stack`], [`plan::release`], [`plan::cluster`] |
//! | What is written for a Cluster? | [`addons::decide`] |
//! | What is written of a release? | [`subscription::decide_delivery`] |
//! | Would this object be written? | [`plan::delivery::action`] |
//! | In which state may it be written, and what are its owners? | [`plan::write::write`] |
//! | When is an object restored that another client changes again and again? | [`plan::repair::Repairs::next`] |
//! | May a `ClusterStack` refer to a `GitRepository` of another namespace? | [`inputs::consent::check`] |
//! | What is the name of a source or chart, and whose is it? | [`Names::owned`](inputs::content::Names::owned) |
//! | May an existing object with a planned name be overwritten? | [`plan::existing::is_ours`] |
//! | Does an object belong to a `ClusterAddon`? | [`is_owned`](foreign::flux::ownership::is_owned) |
//! | Whose is an object without an owner? | [`labelled_owner`](foreign::flux::ownership::labelled_owner) |
//! | May an object be deleted because the release does not have its addon? | [`addons::prune_decision`] |
//! | Does the removal budget allow that deletion? | [`addons::decide_prune`] |
//! | Does the API server confirm it? | [`addons::is_prune_confirmed`], [`addons::is_still_due`] |
//! | May the objects of a Cluster be deleted together with it? | [`addons::deletion_cause`] |
//! | When does an unused release retire, and is it deleted now? | [`subscription::roles()`], [`subscription::decide_retirement`] |
//! | What does a status of Flux mean? | [`rollup::judge()`] |
//! | Which conditions does an object of ours get? | [`cluster_stack`](rollup::cluster_stack::cluster_stack), [`cluster_stack_release`](rollup::cluster_stack_release()), [`cluster_addon`](rollup::cluster_addon()) |
//! | Which files of a repository change? | [`sink::update::update`] |
//! | May a release be promoted after its soak? | [`promote::soak::check`] |
//! | Is an installation well, and what must a cluster have before? | [`explain::doctor::installed`], [`explain::doctor::before_install`] |
//! | Which process may write? | `runtime::lease::decide`; each write passes `runtime::lease::Fence` |
//!
//! # Where to begin
//!
//! With one Cluster: `operator::cluster::reconcile` gathers the facts, decides, acts, rolls up, writes the status of the
//! `ClusterAddon`, and prunes. `operator::stack` and `operator::release` do the same for a `ClusterStack` and for each of
//! its releases, whose contents `operator::release_cache` fetches and parses.
//!
//! With delivery through Git, the same reconciles enqueue changes instead of writing objects, and `operator::git_delivery`
//! commits them. `operator::publisher` brings releases into the stack repository, as `cli::publish` does.
//! `cli::generate` is shorter: it does the same as a reconcile with files, without an operator.
//!
//! Values templates are rendered by [`gotemplate`], a crate of this workspace that knows nothing of stackflux.
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
//! | what a message of Flux proves, and what to do about it | [`explain::cause`] |
//! | something that can be wrong with an installation | [`explain::doctor`] |
//! | another place that has releases | `source`, an implementation of `source::origin::Origin`, named in `source::address` |
//! | another proof of who made a release | `verify`, asked for in `source::oci::signatures` |
//! | another place for plans | [`sink`] |
//! | something to refuse, or to do, when a release is published | `publish` |
//! | something that a promotion shows or asks | [`promote`]; what two releases differ in is [`compare`] |
//! | another forge | `forge::dialect` |
//! | an object that installs stackflux | `flux/base`, and [`installation`], which has its files in the binary |
//! | a command | a file of `cli` |

/// That of musl makes plans take half as long again: `make bench`.
#[cfg(feature = "static")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pub mod error;
pub mod names;
pub mod yaml;

pub mod api;
pub mod release;

pub mod builtin;
pub mod foreign;
pub mod installation;
pub mod verify;

pub mod gate;
pub mod inputs;

pub mod plan;

pub mod subscription;

pub mod compare;
pub mod rollup;

pub mod addons;
pub mod promote;

pub mod explain;

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
#[cfg(feature = "shell")]
pub mod serve;
pub mod sink;
#[cfg(feature = "shell")]
pub mod source;

#[cfg(feature = "shell")]
pub mod publish;

#[cfg(feature = "shell")]
pub mod operator;

#[cfg(feature = "shell")]
pub mod cli;
