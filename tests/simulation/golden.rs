//! Golden logs: what the operator writes in each scenario while nothing fails, and why.
//!
//! Each line that begins at the margin is an action of a user or of Cluster API, or time that passes. The lines below it are
//! the writes of the operator, in order, with the fields or conditions that they change. With delivery through Git they
//! include the commits of everybody.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::Value;

use crate::api_server::kinds::KINDS;
use crate::api_server::{Answer, ApiServer, Call, Watched};
use crate::properties::scenarios;

/// Maximum number of fields in a line.
const MAX_FIELDS: usize = 4;
/// Maximum length of a value in a line: longer ones are digests, addresses and texts.
const MAX_LENGTH: usize = 40;
/// The metadata that the API server changes.
const SYSTEM: [&str; 3] = ["metadata.generation", "metadata.managedFields", "metadata.resourceVersion"];

/// Fails unless the log of a scenario is the one in its file.
pub(crate) fn compare(scenario: &str, log: &[String]) {
    let (path, text) = (directory().join(format!("{scenario}.txt")), log.join("\n") + "\n");
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(directory()).unwrap();
        fs::write(&path, &text).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    assert!(golden == text, "{} differs (UPDATE_GOLDEN=1 writes it):\n{text}", path.display());
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/simulation/golden")
}

/// The line about a write of the operator.
pub(crate) fn write_line(
    call: &Call,
    before: Option<&Value>,
    answer: &Answer,
    after: Option<&Watched>,
) -> String {
    if call.method == "POST" {
        let about = &answer.body["regarding"];
        return format!(
            "  event {} {}: {}",
            text(&about["kind"]),
            text(&about["name"]),
            text(&answer.body["reason"])
        );
    }
    let (kind, namespace, name) = ApiServer::place_of(call);
    if KINDS[kind].name == "Event" {
        return "  event is counted again".to_owned();
    }
    let is_status = call.uri.split('?').next().is_some_and(|path| path.ends_with("/status"));
    let verb = match (call.method.as_str(), call.content_type.as_str()) {
        ("DELETE", _) => "delete",
        (_, "application/apply-patch+yaml") if before.is_none() => "create",
        (_, "application/apply-patch+yaml") => "apply",
        _ => "patch",
    };
    let at = if namespace.is_empty() { name } else { format!("{namespace}/{name}") };
    let at = if is_status { format!("{at}/status") } else { at };
    let what = match after {
        _ if answer.code >= 300 => Some(format!("{} {}", answer.code, text(&answer.body["reason"]))),
        None => Some("no change".to_owned()),
        Some(after) if verb == "delete" => (!after.is_deleted).then(|| "waits for its finalizers".to_owned()),
        Some(after) => before.map(|before| difference(before, &after.object, is_status)),
    };
    let what = what.map_or_else(String::new, |what| format!(": {what}"));
    format!("  {verb} {} {at}{what}", KINDS[kind].name)
}

/// The line about a step that is not of the operator, with the values of a patch in place of its JSON.
pub(crate) fn note_line(note: &str) -> String {
    let patch = note.split_once(": {").and_then(|(head, _)| Some((head, note.get(head.len() + 2..)?)));
    let patch = patch.and_then(|(head, patch)| Some((head, serde_json::from_str::<Value>(patch).ok()?)));
    let Some((head, patch)) = patch else { return note.to_owned() };
    let mut values = Vec::new();
    collect_values("", &patch, &mut values);
    format!("{head}: {}", values.join(" "))
}

/// Joins the same line that follows itself, and leaves out the name of the namespace, which differs in each run.
pub(crate) fn finished(log: Vec<String>, namespace: &str) -> Vec<String> {
    let mut finished: Vec<(String, usize)> = Vec::new();
    for line in log {
        let line = line.replace(namespace, "team");
        match finished.last_mut() {
            Some((last, times)) if *last == line => *times += 1,
            _ => finished.push((line, 1)),
        }
    }
    let line = |(line, times)| if times == 1 { line } else { format!("{line} ({times} times)") };
    finished.into_iter().map(line).collect()
}

/// The difference of two states: the conditions that changed, and the names of other fields.
fn difference(before: &Value, after: &Value, is_status: bool) -> String {
    let (conditions, mut fields) = if is_status {
        let (before, after) = (&before["status"], &after["status"]);
        let is_other = |name: &&String| !["conditions", "observedGeneration"].contains(&name.as_str());
        let changed = names(before, after).into_iter().filter(|name| before[*name] != after[*name]);
        (changed_conditions(before, after), changed.filter(is_other).cloned().collect::<Vec<_>>())
    } else {
        let mut fields = Vec::new();
        collect_fields("", before, after, &mut fields);
        fields.retain(|field| !SYSTEM.contains(&field.as_str()));
        (Vec::new(), fields)
    };
    let more = fields.len().saturating_sub(MAX_FIELDS);
    fields.truncate(MAX_FIELDS);
    if more > 0 {
        fields.push(format!("and {more} more"));
    }
    let parts = [conditions.join(", "), fields.join(", ")];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { "messages".to_owned() } else { parts.join("; ") }
}

/// The conditions whose status or reason changed, such as `Ready=True Applied`.
fn changed_conditions(before: &Value, after: &Value) -> Vec<String> {
    let of = |status: &Value| {
        let conditions = status["conditions"].as_array().into_iter().flatten();
        let line =
            |it: &Value| format!("{}={} {}", text(&it["type"]), text(&it["status"]), text(&it["reason"]));
        conditions.map(line).collect::<Vec<_>>()
    };
    let known = of(before);
    of(after).into_iter().filter(|condition| !known.contains(condition)).collect()
}

/// The fields in which two values differ.
fn collect_fields(path: &str, before: &Value, after: &Value, found: &mut Vec<String>) {
    match (before, after) {
        (one, other) if one == other => {}
        (Value::Object(_), Value::Object(_)) => {
            for name in names(before, after) {
                collect_fields(&below(path, name), &before[name], &after[name], found);
            }
        }
        _ => found.push(path.to_owned()),
    }
}

/// The values of a patch, such as `spec.suspend=true`.
fn collect_values(path: &str, values: &Value, found: &mut Vec<String>) {
    match values {
        Value::Object(fields) => {
            for (name, value) in fields {
                collect_values(&below(path, name), value, found);
            }
        }
        Value::Array(_) => found.push(path.to_owned()),
        Value::String(text) if text.len() > MAX_LENGTH => found.push(path.to_owned()),
        Value::String(text) => found.push(format!("{path}={text}")),
        value => found.push(format!("{path}={value}")),
    }
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn names<'a>(before: &'a Value, after: &'a Value) -> BTreeSet<&'a String> {
    [before, after].into_iter().filter_map(Value::as_object).flat_map(|fields| fields.keys()).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[test]
fn golden_log_without_a_scenario_is_none() {
    let names: BTreeSet<String> = scenarios().into_iter().map(|name| format!("{name}.txt")).collect();
    let files = fs::read_dir(directory()).unwrap();
    let files: BTreeSet<String> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(files, names);
}
