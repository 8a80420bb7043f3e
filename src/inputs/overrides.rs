//! Decides which requests of the owner of a Cluster for its addons are accepted.
//!
//! A request is accepted or refused as a whole. This is what becomes of an addon:
//!
//! | request | the addon |
//! |---|---|
//! | none | the Cluster has it, unless it is an optional component |
//! | accepted | as requested |
//! | refused, and accepted before with a difference | held: not installed, not changed, not removed |
//! | refused, otherwise | as without a request |
//!
//! So a request that the platform never allowed keeps no addon back, and a Cluster that moves to a `ClusterStack` which
//! no longer allows what was accepted keeps the addon as it is. The memory is `inEffect` in the status of the object, which its
//! owner cannot write.

mod offered;
mod values;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::api::cluster_addon_override::{AddonRequest, ClusterAddonOverride, RefusedField};
use crate::api::flux_settings::Overridable;
use crate::foreign::capi::Cluster;
use crate::inputs::stack::Stack;
use crate::names::AddonName;
use crate::release::{Addon, Release};
use serde_json::{Map, Value};

pub use offered::{allowed_request, offered};
pub use values::without_effect;

/// Maximum number of entries in a list of what is refused, or without effect.
pub const MAX_ENTRIES: usize = 16;

/// The requests for the addons of one Cluster, with what is refused.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requests {
    /// The object with the requests, if there is one.
    found: Option<Arc<ClusterAddonOverride>>,
    /// What is refused, by the name of the addon.
    refused: BTreeMap<String, Vec<RefusedField>>,
}

impl Requests {
    /// Decides about the requests for a Cluster of a release with the components of its `ClusterStack`.
    #[must_use]
    pub fn decide(
        found: Option<&Arc<ClusterAddonOverride>>,
        stack: &Stack,
        release: &Release,
        cluster: &Cluster,
    ) -> Self {
        let mut requests = Self { found: found.cloned(), refused: BTreeMap::new() };
        let Some(spec) = found.map(|found| &found.spec).filter(|spec| !spec.addons.is_empty()) else {
            return requests;
        };
        let labels = cluster.labels();
        let offered = release.addons.iter().filter(|addon| addon.is_for(&labels));
        let offered: BTreeMap<&str, &Addon> = offered.map(|addon| (addon.name.as_str(), addon)).collect();
        for (name, request) in &spec.addons {
            let refused = match offered.get(name.as_str()) {
                Some(addon) if release.is_deleted_in_the_end(&addon.name) => {
                    let rule = format!("{} has it only for the time of an upgrade", release.name);
                    vec![RefusedField { field: format!("spec.addons.{name}"), rule }]
                }
                Some(addon) => refused(addon, request, (&overridable(stack, name), &below(stack, addon))),
                None => vec![not_offered(name, release)],
            };
            if !refused.is_empty() {
                requests.refused.insert(name.clone(), refused);
            }
        }
        requests.refuse_by_dependencies(stack, &offered);
        requests
    }

    /// Refuses to switch off what an addon of the Cluster depends on, and to switch on what depends on an addon that is off.
    /// Each round refuses a request for good, so that the order does not matter.
    fn refuse_by_dependencies(&mut self, stack: &Stack, offered: &BTreeMap<&str, &Addon>) {
        let is_switched = |request: &AddonRequest| request.enabled.is_some();
        if !self.all().any(|(_, request)| is_switched(request)) {
            return;
        }
        loop {
            let mut found: BTreeMap<String, RefusedField> = BTreeMap::new();
            for addon in offered.values().filter(|addon| self.has(addon)) {
                for needed in needed(stack, addon) {
                    let needed = offered.get(needed).filter(|needed| !self.has(needed));
                    if let Some((name, rule)) = needed.and_then(|needed| self.conflict(addon, needed)) {
                        let field = format!("spec.addons.{name}.enabled");
                        found.entry(name.to_owned()).or_insert(RefusedField { field, rule });
                    }
                }
            }
            if found.is_empty() {
                return;
            }
            let found = found.into_iter().map(|(name, refused)| (name, vec![refused]));
            self.refused.extend(found);
        }
    }

