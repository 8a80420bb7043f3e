//! Causes in messages about addons: what Flux needs, what a chart or manifests have wrong, and the workload cluster.

use super::{CLUSTER, DESCRIBE, KUBECONFIG, LOGS, PODS, SECRET, WARNINGS};
use crate::explain::cause::Cause;
use crate::explain::cause::Component::{Chart, Git, Helm, Manifests, Oci, Writing};

/// The texts of admission.
const POLICIES: &[&[&str]] = &[
    &["denied the request"],
    &["denied request"],
    &["ValidatingAdmissionPolicy"],
    &["violates PodSecurity"],
];

/// An earlier row wins.
pub(super) const ADDONS: &[Cause] = &[
    // What Flux needs in the management cluster.
    Cause {
        name: "ValuesUnreadable",
        meaning: "A Secret or ConfigMap with values of the addon has a value that Helm cannot read.",
        action: "Correct what the message names: write the values as YAML, or set literal on a reference whose value has commas or \
                 braces.",
        commands: &[SECRET, "kubectl get helmrelease {name} -n {ns} -o jsonpath='{.spec.valuesFrom}'"],
        of: &[Helm],
        proofs: &[
            &["could not resolve", "chart values reference", "error converting YAML to JSON"],
            &["could not resolve", "chart values reference", "has no value"],
        ],
    },
    Cause {
        name: "ValuesNotFound",
        meaning: "A Secret or ConfigMap with values of the addon is missing, or does not have the key.",
        action: "Create what the message names in the namespace of the Cluster; Flux tries again by itself.",
        commands: &[SECRET, "kubectl get secrets,configmaps -n {ns}"],
        of: &[Helm],
        proofs: &[&["could not resolve", "chart values reference", "not found"]],
    },
    Cause {
        name: "DecryptionFailed",
        meaning: "Flux cannot decrypt the manifests.",
        action: "Set decryption of the addon in spec.flux.addons of the ClusterStack, and put the key with which the manifests are \
                 encrypted into the Secret that its secretRef names.",
        commands: &["kubectl get kustomization {name} -n {ns} -o jsonpath='{.spec.decryption}'", LOGS],
        of: &[Manifests],
        proofs: &[
            &["failed to decrypt"],
            &["decryption failed"],
            &["cannot get sops data key"],
            &["is SOPS encrypted, configuring decryption is required"],
            &["did not match any of the recipients"],
        ],
    },
    Cause {
        name: "DecryptionSecretNotFound",
        meaning: "The Secret with the key for the encrypted manifests does not exist in the namespace of the Cluster.",
        action: "Create the Secret that the message names there, or correct decryption.secretRef of the addon in spec.flux.addons of \
                 the ClusterStack.",
        commands: &[SECRET, "kubectl get kustomization {name} -n {ns} -o jsonpath='{.spec.decryption}'"],
        of: &[Manifests],
        proofs: &[&["secrets \"", "not found"]],
    },
    // What a chart or manifests have wrong.
    Cause {
        name: "FieldImmutable",
        meaning: "The new version changes a field that Kubernetes never changes in an existing object.",
        action: "Keep the field as it was in a new release; if the object that the message names holds no data, you can also delete \
                 it in the cluster and let Flux install it again.",
        commands: &[KUBECONFIG, "flux reconcile helmrelease {helmrelease} -n {ns} --reset", LOGS],
        of: &[Helm, Manifests],
        proofs: &[&["field is immutable"], &["updates to statefulset spec for fields other than"]],
    },
    Cause {
        name: "ObjectOfAnotherOwner",
        meaning: "An object of the chart is in the cluster already, and does not belong to this Helm release.",
        action: "Delete the object, or give it the labels and annotations of the Helm release that the message names, so that \
                 Helm takes it over.",
        commands: &[KUBECONFIG, LOGS],
        of: &[Helm],
        proofs: &[&["cannot be imported into the current release"], &["invalid ownership metadata"]],
    },
    Cause {
        name: "SuccessReportedWrongly",
        meaning: "The upgrade failed and was rolled back, and helm-controller takes the rollback for a success.",
        action: "Read the events of the HelmRelease, which say why the upgrade fails, and correct it in a new release.",
        commands: &["kubectl events --for=helmrelease/{name} -n {ns}", LOGS],
        of: &[Helm],
        proofs: &[&["helm-controller reports success"]],
    },
    Cause {
        name: "WebhookUnreachable",
        meaning: "An admission webhook of the cluster does not answer, so the API server refuses objects.",
        action: "Repair the workload behind the webhook that the message names, or delete its webhook configuration.",
        commands: &[
            KUBECONFIG,
            "kubectl --kubeconfig {cluster}.kubeconfig get validatingwebhookconfigurations,mutatingwebhookconfigurations",
        ],
        of: &[Helm, Manifests, Writing],
        proofs: &[&["failed calling webhook"]],
    },
    Cause {
        name: "WriteRefusedByPolicy",
        meaning: "An admission policy or webhook of the management cluster refuses what the operator writes.",
        action: "Make an exception for the objects of stackflux in the policy of the management cluster that the message names.",
        commands: &[
            "kubectl get validatingadmissionpolicies,validatingwebhookconfigurations,mutatingwebhookconfigurations",
        ],
        of: &[Writing],
        proofs: POLICIES,
    },
    Cause {
        name: "RefusedByPolicy",
        meaning: "An admission policy or webhook of the cluster refuses an object.",
        action: "Change what the policy refuses in a new release or in the values, or make an exception in the policy that the message \
                 names.",
        commands: &[
            KUBECONFIG,
            "kubectl --kubeconfig {cluster}.kubeconfig get validatingadmissionpolicies,validatingwebhookconfigurations",
            LOGS,
        ],
        of: &[Helm, Manifests],
        proofs: POLICIES,
    },
    Cause {
        name: "QuotaExceeded",
        meaning: "A quota of the cluster does not allow the object.",
        action: "Raise the quota that the message names, or make room in its namespace.",
        commands: &[KUBECONFIG, "kubectl --kubeconfig {cluster}.kubeconfig get resourcequotas -A"],
        of: &[Helm, Manifests, Writing],
        proofs: &[&["exceeded quota"]],
    },
    Cause {
        name: "PermissionMissing",
        meaning: "The account with which Flux works may not do this.",
        action: "Grant the account that the message names what it asks for.",
        commands: &[LOGS],
        of: &[Git, Oci, Chart, Helm, Manifests, Writing],
        proofs: &[&["is forbidden: User"]],
    },
    Cause {
        name: "ObjectInvalid",
        meaning: "The API server refuses an object: a field of it is invalid.",
        action: "Correct the field that the message names, in a new release.",
        commands: &[LOGS],
        of: &[Helm, Manifests, Writing],
        proofs: &[
            &["is invalid: "],
            &["dry-run failed (Invalid)"],
            &["unknown field"],
            &["cannot be handled as a"],
            &["failed to create typed patch object"],
        ],
    },
    Cause {
        name: "OperationPending",
        meaning: "Helm has a record of an operation that has never ended, and refuses another one.",
        action: "Roll back to the last good revision with Helm, after which Flux tries again.",
        commands: &[KUBECONFIG, "helm --kubeconfig {cluster}.kubeconfig list -A --pending"],
        of: &[Helm],
        proofs: &[&["another operation (install/upgrade/rollback) is in progress"]],
    },
    Cause {
        name: "HookFailed",
        meaning: "A hook of the chart failed.",
        action: "Read the log of the Job that the message names, and correct what it says in a new release.",
        commands: &[KUBECONFIG, "kubectl --kubeconfig {cluster}.kubeconfig get jobs -A"],
        of: &[Helm],
        proofs: &[&["BackoffLimitExceeded"], &["failed pre-"], &["failed post-"]],
    },
    // The workload cluster.
    Cause {
        name: "CredentialsOfClusterRefused",
        meaning: "The cluster's API server refuses the kubeconfig: its certificate has expired or is of another authority.",
        action: "Let Cluster API write a new kubeconfig: check its certificates and the control plane.",
        commands: &["kubectl get secret {cluster}-kubeconfig -n {cluster-ns}", CLUSTER],
        of: &[Helm, Manifests],
        proofs: &[
            &["Unauthorized"],
            &["asked for the client to provide credentials"],
            &["x509: certificate"],
            &["tls: "],
        ],
    },
    Cause {
        name: "ClusterUnreachable",
        meaning: "The cluster's API server does not answer Flux.",
        action: "Check the control plane and its load balancer, and that Flux's Pods can reach its endpoint; Flux tries again by \
                 itself.",
        commands: &[
            CLUSTER,
            "kubectl get clusters.cluster.x-k8s.io {cluster} -n {cluster-ns} -o jsonpath='{.spec.controlPlaneEndpoint}'",
        ],
        of: &[Helm, Manifests],
        proofs: &[
            &["Kubernetes cluster unreachable"],
            &["connection refused"],
            &["no route to host"],
            &["no such host"],
            &["i/o timeout"],
            &["dial tcp"],
            &["TLS handshake timeout"],
            &["connection reset by peer"],
        ],
    },
    Cause {
        name: "WorkloadsNotReady",
        meaning: "Workloads of the addon did not become ready in time.",
        action: "Look at the workloads that the message names, or if it names none at the Pods that are not ready, and at their \
                 events: an image that cannot be pulled, nodes without room, or a crash.",
        commands: &[KUBECONFIG, DESCRIBE, PODS, WARNINGS],
        of: &[Helm, Manifests],
        proofs: &[
            &["timeout waiting for: ["],
            &["is not ready"],
            &["would exceed context deadline"],
            &["context deadline exceeded"],
            &["health check failed"],
            &["timed out waiting for the condition"],
        ],
    },
];
