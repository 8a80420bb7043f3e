//! The operator as a process on a real API server, through the proxy: started, asked, disturbed, told apart in the audit log.

use std::path::Path;

use stackflux_testbed::{LyingProxy, Operator, Options, Testbed};

use super::scenario::{PATIENCE, SHORT_LEASE, eventually, leads};
use crate::definitions::apply_definitions;

#[test]
fn restarted_operator_leads_again_and_writes_only_its_lease() {
    let options = Options { workloads: &[], flux: &[], ..Options::default() };
    let testbed = Testbed::start_own(&options).unwrap();
    apply_definitions(testbed.management());
    let mark = testbed.audit().mark().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_stackflux"));
    let proxy = LyingProxy::start(testbed.operator_kubeconfig()).unwrap();
    let operator = Operator::start(&testbed, binary, proxy.kubeconfig(), &SHORT_LEASE).unwrap();
    eventually("it leads", || leads(&operator));
    let first = operator.process().unwrap();
    assert!(first.cpu_seconds().unwrap() < 5.0);
    assert!(first.peak_memory_bytes().unwrap() > 1_000_000);

    first.pause().unwrap();
    assert_eq!(operator.ready(), Err("no answer".to_owned()));
    first.resume().unwrap();
    first.kill().unwrap();
    let error = operator.wait_ready(PATIENCE).unwrap_err().to_string();
    assert!(error.contains("it has ended") && error.contains("stackflux starts"), "{error}");
    operator.start_again().unwrap();
    eventually("it leads", || leads(&operator));
    operator.wait_ready(PATIENCE).unwrap();
    operator.process().unwrap().terminate().unwrap();

    assert_eq!(testbed.audit().operator_writes_since(mark).unwrap(), []);
    let all = testbed.audit().writes_since(mark).unwrap();
    assert!(all.iter().any(|write| write.user == "stackflux" && write.resource == "leases"), "{all:?}");
    let log = std::fs::read_to_string(operator.log()).unwrap();
    assert_eq!(log.matches("stackflux starts").count(), 2, "{log}");
}
