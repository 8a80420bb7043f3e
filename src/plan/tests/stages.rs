//! The course of a Cluster through the stages of its release.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::fixture::Fixture;
use crate::api::Reason;
use crate::api::cluster_addon::StageStatus;
use crate::foreign::capi::Cluster;
use crate::gate::upgrade::Phase;
use crate::inputs::overrides::Requests;
use crate::names::AddonName;
use crate::plan::stages::{Applied, Course, Recorded, Want};
use crate::release::{Action, Form, Hook, Release, Stage};

/// The addons of the tables; the release does not have the last one.
const ADDONS: [&str; 4] = ["cni", "ccm", "policies", "old"];

/// Returns a release with these lists, such as `+cni -old`, in the order of [`Hook::ALL`].
fn release(lists: [&str; 3]) -> Release {
    let stage = |text: &str| {
        let (action, addon) = text.split_at(1);
        let action = if action == "+" { Action::Apply } else { Action::Delete };
        Stage { addon: addon.parse().unwrap(), action }
    };
    let list = |text: &str| text.split_whitespace().map(stage).collect::<Vec<_>>();
    let mut release = Fixture::new().release("v1");
    release.stages = Hook::ALL.into_iter().zip(lists).map(|(hook, text)| (hook, list(text))).collect();
    release
}

fn course(release: &Release, applied: Applied, recorded: (&str, usize), phase: Phase) -> Course {
    let stages: Vec<StageStatus> =
        vec![StageStatus { phase: "done".to_owned(), ..StageStatus::default() }; recorded.1];
    Course::of(Recorded { applied, hook: Some(recorded.0), stages: &stages }, release, phase)
}

/// What is wanted of each addon: `+` it is applied, `-` it is deleted, `!` and its objects are, `.` it stays as it is.
fn wanted(course: &Course, release: &Release) -> String {
    let of = |name: &str| {
        let addon: AddonName = name.parse().unwrap();
        let want = match course.want(release, &addon) {
            Want::Apply => "+",
            Want::Stay => ".",
            Want::Delete if course.deletes(release, &addon) => "!",
            Want::Delete => "-",
        };
        format!("{want}{name}")
    };
    let is_named = |name: &&&str| {
        let is_of_release = release.addons.iter().any(|addon| addon.name.as_str() == **name);
        is_of_release || release.stages.values().flatten().any(|stage| stage.addon.as_str() == **name)
    };
    let all: Vec<String> = ADDONS.iter().filter(is_named).map(|name| of(name)).collect();
    all.join(" ")
}

