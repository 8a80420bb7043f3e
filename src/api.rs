//! The Kubernetes kinds that stackflux owns: `ClusterStack`, `ClusterStackRelease`, `ClusterAddon` and
//! `ClusterAddonOverride`.
//!
//! Group, kinds and fields are those of the cluster-stack-operator's `api/v1alpha1`, so that manifests written for
//! it apply unchanged; stackflux adds fields and takes none away from `spec`. The custom resource definitions are
//! generated from these types ([`custom_resource_definitions`]); their CEL rules and the offline check of the same
//! rules stand side by side in [`rules`].

#![allow(
    unreachable_pub,
    clippy::duplicated_attributes,
    reason = "KubeSchema's derive copies each `pub` struct into a function; print columns are not duplicates"
)]

pub mod cluster_addon;
pub mod cluster_addon_override;
pub mod cluster_stack;
pub mod cluster_stack_release;
pub mod components;
pub mod conditions;
mod definitions;
pub mod delivery;
pub mod duration;
pub mod flux_fields;
pub mod flux_settings;
pub mod git_commit;
pub mod git_source;
pub mod labels;
pub mod platform;
pub mod read;
pub mod rules;
mod schema;
pub mod upstream;

pub use cluster_addon::{ClusterAddon, ClusterAddonSpec, ClusterAddonStatus};
pub use cluster_addon_override::{
    AddonRequest, ClusterAddonOverride, ClusterAddonOverrideSpec, ClusterAddonOverrideStatus,
};
pub use cluster_stack::{ClusterStack, ClusterStackSpec, ClusterStackStatus};
pub use cluster_stack_release::{ClusterStackRelease, ClusterStackReleaseSpec, ClusterStackReleaseStatus};
pub use components::ComponentSettings;
pub use conditions::{ConditionType, Reason};
pub use definitions::custom_resource_definitions;
pub use delivery::{Delivery, DeliveryMode, GitDelivery};
pub use duration::Duration;
pub use flux_settings::{
    AddonSettings, DriftDetection, FluxSettings, KubeConfig, Overridable, Preset, SourcePlacement,
    WaitHandling,
};
pub use git_source::{GitReference, GitRepositoryReference, GitSource, StackSource};
pub use upstream::Upstream;

/// The API group of all kinds.
pub const GROUP: &str = "clusterstack.x-k8s.io";

/// The one version of the group.
pub const VERSION: &str = "v1alpha1";
