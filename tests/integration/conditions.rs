//! `docs/reference/conditions.md`: what each condition says, out of its definition, and the reasons that it has in the
//! simulations of the operator.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use stackflux::api::conditions::ConditionStatus;
use stackflux::api::{ConditionType, Reason};

use crate::documents::{assert_is, cell};

const HEAD: &str = "\
# Conditions

<!-- Generated from the types and from the logs of the simulations by tests/integration/conditions.rs; to update, run UPDATE_GOLDEN=1 cargo test. -->

What each condition of our kinds says, and what causes each status. False is an issue. Unknown is not one: something is on its way, or
was not checked because of an earlier condition. A condition also passes on Flux's own reasons, and those of what it sums up. `Several`
stands for different reasons, which the message names.
";

/// The kinds, in the order in which a reader meets them.
const KINDS: [&str; 4] = ["ClusterStack", "ClusterStackRelease", "ClusterAddon", "ClusterAddonOverride"];

/// Reasons that no golden log has: their causes are beyond the simulations, or end before the log.
const OTHERS: &[(&str, ConditionType, ConditionStatus, &[Reason])] = {
    use ConditionStatus::{False, True, Unknown};
    use ConditionType as C;
    use Reason as R;
    &[
        (
            "ClusterStack",
            C::SourceReady,
            False,
            &[R::NoSource, R::SourceNotFound, R::SourceNotAllowed, R::AccessDenied, R::ArtifactInvalid],
        ),
        ("ClusterStack", C::SourceReady, Unknown, &[R::ArtifactUnavailable]),
        ("ClusterStack", C::ReleasesSynced, False, &[R::ReleaseNotFound]),
        (
            "ClusterStack",
            C::ReleasesPublished,
            False,
            &[R::PublishFailed, R::UpstreamUnavailable, R::SecretInvalid, R::PinUnreachable],
        ),
        ("ClusterStack", C::ReleasesPublished, True, &[R::Published]),
        ("ClusterStack", C::Delivered, False, &[R::SecretInvalid]),
        ("ClusterStack", C::Delivered, Unknown, &[R::PullRequestOpen]),
        ("ClusterStackRelease", C::ProviderReady, False, &[R::ProviderTemplateNotFound, R::AccessDenied]),
        ("ClusterStackRelease", C::ProviderReady, Unknown, &[R::ProviderNotReady]),
        ("ClusterStackRelease", C::ClusterClassReady, Unknown, &[R::WaitingForProvider]),
        ("ClusterStackRelease", C::ReleaseValid, False, &[R::DependencyInvalid]),
        ("ClusterStackRelease", C::ClusterClassReady, False, &[R::PinUnreachable]),
        ("ClusterAddon", C::ClusterAvailable, False, &[R::Unreachable]),
        (
            "ClusterAddon",
            C::ValuesRendered,
            False,
            &[R::ValuesInvalid, R::DependencyInvalid, R::SettingsInvalid],
        ),
        ("ClusterAddon", C::ValuesRendered, Unknown, &[R::WaitingForField, R::WaitingForObject]),
        ("ClusterAddon", C::Delivered, False, &[R::SecretInvalid, R::Terminating]),
        (
            "ClusterAddon",
            C::Delivered,
            Unknown,
            &[R::DeliveryFailed, R::DeliveredElsewhere, R::PushFailed, R::PullRequestOpen],
        ),
        ("ClusterAddon", C::AddonsReady, False, &[R::Drifted, R::DeadlineExceeded]),
        ("ClusterAddon", C::UpgradeGate, False, &[R::ForeignAnnotation]),
        ("ClusterAddon", C::UpgradeGate, Unknown, &[R::Bypassed, R::ControlPlaneUnreadable]),
        ("ClusterAddon", C::UpgradeGate, True, &[R::Upgrading]),
    ]
};

type Reported = BTreeMap<(String, String), BTreeMap<ConditionStatus, BTreeSet<String>>>;

/// The reasons by kind, condition and status in the golden logs of the simulations, and the others.
fn reported() -> Reported {
    let logs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/simulation/golden");
    let mut found = Reported::new();
    for (kind, condition, status, reasons) in OTHERS {
        let statuses = found.entry(((*kind).to_owned(), condition.as_str().to_owned())).or_default();
        statuses.entry(*status).or_default().extend(reasons.iter().map(ToString::to_string));
    }
    for log in fs::read_dir(logs).unwrap().map(|log| log.unwrap().path()) {
        let log = fs::read_to_string(log).unwrap();
        let patches =
            log.lines().filter_map(|line| line.trim().strip_prefix("patch ")?.split_once("/status: "));
        for (object, conditions) in patches {
            let kind = object.split(' ').next().unwrap();
            for condition in conditions.split([',', ';']).map(str::trim) {
                let Some((name, rest)) = condition.split_once('=') else { continue };
                let Some((status, reason)) = rest.split_once(' ') else { continue };
                let statuses = found.entry((kind.to_owned(), name.to_owned())).or_default();
                statuses
                    .entry(ConditionStatus::from(status.to_owned()))
                    .or_default()
                    .insert(reason.to_owned());
            }
        }
    }
    found
}

/// What the documentation says of one kind: `` `Kind`, with …: sentences ``, or `All kinds: sentences`. Each kind begins a
/// sentence.
fn meaning(text: &str, kind: &str) -> Option<String> {
    let parts = text.replace(". `Cluster", ".\n`Cluster");
    let own = parts.lines().find_map(|part| part.strip_prefix(&format!("`{kind}`")));
    let (qualifier, sentence) = match own {
        Some(rest) => rest.split_once(": ")?,
        None => ("", text.strip_prefix("All kinds: ")?),
    };
    let qualifier = qualifier.trim_start_matches(", ");
    Some(if qualifier.is_empty() { capital(sentence) } else { format!("{}: {sentence}", capital(qualifier)) })
}

fn capital(text: &str) -> String {
    let (first, rest) = text.split_at(1);
    first.to_uppercase() + rest
}

fn reasons(all: &BTreeSet<String>) -> String {
    let linked = all.iter().map(|reason| {
        let is_ours = Reason::ALL.iter().any(|ours| ours.as_str() == reason);
        if is_ours {
            format!("[`{reason}`](reasons.md#{})", reason.to_lowercase())
        } else {
            format!("`{reason}`")
        }
    });
    linked.collect::<Vec<_>>().join(", ")
}

#[test]
fn conditions_are_those_of_the_types_and_simulations() {
    let reported = reported();
    let mut text = HEAD.to_owned();
    for kind in KINDS {
        write!(
            text,
            "\n## {kind}\n\n| condition | what it says | False | Unknown | True |\n|---|---|---|---|---|\n"
        )
        .unwrap();
        for kind_of in ConditionType::ALL {
            let condition = kind_of.as_str();
            let statuses = reported.get(&(kind.to_owned(), condition.to_owned()));
            let Some(meaning) = meaning(kind_of.meaning(), kind) else {
                assert!(
                    statuses.is_none(),
                    "{kind} has {condition}, whose documentation does not name the kind"
                );
                continue;
            };
            let of = |status| statuses.and_then(|all| all.get(&status)).map_or_else(String::new, reasons);
            let cells = [ConditionStatus::False, ConditionStatus::Unknown, ConditionStatus::True].map(of);
            writeln!(text, "| `{condition}` | {} | {} |", cell(&meaning), cells.join(" | ")).unwrap();
        }
    }
    assert_is(&text, "docs/reference/conditions.md");
}
