//! Causes in messages about sources and charts.

use super::{FETCH, LOGS, SECRET, SOURCE};
use crate::explain::cause::Cause;
use crate::explain::cause::Component::{Chart, Git, Helm, Manifests, Oci};

/// An earlier row wins.
pub(super) const SOURCES: &[Cause] = &[
    // Credentials and addresses of sources.
    Cause {
        name: "SecretNotFound",
        meaning: "The Secret that the source names does not exist in its namespace.",
        action: "Create the Secret that the message names, or name another one where the source is set: in spec.source or \
                 spec.components of the ClusterStack, or in a GitRepository of your own.",
        commands: &[SECRET, SOURCE],
        of: &[Git, Oci],
        proofs: &[&["failed to get secret"], &["secrets \"", "not found"]],
    },
    Cause {
        name: "CredentialsRefused",
        meaning: "The server refuses the credentials: they are missing, wrong or expired.",
        action: "Put a valid token, password or key into the Secret of the source; Flux tries again by itself.",
        commands: &[SECRET, SOURCE, FETCH],
        of: &[Git, Oci],
        proofs: &[
            &["authentication required"],
            &["authorization failed"],
            &["invalid credentials"],
            &["unable to authenticate"],
            &["UNAUTHORIZED"],
            &["DENIED: "],
            &["status code: 401"],
            &["status code: 403"],
            &["401 Unauthorized"],
            &["403 Forbidden"],
        ],
    },
    Cause {
        name: "HostKeyUntrusted",
        meaning: "The SSH server has another host key than the Secret says.",
        action: "Find out why the key of the server has changed before you put the new one into known_hosts of the Secret.",
        commands: &[SECRET, SOURCE],
        of: &[Git],
        proofs: &[&["knownhosts"], &["host key"], &["hostkey"]],
    },
    Cause {
        name: "CertificateUntrusted",
        meaning: "The certificate of the server is not trusted, has another name, or has expired.",
        action: "Renew the certificate of the server, or put the certificate of its authority into the Secret of the source \
                 as ca.crt.",
        commands: &[SOURCE],
        of: &[Git, Oci],
        proofs: &[&["x509:"], &["certificate"]],
    },
    Cause {
        name: "RepositoryNotFound",
        meaning: "The server has no such repository, or the credentials give no access to it.",
        action: "Correct the URL where the source is set (spec.source or spec.components of the ClusterStack, or a release), or give \
                 its account access to the repository.",
        commands: &[SOURCE],
        of: &[Git, Oci],
        proofs: &[
            &["repository not found"],
            &["Repository not found"],
            &["NAME_UNKNOWN"],
            &["status code: 404"],
            &["404 Not Found"],
        ],
    },
    Cause {
        name: "RevisionNotFound",
        meaning: "The repository does not have the branch or tag.",
        action: "Restore the branch or tag, or name another one in spec.source of the ClusterStack or in the GitRepository \
                 of your own.",
        commands: &[SOURCE],
        of: &[Git, Oci],
        proofs: &[&["couldn't find remote ref"], &["reference not found"], &["no match found for semver"]],
    },
    Cause {
        name: "CommitNotFound",
        meaning: "The repository does not have the commit: its history was rewritten.",
        action: "Restore the commit in the repository under any branch, or move the Clusters of the release to another one.",
        commands: &[SOURCE],
        of: &[Git],
        proofs: &[&["unable to resolve commit object"]],
    },
    Cause {
        name: "ArtifactNotFound",
        meaning: "The registry does not have the artifact that a component names by its digest.",
        action: "Push the artifact with that digest to the registry again, or name another version of the component: in a new \
                 release, or in spec.components of the ClusterStack.",
        commands: &[SOURCE, "kubectl describe clusterstackrelease {release} -n {release-ns}"],
        of: &[Oci],
        proofs: &[&["MANIFEST_UNKNOWN"]],
    },
    Cause {
        name: "SignatureInvalid",
        meaning: "The content is not signed by a key that the source trusts.",
        action: "Find out who has published the content before you trust its key: Flux serves nothing that is not signed.",
        commands: &[SOURCE],
        of: &[Git, Oci],
        proofs: &[&["no matching signatures"], &["failed to verify the signature"], &["unable to verify"]],
    },
    Cause {
        name: "ServerUnreachable",
        meaning: "The server of the source does not answer.",
        action: "Check that the server runs, and that source-controller can reach it: its name, the network, and proxies.",
        commands: &[SOURCE, "kubectl logs deployment/source-controller -n flux-system --tail=20"],
        of: &[Git, Oci],
        proofs: &[
            &["no such host"],
            &["connection refused"],
            &["i/o timeout"],
            &["deadline exceeded"],
            &["dial tcp"],
            &["TLS handshake"],
            &[": EOF"],
        ],
    },
    // Charts.
    Cause {
        name: "ChartNotFound",
        meaning: "The release does not have the directory of the chart.",
        action: "Publish a new release that has the chart: `stackflux lint` finds what is missing in a release before it is \
                 published.",
        commands: &["kubectl describe clusterstackrelease {release} -n {release-ns}", LOGS],
        of: &[Chart, Helm, Manifests],
        proofs: &[
            &["invalid chart reference", "no such file or directory"],
            &["kustomization path not found"],
        ],
    },
    Cause {
        name: "ChartDependencyNotFound",
        meaning: "The chart names other charts that it does not contain.",
        action: "Run `helm dependency update` in the chart, and publish it in a new release.",
        commands: &[LOGS],
        of: &[Chart, Helm],
        proofs: &[
            &["found in Chart.yaml, but missing in charts/"],
            &["chart dependencies"],
            &["dependency build"],
        ],
    },
    Cause {
        name: "ContentNotFound",
        meaning: "The Flux object that has the content does not exist.",
        action: "Wait a minute for the operator to create it; if it stays away, check that the operator runs.",
        commands: &[
            "kubectl get gitrepositories,ocirepositories,helmcharts.source.toolkit.fluxcd.io -n {ns}",
        ],
        of: &[Chart, Helm, Manifests],
        proofs: &[&["source.toolkit.fluxcd.io \"", "not found"]],
    },
    Cause {
        name: "ChartNotReady",
        meaning: "Flux has not packaged the chart of the addon.",
        action: "Look at the HelmChart that the message names, and at its source: the addon follows by itself.",
        commands: &[
            "kubectl get helmcharts.source.toolkit.fluxcd.io,gitrepositories,ocirepositories -n {release-ns}",
        ],
        of: &[Helm],
        proofs: &[&["HelmChart '", "is not ready"], &["OCIRepository '", "is not ready"]],
    },
    Cause {
        name: "DependencyNotReady",
        meaning: "The addon waits for another one, which is not ready.",
        action: "Look at the addon that the message names: this one follows by itself.",
        commands: &["stackflux why {cluster} -n {cluster-ns}"],
        of: &[Helm, Manifests],
        proofs: &[&["dependency '"], &["' dependency"]],
    },
];
