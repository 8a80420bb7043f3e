//! Whether an operator runs, which version it has, and what it reports about source-controller.

use jiff::Timestamp;

use super::check::{Check, word};
use super::facts::{Cause, Facts, Own, Program, Unread};
use super::version::parsed;
use crate::api::{ConditionType, Reason};
use crate::explain::age;
use crate::explain::operator::{OperatorLease, down};

const LEADER: &str = "Leader";
const VERSION: &str = "OperatorVersion";
const SOURCE_CONTROLLER: &str = "SourceController";

/// The flag without which each Pod of an operator writes.
const ELECTION: &str = "enable-leader-election";

/// Checks the operator.
#[must_use]
pub fn operator(facts: &Facts) -> Vec<Check> {
    vec![leader(facts), version(facts), source_controller(facts)]
}

/// Checks that each operator has a leader, by its Lease and its Pods.
fn leader(facts: &Facts) -> Check {
    if let Some(program) = operators(facts).find(|program| program.ready == 0) {
        let (key, wanted) = (&program.key, program.replicas);
        let message =
            format!("the Deployment {key} has 0 of {wanted} Pods that are ready: no operator runs there");
        let run = format!("kubectl -n {} describe pods -l app.kubernetes.io/name=stackflux", key.namespace);
        return Check::problem(LEADER, message, run);
    }
    let leases = match &facts.leases {
        Ok(leases) => leases,
        Err(why) => return Check::unread(LEADER, why),
    };
    if let Some(lease) = down(leases, facts.now).first().map(|down| &down.0) {
        let (key, renewed) = (&lease.key, age(lease.renewed, facts.now));
        let message = format!(
            "the Lease {key} was last renewed {renewed} ago: no operator runs, and all that it reported is as old"
        );
        let run = format!(
            "kubectl -n {} get pods -l app.kubernetes.io/name=stackflux  # delete the Lease if none is to run there",
            key.namespace
        );
        return Check::problem(LEADER, message, run);
    }
    let alone = operators(facts).find(|program| program.flag(ELECTION) == Some("false"));
    if let Some(Program { key, .. }) = alone.filter(|_| leases.is_empty()) {
        let message =
            format!("the operator {key} runs with --{ELECTION}=false: only one of its Pods may run");
        return Check::warning(
            LEADER,
            message,
            format!("kubectl -n {} get deployment {}", key.namespace, key.name),
        );
    }
    if leases.is_empty() {
        let message = "there is no Lease of an operator: none has run yet";
        return Check::problem(
            LEADER,
            message,
            "stackflux install --export | kubectl apply --server-side --force-conflicts -f -",
        );
    }
    let running: Vec<String> = running(leases, facts.now).collect();
    Check::ok(LEADER, running.join("; "))
}

/// Describes the leaders that renew their Leases.
fn running(leases: &[OperatorLease], now: Timestamp) -> impl Iterator<Item = String> {
    let runs = move |lease: &&OperatorLease| down(std::slice::from_ref(*lease), now).is_empty();
    leases.iter().filter(runs).map(move |lease| {
        let (holder, key) = (&lease.holder, &lease.key);
        let since = lease.acquired.map(|since| format!(" for {}", age(since, now))).unwrap_or_default();
        if holder.is_empty() {
            format!("none holds the Lease {key} at the moment")
        } else {
            format!("{holder} leads{since} (Lease {key})")
        }
    })
}

