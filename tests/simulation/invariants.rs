//! What scenarios state about every step: [`Simulation::always`] is a predicate that holds after each one, and
//! [`Simulation::reaches`] one that holds at some time in some order of steps.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::api_server::ApiServer;
use crate::driver::Simulation;
use crate::flux::{Flux, number};
use crate::properties::Rule;
use crate::wire::Cluster;

/// What every run of all scenarios reaches.
const EVERYWHERE: [&str; 12] = [
    "a crash",
    "a lost Lease",
    "a late watch",
    "an empty list",
    "a failed list",
    "a refused request",
    "a request that is lost",
    "a request after its process gave up",
    "a request without an answer",
    "a commit",
    "an uninstall",
    "a preview",
];

/// The state after a step.
pub(crate) struct State<'a> {
    pub(crate) server: &'a ApiServer,
    pub(crate) flux: &'a Flux,
    namespace: &'a str,
}

impl State<'_> {
    /// The object of a kind with this name.
    pub(crate) fn get(&self, kind: &str, name: &str) -> Option<Arc<Value>> {
        self.server.get(&(number(kind), self.namespace.to_owned(), name.to_owned()))
    }

    /// All objects of a kind.
    pub(crate) fn list(&self, kind: &str) -> Vec<Arc<Value>> {
        self.server.list(number(kind))
    }

    /// A field of an object, by a JSON pointer; null if there is none.
    pub(crate) fn field(&self, kind: &str, name: &str, pointer: &str) -> Value {
        self.get(kind, name).and_then(|object| object.pointer(pointer).cloned()).unwrap_or_default()
    }
}

/// A predicate about a state.
type Predicate = Box<dyn Fn(&State) -> bool>;

/// The predicates of a simulation.
#[derive(Default)]
pub(crate) struct Invariants {
    always: Vec<(&'static str, Predicate)>,
    reaches: Vec<(&'static str, Predicate)>,
    /// The position in the API server's log that was checked.
    checked: usize,
}

impl Simulation {
    /// States what holds after each step from now on.
    pub(crate) fn always(&mut self, name: &'static str, holds: impl Fn(&State) -> bool + 'static) {
        self.invariants.always.push((name, Box::new(holds)));
    }

    /// States what is reached in some order of steps.
    pub(crate) fn reaches(&mut self, name: &'static str, is_it: impl Fn(&State) -> bool + 'static) {
        self.wire.cluster().reached.entry(name).or_default();
        self.invariants.reaches.push((name, Box::new(is_it)));
    }
}

impl Invariants {
    /// Checks the predicates after a step that changed something.
    pub(crate) fn check(&mut self, cluster: &mut Cluster, flux: &Flux, namespace: &str) {
        let position = cluster.server.log.len();
        if position == self.checked {
            return;
        }
        self.checked = position;
        let state = State { server: &cluster.server, flux, namespace };
        let broken = self.always.iter().find(|(_, holds)| !holds(&state)).map(|(name, _)| *name);
        let reached: Vec<&str> =
            self.reaches.iter().filter(|(_, is_it)| is_it(&state)).map(|(name, _)| *name).collect();
        for name in reached {
            cluster.reached(name);
        }
        if let Some(name) = broken {
            cluster.broke(Rule::Always, format!("it does not hold that {name}"));
        }
    }
}

/// The number of orders of steps that reach each name.
#[derive(Debug, Default)]
pub(crate) struct Reached(BTreeMap<&'static str, usize>);

impl Reached {
    /// Adds what one order of steps reached: a number of times.
    pub(crate) fn add(&mut self, reached: BTreeMap<&'static str, usize>) {
        for (name, times) in reached {
            *self.0.entry(name).or_default() += usize::from(times > 0);
        }
    }

    /// Writes the numbers of a scenario to the directory that `make simulate` sums up.
    pub(crate) fn write(&self, scenario: &str) {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reached");
        fs::create_dir_all(&directory).unwrap();
        let none = EVERYWHERE.iter().filter(|name| !self.0.contains_key(*name)).map(|name| (name, &0));
        let lines: Vec<String> =
            self.0.iter().chain(none).map(|(name, count)| format!("{count}\t{name}\n")).collect();
        fs::write(directory.join(scenario), lines.concat()).unwrap();
    }
}
