use super::*;

const HELM: &str = "helm-controller";

fn at(seconds: i64) -> Timestamp {
    let start: Timestamp = "2026-11-20T10:00:00Z".parse().unwrap();
    start + jiff::SignedDuration::from_secs(seconds)
}

/// Returns the reading of a Lease that was renewed at that second, by a clock one hour behind the operator's.
fn renewed(seconds: i64) -> Reading {
    Reading::Renewed(at(seconds - 3600))
}

#[test]
fn controller_with_a_lease_flips_once_each_way() {
    let appliers = Appliers::new(at(0));
    let read = |seconds, reading| appliers.read(HELM, reading, at(seconds)).unwrap();
    assert_eq!(read(0, renewed(0)), (Pulse::Alive, true));
    assert_eq!(read(10, renewed(10)), (Pulse::Alive, false), "a renewal is no news");
    assert_eq!(read(69, renewed(10)), (Pulse::Alive, false));
    let dead = Pulse::Dead { since: at(10 - 3600) };
    assert_eq!(read(70, renewed(10)), (dead, true));
    assert_eq!(read(80, renewed(10)), (dead, false));
    assert_eq!(appliers.of("HelmRelease"), Applier { name: HELM, pulse: dead });
    assert_ne!(appliers.of("HelmChart").pulse, dead, "source-controller is another one");
    assert_eq!(read(90, renewed(88)), (Pulse::Alive, true));
}

#[test]
fn unanswered_reading_counts_for_nothing() {
    let appliers = Appliers::new(at(0));
    let read = |seconds, reading| appliers.read(HELM, reading, at(seconds)).unwrap();
    read(0, renewed(0));
    assert_eq!(
        read(65, Reading::Failed),
        (Pulse::Alive, false),
        "the API server was away, not the controller"
    );
    assert_eq!(read(75, renewed(0)), (Pulse::Alive, false));
    assert_eq!(read(125, renewed(0)), (Pulse::Dead { since: at(-3600) }, true));
    let (pulse, is_changed) = read(130, Reading::None);
    assert!(matches!(pulse, Pulse::Unknown { .. }) && is_changed, "the Lease was deleted: {pulse:?}");
}

#[test]
fn movement_keeps_a_stale_lease_alive() {
    let appliers = Appliers::new(at(0));
    let read = |seconds| appliers.read(HELM, renewed(0), at(seconds)).unwrap().0;
    read(0);
    appliers.moved(HELM, at(50));
    assert_eq!(read(100), Pulse::Alive, "the election was switched off, and its Lease stays");
    assert!(matches!(read(110), Pulse::Dead { .. }));
}
