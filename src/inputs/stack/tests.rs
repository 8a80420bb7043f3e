//! The source of a stack's releases.

use super::*;

fn stack(source: &Value, objects: &[Value]) -> Result<Stack, StackError> {
    let stack = json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack",
        "metadata": {"name": "demo", "namespace": "stacks"},
        "spec": {"provider": "docker", "name": "demo", "kubernetesVersion": "1.34", "source": source},
    });
    Stack::new(&serde_json::from_value(stack).unwrap(), None, objects.iter())
}

fn repository(spec: &Value) -> Value {
    json!({"kind": "GitRepository", "metadata": {"name": "stacks", "namespace": "flux-system"}, "spec": spec})
}

#[test]
fn referenced_git_repository_is_used_but_not_written() {
    let reference =
        json!({"gitRepositoryRef": {"name": "stacks", "namespace": "flux-system"}, "path": "here"});
    let spec = json!({
        "url": "https://git.example.org/stacks.git", "interval": "5m", "ref": {"branch": "main"},
        "secretRef": {"name": "git"}, "serviceAccountName": "fetcher", "provider": "generic",
        "proxySecretRef": {"name": "proxy"}, "verify": {"mode": "HEAD", "secretRef": {"name": "keys"}},
    });
    let source = stack(&reference, &[repository(&spec)]).unwrap().source;
    assert_eq!((source.url.as_str(), source.path.as_str()), ("https://git.example.org/stacks.git", "here"));
    assert_eq!(source.namespace.as_str(), "flux-system");
    assert!(source.followed.is_none());
    let mut copied = spec;
    copied.as_object_mut().unwrap().retain(|field, _| !["url", "interval", "ref"].contains(&field.as_str()));
    assert_eq!(serde_json::to_value(&source.access).unwrap(), copied);
}

#[test]
fn missing_repository_or_url_is_refused() {
    let reference = json!({"gitRepositoryRef": {"name": "stacks", "namespace": "flux-system"}});
    assert!(matches!(stack(&reference, &[]), Err(StackError::SourceNotFound { .. })));
    let error = stack(&reference, &[repository(&json!({"interval": "5m"}))]).unwrap_err();
    assert_eq!(error.to_string(), "GitRepository stacks: missing field `url`");
}

#[test]
fn branch_defaults_to_master() {
    let followed = |git: Value| stack(&json!({"git": git}), &[]).unwrap().source.followed.unwrap().reference;
    let url = "https://git.example.org/stacks.git";
    assert_eq!(followed(json!({"url": url})), json!({"branch": "master"}));
    assert_eq!(followed(json!({"url": url, "ref": {"tag": "v1"}})), json!({"tag": "v1"}));
}

#[test]
fn stack_without_source_uses_default_source() {
    let object = |source: Value| -> ClusterStack {
        let mut stack = json!({
            "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack",
            "metadata": {"name": "demo", "namespace": "stacks"},
            "spec": {"provider": "docker", "name": "demo", "kubernetesVersion": "1.34"},
        });
        if !source.is_null() {
            stack["spec"]["source"] = source;
        }
        serde_json::from_value(stack).unwrap()
    };
    let source = |source: Value| -> Wanted { serde_json::from_value(source).unwrap() };
    let url = "https://git.example.org/default.git";
    let created = source(json!({"git": {"url": url}}));
    let referenced = source(json!({"gitRepositoryRef": {"name": "stacks", "namespace": "flux-system"}}));
    let beside = source(json!({"gitRepositoryRef": {"name": "stacks"}}));
    let own = json!({"git": {"url": "https://git.example.org/own.git"}});

    let of = |stack: Value, default| Stack::new(&object(stack), default, std::iter::empty());
    assert_eq!(of(Value::Null, Some(&created)).unwrap().source.url, url);
    assert_eq!(of(own.clone(), Some(&created)).unwrap().source.url, "https://git.example.org/own.git");
    assert!(matches!(of(Value::Null, None), Err(StackError::NoSource(_))));

    for (own, default, key) in [
        (Value::Null, Some(&created), Some(("stacks", "demo-catalog"))),
        (Value::Null, Some(&referenced), Some(("flux-system", "stacks"))),
        (Value::Null, Some(&beside), Some(("stacks", "stacks"))),
        (own, Some(&referenced), Some(("stacks", "demo-catalog"))),
        (Value::Null, None, None),
    ] {
        let key = key.map(|(namespace, name)| (namespace.to_owned(), name.to_owned()));
        assert_eq!(Stack::source_key(&object(own), default), key);
    }
}

#[test]
fn source_with_credentials_is_refused() {
    let reference = json!({"gitRepositoryRef": {"name": "stacks", "namespace": "flux-system"}});
    for url in ["https://u:hidden@git.example.org/a.git", "https://hidden@h/a", "ssh://git:hidden@h/a"] {
        let created = stack(&json!({"git": {"url": url}}), &[]).unwrap_err();
        let referenced = stack(&reference, &[repository(&json!({"url": url}))]).unwrap_err();
        for error in [created, referenced] {
            assert!(matches!(error, StackError::Credentials(_)), "{error}");
            assert!(!error.to_string().contains("hidden"), "{error}");
        }
    }
    stack(&json!({"git": {"url": "ssh://git@git.example.org/a.git"}}), &[]).unwrap();
}
