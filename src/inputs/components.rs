//! The sources of components: the Flux object that fetches one, with the access that its ClusterStack gives to the address.
//!
//! A release names addresses alone. Which Secret is sent to which host is the decision of the owner of the ClusterStack.

use serde_json::{Map, Value, json};

use crate::api::SourcePlacement;
use crate::api::components::{ComponentCredentials, ComponentSettings, ComponentVerification};
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::source::{Access, GitRepositorySpec, LayerSelector, OciAccess, OciRepositorySpec};
use crate::inputs::stack::Stack;
use crate::names::{AddonName, NameError, ObjectName, Revision};
use crate::release::{Component, ComponentForm, ComponentSource, Digest, GitReference, OciReference};

/// Interval at which Flux fetches content that cannot change.
const EXACT_INTERVAL: &str = "24h";

/// The reason why the source of a component cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ComponentError {
    /// The address is not encrypted, and the ClusterStack does not allow that.
    #[error(
        "{0} is not encrypted: use https, or set insecure for this address in spec.components.credentials of the ClusterStack"
    )]
    Unencrypted(String),
    /// The content behind the address can change.
    #[error("the content of {0} can change: name a commit or a digest")]
    Mutable(String),
    /// The sources of the ClusterStack are copied beside its Clusters.
    #[error(
        "components need spec.flux.sources: Shared of the ClusterStack, because nothing would delete the copies of their sources"
    )]
    PerNamespace,
    /// A name that Kubernetes would refuse.
    #[error(transparent)]
    Name(#[from] NameError),
}

/// The Flux object that fetches the content of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceObject {
    /// The kind: `GitRepository` or `OCIRepository`.
    pub kind: FluxKind,
    /// The name: that of the ClusterStack, and the first twelve hex digits of the digest of the spec. So two ClusterStacks never
    /// share one, and equal references of several releases do.
    pub name: ObjectName,
    /// The spec.
    pub spec: Value,
    /// The commit or the digest; `None` if the content can change.
    pub version: Option<String>,
}

impl SourceObject {
    /// Returns the source of a component.
    pub fn of(stack: &Stack, component: &Component) -> Result<Self, ComponentError> {
        if stack.flux.sources == SourcePlacement::PerNamespace {
            return Err(ComponentError::PerNamespace);
        }
        let url = component.source.url();
        let version = component.source.exact().map(str::to_owned);
        let interval = match &component.platform {
            Some(platform) if version.is_none() => platform.interval.as_str(),
            None if version.is_none() => return Err(ComponentError::Mutable(url.to_owned())),
            _ => EXACT_INTERVAL,
        };
        let access = AddressAccess::of(&stack.components, url);
        let (kind, spec) = match &component.source {
            ComponentSource::Git { reference, .. } => {
                if url.starts_with("http://") && !access.is_insecure() {
                    return Err(ComponentError::Unencrypted(url.to_owned()));
                }
                (FluxKind::GitRepository, access.git((url, interval), reference))
            }
            ComponentSource::Oci { reference, .. } => {
                (FluxKind::OCIRepository, access.oci((url, interval), reference, component.form))
            }
            ComponentSource::HelmIndex { .. } => return Err(ComponentError::Mutable(url.to_owned())),
        };
        let digest = Digest::of_bytes(format!("{kind} {spec}").as_bytes());
        let name = ObjectName::bounded(&format!("{}-{}", stack.name, digest.short()))?;
        Ok(Self { kind, name, spec, version })
    }

    /// Returns the name of the `HelmChart` of a directory of the source. Releases with the same chart share it.
    pub fn chart_name(&self, stack: &Stack, addon: &AddonName, path: &str) -> Result<ObjectName, NameError> {
        let digest = Digest::of_bytes(format!("{} {path}", self.name).as_bytes());
        ObjectName::bounded(&format!("{}-{addon}-{}", stack.name, digest.short()))
    }
}

/// Returns a directory in the form in which Flux takes it.
#[must_use]
pub fn flux_path(path: &str) -> String {
    if path == "." { "./".to_owned() } else { format!("./{path}") }
}

/// The access to one address.
struct AddressAccess<'a> {
    credentials: Option<&'a ComponentCredentials>,
    verify: Option<&'a ComponentVerification>,
}

impl<'a> AddressAccess<'a> {
    fn of(settings: &'a ComponentSettings, url: &str) -> Self {
        Self {
            credentials: longest(&settings.credentials, url, |entry| &entry.url),
            verify: longest(&settings.verify, url, |entry| &entry.url),
        }
    }

    fn is_insecure(&self) -> bool {
        self.credentials.is_some_and(|credentials| credentials.insecure)
    }

    /// Returns what both kinds have. Flux's `secretRef` has the same shape as ours.
    fn common(&self) -> Access {
        let credentials = self.credentials;
        let value = |of: Option<Value>| of.filter(|value| !value.is_null());
        Access {
            secret_ref: value(credentials.map(|it| json!(it.secret_ref))),
            proxy_secret_ref: value(credentials.map(|it| json!(it.proxy_secret_ref))),
            provider: value(credentials.map(|it| json!(it.provider))),
            verify: None,
            service_account_name: None,
        }
    }

