//! What the messages of recorded objects prove.

use std::collections::BTreeSet;

use super::*;

#[test]
fn message_about_a_source_proves_its_cause() {
    let rows = [
        (Component::Git, "failed to get secret 'demo/git': secrets \"git\" not found", "SecretNotFound"),
        (Component::Git, "failed to checkout: authentication required: Unauthorized", "CredentialsRefused"),
        (Component::Git, "unable to clone: unexpected status code: 403", "CredentialsRefused"),
        (Component::Git, "ssh: handshake failed: knownhosts: key mismatch", "HostKeyUntrusted"),
        (
            Component::Git,
            "Get \"https://git\": x509: certificate signed by unknown authority",
            "CertificateUntrusted",
        ),
        (Component::Git, "failed to clone: repository not found: Repository not found", "RepositoryNotFound"),
        (Component::Git, "couldn't find remote ref \"refs/heads/main\"", "RevisionNotFound"),
        (Component::Git, "unable to resolve commit object for '0123': object not found", "CommitNotFound"),
        (Component::Git, "dial tcp: lookup git.example.org: no such host", "ServerUnreachable"),
        (
            Component::Oci,
            "GET http://r/v2/a/manifests/1: UNAUTHORIZED: authentication required",
            "CredentialsRefused",
        ),
        (
            Component::Oci,
            "GET http://r/v2/a/manifests/1: MANIFEST_UNKNOWN: manifest unknown",
            "ArtifactNotFound",
        ),
        (
            Component::Oci,
            "failed to verify the signature using provider 'cosign': no matching signatures",
            "SignatureInvalid",
        ),
    ];
    for (component, message, cause) in rows {
        assert_eq!(proven(component, message).map(|cause| cause.name), Some(cause), "{message}");
    }
}

#[test]
fn message_of_the_operator_proves_its_cause() {
    let rows = [
        (
            Component::Delivery,
            "https://git.example.org/a: the Git server refuses the password or token",
            "TokenRefused",
        ),
        (
            Component::Delivery,
            "the Git server refuses the commit on branch main: protected branch",
            "BranchProtected",
        ),
        (
            Component::Writing,
            "helmreleases \"one.cni\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: no",
            "WriteRefusedByPolicy",
        ),
        (
            Component::Publishing,
            "https://git.example.org/a: no such repository, or the credentials give no access",
            "GitRepositoryNotFound",
        ),
    ];
    for (component, message, cause) in rows {
        assert_eq!(proven(component, message).map(|cause| cause.name), Some(cause), "{message}");
    }
}

#[test]
fn message_about_an_addon_proves_its_cause() {
    let helm = "Helm upgrade failed for release kube-system/a with chart a@1.0.0: ";
    let rows = [
        (
            Component::Helm,
            "HelmChart 'demo/cni' is not ready: invalid chart reference: stat /data/cni: no such file or directory",
            "ChartNotFound",
        ),
        (
            Component::Manifests,
            "kustomization path not found: stat /data/x: no such file or directory",
            "ChartNotFound",
        ),
        (Component::Helm, "dependency 'demo/one.cni' is not ready", "DependencyNotReady"),
        (Component::Helm, "HelmChart 'demo/cni' is not ready: chart pull error: a", "ChartNotReady"),
        (
            Component::Helm,
            "could not resolve Secret chart values reference 'demo/cloud' with key 'a': secrets \"cloud\" not found",
            "ValuesNotFound",
        ),
        (
            Component::Helm,
            "could not resolve ConfigMap chart values reference 'demo/site' with key 'nokey': key not found",
            "ValuesNotFound",
        ),
        (
            Component::Helm,
            "could not resolve ConfigMap chart values reference 'demo/bad' with key 'values.yaml': error converting YAML to \
             JSON: yaml: line 1: did not find expected ',' or ']'",
            "ValuesUnreadable",
        ),
        (
            Component::Helm,
            "could not resolve Secret chart values reference 'hand/bad' with key 'v': key \"b{c}\" has no value",
            "ValuesUnreadable",
        ),
        (
            Component::Helm,
            "could not resolve Secret chart values reference 'hand/bad' with key 'v': key \"not found\" has no value",
            "ValuesUnreadable",
        ),
        (
            Component::Manifests,
            "Secret/demo/key is SOPS encrypted, configuring decryption is required for this secret to be reconciled",
            "DecryptionFailed",
        ),
        (
            Component::Manifests,
            "failed to decrypt and decode 'secret.yaml': cannot get sops data key: identity did not match any of the \
             recipients: incorrect identity for recipient block",
            "DecryptionFailed",
        ),
        (
            Component::Manifests,
            "identity did not match any of the recipients: incorrect identity for recipient block",
            "DecryptionFailed",
        ),
        (Component::Manifests, "secrets \"sops-age\" not found", "DecryptionSecretNotFound"),
        (
            Component::Helm,
            "cannot patch \"a\" with kind Deployment: spec.selector: Invalid value: field is immutable",
            "FieldImmutable",
        ),
        (Component::Helm, "invalid ownership metadata; label validation error", "ObjectOfAnotherOwner"),
    ];
    for (component, message, cause) in rows {
        let message =
            if component == Component::Helm { format!("{helm}{message}") } else { message.to_owned() };
        assert_eq!(proven(component, &message).map(|cause| cause.name), Some(cause), "{message}");
    }
}

