//! The exhaustive mode: each scenario without accidents but one, for each kind of interruption at each effect of the operator.

use std::env::var;
use std::rc::Rc;

use crate::driver::{Checkpoint, InterruptionKind, Simulation};
use crate::properties::{Order, ended, outcome, runtime};
use crate::random::Random;

/// The interruptions that are wanted instead of seeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Every kind at every effect.
    All,
    /// The one to repeat: its kind, and the number of its effect.
    One(InterruptionKind, usize),
}

impl Wanted {
    /// Reads the variable `INTERRUPT`, which is `all` or such as `CrashBefore-17`; `None` if seeds are wanted.
    pub(crate) fn read() -> Option<Self> {
        let text = var("INTERRUPT").ok()?;
        if text == "all" {
            return Some(Self::All);
        }
        let found = text.rsplit_once('-').and_then(|(kind, effect)| {
            let kind = InterruptionKind::all().into_iter().find(|known| known.to_string() == kind)?;
            Some(Self::One(kind, effect.parse().ok()?))
        });
        Some(found.unwrap_or_else(|| panic!("INTERRUPT={text} is not an interruption")))
    }
}

/// Runs a scenario with the wanted interruptions. All end like the calm run. Returns their number.
pub(crate) fn run(
    name: &str,
    wanted: &Wanted,
    checkpoint: Option<&Rc<Checkpoint>>,
    first: &[String],
    scenario: impl Fn(&mut Simulation),
) -> usize {
    let runtime = runtime();
    let simulation = || {
        let mut simulation = Simulation::new(Random::calm(), None, runtime);
        simulation.begin_from(checkpoint.cloned());
        simulation
    };
    let interruptions = match *wanted {
        Wanted::One(kind, effect) => vec![(kind, effect)],
        Wanted::All => {
            let mut simulation = simulation();
            simulation.note_interruptions();
            ended(name, Order::Calm, outcome(&mut simulation, &scenario), Some(first));
            simulation.take_interruptions()
        }
    };
    for (kind, effect) in &interruptions {
        let mut simulation = simulation();
        simulation.interrupt(*kind, *effect);
        let outcome = outcome(&mut simulation, &scenario);
        ended(name, Order::Interrupted(*kind, *effect), outcome, Some(first));
        assert!(simulation.is_interrupted(), "{name} has no effect {effect}");
    }
    interruptions.len()
}
