//! Selects events about stackflux's own kinds and the Flux objects that it generated.

use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use serde::Serialize;

use super::lists::{Listed, list};
use super::snapshot::{Snapshot, age};
use super::{Scope, Session, advice};
use crate::api;
use crate::api::labels::{FIELD_MANAGER, MANAGED_BY};
use crate::cli::error::CliError;
use crate::cli::output::table;
use crate::foreign::capi;
use crate::foreign::flux::FluxKind;
use crate::names::Key;
use crate::names::credentials::masked;

/// One event, or several of the same kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct Line {
    last_seen: Option<Timestamp>,
    #[serde(rename = "type")]
    kind: String,
    reason: String,
    object: String,
    message: String,
    count: i32,
}

/// Reads all events in scope with one LIST, of the namespace or of all namespaces.
pub(in crate::cli) async fn read(session: &Session, scope: &Scope) -> Result<Vec<Event>, CliError> {
    let scope = Scope { selector: None, ..scope.clone() };
    let events = list(&session.client, &Listed::new("", "v1", "events"), &scope).await;
    events.map_err(|error| advice::failed(session, &error))
}

/// Selects the events about stackflux's objects, the newest last; if a cluster is named or Clusters are selected, only
/// those about them.
pub(in crate::cli) fn select(events: &[Event], snapshot: &Snapshot, cluster: Option<&str>) -> Vec<Line> {
    let ours = Ours::of(snapshot, cluster);
    let mut lines: Vec<Line> = events.iter().filter(|event| ours.has(event)).map(Line::of).collect();
    lines.sort_by_key(|line| line.last_seen);
    lines
}

/// Formats the events as a table; empty if there are none.
pub(in crate::cli) fn text(lines: &[Line], now: Timestamp) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let rows = lines.iter().map(|line| {
        let times = if line.count > 1 { format!(" (x{})", line.count) } else { String::new() };
        [
            format!("{}{times}", age(line.last_seen, now)),
            line.kind.clone(),
            line.reason.clone(),
            line.object.clone(),
            line.message.split_whitespace().collect::<Vec<_>>().join(" "),
        ]
    });
    table(["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"], rows)
}

impl Line {
    fn of(event: &Event) -> Self {
        let about = &event.involved_object;
        let of = |text: &Option<String>| text.clone().unwrap_or_default();
        let series = event.series.as_ref();
        let count = series.and_then(|series| series.count).or(event.count).unwrap_or(1);
        Self {
            last_seen: seen(event),
            kind: of(&event.type_),
            reason: of(&event.reason),
            object: format!("{} {}/{}", of(&about.kind), of(&about.namespace), of(&about.name)),
            message: masked(&of(&event.message)).into_owned(),
            count,
        }
    }
}

/// Returns when the event last occurred. The fields depend on the API that the event was written with.
fn seen(event: &Event) -> Option<Timestamp> {
    let series = event.series.as_ref().and_then(|series| series.last_observed_time.as_ref());
    let micro = series.or(event.event_time.as_ref()).map(|time| time.0);
    let last = event.last_timestamp.as_ref().map(|time| time.0);
    last.max(micro).or_else(|| event.metadata.creation_timestamp.as_ref().map(|time| time.0))
}

/// The objects whose events are shown.
struct Ours {
    flux: BTreeSet<(FluxKind, Key)>,
    /// The named or selected clusters; `None` for all clusters.
    clusters: Option<BTreeSet<Key>>,
}

impl Ours {
    fn of(snapshot: &Snapshot, cluster: Option<&str>) -> Self {
        let meant = || snapshot.members.keys().filter(|key| cluster.is_none_or(|name| key.name == name));
        let clusters: Option<BTreeSet<Key>> =
            (cluster.is_some() || snapshot.selected).then(|| meant().cloned().collect());
        let is_meant = |namespace: &str, name: Option<&str>| {
            let key = name.map(|name| Key::new(namespace, name));
            clusters.as_ref().is_none_or(|clusters| key.is_some_and(|key| clusters.contains(&key)))
        };
        let flux = snapshot.flux.iter().filter(|((_, key), object)| {
            let label = |name: &str| object.metadata().labels.as_ref()?.get(name).map(String::as_str);
            label(MANAGED_BY) == Some(FIELD_MANAGER)
                && is_meant(&key.namespace, label(api::labels::CLUSTER_NAME))
        });
        let flux = flux.map(|(key, _)| key.clone()).collect();
        Self { flux, clusters }
    }

    fn has(&self, event: &Event) -> bool {
        let about = &event.involved_object;
        let of = |text: &Option<String>| text.clone().unwrap_or_default();
        let (kind, key) = (of(&about.kind), Key { namespace: of(&about.namespace), name: of(&about.name) });
        let group = of(&about.api_version);
        let group = group.split_once('/').map_or("", |(group, _)| group);
        if group == api::GROUP || (group == capi::GROUP && kind == "Cluster") {
            return match &self.clusters {
                None => group == api::GROUP,
                Some(clusters) => {
                    let name = key.name.strip_prefix("cluster-addon-").unwrap_or(&key.name);
                    matches!(kind.as_str(), "Cluster" | "ClusterAddon")
                        && clusters.contains(&Key::new(&key.namespace, name))
                }
            };
        }
        FluxKind::of(&kind).is_some_and(|known| known.group() == group && self.flux.contains(&(known, key)))
    }
}