#[test]
fn stages_run_in_their_order() {
    use Applied::{None, Other, This};
    use Phase::{Open, Requested, Steady, Upgrading, Waiting};
    let (new, before, after) =
        ("AfterControlPlaneInitialized", "BeforeClusterUpgrade", "AfterClusterUpgrade");
    let plain = ["+cni +ccm +policies", "+cni", "+ccm"];
    let helper = ["+cni +ccm", "+policies +cni -policies", "+ccm"];
    let again = ["+cni +ccm +policies", "+ccm -cni +cni", ""];
    let gone = ["+cni +ccm +policies", "-old +cni", "-old +ccm"];
    let short = ["+policies +cni -policies +ccm", "", ""];
    for (lists, applied, recorded, phase, expected, why) in [
        // A new Cluster gets all at once.
        (plain, None, ("", 0), Steady, "+cni +ccm +policies", "a new Cluster"),
        (helper, None, ("", 0), Steady, "+cni +ccm -policies", "a new Cluster needs no helper of upgrades"),
        // Any other one begins with what moves first.
        (plain, Other, ("", 0), Steady, "+cni .ccm .policies", "the rest waits, without a gate, too"),
        (plain, Other, (before, 1), Steady, "+cni +ccm +policies", "all that moves first is applied"),
        (plain, Other, (after, 0), Steady, "+cni +ccm +policies", "the next list"),
        (plain, This, ("", 0), Steady, "+cni +ccm +policies", "nothing runs"),
        (plain, Other, ("nonsense", 7), Steady, "+cni .ccm .policies", "nothing usable is recorded"),
        (plain, Other, (new, 3), Steady, "+cni .ccm .policies", "the list of a new Cluster does not count"),
        (plain, None, (before, 1), Steady, "+cni +ccm +policies", "nor that of an upgrade in a new one"),
        // A helper: applied, then deleted.
        (helper, Other, ("", 0), Steady, "+cni .ccm +policies", "the helper is installed"),
        (helper, Other, (before, 1), Steady, "+cni .ccm +policies", "it is applied, and the CNI is not"),
        (helper, Other, (before, 2), Steady, "+cni .ccm !policies", "it is deleted"),
        (helper, Other, (before, 3), Steady, "+cni +ccm -policies", "it is gone"),
        (helper, Other, (after, 1), Steady, "+cni +ccm -policies", "it stays away"),
        (helper, This, ("", 0), Steady, "+cni +ccm -policies", "for ever"),
        // Deleted, and installed again.
        (again, Other, (before, 0), Steady, ".cni +ccm .policies", "it stays until its turn"),
        (again, Other, (before, 1), Steady, "!cni +ccm .policies", "it is deleted"),
        (again, Other, (before, 2), Steady, "+cni +ccm .policies", "it is installed again"),
        // What the release does not have is deleted at its turn.
        (gone, Other, (before, 0), Steady, ".cni .ccm .policies !old", "the first stage"),
        (
            gone,
            Other,
            (before, 1),
            Steady,
            "+cni .ccm .policies !old",
            "one that comes back is deleted again",
        ),
        (gone, Other, (after, 0), Steady, "+cni .ccm +policies !old", "the next list begins with a deletion"),
        (gone, Other, (after, 1), Steady, "+cni +ccm +policies !old", "which has ended"),
        // In a new Cluster, too.
        (short, None, ("", 0), Steady, "+cni .ccm +policies", "up to the deletion"),
        (short, None, (new, 2), Steady, "+cni .ccm !policies", "the deletion"),
        (short, None, (new, 3), Steady, "+cni +ccm !policies", "after it"),
        // The gate lets only the first list run, when Cluster API waits.
        (helper, Other, ("", 0), Requested, ".cni .ccm .policies", "Cluster API does not wait"),
        (helper, Other, (before, 2), Requested, "+cni .ccm +policies", "it does not wait any longer"),
        (helper, Other, (before, 2), Waiting, "+cni .ccm !policies", "it waits"),
        (
            again,
            Other,
            (before, 2),
            Requested,
            "+cni +ccm .policies",
            "what is deleted comes back all the same",
        ),
        (gone, Other, (before, 2), Open, "+cni .ccm .policies !old", "the gate is open"),
        (
            gone,
            Other,
            (before, 2),
            Upgrading,
            "+cni .ccm .policies !old",
            "the second list waits for the end",
        ),
        (gone, Other, (after, 0), Upgrading, "+cni .ccm +policies -old", "also if it has begun"),
    ] {
        let release = release(lists);
        let course = course(&release, applied, recorded, phase);
        assert_eq!(
            wanted(&course, &release),
            expected,
            "{why}: {lists:?} {applied:?} {recorded:?} {phase:?}"
        );
    }
}

/// What applies is left behind when all of it is applied, and a deletion only by a status.
#[test]
fn next_step_follows_when_all_is_applied() {
    use Phase::{Steady, Waiting};
    let (before, after) = ("BeforeClusterUpgrade", "AfterClusterUpgrade");
    // In the single-chart form no stage names the addons.
    let of_form = |form: Form, lists: [&str; 3]| Release { form, ..release(lists) };
    let listed = ["", "+cni +ccm -cni", "+policies"];
    for (form, lists, recorded, phase, applied, expected) in [
        (Form::MultiStage, listed, (before, 0), Steady, &["cni"][..], ""),
        (Form::MultiStage, listed, (before, 0), Steady, &["cni", "ccm"], "BeforeClusterUpgrade -cni"),
        (Form::MultiStage, listed, (before, 2), Steady, &ADDONS, ""),
        (Form::MultiStage, listed, (before, 3), Waiting, &ADDONS, ""),
        (Form::MultiStage, ["", "+cni", "+policies"], (before, 0), Waiting, &ADDONS, "BeforeClusterUpgrade"),
        (Form::MultiStage, listed, (after, 0), Steady, &["policies"], "AfterClusterUpgrade"),
        (Form::SingleChart, [""; 3], (before, 0), Steady, &["cni", "ccm"], ""),
        (Form::SingleChart, [""; 3], (before, 0), Steady, &ADDONS, "AfterClusterUpgrade"),
    ] {
        let release = of_form(form, lists);
        let course = course(&release, Applied::Other, recorded, phase);
        let next = course.next(&release, |addon| applied.contains(&addon.as_str()));
        let told = next.map_or_else(String::new, |next| {
            let action = |stage: &Stage| if stage.action == Action::Apply { "+" } else { "-" };
            let step = next.step(&release).iter().map(|stage| format!(" {}{}", action(stage), stage.addon));
            next.hook().map_or("", Hook::as_str).to_owned() + &step.collect::<String>()
        });
        assert_eq!(told, expected, "{form:?} {lists:?} {recorded:?} {phase:?} {applied:?}");
    }
}

