//! The operator's settings for `ClusterStack`s that do not have their own.

use serde_json::Value;

use crate::api::labels::ALLOWED_NAMESPACES;
use crate::api::{
    ClusterStack, ClusterStackSpec, Duration, FluxSettings, GitReference, GitSource, StackSource, Upstream,
};
use crate::builtin;
use crate::foreign::capi::field;
use crate::foreign::flux::source::git_repository;
use crate::inputs::consent;
use crate::inputs::stack::{Stack, StackError};
use crate::names::{Key, ObjectName};

/// The operator's settings for `ClusterStack`s that do not have their own, and for all references of `ClusterStack`s.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Defaults {
    /// The source of `ClusterStack`s without one.
    pub source: Option<StackSource>,
    /// The service account that Flux impersonates for a `ClusterStack` that names none.
    pub service_account: Option<ObjectName>,
    /// Whether references to objects in other namespaces are refused.
    pub no_cross_namespace_refs: bool,
    /// The address below which the operator serves the built-in stack repositories, as Flux reaches it; `None` if it serves
    /// none.
    pub builtin_url: Option<String>,
}

impl Defaults {
    /// Returns the key of the `GitRepository` that a `ClusterStack` follows.
    #[must_use]
    pub fn source_key(&self, stack: &ClusterStack) -> Option<Key> {
        let (namespace, name) = Stack::source_key(stack, self.source.as_ref())?;
        Some(Key { namespace, name })
    }

    /// Converts a `ClusterStack` to the input of plans. `objects` holds the `GitRepository` that it may refer to.
    pub fn stack<'a>(
        &self,
        stack: &ClusterStack,
        objects: impl IntoIterator<Item = &'a Value, IntoIter: Clone>,
    ) -> Result<Stack, StackError> {
        let objects = objects.into_iter();
        self.check(stack, objects.clone())?;
        let mut planned = match self.builtin(stack) {
            None => Stack::new(stack, self.source.as_ref(), objects)?,
            Some(source) => {
                let mut planned = Stack::with_source(stack, &source, objects)?;
                planned.source.is_builtin = true;
                planned
            }
        };
        self.fill_flux(&mut planned.flux);
        Ok(planned)
    }

    /// Returns the built-in stack repository as a source, if the `ClusterStack` has it: it names where releases are
    /// published, and no repository.
    fn builtin(&self, stack: &ClusterStack) -> Option<StackSource> {
        let source = self.source_of(stack).filter(|source| source.is_builtin())?;
        let (base, uid) = (self.builtin_url.as_ref()?, stack.metadata.uid.as_ref()?);
        let git = GitSource { secret_ref: source.secret_ref.clone(), ..builtin_source(base, uid) };
        Some(StackSource { git: Some(git), ..source.clone() })
    }

    /// Returns the source that a `ClusterStack` names, or the default.
    #[must_use]
    pub fn source_of<'a>(&'a self, stack: &'a ClusterStack) -> Option<&'a StackSource> {
        stack.spec.source.as_ref().or(self.source.as_ref())
    }

    /// Returns the source from which the operator copies releases into the stack repository.
    #[must_use]
    pub fn upstream<'a>(&'a self, stack: &'a ClusterStack) -> Option<&'a Upstream> {
        self.source_of(stack)?.upstream.as_ref()
    }

    /// Refuses a `ClusterStack` whose own source is in another namespace, if the settings of the operator or the owner of
    /// the `GitRepository` do not allow that.
    pub fn check<'a>(
        &self,
        stack: &ClusterStack,
        objects: impl IntoIterator<Item = &'a Value>,
    ) -> Result<(), StackError> {
        let Some((namespace, name)) = Stack::source_key(stack, None) else { return Ok(()) };
        if self.no_cross_namespace_refs && stack.metadata.namespace.as_ref() != Some(&namespace) {
            let stack = stack.metadata.name.clone().unwrap_or_default();
            return Err(StackError::AccessDenied { stack, namespace, name });
        }
        let Some(found) = git_repository(objects, &namespace, &name) else { return Ok(()) };
        let allowed = field(found, &["metadata", "annotations", ALLOWED_NAMESPACES]);
        consent::check(stack, allowed.and_then(Value::as_str))
    }

    /// Sets what the spec of a `ClusterStack` does not set.
    pub fn fill(&self, spec: &mut ClusterStackSpec) {
        spec.source = spec.source.take().or_else(|| self.source.clone());
        self.fill_flux(&mut spec.flux);
    }

    fn fill_flux(&self, flux: &mut FluxSettings) {
        let account = flux.service_account_name.take();
        flux.service_account_name =
            account.or_else(|| self.service_account.as_ref().map(ToString::to_string));
    }
}

