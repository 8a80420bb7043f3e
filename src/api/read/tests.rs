//! Strict reading names each problem with its line.

use proptest::prelude::*;

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
fn valid_file_is_read_with_defaults() {
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
         line 15, column 9: spec.flux.addons.cni.after: unknown field, known are decryption, dependsOn, \
         driftDetection, overridable, postRenderers, preset, suspend, timeout, values, valuesFrom, wait"
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
        lines[0].starts_with("line 7, column 13: spec.provider: provider must be a lower-case word"),
        "{refused}"
    );
    assert!(lines[1].starts_with("line 14, column 7: spec.flux.addons: an addon must not"), "{refused}");
    assert_eq!(lines.len(), 2);
}

#[test]
fn unrepresentable_values_are_named_with_lines() {
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
fn multi_document_file_keeps_line_numbers() {
    let other = "# The ClusterStack of the team\n---\n# none here\n--- # ClusterStack\n\
                 {kind: ConfigMap, data: {a: ClusterStack}}\n---\nkind: [broken\n---\n";
    ClusterStack::from_yaml(&format!("{other}{GOOD}")).unwrap();
    let refused = refusal(&format!("{other}{}---\nkind: Namespace\n", with("interval:", "intervals:")));
    assert!(refused.starts_with("line 20, column 5: spec.flux.intervals: unknown field"), "{refused}");
    assert_eq!(refusal(&format!("{GOOD}---\n{GOOD}")), "expected one ClusterStack, found 2");
    for text in ["", "[]", "kind: ConfigMap\n", "---\n---\n", "# ClusterStack\n"] {
        assert_eq!(refusal(text), "expected one ClusterStack, found 0", "{text}");
    }
    let refused = refusal(&format!("a: b\n---\n{}", with("spec:", "spec: [")));
    assert!(refused.contains("line 10 column 7"), "{refused}");
}

#[test]
fn unknown_api_version_is_refused() {
    assert_eq!(
        refusal(&with("x-k8s.io/v1alpha1", "x-k8s.io/v1")),
        "expected a ClusterStack of clusterstack.x-k8s.io/v1alpha1, found one of clusterstack.x-k8s.io/v1"
    );
    assert!(refusal(&with("apiVersion", "version")).ends_with("found one of nothing"));
}

#[test]
fn hostile_files_are_errors() {
    let deep = format!("kind: ClusterStack\na: {}", "[".repeat(100_000));
    let bomb = "kind: ClusterStack\na: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\n\
                c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c]\n\
                e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d]\nf: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e]\n\
                g: [*f, *f, *f, *f, *f, *f, *f, *f, *f]\n";
    let twice = with("kind: ClusterStack", "kind: ClusterStack\nkind: ClusterStack");
    for text in [
        deep.as_str(),
        bomb,
        &twice,
        "kind: ClusterStack\na: &a [*a]\n",
        "kind: ClusterStack\n? {a: b}\n: c\n",
    ] {
        assert!(ClusterStack::from_yaml(text).is_err(), "{}", &text[..80.min(text.len())]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn mutated_file_never_panics(at in 0..GOOD.len(), length in 0_usize..9, with in "[ -~\\n\\t\u{e9}]{0,6}") {
        let mut text = GOOD.to_owned();
        text.replace_range(at..(at + length).min(GOOD.len()), &with);
        let _ = ClusterStack::from_yaml(&text);
    }
}

#[test]
fn values_of_an_addon_may_have_nulls() {
    let text = with("dependsOn: [ccm]", "values: {proxy: null, a: {b: [1]}}");
    let values = &ClusterStack::from_yaml(&text).unwrap().spec.flux.addons["cni"].values;
    assert_eq!(serde_json::to_string(values).unwrap(), r#"{"proxy":null,"a":{"b":[1]}}"#);
}
