//! The report about a promotion, to review before confirming it.

mod cluster;

use serde::Serialize;

use super::compare::{Effect, Offer, Offered, PartChange, Upgrade};
use super::document::{Block, Document, Line};
use super::soak::{HumanDuration, SoakResult};
use crate::compare::change::Change;
use crate::compare::charts::{KindChange, Owner, VersionChange};

/// Maximum number of names in a sentence.
const MAX_NAMES: usize = 20;

/// A promotion and its known effects.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Promotion {
    /// The release.
    pub release: String,
    /// Its full Kubernetes version.
    pub kubernetes: String,
    /// The digest of its content.
    pub digest: String,
    /// The source stage.
    pub from: String,
    /// The commit of the source stage that has the content.
    pub commit: String,
    /// The target stage.
    pub to: String,
    /// The soak result of the source stage's clusters.
    pub soak: Soak,
    /// The reason of the hold that is lifted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifts_hold: Option<String>,
    /// The effect of the promotion.
    #[serde(flatten)]
    pub effect: Effect,
}

/// Whether the clusters of the source stage have completed the soak of the release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Soak {
    /// All clusters have been ready for long enough.
    #[serde(rename = "vouched")]
    Complete(SoakResult),
    /// The clusters were not queried although the stage requires a soak (`--offline`).
    #[serde(rename = "notAsked")]
    NotQueried,
    /// The stage requires no soak.
    NotRequired,
    /// The clusters have not completed the soak; the problems.
    Missing(Vec<String>),
}

impl Soak {
    /// Describes the result in a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::Complete(result) => {
                let clusters = if result.clusters.len() == 1 { "cluster" } else { "clusters" };
                format!(
                    "{} {clusters} ready with this content for {}, since {}{}",
                    result.clusters.len(),
                    HumanDuration(jiff::SignedDuration::from_secs(result.seconds)),
                    result.since,
                    result.only
                )
            }
            Self::NotQueried => "not asked (--offline)".to_owned(),
            Self::NotRequired => "not required".to_owned(),
            Self::Missing(problems) => format!("missing: {}", problems.join("; ")),
        }
    }
}

/// Writes the report.
#[must_use]
pub fn document(promotion: &Promotion) -> Document {
    let mut blocks = head(promotion);
    blocks.extend(stacks(promotion));
    for upgrade in &promotion.effect.upgrades {
        blocks.extend(of_upgrade(promotion, upgrade));
    }
    let unreadable = promotion.effect.unreadable.iter();
    let unreadable: Vec<Line> =
        unreadable.map(|one| Line::default().code(&one.release).words(": ").code(&one.why)).collect();
    if !unreadable.is_empty() {
        blocks.push(Block::Heading(2, Line::new("Releases of the stage that cannot be compared")));
        blocks.push(Block::List(unreadable));
    }
    let left_out = promotion.effect.left_out.iter();
    let left_out = left_out.map(|left| Line::new("Cluster ").code(&left.cluster).words(": ").code(&left.why));
    let left_out: Vec<Line> = left_out.collect();
    if !left_out.is_empty() {
        blocks.push(Block::Heading(2, Line::new("Clusters that are not planned for")));
        blocks.push(Block::List(left_out));
    }
    Document(blocks)
}

fn head(promotion: &Promotion) -> Vec<Block> {
    let Promotion { release, kubernetes, digest, from, commit, to, soak, lifts_hold, .. } = promotion;
    let title = Line::new("Promote ").code(release).words(" from ").code(from).words(" to ").code(to);
    let mut facts = vec![
        Line::new("Kubernetes: ").code(kubernetes),
        Line::new("Content: ")
            .code(digest)
            .words(", as ")
            .code(from)
            .words(" has it at ")
            .code(short(commit)),
        match soak {
            Soak::Complete(_) => Line::new("Soak: ").words(&soak.sentence()),
            Soak::Missing(problems) => Line::new("Soak: ")
                .strong("missing")
                .words(": ")
                .codes(problems.iter().map(String::as_str), MAX_NAMES),
            Soak::NotQueried | Soak::NotRequired => Line::new("Soak: ").strong(&soak.sentence()),
        },
    ];
    if let Some(reason) = lifts_hold {
        facts.push(Line::default().strong("A hold is lifted").words(": ").code(reason));
    }
    vec![Block::Heading(1, title), Block::List(facts)]
}

/// Describes the immediate effect of the promotion.
fn stacks(promotion: &Promotion) -> Vec<Block> {
    let mut lines: Vec<Line> =
        promotion.effect.stacks.iter().map(|offer| of_stack(offer, promotion)).collect();
    if lines.is_empty() {
        lines.push(Line::new("No ClusterStack of ").code(&promotion.to).words(
            " is known for this release (see inputs in stackflux.yaml): only the releases are compared",
        ));
        lines.extend(promotion.effect.elsewhere.iter().map(|one| {
            let line = Line::new("ClusterStack ").code(&one.stack);
            line.words(" does not count: ").code(&one.why)
        }));
    } else {
        lines.push(Line::new(
            "No Cluster changes because of this: each moves to the release when its class is set to the release's",
        ));
    }
    vec![Block::Heading(2, Line::new("What it does at once")), Block::List(lines)]
}