/// The built-in stack repository of a `ClusterStack`. The operator asks Flux to look when the repository has changed, so that the
/// interval is for a lost request.
fn builtin_source(base: &str, uid: &str) -> GitSource {
    GitSource {
        url: format!("{}/{uid}.git", base.trim_end_matches('/')),
        reference: Some(GitReference { branch: Some(builtin::BRANCH.to_owned()), ..GitReference::default() }),
        path: builtin::RELEASES.to_owned(),
        interval: Duration::minutes(10),
        secret_ref: None,
        verify: None,
        provider: None,
        proxy_secret_ref: None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stack(spec: &Value) -> ClusterStack {
        let mut stack = json!({
            "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack",
            "metadata": {"name": "demo", "namespace": "team"},
            "spec": {"provider": "docker", "name": "demo", "kubernetesVersion": "1.34"},
        });
        for (name, value) in spec.as_object().unwrap() {
            stack["spec"][name] = value.clone();
        }
        serde_json::from_value(stack).unwrap()
    }

    fn repository(allowed: Option<&str>) -> Value {
        json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": {"name": "stacks", "namespace": "flux-system", "annotations": {ALLOWED_NAMESPACES: allowed}},
            "spec": {"url": "https://git.example.org/stacks.git"},
        })
    }

    fn defaults(no_cross_namespace_refs: bool) -> Defaults {
        let source = json!({"gitRepositoryRef": {"name": "stacks", "namespace": "flux-system"}});
        Defaults {
            source: Some(serde_json::from_value(source).unwrap()),
            service_account: Some("deployer".parse().unwrap()),
            no_cross_namespace_refs,
            builtin_url: None,
        }
    }

    #[test]
    fn stack_has_its_own_settings_or_the_default() {
        for (spec, account) in
            [(json!({}), "deployer"), (json!({"flux": {"serviceAccountName": "own"}}), "own")]
        {
            let mut object = stack(&spec);
            // The default source is the choice of those who run the operator: no flag and no annotation concerns it.
            let planned = defaults(true).stack(&object, [&repository(None)]).unwrap();
            assert_eq!(
                (planned.source.name.as_str(), planned.source.namespace.as_str()),
                ("stacks", "flux-system")
            );
            assert_eq!(planned.flux.service_account_name.as_deref(), Some(account));
            defaults(true).fill(&mut object.spec);
            assert_eq!((object.spec.source, object.spec.flux), (defaults(true).source, planned.flux));
        }
    }

    #[test]
    fn upstream_without_repository_is_built_in() {
        let upstream = json!({"url": "oci://registry.example.org/stacks"});
        let git = json!({"url": "https://git.example.org/own.git"});
        let served = Defaults {
            source: serde_json::from_value(json!({"upstream": upstream})).unwrap(),
            builtin_url: Some("http://stackflux.flux-system/".to_owned()),
            ..Defaults::default()
        };
        let own = "http://stackflux.flux-system/7f-3a.git";
        for (source, expected) in [
            (json!({"upstream": upstream}), (own, true)),
            (Value::Null, (own, true)),
            (json!({"upstream": upstream, "git": git}), ("https://git.example.org/own.git", false)),
        ] {
            let mut object = stack(&json!({"source": source}));
            object.metadata.uid = Some("7f-3a".to_owned());
            let planned = served.stack(&object, []).unwrap();
            assert_eq!((planned.source.url.as_str(), planned.source.is_builtin), expected, "{source}");
            assert_eq!(planned.source.name.as_str(), "demo-catalog");
            let key = served.source_key(&object).unwrap();
            assert_eq!((key.namespace.as_str(), key.name.as_str()), ("team", "demo-catalog"));
        }
        let object = stack(&json!({"source": {"upstream": upstream}}));
        let error = Defaults { builtin_url: None, ..served }.stack(&object, []).unwrap_err();
        assert!(matches!(error, StackError::NotServed(_)), "the operator serves none: {error}");
    }

    #[test]
    fn own_source_in_another_namespace_may_be_refused() {
        let elsewhere =
            json!({"source": {"gitRepositoryRef": {"name": "stacks", "namespace": "flux-system"}}});
        let own = json!({"source": {"git": {"url": "https://git.example.org/own.git"}}});
        let table = [
            (&elsewhere, false, Some("team"), None),
            (&elsewhere, false, None, Some("SourceNotAllowed")),
            (&elsewhere, true, Some("team"), Some("AccessDenied")),
            (&own, true, None, None),
        ];
        for (spec, is_refused, allowed, expected) in table {
            let reason = |error: StackError| error.reason().to_string();
            let (object, objects) = (stack(spec), [repository(allowed)]);
            let defaults = defaults(is_refused);
            let found = defaults.stack(&object, &objects).err().map(reason);
            assert_eq!(found.as_deref(), expected, "{spec} {is_refused} {allowed:?}");
            assert_eq!(defaults.check(&object, &objects).err().map(reason).as_deref(), expected);
        }
    }
}
