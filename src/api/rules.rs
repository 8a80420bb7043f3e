//! The rules for a `ClusterStack`, each as CEL for the API server and as a check for offline use.
//!
//! A rule's message is the same in both. Rules about a change (immutable fields) exist as CEL only: offline there is no
//! older object to compare with. A text that its type cannot hold (an unknown word of an enumeration, a malformed
//! duration) is refused when it is read.

mod check;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

pub use check::Violation;

/// Maximum number of versions that a `ClusterStack` lists.
pub(super) const MAX_VERSIONS: usize = 256;

/// Maximum number of addons with settings in a `ClusterStack`.
pub(super) const MAX_ADDONS: usize = 64;

/// Maximum number of entries of credentials, and of verifications, for components.
pub(super) const MAX_CREDENTIALS: usize = 64;

/// Maximum number of repositories of a `ClusterStack`, and of components in one.
pub(super) const MAX_REPOSITORIES: usize = 32;
pub(super) const MAX_COMPONENTS: usize = 32;

/// Maximum number of addons that a component waits for. The API server limits the costs of rules in lists of lists.
pub(super) const MAX_NEEDED: usize = 16;

/// Maximum number of references to values of an addon, of its post-renderers, and of patches and images in one.
pub(super) const MAX_VALUES_FROM: usize = 16;
pub(super) const MAX_POST_RENDERERS: usize = 8;
pub(super) const MAX_PATCHES: usize = 32;

/// Maximum length of a patch, in characters.
pub(super) const MAX_PATCH: usize = 16_384;

/// Maximum number of paths of values that an addon lets the owner of a cluster set, and the length of one.
pub(super) const MAX_PATHS: usize = 32;
pub(super) const MAX_PATH: usize = 253;

/// Maximum length of an inline template, in characters.
pub(super) const MAX_TEMPLATE: usize = 65_536;

/// Maximum length of the description, and of the homepage, of a component, in characters.
pub(super) const MAX_DESCRIPTION: usize = 1024;
pub(super) const MAX_HOMEPAGE: usize = 512;

/// Maximum length of a DNS label, of a word of a release's name, and of a version.
const MAX_LABEL: usize = 63;

/// A rule as the API server has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    /// The CEL expression over `self`, the value of the field that the rule is at.
    cel: &'static str,
    /// The message for the user if the rule does not hold.
    message: &'static str,
}

/// The regular expressions that the offline check takes from the CEL of rules, by that CEL.
static PATTERNS: LazyLock<BTreeMap<&str, Regex>> = LazyLock::new(|| {
    let rules = [
        PROVIDER,
        KUBERNETES_VERSION,
        VERSIONS,
        URL,
        UPSTREAM_URL,
        BRANCH,
        AUTHOR,
        HTTP_URL,
        SECRET_NAME,
        SECRET_KEY,
        NAME_FOR_CLUSTER,
        TARGET_PATH,
        COMPONENT_URL,
        GIT_COMPONENT,
        OCI_COMPONENT,
        COMMIT,
        MANIFEST_DIGEST,
        VALUE_PATHS,
    ];
    rules.into_iter().filter_map(|rule| Some((rule.cel, rule.pattern()?))).collect()
});

