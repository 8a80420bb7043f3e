//! Whether the operator's account has the rights that it needs: those of the shipped roles, and those for the kinds that Clusters
//! refer to.

use std::collections::BTreeMap;

use super::check::{Check, word};
use super::facts::{Answer, Facts, Kind, Program, Question, Read, Unread};
use crate::installation::lease::{LEASE, lease_name};
use crate::installation::rights::{Right, granted};
use crate::installation::{FLUX_NAMESPACE, IMAGE, objects};
use crate::names::Key;
use crate::release::finding::{listed, shortened};

const RIGHTS: &str = "OperatorRights";
const INFRASTRUCTURE: &str = "InfrastructureRights";
/// Number of rights that a message names.
const SHOWN: usize = 3;
/// The verbs with which the operator watches a kind.
const READ: [&str; 3] = ["get", "list", "watch"];
/// The verbs for the objects that it makes of a provider's template.
const WRITE: [&str; 6] = ["get", "list", "watch", "create", "patch", "delete"];
/// Maximum length in characters of what the API server says of a refusal.
const MAX_REASON: usize = 200;
/// The ending of the kind of a template.
const TEMPLATE: &str = "Template";

/// A kind that the operator has to read, with the object that refers to it.
type Used = BTreeMap<Kind, (String, &'static [&'static str])>;

type Answers = BTreeMap<Question, Answer>;

/// Returns the kinds that Clusters, classes and ClusterStacks refer to.
#[must_use]
pub fn kinds(facts: &Facts) -> Vec<Kind> {
    used(facts).into_keys().collect()
}

fn used(facts: &Facts) -> Used {
    let mut used = Used::new();
    for stack in facts.stacks.iter().flatten() {
        let spec = stack.stack.as_ref().filter(|spec| !spec.no_provider);
        let Some(template) = spec.and_then(|spec| spec.provider_ref.as_ref()) else { continue };
        let group = template.api_version.as_deref().and_then(|version| version.split_once('/'));
        let (group, kind) =
            (group.map_or("", |(group, _)| group), template.kind.as_deref().unwrap_or_default());
        let by = format!("ClusterStack {}", stack.key);
        let of = |kind: &str| Kind { group: group.to_owned(), kind: kind.to_owned() };
        used.insert(of(kind.strip_suffix(TEMPLATE).unwrap_or(kind)), (by.clone(), &WRITE));
        used.insert(of(kind), (by, &READ));
    }
    for (kind, class) in facts.class_kinds.iter().flatten() {
        used.entry(kind.clone()).or_insert_with(|| (format!("ClusterClass {class}"), &READ));
    }
    for cluster in facts.clusters.iter().flatten() {
        for object in [cluster.control_plane_ref(), cluster.infrastructure_ref()].into_iter().flatten() {
            let kind = Kind { group: object.group, kind: object.kind };
            used.entry(kind).or_insert_with(|| (format!("Cluster {}", cluster.key()), &READ));
        }
    }
    used
}

/// Returns what to ask the API server about the operators' accounts.
#[must_use]
pub fn questions(facts: &Facts) -> Vec<Question> {
    let operators = facts.programs.iter().flatten().filter(|program| program.is_operator());
    let of_operator = |program: &Program| {
        let rights = shipped(program).into_iter().chain(infrastructure(facts).into_values().flatten());
        rights.map(|right| Question { account: account(program), right }).collect::<Vec<_>>()
    };
    let mut questions: Vec<Question> = operators.flat_map(of_operator).collect();
    questions.sort();
    questions.dedup();
    questions
}

/// Returns the rights that the shipped roles give to an operator, for its namespace and its Lease.
fn shipped(program: &Program) -> Vec<Right> {
    let namespace = &program.key.namespace;
    // The manifests are in the binary, and a test reads them.
    let mut rights = granted(&objects(namespace, IMAGE).unwrap_or_default());
    for right in &mut rights {
        if right.name.as_deref() == Some(LEASE) {
            right.name = Some(lease_name(program.flag("watch-label-selector")));
        }
        if let Some(flux) = program.flag("flux-namespace")
            && right.namespace.as_deref() == Some(FLUX_NAMESPACE)
            && namespace != FLUX_NAMESPACE
        {
            right.namespace = Some(flux.to_owned());
        }
    }
    rights
}

