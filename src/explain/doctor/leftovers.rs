//! What the cluster-stack-operator leaves behind: its kinds have the same names, so that only one of the two may run.
//!
//! Names: `config/` and `api/v1alpha1` of <https://github.com/SovereignCloudStack/cluster-stack-operator>.

use super::check::{Check, Outcome};
use super::facts::{Facts, Own, Program, Read, Unread};
use crate::api;
use crate::names::Key;

const LEFTOVERS: &str = "OldOperator";

/// The name and the label of its Deployment.
const CONTROLLER: &str = "cso-controller-manager";
/// What the names of its objects begin with.
const PREFIX: &str = "cso-";
/// What its finalizers end with; that of stackflux begins with this group.
const FINALIZER: &str = ".clusterstack.x-k8s.io";

/// Reports each kind of leftover.
#[must_use]
pub fn leftovers(facts: &Facts) -> Vec<Check> {
    let mut found = Vec::new();
    found.extend(deployments(facts));
    found.extend(webhooks(facts));
    found.extend(extensions(facts));
    // While it runs, it removes its finalizers itself.
    if !facts.programs.iter().flatten().any(|program| is_theirs(program) && program.replicas > 0) {
        for (kind, read) in [
            ("clusterstack", &facts.stacks),
            ("clusterstackrelease", &facts.releases),
            ("clusteraddon", &facts.addons),
        ] {
            found.extend(finalizers(kind, read));
        }
    }
    // One right that is missing says enough.
    let is_unread = |check: &Check| check.outcome == Outcome::NotChecked;
    let first = found.iter().find(|check| is_unread(check)).cloned();
    found.retain(|check| !is_unread(check));
    found.extend(first);
    if found.is_empty() {
        found.push(Check::ok(LEFTOVERS, "nothing of the cluster-stack-operator is in the cluster"));
    }
    found
}

/// Reports its Deployment.
fn deployments(facts: &Facts) -> Option<Check> {
    let programs = match &facts.programs {
        Ok(programs) => programs,
        Err(why) => return Some(Check::unread(LEFTOVERS, why)),
    };
    let program = programs.iter().find(|program| is_theirs(program))?;
    let Key { namespace, name } = &program.key;
    if program.replicas == 0 {
        let message = format!(
            "the Deployment {namespace}/{name} of the cluster-stack-operator is stopped, and could be started again"
        );
        return Some(Check::warning(
            LEFTOVERS,
            message,
            format!("kubectl -n {namespace} delete deployment {name}"),
        ));
    }
    let message = format!(
        "the cluster-stack-operator runs ({namespace}/{name}), and writes the same kinds as stackflux"
    );
    Some(
        Check::problem(
            LEFTOVERS,
            message,
            format!("kubectl -n {namespace} scale deployment {name} --replicas=0"),
        )
        .then("Change operators as docs/do/migrate.md says."),
    )
}

/// Whether it is the Deployment of the cluster-stack-operator.
fn is_theirs(program: &Program) -> bool {
    let labelled = program.pod_labels.get("control-plane").is_some_and(|value| value == CONTROLLER);
    program.key.name == CONTROLLER || labelled
}

/// Reports its webhooks: while its Pods are gone, the API server refuses what they would check.
fn webhooks(facts: &Facts) -> Option<Check> {
    let webhooks = match &facts.webhooks {
        Ok(webhooks) => webhooks,
        Err(why) => return Some(Check::unread(LEFTOVERS, why)),
    };
    let webhook = webhooks.iter().find(|webhook| {
        let is_named = webhook.name.starts_with(PREFIX) || webhook.service.name.starts_with(PREFIX);
        is_named && webhook.groups.contains(api::GROUP)
    })?;
    let (kind, name) = (webhook.kind, &webhook.name);
    let message = format!(
        "{kind} {name} of the cluster-stack-operator: without its Pods, the API server refuses ClusterStacks and Clusters"
    );
    Some(Check::problem(LEFTOVERS, message, format!("kubectl delete {} {name}", kind.to_lowercase())))
}

/// Reports its Runtime Extension: while its Pods are gone, Cluster API does not upgrade clusters.
fn extensions(facts: &Facts) -> Option<Check> {
    let extensions = match &facts.extensions {
        Ok(extensions) => extensions,
        Err(Unread::NotServed(_)) => return None,
        Err(why) => return Some(Check::unread(LEFTOVERS, why)),
    };
    let extension = extensions.iter().find(|extension| extension.service.name.starts_with(PREFIX))?;
    let name = &extension.name;
    let message = format!(
        "ExtensionConfig {name} of the cluster-stack-operator: without its Pods, Cluster API neither creates nor upgrades clusters"
    );
    Some(Check::problem(LEFTOVERS, message, format!("kubectl delete extensionconfig {name}")))
}

