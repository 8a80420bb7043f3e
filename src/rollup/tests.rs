//! Table tests. Objects are made by hand here after Flux's sources; `recorded` has the same rows as a running Flux
//! wrote them.

mod conditions;
mod handmade;
mod moments;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::foreign::flux::observed::SpecHash;

const CHART: &str = "1.0.0+0123456789ab";
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// When the objects of the tests were written.
fn written() -> Timestamp {
    time("2026-11-20T10:00:00Z")
}

/// Half a minute later.
fn soon() -> Moment {
    Moment::at(time("2026-11-20T10:00:30Z"))
}

/// An object of generation 2 with this status.
fn object(status: Value) -> Value {
    json!({
        "metadata": {"name": "c1.cni", "namespace": "tenant", "generation": 2},
        "spec": {"interval": "10m"},
        "status": status,
    })
}

/// A condition of the present generation.
fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    stale(kind, status, reason, message, 2)
}

fn stale(kind: &str, status: &str, reason: &str, message: &str, generation: i64) -> Value {
    json!({
        "type": kind, "status": status, "reason": reason, "message": message,
        "observedGeneration": generation, "lastTransitionTime": "2026-11-20T10:00:01Z",
    })
}

fn expected(object: &Value, content: &str) -> Expected {
    Expected {
        spec: SpecHash::of(object["spec"].clone()),
        content: Some(content.to_owned()),
        since: written(),
    }
}

fn judge_helm_release(object: &Value, moment: &Moment) -> Verdict {
    let expected = expected(object, CHART);
    helm_release(&serde_json::from_value(object.clone()).unwrap(), &expected, moment)
}

fn judge_kustomization(object: &Value, moment: &Moment) -> Verdict {
    let expected = expected(object, COMMIT);
    kustomization(&serde_json::from_value(object.clone()).unwrap(), &expected, moment)
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
