//! `stackflux addons`.

use std::collections::BTreeMap;

use kube::Api;
use kube::api::ListParams;
use kube::core::SelectorExt as _;
use serde::Serialize;

use super::error::CliError;
use super::live::request::Clusters;
use super::live::subject::ClusterArgument;
use super::live::{self, Connection, Session};
use super::output::{Layout, ListOutput, NOTHING, table_in};
use super::{CommandResult, Outcome, terminal};
use crate::api::cluster_addon::AddonStatus;
use crate::api::cluster_addon_override::{AddonRequest, AllowedRequest, AvailableAddon, RequestStatus};
use crate::api::platform::PlatformComponent;
use crate::api::{ClusterAddon, ClusterAddonOverride, ClusterStack};
use crate::foreign::capi::Cluster;
use crate::inputs::overrides::allowed_request;
use crate::names::Key;
use crate::release::RequestSchema;
use crate::subscription::{Claimant, holder};

/// List the addons that are offered to a cluster, and what may be requested of them
///
/// Shows which addons stack and platform offer, which of them are on, at which version, and why. It writes nothing, and needs
/// only the right to read the objects of the cluster. With a `ClusterAddonOverride`, its status has the whole list; an empty one is
/// enough. Without one, the `ClusterAddon` and the ClusterStack are read.
///
/// Exits with 1 if no addons are offered.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "stackflux addons [OPTIONS] [cluster/]NAME",
    after_help = "Examples:
  # What a cluster has, and what its owner may request
  stackflux addons one -n team-a
  # The names of all addons that are off
  stackflux addons one -o json | jq -r '.[] | select(.enabled | not).name'"
)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterArgument,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    output: ListOutput,
}

/// An addon that is offered to a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    #[serde(flatten)]
    offered: AvailableAddon,
    /// The state of the addon in the cluster, as one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    /// Why it is on or off.
    why: String,
}

/// The objects of a cluster.
struct Found {
    cluster: Cluster,
    addon: Option<ClusterAddon>,
    requested: Option<ClusterAddonOverride>,
    stack: Option<ClusterStack>,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    live::block_on(async {
        let session = arguments.connection.open().await?;
        let key = arguments.connection.key(&session, &arguments.cluster.subject()?)?;
        let found = read(&session, &key).await?;
        let rows = rows(&found);
        let names = |rows: &Vec<Row>| rows.iter().map(|row| row.offered.name.clone()).collect();
        arguments.output.print(&rows, |rows, layout| text(rows, layout), names)?;
        if rows.is_empty() {
            terminal::warning(format!("no addons are offered to Cluster {key}"));
            return Ok(Outcome::Differs);
        }
        Ok(Outcome::Done)
    })
}

async fn read(session: &Session, key: &Key) -> Result<Found, CliError> {
    let Key { namespace, name } = key;
    let cluster = Clusters::new(session).await?.one(key).get().await?;
    let addon: Api<ClusterAddon> = Api::namespaced(session.client(), namespace);
    let addon = addon.get_opt(&ClusterAddon::name_for(name)).await.map_err(|error| session.failed(&error))?;
    let requested: Api<ClusterAddonOverride> = Api::namespaced(session.client(), namespace);
    let requested = requested.get_opt(name).await.map_err(|error| session.failed(&error))?;
    let mut found = Found { cluster, addon, requested, stack: None };
    if available(&found).is_none() {
        found.stack = stack(session, &found.cluster).await?;
    }
    Ok(found)
}

/// Returns the `ClusterStack` of a Cluster; `None` if there is none, or users may not read it.
async fn stack(session: &Session, cluster: &Cluster) -> Result<Option<ClusterStack>, CliError> {
    let Some((namespace, release)) = cluster.release() else { return Ok(None) };
    let stacks: Api<ClusterStack> = Api::namespaced(session.client(), &namespace);
    match stacks.list(&ListParams::default()).await {
        Ok(stacks) => Ok(holder(stacks.items.iter().map(Claimant), &release, None).cloned()),
        Err(kube::Error::Api(status)) if status.is_forbidden() => {
            terminal::warning(format!(
                "ClusterStacks of namespace {namespace} were not read ({}): addons that are off are missing; an empty \
                 ClusterAddonOverride lists them in its status",
                status.message
            ));
            Ok(None)
        }
        Err(error) => Err(session.failed(&error)),
    }
}

/// Returns the list in the status of the `ClusterAddonOverride`, if it is about the present requests.
fn available(found: &Found) -> Option<&[AvailableAddon]> {
    let requested = found.requested.as_ref()?;
    let status = requested.status.as_ref().filter(|status| !status.available.is_empty())?;
    (status.observed_generation == requested.metadata.generation).then_some(&status.available)
}

/// Lists the addons that are offered to a cluster.
fn rows(found: &Found) -> Vec<Row> {
    let states: BTreeMap<&str, &AddonStatus> = {
        let status = found.addon.iter().filter_map(|addon| addon.status.as_ref());
        status.flat_map(|status| &status.addons).map(|addon| (addon.name.as_str(), addon)).collect()
    };
    let offered = available(found).map_or_else(|| combined(found, &states), <[AvailableAddon]>::to_vec);
    let row = |offered: AvailableAddon| {
        let state = states.get(offered.name.as_str()).and_then(|of| of.reason.clone().or(of.phase.clone()));
        Row { why: why(found, &offered), state, offered }
    };
    offered.into_iter().map(row).collect()
}