impl Rule {
    /// Returns the regular expression in the rule, if it has one. CEL escapes backslashes.
    fn pattern(self) -> Option<Regex> {
        let (_, quoted) = self.cel.split_once("matches('")?;
        let (quoted, _) = quoted.split_once("')")?;
        Regex::new(&quoted.replace(r"\\", r"\")).ok()
    }

    /// Reports whether a text of at most `longest` characters matches the regular expression in the rule.
    fn fits(self, text: &str, longest: usize) -> bool {
        text.chars().count() <= longest
            && PATTERNS.get(self.cel).is_some_and(|pattern| pattern.is_match(text))
    }
}

impl From<Rule> for kube::core::Rule {
    fn from(rule: Rule) -> Self {
        Self::new(rule.cel).message(rule.message)
    }
}

macro_rules! rules {
    ($($name:ident: $cel:literal, $message:literal;)*) => {
        $(pub(super) const $name: Rule = Rule { cel: $cel, message: $message };)*
    };
}

/// The limits of a schema on numbers of items and lengths of texts. The API server has words of its own for them.
const LIMITS: Rule =
    Rule { cel: "", message: "has more items, or a longer text, than the API server admits" };

rules! {
    PROVIDER: "self.matches('^[a-z0-9]+$')",
        "provider must be a lower-case word of letters and digits, without '-': names of releases are split at '-'";
    PROVIDER_IMMUTABLE: "self == oldSelf", "provider cannot be changed: create another ClusterStack";
    NAME: "self.matches('^[a-z0-9]+$')",
        "name must be a lower-case word of letters and digits, without '-': names of releases are split at '-'";
    NAME_IMMUTABLE: "self == oldSelf", "name cannot be changed: create another ClusterStack";
    KUBERNETES_VERSION: r"self.matches('^(0|[1-9][0-9]{0,5})\\.(0|[1-9][0-9]{0,5})$')",
        "kubernetesVersion must be <major>.<minor>, such as \"1.34\"";
    KUBERNETES_VERSION_IMMUTABLE: "self == oldSelf",
        "kubernetesVersion cannot be changed: create another ClusterStack";
    CHANNEL: "self.matches('^[a-z0-9]+$')", "channel must be a lower-case word, such as stable or beta";
    CHANNEL_IMMUTABLE: "self == oldSelf", "channel cannot be changed: create another ClusterStack";
    VERSIONS: r"self.all(version, version.matches('^v(0|[1-9][0-9]{0,17})(-[a-z0-9]+\\.[a-z0-9]+)?$'))",
        "a version must be v<number>, such as v2, or v<number>-<channel>.<patch>, such as v0-beta.1";
    VERSIONS_OF_CHANNEL: "!has(self.versions) || self.versions.all(version, self.channel == 'stable' ? \
        !version.contains('-') : self.channel == 'custom' ? version.contains('-') && !version.contains('-stable.') : \
        version.contains('-' + self.channel + '.'))",
        "versions must belong to the channel: v<number> in stable, v<number>-<word>.<patch> with any word but stable \
        in custom, v<number>-<channel>.<patch> in any other";
    PROVIDER_REFERENCE: "self.noProvider || has(self.providerRef)",
        "providerRef is required unless noProvider is true";
    REVISION_HISTORY: "self >= 0 && self <= 1000", "revisionHistoryLimit must be between 0 and 1000";
    EITHER_SOURCE: "has(self.git) != has(self.gitRepositoryRef) || (!has(self.git) && has(self.upstream))",
        "source must have either git or gitRepositoryRef, or only upstream: then the operator serves the stack repository";
    PATH_OF_REFERENCE: "!has(self.path) || has(self.gitRepositoryRef)",
        "source.path requires source.gitRepositoryRef; with source.git, set source.git.path";
    PATH: "self != '' && !self.startsWith('/') && !self.split('/').exists(part, part == '..')",
        "a path must be relative to the root of the repository and stay inside the repository";
    URL: "self.matches('^(http|https|ssh)://.')", "url must begin with https://, http:// or ssh://";
    CREDENTIALS: "self.matches('^(ssh://([^@:/?#]+@)?)?[^@?#]*$')",
        "url must not contain credentials, which belong in a Secret, and no query (?) or fragment (#); ssh:// may name \
        a user, and '@' in a path is written as %40";
    COMPONENT_URL: "self.matches('^((https|http|oci)://[^/@?#]+(/[^@?#]*)?|ssh://([^@/:?#]+@)?[^/@?#]+(/[^@?#]*)?)$')",
        "url must be the beginning of addresses: https://, ssh://, oci:// or http:// and a host, without credentials";
    CERTIFICATES_OF_OCI: "!has(self.certSecretRef) || self.url.startsWith('oci://')",
        "certSecretRef is for oci:// addresses: for Git, put ca.crt into the Secret of secretRef";
    INSECURE: "!has(self.insecure) || !self.insecure || self.url.startsWith('http://') || \
        self.url.startsWith('oci://')",
        "insecure is for http:// and oci:// addresses";
    PROVIDER_OF_ADDRESS: "!has(self.provider) || (self.url.startsWith('oci://') ? self.provider != 'github' : \
        self.provider != 'gcp')",
        "provider github is for Git, and provider gcp for oci:// addresses";
    VERIFY_GIT: "self.url.startsWith('oci://') || (has(self.secretRef) && !has(self.provider) && \
        !has(self.matchOIDCIdentity))",
        "a Git address is verified by secretRef alone: provider and matchOIDCIdentity are for oci:// addresses";
    VERIFY_OCI: "!self.url.startsWith('oci://') || has(self.secretRef) || (has(self.matchOIDCIdentity) && \
        (!has(self.provider) || self.provider == 'cosign'))",
        "an oci:// address is verified by secretRef, or by matchOIDCIdentity with cosign";
    EITHER_REPOSITORY: "has(self.git) != has(self.oci)", "a repository must have either git or oci";
    OCI_CHART: "!has(self.oci) || self.components.all(component, !has(component.chart) || component.chart == '.')",
        "the chart of an OCI repository is the whole of it: write chart: .";
    EXACT_HOOK: "self.components.all(component, !has(component.hook) || (has(self.git) ? has(self.git.ref) && \
        has(self.git.ref.commit) : has(self.oci) && has(self.oci.digest)))",
        "hook requires a commit or a digest: an upgrade of Kubernetes cannot wait for content that can change";
    GIT_COMPONENT: "self.matches('^((https|http)://[^/@?#%]+(/[^@?#%]*)?|ssh://([^@/:?#%]+@)?[^/@?#%]+(/[^@?#%]*)?)$')",
        "url must be https://, ssh:// or http:// and a host, without credentials, query or '%'";
    OCI_COMPONENT: "self.matches('^oci://[^/@?#%]+(/[^@?#%:]*)?$')",
        "url must be oci:// and a host, without credentials, tag, digest or '%'";
    COMMIT: "self.matches('^([0-9a-f]{40}|[0-9a-f]{64})$')", "a commit must be 40 or 64 hexadecimal digits";
    MANIFEST_DIGEST: "self.matches('^sha256:[0-9a-f]{64}$')",
        "a digest must be sha256: and 64 hexadecimal digits in lower case";
    COMPONENT_REFERENCE: "[has(self.tag), has(self.semver), has(self.name), has(self.commit)].filter(given, given).size() \
        <= (has(self.branch) && !has(self.commit) ? 0 : 1)",
        "ref must have one of branch, tag, semver, name and commit; a branch may stand beside a commit";
    OCI_REFERENCE: "[has(self.digest), has(self.tag), has(self.semver)].filter(given, given).size() <= 1",
        "a repository must have at most one of digest, tag and semver";
    EITHER_CONTENT: "has(self.chart) != has(self.manifests)", "a component must have either chart or manifests";
    CHART_ALONE: "has(self.chart) || !(has(self.template) || has(self.values) || has(self.dependsOn) || \
        has(self.targetNamespace) || has(self.createNamespace) || has(self.schema))",
        "template, values, schema, dependsOn, targetNamespace and createNamespace are for charts";
    HOMEPAGE: "self.matches('^https?://.')", "homepage must begin with https:// or http://";
    SUBSTITUTE_ALONE: "has(self.manifests) || !has(self.substitute)", "substitute is for manifests";
    REPLACES_ALL: "!has(self.replaces) || !self.replaces || !has(self.clusterSelector)",
        "replaces has no clusterSelector: a component takes the place of an addon in all Clusters";
    OPTIONAL_ALONE: "!has(self.optional) || !self.optional || !has(self.replaces) || !self.replaces",
        "an optional component does not replace an addon, which Clusters would lose";
    ADDON_NAME: "self.matches('^[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?$')",
        "the name of an addon must consist of lower-case letters, digits and '-', at most 53";
    UPSTREAM: "!has(self.upstream) || (!has(self.gitRepositoryRef) && (!has(self.git) || !has(self.git.ref) || \
        !(has(self.git.ref.tag) || has(self.git.ref.commit) || has(self.git.ref.semver) || has(self.git.ref.name))))",
        "source.upstream excludes source.gitRepositoryRef, and beside it source.git.ref may name only a branch";
    PUSH: "has(self.git) || !has(self.upstream) || !(has(self.upstream.pushSecretRef) || (has(self.upstream.commit) && \
        has(self.upstream.commit.signingKey)))",
        "source.upstream.pushSecretRef and source.upstream.commit.signingKey require source.git";
    BUILTIN_SECRET: "!has(self.secretRef) || !(has(self.git) || has(self.gitRepositoryRef))",
        "source.secretRef is for the stack repository that the operator serves; with source.git, set source.git.secretRef";
    UPSTREAM_URL: "self.matches('^(oci://[^/@]+/[^:@]+|github://[^@]+)$')",
        "url must be oci://<host>/<repository> or github://<owner>/<repository>, without tag, release or digest";
    GIT_DELIVERY: "!has(self.mode) || self.mode != 'Git' || has(self.git)",
        "delivery.git is required if delivery.mode is Git";
    BRANCH: "self.matches('^[A-Za-z0-9_]([-A-Za-z0-9_./]*[-A-Za-z0-9_])?$') && !self.contains('..') && \
        !self.contains('//') && !self.contains('/.') && !self.endsWith('.lock')",
        "a branch must be a valid Git branch name of letters, digits, '-', '_', '.' and '/'";
    AUTHOR: r"self.matches('^[^<>\\n\\r]+$')",
        "an author's name and address must not be empty or contain '<', '>' or a line break";
    HTTP_URL: "self.matches('^https?://.')", "api must begin with https:// or http://";
    ONE_REFERENCE: "[has(self.branch), has(self.tag), has(self.commit), has(self.semver), has(self.name)]\
        .filter(given, given).size() <= 1",
        "ref must have at most one of branch, tag, commit, semver and name";
    PIN_IMMUTABLE: "!has(oldSelf.spec.source) || (has(self.spec.source) && (self.spec.source == oldSelf.spec.source || \
        (has(oldSelf.status) && has(oldSelf.status.source) && \
        self.spec.source.revision == oldSelf.status.source.revision && \
        self.spec.source.digest == oldSelf.status.source.digest && \
        self.spec.source.path == oldSelf.status.source.path)))",
        "spec.source cannot be changed: a release stays at the content that it was first read with";
    OBJECT_NAME: r"self.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$')",
        "the name of an object must consist of lower-case letters, digits, '-' and '.'";
    NAMESPACE: "self.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",
        "a namespace must consist of lower-case letters, digits and '-'";
    SECRET_NAME: r"self.matches('^[-.a-z0-9]*\\{cluster\\}[-.a-z0-9]*$')",
        "secretName must contain {cluster} once, and otherwise only lower-case letters, digits, '-' and '.'";
    SECRET_KEY: r"self.matches('^[-._a-zA-Z0-9]+$')", "a key must consist of letters, digits, '-', '_' and '.'";
    NAME_FOR_CLUSTER: r"self.matches('^([-.a-z0-9]+|[-.a-z0-9]*\\{cluster\\}[-.a-z0-9]*)$')",
        "the name of a Secret or ConfigMap must consist of lower-case letters, digits, '-' and '.', and may contain \
        {cluster} once";
    TARGET_PATH: r"self.matches('^([-a-zA-Z0-9_/]|\\\\\\.)+(\\[[0-9]{1,5}\\])*(\\.([-a-zA-Z0-9_/]|\\\\\\.)+(\\[[0-9]{1,5}\\])*)*$')",
        "targetPath must be a path as in helm --set: keys of letters, digits, '-', '_', '/' and '\\.' for a dot, none of them \
        empty, with '.' between them, and [<number>] after a key for an item of a list";
    ADDON_NAMES: "self.all(name, name.matches('^[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?$'))",
        "the name of an addon must consist of lower-case letters, digits and '-', at most 53";
    VALUE_PATHS: r"self.all(path, path.matches('^(\\*|([^.\\\\\\[\\]*]|\\\\.)+(\\.([^.\\\\\\[\\]*]|\\\\.)+)*)$'))",
        "a path of values must be *, or keys with dots between them, without items of lists and without * below a key; within a \
        key, a backslash is before each of . * [ ] and \\";
    NO_SELF_DEPENDENCY: "self.all(name, !has(self[name].dependsOn) || !(name in self[name].dependsOn))",
        "an addon must not depend on itself";
}

#[cfg(test)]
mod tests;
