//! Flags of Flux that have to fit those of the operator, and what the `ClusterStack`s need.

use std::collections::BTreeMap;

use crate::api::SourcePlacement;
use crate::explain::doctor::check::{Check, word};
use crate::explain::doctor::facts::{Facts, Own, Program};
use crate::foreign::capi::Cluster;
use crate::inputs::line::Line;
use crate::names::Key;
use crate::release::finding::listed;

pub(super) const REFERENCES: &str = "CrossNamespaceRefs";
pub(super) const ACCOUNTS: &str = "DefaultServiceAccount";

const NO_REFERENCES: &str = "no-cross-namespace-refs";
const ACCOUNT: &str = "default-service-account";

/// Number of controllers that a message and its command name.
const SHOWN: usize = 4;
/// The controllers that install what stackflux plans.
const INSTALLING: [&str; 2] = ["helm-controller", "kustomize-controller"];

/// Checks that Flux does not refuse the references that stackflux plans, and that it refuses those that the operator refuses.
pub(super) fn references(facts: &Facts, programs: &[Program]) -> Check {
    if installing(programs).next().is_none() {
        return unknown(REFERENCES);
    }
    let looser = looser(REFERENCES, NO_REFERENCES, programs, |program| program.has(NO_REFERENCES));
    let strict = installing(programs).find(|program| program.has(NO_REFERENCES));
    let Some(strict) = strict else {
        return looser.unwrap_or_else(|| Check::ok(REFERENCES, "allowed by Flux and by the operator"));
    };
    let (stacks, clusters) = match (&facts.stacks, &facts.clusters) {
        (Ok(stacks), Ok(clusters)) => (stacks, clusters),
        (Err(why), _) | (_, Err(why)) => return Check::unread(REFERENCES, why),
    };
    let name = &strict.key.name;
    let refused = stacks.iter().find_map(|stack| Some((stack, refused(stack, clusters)?)));
    match refused {
        Some((stack, what)) => {
            let message = format!("{name} runs with --{NO_REFERENCES}, and refuses {what}");
            change(stack, message)
        }
        None => looser.unwrap_or_else(|| match facts.unreadable() {
            Some(key) => Check::unreadable(REFERENCES, key),
            None => Check::ok(REFERENCES, format!("{name} refuses them, and no ClusterStack needs them")),
        }),
    }
}

/// Returns what of a `ClusterStack` Flux refuses without references between namespaces.
fn refused(stack: &Own, clusters: &[Cluster]) -> Option<String> {
    let (spec, key) = (stack.stack.as_ref()?, &stack.key);
    if let Some(namespace) = source_elsewhere(stack) {
        return Some(format!("the class of ClusterStack {key}, whose source is in namespace {namespace}"));
    }
    let line = Line::of_stack(spec);
    let is_elsewhere = |cluster: &&Cluster| {
        let release =
            cluster.release().filter(|(namespace, name)| *namespace == key.namespace && line.has(name));
        release.is_some() && cluster.namespace().as_str() != key.namespace
    };
    let cluster =
        clusters.iter().find(is_elsewhere).filter(|_| spec.flux.sources == SourcePlacement::Shared)?;
    Some(format!("the sources of ClusterStack {key} for Cluster {} of another namespace", cluster.key()))
}

/// Returns the namespace of a stack's source, if it is not that of the stack.
fn source_elsewhere(stack: &Own) -> Option<&str> {
    let source = stack.stack.as_ref()?.source.as_ref()?.git_repository_ref.as_ref()?;
    source.namespace.as_deref().filter(|namespace| *namespace != stack.key.namespace)
}

/// Reports what Flux refuses, and what makes the `ClusterStack` fit.
fn change(stack: &Own, message: String) -> Check {
    let (namespace, name) = (&stack.key.namespace, &stack.key.name);
    if source_elsewhere(stack).is_some() {
        let run = format!("kubectl -n {namespace} edit clusterstack {name}");
        return Check::problem(REFERENCES, message, run).then("Name a source of its own namespace.");
    }
    let run = format!(
        "kubectl -n {namespace} patch clusterstack {name} --type=merge -p '{{\"spec\":{{\"flux\":{{\"sources\":\"PerNamespace\"}}}}}}'"
    );
    Check::problem(REFERENCES, message, run)
}

