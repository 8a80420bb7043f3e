//! The offline check: the same rules, without an API server.

pub(super) mod delivery;

use std::fmt;

use super::{
    ADDON_NAMES, CHANNEL, CREDENTIALS, EITHER_SOURCE, KUBERNETES_VERSION, MAX_ADDONS, MAX_LABEL,
    MAX_VERSIONS, NAME, NAMESPACE, NO_SELF_DEPENDENCY, OBJECT_NAME, ONE_REFERENCE, PATH, PATH_OF_REFERENCE,
    PROVIDER, PROVIDER_REFERENCE, REVISION_HISTORY, Rule, SECRET_KEY, SECRET_NAME, UPSTREAM, URL, VERSIONS,
    VERSIONS_OF_CHANNEL,
};
use crate::api::git_commit::LocalReference;
use crate::api::{
    ClusterStack, ClusterStackSpec, FluxSettings, GitReference, GitSource, KubeConfig, StackSource,
};
use crate::names::credentials::has_credentials;
use crate::names::{AddonName, CUSTOM, Namespace, ObjectName, STABLE};

/// A rule that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The field that the rule is at, such as `spec.provider`.
    pub field: String,
    /// The rule, in words.
    pub message: &'static str,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

impl ClusterStack {
    /// All rules that the object breaks, in the order of its fields. The API server refuses the object for the same rules.
    #[must_use]
    pub fn validate(&self) -> Vec<Violation> {
        let mut violations = Violations::default();
        violations.spec(&self.spec);
        violations.0
    }
}

impl StackSource {
    /// All rules that the source breaks, with the fields that a `ClusterStack` has for them.
    #[must_use]
    pub fn validate(&self) -> Vec<Violation> {
        let mut violations = Violations::default();
        violations.source(self);
        violations.0
    }
}

#[derive(Default)]
struct Violations(Vec<Violation>);

impl Violations {
    fn check(&mut self, holds: bool, field: &str, rule: Rule) {
        if !holds {
            self.0.push(Violation { field: field.to_owned(), message: rule.message });
        }
    }

    fn spec(&mut self, spec: &ClusterStackSpec) {
        self.check(is_word(&spec.provider), "spec.provider", PROVIDER);
        self.check(is_word(&spec.name), "spec.name", NAME);
        self.check(is_minor_version(&spec.kubernetes_version), "spec.kubernetesVersion", KUBERNETES_VERSION);
        self.check(is_word(&spec.channel), "spec.channel", CHANNEL);
        let versions =
            spec.versions.len() <= MAX_VERSIONS && spec.versions.iter().all(|text| is_version(text));
        self.check(versions, "spec.versions", VERSIONS);
        self.check(versions_are_of_channel(spec), "spec", VERSIONS_OF_CHANNEL);
        self.check(spec.no_provider || spec.provider_ref.is_some(), "spec", PROVIDER_REFERENCE);
        if let Some(source) = &spec.source {
            self.source(source);
        }
        self.flux(&spec.flux);
        self.delivery(&spec.delivery);
        self.check(spec.revision_history_limit <= 1000, "spec.revisionHistoryLimit", REVISION_HISTORY);
    }

    fn source(&mut self, source: &StackSource) {
        self.check(source.git.is_some() != source.git_repository_ref.is_some(), "spec.source", EITHER_SOURCE);
        let path_belongs = source.path.is_none() || source.git_repository_ref.is_some();
        self.check(path_belongs, "spec.source", PATH_OF_REFERENCE);
        self.check(has_target(source), "spec.source", UPSTREAM);
        if let Some(path) = &source.path {
            self.check(is_inside(path), "spec.source.path", PATH);
        }
        if let Some(upstream) = &source.upstream {
            self.upstream(upstream);
        }
        if let Some(git) = &source.git {
            self.git(git);
        }
        if let Some(reference) = &source.git_repository_ref {
            self.object_name(&reference.name, "spec.source.gitRepositoryRef.name");
            let namespace = reference.namespace.as_ref().is_none_or(|name| name.parse::<Namespace>().is_ok());
            self.check(namespace, "spec.source.gitRepositoryRef.namespace", NAMESPACE);
        }
    }

