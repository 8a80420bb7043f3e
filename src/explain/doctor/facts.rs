//! The facts that the checks need, as the API server gave them at one time.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::api::authorization::v1::SubjectAccessReviewStatus;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::Deserialize as _;
use serde_json::Value;

use crate::api::cluster_stack::ClusterStackSpec;
use crate::explain::operator::OperatorLease;
use crate::foreign::capi::{Cluster, field, text};
use crate::installation::rights::Right;
use crate::names::Key;

/// The label of an operator's Pods, as `flux/base` sets it: `app.kubernetes.io/name`.
const NAME: &str = "app.kubernetes.io/name";
/// The value of the label.
const STACKFLUX: &str = "stackflux";
/// The label of Flux's controllers.
const COMPONENT: &str = "app.kubernetes.io/component";

/// Why something was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// The reader lacks this right.
    Forbidden(Right),
    /// The API server does not know the resource.
    NotServed(String),
}

/// What was read, or why not.
pub type Read<T> = Result<T, Unread>;

/// All facts.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The time at which they were read.
    pub now: Timestamp,
    /// The version of the API server.
    pub kubernetes: Read<String>,
    /// The versions of each API group that the API server serves.
    pub groups: Read<BTreeMap<String, BTreeSet<String>>>,
    /// The definitions that were asked for, by their names; `None` if it does not exist.
    pub definitions: BTreeMap<String, Read<Option<CustomResourceDefinition>>>,
    /// The Deployments.
    pub programs: Read<Vec<Program>>,
    /// The Leases of stackflux's operators.
    pub leases: Read<Vec<OperatorLease>>,
    /// The `ClusterStack`s.
    pub stacks: Read<Vec<Own>>,
    /// The releases.
    pub releases: Read<Vec<Own>>,
    /// The `ClusterAddon`s.
    pub addons: Read<Vec<Own>>,
    /// The Clusters.
    pub clusters: Read<Vec<Cluster>>,
    /// The kinds of objects that Cluster API makes of the templates of `ClusterClass`es, each with the class.
    pub class_kinds: Read<BTreeMap<Kind, Key>>,
    /// The number of `HelmRelease`s.
    pub helm_releases: Read<usize>,
    /// The webhooks that the API server calls.
    pub webhooks: Read<Vec<Webhook>>,
    /// The Runtime Extensions that Cluster API calls.
    pub extensions: Read<Vec<Extension>>,
    /// The resources of kinds; `None` if the API server does not serve the kind.
    pub resources: BTreeMap<Kind, Option<String>>,
    /// Whether accounts have rights.
    pub answers: Read<BTreeMap<Question, Answer>>,
}

impl Facts {
    /// Returns the first `ClusterStack` whose spec cannot be read, which is one of a newer version.
    #[must_use]
    pub fn unreadable(&self) -> Option<&Key> {
        let stacks = self.stacks.iter().flatten();
        stacks.filter(|stack| stack.stack.is_none()).map(|stack| &stack.key).next()
    }
}

/// A group and a kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    /// The API group.
    pub group: String,
    /// The kind.
    pub kind: String,
}

/// Whether an account has a right.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Question {
    /// The service account.
    pub account: Key,
    /// The right.
    pub right: Right,
}

/// The API server's answer to a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Whether the account has the right.
    pub is_allowed: bool,
    /// What the API server says of a refusal in one line, such as that a role does not exist; mostly empty.
    pub reason: String,
}

impl Answer {
    /// Reads the answer to a review. RBAC has what it failed at in the reason, a webhook in the error.
    #[must_use]
    pub fn of(status: &SubjectAccessReviewStatus) -> Self {
        if status.allowed {
            return Self { is_allowed: true, reason: String::new() };
        }
        let said = [&status.reason, &status.evaluation_error].into_iter().flatten();
        let lines = said.flat_map(|text| text.lines()).filter(|line| !line.trim().is_empty());
        Self { is_allowed: false, reason: lines.collect::<Vec<_>>().join("; ") }
    }
}