/// The release counts as delivered when nothing but its last stages moves, and these delete nothing.
#[test]
fn course_ends_with_its_last_deletion() {
    use Applied::{None, Other, This};
    let (before, after) = ("BeforeClusterUpgrade", "AfterClusterUpgrade");
    for (lists, applied, recorded, phase, expected) in [
        (["+cni", "+cni", ""], None, ("", 0), Phase::Steady, true),
        (["+cni -cni", "", ""], None, ("", 0), Phase::Steady, false),
        (["+cni +ccm +policies", "+cni", ""], Other, ("", 0), Phase::Steady, false),
        (["", "+cni -cni", "+cni"], Other, (before, 2), Phase::Steady, false),
        (["", "+cni +ccm +policies", "+cni"], Other, ("", 0), Phase::Steady, true),
        (["", "+cni +ccm +policies", "+cni"], Other, ("", 0), Phase::Waiting, false),
        (["", "+cni +ccm +policies", "-old"], Other, ("", 0), Phase::Steady, false),
        (["", "+cni +ccm +policies", "-cni +cni"], Other, ("", 0), Phase::Steady, false),
        (["+cni", "+cni", "+ccm -cni"], Other, (after, 0), Phase::Steady, false),
        (["+cni", "+cni", "+ccm -cni"], Other, (after, 2), Phase::Steady, true),
        (["+cni", "-old +cni", ""], Other, (before, 2), Phase::Steady, true),
        (["+cni", "-old +cni", ""], This, ("", 0), Phase::Steady, true),
    ] {
        let release = release(lists);
        let course = course(&release, applied, recorded, phase);
        assert_eq!(course.is_ending(&release), expected, "{lists:?} {applied:?} {recorded:?} {phase:?}");
    }
}

#[test]
fn status_names_the_stages_of_the_list_that_runs() {
    let release = release(["+cni", "+policies +cni -policies", "+ccm"]);
    let told = |recorded: (&str, usize), phase: Phase, deleted: &[&str]| -> String {
        let course = course(&release, Applied::Other, recorded, phase);
        let is_deleted = |addon: &AddonName| deleted.contains(&addon.as_str());
        let (hook, stages) = course.statuses(&release, is_deleted);
        let stages = stages.iter().map(|stage| {
            let action = stage.action.as_deref().unwrap();
            format!(" {action} {}: {}", stage.name, stage.phase)
        });
        format!("{}{}", hook.map_or("none", Hook::as_str), stages.collect::<Vec<_>>().concat())
    };
    let (before, after) = ("BeforeClusterUpgrade", "AfterClusterUpgrade");
    for (recorded, phase, deleted, expected) in [
        (("", 0), Phase::Requested, &[][..], "none"),
        (
            ("", 0),
            Phase::Waiting,
            &["policies"],
            "BeforeClusterUpgrade apply policies: applyingOrDeleting apply cni: applyingOrDeleting delete policies: Pending",
        ),
        (
            (before, 2),
            Phase::Waiting,
            &[],
            "BeforeClusterUpgrade apply policies: done apply cni: done delete policies: applyingOrDeleting",
        ),
        (
            (before, 2),
            Phase::Requested,
            &[],
            "BeforeClusterUpgrade apply policies: done apply cni: done delete policies: Pending",
        ),
        (
            (before, 2),
            Phase::Waiting,
            &["policies"],
            "BeforeClusterUpgrade apply policies: done apply cni: done delete policies: done",
        ),
        (
            (before, 3),
            Phase::Upgrading,
            &[],
            "BeforeClusterUpgrade apply policies: done apply cni: done delete policies: done",
        ),
        ((before, 3), Phase::Steady, &[], "AfterClusterUpgrade apply ccm: applyingOrDeleting"),
        ((after, 0), Phase::Steady, &["ccm"], "AfterClusterUpgrade apply ccm: applyingOrDeleting"),
    ] {
        assert_eq!(told(recorded, phase, deleted), expected, "{recorded:?} {phase:?}");
    }
}

#[test]
fn hold_says_what_precedes_the_addon() {
    let release = release(["+cni", "-old +cni", "+ccm"]);
    let held = |recorded: (&str, usize), phase: Phase| {
        let course = course(&release, Applied::Other, recorded, phase);
        let addon = release.addons.iter().find(|addon| addon.name.as_str() == "ccm").unwrap();
        course.hold(&release, addon).map(|hold| (hold.reason, hold.message))
    };
    let deleted = "stays as it is until BeforeClusterUpgrade deletes old, and Flux has uninstalled it";
    assert_eq!(held(("", 0), Phase::Steady), Some((Reason::WaitingForStage, deleted.to_owned())));
    let applied = "stays as it is until all addons that move first, at BeforeClusterUpgrade, are applied";
    let found = held(("BeforeClusterUpgrade", 1), Phase::Steady);
    assert_eq!(found, Some((Reason::WaitingForStage, applied.to_owned())));
    assert_eq!(held(("AfterClusterUpgrade", 0), Phase::Steady), None);
    let by_gate = held(("", 0), Phase::Waiting).map(|(reason, _)| reason);
    assert_eq!(by_gate, Some(Reason::WaitingForUpgrade), "the gate holds it anyway");
}

