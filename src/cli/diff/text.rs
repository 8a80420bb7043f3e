//! Differences as text: an overview, then the lines that differ.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use super::{Differences, HeldClass};
use crate::compare::change::Change;
use crate::compare::files::{FileChange, Lines, VendoredChange};
use crate::compare::moments::Moments;
use crate::compare::parts::{ChartChange, ChartName, Part};
use crate::compare::plans::{ChangeKind, ClusterChange, Effect, HeldAddon, ObjectChange, Plans};
use crate::plan::existing::advice;
use crate::release::finding::Printable;

const BOLD: Style = Style::new().bold();
const GREEN: Style = AnsiColor::Green.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const RED: Style = AnsiColor::Red.on_default();
const CYAN: Style = AnsiColor::Cyan.on_default();

/// Writes the differences with colours. `summary` leaves out the lines.
pub(super) fn write(differences: &Differences, summary: bool) -> String {
    let (from, to) = (&differences.from.release, &differences.to.release);
    let mut text = Text { out: String::new(), from, to, release: from, summary };
    text.releases(differences);
    if let Some(plans) = &differences.plans {
        text.plans(plans, &[]);
    }
    text.out
}

/// Writes the changes in a live cluster, with colours.
pub(super) fn write_live(plans: &Plans, held_classes: &[HeldClass], summary: bool) -> String {
    let mut text = Text { out: String::new(), from: "live", to: "planned", release: "its release", summary };
    text.plans(plans, held_classes);
    text.out.trim_start().to_owned()
}

struct Text<'a> {
    out: String,
    /// The names of both sides.
    from: &'a str,
    to: &'a str,
    /// The release of a removed object, which is kept while any Cluster uses the release.
    release: &'a str,
    summary: bool,
}

