//! Access to the state of a simulation.

use std::sync::Arc;

use serde_json::Value;

use super::Simulation;
use crate::api_server::Place;
use crate::flux::number;
use crate::golden::note_line;
use crate::wire::Refuses;

impl Simulation {
    pub(crate) fn note(&self, note: String) {
        let mut cluster = self.wire.cluster();
        if let Some(golden) = &mut cluster.golden {
            golden.push(note_line(&note));
        }
        cluster.log.push(note);
    }

    /// Begins the golden log again, with a line about what happened before.
    pub(crate) fn begin_golden(&self, before: &str) {
        if let Some(golden) = &mut self.wire.cluster().golden {
            *golden = vec![before.to_owned()];
        }
    }

    /// Ends crashes, changes of the leader, and delays of watches.
    pub(crate) fn calm_down(&mut self) {
        self.is_calm = true;
    }

    /// Makes the API server refuse some requests from now on.
    pub(crate) fn refuse(&self, refuses: Option<Refuses>) {
        self.wire.cluster().refuses = refuses;
    }

    pub(crate) fn place(&self, kind: &str, name: &str) -> Place {
        (number(kind), self.namespace.clone(), name.to_owned())
    }

    pub(crate) fn get(&self, kind: &str, name: &str) -> Option<Arc<Value>> {
        self.wire.cluster().server.get(&self.place(kind, name))
    }
}