/// A Deployment: what it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Its namespace and name.
    pub key: Key,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The labels of its Pods.
    pub pod_labels: BTreeMap<String, String>,
    /// The image of its first container.
    pub image: String,
    /// The command and the arguments of its first container.
    pub arguments: Vec<String>,
    /// The service account.
    pub account: String,
    /// The number of Pods that it should have.
    pub replicas: i64,
    /// The number of Pods that are ready.
    pub ready: i64,
}

/// An object of stackflux's kinds, as far as a definition of any version has it.
#[derive(Clone, Debug, Default)]
pub struct Own {
    /// Its namespace and name.
    pub key: Key,
    /// Its finalizers.
    pub finalizers: Vec<String>,
    /// The conditions that are not true.
    pub causes: Vec<Cause>,
    /// The spec of a `ClusterStack`, if it can be read.
    pub stack: Option<ClusterStackSpec>,
}

/// A condition that is not true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The condition.
    pub condition: String,
    /// Its reason.
    pub reason: String,
    /// Its message.
    pub message: String,
}

/// A webhook that the API server calls before it admits objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// The kind of its configuration.
    pub kind: &'static str,
    /// The name of its configuration.
    pub name: String,
    /// The namespace and the name of the Service that is called.
    pub service: Key,
    /// The API groups whose objects it sees.
    pub groups: BTreeSet<String>,
}

/// An `ExtensionConfig` of Cluster API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension {
    /// Its name.
    pub name: String,
    /// The namespace and the name of the Service that is called.
    pub service: Key,
}

impl Program {
    /// Reads a Deployment.
    #[must_use]
    pub fn of(deployment: &Value) -> Self {
        let labels = |path: &[&str]| -> BTreeMap<String, String> {
            let found = field(deployment, path).and_then(Value::as_object).into_iter().flatten();
            found.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
        };
        let number = |path: &[&str]| field(deployment, path).and_then(Value::as_i64);
        let pod = &["spec", "template", "spec"];
        let containers = field(deployment, &[pod.as_slice(), &["containers"]].concat());
        let container = containers.and_then(|containers| containers.get(0)).unwrap_or(&Value::Null);
        let words = |name: &str| {
            let words = field(container, &[name]).and_then(Value::as_array).into_iter().flatten();
            words.filter_map(|word| word.as_str().map(str::to_owned)).collect::<Vec<_>>()
        };
        Self {
            key: key(deployment, &["metadata"]),
            labels: labels(&["metadata", "labels"]),
            pod_labels: labels(&["spec", "template", "metadata", "labels"]),
            image: text(container, &["image"]).to_owned(),
            arguments: [words("command"), words("args")].concat(),
            account: text(deployment, &[pod.as_slice(), &["serviceAccountName"]].concat()).to_owned(),
            replicas: number(&["spec", "replicas"]).unwrap_or(1),
            ready: number(&["status", "readyReplicas"]).unwrap_or(0),
        }
    }

    /// Returns the value of a flag: the last one counts, and a flag without a value is `true`.
    #[must_use]
    pub fn flag(&self, name: &str) -> Option<&str> {
        self.flags(name).last()
    }

    /// Returns the feature gates that are set: those of all flags, the last of which counts for a gate, as in
    /// `k8s.io/component-base`.
    #[must_use]
    pub fn feature_gates(&self) -> String {
        let flags: Vec<&str> = self.flags("feature-gates").filter(|gates| !gates.is_empty()).collect();
        flags.join(",")
    }

    /// Returns the values of a flag, in their order.
    fn flags(&self, name: &str) -> impl Iterator<Item = &str> {
        self.arguments.iter().enumerate().filter_map(move |(at, word)| {
            let flag = word.strip_prefix("--")?.strip_prefix(name)?;
            let next = || self.arguments.get(at + 1).filter(|next| !next.starts_with('-'));
            match flag.strip_prefix('=') {
                Some(value) => Some(value),
                None if flag.is_empty() => Some(next().map_or("true", String::as_str)),
                None => None,
            }
        })
    }

    /// Whether a flag is switched on.
    #[must_use]
    pub fn has(&self, flag: &str) -> bool {
        self.flag(flag).is_some_and(|value| value != "false")
    }