/// Returns the rights for the kinds in use that the API server serves.
fn infrastructure(facts: &Facts) -> BTreeMap<Kind, Vec<Right>> {
    let rights = used(facts).into_iter().filter_map(|(kind, (_, verbs))| {
        let resource = facts.resources.get(&kind)?.as_ref()?;
        let rights = verbs.iter().map(|verb| Right::everywhere(verb, &kind.group, resource)).collect();
        Some((kind, rights))
    });
    rights.collect()
}

fn account(program: &Program) -> Key {
    Key::new(&program.key.namespace, &program.account)
}

/// Checks the rights of each operator.
#[must_use]
pub fn rights(facts: &Facts) -> Vec<Check> {
    let programs = match &facts.programs {
        Ok(programs) => programs,
        Err(why) => return [RIGHTS, INFRASTRUCTURE].map(|check| Check::unread(check, why)).into(),
    };
    let operators: Vec<&Program> = programs.iter().filter(|program| program.is_operator()).collect();
    if operators.is_empty() {
        let message = "no Deployment of an operator was found: its account is unknown";
        let run = "kubectl get deployments -A -l app.kubernetes.io/name=stackflux";
        return [RIGHTS, INFRASTRUCTURE].map(|check| Check::unknown(check, message, run)).into();
    }
    let answers = match &facts.answers {
        Ok(answers) => answers,
        Err(why) => return [RIGHTS, INFRASTRUCTURE].map(|check| Check::unread(check, why)).into(),
    };
    operators.iter().flat_map(|program| [own(program, answers), of_kinds(facts, program, answers)]).collect()
}

/// Checks the rights of the shipped roles.
fn own(program: &Program, answers: &Answers) -> Check {
    let rights = shipped(program);
    let all = rights.len();
    let lacking: Vec<Right> = rights.into_iter().filter(|right| !has(program, right, answers)).collect();
    let of = account(program);
    if lacking.is_empty() {
        return Check::ok(RIGHTS, format!("ServiceAccount {of} has all {all} rights of flux/base"));
    }
    let message = format!(
        "ServiceAccount {of} lacks {} of {all} rights of flux/base: {}{}",
        lacking.len(),
        shown(&lacking),
        reason(program, &lacking, answers)
    );
    // No command that applies them: the manifests also have the Deployment, without the flags that are set here.
    let run = format!(
        "kubectl get rolebindings,clusterrolebindings -A -o wide | grep -F {}/{}",
        of.namespace,
        word(&of.name)
    );
    Check::problem(RIGHTS, message, run)
        .then("Install the roles of its version again, as the operator was installed: docs/do/install.md.")
}

/// Checks that the operator may read the kinds that Clusters refer to, which an aggregated role allows.
fn of_kinds(facts: &Facts, program: &Program, answers: &Answers) -> Check {
    let unread = |read: Option<&Unread>| {
        read.filter(|why| matches!(why, Unread::Forbidden(_))).map(|why| Check::unread(INFRASTRUCTURE, why))
    };
    let reads = [error(&facts.clusters), error(&facts.class_kinds), error(&facts.stacks)];
    if let Some(check) = reads.into_iter().find_map(unread) {
        return check;
    }
    let used = used(facts);
    for (kind, rights) in infrastructure(facts) {
        let lacking: Vec<Right> =
            rights.iter().filter(|right| !has(program, right, answers)).cloned().collect();
        let (Some(right), Some((by, _))) = (lacking.first(), used.get(&kind)) else { continue };
        let verbs: Vec<&str> = lacking.iter().map(|right| right.verb.as_str()).collect();
        let message = format!(
            "ServiceAccount {} may not {} {}.{}, to which {by} refers{}",
            account(program),
            verbs.join(", "),
            right.resource,
            kind.group,
            reason(program, &lacking, answers)
        );
        return Check::problem(INFRASTRUCTURE, message, role(&right.resource, &kind.group, &rights));
    }
    let unknown = used.iter().find(|(kind, _)| !matches!(facts.resources.get(kind), Some(Some(_))));
    if let Some((Kind { group, kind }, (by, _))) = unknown {
        let message = format!("the API server does not serve {kind} ({group}), to which {by} refers");
        let run = format!("kubectl api-resources --api-group={}", word(group));
        return Check::warning(INFRASTRUCTURE, message, run);
    }
    if let Some(key) = facts.unreadable() {
        return Check::unreadable(INFRASTRUCTURE, key);
    }
    let number = used.len();
    Check::ok(
        INFRASTRUCTURE,
        format!("the operator may read all kinds that Clusters and classes refer to ({number})"),
    )
}

