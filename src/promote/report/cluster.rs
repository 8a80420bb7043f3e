//! The part of a report about Clusters: Clusters with the same changes are grouped.

use std::collections::BTreeMap;

use super::MAX_NAMES;
use crate::compare::plans::{ChangeKind, ClusterChange, Effect, ObjectChange};
use crate::compare::values::ValueChange;
use crate::promote::compare::Upgrade;
use crate::promote::document::{Block, Line, shortened};

/// Maximum number of values shown for one addon, and maximum length of a value and of its path in characters.
const MAX_VALUES: usize = 50;
const MAX_VALUE_CHARACTERS: usize = 120;

pub(super) fn blocks(upgrade: &Upgrade) -> Vec<Block> {
    if upgrade.namespace.is_none() {
        return Vec::new();
    }
    let mut blocks = Vec::new();
    if upgrade.clusters.is_empty() {
        blocks.push(Block::Paragraph(Line::new("No Cluster with this release is among the stage's inputs.")));
    }
    for clusters in groups(&upgrade.clusters) {
        blocks.extend(of_group(&clusters));
    }
    if !upgrade.objects.is_empty() {
        let summary = Line::new(&format!("{} that all Clusters share", counted(&upgrade.objects)));
        blocks.push(Block::Folded(summary, upgrade.objects.iter().map(of_shared).collect()));
    }
    blocks
}

/// Groups Clusters that have the same changes except for their names.
fn groups(clusters: &[ClusterChange]) -> Vec<Vec<&ClusterChange>> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<&ClusterChange>> = Vec::new();
    for cluster in clusters {
        let place = *places.entry(shape(cluster)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(cluster),
            None => groups.push(vec![cluster]),
        }
    }
    groups
}

/// Returns a key for the changes of a Cluster, without its name.
fn shape(cluster: &ClusterChange) -> String {
    let objects: Vec<_> = cluster
        .objects
        .iter()
        .map(|object| {
            let name = object.addon.as_ref().unwrap_or(&object.name);
            (object.change, &object.kind, name, object.effect, &object.values)
        })
        .collect();
    let held: Vec<_> = cluster.held.iter().map(|held| (&held.addon, held.reason)).collect();
    format!("{:?}", (objects, &cluster.unchanged, held, (&cluster.upgrade, &cluster.on_the_way)))
}

fn of_group(clusters: &[&ClusterChange]) -> Vec<Block> {
    let Some(first) = clusters.first() else { return Vec::new() };
    let names: Vec<String> =
        clusters.iter().map(|cluster| format!("{}/{}", cluster.namespace, cluster.name)).collect();
    let title = if names.len() == 1 { "Cluster ".to_owned() } else { format!("{} Clusters: ", names.len()) };
    let title = Line::new(&title).codes(names.iter().map(String::as_str), MAX_NAMES);
    let mut blocks = vec![Block::Heading(3, title), Block::List(sentences(first))];
    for object in first.objects.iter().filter(|object| !object.values.is_empty()) {
        blocks.push(values(object));
    }
    if !first.objects.is_empty() {
        let summary = Line::new(&format!("{} in ", counted(&first.objects)));
        let summary = summary.code(&format!("{}/{}", first.namespace, first.name));
        blocks.push(Block::Folded(summary, first.objects.iter().map(of_object).collect()));
    }
    blocks
}

