//! The state at the end of a simulation, without the parts that depend on the order of steps.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;
use stackflux::api::labels::HANDED_OVER;

use crate::api_server::ApiServer;
use crate::api_server::kinds::KINDS;
use crate::flux::number;
use crate::repository::COMMITS;

/// The metadata that counts changes, or names times and versions.
const COUNTED: [&str; 5] = ["creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"];

/// The fields of all objects, one in each line.
pub(crate) fn lines(server: &ApiServer, namespace: &str) -> Vec<String> {
    let all = |kind| server.objects(kind).map(move |object| (kind, object));
    let objects: Vec<(usize, &Value)> = (0..KINDS.len()).flat_map(all).collect();
    let mut names = BTreeMap::new();
    for (kind, object) in &objects {
        let metadata = &object["metadata"];
        names.insert(text(&metadata["uid"]), format!("{} {}", KINDS[*kind].name, text(&metadata["name"])));
    }
    let mut replaced = vec![(namespace.to_owned(), "team")];
    let url = |stack: &Value| Some(stack.pointer("/spec/delivery/git/url")?.as_str()?.to_owned());
    let url = server.objects(number("ClusterStack")).find_map(url);
    replaced.splice(0..0, url.map(|url| (url, "fleet")));
    let mut lines = Vec::new();
    for (kind, object) in objects {
        let about = format!("{} {}", KINDS[kind].name, text(&object["metadata"]["name"]));
        let end = End {
            object,
            names: &names,
            is_ours: ["ClusterStack", "ClusterAddon"].iter().any(|ours| KINDS[kind].name.starts_with(ours)),
        };
        let mut fields = Vec::new();
        end.collect(&about, object, &mut fields);
        for (old, new) in &replaced {
            for field in &mut fields {
                *field = field.replace(old, new);
            }
        }
        lines.extend(fields);
    }
    lines.sort_unstable();
    lines
}

/// What the lines of an object depend on.
struct End<'a> {
    object: &'a Value,
    /// Kind and name of all objects, by their UIDs.
    names: &'a BTreeMap<&'a str, String>,
    /// Whether the operator writes the status.
    is_ours: bool,
}

impl End<'_> {
    fn collect(&self, path: &str, value: &Value, lines: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields.iter().filter(|(name, _)| !self.is_left_out(path, name)) {
                    self.collect(&format!("{path}.{name}"), value, lines);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let name = ["type", "name"].into_iter().find_map(|field| item.get(field)?.as_str());
                    let name = name.map_or_else(|| index.to_string(), str::to_owned);
                    self.collect(&format!("{path}[{name}]"), item, lines);
                }
            }
            value => lines.push(format!("{path}={}", self.value(path, value))),
        }
    }

    fn is_left_out(&self, path: &str, name: &str) -> bool {
        let is_counted = path.ends_with(".metadata") && COUNTED.contains(&name);
        let is_of_flux = path.ends_with(".status") && !self.is_ours && name != "conditions";
        // The texts of Flux say whether it upgraded in between, before the operator restored what a user changed.
        let is_how = !self.is_ours && path.contains(".conditions[") && ["reason", "message"].contains(&name);
        // A process that crashes after the status counted a deletion leaves it to the next hour, which counts it again.
        let is_budget = path.ends_with(".status") && name.starts_with("pruned");
        // Clusters leave a release one after the other, and the last ones may be all of them.
        let is_last = path.ends_with(".status") && name == "lastUsers";
        // A process that has not seen that an object was handed over applies it with an owner, and the annotation stays. It
        // counts only without an owner.
        let is_owned = || self.object["metadata"]["ownerReferences"].to_string().contains("ClusterAddon");
        let is_handed_over = name == HANDED_OVER && is_owned();
        is_counted || is_of_flux || is_how || is_budget || is_last || is_handed_over
    }

    fn value(&self, path: &str, value: &Value) -> String {
        if path.ends_with("bservedGeneration") {
            let is_it = *value == self.object["metadata"]["generation"];
            return if is_it { "the present one".to_owned() } else { "an earlier one".to_owned() };
        }
        let Some(text) = value.as_str() else { return value.to_string() };
        if text.parse::<Timestamp>().is_ok() {
            return "a time".to_owned();
        }
        // A request to repeat an upgrade: Helm's revision counts the upgrades of before, and the rest is a time.
        let request = text.rsplit_once('/').filter(|(_, time)| time.parse::<Timestamp>().is_ok());
        if let Some((upgrade, _revision)) = request.and_then(|(request, _)| request.rsplit_once('/')) {
            return upgrade.to_owned();
        }
        // Digests are of specs, which name the namespace.
        if text.rsplit(':').next().is_some_and(is_digest) {
            return "a digest".to_owned();
        }
        if path.to_lowercase().ends_with("uid") {
            return self.names.get(text).cloned().unwrap_or_else(|| "an object that is gone".to_owned());
        }
        // The hash of a commit of the operator depends on its parent.
        let is_commit = |word: &&str| is_hash(word) && COMMITS.iter().all(|commit| commit.id != *word);
        let mut words = text.split([':', ' ']);
        words.find(is_commit).map_or_else(|| text.to_owned(), |commit| text.replace(commit, "commit"))
    }
}

fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_hash(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
