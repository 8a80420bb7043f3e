//! Tests of charts that a helm-controller that is too old would uninstall.

use super::*;
use crate::foreign::flux::observed::{HelmReleaseStatus, KindStatus, Snapshot as HelmRelease};
use crate::release::AddonKind;

/// Sets the name of the chart that Helm has installed for `cni`; none if nothing is installed.
fn install(scene: &mut Scene, chart: Option<&str>) {
    let object = scene.objects.iter_mut().find(|object| object.addon() == Some("cni")).unwrap();
    let release = chart.map(|name| HelmRelease { chart_name: name.to_owned(), ..HelmRelease::default() });
    let status = HelmReleaseStatus { history: release.into_iter().collect(), ..HelmReleaseStatus::default() };
    Arc::make_mut(object).status = KindStatus::HelmRelease(status);
}

#[test]
fn renamed_chart_is_held_unless_it_is_upgraded_in_place() {
    let old = || Renaming::Uninstall { version: Some("v2.8.3".to_owned()) };
    let unknown = || Renaming::Unknown("the operator may not read the CRD of HelmRelease".to_owned());
    let own = Fixture::new()
        .release("v1")
        .addons
        .iter()
        .find_map(|addon| (addon.name.as_str() == "cni").then(|| addon.chart().unwrap().name.clone()));
    for (renaming, installed, expected) in [
        (Renaming::InPlace, Some("cni-1-33"), None),
        (
            old(),
            Some("cni-1-33"),
            Some((Reason::FluxTooOld, "of v2.8.3 has no field chartNameChangeStrategy")),
        ),
        (
            Renaming::Uninstall { version: None },
            Some("cni-1-33"),
            Some((Reason::FluxTooOld, "CRD has no field")),
        ),
        (old(), own.as_deref(), None),
        (old(), None, None),
        (unknown(), Some("cni-1-33"), Some((Reason::FluxVersionUnknown, "may not read the CRD"))),
        (unknown(), own.as_deref(), None),
    ] {
        let mut scene = Scene::new();
        scene.deliver(&["addon", "namespace"]);
        scene.renaming = renaming.clone();
        install(&mut scene, installed);
        let mut facts = scene.facts();
        judge_waits(&mut facts, None).unwrap();
        let plan = facts.plan().unwrap();
        let is_planned = plan.addons().any(|planned| planned.addon() == "cni");
        assert_eq!(is_planned, expected.is_none(), "{renaming:?} {installed:?}");
        assert_eq!(plan.addons().filter(|planned| planned.addon() != "cni").count(), 2, "the others stay");
        let held = plan.held().first().map(|held| (held.hold.reason, held.hold.message.as_str()));
        assert_eq!(held.map(|(reason, _)| reason), expected.map(|(reason, _)| reason));
        if let (Some((_, message)), Some((_, part))) = (held, expected) {
            assert!(message.contains(part) && message.contains("chart cni-1-33"), "{message}");
        }
    }
}

/// The name of a component's chart is not known before Flux has fetched it.
#[test]
fn chart_of_unknown_name_is_held_if_its_source_changes() {
    let mut scene = Scene::new();
    scene.deliver(&["addon", "namespace"]);
    scene.renaming = Renaming::Uninstall { version: None };
    install(&mut scene, Some("edge"));
    let addon = scene.release.addons.iter_mut().find(|addon| addon.name.as_str() == "cni").unwrap();
    addon.kind = AddonKind::Manifests;
    let held = |scene: &Scene| {
        let mut facts = scene.facts();
        judge_waits(&mut facts, None).unwrap();
        facts.plan().unwrap().held().iter().map(|held| held.hold.message.clone()).collect::<String>()
    };
    assert_eq!(held(&scene), "", "the chart is the same");
    let object = scene.objects.iter_mut().find(|object| object.addon() == Some("cni")).unwrap();
    Arc::make_mut(object).refers_to.source = "edge-of-another-commit".to_owned();
    let message = held(&scene);
    assert!(message.contains("uninstall chart edge before it installs one of another source"), "{message}");
}
