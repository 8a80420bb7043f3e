//! The condition types of our kinds, and the reasons that they give.
//!
//! A reason is at once the reason of a condition, of an event, and a metric's label. The reference of reasons,
//! `docs/reasons.md`, is made from [`Reason::meaning`] and [`Reason::action`].

use std::fmt;

/// An enumeration whose words stand in an object's status: the variant's name is the word.
macro_rules! words {
    (
        $(#[$doc:meta])*
        $name:ident { $($(#[$variant_doc:meta])* $variant:ident,)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// All of them, in the order in which they are documented.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The word in `PascalCase`.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant)),* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words! {
    /// What a condition is about.
    ConditionType {
        /// All kinds: the sum of the others. As in kstatus.
        Ready,
        /// All kinds: something is under way. Absent when nothing is. As in kstatus.
        Reconciling,
        /// All kinds: nothing goes on until somebody changes something. Absent when that is not so. As in kstatus.
        Stalled,
        /// `ClusterStack`: Flux follows the stack repository, and it was read.
        SourceReady,
        /// `ClusterStack`: there is a `ClusterStackRelease` for each release that is offered or in use, and no other.
        ReleasesSynced,
        /// `ClusterStack`: the cluster classes of all releases in use are there.
        ClusterClassesReady,
        /// `ClusterStack`: the Clusters of its classes are ready. `Ready` does not include it.
        ClustersReady,
        /// `ClusterAddon`: the addons of the Cluster are ready.
        AddonsReady,
        /// `ClusterStack`, with an upstream source: the releases that it offers are in the stack repository.
        ReleasesPublished,
        /// `ClusterStackRelease`: the release was read and nothing is wrong with it.
        ReleaseValid,
        /// `ClusterStackRelease`: the provider's object says that it is ready.
        ProviderReady,
        /// `ClusterStackRelease`: the node images were applied and are ready.
        NodeImagesReady,
        /// `ClusterStackRelease`: the cluster class was applied and is ready.
        ClusterClassReady,
        /// `ClusterStackRelease`: a cluster uses it.
        InUse,
        /// `ClusterAddon`: the cluster's control plane can be reached, and nothing says to leave it alone.
        ClusterAvailable,
        /// `ClusterAddon`: the release of the cluster's class can be used.
        ReleaseReady,
        /// `ClusterAddon`: all fields that the values templates read are there.
        ValuesRendered,
        /// `ClusterAddon`: the Flux objects are as they were planned. `ClusterStack`, with delivery through Git: they are
        /// committed, and Flux has applied the commit.
        Delivered,
        /// `ClusterAddon`: the addons are ready for the cluster's upgrade.
        UpgradeGate,
    }
}

/// The reasons, each with what it means and what to do.
macro_rules! reasons {
    ($($variant:ident: $meaning:literal, $action:literal;)*) => {
        words! {
            /// Why a condition is what it is.
            Reason { $(#[doc = $meaning] $variant,)* }
        }

        impl Reason {
            /// What it means, in one sentence.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning),* }
            }

            /// What somebody who reads it can do about it, in one sentence.
            #[must_use]
            pub fn action(self) -> &'static str {
                match self { $(Self::$variant => $action),* }
            }
        }
    };
}

impl Reason {
    /// The reason that a word is; `None` for one that is not ours.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|reason| reason.as_str() == word)
    }
}

reasons! {
    ControlPlaneNotInitialized:
        "The cluster's control plane has never answered yet, so nothing can be installed in it.",
        "Wait; if it takes long, look at the Cluster's conditions.";
    Unreachable:
        "Cluster API has lost its connection to the cluster's API server.",
        "Look at the Cluster's condition RemoteConnectionProbe; addons go on by themselves when it is back.";
    Paused:
        "The Cluster is paused, so nothing is written for it.",
        "Unset the Cluster's spec.paused when the reason for it is gone.";
    Deleting:
        "The Cluster is being deleted, so its addons are let go and not uninstalled.",
        "If the Cluster stays for long, look at its finalizers and at its infrastructure provider.";
    Available:
        "The cluster's control plane answers, and nothing says to leave the cluster alone.",
        "Nothing.";
    Rendered:
        "The values of all addons were rendered.",
        "Nothing.";
    Delivered:
        "All Flux objects are as they were planned.",
        "Nothing.";
    DeliveryFailed:
        "The API server refused or did not answer the write of a Flux object; it is tried again.",
        "Read the message, which is the API server's.";
    Committing:
        "What is planned waits for the next commit to the Git repository.",
        "Wait a few seconds.";
    CommitNotApplied:
        "What is planned is in the Git repository, and Flux has not applied that commit yet.",
        "Wait; if it takes long, look at the Flux Kustomization that applies the path, or create it.";
    DeliveredElsewhere:
        "The files of the Cluster are in the Git repository of another ClusterStack, which had it before.",
        "Give both ClusterStacks the same `delivery.git`, or set the Cluster's class back.";
    PushFailed:
        "The Git repository could not be read or pushed to; it is tried again.",
        "Read the message, which is the Git server's or says which Secret is missing what.";
    FileEdited:
        "Somebody else changed, added or removed a file in the Git repository that stackflux writes, so it is left as it is.",
        "Undo that change in the repository, or write over it with `stackflux generate --to-git --overwrite` and the file's path.";
    PullRequestOpen:
        "What is planned waits in a pull request.",
        "Review and merge it.";
    SecretInvalid:
        "A Secret that the ClusterStack names is not there, may not be read, or lacks a key.",
        "Create it as the message says, and give the operator the Role of docs/operator-and-git.md for it.";
    Published:
        "All releases that are wanted of the upstream source are in the stack repository.",
        "Nothing.";
    PublishFailed:
        "A release could not be brought from the upstream source into the stack repository; it is tried again.",
        "Read the message, which names the release, the registry or the Git server, and what was wrong.";
    UpstreamUnavailable:
        "The upstream source cannot be read; it is tried again.",
        "Read the message, which names the host and what it answered.";
    WaitingForField:
        "A values template reads a field that the cluster's objects do not have yet.",
        "Wait; if it takes long, look at the object that the message names, or at the template for a misspelt field.";
    WaitingForObject:
        "A values template reads an object that the Cluster refers to and that is not there.",
        "Wait for the infrastructure provider to create it; for files, give its file as well.";
    ValuesInvalid:
        "A values template failed, or what it gave is no mapping in YAML.",
        "Mend the template in a new release; `stackflux template` tries it against a Cluster's file.";
    DependencyInvalid:
        "The settings let an addon wait for something that can never come.",
        "Correct spec.flux.addons.<name>.dependsOn of the ClusterStack.";
    KubernetesVersionMismatch:
        "The Cluster's Kubernetes version is not the one that its class's release is for.",
        "Change spec.topology.version and the class together, to a release and its Kubernetes version.";
    ChartNameCollision:
        "A HelmChart of the name that is needed exists with another content.",
        "Delete that HelmChart if nothing uses it; two contents with the same first twelve digits are next to impossible.";
    SharesObjects:
        "A retired release stays because its cluster class shares an object with a release in use.",
        "Give the object that the message names a name with the chart's version in later releases.";
    ArtifactUnavailable:
        "What Flux serves of a Git repository cannot be fetched at present.",
        "Read the message; where there was no answer or no connection, let stackflux run in Flux's namespace or allow its own in the NetworkPolicy, and outside the cluster give it --source-controller-addr.";
    ArtifactInvalid:
        "What Flux serves of a Git repository is not what its status says, or more than stackflux reads.",
        "Read the message; where the digest is wrong, look at source-controller's storage.";
    ReleaseNotFound:
        "The commit that should have a release does not have it.",
        "Look at the path and the commit of the source that the message names.";
    ClassUnknown:
        "No ClusterStack in the namespace of the Cluster's class has that class, so nothing is planned for the Cluster; what it has stays.",
        "Set the class to one of a ClusterStack, or apply the ClusterStack that has it.";
    ReleaseMutated:
        "A release has another content than it had when it was first read; the first stays in use.",
        "Restore its directory in the stack repository, and publish the change as a new release.";
    NotYetReported:
        "Flux has not said anything yet about an object that was written.",
        "Wait; if it takes long, look whether the Flux controller of that kind runs.";
    ApplierUnavailable:
        "The Flux controller that has to act has not renewed its Lease for a minute, or, without a Lease to read, has changed no object of the kind for two minutes.",
        "Check the Deployment of the controller that the message names, in Flux's namespace.";
    Applied:
        "It is in the cluster as it was planned, and was ready.",
        "Nothing.";
    Drifted:
        "Objects of the addon were changed in the workload cluster, and Flux only reports it (driftDetection: warn).",
        "Find out who changed them; set driftDetection to enabled if Flux is to correct them.";
    Fetched:
        "Flux has fetched exactly the commit that is expected.",
        "Nothing.";
    Pending:
        "Flux has not looked at the object yet since it was last written.",
        "Wait.";
    Progressing:
        "Flux is at it.",
        "Wait; after 20 minutes it counts as failed.";
    Waiting:
        "Something else has to happen first, and Flux looks again by itself.",
        "Look at what the message names.";
    Retrying:
        "The last attempt failed, and Flux tries again.",
        "Read the message; most of what fails right after a cluster's creation heals by itself.";
    RepeatedlyFailing:
        "Five attempts or more have failed in a row; Flux tries again.",
        "Fix what the message names: retries alone have not helped.";
    KindNotInstalled:
        "The chart has an object of a kind that is not installed in the cluster that it goes to.",
        "Install the CRDs of the kind that the message names; for a cluster class, install its infrastructure provider.";
    ManifestInvalid:
        "The chart renders YAML that Flux cannot read, such as a mapping with a duplicate key.",
        "Fix the template of the chart in a new release: no retry helps.";
    RefusedByChart:
        "The chart refuses its values: a template calls `fail` or `required`, or the values do not match its schema.",
        "Set what the message asks for, in the values template of a new release or in the field of the Cluster that it reads.";
    KubeConfigNotFound:
        "The Secret with the kubeconfig of the cluster is missing, so Flux cannot reach the cluster.",
        "Wait until Cluster API has created the Secret; if it has another name, set spec.flux.kubeConfig of the ClusterStack.";
    Failed:
        "It does not work.",
        "Read the reason and the message, which are Flux's.";
    DeadlineExceeded:
        "It was on its way for longer than it may be; Flux goes on trying.",
        "Fix what the message names: it is what Flux said last, and 20 minutes of retries have not helped.";
    RolledBack:
        "An upgrade failed, and Helm went back to the release before.",
        "Read the message, and fix the addon or its values in a new release.";
    Foreign:
        "Somebody else changed the spec of an object that stackflux wrote; it is written again.",
        "Find out who it was; the event names the field manager.";
    AddonRemoved:
        "The release of the Cluster's class does not have the addon any more, or in another form, so what there is of it is uninstalled.",
        "Nothing; to keep an addon, suspend its Flux object before the Cluster moves to the release, which is then not ready until you resume or delete the object.";
    Suspended:
        "The object is suspended, so Flux does nothing and its status says nothing.",
        "Resume it when the reason for it is gone.";
    Terminating:
        "The object is being deleted.",
        "Wait; if it takes long, look whether the Flux controller of that kind runs.";
    Several:
        "Several objects have different reasons.",
        "Read the message, which names them.";
    Unrecognized:
        "An object gave a reason that is not a word, so it is not repeated.",
        "Read the message.";
    Used:
        "Clusters use the release.",
        "Nothing.";
    NotUsed:
        "No Cluster uses the release.",
        "Nothing; releases beyond spec.revisionHistoryLimit of the ClusterStack that are not offered are deleted.";
    Retiring:
        "Nothing wants the release any more, and it is deleted after ten minutes in which that stays so.",
        "Nothing, or name its version in spec.versions of the ClusterStack to keep it.";
    InUse:
        "It was deleted while Clusters use it, so it stays until none does.",
        "Move the Clusters to another class, or let go with the annotation clusterstack.x-k8s.io/on-delete: Orphan.";
    Valid:
        "The release was read, and it can be used.",
        "Nothing.";
    Invalid:
        "The release cannot be used, or a field says what cannot be.",
        "Read the message, which names the file and the line, or the field.";
    ReleaseClaimed:
        "Two ClusterStacks of one namespace want the same release; the one that has it, or the older one, goes on.",
        "Delete one of them, or take the version out of its spec.versions.";
    PinUnreachable:
        "The commit that a release is pinned to cannot be fetched any more.",
        "Bring the commit back into the stack repository, and protect its branch from being rewritten.";
    PruneBudgetExceeded:
        "More releases or addons are to be deleted than may go in an hour, so the others wait.",
        "Wait until the time in the message, or allow all of them with the annotation clusterstack.x-k8s.io/prune that the message gives.";
    NoSource:
        "The ClusterStack names no source, and the operator has no default one.",
        "Set spec.source, or start the operator with a default source.";
    SourceNotFound:
        "The GitRepository that the ClusterStack refers to is not there.",
        "Create it, or correct spec.source.gitRepositoryRef.";
    AccessDenied:
        "The ClusterStack refers to an object of another namespace, which the operator was told to refuse.",
        "Refer to an object of the same namespace, or start the operator without --no-cross-namespace-refs.";
    NotNeeded:
        "There is nothing of this kind for this release.",
        "Nothing.";
    ProviderNotReady:
        "The provider's object for the release does not say that it is ready.",
        "Look at that object, and whether the provider's operator runs.";
    ProviderTemplateNotFound:
        "The template that spec.providerRef of the ClusterStack names is not there.",
        "Create it, correct spec.providerRef, or set spec.noProvider.";
    WaitingForNodeImages:
        "The cluster class waits until the node images are ready.",
        "Look at the condition NodeImagesReady.";
    WaitingForProvider:
        "The cluster class waits until the provider's object is ready.",
        "Look at the condition ProviderReady.";
    Synced:
        "Each release that is wanted is there.",
        "Nothing.";
    Usable:
        "Clusters can use it.",
        "Nothing.";
    NotImplemented:
        "Addons are not held back during a Kubernetes upgrade yet: they move as soon as the class does.",
        "Watch the upgrade of a cluster that matters.";
}

#[cfg(test)]
mod tests;