    fn git(&self, (url, interval): (&str, &str), reference: &GitReference) -> Value {
        let fields = [
            ("branch", reference.branch.as_deref()),
            ("tag", reference.tag.as_deref()),
            ("semver", reference.semver.as_deref()),
            ("name", reference.name.as_deref()),
            ("commit", reference.commit.as_ref().map(Revision::as_str)),
        ];
        let reference = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value?))));
        let verify = self.verify.map(|verify| json!({"mode": "HEAD", "secretRef": verify.secret_ref}));
        let access = Access { verify, ..self.common() };
        json!(GitRepositorySpec {
            url,
            reference: Value::Object(reference.collect::<Map<_, _>>()),
            interval,
            sparse_checkout: Vec::new(),
            access: &access,
        })
    }

    fn oci(&self, (url, interval): (&str, &str), reference: &OciReference, form: ComponentForm) -> Value {
        let fields = [("digest", &reference.digest), ("tag", &reference.tag), ("semver", &reference.semver)];
        let fields =
            fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value.as_ref()?))));
        let verify = self.verify.map(|verify| {
            let mut of = json!(verify);
            if let Some(fields) = of.as_object_mut() {
                fields.remove("url");
                fields.entry("provider").or_insert_with(|| json!("cosign"));
            }
            of
        });
        let access = Access { verify, ..self.common() };
        let certificates = self.credentials.and_then(|credentials| credentials.cert_secret_ref.as_ref());
        json!(OciRepositorySpec {
            url,
            reference: Value::Object(fields.collect()),
            interval,
            layer_selector: (form == ComponentForm::Chart).then_some(LayerSelector::CHART),
            access: OciAccess {
                common: &access,
                cert_secret_ref: certificates.map(|certificates| json!(certificates)),
                insecure: self.is_insecure(),
            },
        })
    }
}

/// Finds the entry with the longest address that an address begins with.
fn longest<'a, T>(entries: &'a [T], url: &str, of: impl Fn(&T) -> &str) -> Option<&'a T> {
    let address = Address::of(url)?;
    let matching = entries.iter().filter_map(|entry| {
        let begin = Address::of(of(entry))?;
        address.is_below(&begin).then_some((begin.path.len(), entry))
    });
    // The first of equal ones counts.
    matching.rev().max_by_key(|(length, _)| *length).map(|(_, entry)| entry)
}

/// An address in parts.
#[derive(Debug, PartialEq, Eq)]
struct Address<'a> {
    scheme: &'a str,
    host: String,
    port: &'a str,
    path: Vec<&'a str>,
}

impl<'a> Address<'a> {
    fn of(url: &'a str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        // An address of IPv6 has colons within brackets.
        let (host, port) = match host.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port),
            _ => (host, default_port(scheme)),
        };
        let path = path.split('/').filter(|segment| !segment.is_empty()).collect();
        Some(Self { scheme, host: host.to_lowercase(), port, path })
    }

    fn is_below(&self, begin: &Self) -> bool {
        (self.scheme, &self.host, self.port) == (begin.scheme, &begin.host, begin.port)
            && self.path.starts_with(&begin.path)
    }
}

fn default_port(scheme: &str) -> &'static str {
    match scheme {
        "ssh" => "22",
        "http" => "80",
        _ => "443",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(entries: &[&str], url: &str) -> Option<usize> {
        let entries: Vec<(usize, &str)> = entries.iter().copied().enumerate().collect();
        longest(&entries, url, |(_, entry)| entry).map(|(at, _)| *at)
    }

    #[test]
    fn longest_address_in_whole_segments_counts() {
        let entries =
            ["https://git.example.org", "https://git.example.org/team/", "https://git.example.org/team/a"];
        for (url, expected) in [
            ("https://git.example.org/other.git", Some(0)),
            ("https://git.example.org/team/b.git", Some(1)),
            ("https://git.example.org/team", Some(1)),
            ("https://git.example.org/teams/b.git", Some(0)),
            ("https://git.example.org/team/a/b.git", Some(2)),
            ("https://git.example.org/team/a.git", Some(1)),
            ("https://GIT.example.org:443/team/a/b", Some(2)),
            ("https://git.example.org:8443/team/a", None),
            ("http://git.example.org/team/a", None),
            ("ssh://git@git.example.org/team/a", None),
            ("https://git.example.org.evil.org/team/a", None),
            ("https://evil.org/git.example.org/team/a", None),
            ("https://git.example.org@evil.org/team/a", None),
        ] {
            assert_eq!(found(&entries, url), expected, "{url}");
        }
        assert_eq!(found(&["ssh://git.example.org"], "ssh://git@git.example.org:22/a.git"), Some(0));
        assert_eq!(found(&["oci://[::1]:5000/a"], "oci://[::1]:5000/a/b"), Some(0));
        assert_eq!(found(&["oci://[::1]"], "oci://[::1]:443/a/b"), Some(0));
        assert_eq!(found(&["https://a.org/x", "https://a.org/x"], "https://a.org/x/y"), Some(0));
    }
}