fn of_stack(offer: &Offer, promotion: &Promotion) -> Line {
    let line = Line::new("ClusterStack ").code(&format!("{}/{}", offer.namespace, offer.name));
    let latest = offer.latest.as_deref().unwrap_or("nothing");
    match offer.offered {
        Offered::Listed => line.words(" has it in its versions, and will offer it"),
        Offered::Latest => {
            line.words(" subscribes to the latest, and will offer it instead of ").code(latest)
        }
        Offered::NotLatest => line
            .words(" subscribes to the latest, which is ")
            .code(latest)
            .words(": it will ")
            .strong("not offer it"),
        Offered::NotListed => {
            let version = promotion.release.parse::<crate::names::ReleaseName>();
            let version = version.map(|release| release.version().dotted()).unwrap_or_default();
            line.words(" will ").strong("not offer it").words(": its versions do not have ").code(&version)
        }
    }
}

fn of_upgrade(promotion: &Promotion, upgrade: &Upgrade) -> Vec<Block> {
    let mut title = Line::new("From ").code(&upgrade.from).words(" to ").code(&promotion.release);
    if let Some(namespace) = &upgrade.namespace {
        title = title.words(" in namespace ").code(namespace);
    }
    let mut blocks = vec![Block::Heading(2, title), Block::List(nodes(promotion, upgrade))];
    let rows: Vec<Vec<Line>> = upgrade.parts.iter().map(of_part).collect();
    if rows.is_empty() {
        blocks.push(Block::Paragraph(Line::new("The two releases have the same content.")));
    } else {
        blocks.push(Block::Table(vec!["part", "change", "charts", "CRDs"], rows));
    }
    for (owner, who) in [(Owner::Helm, "Helm"), (Owner::Flux, "Flux")] {
        let kinds = upgrade.parts.iter().flat_map(|part| &part.charts.kinds);
        let deleted: Vec<&str> =
            kinds.filter(|kind| kind.deleted_by == Some(owner)).map(|kind| kind.name.as_str()).collect();
        if !deleted.is_empty() {
            let warning = format!("{who} deletes these CRDs, and with them all objects of their kinds");
            let line = Line::default().strong(&warning).words(": ").codes(deleted, MAX_NAMES);
            blocks.push(Block::Paragraph(line));
        }
    }
    let unseen = upgrade.parts.iter().flat_map(|part| &part.charts.unseen);
    let unseen: Vec<&str> = unseen.map(String::as_str).collect();
    if !unseen.is_empty() {
        let line =
            Line::new("Not vendored, so that their CRDs are not known here: ").codes(unseen, MAX_NAMES);
        blocks.push(Block::Paragraph(line));
    }
    // Important blocks precede folded ones.
    for part in upgrade.parts.iter().filter(|part| !part.charts.values.is_empty()) {
        let summary =
            cluster::counted_values(&part.charts.values).words(" in values.yaml of ").code(&part.part);
        blocks.push(Block::Folded(summary, cluster::value_lines(&part.charts.values)));
    }
    blocks.extend(cluster::blocks(upgrade));
    blocks
}

/// Describes the effect on the machines.
fn nodes(promotion: &Promotion, upgrade: &Upgrade) -> Vec<Line> {
    let kubernetes = if upgrade.kubernetes == promotion.kubernetes {
        Line::new("Kubernetes stays ").code(&promotion.kubernetes)
    } else {
        Line::new("Kubernetes ")
            .code(&upgrade.kubernetes)
            .words(" → ")
            .code(&promotion.kubernetes)
            .words(": ")
            .strong("Cluster API replaces the machines")
    };
    let class = upgrade.parts.iter().any(|part| part.part == "cluster class");
    let class = class.then(|| {
        Line::new(
            "The cluster class changes: where its machine templates differ Cluster API replaces the machines",
        )
    });
    std::iter::once(kubernetes).chain(class).collect()
}

fn of_part(part: &PartChange) -> Vec<Line> {
    let files = if part.files == 1 { "1 file".to_owned() } else { format!("{} files", part.files) };
    let change = match part.change {
        Change::Changed => format!("changed, {files}"),
        change => change.as_str().to_owned(),
    };
    vec![
        Line::default().code(&part.part),
        Line::new(&change),
        listed(part.charts.charts.iter().map(of_chart)),
        listed(part.charts.kinds.iter().map(of_kind)),
    ]
}

/// Joins several texts into one line.
fn listed(texts: impl Iterator<Item = String>) -> Line {
    let texts: Vec<String> = texts.collect();
    Line::default().codes(texts.iter().map(String::as_str), MAX_NAMES)
}

fn of_chart(chart: &VersionChange) -> String {
    if let Some(was) = &chart.was {
        let (from, to) = (chart.from.as_deref().unwrap_or_default(), chart.to.as_deref().unwrap_or_default());
        return format!("{was} {from} → {} {to}", chart.name);
    }
    match (&chart.from, &chart.to) {
        (Some(from), Some(to)) => format!("{} {from} → {to}", chart.name),
        (None, Some(to)) => format!("{} {to} added", chart.name),
        (Some(from), None) => format!("{} {from} removed", chart.name),
        (None, None) => chart.name.clone(),
    }
}

fn of_kind(kind: &KindChange) -> String {
    format!("{} {}", kind.name, kind.change.as_str())
}

/// Shortens a commit ID.
fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

#[cfg(test)]
mod tests;
