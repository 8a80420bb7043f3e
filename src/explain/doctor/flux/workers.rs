//! Whether helm-controller has enough workers for its `HelmRelease`s.

use crate::explain::doctor::check::Check;
use crate::explain::doctor::facts::{Facts, Program};

pub(super) const WORKERS: &str = "HelmWorkers";

const CONTROLLER: &str = "helm-controller";
/// Flux's default of `--concurrent`.
const DEFAULT: usize = 4;
/// Number of `HelmRelease`s for each worker: each is compared with its cluster every ten minutes by default, which leaves six
/// seconds for each.
const PER_WORKER: usize = 100;

/// Checks the number of `HelmRelease`s for each worker.
pub(super) fn workers(facts: &Facts, programs: &[Program]) -> Check {
    let shards: Vec<&Program> = programs.iter().filter(|program| program.is_controller(CONTROLLER)).collect();
    let Some(first) = shards.first() else {
        return Check::unknown(WORKERS, format!("no Deployment {CONTROLLER} was found"), "flux check");
    };
    let number = match &facts.helm_releases {
        Ok(number) => *number,
        Err(why) => return Check::unread(WORKERS, why),
    };
    let of = |program: &&Program| {
        program.flag("concurrent").and_then(|value| value.parse().ok()).unwrap_or(DEFAULT)
    };
    let workers: usize = shards.iter().map(of).sum();
    let clusters = match &facts.clusters {
        Ok(clusters) => format!(" (Clusters: {})", clusters.len()),
        Err(_) => String::new(),
    };
    let message =
        format!("{CONTROLLER} reconciles {workers} of {number} HelmReleases at the same time{clusters}");
    let needed = number.div_ceil(PER_WORKER);
    if needed <= workers {
        return Check::ok(WORKERS, message);
    }
    let message = format!(
        "{message}: changes wait for a worker, and an addon that does not become ready holds one for minutes"
    );
    let (namespace, name) = (&first.key.namespace, &first.key.name);
    Check::warning(WORKERS, message, format!("kubectl -n {namespace} edit deployment {name}"))
        .then(format!("Set --concurrent={needed} or more."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::doctor::check::Outcome::{NotChecked, Ok as Good, Warning};
    use crate::explain::doctor::tests::{assert_found, flux_programs, forbidden, healthy};

    #[test]
    fn workers_are_enough_for_a_hundred_each() {
        for (flags, releases, outcome, part) in [
            (&[][..], 400, Good, "4 of 400 HelmReleases at the same time (Clusters: 1)"),
            (&[], 401, Warning, "4 of 401 HelmReleases"),
            (&["--concurrent=20"], 1999, Good, "20 of 1999"),
            (&["--concurrent", "5"], 501, Warning, "5 of 501"),
        ] {
            let facts = Facts { helm_releases: Ok(releases), ..healthy() };
            assert_found(&[workers(&facts, &flux_programs(flags))], &[(WORKERS, outcome, part)]);
        }
        let unread = Facts {
            helm_releases: Err(forbidden("list", "helm.toolkit.fluxcd.io", "helmreleases")),
            ..healthy()
        };
        assert_found(&[workers(&unread, &flux_programs(&[]))], &[(WORKERS, NotChecked, "you may not list")]);
        assert_found(&[workers(&healthy(), &[])], &[(WORKERS, NotChecked, "no Deployment helm-controller")]);
    }
}