impl Text<'_> {
    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn releases(&mut self, differences: &Differences) {
        let (from, to) = (&differences.from, &differences.to);
        let (old, new) = (
            format!("{} ({})", from.release, from.kubernetes),
            format!("{} ({})", to.release, to.kubernetes),
        );
        self.line(&format!("{BOLD}{old} → {new}{BOLD:#}"));
        let parts: Vec<(String, &Part)> = differences.parts.iter().collect();
        let width = parts.iter().map(|(title, _)| title.len()).max().unwrap_or_default();
        for (title, part) in &parts {
            let (style, change) = (style_of(part.change), part.change.as_str());
            self.line(format!("  {title:width$}   {style}{change}{style:#}{}", charts(part)).trim_end());
        }
        for (_, part) in parts {
            self.part(part);
        }
    }

    /// Writes the files of a part. The files of an added or removed part are only listed.
    fn part(&mut self, part: &Part) {
        if self.summary {
            return;
        }
        for file in &part.files {
            if part.change == Change::Changed {
                self.file(file);
            } else {
                let line = format!("{BOLD}{} {}{BOLD:#}", file.change.as_str(), Printable(&file.path));
                self.line(&line);
            }
        }
    }

    fn file(&mut self, file: &FileChange) {
        let path = Printable(&file.path).to_string();
        let at = |release: &str, is_there: bool| {
            if is_there { format!("{release}/{path}") } else { "/dev/null".to_owned() }
        };
        let (from, to) = (self.from, self.to);
        let (old, new) = (at(from, file.change != Change::Added), at(to, file.change != Change::Removed));
        if let Some(chart) = &file.chart {
            let line = format!("{BOLD}{path}: {}{BOLD:#}", vendored_change(chart));
            self.line(&line);
        }
        if let Some(executable) = file.executable {
            let now = if executable { "now executable" } else { "no longer executable" };
            self.line(&format!("{BOLD}{path}: {now}{BOLD:#}"));
        }
        match &file.lines {
            Lines::Text(hunks) => self.hunks(&old, &new, hunks),
            Lines::Bytes { from, to } => {
                self.line(&format!("{BOLD}{path}: not compared by lines: {from} bytes → {to} bytes{BOLD:#}"));
            }
        }
    }

    /// Writes a unified diff with its header; nothing if there is no difference, or with `summary`.
    fn hunks(&mut self, old: &str, new: &str, hunks: &str) {
        if hunks.is_empty() || self.summary {
            return;
        }
        self.line(&format!("{BOLD}--- {old}{BOLD:#}"));
        self.line(&format!("{BOLD}+++ {new}{BOLD:#}"));
        for line in hunks.lines() {
            let style = match line.chars().next() {
                Some('-') => RED,
                Some('+') => GREEN,
                Some('@') => CYAN,
                _ => Style::new(),
            };
            let columns: Vec<String> = line.split('\t').map(|part| Printable(part).to_string()).collect();
            self.line(&format!("{style}{}{style:#}", columns.join("\t")));
        }
    }

    fn plans(&mut self, plans: &Plans, held_classes: &[HeldClass]) {
        self.line(&format!("\n{BOLD}Objects that all Clusters share{BOLD:#}"));
        self.objects(&plans.objects);
        for HeldClass { namespace, release, hold } in held_classes {
            self.held(&format!("cluster class {namespace}/{release}"), hold);
        }
        self.object_lines(&plans.objects);
        for cluster in &plans.clusters {
            self.cluster(cluster);
        }
    }

    fn cluster(&mut self, cluster: &ClusterChange) {
        self.line(&format!("\n{BOLD}Cluster {}/{}{BOLD:#}", cluster.namespace, cluster.name));
        self.objects(&cluster.objects);
        for held in &cluster.held {
            let what = held.addon.as_ref().map_or("all of it".to_owned(), |addon| format!("addon {addon}"));
            self.held(&what, held);
        }
        self.effects(cluster);
        self.object_lines(&cluster.objects);
    }

    fn held(&mut self, what: &str, held: &HeldAddon) {
        let mut message = held.message.lines();
        let first = Printable(message.next().unwrap_or_default()).to_string();
        self.line(&format!("  {YELLOW}held{YELLOW:#}      {what}: {}: {first}", held.reason));
        message.for_each(|line| self.line(&format!("            {}", Printable(line))));
    }

    /// Writes what Flux does in the workload cluster, and what it does not touch.
    fn effects(&mut self, cluster: &ClusterChange) {
        let of = |wanted: &[Effect]| {
            let objects = cluster
                .objects
                .iter()
                .filter(|object| object.effect.is_some_and(|effect| wanted.contains(&effect)));
            objects.filter_map(|object| object.addon.as_deref()).collect::<Vec<_>>()
        };
        let upgrades = [Effect::UpgradesChart, Effect::UpgradesValues, Effect::UpgradesChartAndValues];
        let sentences = [
            ("Helm installs", of(&[Effect::Installs])),
            ("Helm upgrades", of(&upgrades)),
            ("Helm uninstalls", of(&[Effect::Uninstalls])),
            ("Flux applies the manifests of", of(&[Effect::Applies])),
            ("Flux deletes what came from the manifests of", of(&[Effect::Prunes])),
            ("Not written", cluster.unchanged.iter().map(String::as_str).collect()),
        ];
        if let Some(Moments { version, before, after, repeated }) = &cluster.upgrade {
            let list =
                |addons: &[String]| if addons.is_empty() { "none".to_owned() } else { addons.join(", ") };
            let twice = if repeated.is_empty() {
                String::new()
            } else {
                format!("; once more after it: {}", list(repeated))
            };
            let (before, after) = (list(before), list(after));
            self.line(&format!("  Before the upgrade to {version}: {before}; after it: {after}{twice}"));
        }
        for (sentence, addons) in cluster.on_the_way.sentences() {
            self.line(&format!("  {sentence}: {}", addons.join(", ")));
        }
        for (sentence, addons) in sentences {
            if !addons.is_empty() {
                self.line(&format!("  {sentence}: {}", addons.join(", ")));
            }
        }
    }

    fn objects(&mut self, objects: &[ObjectChange]) {
        if objects.is_empty() {
            self.line("  no object changes");
        }
        for object in objects {
            let (style, verb) = match object.change {
                ChangeKind::Created if object.waits_for.as_ref() == Some(&object.kind) => {
                    (YELLOW, "recreated")
                }
                ChangeKind::Created => (GREEN, "created"),
                ChangeKind::Changed => (YELLOW, "changed"),
                ChangeKind::Removed => (RED, "removed"),
                ChangeKind::Held => (YELLOW, "held"),
            };
            let gap = 10 - verb.len();
            let mut line = format!("  {style}{verb}{style:#}{:gap$}{}", "", name_of(object));
            if let Some(effect) = object.effect {
                let _ = write!(line, ": {}", sentence(effect));
            } else if object.change == ChangeKind::Changed && object.lines.is_empty() {
                line.push_str(": stackflux applies it again; its spec stays the same");
            } else if object.change == ChangeKind::Held {
                let _ = write!(line, ": an object of another client has this name; {}", advice(&object.kind));
            } else if object.change == ChangeKind::Removed {
                let _ = write!(line, ", once no Cluster uses {}", self.release);
            }
            match &object.waits_for {
                Some(kind) if *kind == object.kind => line.push_str(", once Flux has deleted the old one"),
                Some(kind) => {
                    let _ = write!(line, ", once Flux has deleted {kind} {}", path_of(object));
                }
                None => {}
            }
            self.line(&line);
        }
    }

    /// Writes the lines in which each object differs.
    fn object_lines(&mut self, objects: &[ObjectChange]) {
        for object in objects {
            let name = name_of(object);
            let (old, new) = (format!("{name} ({})", self.from), format!("{name} ({})", self.to));
            self.hunks(&old, &new, &object.lines);
        }
    }
}

