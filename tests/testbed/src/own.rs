//! A testbed for one test, with components to stop and start.

use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::cluster::Cluster;
use crate::error::Result;
use crate::flux;
use crate::options::Options;
use crate::paths;
use crate::process::{Process, Supervisor};
use crate::seconds;
use crate::start;
use crate::testbed::Testbed;

/// A testbed for one test. It stops when it is dropped; its logs stay until the next run.
pub struct OwnTestbed {
    testbed: Testbed,
    supervisor: Supervisor,
}

/// Distinguishes the testbeds of one process.
static STARTED: AtomicU32 = AtomicU32::new(0);

impl OwnTestbed {
    pub(crate) fn start(options: &Options) -> Result<Self> {
        seconds::count();
        let run = paths::run_of_one_test(STARTED.fetch_add(1, Ordering::Relaxed))?;
        let (testbed, supervisor) = start::start(&run, options)?;
        Ok(Self { testbed, supervisor })
    }

    /// A component by the name of its log: `source-controller`, `management-kube-apiserver`, `one-kube-apiserver`, ...
    #[must_use]
    pub fn component(&self, name: &'static str) -> Component<'_> {
        Component { supervisor: &self.supervisor, management: self.testbed.management(), name }
    }
}

impl Deref for OwnTestbed {
    type Target = Testbed;

    fn deref(&self) -> &Testbed {
        &self.testbed
    }
}

/// A component that a test disturbs. It keeps its ports and its data across restarts.
#[derive(Clone, Copy)]
pub struct Component<'a> {
    supervisor: &'a Supervisor,
    management: &'a Cluster,
    name: &'static str,
}

impl Component<'_> {
    /// The latest process, to pause, resume, kill or terminate.
    pub fn process(&self) -> Result<Process> {
        self.supervisor.process(self.name)
    }

    /// Restarts the component after it has ended, and waits until it is ready. A controller of Flux need not wait for
    /// the Lease of the one before.
    pub fn start_again(&self) -> Result<()> {
        flux::release_lease(self.management, self.name)?;
        self.supervisor.start_again(self.name).map(drop)
    }
}
