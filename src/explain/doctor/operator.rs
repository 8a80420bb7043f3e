//! Whether an operator runs, which version it has, and what it reports about source-controller.

use jiff::Timestamp;

use super::check::{Check, Outcome, word};
use super::facts::{Cause, Facts, Own, Program, Unread};
use super::version::parsed;
use crate::api::{ConditionType, Reason};
use crate::explain::age;
use crate::explain::operator::{OperatorLease, down};
use crate::installation::lease::lease_name;
use crate::names::Key;

const LEADER: &str = "Leader";
const VERSION: &str = "OperatorVersion";
const SOURCE_CONTROLLER: &str = "SourceController";

/// The flag without which each Pod of an operator writes.
const ELECTION: &str = "enable-leader-election";

/// Checks the operator.
#[must_use]
pub fn operator(facts: &Facts) -> Vec<Check> {
    let leader = leader(facts);
    let source_controller = match source_controller(facts) {
        said if said.outcome == Outcome::Ok && leader.outcome == Outcome::Problem => Check::unknown(
            SOURCE_CONTROLLER,
            "nothing reports it, because an operator does not run",
            leader.run.clone().unwrap_or_default(),
        ),
        said => said,
    };
    vec![leader, version(facts), source_controller]
}

/// Checks that each operator has a leader, by its Pods and its Lease.
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
    let electing = || operators(facts).filter(|program| !is_alone(program));
    let without = electing().find(|program| leases.iter().all(|lease| lease.key != lease_of(program)));
    if let Some(program) = without {
        let Program { key, .. } = program;
        let message = format!(
            "there is no Lease {}: the operator {key} has never become the leader",
            lease_of(program)
        );
        let run = format!("kubectl -n {} logs deployment/{} --tail=50", key.namespace, key.name);
        return Check::problem(LEADER, message, run);
    }
    // Each by itself: that of another operator may have the same name.
    let mut own = electing().filter_map(|program| leases.iter().find(|lease| lease.key == lease_of(program)));
    if let Some(lease) = own.find(|lease| is_over(lease, facts.now)) {
        return not_renewed(facts, lease);
    }
    // An operator without an election may have left a Lease of the time before.
    let counting: Vec<OperatorLease> = leases
        .iter()
        .filter(|lease| !operators(facts).any(|program| is_alone(program) && lease.key == lease_of(program)))
        .cloned()
        .collect();
    if let Some(lease) = down(&counting, facts.now).first().map(|down| &down.0) {
        return not_renewed(facts, lease);
    }
    if let Some(Program { key, .. }) = operators(facts).find(|program| is_alone(program)) {
        let message =
            format!("the operator {key} runs with --{ELECTION}=false: only one of its Pods may run");
        let run = format!("kubectl -n {} get deployment {}", key.namespace, key.name);
        return Check::warning(LEADER, message, run);
    }
    if leases.is_empty() {
        let message = "there is neither an operator nor its Lease: none has run yet";
        let run = "kubectl get deployments -A -l app.kubernetes.io/name=stackflux";
        return Check::problem(LEADER, message, run).then("Install the operator: docs/do/install.md.");
    }
    let running: Vec<String> = running(leases, facts.now).collect();
    Check::ok(LEADER, running.join("; "))
}

/// Reports a Lease that has passed.
fn not_renewed(facts: &Facts, OperatorLease { key, renewed, .. }: &OperatorLease) -> Check {
    let message = format!(
        "the Lease {key} was last renewed {} ago: no operator runs, and all that it reported is as old",
        age(*renewed, facts.now)
    );
    let run = format!("kubectl -n {} get pods -l app.kubernetes.io/name=stackflux", key.namespace);
    Check::problem(LEADER, message, run).then("Delete the Lease if no operator is to run there.")
}

/// Whether all Pods of an operator write, because they elect no leader.
fn is_alone(program: &Program) -> bool {
    program.flag(ELECTION) == Some("false")
}

