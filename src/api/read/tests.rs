//! Strict reading: what is wrong is named with its line.

use super::*;

const GOOD: &str = "\
apiVersion: clusterstack.x-k8s.io/v1alpha1
kind: ClusterStack
metadata:
  name: stack
  labels: {team: platform}
spec:
  provider: openstack
  name: scs2
  kubernetesVersion: \"1.34\"
  noProvider: true
  flux:
    interval: 30m
    addons:
      cni:
        dependsOn: [ccm]
";

fn with(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    GOOD.replace(from, to)
}

fn refusal(text: &str) -> String {
    match ClusterStack::from_yaml(text) {
        Ok(stack) => panic!("was read: {stack:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_good_file_is_read_with_its_defaults() {
    let stack = ClusterStack::from_yaml(GOOD).unwrap();
    assert_eq!(stack.metadata.name.as_deref(), Some("stack"));
    assert_eq!((stack.spec.channel.as_str(), stack.spec.revision_history_limit), ("stable", 2));
    assert_eq!((stack.spec.flux.interval.as_str(), stack.spec.flux.timeout.as_str()), ("30m", "5m"));
    assert_eq!(stack.spec.flux.kube_config.secret_name_for("prod"), "prod-kubeconfig");
    assert_eq!(stack.spec.flux.addons["cni"].depends_on, ["ccm"]);
}

#[test]
fn unknown_fields_are_all_named_with_their_lines() {
    let text = with("    interval: 30m", "    Interval: 30m").replace("dependsOn", "after");
    assert_eq!(
        refusal(&text),
        "line 12, column 5: spec.flux.Interval: unknown field, did you mean interval?\n\
         line 15, column 9: spec.flux.addons.cni.after: unknown field, known are dependsOn, driftDetection, preset, \
         suspend, timeout, wait"
    );
    let text = with("spec:", "extra: 1\nspec:");
    assert_eq!(refusal(&text), "line 6, column 1: extra: unknown field, known are spec, status");
}

#[test]
fn wrong_types_are_named_with_their_lines() {
    let text = with("\"1.34\"", "1.34");
    assert_eq!(
        refusal(&text),
        "line 9, column 22: spec.kubernetesVersion: expected string, found number: put it in quotes"
    );
    let text = with("[ccm]", "ccm");
    assert_eq!(
        refusal(&text),
        "line 15, column 20: spec.flux.addons.cni.dependsOn: expected array, found string"
    );
    let text = with("[ccm]", "[ccm, {}]");
    assert!(refusal(&text).contains("spec.flux.addons.cni.dependsOn[1]: expected string, found object"));
    assert!(refusal(&with("noProvider: true", "noProvider:")).contains("expected boolean, found null"));
}

#[test]
fn broken_rules_are_named_with_their_lines() {
    let text = with("openstack", "open-stack").replace("[ccm]", "[cni]");
    let refused = refusal(&text);
    let lines: Vec<&str> = refused.lines().collect();
    assert!(
        lines[0].starts_with("line 7, column 13: spec.provider: provider is a lower-case word"),
        "{refused}"
    );
    assert!(lines[1].starts_with("line 14, column 7: spec.flux.addons: an addon does not"), "{refused}");
    assert_eq!(lines.len(), 2);
}

#[test]
fn values_that_no_type_holds_are_named_with_their_lines() {
    for (from, to, expected) in [
        ("30m", "30 minutes", "30 minutes\\\" is not a duration"),
        ("    addons", "    preset: hard\n    addons", "hard"),
        ("  name: scs2\n", "", "name"),
    ] {
        let refused = refusal(&with(from, to));
        assert!(refused.contains("line") && refused.contains(&expected.replace('\\', "")), "{refused}");
    }
}

#[test]
fn something_else_is_no_cluster_stack() {
    let other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n";
    assert_eq!(
        refusal(other),
        "expected kind ClusterStack of clusterstack.x-k8s.io/v1alpha1, found ConfigMap of v1"
    );
    assert!(refusal("[]").contains("found nothing of nothing"));
    for text in ["", "a: [", "a: 1\na: 2\n", &format!("{GOOD}---\n{GOOD}"), "a: &a [*a, *a]\n"] {
        assert!(ClusterStack::from_yaml(text).is_err(), "{text}");
    }
}