/// Compares the version of the operator with that of this program.
fn version(facts: &Facts) -> Check {
    let programs = match &facts.programs {
        Ok(programs) => programs,
        Err(why) => return Check::unread(VERSION, why),
    };
    let operators: Vec<&Program> = programs.iter().filter(|program| program.is_operator()).collect();
    let show = "kubectl get deployments -A -o wide  # column IMAGES";
    if operators.is_empty() {
        return Check::unknown(
            VERSION,
            "no Deployment of an operator was found: its version is unknown",
            show,
        );
    }
    let own = env!("CARGO_PKG_VERSION");
    for program in operators {
        let (key, tag) = (&program.key, program.tag());
        let message = |is: &str| {
            format!("the operator {key} has version {tag}, which is {is} than this program ({own})")
        };
        match parsed(tag).map(|found| found.cmp(&parsed(own).unwrap_or_default())) {
            Some(std::cmp::Ordering::Equal) => {}
            Some(std::cmp::Ordering::Less) => {
                let run = format!(
                    "kubectl -n {} set image deployment/{} manager=<registry>/stackflux:{own}  # docs/do/operate.md: upgrade",
                    key.namespace, key.name
                );
                return Check::warning(VERSION, message("older"), run);
            }
            Some(std::cmp::Ordering::Greater) => {
                let run =
                    format!("stackflux version  # then install the command line of version {}", word(tag));
                return Check::warning(VERSION, message("newer"), run);
            }
            None => {
                let message =
                    format!("the image of the operator {key} does not name its version: {}", program.image);
                return Check::unknown(VERSION, message, show);
            }
        }
    }
    Check::ok(VERSION, format!("{own}, as this program"))
}

/// Checks that the operator reaches source-controller, by what it reports: only its own network matters.
fn source_controller(facts: &Facts) -> Check {
    let kinds = [("ClusterStack", &facts.stacks), ("ClusterStackRelease", &facts.releases)];
    for reason in [Reason::ArtifactUnavailable, Reason::ApplierUnavailable] {
        for (kind, read) in kinds {
            let objects = match read {
                Ok(objects) => objects,
                Err(Unread::NotServed(_)) => &Vec::new(),
                Err(why) => return Check::unread(SOURCE_CONTROLLER, why),
            };
            if let Some((object, message)) = objects.iter().find_map(|object| said(object, reason)) {
                let Own { key, .. } = object;
                let name = reason.as_str();
                let message = format!("{kind} {key} reports {name}: {message}");
                let run = format!("stackflux why {}/{key}  # {}", kind.to_lowercase(), reason.action());
                return Check::problem(SOURCE_CONTROLLER, message, run);
            }
        }
    }
    let number = facts.stacks.as_ref().map(Vec::len).unwrap_or_default();
    if number == 0 {
        return Check::ok(SOURCE_CONTROLLER, "not needed yet: there are no ClusterStacks");
    }
    Check::ok(SOURCE_CONTROLLER, "no ClusterStack or release reports that it cannot be reached")
}

/// Returns what an object reports for a reason. That a controller does not act is about source-controller only if the condition is
/// about a source.
fn said(object: &Own, reason: Reason) -> Option<(&Own, &str)> {
    let is_source = |cause: &Cause| {
        reason == Reason::ArtifactUnavailable || cause.condition == ConditionType::SourceReady.as_str()
    };
    let found = object.causes.iter().find(|cause| cause.reason == reason.as_str() && is_source(cause));
    found.map(|cause| (object, cause.message.as_str()))
}

fn operators(facts: &Facts) -> impl Iterator<Item = &Program> {
    facts.programs.iter().flatten().filter(|program| program.is_operator())
}

#[cfg(test)]
mod tests {
    use super::super::check::Outcome::{NotChecked, Ok as Good, Problem, Warning};
    use super::super::tests::{assert_found, forbidden, healthy, operator as deployment, stack};
    use jiff::SignedDuration;

    use super::*;
    use crate::names::Key;

