//! The addons that are offered to a Cluster.

use std::collections::BTreeMap;

use super::values::paths;
use super::{MAX_ENTRIES, Requests, overridable};
use crate::api::cluster_addon_override::{AllowedRequest, AvailableAddon};
use crate::api::flux_settings::Overridable;
use crate::foreign::capi::Cluster;
use crate::inputs::stack::Stack;
use crate::names::AddonName;
use crate::release::{Addon, Release, RequestSchema};

/// Maximum number of addons in a status.
const MAX_OFFERED: usize = 128;

/// Lists the addons that a release and its `ClusterStack` offer to a Cluster, on or off. `versions` are those that Flux has fetched.
#[must_use]
pub fn offered(
    stack: &Stack,
    release: &Release,
    (cluster, requests): (&Cluster, &Requests),
    versions: &BTreeMap<AddonName, String>,
) -> Vec<AvailableAddon> {
    let labels = cluster.labels();
    let is_there = |addon: &&Addon| addon.is_for(&labels) && !release.is_deleted_in_the_end(&addon.name);
    let offered = release.addons.iter().filter(is_there);
    let entry = |addon: &Addon| {
        let allowed = overridable(stack, addon.name.as_str());
        let platform = addon.platform();
        let schema = platform.and_then(|platform| platform.schema.as_ref()).filter(|_| addon.is_chart());
        let chart = addon.chart().map(|chart| chart.known_as().version);
        AvailableAddon {
            name: addon.name.to_string(),
            version: chart.or_else(|| versions.get(&addon.name).cloned()),
            enabled: requests.has(addon),
            optional: addon.is_optional(),
            description: platform.and_then(|platform| platform.description.clone()),
            homepage: platform.and_then(|platform| platform.homepage.clone()),
            overridable: allowed_request(&allowed, schema, (addon.is_chart(), addon.is_optional())),
        }
    };
    offered.take(MAX_OFFERED).map(entry).collect()
}

/// Lists what may be requested of an addon with these settings and, for a component, this schema.
#[must_use]
pub fn allowed_request(
    allowed: &Overridable,
    schema: Option<&RequestSchema>,
    (is_chart, is_optional): (bool, bool),
) -> AllowedRequest {
    let mut values: Vec<String> = allowed.values.iter().filter(|_| is_chart).cloned().collect();
    for path in schema.filter(|_| is_chart).map(paths).unwrap_or_default() {
        if !values.contains(&path) {
            values.push(path);
        }
    }
    let more = values.len().saturating_sub(MAX_ENTRIES);
    values.truncate(MAX_ENTRIES);
    AllowedRequest {
        enabled: allowed.enabled || is_optional,
        suspend: allowed.suspend,
        values,
        more_values: u32::try_from(more).unwrap_or(u32::MAX),
    }
}
