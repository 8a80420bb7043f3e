//! Names in commands: of the object, and out of foreign messages.

use super::*;
use crate::api::Reason;
use crate::explain::advice::commands;
use crate::explain::cause::causes;

#[test]
fn commands_have_the_names_of_their_place() {
    let place = Place {
        flux: Some((FluxKind::HelmRelease, Key::new("prod", "two.cni"))),
        cluster: Some(Key::new("prod", "two")),
        workloads: workloads(
            "timeout waiting for: [DaemonSet/kube-system/cni status: 'InProgress', Deployment/kube-system/op status: 'Failed']",
        ),
        ..Place::default()
    };
    let templates = [
        "flux logs --kind={Kind} --name={name} -n {ns}",
        "kubectl get {kind} {name} -n {ns} -o jsonpath='{.spec.values}'",
        "kubectl --kubeconfig {cluster}.kubeconfig -n {workload-ns} describe {workload-kind} {workload}",
        "kubectl get secret {secret} -n {secret-ns}",
        "kubectl patch -p '{\"spec\":{\"paused\":false}}'",
    ];
    let expected = [
        "flux logs --kind=HelmRelease --name=two.cni -n prod",
        "kubectl get helmrelease two.cni -n prod -o jsonpath='{.spec.values}'",
        "kubectl --kubeconfig two.kubeconfig -n kube-system describe daemonset cni",
        "kubectl --kubeconfig two.kubeconfig -n kube-system describe deployment op",
        "kubectl patch -p '{\"spec\":{\"paused\":false}}'",
    ];
    assert_eq!(place.fill(&templates), expected, "a command without its name is left out");
}

#[test]
fn names_are_found_in_messages() {
    let kinds = |message: &str| {
        let found = workloads(message).into_iter().map(|found| format!("{} {}", found.kind, found.key));
        found.collect::<Vec<_>>().join(", ")
    };
    for (message, expected) in [
        ("timeout waiting for: [Deployment/kube-system/a status: 'InProgress']", "deployment kube-system/a"),
        ("Deployment kube-system/cni is not ready", "deployment kube-system/cni"),
        ("ConfigMap/kube-system/a dry-run failed", ""),
        ("Deployment/kube-system/$(reboot) status", ""),
        ("Deployment/kube-system/a;reboot status", "deployment kube-system/a"),
        ("Helm upgrade failed for release kube-system/good", ""),
    ] {
        assert_eq!(kinds(message), expected, "{message}");
    }
    for (message, expected) in [
        ("could not get KubeConfig secret 'tenant/a': secrets \"a\" not found", Some("tenant/a")),
        ("Secret demo/a-kubeconfig with the kubeconfig of the cluster is missing", Some("demo/a-kubeconfig")),
        ("could not resolve Secret chart values reference 'prod/cloud' with key 'x'", Some("prod/cloud")),
        ("secrets \"git\" not found", Some("here/git")),
        ("secrets \"$(reboot)\" not found", None),
        ("nothing of the kind", None),
    ] {
        assert_eq!(secret(message, "here").map(|key| key.to_string()).as_deref(), expected, "{message}");
    }
    assert_eq!(
        prune("annotate it with clusterstack.x-k8s.io/prune=1f8d; wait"),
        Some(format!("{PRUNE}=1f8d"))
    );
    assert_eq!(prune("clusterstack.x-k8s.io/prune=$(reboot)"), None);
    let silent = "helm-controller has not renewed its Lease helm-controller-leader-election since 2026";
    assert_eq!(controller(silent).as_deref(), Some("helm-controller"));
}

/// A command with a name that no place has would never be printed.
#[test]
fn each_placeholder_has_a_name() {
    let key = || Some(Key::new("a", "b"));
    let place = Place {
        flux: Some((FluxKind::GitRepository, Key::new("a", "b"))),
        cluster: key(),
        addon: Some("cni".to_owned()),
        stack: key(),
        release: key(),
        secret: key(),
        controller: Some("helm-controller".to_owned()),
        prune: prune("annotate it with clusterstack.x-k8s.io/prune=1f8d61ec3e1e to delete all"),
        suspended: Some("cluster b -n a".to_owned()),
        workloads: vec![Workload { kind: "deployment".to_owned(), key: Key::new("a", "b") }],
    };
    let applied = Place { flux: Some((FluxKind::HelmRelease, Key::new("a", "b"))), ..place.clone() };
    let of_causes = causes().flat_map(|cause| cause.commands);
    let of_reasons = Reason::ALL.into_iter().flat_map(commands);
    for command in of_causes.chain(of_reasons) {
        let filled = [&place, &applied].iter().any(|place| place.fill(&[command]).len() == 1);
        assert!(filled, "{command}");
    }
}
