//! The offline check: the same rules, without an API server.

mod addons;
mod platform;

use std::fmt;

use super::{
    ADDON_NAMES, AUTHOR, BRANCH, BUILTIN_SECRET, CERTIFICATES_OF_OCI, CHANNEL, COMPONENT_URL, CREDENTIALS,
    EITHER_SOURCE, GIT_DELIVERY, HTTP_URL, INSECURE, KUBERNETES_VERSION, MAX_ADDONS, MAX_CREDENTIALS,
    MAX_LABEL, MAX_PATH, MAX_PATHS, MAX_VERSIONS, NAME, NAMESPACE, NO_SELF_DEPENDENCY, OBJECT_NAME,
    ONE_REFERENCE, PATH, PATH_OF_REFERENCE, PROVIDER, PROVIDER_OF_ADDRESS, PROVIDER_REFERENCE, PUSH,
    REVISION_HISTORY, Rule, SECRET_KEY, SECRET_NAME, UPSTREAM, UPSTREAM_URL, URL, VALUE_PATHS, VERIFY_GIT,
    VERIFY_OCI, VERSIONS, VERSIONS_OF_CHANNEL,
};
use crate::api::components::{
    ComponentCredentials, ComponentProvider, ComponentSettings, ComponentSignatures, ComponentVerification,
};
use crate::api::git_commit::{GitCommit, LocalReference};
use crate::api::{
    ClusterAddonOverride, ClusterStack, ClusterStackSpec, Delivery, DeliveryMode, FluxSettings, GitDelivery,
    GitReference, GitSource, KubeConfig, StackSource, Upstream,
};
use crate::names::credentials::has_credentials;
use crate::names::{AddonName, CUSTOM, Namespace, ObjectName, STABLE};

/// Maximum length of a URL, in characters.
const MAX_URL: usize = 2048;

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
    /// Lists all rules that the object breaks, in the order of its fields. The API server refuses the object for the same
    /// rules.
    #[must_use]
    pub fn validate(&self) -> Vec<Violation> {
        let mut violations = Violations::default();
        violations.spec(&self.spec);
        violations.0
    }
}

impl ClusterAddonOverride {
    /// Lists all rules that the object breaks. The API server refuses the object for the same rules.
    #[must_use]
    pub fn validate(&self) -> Vec<Violation> {
        let mut violations = Violations::default();
        let names = &self.spec.addons;
        let are_names =
            names.len() <= MAX_ADDONS && names.keys().all(|name| name.parse::<AddonName>().is_ok());
        violations.check(are_names, "spec.addons", ADDON_NAMES);
        violations.0
    }
}