/// Reports its finalizers, with which a deletion waits for an operator that does not run.
fn finalizers(kind: &str, read: &Read<Vec<Own>>) -> Option<Check> {
    let objects = match read {
        Ok(objects) => objects,
        Err(Unread::NotServed(_)) => return None,
        Err(why) => return Some(Check::unread(LEFTOVERS, why)),
    };
    let position =
        |object: &Own| object.finalizers.iter().position(|finalizer| finalizer.ends_with(FINALIZER));
    let found: Vec<(&Own, usize)> =
        objects.iter().filter_map(|object| Some((object, position(object)?))).collect();
    let (object, at) = *found.first()?;
    let Key { namespace, name } = &object.key;
    let finalizer = object.finalizers.get(at).map(String::as_str).unwrap_or_default();
    let others = match found.len() {
        1 => String::new(),
        number => format!(" and {} more", number - 1),
    };
    let message = format!(
        "{kind} {namespace}/{name}{others}: the finalizer {finalizer} of the cluster-stack-operator delays the deletion forever"
    );
    let run = format!(
        "kubectl -n {namespace} patch {kind} {name} --type=json -p '[{{\"op\":\"test\",\"path\":\"/metadata/finalizers/{at}\",\
         \"value\":\"{finalizer}\"}},{{\"op\":\"remove\",\"path\":\"/metadata/finalizers/{at}\"}}]'"
    );
    let check = Check::problem(LEFTOVERS, message, run);
    let then = "Then run stackflux doctor again, for the others.";
    Some(if found.len() == 1 { check } else { check.then(then) })
}

#[cfg(test)]
mod tests {
    use super::super::check::Outcome::{NotChecked, Ok as Good, Problem, Warning};
    use super::super::facts::{Extension, Webhook};
    use super::super::tests::{assert_found, forbidden, healthy, program};
    use super::*;

    fn say(facts: &Facts, outcome: Outcome, part: &str) {
        assert_found(&leftovers(facts), &[(LEFTOVERS, outcome, part)]);
    }

    #[test]
    fn deployment_of_the_old_operator_must_not_run() {
        say(&healthy(), Good, "nothing of the cluster-stack-operator");
        let old = program("cso-system", CONTROLLER, "cso:v0.1.0", &[]);
        say(
            &Facts { programs: Ok(vec![old.clone()]), ..healthy() },
            Problem,
            "runs (cso-system/cso-controller-manager)",
        );
        let renamed = Program {
            key: Key::new("scs", "controller"),
            pod_labels: [("control-plane".to_owned(), CONTROLLER.to_owned())].into(),
            ..old.clone()
        };
        say(&Facts { programs: Ok(vec![renamed]), ..healthy() }, Problem, "runs (scs/controller)");
        let stopped = Program { replicas: 0, ..old };
        say(&Facts { programs: Ok(vec![stopped]), ..healthy() }, Warning, "is stopped");
    }

    #[test]
    fn webhooks_and_extensions_of_the_old_operator_block() {
        let webhook = |name: &str, group: &str| Webhook {
            kind: "ValidatingWebhookConfiguration",
            name: name.to_owned(),
            service: Key::new("cso-system", &format!("{name}-service")),
            groups: [group.to_owned()].into(),
        };
        for (name, group, outcome, part) in [
            (
                "cso-validating-webhook-configuration",
                api::GROUP,
                Problem,
                "the API server refuses ClusterStacks",
            ),
            ("kyverno-policy", api::GROUP, Good, "nothing"),
            ("cso-other", "example.org", Good, "nothing"),
        ] {
            say(&Facts { webhooks: Ok(vec![webhook(name, group)]), ..healthy() }, outcome, part);
        }
        let extension =
            |service: &str| Extension { name: "hooks".to_owned(), service: Key::new("cso-system", service) };
        say(
            &Facts { extensions: Ok(vec![extension("cso-hook-server-svc")]), ..healthy() },
            Problem,
            "ExtensionConfig hooks",
        );
        say(&Facts { extensions: Ok(vec![extension("others")]), ..healthy() }, Good, "nothing");
        say(
            &Facts { extensions: Err(Unread::NotServed("extensionconfigs".to_owned())), ..healthy() },
            Good,
            "nothing",
        );
    }

    #[test]
    fn finalizer_of_the_old_operator_is_named_with_its_place() {
        let own = |name: &str, finalizers: &[&str]| Own {
            key: Key::new("demo", name),
            finalizers: finalizers.iter().map(ToString::to_string).collect(),
            ..Own::default()
        };
        let ours = own("a", &[api::labels::FINALIZER, "foregroundDeletion"]);
        say(&Facts { addons: Ok(vec![ours.clone()]), ..healthy() }, Good, "nothing");
        let both = [api::labels::FINALIZER, "clusteraddon.clusterstack.x-k8s.io"];
        let old = vec![ours, own("b", &both), own("c", &both)];
        let runs = program("cso-system", CONTROLLER, "cso:v0.1.0", &[]);
        let facts = Facts { programs: Ok(vec![runs]), addons: Ok(old.clone()), ..healthy() };
        say(&facts, Problem, "the cluster-stack-operator runs");
        let found = leftovers(&Facts { addons: Ok(old), ..healthy() });
        assert_found(
            &found,
            &[(LEFTOVERS, Problem, "clusteraddon demo/b and 1 more: the finalizer clusteraddon.")],
        );
        assert!(found[0].run.as_deref().unwrap().contains("/metadata/finalizers/1"), "{found:?}");
    }

    #[test]
    fn unread_leftovers_are_not_checked() {
        let why = |resource| forbidden("list", "example.org", resource);
        say(
            &Facts { programs: Err(why("deployments")), ..healthy() },
            NotChecked,
            "you may not list deployments",
        );
        say(&Facts { webhooks: Err(why("webhooks")), ..healthy() }, NotChecked, "you may not list webhooks");
        say(
            &Facts { extensions: Err(why("extensions")), ..healthy() },
            NotChecked,
            "you may not list extensions",
        );
        say(&Facts { addons: Err(why("addons")), ..healthy() }, NotChecked, "you may not list addons");
    }
}