/// Returns what lets the operator use a kind: a role with the label of the aggregated one.
fn role(resource: &str, group: &str, rights: &[Right]) -> String {
    let verbs: Vec<&str> = rights.iter().map(|right| right.verb.as_str()).collect();
    format!(
        "kubectl create clusterrole stackflux-{resource} --verb={} --resource={resource}.{group} && kubectl label clusterrole \
         stackflux-{resource} clusterstack.x-k8s.io/aggregate-to-stackflux=true",
        verbs.join(",")
    )
}

/// Whether an account has a right. A question without an answer counts as no.
fn has(program: &Program, right: &Right, answers: &Answers) -> bool {
    answer(program, right, answers).is_some_and(|answer| answer.is_allowed)
}

fn answer<'a>(program: &Program, right: &Right, answers: &'a Answers) -> Option<&'a Answer> {
    answers.get(&Question { account: account(program), right: right.clone() })
}

/// Returns what the API server says of the rights that an account lacks, as the end of a message.
fn reason(program: &Program, lacking: &[Right], answers: &Answers) -> String {
    let reasons = lacking.iter().filter_map(|right| Some(&answer(program, right, answers)?.reason));
    let said = reasons.into_iter().find(|reason| !reason.is_empty());
    said.map_or_else(String::new, |reason| {
        format!(" (the API server says: {})", shortened(reason, MAX_REASON))
    })
}

fn shown(rights: &[Right]) -> String {
    listed(&rights.iter().map(ToString::to_string).collect::<Vec<_>>(), SHOWN)
}