    fn git(&mut self, git: &GitSource) {
        self.check(is_url(&git.url), "spec.source.git.url", URL);
        self.check(!has_credentials(&git.url), "spec.source.git.url", CREDENTIALS);
        if let Some(reference) = &git.reference {
            let fields =
                [&reference.branch, &reference.tag, &reference.commit, &reference.semver, &reference.name];
            let given = fields.iter().filter(|field| field.is_some()).count();
            self.check(given <= 1, "spec.source.git.ref", ONE_REFERENCE);
        }
        self.check(is_inside(&git.path), "spec.source.git.path", PATH);
        let verified = git.verify.as_ref().map(|verify| &verify.secret_ref);
        for (reference, field) in [
            (git.secret_ref.as_ref(), "secretRef"),
            (verified, "verify.secretRef"),
            (git.proxy_secret_ref.as_ref(), "proxySecretRef"),
        ] {
            if let Some(LocalReference { name }) = reference {
                self.object_name(name, &format!("spec.source.git.{field}.name"));
            }
        }
    }

    fn flux(&mut self, flux: &FluxSettings) {
        let KubeConfig { secret_name, key } = &flux.kube_config;
        self.check(is_secret_name(secret_name), "spec.flux.kubeConfig.secretName", SECRET_NAME);
        self.check(is_secret_key(key), "spec.flux.kubeConfig.key", SECRET_KEY);
        if let Some(name) = &flux.service_account_name {
            self.object_name(name, "spec.flux.serviceAccountName");
        }
        let is_addon = |name: &String| name.parse::<AddonName>().is_ok();
        let names = flux.addons.len() <= MAX_ADDONS && flux.addons.keys().all(is_addon);
        self.check(names, "spec.flux.addons", ADDON_NAMES);
        let itself = flux.addons.iter().any(|(name, addon)| addon.depends_on.contains(name));
        self.check(!itself, "spec.flux.addons", NO_SELF_DEPENDENCY);
        for (name, addon) in &flux.addons {
            let others = addon.depends_on.len() <= MAX_ADDONS && addon.depends_on.iter().all(is_addon);
            self.check(others, &format!("spec.flux.addons[{name}].dependsOn"), ADDON_NAMES);
        }
    }

    fn object_name(&mut self, name: &str, field: &str) {
        self.check(name.parse::<ObjectName>().is_ok(), field, OBJECT_NAME);
    }
}

pub(super) fn is_word(text: &str) -> bool {
    (1..=MAX_LABEL).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

/// A number of at most `digits` digits, without leading zeros.
fn is_number(text: &str, digits: usize) -> bool {
    (1..=digits).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && (text == "0" || !text.starts_with('0'))
}

pub(super) fn is_minor_version(text: &str) -> bool {
    text.split_once('.').is_some_and(|(major, minor)| is_number(major, 6) && is_number(minor, 6))
}

pub(super) fn is_version(text: &str) -> bool {
    let Some(version) = text.strip_prefix('v').filter(|_| text.len() <= MAX_LABEL) else { return false };
    match version.split_once('-') {
        None => is_number(version, 18),
        Some((number, rest)) => {
            let words =
                rest.split_once('.').is_some_and(|(channel, patch)| is_word(channel) && is_word(patch));
            is_number(number, 18) && words
        }
    }
}

fn versions_are_of_channel(spec: &ClusterStackSpec) -> bool {
    let infix = format!("-{}.", spec.channel);
    spec.versions.iter().all(|version| match spec.channel.as_str() {
        STABLE => !version.contains('-'),
        CUSTOM => version.contains('-') && !version.contains("-stable."),
        _ => version.contains(&infix),
    })
}

/// Whether the releases that are published from upstream have a branch to be pushed to.
fn has_target(source: &StackSource) -> bool {
    let has_branch = |git: &GitSource| {
        let others = |of: &GitReference| [&of.tag, &of.commit, &of.semver, &of.name].map(Option::is_some);
        git.reference.as_ref().is_none_or(|of| others(of) == [false; 4])
    };
    source.upstream.is_none() || source.git.as_ref().is_some_and(has_branch)
}

fn is_inside(path: &str) -> bool {
    !path.is_empty()
        && path.chars().count() <= 256
        && !path.starts_with('/')
        && path.split('/').all(|part| part != "..")
}

pub(super) fn is_url(text: &str) -> bool {
    delivery::begins_with_one_of(text, &["http://", "https://", "ssh://"])
}

pub(super) fn is_secret_name(template: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    template.len() <= 253
        && template
            .split_once(KubeConfig::CLUSTER)
            .is_some_and(|(before, after)| before.bytes().chain(after.bytes()).all(allowed))
}

pub(super) fn is_secret_key(key: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    (1..=253).contains(&key.len()) && key.bytes().all(allowed)
}
