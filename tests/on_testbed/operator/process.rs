//! The operator as a process on a real API server, through the proxy: started, queried, disturbed, identified in the
//! audit log.

use std::path::Path;

use stackflux_testbed::{LyingProxy, Operator, Testbed};

use super::account::the_installed_account_may_do_all_that_it_has_to;
use super::scenario::{Alone, SHORT_LEASE, TIMEOUT, eventually, leads};
use super::secrets::only_named_secrets_are_read_and_none_is_shown;
use crate::definitions::apply_definitions;

/// Parts that need an API server without operators of other tests, one after the other: all count the writes there, by
/// an account or with a Lease that exists once.
#[test]
fn operator_sends_only_required_requests() {
    let alone = Alone::start(&["one", "two"]);
    restarted_operator_leads_again_and_writes_only_its_lease(&alone.testbed);
    the_installed_account_may_do_all_that_it_has_to(&alone.testbed);
    only_named_secrets_are_read_and_none_is_shown(&alone.testbed);
}

/// The first part: no ClusterStack exists yet.
fn restarted_operator_leads_again_and_writes_only_its_lease(testbed: &Testbed) {
    apply_definitions(testbed.management());
    let mark = testbed.audit().mark().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_stackflux"));
    let proxy = LyingProxy::start(testbed.operator_kubeconfig()).unwrap();
    let operator = Operator::start(testbed, binary, proxy.kubeconfig(), &SHORT_LEASE).unwrap();
    eventually("it leads", || leads(&operator));
    let first = operator.process().unwrap();
    assert!(first.cpu_seconds().unwrap() < 5.0);
    assert!(first.peak_memory_bytes().unwrap() > 1_000_000);

    first.pause().unwrap();
    assert_eq!(operator.ready(), Err("no answer".to_owned()));
    first.resume().unwrap();
    first.kill().unwrap();
    let error = operator.wait_ready(TIMEOUT).unwrap_err().to_string();
    assert!(error.contains("it has ended") && error.contains("leading"), "{error}");
    operator.start_again().unwrap();
    eventually("it leads", || leads(&operator));
    operator.wait_ready(TIMEOUT).unwrap();
    operator.process().unwrap().terminate().unwrap();

    assert_eq!(testbed.audit().operator_writes_since(mark).unwrap(), []);
    let all = testbed.audit().writes_since(mark).unwrap();
    assert!(all.iter().any(|write| write.user == "stackflux" && write.resource == "leases"), "{all:?}");
    let log = std::fs::read_to_string(operator.log()).unwrap();
    assert_eq!(log.matches("stackflux starts").count(), 2, "{log}");
}
