use super::*;

fn message(wanted: &[&str], held: &[&str]) -> String {
    let listing = Listing::of(["openstack-scs-1-32-v1", "openstack-scs-1-32-v2"].map(str::to_owned));
    let wanted = wanted.iter().map(|name| name.parse().unwrap()).collect();
    let held: Vec<String> = held.iter().map(|hold| (*hold).to_owned()).collect();
    let report = report(&wanted, &listing, &held);
    assert_eq!(report.status, ConditionStatus::True);
    report.message
}

#[test]
fn held_release_is_reported_but_not_as_present() {
    assert_eq!(message(&[], &[]), "the ClusterStack offers no release that is published upstream");
    let there = message(&["openstack-scs-1-32-v2"], &[]);
    assert_eq!(
        there,
        "the stack repository has openstack-scs-1-32-v2 and all other offered releases, of 2 upstream"
    );
    let held = "openstack-scs-1-32-v2 is held back from stage stage: it leaks";
    assert_eq!(
        message(&["openstack-scs-1-32-v2"], &[held]),
        format!("the stack repository has all offered releases, of 2 upstream, except held ones: {held}")
    );
}

#[tokio::test]
async fn endless_upstream_times_out() {
    let endless = std::future::pending::<Result<Listing, OriginError>>();
    let error =
        within(Duration::from_millis(1), "oci://registry.example.com/stacks", endless).await.unwrap_err();
    assert_eq!(error.class(), Class::Transient, "the next look may have an answer");
    assert_eq!(error.to_string(), "oci://registry.example.com/stacks: timed out after 0 s");
}
