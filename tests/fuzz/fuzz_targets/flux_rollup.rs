//! Flux objects of any JSON, judged at any time: no panic, and a condition that the API server takes.
#![no_main]

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use serde::Deserialize;
use serde_json::Value;
use stackflux::api::conditions::Reason;
use stackflux::foreign::flux::observed::{FluxObject, SpecDigest};
use stackflux::rollup::{
    Applier, Expected, Moment, Pulse, Report, Verdict, aggregate, judge, reconciling, stalled,
};

/// As in `tests/recorded`.
#[derive(Deserialize)]
struct Input {
    object: Value,
    version: Option<String>,
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(input) = serde_json::from_slice::<Input>(bytes) else { return };
    let Ok(observed) = serde_json::from_value::<FluxObject>(input.object) else { return };
    let times = [Timestamp::MIN, Timestamp::UNIX_EPOCH, Timestamp::MAX];
    let digests = [observed.spec_digest.clone(), SpecDigest::kept("another")];
    for (since, now) in times.into_iter().flat_map(|since| times.map(|now| (since, now))) {
        for spec_digest in digests.clone() {
            let expected = Expected { spec_digest, version: input.version.clone(), revision_before: Some(1), since };
            for pulse in [Pulse::Unknown { moved: Some(since) }, Pulse::Alive, Pulse::Dead { since }] {
                let moment = Moment { applier: Applier { pulse, ..Applier::unknown() }, ..Moment::at(now) };
                let verdict = judge(&observed, &expected, &moment);
                assert_eq!(verdict, judge(&observed, &expected, &moment));
                check_verdict(&verdict);
            }
        }
    }
});

fn check_verdict(verdict: &Verdict) {
    let report = verdict.report();
    check_report(&aggregate("addons", &[("cni", Some(report.clone())), ("csi", None)], Reason::Applied));
    check_report(&report);
    reconciling([verdict]).iter().chain(&stalled([verdict])).for_each(check_report);
}

/// The rules of `metav1.Condition` for reason and message, and our own: one line.
fn check_report(report: &Report) {
    let word = |character: char| character.is_ascii_alphanumeric() || character == '_';
    assert!(
        report.reason.starts_with(|first: char| first.is_ascii_alphabetic())
            && report.reason.chars().all(word)
    );
    assert!(report.reason.len() <= 128 && report.message.chars().count() <= 1024);
    assert!(!report.message.contains(['\n', '\r']));
}
