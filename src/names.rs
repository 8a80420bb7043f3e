//! Names of releases, classes, addons and objects, checked once and then trusted.
//!
//! The grammar of release names is SCS's: `<provider>-<stack>-<major>-<minor>-<version>`, where the version is
//! `v<int>` or `v<int>-<channel>-<patch>`. A `ClusterClass` has the same name with a dot before the patch.
//! Kubernetes' names are RFC 1123 labels and subdomains; Flux puts names into labels, so 63 characters is the limit.

pub mod credentials;
mod key;
mod word;

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

pub use key::Key;
pub(crate) use word::words;

/// The longest name that Flux can put into a label.
pub const MAX_OBJECT_NAME: usize = 63;

/// The longest name of a Helm release (`chart/common/util` of Helm; the `releaseName` of a `HelmRelease`).
const MAX_HELM_NAME: usize = 53;

/// The channel of versions without a suffix.
pub const STABLE: &str = "stable";

/// The channel of a `ClusterStack` that offers versions with any suffix, such as the content hashes of test builds.
pub const CUSTOM: &str = "custom";

/// The reason why a name was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Not `<provider>-<stack>-<major>-<minor>-<version>`.
    #[error(
        "{name:?} is not a release name: {why}; expected <provider>-<stack>-<major>-<minor>-v<int>[-<channel>-<patch>]"
    )]
    Release {
        /// The text that was read.
        name: String,
        /// The part that does not fit.
        why: &'static str,
    },
    /// Not `v<major>.<minor>.<patch>`.
    #[error("{0:?} is not a Kubernetes version: expected v<major>.<minor>.<patch>, such as v1.34.2")]
    Kubernetes(String),
    /// Not an RFC 1123 label that Helm takes as a release name.
    #[error("{0:?} is not an addon's name: lower-case letters, digits and '-', at most 53 characters")]
    Addon(String),
    /// Not an RFC 1123 label.
    #[error("{0:?} is not a DNS label: lower-case letters, digits and '-', at most 63 characters")]
    Label(String),
    /// Not an RFC 1123 subdomain.
    #[error("{0:?} is not an object name: lower-case letters, digits, '-' and '.', at most 253 characters")]
    Object(String),
    /// Not a Git commit.
    #[error(
        "{0:?} is not a Git commit: expected its 40 (or 64) lower-case hex digits, not a branch, a tag or a short form"
    )]
    Revision(String),
}

/// The version of a release within its channel: `v2`, or `v0-sha-rwvgrna` with a channel and a patch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReleaseVersion {
    number: u64,
    prerelease: Option<(String, String)>,
}

impl ReleaseVersion {
    /// Returns the channel: `stable` if the version names none. Only versions of one channel compare.
    #[must_use]
    pub fn channel(&self) -> &str {
        self.prerelease.as_ref().map_or(STABLE, |(channel, _)| channel)
    }

    /// Whether a `ClusterStack` of this channel may offer the version: `custom` takes every suffix, each other channel its
    /// own.
    #[must_use]
    pub fn is_of_channel(&self, channel: &str) -> bool {
        self.channel() == channel || (channel == CUSTOM && self.prerelease.is_some())
    }

    /// Formats the version with a dot, as class names and chart versions have it: `v0-sha.rwvgrna`.
    #[must_use]
    pub fn dotted(&self) -> String {
        self.prerelease.as_ref().map_or_else(
            || format!("v{}", self.number),
            |(channel, patch)| format!("v{}-{channel}.{patch}", self.number),
        )
    }

    fn parse(parts: &[&str]) -> Result<Self, &'static str> {
        let [number, rest @ ..] = parts else { return Err("the version is missing") };
        let digits = number.strip_prefix('v').ok_or("the version does not begin with v")?;
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err("the version is not v<int>");
        }
        let number = digits.parse().map_err(|_| "the version's number is too large")?;
        let prerelease = match rest {
            [] => None,
            [channel, patch] if is_word(channel) && is_word(patch) && *channel != STABLE => {
                Some(((*channel).to_owned(), (*patch).to_owned()))
            }
            [_, _] => return Err("the channel or the patch is not a lower-case word"),
            _ => return Err("a version has one part, or three with channel and patch"),
        };
        Ok(Self { number, prerelease })
    }
}

