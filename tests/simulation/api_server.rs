//! An API server in memory, as far as the operator sees one.
//!
//! It answers requests by the rules of the real one, with which `tests/on_testbed/same_answers.rs` compares it: it keeps
//! resource versions, generations, field managers and finalizers, and logs the events of watches. The work of
//! Kubernetes' own controllers (garbage collection, the end of namespaces) is done one step at a time, when the driver
//! requests it.

#[path = "api_server/answer.rs"]
mod answer;
#[path = "api_server/controllers.rs"]
mod controllers;
#[path = "api_server/fields.rs"]
mod fields;
#[path = "api_server/kinds.rs"]
pub(crate) mod kinds;
#[path = "api_server/patch.rs"]
mod patch;
#[path = "api_server/write.rs"]
mod write;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

pub(crate) use answer::Answer;
use answer::Subject;
use fields::{Depth, Manager};
use kinds::KINDS;

/// The place of an object: the number of its kind, its namespace (empty if it has none) and its name.
pub(crate) type Place = (usize, String, String);

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// `GET`, `PATCH`, `DELETE` or `POST`.
    pub(crate) method: String,
    /// Path and query.
    pub(crate) uri: String,
    /// The media type of the body.
    pub(crate) content_type: String,
    /// The body.
    pub(crate) body: Vec<u8>,
}

/// An event of a watch.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    /// The place of the object.
    pub(crate) place: Place,
    /// Whether the object was deleted.
    pub(crate) is_deleted: bool,
    /// The object in its current or last state.
    pub(crate) object: Arc<Value>,
}

/// An object with the managers of its fields.
#[derive(Clone, Debug)]
struct Stored {
    object: Arc<Value>,
    managers: Vec<Manager>,
    /// The object as it is sent in events and in answers to writes.
    sent: Arc<Value>,
}

/// Kinds by their names.
type Kinds = &'static [&'static str];

/// The API server.
#[derive(Clone, Debug, Default)]
pub(crate) struct ApiServer {
    objects: BTreeMap<Place, Stored>,
    version: u64,
    uids: u64,
    /// The events of watches, in order.
    pub(crate) log: Vec<Watched>,
    /// The time for timestamps of objects, in seconds since the epoch.
    pub(crate) now: i64,
    /// The kinds whose field managers clients read in events and in answers to writes: of these the names of the fields
    /// directly below the spec are sent, and of others nothing. `None`: all are sent.
    pub(crate) managers_read: Option<Kinds>,
    /// The position in the log up to which no object is garbage.
    collected: usize,
}

/// A path of the API: the subject of a request.
struct Target {
    place: Place,
    subresource: Option<String>,
}

impl Target {
    /// Reads `/api/v1/namespaces/<name>` and `/apis/<group>/<version>/namespaces/<namespace>/<plural>/<name>[/status]`.
    fn of(path: &str) -> Self {
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let (group, version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => panic!("not a path of the API: {path}"),
        };
        let (namespace, plural, rest) = match rest {
            ["namespaces", namespace, plural, rest @ ..] => (*namespace, *plural, rest),
            [plural, rest @ ..] => ("", *plural, rest),
            [] => panic!("not a path of objects: {path}"),
        };
        let kind = kinds::number(group, version, plural);
        let name = rest.first().map(|name| (*name).to_owned()).unwrap_or_default();
        let subresource = rest.get(1).map(|part| (*part).to_owned());
        Self { place: (kind, namespace.to_owned(), name), subresource }
    }
}

impl ApiServer {
    /// An API server with these namespaces.
    pub(crate) fn new(namespaces: &[&str]) -> Self {
        let mut server = Self { version: 100, now: 1_700_000_000, ..Self::default() };
        for name in namespaces {
            let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            let answer = server.apply_as("test", &object);
            assert_eq!(answer.code, 201, "{answer:?}");
        }
        server
    }

