//! What Flux must have: its kinds, its version, and settings that fit stackflux.

mod flags;
mod workers;

use super::check::Check;
use super::facts::{Facts, Program, Unread};
use super::version::is_older;
use crate::api::Reason;
use crate::explain::advice::commands;
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::definition::{HELM_RELEASES, MINIMUM_FLUX, Renaming, VERSION};

const FLUX: &str = "Flux";
const CHART_NAMES: &str = "ChartNames";
const FEATURE_GATES: &str = "FluxFeatureGates";

/// The controllers that stackflux needs.
const CONTROLLERS: [&str; 3] = ["source-controller", "kustomize-controller", "helm-controller"];

/// Checks Flux alone.
#[must_use]
pub fn flux(facts: &Facts) -> Vec<Check> {
    if let Some(check) = not_served(facts) {
        return vec![check];
    }
    let mut checks = match &facts.programs {
        Ok(programs) => vec![controllers(programs), feature_gates(programs)],
        Err(why) => [FLUX, FEATURE_GATES].map(|check| Check::unread(check, why)).into(),
    };
    checks.insert(1, chart_names(facts));
    checks
}

/// Checks the settings of Flux that have to fit the operator and the objects of the cluster.
#[must_use]
pub fn together(facts: &Facts) -> Vec<Check> {
    if not_served(facts).is_some() {
        return Vec::new();
    }
    match &facts.programs {
        Ok(programs) => {
            vec![
                flags::references(facts, programs),
                flags::accounts(programs),
                workers::workers(facts, programs),
            ]
        }
        Err(why) => [flags::REFERENCES, flags::ACCOUNTS, workers::WORKERS]
            .map(|check| Check::unread(check, why))
            .into(),
    }
}

/// Reports the kinds that the API server does not serve in the versions that stackflux writes.
fn not_served(facts: &Facts) -> Option<Check> {
    let groups = match &facts.groups {
        Ok(groups) => groups,
        Err(why) => return Some(Check::unread(FLUX, why)),
    };
    let is_served =
        |kind: &FluxKind| groups.get(kind.group()).is_some_and(|versions| versions.contains(kind.version()));
    let mut missing: Vec<&str> =
        FluxKind::ALL.iter().filter(|kind| !is_served(kind)).map(|kind| kind.api_version()).collect();
    missing.dedup();
    let message = format!(
        "is missing, or older than {MINIMUM_FLUX}: the API server does not serve {}",
        missing.join(", ")
    );
    (!missing.is_empty()).then(|| Check::problem(FLUX, message, "flux check").then(install()))
}

/// Checks that the controllers and their shards have Pods, and their version if a label has it.
fn controllers(programs: &[Program]) -> Check {
    let of = |name: &str| programs.iter().filter(|program| program.is_controller(name)).collect::<Vec<_>>();
    let found = CONTROLLERS.map(|name| (name, of(name)));
    if let Some((name, _)) = found.iter().find(|(_, programs)| programs.is_empty()) {
        if found.iter().all(|(_, programs)| programs.is_empty()) {
            let message = format!("no Deployment {name} was found: its version and its flags are unknown");
            return Check::unknown(FLUX, message, "flux check");
        }
        let message = format!("there is no Deployment {name}: {}", stopped(name));
        return Check::problem(FLUX, message, "flux check").then(install());
    }
    let all =
        || found.iter().flat_map(|(name, programs)| programs.iter().map(move |program| (name, program)));
    if let Some((name, Program { key, .. })) = all().find(|(_, program)| program.ready == 0) {
        let message = format!("{} has no Pod that is ready: {}", key.name, stopped(name));
        let run = format!("kubectl -n {} describe deployment {}", key.namespace, key.name);
        return Check::problem(FLUX, message, run);
    }
    let old = all().find_map(|(_, program)| {
        let version = program.labels.get(VERSION)?;
        is_older(version, minimum()).unwrap_or(false).then_some((program, version))
    });
    if let Some((Program { key, .. }, version)) = old {
        let message = format!("{} is of Flux {version}, and stackflux needs {MINIMUM_FLUX}", key.name);
        return Check::problem(FLUX, message, "flux check").then(install());
    }
    let shown = all().map(|(_, program)| {
        let version = program.labels.get(VERSION).map_or_else(|| program.tag(), String::as_str);
        format!("{} {version}", program.key.name)
    });
    Check::ok(FLUX, shown.collect::<Vec<_>>().join(", "))
}

