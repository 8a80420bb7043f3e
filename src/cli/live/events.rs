//! Selects events about stackflux's own kinds and the Flux objects that it generated.

use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use serde::Serialize;

use super::lists::{Listed, list};
use super::text::age;
use super::{Scope, Session, advice};
use crate::api;
use crate::api::ClusterAddon;
use crate::api::labels::{FIELD_MANAGER, MANAGED_BY};
use crate::cli::error::CliError;
use crate::cli::output::{Layout, object_name, table_in};
use crate::explain::Named;
use crate::explain::snapshot::Snapshot;
use crate::explain::tree::{Node, Only, tree};
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
    /// Kind and name of the object.
    #[serde(skip)]
    about: (String, Key),
}

/// The object that events are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct ObjectName {
    /// In lower case and in the singular.
    kind: String,
    namespace: Option<String>,
    name: String,
}

impl ObjectName {
    /// Parses `KIND/NAME` or `KIND/NAMESPACE/NAME`, of a kind of any group.
    pub(in crate::cli) fn parse(text: &str) -> Result<Self, String> {
        let (namespace, name) = match text.split('/').collect::<Vec<_>>().as_slice() {
            [_, name] => (None, (*name).to_owned()),
            [_, namespace, name] => (Some((*namespace).to_owned()), (*name).to_owned()),
            _ => return Err("expected KIND/NAME, such as helmrelease/one.cni".to_owned()),
        };
        let kind = text.split(['/', '.']).next().unwrap_or_default().to_lowercase();
        let kind = match kind.as_str() {
            "csk" | "cs" | "stack" => "clusterstack",
            "cskr" | "csr" | "release" | "releases" => "clusterstackrelease",
            "cl" => "cluster",
            "caddon" => "clusteraddon",
            "hr" => "helmrelease",
            "ks" => "kustomization",
            "gitrepo" | "gitrepositories" => "gitrepository",
            "hc" => "helmchart",
            other => other.strip_suffix('s').unwrap_or(other),
        };
        Ok(Self { kind: kind.to_owned(), namespace, name })
    }

    fn is(&self, (kind, key): &(String, Key)) -> bool {
        kind.eq_ignore_ascii_case(&self.kind)
            && key.name == self.name
            && self.namespace.as_ref().is_none_or(|namespace| *namespace == key.namespace)
    }
}

/// Reads all events in scope with one LIST, of the namespace or of all namespaces.
pub(in crate::cli) async fn read(session: &Session, scope: &Scope) -> Result<Vec<Event>, CliError> {
    let scope = Scope { selector: None, ..scope.clone() };
    let events = list(&session.client, &Listed::new("", "v1", "events"), &scope).await;
    events.map_err(|error| advice::failed(session, &error))
}

/// Selects the events about stackflux's objects, the newest last; if objects are named or Clusters are selected, only
/// those about them and the objects below them.
pub(in crate::cli) fn select(
    events: &[Event],
    snapshot: &Snapshot,
    only: Option<&[(Named, String)]>,
) -> Vec<Line> {
    let ours = Ours::of(snapshot, only);
    let mut lines: Vec<Line> = events.iter().filter(|event| ours.has(event)).map(Line::of).collect();
    lines.sort_by_key(|line| line.last_seen);
    lines
}