fn name_of(object: &ObjectChange) -> String {
    format!("{} {}", object.kind, path_of(object))
}

fn path_of(object: &ObjectChange) -> String {
    let separator = if object.namespace.is_empty() { "" } else { "/" };
    format!("{}{separator}{}", object.namespace, object.name)
}

fn sentence(effect: Effect) -> &'static str {
    match effect {
        Effect::Installs => "Helm installs it",
        Effect::UpgradesChart => "Helm upgrades it to another chart",
        Effect::UpgradesValues => "Helm upgrades it with other values",
        Effect::UpgradesChartAndValues => "Helm upgrades it to another chart with other values",
        Effect::Uninstalls => "Helm uninstalls it",
        Effect::Applies => "Flux applies its manifests",
        Effect::Prunes => "Flux deletes what its manifests made",
    }
}

fn style_of(change: Change) -> Style {
    match change {
        Change::Unchanged => Style::new(),
        Change::Changed => YELLOW,
        Change::Added => GREEN,
        Change::Removed => RED,
    }
}

/// Describes the changes of a part's charts: its own chart, and the vendored ones.
fn charts(part: &Part) -> String {
    let vendored = part.files.iter().filter_map(|file| file.chart.as_ref()).map(vendored_change);
    let own = part.chart.as_ref().filter(|_| part.change != Change::Unchanged).and_then(chart_change);
    let all: Vec<String> = own.into_iter().chain(vendored).collect();
    if all.is_empty() { String::new() } else { format!("   {}", all.join(", ")) }
}

/// Describes the change of a chart as `chart cni 1.0.0 → 1.1.0`, or names the chart of the only side; `None` if the
/// name and the version are the same.
fn chart_change(chart: &ChartChange) -> Option<String> {
    let called = |chart: &ChartName| format!("{} {}", chart.name, chart.version);
    let text = match (&chart.from, &chart.to) {
        (Some(from), Some(to)) if from.name != to.name => format!("chart {} → {}", called(from), called(to)),
        (Some(from), Some(to)) if from.version == to.version => return None,
        (Some(from), Some(to)) => format!("chart {} → {}", called(from), to.version),
        (from, to) => format!("chart {}", to.as_ref().or(from.as_ref()).map(called)?),
    };
    Some(Printable(&text).to_string())
}

/// Describes the change of a vendored chart: `chart cilium 1.16.5 → 1.17.1`, `chart cilium 1.17.1 added`, or
/// `chart cilium 1.17.1, other content under the same version`.
fn vendored_change(chart: &VendoredChange) -> String {
    let name = &chart.name;
    let text = match (&chart.from, &chart.to) {
        (Some(from), Some(to)) if from == to => {
            format!("chart {name} {to}, other content under the same version")
        }
        (Some(from), Some(to)) => format!("chart {name} {from} → {to}"),
        (Some(from), None) => format!("chart {name} {from} removed"),
        (None, Some(to)) => format!("chart {name} {to} added"),
        (None, None) => format!("chart {name}"),
    };
    Printable(&text).to_string()
}