/// How Flux is mended.
fn install() -> String {
    format!("Install or upgrade Flux, version {MINIMUM_FLUX} or newer, as you installed it.")
}

/// Describes what happens while a controller is stopped.
fn stopped(controller: &str) -> String {
    let kinds: Vec<_> = FluxKind::ALL
        .into_iter()
        .filter(|kind| kind.controller() == controller)
        .map(FluxKind::many)
        .collect();
    format!("{} stay as they are", kinds.join(", "))
}

fn minimum() -> (u64, u64) {
    super::version::parsed(MINIMUM_FLUX).map_or((2, 9), |(major, minor, _)| (major, minor))
}

/// Checks what helm-controller does with a chart that gets another name, in the words of the operator's conditions.
fn chart_names(facts: &Facts) -> Check {
    let run = |reason| commands(reason).first().copied().unwrap_or_default();
    let renaming = match facts.definitions.get(HELM_RELEASES) {
        Some(Ok(Some(definition))) => Renaming::of(definition),
        Some(Ok(None)) | None => Renaming::Unknown("the CRD of HelmRelease does not exist".to_owned()),
        Some(Err(why @ Unread::Forbidden(_))) => return Check::unread(CHART_NAMES, why),
        Some(Err(Unread::NotServed(resource))) => {
            Renaming::Unknown(format!("the API server does not serve {resource}"))
        }
    };
    match renaming {
        Renaming::InPlace => Check::ok(CHART_NAMES, "Flux upgrades a chart whose name changes in place"),
        Renaming::Uninstall { version } => {
            let version = version.unwrap_or_else(|| "of an unknown version".to_owned());
            let (meaning, action) = (Reason::FluxTooOld.meaning(), Reason::FluxTooOld.action());
            let message = format!("{} ({version}): {meaning}", Reason::FluxTooOld.as_str());
            Check::problem(CHART_NAMES, message, run(Reason::FluxTooOld)).then(action)
        }
        Renaming::Unknown(why) => Check::unknown(CHART_NAMES, why, run(Reason::FluxTooOld)),
    }
}