/// Lists the addons that a `ClusterAddon` reports, and the optional components of its `ClusterStack`.
fn combined(found: &Found, states: &BTreeMap<&str, &AddonStatus>) -> Vec<AvailableAddon> {
    let settings = found.stack.as_ref().map(|stack| &stack.spec.flux.addons);
    let allowed = |name: &str, component: Option<&PlatformComponent>| {
        let settings = settings.and_then(|settings| settings.get(name)).map(|of| of.overridable.clone());
        let schema = component.and_then(|component| RequestSchema::read(&component.schema).ok());
        let object = states.get(name).and_then(|state| state.object.as_ref());
        let is_chart = object.map_or_else(
            || component.is_none_or(|component| component.chart.is_some()),
            |object| object.kind == "HelmRelease",
        );
        let is_optional = component.is_some_and(|component| component.optional);
        allowed_request(&settings.unwrap_or_default(), schema.as_ref(), (is_chart, is_optional))
    };
    let repositories = found.stack.iter().flat_map(|stack| &stack.spec.components.repositories);
    let components: BTreeMap<&str, &PlatformComponent> =
        repositories.flat_map(|of| &of.components).map(|of| (of.name.as_str(), of)).collect();
    let entry = |name: &str, enabled: bool| {
        let component = components.get(name).copied();
        AvailableAddon {
            name: name.to_owned(),
            version: states.get(name).and_then(|state| state.version.clone()),
            enabled,
            optional: component.is_some_and(|component| component.optional),
            description: component.and_then(|component| component.description.clone()),
            homepage: component.and_then(|component| component.homepage.clone()),
            overridable: allowed(name, component),
        }
    };
    let labels = found.cluster.labels();
    let is_offered = |component: &&&PlatformComponent| {
        let selector = component.cluster_selector.clone().map(kube::core::Selector::try_from);
        selector.is_none_or(|selector| selector.is_ok_and(|selector| selector.matches(&labels)))
    };
    let off = components.values().filter(|of| of.optional).filter(is_offered);
    let off = off.filter(|of| !states.contains_key(of.name.as_str())).map(|of| entry(&of.name, false));
    states.keys().map(|name| entry(name, true)).chain(off).collect()
}

/// Says why an addon is on or off.
fn why(found: &Found, offered: &AvailableAddon) -> String {
    let requested = found.requested.as_ref();
    let request: Option<&AddonRequest> = requested.and_then(|it| it.spec.addons.get(&offered.name));
    let answers = requested.and_then(|it| it.status.as_ref()).map_or(&[][..], |status| &status.addons);
    let answer: Option<&RequestStatus> = answers.iter().find(|answer| answer.name == offered.name);
    if let Some(refused) = answer.and_then(|answer| answer.refused.first()).filter(|_| request.is_some()) {
        return format!("the request is refused: {}: {}", refused.field, refused.rule);
    }
    let (enabled, suspend, has_values) = request
        .map_or((None, false, false), |of| (of.enabled, of.suspend == Some(true), !of.values.is_empty()));
    let why = match (enabled, offered.optional) {
        (Some(false), _) => "switched off by request",
        (Some(true), true) => "switched on by request",
        (_, true) => "optional, and not requested",
        (_, false) => "by default",
    };
    let more = [(suspend, "suspended by request"), (has_values, "with requested values")];
    let more = more.into_iter().filter(|(is_so, _)| *is_so && enabled != Some(false)).map(|(_, what)| what);
    [why].into_iter().chain(more).collect::<Vec<_>>().join(", ")
}

/// Formats the list.
fn text(rows: &[Row], layout: Layout) -> String {
    let cell = |text: Option<&String>| text.cloned().unwrap_or_else(|| NOTHING.to_owned());
    let may = |allowed: &AllowedRequest| {
        let parts = [(allowed.enabled, "enabled"), (allowed.suspend, "suspend")];
        let parts = parts.into_iter().filter(|(is_allowed, _)| *is_allowed).map(|(_, name)| name.to_owned());
        let values = allowed.values.iter().map(|path| format!("values {path}"));
        let mut all: Vec<String> = parts.chain(values).collect();
        if allowed.more_values > 0 {
            all.push(format!("and {} more", allowed.more_values));
        }
        if all.is_empty() { NOTHING.to_owned() } else { all.join(", ") }
    };
    let rows = rows.iter().map(|Row { offered, state, why }| {
        let on = if offered.enabled { "on" } else { "off" };
        let described = offered.description.as_ref().map_or(String::new(), |text| format!(": {text}"));
        [
            offered.name.clone(),
            on.to_owned(),
            cell(offered.version.as_ref()),
            cell(state.as_ref()),
            may(&offered.overridable),
            format!("{why}{described}"),
        ]
    });
    table_in(layout, ["ADDON", "IS", "VERSION", "STATE", "MAY BE REQUESTED", "WHY"], rows)
}

#[cfg(test)]
mod tests;
