use super::*;

#[test]
fn what_a_failed_request_says() {
    let status =
        kube::core::Status::failure("leases.coordination.k8s.io is forbidden", "Forbidden").with_code(403);
    let refused = kube::Error::Api(status.boxed());
    assert_eq!(explain(&refused), "leases.coordination.k8s.io is forbidden (403 Forbidden)");
    let io = std::io::Error::other("disk on fire");
    assert_eq!(explain(&kube::Error::ReadEvents(io)), "Error reading events stream: disk on fire");
    let nested = kube::Error::Service(Box::new(ConnectError::Client(kube::Error::TlsRequired)));
    let expected = "ServiceError: no client can be made: TLS required but no TLS stack selected";
    assert_eq!(explain(&nested), expected);
}

#[test]
fn kubeconfig_missing_named_once() {
    let error = std::io::Error::other("no such file");
    let error = ConnectError::from(KubeconfigError::ReadConfig(error, "/etc/kube/config".into()));
    let expected = "the kubeconfig cannot be used: /etc/kube/config: no such file; \
                    name another one with --kubeconfig or KUBECONFIG";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_refusal_in_a_namespace_that_goes_is_known_by_its_cause() {
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