fn lists() -> impl Strategy<Value = String> {
    let stage = (any::<bool>(), 0..ADDONS.len());
    let text = |(applies, at): (bool, usize)| format!("{}{}", if applies { "+" } else { "-" }, ADDONS[at]);
    prop::collection::vec(stage.prop_map(text), 0..6).prop_map(|stages| stages.join(" "))
}

/// What a Cluster has of each addon: whether it is installed.
type Installed = BTreeMap<AddonName, bool>;

/// Carries out a step: what it applies is installed, and what it deletes is gone. Asserts that it does nothing twice.
fn carry_out(course: &Course, release: &Release, installed: &mut Installed) {
    for name in ADDONS {
        let addon: AddonName = name.parse().unwrap();
        let is_of_release = release.addons.iter().any(|known| known.name == addon);
        match course.want(release, &addon) {
            Want::Apply if is_of_release => _ = installed.insert(addon, true),
            Want::Delete if course.deletes(release, &addon) => _ = installed.insert(addon, false),
            _ => {}
        }
    }
}

proptest! {
    /// Any lists end, and in the end the Cluster has what is wanted when nothing runs.
    #[test]
    fn each_course_ends_as_its_release_says(first in lists(), second in lists(), is_new: bool) {
        let lists = if is_new { [first.as_str(), "", ""] } else { ["", first.as_str(), second.as_str()] };
        let release = release(lists);
        let applied = if is_new { Applied::None } else { Applied::Other };
        let mut installed: Installed = ADDONS.iter().map(|name| (name.parse().unwrap(), !is_new)).collect();
        let (mut hook, mut stages): (Option<String>, Vec<StageStatus>) = (None, Vec::new());
        let count: usize = release.stages.values().map(Vec::len).sum();
        for round in 0.. {
            prop_assert!(round <= count + 3, "{lists:?} does not end: {hook:?} {stages:?}");
            let recorded = Recorded { applied, hook: hook.as_deref(), stages: &stages };
            let mut course = Course::of(recorded, &release, Phase::Steady);
            carry_out(&course, &release, &mut installed);
            while let Some(next) = course.next(&release, |_| true) {
                course = next;
                carry_out(&course, &release, &mut installed);
            }
            if course.is_ending(&release) {
                break;
            }
            let (next, now) = course.statuses(&release, |_| true);
            (hook, stages) = (next.map(|hook| hook.as_str().to_owned()), now);
        }
        let end = Course::ended(Phase::Steady);
        for (addon, is_installed) in installed {
            let is_of_release = release.addons.iter().any(|known| known.name == addon);
            let wanted = end.want(&release, &addon);
            // What no stage names is dropped when all is delivered.
            if is_of_release || wanted == Want::Delete {
                prop_assert_eq!(is_installed, wanted == Want::Apply, "{}: {:?}", addon, lists);
            }
        }
    }
}

/// An addon that is to come back is not held by the gate, unlike all others while Cluster API does not wait.
#[test]
fn deleted_addon_comes_back_without_a_waiting_upgrade() {
    let release = release(["+cni +ccm", "-cni +cni +ccm", ""]);
    let held = |done: usize| -> Vec<&str> {
        let course = course(&release, Applied::Other, ("BeforeClusterUpgrade", done), Phase::Requested);
        let held = release.addons.iter().filter(|addon| course.hold(&release, addon).is_some());
        held.map(|addon| addon.name.as_str()).collect()
    };
    assert_eq!(held(0), ["cni", "ccm", "policies"], "nothing was deleted");
    assert_eq!(held(1), ["ccm", "policies"]);
}

/// An addon that a stage deletes in the end is no addon of the Cluster.
#[test]
fn deleted_addon_is_not_planned() {
    let release = release(["+cni +ccm", "+policies -policies", ""]);
    let cluster = Cluster::new(serde_json::json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "one", "namespace": "work"},
    }));
    let (end, requests) = (Course::ended(Phase::Steady), Requests::default());
    let names: Vec<&str> =
        end.addons(&release, &cluster.unwrap(), &requests).map(|addon| addon.name.as_str()).collect();
    assert_eq!(names, ["cni", "ccm"]);
}