    /// Whether it is an operator of stackflux.
    #[must_use]
    pub fn is_operator(&self) -> bool {
        self.pod_labels.get(NAME).is_some_and(|name| name == STACKFLUX)
            && self.arguments.iter().any(|word| word == "operator")
    }

    /// Whether it is a controller with this name, or a shard of it.
    #[must_use]
    pub fn is_controller(&self, name: &str) -> bool {
        self.key.name == name || self.labels.get(COMPONENT).is_some_and(|component| component == name)
    }

    /// Returns the tag of the image, without a digest; empty if it has none.
    #[must_use]
    pub fn tag(&self) -> &str {
        let image = self.image.split('@').next().unwrap_or_default();
        let name = image.rsplit('/').next().unwrap_or_default();
        name.split_once(':').map_or("", |(_, tag)| tag)
    }
}

impl Own {
    /// Reads an object.
    #[must_use]
    pub fn of(object: &Value) -> Self {
        let array = |path: &[&str]| field(object, path).and_then(Value::as_array).into_iter().flatten();
        let is_wrong = |condition: &&Value| text(condition, &["status"]) != "True";
        let cause = |condition: &Value| {
            let [condition, reason, message] =
                [["type"], ["reason"], ["message"]].map(|path| text(condition, &path).to_owned());
            Cause { condition, reason, message }
        };
        let finalizers = array(&["metadata", "finalizers"]).filter_map(Value::as_str);
        Self {
            key: key(object, &["metadata"]),
            finalizers: finalizers.map(str::to_owned).collect(),
            causes: array(&["status", "conditions"]).filter(is_wrong).map(cause).collect(),
            stack: field(object, &["spec"]).and_then(|spec| ClusterStackSpec::deserialize(spec).ok()),
        }
    }
}

impl Webhook {
    /// Reads a configuration of webhooks of this kind.
    #[must_use]
    pub fn of(kind: &'static str, configuration: &Value) -> Vec<Self> {
        let webhooks = field(configuration, &["webhooks"]).and_then(Value::as_array);
        let read = |webhook: &Value| {
            let rules = field(webhook, &["rules"]).and_then(Value::as_array).into_iter().flatten();
            let groups = rules.filter_map(|rule| field(rule, &["apiGroups"])?.as_array());
            Self {
                kind,
                name: text(configuration, &["metadata", "name"]).to_owned(),
                service: key(webhook, &["clientConfig", "service"]),
                groups: groups.flatten().filter_map(|group| group.as_str().map(str::to_owned)).collect(),
            }
        };
        webhooks.into_iter().flatten().map(read).collect()
    }
}

impl Extension {
    /// Reads an `ExtensionConfig`.
    #[must_use]
    pub fn of(object: &Value) -> Self {
        let name = text(object, &["metadata", "name"]).to_owned();
        Self { name, service: key(object, &["spec", "clientConfig", "service"]) }
    }
}

/// Returns the kinds of objects that Cluster API makes of the templates of `ClusterClass`es, which those of Clusters refer to. The
/// reference to a template is `templateRef` in v1beta2, and `ref` in v1beta1.
#[must_use]
pub fn class_kinds(classes: &[Value]) -> BTreeMap<Kind, Key> {
    let mut kinds = BTreeMap::new();
    for class in classes {
        for (part, reference) in [
            ("infrastructure", "templateRef"),
            ("infrastructure", "ref"),
            ("controlPlane", "templateRef"),
            ("controlPlane", "ref"),
        ] {
            let of = |name| text(class, &["spec", part, reference, name]);
            let (Some((group, _)), Some(kind)) =
                (of("apiVersion").split_once('/'), of("kind").strip_suffix("Template"))
            else {
                continue;
            };
            let kind = Kind { group: group.to_owned(), kind: kind.to_owned() };
            kinds.entry(kind).or_insert_with(|| key(class, &["metadata"]));
        }
    }
    kinds
}

/// Returns the namespace and the name at a path.
fn key(object: &Value, path: &[&str]) -> Key {
    let part = |name| text(object, &[path, &[name]].concat());
    Key::new(part("namespace"), part("name"))
}
