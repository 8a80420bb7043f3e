use super::*;

fn told(wanted: &[&str], held: &[&str]) -> String {
    let listing = Listing::of(["openstack-scs-1-32-v1", "openstack-scs-1-32-v2"].map(str::to_owned));
    let wanted = wanted.iter().map(|name| name.parse().unwrap()).collect();
    let held: Vec<String> = held.iter().map(|hold| (*hold).to_owned()).collect();
    let report = report(&wanted, &listing, &held);
    assert_eq!(report.status, ConditionStatus::True);
    report.message
}

#[test]
fn what_is_held_is_told_and_not_said_to_be_there() {
    assert_eq!(told(&[], &[]), "nothing that is published upstream is wanted");
    let there = told(&["openstack-scs-1-32-v2"], &[]);
    assert_eq!(
        there,
        "openstack-scs-1-32-v2 and what else is wanted of 2 releases upstream is in the stack repository"
    );
    let held = "openstack-scs-1-32-v2 is held back from stage stage: it leaks";
    assert_eq!(
        told(&["openstack-scs-1-32-v2"], &[held]),
        format!(
            "what is wanted of 2 releases upstream is in the stack repository, but for what is held: {held}"
        )
    );
}

#[tokio::test]
async fn endless_upstream_times_out() {
    let endless = std::future::pending::<Result<Listing, OriginError>>();
    let error =
        within(Duration::from_millis(1), "oci://registry.example.com/stacks", endless).await.unwrap_err();
    assert_eq!(error.class(), Class::Transient, "the next look may have an answer");
    assert_eq!(error.to_string(), "oci://registry.example.com/stacks cannot be reached: timed out after 0 s");
}
