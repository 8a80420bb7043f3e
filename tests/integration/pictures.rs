//! The pictures of the documents, as SVG in one style, and what they show in words.
//!
//! `UPDATE_GOLDEN=1` writes them. The steps of a Cluster's life name conditions and reasons by their types, and those that a
//! golden log of the simulations has are looked up there.

mod steps;
mod svg;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use regex::Regex;

use crate::documents::assert_is;
use crate::language::files;
use steps::{PHASES, Seen, Step};
use svg::{Actor, Picture};

/// The width of a step's box, and the place of its conditions.
const STEP: (u32, u32, u32) = (60, 400, 490);

fn objects() -> String {
    let mut picture = Picture::new(980, 470, "What you write, what stackflux makes, and what Flux applies");
    for (x, actor, title) in [
        (20, Actor::You, "You write"),
        (350, Actor::Stackflux, "stackflux makes"),
        (690, Actor::Flux, "Flux applies"),
    ] {
        picture.heading(x, 40, actor, title);
    }
    let made = ["HelmRelease two.cni", "HelmRelease two.ccm", "HelmRelease two.csi"];
    let stack = ["docker-demo, Kubernetes 1.34", "versions: [v1, v2]", "source: where releases are"];
    let release =
        ["GitRepository: the pinned commit", "HelmChart: one for each content", "HelmRelease: the class"];
    picture.card((20, 60, 270), Actor::You, "ClusterStack docker-demo-1-34", &stack);
    picture.card((350, 60, 280), Actor::Stackflux, "ClusterStackRelease …-1-34-v1", &release);
    picture.card((690, 60, 270), Actor::Flux, "management cluster", &["ClusterClass docker-demo-1-34-v1"]);
    picture.card((20, 180, 270), Actor::You, "Cluster two", &["class: docker-demo-1-34-v1"]);
    picture.card((350, 180, 280), Actor::Stackflux, "ClusterAddon cluster-addon-two", &made);
    picture.card((690, 180, 270), Actor::Flux, "workload cluster two", &["CNI, cloud controller, CSI"]);
    let made = made.map(|object| object.replace("two.", "one."));
    let made: Vec<&str> = made.iter().map(String::as_str).collect();
    picture.card((20, 300, 270), Actor::You, "Cluster one", &["class: docker-demo-1-34-v1"]);
    picture.card((350, 300, 280), Actor::Stackflux, "ClusterAddon cluster-addon-one", &made);
    picture.card((690, 300, 270), Actor::Flux, "workload cluster one", &["CNI, cloud controller, CSI"]);
    let asked = ["what this Cluster has otherwise;", "optional"];
    picture.card((20, 385, 270), Actor::You, "ClusterAddonOverride one", &asked);
    for y in [90, 205, 325] {
        picture.arrow((290, y), (350, y));
        picture.arrow((630, y), (690, y));
    }
    picture.arrow((290, 410), (350, 375));
    picture.arrow((490, 144), (490, 180));
    picture.end()
}

fn life() -> String {
    let height = |step: &Step| 34 + 18 * u32::try_from(step.seen.len().max(step.lines().len())).unwrap();
    let steps: u32 = PHASES.iter().flat_map(|(_, steps)| *steps).map(|step| height(step) + 16).sum();
    let total = 70 + steps + 44 * u32::try_from(PHASES.len()).unwrap();
    let mut picture = Picture::new(980, total, "The life of a Cluster, with each condition and reason");
    let legend = [Actor::You, Actor::Stackflux, Actor::Flux, Actor::ClusterApi].into_iter().enumerate();
    for (number, actor) in legend {
        picture.heading(60 + 130 * u32::try_from(number).unwrap(), 34, actor, actor.name());
    }
    picture.note(STEP.2 + 110, 34, "conditions of the ClusterAddon");
    let mut y = 54;
    for (phase, steps) in PHASES {
        picture.title(20, y + 26, phase);
        y += 44;
        for (number, step) in steps.iter().enumerate() {
            let lines = step.lines();
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            picture.step((STEP.0, y, STEP.1, height(step)), step.actor, &step.sentence(), &lines);
            if number > 0 {
                picture.arrow((STEP.0 + 30, y - 16), (STEP.0 + 30, y));
            }
            for (number, seen) in (0_u32..).zip(step.seen) {
                picture.condition(STEP.2, y + 28 + 18 * number, &seen.text(), seen.status());
            }
            y += height(step) + 16;
        }
    }
    picture.end()
}

fn table() -> String {
    let mut text = String::new();
    for (phase, steps) in PHASES {
        write!(text, "\n### {phase}\n\n| step | conditions of the ClusterAddon |\n|---|---|\n").unwrap();
        for step in *steps {
            let more = step.text;
            let more = if more.is_empty() { String::new() } else { format!(": {more}") };
            let seen: Vec<_> = step.seen.iter().copied().map(Seen::linked).collect();
            writeln!(text, "| **{}**{more} | {} |", step.sentence(), seen.join("<br>")).unwrap();
        }
    }
    text
}

#[test]
fn pictures_are_drawn_by_code() {
    assert_is(&objects(), "docs/learn/pictures/objects.svg");
    assert_is(&life(), "docs/learn/pictures/life-of-a-cluster.svg");
}

#[test]
fn picture_of_a_life_is_also_a_table() {
    const PAGE: &str = "docs/learn/life-of-a-cluster.md";
    let text = fs::read_to_string(root().join(PAGE)).unwrap();
    let (before, rest) = text.split_once("<!-- steps -->\n").unwrap();
    let (_, after) = rest.split_once("\n<!-- end of steps -->").unwrap();
    assert_is(&format!("{before}<!-- steps -->\n{}\n<!-- end of steps -->{after}", table()), PAGE);
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A page may be light or dark: a picture has a background of its own.
#[test]
fn pictures_cover_the_page_behind_them() {
    let size = Regex::new("viewBox=\"0 0 ([0-9]+) ([0-9]+)\"").unwrap();
    let pictures = files(&root().join("docs"), "svg");
    assert!(pictures.len() >= 4, "{pictures:?}");
    for picture in pictures {
        let text = fs::read_to_string(&picture).unwrap();
        let size = size.captures(&text).unwrap();
        let background = [("100%", "100%"), (&size[1], &size[2])]
            .map(|(width, height)| format!("rect width=\"{width}\" height=\"{height}\""));
        let (_, drawn) = text.rsplit_once("</defs>").or_else(|| text.rsplit_once("</style>")).unwrap();
        let first = drawn.split('<').nth(1).unwrap();
        let is_covered = background.iter().any(|background| first.starts_with(background));
        assert!(is_covered, "{}: {first}", picture.display());
    }
}

#[test]
fn steps_are_in_logs_of_the_simulations() {
    let logs = fs::read_dir(root().join("tests/simulation/golden")).unwrap();
    let logs: String = logs.map(|log| fs::read_to_string(log.unwrap().path()).unwrap()).collect();
    let reported = logs.lines().filter(|line| line.contains("patch ClusterAddon ")).collect::<Vec<_>>();
    let all = PHASES.iter().flat_map(|(_, steps)| *steps).flat_map(|step| step.seen);
    for seen in all.filter(|seen| !seen.is_brief) {
        let report = format!("{}={} {}", seen.kind.as_str(), seen.status().as_str(), seen.reason);
        let is_reported = |line: &&str| line.split(&[':', ',', ';']).any(|part| part.trim() == report);
        assert!(reported.iter().any(is_reported), "no simulation reports {report}");
    }
}