impl fmt::Display for ReleaseVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.number)?;
        self.prerelease.as_ref().map_or(Ok(()), |(channel, patch)| write!(f, "-{channel}-{patch}"))
    }
}

/// Orders versions by channel, then by number, then by patch: numerically if both are numbers, otherwise as text, numbers
/// first (so that the order is total even if one channel mixes both).
impl Ord for ReleaseVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        let patch = |version: &Self| version.prerelease.as_ref().map(|(_, patch)| PatchOrder::of(patch));
        self.channel()
            .cmp(other.channel())
            .then_with(|| self.number.cmp(&other.number))
            .then_with(|| patch(self).cmp(&patch(other)))
            .then_with(|| self.prerelease.cmp(&other.prerelease))
    }
}

impl PartialOrd for ReleaseVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum PatchOrder {
    Number(u64),
    Text(String),
}

impl PatchOrder {
    fn of(patch: &str) -> Self {
        patch.parse().map_or_else(|_| Self::Text(patch.to_owned()), Self::Number)
    }
}

/// The name of a release, which is also its OCI tag and its directory: `openstack-scs2-1-34-v2`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReleaseName {
    provider: String,
    stack: String,
    major: u32,
    minor: u32,
    version: ReleaseVersion,
}

impl ReleaseName {
    /// Returns the provider, such as `openstack`.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// Returns the stack, such as `scs2`.
    #[must_use]
    pub fn stack(&self) -> &str {
        &self.stack
    }

    /// Returns the Kubernetes minor version that the release is for, as (major, minor).
    #[must_use]
    pub fn kubernetes_minor(&self) -> (u32, u32) {
        (self.major, self.minor)
    }

    /// Returns the version of the release within the stack.
    #[must_use]
    pub fn version(&self) -> &ReleaseVersion {
        &self.version
    }

    /// Returns `<provider>-<stack>-<major>-<minor>`, which all versions share. Class charts build their objects' names
    /// from it as `.Release.Name`.
    #[must_use]
    pub fn prefix(&self) -> String {
        format!("{}-{}-{}-{}", self.provider, self.stack, self.major, self.minor)
    }

    /// Returns the name of the release's `ClusterClass`: the name of the release with a dot before the patch.
    #[must_use]
    pub fn class_name(&self) -> String {
        format!("{}-{}", self.prefix(), self.version.dotted())
    }

    /// Whether `other` is of the same provider, stack and channel, whatever its Kubernetes version.
    #[must_use]
    pub fn same_line(&self, other: &Self) -> bool {
        (&self.provider, &self.stack, self.version.channel())
            == (&other.provider, &other.stack, other.version.channel())
    }

    /// Parses the name of a `ClusterClass`, and returns its release.
    pub fn from_class_name(class: &str) -> Result<Self, NameError> {
        if class.split('-').count() > 6 {
            let why = "a class name has a dot before the patch, and so at most six parts";
            return Err(NameError::Release { name: class.to_owned(), why });
        }
        class.replace('.', "-").parse()
    }
}

impl FromStr for ReleaseName {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        let refuse = |why| NameError::Release { name: name.to_owned(), why };
        let parts: Vec<&str> = name.split('-').collect();
        let [provider, stack, major, minor, version @ ..] = parts.as_slice() else {
            return Err(refuse("it has too few parts"));
        };
        if !is_word(provider) || !is_word(stack) {
            return Err(refuse("provider and stack must be lower-case words"));
        }
        if name.len() > MAX_OBJECT_NAME {
            return Err(refuse("it exceeds the limit of 63 characters"));
        }
        let number = |text: &str| {
            let canonical = text == "0" || !text.starts_with('0');
            text.parse::<u32>().ok().filter(|_| canonical && text.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let (Some(major), Some(minor)) = (number(major), number(minor)) else {
            return Err(refuse("the third and fourth part must be the Kubernetes major and minor version"));
        };
        let version = ReleaseVersion::parse(version).map_err(refuse)?;
        let parsed =
            Self { provider: (*provider).to_owned(), stack: (*stack).to_owned(), major, minor, version };
        if parsed.prefix().len() > MAX_HELM_NAME {
            Err(refuse("without the version, it exceeds the limit of 53 characters for a Helm release name"))
        } else if parsed.to_string() != name {
            Err(refuse("the version's number has leading zeros"))
        } else {
            Ok(parsed)
        }
    }
}

impl fmt::Display for ReleaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.prefix(), self.version)
    }
}

