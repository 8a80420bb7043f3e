//! The next commands: what a user runs to see more of a cause, with the names of the object that has it.

use crate::api::labels::PRUNE;
use crate::foreign::flux::FluxKind;
use crate::names::Key;

/// Maximum number of workloads for which commands are given.
const MAX_WORKLOADS: usize = 3;

/// What the placeholders of a command stand for. A command is left out if one of its placeholders stands for nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The Flux object: `{kind}` as kubectl has it, `{Kind}`, `{ns}` and `{name}`; as Flux's command line has the kind, `{source}` of a
    /// source and `{applier}` of others; `{helmrelease}` is the name of a `HelmRelease`.
    pub flux: Option<(FluxKind, Key)>,
    /// The Cluster: `{cluster}` and `{cluster-ns}`.
    pub cluster: Option<Key>,
    /// The addon of the Cluster: `{addon}`.
    pub addon: Option<String>,
    /// The `ClusterStack`: `{stack}` and `{stack-ns}`.
    pub stack: Option<Key>,
    /// The release: `{release}` and `{release-ns}`.
    pub release: Option<Key>,
    /// The Secret that the object names: `{secret}` and `{secret-ns}`.
    pub secret: Option<Key>,
    /// The controller of Flux that the message names: `{controller}`.
    pub controller: Option<String>,
    /// The annotation that allows deletions, which the message gives: `{prune}`.
    pub prune: Option<String>,
    /// What `stackflux resume` resumes, as it takes the object: `{suspended}`.
    pub suspended: Option<String>,
    /// The workloads: `{workload}`, `{workload-kind}` and `{workload-ns}`, one command for each.
    pub workloads: Vec<Workload>,
}

/// An object in a workload cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Its kind, in lower case.
    pub kind: String,
    /// Its key.
    pub key: Key,
}

impl Place {
    /// Returns the commands with the names of this place.
    #[must_use]
    pub fn fill(&self, templates: &[&str]) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for template in templates {
            let workloads: Vec<Option<&Workload>> = if template.contains("{workload") {
                self.workloads.iter().take(MAX_WORKLOADS).map(Some).collect()
            } else {
                vec![None]
            };
            let filled = workloads.into_iter().filter_map(|workload| self.command(template, workload));
            for command in filled.collect::<Vec<_>>() {
                if !found.contains(&command) {
                    found.push(command);
                }
            }
        }
        found
    }

    fn command(&self, template: &str, workload: Option<&Workload>) -> Option<String> {
        let mut command = String::with_capacity(template.len());
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            command.push_str(before);
            // A brace that is not a placeholder belongs to a JSONPath.
            rest = if let Some((name, after)) = after.split_once('}').filter(|(name, _)| is_placeholder(name))
            {
                command.push_str(&self.value(name, workload)?);
                after
            } else {
                command.push('{');
                after
            };
        }
        command.push_str(rest);
        Some(command)
    }

    fn value(&self, name: &str, workload: Option<&Workload>) -> Option<String> {
        let flux = self.flux.as_ref();
        let of = |key: Option<&Key>, field: &str| {
            key.map(|key| if field == "ns" { key.namespace.clone() } else { key.name.clone() })
        };
        match name {
            "kind" => flux.map(|(kind, _)| kubectl(*kind)),
            "source" => flux.and_then(|(kind, _)| source(*kind)).map(str::to_owned),
            "applier" => flux.filter(|(kind, _)| source(*kind).is_none()).map(|(kind, _)| kubectl(*kind)),
            "helmrelease" => {
                of(flux.filter(|(kind, _)| *kind == FluxKind::HelmRelease).map(|(_, key)| key), "")
            }
            "Kind" => flux.map(|(kind, _)| kind.to_string()),
            "name" => of(flux.map(|(_, key)| key), ""),
            "ns" => of(flux.map(|(_, key)| key), "ns"),
            "cluster" => of(self.cluster.as_ref(), ""),
            "cluster-ns" => of(self.cluster.as_ref(), "ns"),
            "addon" => self.addon.clone(),
            "stack" => of(self.stack.as_ref(), ""),
            "stack-ns" => of(self.stack.as_ref(), "ns"),
            "release" => of(self.release.as_ref(), ""),
            "release-ns" => of(self.release.as_ref(), "ns"),
            "secret" => of(self.secret.as_ref(), ""),
            "secret-ns" => of(self.secret.as_ref(), "ns"),
            "controller" => self.controller.clone(),
            "prune" => self.prune.clone(),
            "suspended" => self.suspended.clone(),
            "workload" => of(workload.map(|workload| &workload.key), ""),
            "workload-ns" => of(workload.map(|workload| &workload.key), "ns"),
            "workload-kind" => workload.map(|workload| workload.kind.clone()),
            _ => None,
        }
    }
}

