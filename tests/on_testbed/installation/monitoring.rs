//! `monitoring/` as a component of an overlay, as the guide has it.

use std::fs;
use std::path::Path;

use serde_json::Value;
use stackflux_testbed::Testbed;

use super::{NAMESPACE, of_kind, repository};
use crate::support::{copy, scratch};

/// The overlay of the guide.
fn overlay() -> String {
    let guide = fs::read_to_string(repository("docs/do/operate.md")).unwrap();
    let mut blocks = guide.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.find(|block| block.contains("../monitoring")).unwrap().to_owned()
}

fn built(directory: &Path) -> Vec<Value> {
    let yaml = Testbed::shared().management().kubectl(&["kustomize", directory.to_str().unwrap()]).unwrap();
    yaml.split("\n---\n").map(|document| serde_yaml::from_str(document).unwrap()).collect()
}

#[test]
fn overlay_of_the_guide_adds_monitoring() {
    let directory = scratch("monitoring-overlay");
    for part in ["crds", "flux", "monitoring"] {
        copy(&repository(part), &directory);
    }
    let own = directory.join("overlay");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("kustomization.yaml"), overlay()).unwrap();
    let objects = built(&own);
    let [monitor, rules] = ["PodMonitor", "PrometheusRule"].map(|kind| of_kind(&objects, kind)[0]);
    let maps = of_kind(&objects, "ConfigMap");
    let is_dashboard = |map: &&&Value| map["metadata"]["labels"]["grafana_dashboard"] == "1";
    let dashboard = maps.iter().find(is_dashboard).unwrap();
    serde_json::from_str::<Value>(dashboard["data"]["dashboard.json"].as_str().unwrap()).unwrap();
    for object in [monitor, rules, dashboard] {
        assert_eq!(object["metadata"]["namespace"], NAMESPACE, "{object:#}");
    }
    let url = &rules["spec"]["groups"][0]["rules"][0]["annotations"]["runbook_url"];
    assert_eq!(url, "https://docs.example.org/stackflux/alerts#stackfluxdown");

    // The PodMonitor finds the Pods and their port.
    let pod = &of_kind(&objects, "Deployment")[0]["spec"]["template"];
    let labels = monitor["spec"]["selector"]["matchLabels"].as_object().unwrap();
    assert!(labels.iter().all(|(label, value)| pod["metadata"]["labels"][label] == *value), "{labels:?}");
    let port = &monitor["spec"]["podMetricsEndpoints"][0]["port"];
    let ports = pod["spec"]["containers"][0]["ports"].as_array().unwrap();
    assert!(ports.iter().any(|found| found["name"] == *port && found["containerPort"] == 8080), "{ports:?}");
}
