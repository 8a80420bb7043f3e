//! Tests of the decision of a release's reconcile.

use serde_json::json;

use super::ContentState::{Invalid, Known, NotRead, Unavailable};
use super::*;
use crate::api::Reason;
use crate::gate::Hold;
use crate::plan::Step;

fn suspended() -> ClusterStack {
    let mut stack = stack("demo", "2026-11-20T10:00:00Z", &["v1"], false);
    stack.spec.suspend = true;
    stack
}

fn by_git() -> ClusterStack {
    let mut stack = stack("demo", "2026-11-20T10:00:00Z", &["v1"], false);
    let git = json!({"url": "https://git.example.org/fleet.git", "branch": "main", "path": "clusters"});
    stack.spec.delivery = serde_json::from_value(json!({"mode": "Git", "git": git})).unwrap();
    stack
}

#[test]
fn release_is_delivered_once_its_content_is_known() {
    let hold = Hold { reason: Reason::InUse, message: "in use".to_owned() };
    let (kept, in_use) = (Teardown::Keep(None), Teardown::Keep(Some(hold.clone())));
    let uninstalled = Teardown::Uninstall(Inventory::default());
    let (ours, suspended, by_git) =
        (stack("demo", "2026-11-20T10:00:00Z", &["v1"], false), suspended(), by_git());
    let unavailable = |retry| ReleaseAction::ReportUnavailable { retry };
    for (teardown, owner, is_pinned, content, expected) in [
        (&kept, Some(&ours), true, Known, ReleaseAction::Deliver(DeliveryMode::Api)),
        (&kept, Some(&by_git), true, Known, ReleaseAction::Deliver(DeliveryMode::Git)),
        (&kept, Some(&suspended), true, Known, ReleaseAction::Deliver(DeliveryMode::Suspended)),
        // A deleted release that is kept for its Clusters is delivered.
        (&in_use, Some(&ours), true, Known, ReleaseAction::Deliver(DeliveryMode::Api)),
        (&kept, Some(&ours), true, Invalid, ReleaseAction::ReportInvalid),
        (&kept, Some(&ours), false, Invalid, ReleaseAction::ReportInvalid),
        (&kept, Some(&ours), true, Unavailable, unavailable(true)),
        // Flux fetches a pinned release, and the ClusterStack pins the others.
        (&kept, Some(&ours), true, NotRead, unavailable(false)),
        (&kept, Some(&ours), false, NotRead, ReleaseAction::Await),
        // Without a ClusterStack of this operator, only the hold is reported.
        (&kept, None, true, Known, ReleaseAction::Forget(None)),
        (&in_use, None, true, NotRead, ReleaseAction::Forget(Some(hold.clone()))),
        (&uninstalled, Some(&ours), true, Known, ReleaseAction::TearDown(uninstalled.clone())),
        (&uninstalled, None, true, NotRead, ReleaseAction::TearDown(uninstalled.clone())),
    ] {
        let facts = ReleaseActionFacts { teardown, owner, is_pinned, content };
        assert_eq!(decide_release_action(&facts), expected, "{facts:?}");
    }
}

#[test]
fn suspended_stack_writes_nothing_even_by_git() {
    let mut both = by_git();
    both.spec.suspend = true;
    assert_eq!(DeliveryMode::of(&both), DeliveryMode::Suspended);
    let writing = [DeliveryMode::Suspended, DeliveryMode::Api, DeliveryMode::Git].map(DeliveryMode::writes);
    assert_eq!(writing, [false, true, true]);
}

#[test]
fn steps_wait_for_taken_names_provider_and_images() {
    use Step::{ClusterClass, NodeImages, Sources};
    let hold = Hold { reason: Reason::AlreadyExists, message: "taken".to_owned() };
    let taken = |step| Some((step, &hold));
    let (provider, images) = (Some("no quota"), Some("Kustomization a/b"));
    let all = StepFacts::default();
    let already = Some((Reason::AlreadyExists, "taken"));
    let for_provider = Some((Reason::WaitingForProvider, "no quota"));
    let for_images = Some((Reason::WaitingForNodeImages, "Kustomization a/b is not ready yet"));
    for (what, facts, last, expected) in [
        ("nothing is missing", all, ClusterClass, None),
        (
            "neither is ready",
            StepFacts { provider_problem: provider, images_not_ready: images, ..all },
            NodeImages,
            for_provider,
        ),
        ("the images are not ready", StepFacts { images_not_ready: images, ..all }, NodeImages, for_images),
        (
            "a delivered class is not held",
            StepFacts {
                is_class_delivered: true,
                provider_problem: provider,
                images_not_ready: images,
                taken: None,
            },
            ClusterClass,
            None,
        ),
        (
            "a source is taken",
            StepFacts { taken: taken(Sources), provider_problem: provider, ..all },
            Sources,
            already,
        ),
        (
            "the images are taken, before the provider counts",
            StepFacts { taken: taken(NodeImages), provider_problem: provider, ..all },
            NodeImages,
            already,
        ),
        (
            "an object of the class is taken, which is not tried yet",
            StepFacts { taken: taken(ClusterClass), images_not_ready: images, ..all },
            NodeImages,
            for_images,
        ),
        (
            "an object of the class is taken",
            StepFacts { taken: taken(ClusterClass), ..all },
            ClusterClass,
            already,
        ),
    ] {
        let WrittenSteps { steps, hold } = steps_to_write(&facts);
        assert_eq!(
            steps,
            RELEASE_STEPS.into_iter().filter(|step| *step <= last).collect::<Vec<_>>(),
            "{what}"
        );
        let hold = hold.as_ref().map(|hold| (hold.reason, hold.message.as_str()));
        assert_eq!(hold, expected, "{what}");
        assert_eq!(steps_to_write(&facts).is_without_source(), last == Sources, "{what}");
    }
}