    /// Returns the name of the addon whose request conflicts with a dependency on an addon that is off, and why.
    fn conflict<'a>(&self, addon: &'a Addon, needed: &'a Addon) -> Option<(&'a str, String)> {
        if !needed.is_optional() {
            return Some((needed.name.as_str(), format!("{} depends on it", addon.name)));
        }
        let is_open = self.accepted(addon.name.as_str()).is_some();
        (addon.is_optional() && is_open).then(|| {
            (addon.name.as_str(), format!("it depends on {}, which is off: switch that on too", needed.name))
        })
    }

    /// Returns the request for an addon if it is accepted.
    fn accepted(&self, addon: &str) -> Option<&AddonRequest> {
        self.request(addon).filter(|_| !self.refused.contains_key(addon))
    }

    fn request(&self, addon: &str) -> Option<&AddonRequest> {
        self.found.as_ref()?.spec.addons.get(addon)
    }

    /// Whether a Cluster has an addon that is offered to it.
    #[must_use]
    pub fn has(&self, addon: &Addon) -> bool {
        let name = addon.name.as_str();
        let enabled = self.request(name).and_then(|request| request.enabled);
        let is_refused = self.refused.contains_key(name);
        match enabled {
            Some(_) if is_refused && self.is_held(name) => true,
            Some(enabled) if !is_refused => enabled,
            _ => !addon.is_optional(),
        }
    }

    /// Whether an addon stays as it is, because its request was accepted before and is refused now.
    #[must_use]
    pub fn is_held(&self, addon: &str) -> bool {
        self.refused.contains_key(addon) && !self.before(addon).is_empty()
    }

    /// Returns the fields of the request for an addon that make a difference to what a Cluster has without it: those of the
    /// accepted request, or those that were accepted before. `offered` is the addon if it is offered to the Cluster.
    #[must_use]
    pub fn in_effect(&self, addon: &str, offered: Option<&Addon>) -> Vec<String> {
        let (Some(request), Some(offered)) = (self.accepted(addon), offered) else {
            return self.before(addon).to_vec();
        };
        let fields = [
            ("enabled", request.enabled.is_some_and(|enabled| enabled == offered.is_optional())),
            ("suspend", request.suspend == Some(true)),
            ("values", !request.values.is_empty()),
        ];
        fields.into_iter().filter(|(_, differs)| *differs).map(|(field, _)| field.to_owned()).collect()
    }

    fn before(&self, addon: &str) -> &[String] {
        self.found.as_ref().map_or(&[], |found| found.in_effect(addon))
    }

    /// Whether the Flux object of an addon is suspended as requested.
    #[must_use]
    pub fn suspends(&self, addon: &str) -> bool {
        self.accepted(addon).is_some_and(|request| request.suspend == Some(true))
    }

    /// Returns the values of an addon that are requested and accepted.
    #[must_use]
    pub fn values(&self, addon: &str) -> Option<&Map<String, Value>> {
        Some(&self.accepted(addon)?.values).filter(|values| !values.is_empty())
    }

    /// Whether the accepted request for an addon is not to have it.
    #[must_use]
    pub fn switches_off(&self, addon: &str) -> bool {
        self.accepted(addon).is_some_and(|request| request.enabled == Some(false))
    }

    /// Returns what is refused of the request for an addon; empty if nothing is.
    #[must_use]
    pub fn refused(&self, addon: &str) -> &[RefusedField] {
        self.refused.get(addon).map_or(&[], Vec::as_slice)
    }

    /// Whether what exists of an addon that is not offered stays, because it was a component of the catalog that the Cluster had
    /// by request, and still requests.
    #[must_use]
    pub fn keeps(&self, addon: &str) -> bool {
        let request = self.request(addon).filter(|_| self.is_held(addon));
        let is_switched_on = request.is_some_and(|request| request.enabled == Some(true));
        is_switched_on && self.before(addon).iter().any(|field| field == "enabled")
    }

    /// Returns the names of the addons that there are requests for, each with the request.
    pub fn all(&self) -> impl Iterator<Item = (&str, &AddonRequest)> {
        let all = self.found.iter().flat_map(|found| &found.spec.addons);
        all.map(|(name, request)| (name.as_str(), request))
    }
}

/// Returns what the owner of a Cluster may request of an addon.
#[must_use]
pub fn overridable<'a>(stack: &'a Stack, addon: &str) -> Cow<'a, Overridable> {
    let settings = stack.flux.addons.get(addon);
    settings.map_or_else(Cow::default, |settings| Cow::Borrowed(&settings.overridable))
}

/// Returns the values of the platform that rank below those of a request, the highest rank first.
fn below<'a>(stack: &'a Stack, addon: &'a Addon) -> Vec<&'a Map<String, Value>> {
    let settings = stack.flux.addons.get(addon.name.as_str());
    let component = addon.component().map(|component| &component.values);
    settings.map(|settings| &settings.values).into_iter().chain(component).collect()
}

/// Returns the names of the addons that an addon depends on.
fn needed<'a>(stack: &'a Stack, addon: &'a Addon) -> BTreeSet<&'a str> {
    let settings = stack.flux.addons.get(addon.name.as_str());
    let by_settings =
        settings.into_iter().flat_map(|settings| settings.depends_on.iter().map(String::as_str));
    let own = addon.component().into_iter().flat_map(|component| &component.depends_on);
    by_settings.chain(own.map(AddonName::as_str)).filter(|name| *name != addon.name.as_str()).collect()
}

fn not_offered(name: &str, release: &Release) -> RefusedField {
    let is_known = release.addons.iter().any(|addon| addon.name.as_str() == name);
    let rule = if is_known {
        "the ClusterStack does not offer it to a Cluster with these labels".to_owned()
    } else {
        format!("neither {} nor the ClusterStack has an addon of this name", release.name)
    };
    RefusedField { field: format!("spec.addons.{name}"), rule }
}

/// Returns what is refused of a request for an addon, beside its dependencies.
fn refused(
    addon: &Addon,
    request: &AddonRequest,
    (allowed, below): (&Overridable, &[&Map<String, Value>]),
) -> Vec<RefusedField> {
    let name = addon.name.as_str();
    let mut refused = Vec::new();
    let mut refuse = |field: &str, rule: &str| {
        refused.push(RefusedField { field: format!("spec.addons.{name}.{field}"), rule: rule.to_owned() });
    };
    let setting = |field: &str| {
        format!("spec.flux.addons.{name}.overridable.{field} of the ClusterStack does not allow it")
    };
    // What is so by default needs no permission.
    if request.enabled == Some(false) && !addon.is_optional() && !allowed.enabled {
        refuse("enabled", &setting("enabled"));
    }
    if request.suspend == Some(true) && !allowed.suspend {
        refuse("suspend", &setting("suspend"));
    }
    if !request.values.is_empty() {
        if addon.is_chart() {
            let schema = addon.platform().and_then(|platform| platform.schema.as_ref());
            let allowed = (&*allowed.values, schema);
            values::check(&request.values, allowed, (below, &setting("values")), &mut refuse);
        } else {
            refuse("values", "plain manifests have no values");
        }
    }
    refused
}

#[cfg(test)]
mod tests;