/// Describes what Flux does in the workload cluster, which addons it does not touch, and what is held.
fn sentences(cluster: &ClusterChange) -> Vec<Line> {
    let of = |wanted: Effect| {
        let objects = cluster.objects.iter().filter(move |object| object.effect == Some(wanted));
        objects.filter_map(|object| object.addon.as_deref()).collect::<Vec<_>>()
    };
    let sentences = [
        ("Helm installs ", of(Effect::Installs), ""),
        ("Helm upgrades ", of(Effect::UpgradesChartAndValues), " to another chart with other values"),
        ("Helm upgrades ", of(Effect::UpgradesChart), " to another chart"),
        ("Helm upgrades ", of(Effect::UpgradesValues), " with other values"),
        ("Helm uninstalls ", of(Effect::Uninstalls), ""),
        ("Flux applies the manifests of ", of(Effect::Applies), ""),
        ("Flux deletes what came from the manifests of ", of(Effect::Prunes), ""),
        ("Not touched: ", cluster.unchanged.iter().map(String::as_str).collect(), ""),
    ];
    let summary = sentences.into_iter().filter(|(_, addons, _)| !addons.is_empty());
    let summary = summary.map(|(begin, addons, end)| Line::new(begin).codes(addons, MAX_NAMES).words(end));
    let moments = cluster.upgrade.iter().flat_map(|upgrade| {
        let line = |begin: &str, addons: &[String]| {
            let addons: Vec<&str> = addons.iter().map(String::as_str).collect();
            let begin = format!("{begin} Cluster API upgrades to {}: ", upgrade.version);
            (!addons.is_empty()).then(|| Line::new(&begin).codes(addons, MAX_NAMES))
        };
        [
            line("Before", &upgrade.before),
            line("After", &upgrade.after),
            line("Once more after", &upgrade.repeated),
        ]
        .into_iter()
        .flatten()
    });
    let on_the_way = cluster.on_the_way.sentences().map(|(begin, addons)| {
        Line::new(&format!("{begin}: ")).codes(addons.iter().map(String::as_str), MAX_NAMES)
    });
    let restarts =
        [Effect::UpgradesChartAndValues, Effect::UpgradesChart, Effect::UpgradesValues, Effect::Applies];
    let restarts =
        cluster.objects.iter().any(|object| object.effect.is_some_and(|effect| restarts.contains(&effect)));
    let restarts = restarts.then(|| {
        Line::new(
            "Which workloads restart is decided by Helm on the cluster: those whose pod templates differ, and only \
             in the addons that are upgraded",
        )
    });
    let held = cluster.held.iter().map(|held| {
        let what = held.addon.as_deref().unwrap_or("all of it");
        Line::default()
            .strong("Held")
            .words(": ")
            .code(what)
            .words(": ")
            .code(held.reason)
            .words(": ")
            .code(&held.message)
    });
    let mut lines: Vec<Line> = summary.chain(moments).chain(on_the_way).chain(restarts).chain(held).collect();
    if lines.is_empty() {
        lines.push(Line::new("None of its addons changes"));
    }
    lines
}

fn values(object: &ObjectChange) -> Block {
    let addon = object.addon.as_deref().unwrap_or(&object.name);
    let summary = counted_values(&object.values).words(" in the HelmRelease of ").code(addon);
    Block::Folded(summary, value_lines(&object.values))
}

pub(super) fn counted_values(values: &[ValueChange]) -> Line {
    let count = values.len();
    Line::new(&if count == 1 { "1 value".to_owned() } else { format!("{count} values") })
}

/// Lists the first [`MAX_VALUES`] values that differ.
pub(super) fn value_lines(values: &[ValueChange]) -> Vec<Line> {
    let mut lines: Vec<Line> = values.iter().take(MAX_VALUES).map(of_value).collect();
    if values.len() > MAX_VALUES {
        lines.push(Line::new(&format!("and {} more", values.len() - MAX_VALUES)));
    }
    lines
}

fn of_value(value: &ValueChange) -> Line {
    let shortened = |text: &str| shortened(text, MAX_VALUE_CHARACTERS);
    let line = Line::default().code(&shortened(&value.path)).words(": ");
    match (&value.from, &value.to) {
        (Some(from), Some(to)) => line.code(&shortened(from)).words(" → ").code(&shortened(to)),
        (None, Some(to)) => line.code(&shortened(to)).words(", new"),
        (Some(from), _) => line.code(&shortened(from)).words(", removed"),
        (None, None) => line,
    }
}

/// Counts objects, as `3 objects: 1 created, 2 changed`.
fn counted(objects: &[ObjectChange]) -> String {
    let of = |kind: ChangeKind| objects.iter().filter(|object| object.change == kind).count();
    let kinds = [
        (ChangeKind::Created, "created"),
        (ChangeKind::Changed, "changed"),
        (ChangeKind::Removed, "removed"),
        (ChangeKind::Held, "held"),
    ];
    let counts = kinds.map(|(kind, word)| (of(kind), word));
    let summary: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let objects =
        if objects.len() == 1 { "1 object".to_owned() } else { format!("{} objects", objects.len()) };
    format!("{objects}: {}", summary.join(", "))
}

fn of_object(object: &ObjectChange) -> Line {
    let verb = match object.change {
        ChangeKind::Created => "created ",
        ChangeKind::Changed => "changed ",
        ChangeKind::Removed => "removed ",
        ChangeKind::Held => "held ",
    };
    let separator = if object.namespace.is_empty() { "" } else { "/" };
    Line::new(verb).code(&format!("{} {}{separator}{}", object.kind, object.namespace, object.name))
}

/// Describes a shared object, which is kept while any Cluster needs it.
fn of_shared(object: &ObjectChange) -> Line {
    let line = of_object(object);
    if object.change == ChangeKind::Removed { line.words(", once no Cluster uses it") } else { line }
}
