//! The input of the benchmarks for plans and delivery: a release with four addons, and clusters of its class.

use serde_json::{Value, json};

/// The values templates of the four addons, with fields, loops, conditions and named templates as stacks use them.
const ADDONS: [(&str, &str); 4] = [
    (
        "cni",
        "{{- define \"ranges\" }}{{ range . }}\n    - {{ . }}{{ end }}{{ end -}}
values: |
  cilium:
    k8sServiceHost: {{ .Cluster.spec.controlPlaneEndpoint.host }}
    k8sServicePort: {{ .Cluster.spec.controlPlaneEndpoint.port }}
    ranges: {{- template \"ranges\" .Cluster.spec.clusterNetwork.pods.cidrBlocks }}
",
    ),
    (
        "metrics-server",
        "values: |\n  metrics-server:\n    domain: {{ .Cluster.spec.controlPlaneEndpoint.host | quote }}\n",
    ),
    (
        "csi",
        "values: |
  csi:
    clusterID: {{ .Cluster.metadata.name }}
    {{- if eq .Cluster.metadata.namespace \"production\" }}
    replicas: {{ .ControlPlane.spec.replicas }}
    {{- end }}
",
    ),
    (
        "ccm",
        "values: |
  ccm:
    cluster: {{ .Cluster.metadata.name }}
    cloudConfig: |
      {{- printf \"[Networking]\\nnetwork-id=%s\" .InfraCluster.status.network.id | nindent 6 }}
    labels: {{ toJson .Cluster.metadata.labels }}
",
    ),
];

/// The files of the release `openstack-bench-1-34-<version>` (`v1`, `v2`, …): four charts with a values template each,
/// and a cluster class. Of the four, only `ccm` differs in each release.
pub(crate) fn release_files(version: &str) -> Vec<(String, String)> {
    let stages = ADDONS.map(|(addon, _)| format!("    - {{name: {addon}, action: apply}}\n"));
    let chart = |name: &str, version: &str| format!("apiVersion: v2\nname: {name}\nversion: {version}\n");
    let mut files = vec![
        ("metadata.yaml".to_owned(), format!("versions: {{clusterStack: {version}, kubernetes: v1.34.2}}\n")),
        (
            "clusteraddon.yaml".to_owned(),
            format!("addonStages:\n  AfterControlPlaneInitialized:\n{}", stages.concat()),
        ),
        ("cluster-class/Chart.yaml".to_owned(), chart("openstack-bench-1-34-cluster-class", version)),
    ];
    for (addon, template) in ADDONS {
        let version = if addon == "ccm" { version } else { "v1" };
        files.push((format!("cluster-addon/{addon}/Chart.yaml"), chart(addon, version)));
        files.push((format!("cluster-addon/{addon}/overwrite.yaml"), template.to_owned()));
    }
    files
}

/// A Cluster of a release's class, which is in the namespace `class_namespace`, and the two objects that the Cluster
/// refers to: its control plane and its infrastructure.
pub(crate) fn objects(namespace: &str, class_namespace: &str, class: &str, number: usize) -> [Value; 3] {
    let name = format!("cluster-{number:05}");
    let metadata = json!({"name": name, "namespace": namespace, "labels": {"cluster.x-k8s.io/cluster-name": name, "tier": "gold"}});
    let reference = |group: &str, kind: &str| json!({"apiGroup": group, "kind": kind, "name": name});
    let machine = reference("infrastructure.cluster.x-k8s.io", "OpenStackMachineTemplate");
    let cluster = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": metadata,
        "spec": {
            "clusterNetwork": {"pods": {"cidrBlocks": ["10.244.0.0/16"]}, "services": {"cidrBlocks": ["10.96.0.0/12"]}},
            "controlPlaneEndpoint": {"host": format!("172.18.{}.{}", number / 250, number % 250), "port": 6443},
            "controlPlaneRef": reference("controlplane.cluster.x-k8s.io", "KubeadmControlPlane"),
            "infrastructureRef": reference("infrastructure.cluster.x-k8s.io", "OpenStackCluster"),
            "topology": {"classRef": {"name": class, "namespace": class_namespace}, "version": "v1.34.2"},
        },
        "status": {
            "initialization": {"controlPlaneInitialized": true, "infrastructureProvisioned": true},
            "conditions": [{
                "type": "Available", "status": "True", "reason": "Available", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }],
        },
    });
    let control_plane = json!({
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane", "metadata": metadata,
        "spec": {
            "replicas": 3, "version": "v1.34.2",
            "machineTemplate": {"spec": {"infrastructureRef": machine}},
        },
        "status": {"readyReplicas": 3},
    });
    let infrastructure = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "OpenStackCluster", "metadata": metadata,
        "spec": {"managedSubnets": [{"cidr": "10.8.0.0/20"}]},
        "status": {"ready": true, "network": {"id": format!("00000000-0000-4000-8000-{number:012}"), "name": name}},
    });
    [cluster, control_plane, infrastructure]
}