/// Checks that Flux has a default account if the operator has one, and names that of Flux.
pub(super) fn accounts(programs: &[Program]) -> Check {
    if installing(programs).next().is_none() {
        return unknown(ACCOUNTS);
    }
    if let Some(check) = looser(ACCOUNTS, ACCOUNT, programs, |program| program.flag(ACCOUNT).is_some()) {
        return check;
    }
    let set = installing(programs).find_map(|program| Some((program, program.flag(ACCOUNT)?)));
    let Some((program, account)) = set else {
        return Check::ok(
            ACCOUNTS,
            "none: Flux installs as its own account, unless a ClusterStack names one",
        );
    };
    let Key { namespace, name } = &program.key;
    let message = format!(
        "{name} runs with --{ACCOUNT}={account}: this account must exist in the namespace of each ClusterStack and, in \
         workload clusters, of each Cluster"
    );
    Check::warning(ACCOUNTS, message, "flux get helmreleases -A --status-selector ready=false")
        .then(format!("What lacks it is in the log of {namespace}/{name}, too."))
}

/// Reports the controllers that lack a restriction of the operator, which users bypass with the kinds of these controllers.
fn looser(
    check: &'static str,
    flag: &str,
    programs: &[Program],
    is_set: impl Fn(&Program) -> bool,
) -> Option<Check> {
    let operator = programs.iter().find(|program| program.is_operator() && is_set(program))?;
    let lacking: Vec<&Program> = installing(programs).filter(|program| !is_set(program)).collect();
    let names: Vec<String> = lacking.iter().map(|program| program.key.to_string()).collect();
    let mut by_namespace = BTreeMap::<&str, Vec<&str>>::new();
    for Program { key, .. } in lacking.iter().take(SHOWN) {
        by_namespace.entry(&key.namespace).or_default().push(&key.name);
    }
    let edit = |(namespace, names): (&str, Vec<&str>)| {
        format!("kubectl -n {namespace} edit deployment {}", names.join(" "))
    };
    let run = by_namespace.into_iter().map(edit).reduce(|one, next| format!("{one} && {next}"))?;
    let message = format!(
        "the operator {} runs with --{flag} and {} without it, so that users bypass it with Flux's own kinds",
        operator.key,
        listed(&names, SHOWN)
    );
    let value = word(operator.flag(flag).unwrap_or("true"));
    Some(Check::warning(check, message, run).then(format!("Add --{flag}={value}.")))
}

/// Reports that Flux's flags are not in a Deployment.
fn unknown(check: &'static str) -> Check {
    let message = format!("no Deployment of {} was found: its flags are unknown", INSTALLING.join(" or "));
    Check::unknown(check, message, "flux check")
}

