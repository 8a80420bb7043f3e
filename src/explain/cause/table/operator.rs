//! Causes in messages of the operator's own Git layer.

use super::SECRET;
use crate::explain::cause::Cause;
use crate::explain::cause::Component::{Delivery, Publishing};

/// An earlier row wins.
pub(super) const OPERATOR: &[Cause] = &[
    Cause {
        name: "TokenRefused",
        meaning: "The Git server or the forge refuses the token, password or key of the operator: it is wrong or has expired.",
        action: "Put a valid token, password or key into the Secret that the ClusterStack names; the operator reads it again within a minute.",
        commands: &[SECRET, "kubectl describe clusterstack {stack} -n {stack-ns}"],
        of: &[Delivery, Publishing],
        proofs: &[
            &["the Git server refuses the password"],
            &["the Git server refuses the SSH key"],
            &["authentication required"],
            &["(401)"],
        ],
    },
    Cause {
        name: "PushNotAllowed",
        meaning: "The account of the operator may read the repository, and may not write to it.",
        action: "Give the account write access to the contents of the repository.",
        commands: &["kubectl describe clusterstack {stack} -n {stack-ns}"],
        of: &[Delivery, Publishing],
        proofs: &[&["access forbidden (403)"], &["lack a permission"]],
    },
    Cause {
        name: "BranchProtected",
        meaning: "The Git server refuses the commit: the branch is protected, or a hook of the server forbids it.",
        action: "Allow the account of the operator to push to the branch, or let it open pull requests: set pullRequest of the \
                 ClusterStack's delivery.",
        commands: &["kubectl describe clusterstack {stack} -n {stack-ns}"],
        of: &[Delivery, Publishing],
        proofs: &[&["refuses the commit on branch"], &["protected branch"]],
    },
    Cause {
        name: "BranchNotFound",
        meaning: "The repository does not have the branch.",
        action: "Create the branch, or correct its name in the ClusterStack: the operator creates one only in an empty repository.",
        commands: &["kubectl describe clusterstack {stack} -n {stack-ns}"],
        of: &[Delivery, Publishing],
        proofs: &[&["branch ", " not found"], &["HEAD does not point to a branch"]],
    },
    Cause {
        name: "GitRepositoryNotFound",
        meaning: "The Git server has no such repository, or the credentials give no access to it.",
        action: "Correct the URL in the ClusterStack, or give the account access to the repository.",
        commands: &["kubectl describe clusterstack {stack} -n {stack-ns}"],
        of: &[Delivery, Publishing],
        proofs: &[&["no such repository"], &["(404)"]],
    },
    Cause {
        name: "ServerUntrusted",
        meaning: "The operator does not trust the host key or the certificate of the server.",
        action: "Put the host key (known_hosts) or the certificate of the authority (ca.crt) into the Secret, after you have \
                 checked it.",
        commands: &["kubectl describe clusterstack {stack} -n {stack-ns}"],
        of: &[Delivery, Publishing],
        proofs: &[&["host key"], &["certificate"]],
    },
    Cause {
        name: "ServerNotAnswering",
        meaning: "The server does not answer the operator.",
        action: "Check that the server runs, and that the operator's Pod can reach it: its name, the network, and proxies.",
        commands: &["kubectl describe clusterstack {stack} -n {stack-ns}"],
        of: &[Delivery, Publishing],
        proofs: &[
            &["timed out"],
            &["connection refused"],
            &["Connection refused"],
            &["failed to resolve"],
            &["dns error"],
            &["could not connect"],
        ],
    },
];