#[test]
fn message_about_a_cluster_proves_its_cause() {
    let helm = "Helm upgrade failed for release kube-system/a with chart a@1.0.0: ";
    let rows = [
        (
            Component::Helm,
            "Internal error occurred: failed calling webhook \"x\": no endpoints",
            "WebhookUnreachable",
        ),
        (Component::Helm, "admission webhook \"x\" denied the request: no", "RefusedByPolicy"),
        (Component::Helm, "another operation (install/upgrade/rollback) is in progress", "OperationPending"),
        (
            Component::Helm,
            "failed pre-install: 1 error occurred: job a failed: BackoffLimitExceeded",
            "HookFailed",
        ),
        (
            Component::Helm,
            "Get \"https://10.0.0.1:6443\": dial tcp 10.0.0.1:6443: connect: connection refused",
            "ClusterUnreachable",
        ),
        (Component::Helm, "Get \"https://10.0.0.1:6443\": Unauthorized", "CredentialsOfClusterRefused"),
        (
            Component::Helm,
            "timeout waiting for: [Deployment/kube-system/a status: 'InProgress']",
            "WorkloadsNotReady",
        ),
        (
            Component::Manifests,
            "health check failed after 30s: timeout waiting for: [Deployment/a/b status: 'Failed']",
            "WorkloadsNotReady",
        ),
    ];
    for (component, message, cause) in rows {
        let message =
            if component == Component::Helm { format!("{helm}{message}") } else { message.to_owned() };
        assert_eq!(proven(component, &message).map(|cause| cause.name), Some(cause), "{message}");
    }
    let nothing = [
        (
            Component::Helm,
            "could not resolve Secret chart values reference 'demo/cloud' with key 'a': the server is starting",
        ),
        (Component::Helm, "Running 'install' action with timeout of 5m0s"),
        (Component::Git, "stored artifact for revision 'main@sha1:4014030123456789abcdef0123456789abcdef01'"),
        (Component::Manifests, "Applied revision: sha1:0123"),
    ];
    for (component, message) in nothing {
        assert_eq!(proven(component, message), None, "{message}");
    }
}

#[test]
fn cause_meaning_and_action_are_single_sentences() {
    for cause in causes() {
        for sentence in [cause.meaning, cause.action] {
            assert!(sentence.ends_with('.') && !sentence.contains(". "), "{}: {sentence}", cause.name);
            assert!(
                sentence.starts_with(|first: char| first.is_ascii_uppercase() || first == '`'),
                "{sentence}"
            );
        }
    }
    let names: BTreeSet<&str> = causes().map(|cause| cause.name).collect();
    assert_eq!(names.len(), causes().count(), "a name stands for one cause");
}

#[test]
fn hint_is_added_and_removed() {
    let message = "https://git.example.org/a: access forbidden (403): the credentials lack a permission";
    let expected = format!("{message}; give the account write access to the contents of the repository");
    assert_eq!(hinted(Component::Delivery, message), expected);
    let action = proven(Component::Delivery, &expected).unwrap().action;
    assert_eq!(unhinted(&expected, action), message);
    assert_eq!(hinted(Component::Delivery, "no cause"), "no cause");
}