/// Returns the Lease for which the Pods of an operator compete.
fn lease_of(program: &Program) -> Key {
    let set = program.flag("runtime-namespace").filter(|namespace| !namespace.starts_with('$'));
    Key::new(set.unwrap_or(&program.key.namespace), &lease_name(program.flag("watch-label-selector")))
}

/// Whether a Lease has passed.
fn is_over(lease: &OperatorLease, now: Timestamp) -> bool {
    !down(std::slice::from_ref(lease), now).is_empty()
}

/// Describes the leaders that renew their Leases.
fn running(leases: &[OperatorLease], now: Timestamp) -> impl Iterator<Item = String> {
    leases.iter().filter(move |lease| !is_over(lease, now)).map(move |lease| {
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
    let show = "kubectl get deployments -A -o wide";
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
                let run = format!("kubectl -n {} get deployment {} -o wide", key.namespace, key.name);
                return Check::warning(VERSION, message("older"), run)
                    .then(format!("Upgrade it to {own}: docs/do/operate.md."));
            }
            Some(std::cmp::Ordering::Greater) => {
                return Check::warning(VERSION, message("newer"), "stackflux version")
                    .then(format!("Install the command line of version {}.", word(tag)));
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
                let run = format!("stackflux why {}/{key}", kind.to_lowercase());
                return Check::problem(SOURCE_CONTROLLER, message, run).then(reason.action());
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
        let none = Facts { programs: Ok(Vec::new()), ..facts.clone() };
        say(&none, Problem, "there is neither an operator nor its Lease");
        facts.leases = Err(forbidden("list", "coordination.k8s.io", "leases"));
        say(&facts, NotChecked, "you may not list leases.coordination.k8s.io");
        facts.programs = Ok(vec![Program { ready: 0, ..deployment(&[]) }]);
        say(&facts, Problem, "flux-system/stackflux has 0 of 2 Pods that are ready");
    }

    #[test]
    fn each_operator_has_a_lease_of_its_own() {
        let say = |facts: &Facts, outcome, part| assert_found(&[leader(facts)], &[(LEADER, outcome, part)]);
        let mut shard = deployment(&["--watch-label-selector=shard=a"]);
        shard.key = Key::new("flux-system", "stackflux-a");
        let facts = healthy();
        let both = Facts { programs: Ok(vec![deployment(&[]), shard.clone()]), ..facts.clone() };
        say(&both, Problem, "there is no Lease flux-system/stackflux-leader-election-3d8dfb268d57");
        assert_found(
            &operator(&both),
            &[
                (LEADER, Problem, "the operator flux-system/stackflux-a has never become the leader"),
                (VERSION, Good, ""),
                (SOURCE_CONTROLLER, NotChecked, "an operator does not run"),
            ],
        );
        let lease = facts.leases.clone().unwrap().remove(0);
        let of_shard = OperatorLease { key: lease_of(&shard), ..lease.clone() };
        say(&Facts { leases: Ok(vec![lease.clone(), of_shard]), ..both }, Good, "; stackflux-a leads");
        // The Lease is of the time before.
        let old = OperatorLease { renewed: facts.now - SignedDuration::from_hours(50), ..lease };
        let mut other = deployment(&[]);
        other.key = Key::new("elsewhere", "stackflux");
        let renewed = OperatorLease { key: lease_of(&other), renewed: facts.now, ..old.clone() };
        let both = Ok(vec![deployment(&[]), other]);
        let twice = Facts { programs: both, leases: Ok(vec![old.clone(), renewed]), ..facts.clone() };
        say(&twice, Problem, "flux-system/stackflux-leader-election was last renewed 2d ago");
        let alone = vec![deployment(&["--enable-leader-election=false"])];
        say(&Facts { programs: Ok(alone), leases: Ok(vec![old]), ..facts }, Warning, "only one of its Pods");
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