fn installing(programs: &[Program]) -> impl Iterator<Item = &Program> {
    programs.iter().filter(|program| INSTALLING.iter().any(|name| program.is_controller(name)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::explain::doctor::check::Outcome::{NotChecked, Ok as Good, Problem, Warning};
    use crate::explain::doctor::tests::{
        assert_found, cluster, flux_programs, forbidden, healthy, operator, stack,
    };

    /// Checks references with these flags of Flux and of the operator.
    fn found(facts: &Facts, flux: &[&str], of_operator: &[&str]) -> Check {
        references(facts, &[flux_programs(flux), vec![operator(of_operator)]].concat())
    }

    #[test]
    fn references_that_flux_refuses_are_a_problem() {
        const STRICT: &[&str] = &["--no-cross-namespace-refs=true"];
        let shared = stack(&json!({}));
        let copied = stack(&json!({"flux": {"sources": "PerNamespace"}}));
        let elsewhere =
            stack(&json!({"source": {"gitRepositoryRef": {"name": "a", "namespace": "platform"}}}));
        let (inside, outside) = (cluster("demo"), cluster("team"));
        for (stack, cluster, outcome, part) in [
            (&shared, &inside, Good, "no ClusterStack needs them"),
            (
                &shared,
                &outside,
                Problem,
                "sources of ClusterStack demo/docker-demo-1-34 for Cluster team/one",
            ),
            (&copied, &outside, Good, "no ClusterStack needs them"),
            (&elsewhere, &inside, Problem, "whose source is in namespace platform"),
        ] {
            let facts =
                Facts { stacks: Ok(vec![stack.clone()]), clusters: Ok(vec![cluster.clone()]), ..healthy() };
            assert_found(&[found(&facts, STRICT, &[])], &[(REFERENCES, outcome, part)]);
            assert_found(&[found(&facts, &[], &[])], &[(REFERENCES, Good, "allowed")]);
        }
        let unreadable = Facts { stacks: Ok(vec![Own { stack: None, ..shared.clone() }]), ..healthy() };
        let part = "spec of ClusterStack demo/docker-demo-1-34 cannot be read";
        assert_found(&[found(&unreadable, STRICT, &[])], &[(REFERENCES, NotChecked, part)]);
        let unread = Facts { clusters: Err(forbidden("list", "cluster.x-k8s.io", "clusters")), ..healthy() };
        assert_found(
            &[found(&unread, STRICT, &[])],
            &[(REFERENCES, NotChecked, "you may not list clusters")],
        );
    }

    #[test]
    fn flux_is_as_strict_as_the_operator() {
        const TENANT: &[&str] = &["--default-service-account=tenant"];
        const STRICT: &[&str] = &["--no-cross-namespace-refs"];
        let facts = healthy();
        assert_found(
            &[found(&facts, &[], &["--no-cross-namespace-refs"])],
            &[(REFERENCES, Warning, "users bypass it")],
        );
        assert_found(&[references(&facts, &[])], &[(REFERENCES, NotChecked, "its flags are unknown")]);
        assert_found(&[super::accounts(&[])], &[(ACCOUNTS, NotChecked, "its flags are unknown")]);
        let accounts = |flux: &[&str], of_operator: &[&str]| {
            accounts(&[flux_programs(flux), vec![operator(of_operator)]].concat())
        };
        assert_found(&[accounts(&[], TENANT)], &[(ACCOUNTS, Warning, "users bypass it")]);
        assert_found(&[accounts(TENANT, &[])], &[(ACCOUNTS, Warning, "=tenant: this account must exist")]);
        assert_found(
            &[accounts(TENANT, TENANT)],
            &[(ACCOUNTS, Warning, "and flux-system/kustomize-controller without")],
        );
        assert_found(&[accounts(&[], &[])], &[(ACCOUNTS, Good, "its own account")]);

        // One strict controller does not make up for the other.
        let part = "--no-cross-namespace-refs and flux-system/kustomize-controller without it";
        assert_found(&[found(&facts, STRICT, STRICT)], &[(REFERENCES, Warning, part)]);

        // Flux's controllers of two namespaces are edited in two.
        let mut programs = [flux_programs(&[]), vec![operator(STRICT)]].concat();
        for program in programs.iter_mut().filter(|program| program.is_controller("helm-controller")) {
            program.key.namespace = "tenants".to_owned();
        }
        let expected = "kubectl -n flux-system edit deployment kustomize-controller && \
                        kubectl -n tenants edit deployment helm-controller";
        let check = references(&facts, &programs);
        assert_eq!(check.run.as_deref(), Some(expected));
        let part = "and flux-system/kustomize-controller, tenants/helm-controller without it";
        assert_found(&[check], &[(REFERENCES, Warning, part)]);

        // A tenant who creates Deployments can name many so.
        let many = (0..100).flat_map(|_| flux_programs(&[])).chain([operator(STRICT)]);
        let check = references(&facts, &many.collect::<Vec<_>>());
        assert!(check.message.contains(" and 196 more without it") && check.run.unwrap().len() < 200);
    }
}