/// Formats the events as a table; empty if there are none.
pub(in crate::cli) fn text(lines: &[Line], now: Timestamp, layout: Layout) -> String {
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
    table_in(layout, ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"], rows)
}

/// Returns the names of the objects that the events are about.
pub(in crate::cli) fn names(lines: &[Line]) -> Vec<String> {
    lines.iter().map(|line| object_name(&line.about.0, &line.about.1.namespace, &line.about.1.name)).collect()
}

impl Line {
    /// Whether the event is of one of these types and about this object; all if there are none.
    pub(in crate::cli) fn is_wanted(&self, types: &[String], object: Option<&ObjectName>) -> bool {
        let is_type = types.is_empty() || types.iter().any(|wanted| wanted.eq_ignore_ascii_case(&self.kind));
        is_type && object.is_none_or(|object| object.is(&self.about))
    }

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
            about: (of(&about.kind), Key::new(&of(&about.namespace), &of(&about.name))),
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
    /// The named or selected objects, with their kinds, other than those of Flux; `None` for all.
    own: Option<BTreeSet<(String, Key)>>,
}

impl Ours {
    fn of(snapshot: &Snapshot, only: Option<&[(Named, String)]>) -> Self {
        let clusters: Vec<&Key> = match only {
            None => snapshot.members.keys().collect(),
            Some(named) => {
                let is_named = |key: &&Key| {
                    named.iter().any(|(kind, name)| *kind == Named::Cluster && *name == key.name)
                };
                snapshot.members.keys().filter(is_named).collect()
            }
        };
        let is_all = only.is_none() && !snapshot.selected;
        let flux = snapshot.flux.iter().filter(|((_, key), object)| {
            let label = |name: &str| object.metadata().labels.as_ref()?.get(name).map(String::as_str);
            let cluster = label(api::labels::CLUSTER_NAME).map(|name| Key::new(&key.namespace, name));
            label(MANAGED_BY) == Some(FIELD_MANAGER)
                && (is_all || cluster.is_some_and(|cluster| clusters.contains(&&cluster)))
        });
        let mut ours =
            Self { flux: flux.map(|(key, _)| key.clone()).collect(), own: (!is_all).then(BTreeSet::new) };
        for key in clusters {
            ours.add("Cluster", key);
        }
        for (kind, name) in only.unwrap_or_default().iter().filter(|(kind, _)| *kind != Named::Cluster) {
            let found = tree(snapshot, Some(&Only { kind: *kind, name: name.clone() }));
            for node in &found {
                ours.add_below(node, (&kind.to_string(), name), false);
            }
        }
        ours
    }

    /// Adds an object, and of a Cluster the objects with its name.
    fn add(&mut self, kind: &str, key: &Key) {
        if let Some(kind) = FluxKind::of(kind) {
            self.flux.insert((kind, key.clone()));
        } else if let Some(own) = &mut self.own {
            own.insert((kind.to_owned(), key.clone()));
            if kind == "Cluster" {
                let addon = ClusterAddon::name_for(&key.name);
                own.insert(("ClusterAddon".to_owned(), Key::new(&key.namespace, &addon)));
                own.insert(("ClusterAddonOverride".to_owned(), key.clone()));
            }
        }
    }

    /// Adds the named object of a tree, and those below it.
    fn add_below(&mut self, node: &Node, named: (&str, &str), is_below: bool) {
        let is_below = is_below || (node.kind == named.0 && node.name == named.1);
        if is_below {
            self.add(&node.kind, &Key::new(&node.namespace, &node.name));
        }
        node.children.iter().for_each(|child| self.add_below(child, named, is_below));
    }

    fn has(&self, event: &Event) -> bool {
        let about = &event.involved_object;
        let of = |text: &Option<String>| text.clone().unwrap_or_default();
        let (kind, key) = (of(&about.kind), Key { namespace: of(&about.namespace), name: of(&about.name) });
        let group = of(&about.api_version);
        let group = group.split_once('/').map_or("", |(group, _)| group);
        if group == api::GROUP || (group == capi::GROUP && kind == "Cluster") {
            return match &self.own {
                None => group == api::GROUP,
                Some(own) => own.contains(&(kind, key)),
            };
        }
        FluxKind::of(&kind).is_some_and(|known| known.group() == group && self.flux.contains(&(known, key)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_filtered_by_type_and_object() {
        let line = |kind: &str, name: &str| Line {
            last_seen: None,
            kind: "Warning".to_owned(),
            reason: String::new(),
            object: String::new(),
            message: String::new(),
            count: 1,
            about: (kind.to_owned(), Key::new("prod", name)),
        };
        let object = |text: &str| ObjectName::parse(text).unwrap();
        let of = line("HelmRelease", "one.cni");
        assert!(of.is_wanted(&[], None) && of.is_wanted(&["warning".to_owned()], None));
        assert!(!of.is_wanted(&["Normal".to_owned()], None));
        for (text, line, expected) in [
            ("helmrelease/one.cni", &of, true),
            ("HelmReleases.helm.toolkit.fluxcd.io/one.cni", &of, true),
            ("hr/prod/one.cni", &of, true),
            ("hr/demo/one.cni", &of, false),
            ("ks/one.cni", &of, false),
            ("hr/two.cni", &of, false),
            ("csk/demo", &line("ClusterStack", "demo"), true),
            ("csr/a", &line("ClusterStackRelease", "a"), true),
            ("caddon/cluster-addon-one", &line("ClusterAddon", "cluster-addon-one"), true),
        ] {
            assert_eq!(line.is_wanted(&[], Some(&object(text))), expected, "{text}");
        }
        assert!(ObjectName::parse("one").is_err());
        assert_eq!(names(&[line("HelmRelease", "one.cni")]), ["helmrelease/prod/one.cni"]);
    }
}