    /// Answers a request.
    pub(crate) fn answer(&mut self, call: &Call) -> Answer {
        let (path, query) = call.uri.split_once('?').unwrap_or((&call.uri, ""));
        let target = Target::of(path);
        let manager = query.split('&').find_map(|part| part.strip_prefix("fieldManager="));
        let body = || serde_json::from_slice::<Value>(&call.body).unwrap();
        let answer = match (call.method.as_str(), call.content_type.as_str()) {
            ("GET", _) if target.place.2.is_empty() => {
                let items = self.list(target.place.0);
                let items: Vec<&Value> = items.iter().map(|item| &**item).collect();
                Ok(Answer { code: 200, body: json!({"items": items}).into() })
            }
            ("GET", _) => self.read(&target.place),
            ("POST", _) => Ok(Answer { code: 201, body: body().into() }),
            // Events are not stored.
            ("PATCH", _) if KINDS[target.place.0].name == "Event" => {
                Ok(Answer { code: 200, body: json!({}).into() })
            }
            ("DELETE", _) => self.delete(&target.place, &body()),
            ("PATCH", "application/apply-patch+yaml") => {
                assert!(query.contains("force=true"), "only applied with force: {}", call.uri);
                self.apply(&target.place, &body(), manager.unwrap_or_default())
            }
            ("PATCH", "application/json-patch+json") => {
                self.patch(&target, manager.unwrap_or_default(), |object| patch::json_patch(object, &body()))
            }
            (method, media) => panic!("{method} with {media:?} is not answered: {}", call.uri),
        };
        answer.unwrap_or_else(|refusal| refusal)
    }

    /// Applies an object (server-side, with force) as this field manager.
    pub(crate) fn apply_as(&mut self, manager: &str, object: &Value) -> Answer {
        let (kind, metadata) = (kinds::of(object), &object["metadata"]);
        let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
        let applied = self.apply(&(kind, text("namespace"), text("name")), object, manager);
        applied.unwrap_or_else(|refusal| refusal)
    }

    /// Merges a patch into an object, or into its status, as this field manager.
    pub(crate) fn merge_as(&mut self, manager: &str, place: &Place, status: bool, change: &Value) -> Answer {
        if let Some(found) = self.objects.get(place).filter(|found| patch::is_merged(&found.object, change)) {
            return Answer { code: 200, body: found.sent.clone() };
        }
        let target = Target { place: place.clone(), subresource: status.then(|| "status".to_owned()) };
        let merged = self.patch(&target, manager, |object| {
            patch::merge_patch(object, change);
            true
        });
        merged.unwrap_or_else(|refusal| refusal)
    }

    /// Deletes an object as `kubectl delete` does.
    pub(crate) fn delete_now(&mut self, place: &Place) -> Answer {
        self.delete(place, &json!({})).unwrap_or_else(|refusal| refusal)
    }

    /// The object at a place.
    pub(crate) fn get(&self, place: &Place) -> Option<Arc<Value>> {
        self.objects.get(place).map(|stored| stored.sent.clone())
    }

    /// The place that a request is about.
    pub(crate) fn place_of(call: &Call) -> Place {
        Target::of(call.uri.split('?').next().unwrap_or_default()).place
    }

    /// The answer about an object that does not exist.
    pub(crate) fn missing(place: &Place) -> Answer {
        Subject::of(place).not_found()
    }

    /// The answer to a request that the account of the operator has no permission for.
    pub(crate) fn forbidden(place: &Place) -> Answer {
        Subject::of(place).forbidden()
    }

    /// All objects of a kind.
    pub(crate) fn list(&self, kind: usize) -> Vec<Arc<Value>> {
        self.of_kind(kind).map(|(_, stored)| stored.sent.clone()).collect()
    }

    /// The places of all objects of a kind.
    pub(crate) fn places(&self, kind: usize) -> impl Iterator<Item = &Place> {
        self.of_kind(kind).map(|(place, _)| place)
    }

    /// The object at a place, without its field managers.
    pub(crate) fn object(&self, place: &Place) -> Option<&Value> {
        self.objects.get(place).map(|stored| &*stored.object)
    }

    /// All objects of a kind, without their field managers.
    pub(crate) fn objects(&self, kind: usize) -> impl Iterator<Item = &Value> {
        self.of_kind(kind).map(|(_, stored)| &*stored.object)
    }

    fn of_kind(&self, kind: usize) -> impl Iterator<Item = (&Place, &Stored)> {
        let first = |kind| (kind, String::new(), String::new());
        self.objects.range(first(kind)..first(kind + 1))
    }

    fn read(&self, place: &Place) -> Result<Answer, Answer> {
        let found = self.objects.get(place).ok_or_else(|| Subject::of(place).not_found())?;
        let body = match self.managers_read {
            None => found.sent.clone(),
            Some(_) => with_managers(&found.object, &found.managers, Depth::All),
        };
        Ok(Answer { code: 200, body })
    }
}

/// An object with its field managers, as it is sent.
fn with_managers(object: &Value, managers: &[Manager], depth: Depth) -> Arc<Value> {
    let mut sent = object.clone();
    sent["metadata"]["managedFields"] = managers.iter().map(|manager| manager.shown(depth)).collect();
    sent.into()
}
