use super::*;

#[test]
fn failed_request_error_names_the_cause() {
    let status =
        kube::core::Status::failure("leases.coordination.k8s.io is forbidden", "Forbidden").with_code(403);
    let refused = kube::Error::Api(status.boxed());
    assert_eq!(explain(&refused), "leases.coordination.k8s.io is forbidden (403 Forbidden)");
    let io = std::io::Error::other("disk on fire");
    assert_eq!(explain(&kube::Error::ReadEvents(io)), "Error reading events stream: disk on fire");
    let nested = kube::Error::Service(Box::new(ConnectError::Client(kube::Error::TlsRequired)));
    let expected = "ServiceError: cannot create a Kubernetes client: TLS required but no TLS stack selected";
    assert_eq!(explain(&nested), expected);
}

#[test]
fn missing_kubeconfig_is_named_once() {
    let error = std::io::Error::other("no such file");
    let error = ConnectError::from(KubeconfigError::ReadConfig(error, "/etc/kube/config".into()));
    let expected = "the kubeconfig cannot be used: /etc/kube/config: no such file; \
                    name another one with --kubeconfig or KUBECONFIG";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn terminating_namespace_is_recognized_by_cause() {
    let refusal = |code: u16, cause: &str| -> kube::Error {
        let status = serde_json::json!({
            "status": "Failure", "code": code, "reason": "Forbidden",
            "message": "unable to create new content in namespace demo because it is being terminated",
            "details": {"causes": [{"reason": cause, "message": "namespace demo is being terminated"}]},
        });
        kube::Error::Api(serde_json::from_value::<kube::core::Status>(status).unwrap().boxed())
    };
    assert!(is_namespace_terminating(&refusal(403, "NamespaceTerminating")));
    assert!(!is_namespace_terminating(&refusal(403, "")));
    assert!(!is_namespace_terminating(&refusal(404, "NamespaceTerminating")));
}

#[tokio::test]
async fn kubeconfig_proxy_error_hides_its_password() {
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    let content = serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "https://a", "proxy-url": "socks5://u:hidden@p:1080"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {}}],
    });
    std::fs::write(&kubeconfig, content.to_string()).unwrap();
    let access = ClusterAccess { kubeconfig: Some(kubeconfig), context: None };
    let Err(error) = connect(&access).await else { panic!("it is connected") };
    let expected = "proxy-url of the kubeconfig: invalid proxy: unsupported scheme socks5: use http or https";
    assert_eq!(error.to_string(), expected);
}
