use std::collections::{BTreeMap, BTreeSet};

use crate::names::{ReleaseName, Revision};
use crate::subscription::{BuiltinDecision, BuiltinFacts, decide_builtin, is_flux_behind};

fn name(version: char) -> ReleaseName {
    format!("docker-demo-1-34-v{version}").parse().unwrap()
}

fn names(versions: &str) -> BTreeSet<ReleaseName> {
    versions.chars().map(name).collect()
}

/// Releases with their commits; a `'` after a version means another content.
fn commits(versions: &str) -> BTreeMap<ReleaseName, Revision> {
    let mut commits = BTreeMap::new();
    for version in versions.chars() {
        if version == '\'' {
            commits.last_entry().unwrap().insert(Revision::of_sha1([0xff; 20]));
        } else {
            commits.insert(name(version), Revision::of_sha1([u8::try_from(version).unwrap(); 20]));
        }
    }
    commits
}

struct Case {
    wanted: &'static str,
    pinned: &'static str,
    /// `?` if it is not known.
    fetched: &'static str,
    there: &'static str,
    /// `None` if upstream does not answer.
    upstream: Option<&'static str>,
}

impl Case {
    fn with<T>(&self, decide: impl Fn(&BuiltinFacts<'_>) -> T) -> T {
        let (upstream, fetched) = (self.upstream.map(names), names(self.fetched.trim_matches('?')));
        decide(&BuiltinFacts {
            wanted: &names(self.wanted),
            pinned: &commits(self.pinned),
            fetched: (self.fetched != "?").then_some(&fetched),
            there: &commits(self.there),
            upstream: upstream.as_ref(),
        })
    }

    /// Releases to restore, missing and lost ones, and those that the repository waits for.
    fn decide(&self) -> [String; 4] {
        let BuiltinDecision { restore, missing, lost, not_yet } = self.with(decide_builtin);
        let short = |name: &ReleaseName| name.to_string().chars().last();
        let waits = not_yet.unwrap_or_default();
        let waits = waits.replace("yet", "t");
        let waits = waits.split(", ").filter_map(|name| name.chars().last());
        let [restore, lost] = [restore, lost].map(|all| all.iter().filter_map(short).collect());
        [restore, missing.iter().filter_map(short).collect(), lost, waits.collect()]
    }
}

#[test]
fn flux_is_behind_if_it_lacks_a_release() {
    for (fetched, there, expected) in [
        ("12", "12", false),
        ("1", "12", true),
        ("", "1", true),
        // What was withdrawn before the volume was lost.
        ("12", "1", false),
        ("?", "12", false),
    ] {
        let case = Case { wanted: "", pinned: "", fetched, there, upstream: None };
        assert_eq!(case.with(is_flux_behind), expected, "{fetched} {there}");
    }
}

#[test]
fn repository_is_served_when_it_has_all_that_is_in_use() {
    let empty = || Case { wanted: "", pinned: "", fetched: "", there: "", upstream: Some("123") };
    for (case, expected) in [
        // A new ClusterStack: only what it offers, and an empty repository may be served.
        (Case { wanted: "3", ..empty() }, ["", "3", "", ""]),
        (Case { wanted: "3", there: "3", ..empty() }, ["", "", "", ""]),
        (Case { wanted: "39", ..empty() }, ["", "3", "", ""]),
        (Case { wanted: "3", upstream: None, ..empty() }, ["", "", "", ""]),
        // The volume was lost.
        (Case { wanted: "3", pinned: "1", fetched: "12", ..empty() }, ["1", "123", "", "12"]),
        (Case { wanted: "3", pinned: "1", fetched: "12", there: "1", ..empty() }, ["", "23", "", "2"]),
        (Case { wanted: "3", pinned: "1", fetched: "12", there: "12", ..empty() }, ["", "3", "", ""]),
        (Case { wanted: "3", pinned: "1", fetched: "12", upstream: None, ..empty() }, ["1", "", "", "12"]),
        (Case { wanted: "3", pinned: "1", fetched: "12", there: "12", upstream: None }, ["", "", "", ""]),
        // What Flux has fetched is not known: nothing is withdrawn by mistake.
        (Case { wanted: "3", pinned: "1", fetched: "?", there: "1", ..empty() }, ["", "3", "", "t"]),
        (Case { wanted: "3", fetched: "?", there: "3", upstream: None, ..empty() }, ["", "", "", "t"]),
        // Upstream has withdrawn releases.
        (Case { pinned: "1", fetched: "12", there: "12", upstream: Some(""), ..empty() }, ["", "", "", ""]),
        (Case { pinned: "1", fetched: "12", upstream: Some("2"), ..empty() }, ["1", "2", "1", "2"]),
        (Case { pinned: "1", fetched: "12", there: "2", upstream: Some("2"), ..empty() }, ["1", "", "1", ""]),
        (Case { fetched: "1", upstream: Some(""), ..empty() }, ["", "", "", ""]),
        // Upstream has changed a release: what is there stays, and a pin to the other content is lost.
        (Case { wanted: "1", pinned: "1", fetched: "1", there: "1'", ..empty() }, ["1", "", "1", ""]),
        (Case { pinned: "1", there: "1'", upstream: None, ..empty() }, ["1", "", "1", ""]),
    ] {
        assert_eq!(case.decide(), expected);
    }
}