fn error<T>(read: &Read<T>) -> Option<&Unread> {
    read.as_ref().err()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::authorization::v1::SubjectAccessReviewStatus;

    use super::super::check::Outcome::{NotChecked, Ok as Good, Problem, Warning};
    use super::super::facts::Own;
    use super::super::tests::{answered, assert_found, forbidden, healthy, operator, stack};
    use super::*;

    #[test]
    fn right_that_is_refused_is_named() {
        let facts = healthy();
        let expected =
            [(RIGHTS, Good, "flux-system/stackflux has all"), (INFRASTRUCTURE, Good, "may read all kinds")];
        assert_found(&rights(&facts), &expected);
        let facts = answered(facts, |right| right.verb != "patch" || right.resource != "clusters");
        let found = rights(&facts);
        let part = "lacks 1 of";
        assert_found(&found, &[(RIGHTS, Problem, part), (INFRASTRUCTURE, Good, "")]);
        assert!(found[0].message.ends_with(": patch clusters.cluster.x-k8s.io"), "{}", found[0].message);
        let facts = answered(facts, |_| false);
        assert_found(&rights(&facts)[..1], &[(RIGHTS, Problem, " more")]);
    }

    #[test]
    fn role_that_does_not_exist_is_named() {
        let mut facts =
            answered(healthy(), |right| right.verb != "patch" && right.resource != "exampleclusters");
        for answer in facts.answers.as_mut().unwrap().values_mut() {
            answer.reason = "clusterrole \"none\" not found".to_owned();
        }
        let part = "(the API server says: clusterrole \"none\" not found)";
        assert_found(&rights(&facts), &[(RIGHTS, Problem, part), (INFRASTRUCTURE, Problem, part)]);
        for answer in facts.answers.as_mut().unwrap().values_mut() {
            answer.reason = "x".repeat(10_000);
        }
        assert!(rights(&facts).iter().all(|check| check.message.len() < 1000));
    }

    #[test]
    fn reason_of_a_refusal_is_one_line() {
        let answer = |allowed, reason: &str, error: &str| {
            Answer::of(&SubjectAccessReviewStatus {
                allowed,
                reason: Some(reason.to_owned()),
                evaluation_error: Some(error.to_owned()),
                ..SubjectAccessReviewStatus::default()
            })
        };
        assert_eq!(answer(false, "one\ntwo\n", "three").reason, "one; two; three");
        assert_eq!(answer(false, "", ""), Answer::default());
        // What is allowed needs no explanation.
        assert_eq!(answer(true, "RBAC: allowed by", ""), Answer { is_allowed: true, reason: String::new() });
    }

    #[test]
    fn kinds_of_an_unreadable_stack_are_unknown() {
        let unreadable = Own { stack: None, ..stack(&serde_json::json!({})) };
        let facts = Facts { stacks: Ok(vec![unreadable]), ..healthy() };
        let part = "spec of ClusterStack demo/docker-demo-1-34 cannot be read";
        assert_found(&rights(&facts), &[(RIGHTS, Good, ""), (INFRASTRUCTURE, NotChecked, part)]);
    }

    #[test]
    fn kinds_of_clusters_need_a_role() {
        let kind =
            |name: &str| Kind { group: "infrastructure.cluster.x-k8s.io".to_owned(), kind: name.to_owned() };
        assert_eq!(kinds(&healthy()), [kind("DockerCluster"), kind("ExampleCluster")]);
        let facts = answered(healthy(), |right| right.resource != "exampleclusters");
        let found = rights(&facts);
        let part = "may not get, list, watch exampleclusters.infrastructure.cluster.x-k8s.io, to which ClusterClass demo/example refers";
        assert_found(&found, &[(RIGHTS, Good, ""), (INFRASTRUCTURE, Problem, part)]);
        let run = found[1].run.as_deref().unwrap();
        assert!(run.contains("--verb=get,list,watch --resource=exampleclusters.infrastructure"), "{run}");
        let mut facts = healthy();
        facts.resources.insert(kind("ExampleCluster"), None);
        let part = "does not serve ExampleCluster";
        assert_found(&rights(&facts), &[(RIGHTS, Good, ""), (INFRASTRUCTURE, Warning, part)]);
        let reference = serde_json::json!({"apiVersion": "$(reboot)/v1", "kind": "A", "name": "a"});
        let hostile = stack(&serde_json::json!({"providerRef": reference}));
        let found = rights(&Facts { stacks: Ok(vec![hostile]), ..healthy() });
        assert_eq!(found[1].run.as_deref(), Some("kubectl api-resources --api-group=<not shown>"));
    }

    #[test]
    fn provider_contract_needs_rights_to_write() {
        let spec = serde_json::json!({"providerRef": {
            "apiVersion": "infrastructure.clusterstack.x-k8s.io/v1alpha1", "kind": "ExampleClusterStackReleaseTemplate",
            "name": "a",
        }});
        let mut facts = Facts { stacks: Ok(vec![stack(&spec)]), ..healthy() };
        for kind in kinds(&facts) {
            facts.resources.insert(kind.clone(), Some(format!("{}s", kind.kind.to_lowercase())));
        }
        let verbs = |resource: &str| {
            let asked = questions(&facts).into_iter().filter(|question| question.right.resource == resource);
            asked.map(|question| question.right.verb).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(verbs("exampleclusterstackreleases"), "create delete get list patch watch");
        assert_eq!(verbs("exampleclusterstackreleasetemplates"), "get list watch");
    }

    #[test]
    fn shard_is_asked_about_its_own_account_and_lease() {
        let mut shard = operator(&["--flux-namespace=flux", "--watch-label-selector=shard=a"]);
        shard.key = Key::new("platform", "stackflux-a");
        shard.account = "stackflux-a".to_owned();
        let asked = questions(&Facts { programs: Ok(vec![shard]), ..healthy() });
        assert!(asked.iter().all(|question| question.account == Key::new("platform", "stackflux-a")));
        let asked: Vec<String> = asked.iter().map(|question| question.right.to_string()).collect();
        for expected in [
            "update leases.coordination.k8s.io stackflux-leader-election-3d8dfb268d57 in namespace platform",
            "get leases.coordination.k8s.io helm-controller-leader-election in namespace flux",
            "list dockerclusters.infrastructure.cluster.x-k8s.io",
        ] {
            assert!(asked.iter().any(|right| right == expected), "{expected} is missing in {asked:#?}");
        }
    }

    #[test]
    fn reader_without_the_right_to_ask_checks_nothing() {
        let both = |outcome, part| [(RIGHTS, outcome, part), (INFRASTRUCTURE, outcome, part)];
        let why = forbidden("create", "authorization.k8s.io", "subjectaccessreviews");
        let facts = Facts { answers: Err(why), ..healthy() };
        assert_found(
            &rights(&facts),
            &both(NotChecked, "you may not create subjectaccessreviews.authorization.k8s.io"),
        );
        let facts = Facts { programs: Ok(Vec::new()), ..healthy() };
        assert_found(&rights(&facts), &both(NotChecked, "its account is unknown"));
        let facts = Facts { programs: Err(forbidden("list", "apps", "deployments")), ..healthy() };
        assert_found(&rights(&facts), &both(NotChecked, "you may not list deployments.apps"));
        let facts = Facts { clusters: Err(forbidden("list", "cluster.x-k8s.io", "clusters")), ..healthy() };
        let expected = [(RIGHTS, Good, ""), (INFRASTRUCTURE, NotChecked, "you may not list clusters")];
        assert_found(&rights(&facts), &expected);
    }
}
