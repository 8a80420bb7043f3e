//! Table tests. The objects here are written by hand after Flux's sources; `recorded` has the same rows as a running
//! Flux wrote them.

mod conditions;
mod followed;
mod forced_upgrade;
mod helm_release;
mod kustomization;
mod moments;
mod recorded;
mod retries;
mod source;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::retry::Reported;
use super::*;
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::{FluxObject, SpecDigest};

const CHART: &str = "1.0.0+0123456789ab";
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Returns the time at which the objects of the tests were written.
fn written_at() -> Timestamp {
    time("2026-11-20T10:00:00Z")
}

/// Returns the moment half a minute later.
fn soon() -> Moment {
    Moment::at(time("2026-11-20T10:00:30Z"))
}

/// Creates an object of generation 2 with this status, and these [conditions](conditions).
fn object(status: Value, reported: &[&str]) -> Value {
    let mut object = json!({
        "metadata": {"name": "c1.cni", "namespace": "tenant", "generation": 2},
        "spec": {"interval": "10m"},
    });
    object["status"] = status;
    object["status"]["conditions"] = reported.iter().map(|line| condition(line)).collect();
    object
}

/// Parses a condition in short: `Type=Status Reason: message`, with `@<generation>` after the reason if it is not of
/// the present generation.
fn condition(reported: &str) -> Value {
    let (head, message) = reported.split_once(": ").unwrap_or((reported, ""));
    let (kind, rest) = head.split_once('=').unwrap();
    let (status, reason) = rest.split_once(' ').unwrap();
    let (reason, generation) = reason.split_once('@').unwrap_or((reason, "2"));
    let generation: i64 = generation.parse().unwrap();
    json!({
        "type": kind, "status": status, "reason": reason, "message": message,
        "observedGeneration": generation, "lastTransitionTime": "2026-11-20T10:00:01Z",
    })
}

fn expected(object: &Value, version: &str) -> Expected {
    let spec_digest = SpecDigest::of(object["spec"].clone());
    Expected { spec_digest, version: Some(version.to_owned()), revision_before: None, since: written_at() }
}

/// Reads an object as one of a kind.
fn read(kind: FluxKind, object: &Value) -> FluxObject {
    let mut object = object.clone();
    object["kind"] = json!(kind);
    serde_json::from_value(object).unwrap()
}

fn judge_helm_release(object: &Value, moment: &Moment) -> Verdict {
    judge(&read(FluxKind::HelmRelease, object), &expected(object, CHART), moment)
}

fn judge_kustomization(object: &Value, moment: &Moment) -> Verdict {
    judge(&read(FluxKind::Kustomization, object), &expected(object, COMMIT), moment)
}

fn progressing(message: &str) -> Verdict {
    Verdict::Progressing { message: message.to_owned(), deadline: time("2026-11-20T10:20:00Z") }
}

fn failed(class: crate::error::Class, reason: &str, message: &str) -> Verdict {
    Verdict::Failed { class, reason: reason.to_owned(), message: message.to_owned() }
}

fn waiting(reason: &str, message: &str, last_good: Option<&str>) -> Verdict {
    Verdict::Waiting {
        reason: reason.to_owned(),
        message: message.to_owned(),
        last_good: last_good.map(str::to_owned),
    }
}