/// Returns a kind as kubectl has it. `helmchart` alone can be a kind of another group.
fn kubectl(kind: FluxKind) -> String {
    match kind {
        FluxKind::HelmChart => "helmchart.source.toolkit.fluxcd.io".to_owned(),
        kind => kind.as_str().to_lowercase(),
    }
}

fn source(kind: FluxKind) -> Option<&'static str> {
    match kind {
        FluxKind::GitRepository => Some("git"),
        FluxKind::OCIRepository => Some("oci"),
        FluxKind::HelmChart => Some("chart"),
        FluxKind::HelmRelease | FluxKind::Kustomization => None,
    }
}

fn is_placeholder(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphabetic() || letter == '-')
}

/// Finds the workloads that are not ready in a message of Flux or Helm, such as
/// `timeout waiting for: [Deployment/kube-system/cni status: 'InProgress']` (`cli-utils/pkg/kstatus`), or
/// `Deployment kube-system/cni is not ready`.
#[must_use]
pub fn workloads(message: &str) -> Vec<Workload> {
    let words = message.split([' ', '[', ']', ',', '\'', '"', ';']).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    let mut found: Vec<Workload> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let parts: Vec<&str> = word.trim_end_matches(':').split('/').collect();
        let parts = match (parts.as_slice(), at.checked_sub(1).and_then(|before| words.get(before))) {
            ([kind, namespace, name], _) | ([namespace, name], Some(kind)) => {
                Some((*kind, *namespace, *name))
            }
            _ => None,
        };
        let Some((kind, namespace, name)) = parts else { continue };
        let workload = Workload { kind: kind.to_lowercase(), key: Key::new(namespace, name) };
        if is_workload(kind)
            && [namespace, name].iter().all(|text| is_name(text))
            && !found.contains(&workload)
        {
            found.push(workload);
        }
    }
    found
}

/// Whether Kubernetes runs Pods for objects of this kind, or it is a Pod.
pub(super) fn is_workload(kind: &str) -> bool {
    ["Deployment", "DaemonSet", "StatefulSet", "Job", "Pod", "ReplicaSet"].contains(&kind)
}

/// Finds the Secret that a message says is missing: in the namespace that it names, otherwise in that of the object.
#[must_use]
pub fn secret(message: &str, namespace: &str) -> Option<Key> {
    let quoted = |start: &str, end: char| message.split_once(start)?.1.split_once(end).map(|(name, _)| name);
    let found = ["ecret '", "Secret chart values reference '"].iter().find_map(|start| quoted(start, '\''));
    let found = found
        .or_else(|| quoted("secrets \"", '"'))
        .or_else(|| quoted("Secret ", ' ').filter(|name| *name != "that"))?;
    let (namespace, name) = found.split_once('/').unwrap_or((namespace, found));
    [namespace, name].iter().all(|text| is_name(text)).then(|| Key::new(namespace, name))
}

/// Finds the annotation in a message that allows deletions.
#[must_use]
pub fn prune(message: &str) -> Option<String> {
    let is_it = |word: &&str| {
        word.strip_prefix(PRUNE)
            .and_then(|rest| rest.strip_prefix('='))
            .is_some_and(|token| token.chars().all(|letter| letter.is_ascii_alphanumeric()))
    };
    message.split([' ', ';', ',']).find(is_it).map(str::to_owned)
}

/// Finds the controller of Flux that a message names, such as `helm-controller`.
#[must_use]
pub fn controller(message: &str) -> Option<String> {
    let mut words = message.split(' ');
    let is_controller = |word: &&str| word.ends_with("-controller") && is_name(word);
    words.find(is_controller).map(str::to_owned)
}

/// Whether a text is a name of Kubernetes: a message is a foreign text, and a command is copied into a shell.
fn is_name(text: &str) -> bool {
    let is_letter =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-.".contains(letter);
    let ends = |letter: char| letter.is_ascii_alphanumeric();
    !text.is_empty()
        && text.len() <= 253
        && text.chars().all(is_letter)
        && text.starts_with(ends)
        && text.ends_with(ends)
}

#[cfg(test)]
mod tests;
