//! The table of reasons: the word, its meaning, and what a user has to do.

use crate::names::words;

/// The reasons, each with its meaning and action.
macro_rules! reasons {
    ($($variant:ident: $meaning:literal, $action:literal;)*) => {
        words! {
            /// The reason of a condition, an event or a metric.
            Reason { $(#[doc = $meaning] $variant,)* }
        }

        impl Reason {
            /// Returns what the reason means, in one sentence.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning),* }
            }

            /// Returns what a user has to do, in one sentence.
            #[must_use]
            pub fn action(self) -> &'static str {
                match self { $(Self::$variant => $action),* }
            }
        }
    };
}

impl Reason {
    /// Finds the reason with this name; `None` for a reason that is not ours.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == word)
    }
}

reasons! {
    ControlPlaneNotInitialized:
        "The cluster's control plane is not initialized yet, so Flux cannot install anything in the cluster.",
        "Wait; if this takes long, check the Cluster's conditions.";
    Unreachable:
        "Cluster API has lost its connection to the cluster's API server.",
        "Check the control plane and its load balancer, and that the management cluster can reach its endpoint; Flux continues \
        with the addons when the connection is back.";
    Paused:
        "The Cluster is paused, so the operator writes nothing for the Cluster.",
        "To resume, unset spec.paused of the Cluster and remove its annotation cluster.x-k8s.io/paused, whatever its \
        value.";
    Deleting:
        "The Cluster is being deleted, so the operator deletes the Flux objects of its addons and uninstalls nothing.",
        "If the Cluster stays for long, check its finalizers and its infrastructure provider.";
    Available:
        "The cluster's control plane is initialized, and nothing holds the cluster.",
        "No action required.";
    Rendered:
        "The values of all addons were rendered.",
        "No action required.";
    Delivered:
        "All Flux objects are as they were planned.",
        "No action required.";
    DeliveryFailed:
        "The API server refused the write of a Flux object or did not answer; the operator tries again.",
        "Read the message, which is the API server's.";
    AlreadyExists:
        "An object of another client has the name of a planned one, and the operator does not change it.",
        "Suspend the existing object, so that Flux uninstalls nothing, and delete it, or rename the Cluster or the addon; \
        the operator creates the planned object within a minute.";
    Committing:
        "The planned change waits for the next commit to the Git repository.",
        "Wait a few seconds.";
    CommitNotApplied:
        "The planned change is in the Git repository, but Flux has not applied the commit yet.",
        "Wait; if this takes long, check the Flux Kustomization that applies the path, or create one.";
    CommitLost:
        "The branch does not contain the operator's commit now, because another client rewrote its history.",
        "No action required: the operator commits everything again; protect the branch against force pushes.";
    DeliveredElsewhere:
        "The Cluster's files are in the Git repository of another ClusterStack, which had the Cluster before.",
        "Give both ClusterStacks the same `delivery.git`, or set the Cluster's class back.";
    PushFailed:
        "The operator could not read the Git repository, push to it or open a pull request, and tries again.",
        "Read the message, which has the answer of the Git server or the forge; docs/reference/servers.md says what to do.";
    FileEdited:
        "Another author changed, added or removed a file that stackflux writes in the Git repository, so stackflux \
        does not change the file.",
        "Revert that change in the repository, or overwrite the file with `stackflux generate --to-git --overwrite` \
        and its path.";
    PullRequestOpen:
        "The planned change waits in a pull request.",
        "Review and merge the pull request.";
    SecretInvalid:
        "A Secret that the ClusterStack names is missing, cannot be read by the operator, or has missing or invalid \
        data.",
        "Create or correct the Secret as the message says, and grant the operator the Role in \
        docs/reference/servers.md for it.";
    Published:
        "The stack repository has every upstream release that the ClusterStack offers, except held ones.",
        "No action required.";
    PublishFailed:
        "The operator could not publish a release from the upstream source to the stack repository and tries again.",
        "Read the message, which names the release, the registry or the Git server, and what was wrong.";
    UpstreamUnavailable:
        "The operator cannot read the upstream source and tries again.",
        "Read the message, which names the host and what it answered.";
    WaitingForField:
        "A values template reads a field that the cluster's objects do not have yet.",
        "Wait; if this takes long, check the object that the message names, and the template for a misspelt field; if it says that the wait does not end, correct the template: in a new release, or in spec.components of the ClusterStack.";
    WaitingForObject:
        "A values template reads an object that the Cluster refers to but that is missing.",
        "Wait for the infrastructure provider to create the object; if your input is files, add the object's file.";
    ValuesInvalid:
        "A values template failed, or its output is not a YAML mapping.",
        "Fix the template in a new release, where `stackflux template` tries it with a Cluster's file, or in spec.components of the ClusterStack.";
    DependencyInvalid:
        "An addon is to wait for something that the Cluster does not have, or that cannot be waited for.",
        "Correct the dependsOn that the message names, in the ClusterStack or in components.yaml of a new release.";
    WaitingForDependency:
        "The addon keeps what is installed until an addon that it depends on is applied with the planned content.",
        "Wait; if this takes long, look at the addon that the message names: the message says what it lacks.";
    FluxTooOld:
        "Flux is older than 2.9, and its helm-controller would uninstall a chart whose name changes, so that the addon keeps what is installed.",
        "Upgrade Flux to 2.9 or later, after which the operator continues by itself.";
    FluxVersionUnknown:
        "The operator cannot read the CRD of HelmRelease, so that a chart whose name changes might be uninstalled, and the addon keeps what is installed.",
        "Let the operator's account get the CustomResourceDefinition helmreleases.helm.toolkit.fluxcd.io, as flux/base does.";
    ComponentInvalid:
        "A component of the ClusterStack cannot be used, or an addon waits for one that cannot, so that Clusters keep what they have of it.",
        "Correct the entry of spec.components.repositories that the message names.";
    SettingsInvalid:
        "A field in spec.flux.addons of the ClusterStack is not for an addon of this form, or is beyond a limit, so that Clusters keep what they have of the addon.",
        "Correct or remove the field that the message names.";
    Accepted:
        "All requests for the addons of the Cluster are accepted.",
        "No action required.";
    OverrideRefused:
        "A request for an addon of the Cluster is refused: the addon stays as it is if the request was accepted before, and is as without the request otherwise.",
        "Correct the field of the ClusterAddonOverride that the message names, remove the request, or ask the owner of the ClusterStack to allow it in spec.flux.addons.<name>.overridable.";
    ClusterNotFound:
        "The namespace has no Cluster of this name.",
        "Create the Cluster, or give the ClusterAddonOverride the name of an existing one.";
    KubernetesVersionMismatch:
        "The Cluster's Kubernetes version differs from the version that its class's release is for.",
        "Change spec.topology.version and the class together, to a release and its Kubernetes version.";
    WaitingForStage:
        "The addon keeps what is installed until its turn in the stages of the release.",
        "Wait; if this takes long, look at `status.stages` of the ClusterAddon and at the addons whose turn it is.";
    WaitingForUpgrade:
        "The addon keeps what is installed until an upgrade of the Cluster to another Kubernetes version gets so far.",
        "Wait; the message says for what.";
    ChartNameCollision:
        "A HelmChart with the planned name exists, but has different content.",
        "Delete that HelmChart if nothing uses it; two digests with the same first twelve digits are next to \
        impossible.";
    SharesObjects:
        "A retired release stays because its cluster class shares an object with a release in use.",
        "In the next release, include the chart version in that object's name.";
    ArtifactUnavailable:
        "The artifact that Flux serves for a Git repository cannot be fetched at present.",
        "Read the message; if source-controller did not answer, run stackflux in Flux's namespace or allow its \
        namespace in the NetworkPolicy, and outside the cluster set --source-controller-addr.";
    ArtifactInvalid:
        "The artifact that Flux serves for a Git repository differs from what its status says, or exceeds a limit of \
        stackflux.",
        "Read the message; if the digest does not match, check source-controller's storage.";
    ReleaseNotFound:
        "A release that spec.versions or the class of a Cluster names, or that is pinned to a commit, is missing from \
        the stack repository at the commit that the message names.",
        "Name an existing release, publish the missing one, or correct spec.source.git.path.";
    ReleaseNotOffered:
        "A Cluster of another namespace names a release that the ClusterStack neither offers nor has installed; the \
        ClusterStack's ClustersReady does not count the Cluster.",
        "Set the Cluster's class to a release that the ClusterStack offers, or ask the owner of the ClusterStack to add \
        the version to spec.versions.";
    ClassUnknown:
        "The Cluster has no class, or no ClusterStack in the namespace of its class has that class, so the operator \
        plans nothing for the Cluster and keeps what is installed.",
        "Set the Cluster's class to one of a ClusterStack, or apply the ClusterStack that has the class.";
    ReleaseMutated:
        "The content of a release has changed since it was first read; the first content stays in use.",
        "Restore the release's directory in the stack repository, and publish the change as a new release.";
    NotYetReported:
        "Flux has not reported yet on an object that the operator wrote.",
        "Wait; if this takes long, check that the Flux controller for that kind is running.";
    ApplierUnavailable:
        "The Flux controller that has to act has not renewed its Lease for a minute or, if its Lease cannot be read, \
        has changed no object of the kind for two minutes.",
        "Check the Deployment of the controller that the message names, in Flux's namespace.";
    Applied:
        "The object is in the cluster as planned, and was ready.",
        "No action required.";
    Drifted:
        "Objects of the addon were changed in the workload cluster, and Flux only reports it (driftDetection: warn).",
        "Find out who changed the objects that the message names; set driftDetection to enabled if Flux is to correct them.";
    Fetched:
        "Flux has fetched exactly the commit that is expected.",
        "No action required.";
    Pending:
        "Flux has not reconciled the object since it was last written.",
        "Wait.";
    Progressing:
        "The operator is writing the object, or Flux is reconciling it.",
        "Wait; after 20 minutes the object counts as failed.";
    Waiting:
        "Flux waits for something else first and checks again by itself.",
        "Check what the message names; unless that is another object, this one counts as failed after 20 minutes.";
    Retrying:
        "The last attempt failed, and Flux tries again.",
        "Read the message; most failures right after a cluster's creation resolve by themselves.";
    RepeatedlyFailing:
        "Five attempts or more have failed in a row; Flux tries again.",
        "Fix what the message names: retries alone have not helped.";
    KindNotInstalled:
        "The chart has an object of a kind that is not installed in the target cluster.",
        "Install what has the kind that the message names: CRDs, or for a cluster class the infrastructure provider; correct apiVersion or \
        kind in a new release if Kubernetes has them under other names.";
    ManifestInvalid:
        "The chart renders YAML that Flux cannot read, such as a mapping with a duplicate key.",
        "Fix the template of the chart in a new release: no retry helps.";
    TemplateFailed:
        "A template of the chart fails with the values that it gets.",
        "Correct the template that the message names in a new release, or the value that it reads: no retry helps.";
    RefusedByChart:
        "The chart refuses its values: a template calls `fail` or `required`, or the values do not match its schema.",
        "Set what the message asks for, in the values template of a new release or in the field of the Cluster that it reads.";
    KubeConfigNotFound:
        "The Secret with the kubeconfig of the cluster is missing, so Flux cannot reach the cluster.",
        "Wait until Cluster API has created the Secret; if it has another name, set spec.flux.kubeConfig of the ClusterStack.";
    Failed:
        "The reconciliation failed.",
        "Correct the cause in the message, which is Flux's or Helm's.";
    DeadlineExceeded:
        "The object did not become ready within 20 minutes; Flux keeps retrying.",
        "Fix what the message names: it is Flux's last report, and 20 minutes of retries have not helped.";
    RolledBack:
        "An upgrade failed, and Helm rolled back to the previous revision.",
        "Read the message, and fix the addon or its values in a new release.";
    Foreign:
        "Another field manager changed the spec of an object that stackflux wrote; the operator restores the spec \
        unless it is held, suspended or refused, and waits up to five minutes if it is changed again and again.",
        "Find the client that changes the spec, and stop it: the message or the event names its field manager.";
    AddonRemoved:
        "The release of the Cluster's class no longer has the addon, or has it in another form, so Flux uninstalls \
        what is installed.",
        "No action required; to keep an addon, suspend its Flux object before the Cluster moves to the release; the \
        ClusterAddon is then not ready until you resume or delete the object.";
    FileRemoved:
        "The release lacks the addon in this form, so the operator removes its file, and Flux uninstalls it.",
        "No action required; if this takes long, check that the repository's Kustomization has spec.prune.";
    Suspended:
        "The object is suspended, so Flux does not reconcile it and its state is unknown.",
        "Find out who suspended the object and why, and resume it.";
    Terminating:
        "The object is being deleted.",
        "Wait; if this takes long, check that the Flux controller for that kind is running.";
    Several:
        "Several objects have different reasons.",
        "Read the message, which names them.";
    Unrecognized:
        "An object reported a reason that is not valid in a condition, so the reason is not repeated.",
        "Read the message.";
    Used:
        "Clusters use the release.",
        "No action required.";
    NotUsed:
        "No Cluster uses the release.",
        "No action required; the operator deletes releases beyond spec.revisionHistoryLimit of the ClusterStack that \
        are not offered.";
    Retiring:
        "The release is unused and will be deleted after ten minutes unless a Cluster uses it or the ClusterStack \
        offers it again.",
        "No action required; to keep the release, name its version in spec.versions of the ClusterStack.";
    InUse:
        "The object was deleted while Clusters use it, so the operator keeps it until no Cluster does.",
        "Move the Clusters to another class, or orphan everything with the annotation \
        clusterstack.x-k8s.io/on-delete: Orphan.";
    Valid:
        "The release was read, and it can be used.",
        "No action required.";
    Invalid:
        "The release or a field of the spec is invalid.",
        "Correct what the message names: the field in the spec, or the file in a new release, which `stackflux lint` checks before it \
        is published.";
    ReleaseClaimed:
        "Two ClusterStacks claim the same release, or the same source beside a GitRepository of a third namespace; the \
        one that has it, otherwise the older one, keeps it.",
        "Remove the version from spec.versions of the ClusterStack that does not have it, or delete that ClusterStack; for a source \
        of a third namespace, refer to a GitRepository in its own namespace.";
    PinUnreachable:
        "Flux can no longer fetch the commit that a release is pinned to.",
        "Restore the commit in the stack repository, or move its Clusters to another release, and protect the branch \
        from history rewrites.";
    PruneBudgetExceeded:
        "More releases or addons are due for deletion than the hourly budget allows, so the others wait.",
        "No action required: the others follow at the time in the message; the annotation that the message gives deletes all of \
        them now.";
    NoSource:
        "The ClusterStack has no source, and the operator has no default source.",
        "Set spec.source, or start the operator with a default source.";
    SourceNotFound:
        "The GitRepository that the ClusterStack refers to does not exist.",
        "Create the GitRepository, or correct spec.source.gitRepositoryRef.";
    AccessDenied:
        "The ClusterStack refers to an object of another namespace, which --no-cross-namespace-refs forbids.",
        "Refer to an object of the same namespace, or start the operator without --no-cross-namespace-refs.";
    SourceNotAllowed:
        "The ClusterStack refers to a GitRepository of another namespace, whose owner has not allowed that; what was \
        delivered stays.",
        "Ask the owner of the GitRepository to run the command in the message, which sets the annotation \
        clusterstack.x-k8s.io/allowed-namespaces, or take the source from the namespace of the ClusterStack.";
    NotNeeded:
        "The release needs nothing of this kind.",
        "No action required.";
    ProviderNotReady:
        "The provider's object for the release does not report that it is ready.",
        "Check that object, and that the provider's operator is running.";
    ProviderTemplateNotFound:
        "The template that spec.providerRef of the ClusterStack names does not exist.",
        "Create the template, correct spec.providerRef, or set spec.noProvider.";
    WaitingForNodeImages:
        "The cluster class waits until the node images are ready.",
        "Check the condition NodeImagesReady.";
    WaitingForProvider:
        "The cluster class waits until the provider's object is ready.",
        "Check the condition ProviderReady.";
    Synced:
        "Every release that is offered or in use is present.",
        "No action required.";
    Usable:
        "Clusters can use it.",
        "No action required.";
    NotUpgrading:
        "The control plane has the Kubernetes version of the Cluster.",
        "No action required.";
    WaitingForClusterAPI:
        "The Cluster has another Kubernetes version than its control plane, and Cluster API has not come so far that it \
        waits for the addons.",
        "Correct what Cluster API says in the message: a patch or variable of the class, or a control plane that is not healthy; if it \
        says nothing for minutes, check that Cluster API runs with the feature gate RuntimeSDK.";
    WaitingForAddons:
        "Cluster API waits with the upgrade until the addons that belong before it are upgraded.",
        "Wait; if this takes long, run `stackflux why` with the name of an addon in the message, or open the gate with \
        `stackflux gate open`.";
    Opened:
        "All addons that belong before the upgrade are upgraded, so Cluster API may upgrade the control plane.",
        "No action required; the message says what else Cluster API waits for.";
    Upgrading:
        "Cluster API upgrades the control plane and the nodes.",
        "Wait; addons that belong after the upgrade move when all nodes have the version.";
    Forced:
        "A user opened the gate, so Cluster API may upgrade the control plane before the addons are upgraded.",
        "Watch the addons that the message names: their old versions meet the new Kubernetes version.";
    Off:
        "The ClusterStack has upgradeGate: Off, so no upgrade waits for addons.",
        "No action required; set spec.upgradeGate to Enforce if upgrades are to wait.";
    ForeignAnnotation:
        "Another client puts the annotation back that delays the upgrade.",
        "Remove the annotation before-upgrade.hook.cluster.cluster.x-k8s.io/stackflux from the manifest that the field \
        manager in the message applies: the operator sets it by itself.";
    NotEnforced:
        "Cluster API upgrades clusters without waiting for their addons.",
        "Start Cluster API with the feature gate RuntimeSDK: EXP_RUNTIME_SDK=true for clusterctl.";
    Bypassed:
        "Cluster API upgrades the cluster, and an addon that belongs before the upgrade is not upgraded now.",
        "Run `stackflux why` with the name of an addon in the message: the upgrade does not stop.";
    GateNotWritable:
        "The API server or Cluster API's webhook refused the change of the annotation that delays the upgrade.",
        "Read the message, which has the refusal; the operator tries again.";
    ControlPlaneUnreadable:
        "The operator cannot read the control plane of the Cluster, and takes its Kubernetes version from the addons that \
        were applied last.",
        "Grant the operator the rights that the message names.";
}
