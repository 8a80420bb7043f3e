//! A testbed of a test's own.

use std::sync::{Condvar, Mutex, PoisonError};

use stackflux_testbed::{Options, OwnTestbed, Testbed};

/// A testbed of the test's own, for tests that stop components, start Flux with other flags, or need an API server
/// without other operators or ClusterStacks. All other tests are on the shared one, without the cost of a start.
pub(crate) struct Alone {
    pub(crate) testbed: OwnTestbed,
    _turn: Turn,
}

impl Alone {
    /// Waits for its turn and starts the testbed with these workload clusters.
    pub(crate) fn start(workloads: &'static [&'static str]) -> Self {
        Self::start_with(&Options { workloads, ..Options::default() })
    }

    /// The same with more options.
    pub(crate) fn start_with(options: &Options) -> Self {
        let turn = Turn::take();
        Self { testbed: Testbed::start_own(options).unwrap(), _turn: turn }
    }
}

/// A permission to run a testbed beside the shared one. There are two, because of the machine's memory: each needs up to
/// 3 GiB. With two tests at a time none waits; most of these scenarios sleep, so two at a time do not disturb each other.
struct Turn;

static TURNS: (Mutex<usize>, Condvar) = (Mutex::new(2), Condvar::new());

impl Turn {
    fn take() -> Self {
        let (free, one_is_free) = &TURNS;
        let free = free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free =
            one_is_free.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Self
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *TURNS.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        TURNS.1.notify_one();
    }
}
