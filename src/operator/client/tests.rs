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