/// Checks that the controllers run with their default feature gates, with which stackflux is tested.
fn feature_gates(programs: &[Program]) -> Check {
    let of_flux = |program: &&Program| CONTROLLERS.iter().any(|name| program.is_controller(name));
    if !programs.iter().any(|program| of_flux(&program)) {
        return Check::unknown(
            FEATURE_GATES,
            "no Deployment of Flux was found: they are unknown",
            "flux check",
        );
    }
    let gates = programs.iter().filter(of_flux).map(|program| (program, program.feature_gates()));
    let set: Vec<(&Program, String)> = gates.filter(|(_, gates)| !gates.is_empty()).collect();
    let Some((first, _)) = set.first() else {
        return Check::ok(FEATURE_GATES, "the default ones");
    };
    let shown: Vec<String> =
        set.iter().map(|(program, gates)| format!("{}: {gates}", program.key.name)).collect();
    let message =
        format!("stackflux is tested with the default ones, and these are set: {}", shown.join("; "));
    let (namespace, name) = (&first.key.namespace, &first.key.name);
    Check::warning(FEATURE_GATES, message, format!("kubectl -n {namespace} edit deployment {name}"))
        .then("Remove --feature-gates, if you do not need it.")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::check::Outcome::{NotChecked, Ok as Good, Problem, Warning};
    use super::super::tests::{assert_found, definition, flux_programs, forbidden, healthy, program};
    use super::*;

    #[test]
    fn healthy_flux_names_its_controllers() {
        let expected = [
            (FLUX, Good, "source-controller v2.9.2, kustomize-controller v2.9.2, helm-controller v2.9.2"),
            (CHART_NAMES, Good, "in place"),
            (FEATURE_GATES, Good, "default"),
        ];
        assert_found(&flux(&healthy()), &expected);
    }

    #[test]
    fn missing_kind_of_flux_is_the_only_problem() {
        let mut groups = healthy().groups.unwrap();
        groups.insert("helm.toolkit.fluxcd.io".to_owned(), ["v2beta2".to_owned()].into());
        let facts = Facts { groups: Ok(groups), ..healthy() };
        assert_found(&flux(&facts), &[(FLUX, Problem, "does not serve helm.toolkit.fluxcd.io/v2")]);
        assert_found(&together(&facts), &[]);
        let none = Facts { groups: Ok(BTreeMap::new()), ..healthy() };
        let all = "helm.toolkit.fluxcd.io/v2, kustomize.toolkit.fluxcd.io/v1, source.toolkit.fluxcd.io/v1";
        assert_found(&flux(&none), &[(FLUX, Problem, all)]);
    }

    #[test]
    fn controllers_are_checked_by_their_deployments() {
        let with = |change: &dyn Fn(&mut Program)| {
            let mut programs = flux_programs(&[]);
            programs.iter_mut().filter(|program| program.key.name == "helm-controller").for_each(change);
            controllers(&programs)
        };
        let old = |program: &mut Program| _ = program.labels.insert(VERSION.to_owned(), "v2.8.1".to_owned());
        let unlabelled = |program: &mut Program| program.labels.clear();
        assert_found(&[with(&old)], &[(FLUX, Problem, "helm-controller is of Flux v2.8.1")]);
        assert_found(&[with(&unlabelled)], &[(FLUX, Good, "helm-controller v1.6.0")]);
        let stopped = |program: &mut Program| program.ready = 0;
        assert_found(&[with(&stopped)], &[(FLUX, Problem, "HelmReleases stay as they are")]);
        let lost = |program: &mut Program| program.key.name = "another".to_owned();
        assert_found(&[with(&lost)], &[(FLUX, Problem, "there is no Deployment helm-controller")]);
        assert_found(&[controllers(&[])], &[(FLUX, NotChecked, "no Deployment source-controller")]);
        let mut sharded = flux_programs(&[]);
        let labels = [("app.kubernetes.io/component".to_owned(), "helm-controller".to_owned())].into();
        sharded.push(Program { labels, ready: 0, ..program("flux-system", "helm-controller-b", "", &[]) });
        assert_found(&[controllers(&sharded)], &[(FLUX, Problem, "helm-controller-b has no Pod")]);
        let gates = flux_programs(&["--feature-gates=DetectDrift=false", "--feature-gates=A=true"]);
        assert_found(&[feature_gates(&[])], &[(FEATURE_GATES, NotChecked, "no Deployment of Flux")]);
        assert_found(
            &[feature_gates(&gates)],
            &[(FEATURE_GATES, Warning, "helm-controller: DetectDrift=false,A=true")],
        );
    }

    #[test]
    fn renamed_charts_are_checked_by_the_definition() {
        let with = |read| {
            let definitions = [(HELM_RELEASES.to_owned(), read)].into();
            chart_names(&Facts { definitions, ..healthy() })
        };
        let old = definition(HELM_RELEASES, &["timeout"]);
        assert_found(&[with(Ok(Some(old)))], &[(CHART_NAMES, Problem, "FluxTooOld (of an unknown version)")]);
        assert_found(&[with(Ok(None))], &[(CHART_NAMES, NotChecked, "does not exist")]);
        let why = forbidden("get", "apiextensions.k8s.io", "customresourcedefinitions");
        assert_found(&[with(Err(why))], &[(CHART_NAMES, NotChecked, "you may not get")]);
    }

    #[test]
    fn unread_deployments_are_never_well() {
        let facts = Facts { programs: Err(forbidden("list", "apps", "deployments")), ..healthy() };
        let why = "you may not list deployments.apps";
        let expected = [(FLUX, NotChecked, why), (CHART_NAMES, Good, ""), (FEATURE_GATES, NotChecked, why)];
        assert_found(&flux(&facts), &expected);
        let all =
            [flags::REFERENCES, flags::ACCOUNTS, workers::WORKERS].map(|check| (check, NotChecked, why));
        assert_found(&together(&facts), &all);
    }
}