    #[test]
    fn leader_is_the_holder_of_a_renewed_lease() {
        let mut facts = healthy();
        let say = |facts: &Facts, outcome, part| assert_found(&[leader(facts)], &[(LEADER, outcome, part)]);
        say(&facts, Good, "stackflux-a leads for 3h (Lease flux-system/stackflux-leader-election)");
        let lease = facts.leases.clone().unwrap().remove(0);
        facts.leases = Ok(vec![OperatorLease { holder: String::new(), ..lease.clone() }]);
        say(&facts, Good, "none holds the Lease");
        let old = facts.now - SignedDuration::from_hours(50);
        facts.leases = Ok(vec![OperatorLease { renewed: old, ..lease }]);
        say(&facts, Problem, "was last renewed 2d ago");
        facts.leases = Ok(Vec::new());
        say(&facts, Problem, "there is no Lease");
        let alone =
            Facts { programs: Ok(vec![deployment(&["--enable-leader-election=false"])]), ..facts.clone() };
        say(&alone, Warning, "only one of its Pods may run");
        facts.leases = Err(forbidden("list", "coordination.k8s.io", "leases"));
        say(&facts, NotChecked, "you may not list leases.coordination.k8s.io");
        facts.programs = Ok(vec![Program { ready: 0, ..deployment(&[]) }]);
        say(&facts, Problem, "flux-system/stackflux has 0 of 2 Pods that are ready");
    }

    #[test]
    fn version_is_compared_with_that_of_the_program() {
        let own = env!("CARGO_PKG_VERSION");
        let digest = "registry.example.org:5000/stackflux@sha256:0123";
        for (image, outcome, part) in [
            (format!("registry.example.org:5000/stackflux:v{own}@sha256:0123"), Good, "as this program"),
            ("stackflux:0.0.1".to_owned(), Warning, "has version 0.0.1, which is older"),
            ("stackflux:v9.0.0".to_owned(), Warning, "has version v9.0.0, which is newer"),
            (
                digest.to_owned(),
                NotChecked,
                "does not name its version: registry.example.org:5000/stackflux@sha256",
            ),
        ] {
            let facts = Facts { programs: Ok(vec![Program { image, ..deployment(&[]) }]), ..healthy() };
            assert_found(&[version(&facts)], &[(VERSION, outcome, part)]);
        }
        let elsewhere = Facts { programs: Ok(Vec::new()), ..healthy() };
        assert_found(&[version(&elsewhere)], &[(VERSION, NotChecked, "no Deployment of an operator")]);
        let unread = Facts { programs: Err(forbidden("list", "apps", "deployments")), ..healthy() };
        assert_found(&[version(&unread)], &[(VERSION, NotChecked, "you may not list")]);
    }

    #[test]
    fn source_controller_is_judged_by_what_the_operator_reports() {
        let with = |condition: &str, reason: &str| {
            let (condition, reason) = (condition.to_owned(), reason.to_owned());
            let causes = vec![Cause { condition, reason, message: "timed out after 10 s".to_owned() }];
            let release = Own { key: Key::new("demo", "docker-demo-1-34-v1"), causes, ..Own::default() };
            source_controller(&Facts {
                releases: Ok(vec![release]),
                stacks: Ok(vec![stack(&serde_json::json!({}))]),
                ..healthy()
            })
        };
        let part = "ClusterStackRelease demo/docker-demo-1-34-v1 reports ArtifactUnavailable: timed out";
        assert_found(&[with("Ready", "ArtifactUnavailable")], &[(SOURCE_CONTROLLER, Problem, part)]);
        assert_found(
            &[with("SourceReady", "ApplierUnavailable")],
            &[(SOURCE_CONTROLLER, Problem, "reports ApplierUnavailable")],
        );
        let well = "no ClusterStack or release";
        assert_found(&[with("ClassReady", "ApplierUnavailable")], &[(SOURCE_CONTROLLER, Good, well)]);
        assert_found(&[with("SourceReady", "Progressing")], &[(SOURCE_CONTROLLER, Good, well)]);
        let none = Facts { stacks: Ok(Vec::new()), releases: Ok(Vec::new()), ..healthy() };
        assert_found(&[source_controller(&none)], &[(SOURCE_CONTROLLER, Good, "not needed yet")]);
        let unread = Facts {
            releases: Err(forbidden("list", "clusterstack.x-k8s.io", "clusterstackreleases")),
            ..healthy()
        };
        assert_found(&[source_controller(&unread)], &[(SOURCE_CONTROLLER, NotChecked, "you may not list")]);
    }
}