/// A full Kubernetes version with its leading `v`: `v1.34.2`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KubernetesVersion(semver::Version);

impl KubernetesVersion {
    /// Returns (major, minor), to compare with the name of a release.
    #[must_use]
    pub fn minor(&self) -> (u64, u64) {
        (self.0.major, self.0.minor)
    }
}

impl FromStr for KubernetesVersion {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        text.strip_prefix('v')
            .and_then(|version| semver::Version::parse(version).ok())
            .map(Self)
            .ok_or_else(|| NameError::Kubernetes(text.to_owned()))
    }
}

impl fmt::Display for KubernetesVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

macro_rules! checked_name {
    ($(#[$doc:meta])* $name:ident, $check:ident, $error:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// Returns the name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                if $check(text) { Ok(Self(text.to_owned())) } else { Err(NameError::$error(text.to_owned())) }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

checked_name!(
    /// An addon's name, which is its directory below `cluster-addon/` and its Helm release's name: an RFC 1123 label of
    /// at most 53 characters.
    AddonName,
    is_addon,
    Addon
);
checked_name!(
    /// A namespace: an RFC 1123 label.
    Namespace,
    is_label,
    Label
);
checked_name!(
    /// The name of a Kubernetes object: an RFC 1123 subdomain.
    ObjectName,
    is_subdomain,
    Object
);

checked_name!(
    /// A Git commit: its full object ID in lower-case hex. Flux's `ref.commit` takes nothing shorter.
    Revision,
    is_object_id,
    Revision
);

impl Revision {
    /// Returns the object ID with this SHA-1.
    #[must_use]
    pub fn of_sha1(sha1: [u8; 20]) -> Self {
        let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or_default();
        Self(sha1.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect())
    }
}

impl ObjectName {
    /// Shortens `text` to a name of at most 63 characters: `text` itself if it fits, otherwise its beginning and eight
    /// hex digits of its SHA-256, so that different texts keep different names.
    pub fn bounded(text: &str) -> Result<Self, NameError> {
        bounded(text).parse()
    }

    /// Returns the name of an addon's object. Addon names have no dot, so that different pairs have different names.
    pub fn of_addon(cluster: &str, addon: &AddonName) -> Result<Self, NameError> {
        Self::bounded(&format!("{cluster}.{addon}"))
    }

    /// Returns the name of the `Kustomization` of a release's node images.
    pub fn of_node_images(release: &str) -> Result<Self, NameError> {
        Self::bounded(&format!("{release}-node-images"))
    }
}

impl Namespace {
    /// Shortens `text` as [`ObjectName::bounded`] does, for a namespace.
    pub fn bounded(text: &str) -> Result<Self, NameError> {
        bounded(text).parse()
    }
}

/// Returns `text` if it has at most 63 characters, otherwise its beginning, `-` and eight hex digits of its SHA-256.
fn bounded(text: &str) -> String {
    if text.len() <= MAX_OBJECT_NAME {
        return text.to_owned();
    }
    let [a, b, c, d, ..]: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    let hash = format!("{:08x}", u32::from_be_bytes([a, b, c, d]));
    let head: String = text.chars().take(MAX_OBJECT_NAME - 9).collect();
    format!("{}-{hash}", head.trim_end_matches(['-', '.']))
}

/// Whether a text is a lower-case word without `-`, as provider, stack, channel and patch are.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_addon(text: &str) -> bool {
    text.len() <= MAX_HELM_NAME && is_label(text)
}

fn is_label(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty()
        && text.len() <= MAX_OBJECT_NAME
        && text.bytes().all(allowed)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label)
}

#[cfg(test)]
mod tests;