impl StackSource {
    /// Lists all rules that the source breaks, with the fields that a `ClusterStack` has for them.
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
        self.check(PROVIDER.fits(&spec.provider, MAX_LABEL), "spec.provider", PROVIDER);
        self.check(NAME.fits(&spec.name, MAX_LABEL), "spec.name", NAME);
        let is_minor = KUBERNETES_VERSION.fits(&spec.kubernetes_version, 15);
        self.check(is_minor, "spec.kubernetesVersion", KUBERNETES_VERSION);
        self.check(CHANNEL.fits(&spec.channel, MAX_LABEL), "spec.channel", CHANNEL);
        let are_versions = spec.versions.iter().all(|text| VERSIONS.fits(text, MAX_LABEL));
        self.check(spec.versions.len() <= MAX_VERSIONS && are_versions, "spec.versions", VERSIONS);
        self.check(versions_are_of_channel(spec), "spec", VERSIONS_OF_CHANNEL);
        self.check(spec.no_provider || spec.provider_ref.is_some(), "spec", PROVIDER_REFERENCE);
        if let Some(source) = &spec.source {
            self.source(source);
        }
        self.flux(&spec.flux);
        self.components(&spec.components);
        self.delivery(&spec.delivery);
        self.check(spec.revision_history_limit <= 1000, "spec.revisionHistoryLimit", REVISION_HISTORY);
    }

    fn source(&mut self, source: &StackSource) {
        let is_either = source.git.is_some() != source.git_repository_ref.is_some();
        self.check(is_either || source.is_builtin(), "spec.source", EITHER_SOURCE);
        let path_belongs = source.path.is_none() || source.git_repository_ref.is_some();
        self.check(path_belongs, "spec.source", PATH_OF_REFERENCE);
        self.check(has_target(source), "spec.source", UPSTREAM);
        let pushes =
            |upstream: &Upstream| upstream.push_secret_ref.is_some() || upstream.commit.signing_key.is_some();
        let is_pushed = source.git.is_some() || !source.upstream.as_ref().is_some_and(pushes);
        self.check(is_pushed, "spec.source", PUSH);
        let is_served = source.git.is_none() && source.git_repository_ref.is_none();
        self.check(source.secret_ref.is_none() || is_served, "spec.source", BUILTIN_SECRET);
        self.secret(source.secret_ref.as_ref(), "spec.source.secretRef");
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
        self.url(&git.url, "spec.source.git.url");
        if let Some(reference) = &git.reference {
            let fields =
                [&reference.branch, &reference.tag, &reference.commit, &reference.semver, &reference.name];
            let given = fields.iter().filter(|field| field.is_some()).count();
            self.check(given <= 1, "spec.source.git.ref", ONE_REFERENCE);
        }
        self.check(is_inside(&git.path), "spec.source.git.path", PATH);
        let verified = git.verify.as_ref().map(|verify| &verify.secret_ref);
        self.secret(git.secret_ref.as_ref(), "spec.source.git.secretRef");
        self.secret(verified, "spec.source.git.verify.secretRef");
        self.secret(git.proxy_secret_ref.as_ref(), "spec.source.git.proxySecretRef");
    }

    fn flux(&mut self, flux: &FluxSettings) {
        let KubeConfig { secret_name, key } = &flux.kube_config;
        self.check(SECRET_NAME.fits(secret_name, 253), "spec.flux.kubeConfig.secretName", SECRET_NAME);
        self.check(SECRET_KEY.fits(key, 253), "spec.flux.kubeConfig.key", SECRET_KEY);
        if let Some(name) = &flux.service_account_name {
            self.object_name(name, "spec.flux.serviceAccountName");
        }
        let is_addon = |name: &String| name.parse::<AddonName>().is_ok();
        let names = flux.addons.len() <= MAX_ADDONS && flux.addons.keys().all(is_addon);
        self.check(names, "spec.flux.addons", ADDON_NAMES);
        let itself = flux.addons.iter().any(|(name, addon)| addon.depends_on.contains(name));
        self.check(!itself, "spec.flux.addons", NO_SELF_DEPENDENCY);
        for (name, addon) in &flux.addons {
            self.addon(addon, &format!("spec.flux.addons[{name}]"));
            let paths = &addon.overridable.values;
            let are_paths =
                paths.len() <= MAX_PATHS && paths.iter().all(|path| VALUE_PATHS.fits(path, MAX_PATH));
            self.check(are_paths, &format!("spec.flux.addons[{name}].overridable.values"), VALUE_PATHS);
        }
    }

    fn components(&mut self, settings: &ComponentSettings) {
        let counts = [settings.credentials.len(), settings.verify.len()];
        let are_few = counts.into_iter().all(|count| count <= MAX_CREDENTIALS);
        self.check(are_few, "spec.components", COMPONENT_URL);
        self.repositories(&settings.repositories);
        for (at, entry) in settings.credentials.iter().enumerate() {
            self.credentials(entry, &format!("spec.components.credentials[{at}]"));
        }
        for (at, entry) in settings.verify.iter().enumerate() {
            self.verification(entry, &format!("spec.components.verify[{at}]"));
        }
    }

    fn credentials(&mut self, entry: &ComponentCredentials, field: &str) {
        let (url, is_oci) = (&entry.url, entry.url.starts_with("oci://"));
        self.check(entry.cert_secret_ref.is_none() || is_oci, field, CERTIFICATES_OF_OCI);
        let has_plain = is_oci || url.starts_with("http://");
        self.check(!entry.insecure || has_plain, field, INSECURE);
        let refused = if is_oci { ComponentProvider::Github } else { ComponentProvider::Gcp };
        self.check(entry.provider != Some(refused), field, PROVIDER_OF_ADDRESS);
        self.check(COMPONENT_URL.fits(url, MAX_URL), &format!("{field}.url"), COMPONENT_URL);
        self.secret(entry.secret_ref.as_ref(), &format!("{field}.secretRef"));
        self.secret(entry.cert_secret_ref.as_ref(), &format!("{field}.certSecretRef"));
        self.secret(entry.proxy_secret_ref.as_ref(), &format!("{field}.proxySecretRef"));
    }

    fn verification(&mut self, entry: &ComponentVerification, field: &str) {
        let (url, has_secret) = (&entry.url, entry.secret_ref.is_some());
        let has_identity = !entry.match_oidc_identity.is_empty();
        let is_keyless = has_identity && entry.provider != Some(ComponentSignatures::Notation);
        if url.starts_with("oci://") {
            self.check(has_secret || is_keyless, field, VERIFY_OCI);
        } else {
            self.check(has_secret && entry.provider.is_none() && !has_identity, field, VERIFY_GIT);
        }
        self.check(COMPONENT_URL.fits(url, MAX_URL), &format!("{field}.url"), COMPONENT_URL);
        self.secret(entry.secret_ref.as_ref(), &format!("{field}.secretRef"));
    }

    fn delivery(&mut self, delivery: &Delivery) {
        let has_target = delivery.mode != DeliveryMode::Git || delivery.git.is_some();
        self.check(has_target, "spec.delivery", GIT_DELIVERY);
        if let Some(git) = &delivery.git {
            self.git_delivery(git);
        }
    }

    fn git_delivery(&mut self, git: &GitDelivery) {
        self.url(&git.url, "spec.delivery.git.url");
        self.check(is_branch(&git.branch), "spec.delivery.git.branch", BRANCH);
        self.check(is_inside(&git.path), "spec.delivery.git.path", PATH);
        self.secret(git.secret_ref.as_ref(), "spec.delivery.git.secretRef");
        self.commit(&git.commit, "spec.delivery.git.commit");
        if let Some(pull_request) = &git.pull_request {
            let is_api = pull_request.api.as_deref().is_none_or(|api| HTTP_URL.fits(api, MAX_URL));
            self.check(is_api, "spec.delivery.git.pullRequest.api", HTTP_URL);
            let is_plain = !pull_request.api.as_deref().is_some_and(has_credentials);
            self.check(is_plain, "spec.delivery.git.pullRequest.api", CREDENTIALS);
            self.secret(Some(&pull_request.secret_ref), "spec.delivery.git.pullRequest.secretRef");
        }
    }

    fn upstream(&mut self, upstream: &Upstream) {
        self.check(UPSTREAM_URL.fits(&upstream.url, MAX_URL), "spec.source.upstream.url", UPSTREAM_URL);
        let verified = upstream.verify.as_ref().map(|verify| &verify.secret_ref);
        self.secret(upstream.secret_ref.as_ref(), "spec.source.upstream.secretRef");
        self.secret(upstream.cert_secret_ref.as_ref(), "spec.source.upstream.certSecretRef");
        self.secret(verified, "spec.source.upstream.verify.secretRef");
        self.secret(upstream.push_secret_ref.as_ref(), "spec.source.upstream.pushSecretRef");
        self.commit(&upstream.commit, "spec.source.upstream.commit");
    }

    fn commit(&mut self, commit: &GitCommit, field: &str) {
        for (text, part) in [(&commit.author.name, "name"), (&commit.author.email, "email")] {
            self.check(AUTHOR.fits(text, 255), &format!("{field}.author.{part}"), AUTHOR);
        }
        let key = commit.signing_key.as_ref().map(|key| &key.secret_ref);
        self.secret(key, &format!("{field}.signingKey.secretRef"));
    }

    fn secret(&mut self, reference: Option<&LocalReference>, field: &str) {
        if let Some(LocalReference { name }) = reference {
            self.object_name(name, &format!("{field}.name"));
        }
    }

    fn url(&mut self, url: &str, field: &str) {
        self.check(URL.fits(url, MAX_URL), field, URL);
        self.check(!has_credentials(url), field, CREDENTIALS);
    }

    fn object_name(&mut self, name: &str, field: &str) {
        self.check(name.parse::<ObjectName>().is_ok(), field, OBJECT_NAME);
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
    let is_target = source.git_repository_ref.is_none() && source.git.as_ref().is_none_or(has_branch);
    source.upstream.is_none() || is_target
}

fn is_inside(path: &str) -> bool {
    !path.is_empty()
        && path.chars().count() <= 256
        && !path.starts_with('/')
        && path.split('/').all(|part| part != "..")
}

pub(super) fn is_branch(text: &str) -> bool {
    BRANCH.fits(text, 255)
        && ["..", "//", "/."].iter().all(|part| !text.contains(part))
        && text.rsplit_once('.').is_none_or(|(_, last)| last != "lock")
}
