use super::*;

const OWN: &str = "cluster-addon/ccm/overwrite.yaml";

#[test]
fn root_that_cannot_exist_is_refused() {
    for (source, place, message) in [
        (
            "a: 1\nb: {{ .Values.x }}\n",
            "error UnknownRoot cluster-addon/ccm/overwrite.yaml:2:7",
            "no Cluster ever has .Values.x: the addon would wait for it for ever",
        ),
        (
            "name: {{ .cluster.metadata.name | quote }}\n",
            "error UnknownRoot cluster-addon/ccm/overwrite.yaml:1:10",
            "no Cluster ever has .cluster.metadata.name: the addon would wait for it for ever",
        ),
        (
            "{{ if .Release.Name }}a: 1{{ end }}\n",
            "warning UnknownRoot cluster-addon/ccm/overwrite.yaml:1:7",
            "no Cluster ever has .Release.Name: the template always finds it empty",
        ),
        (
            "a: {{ .Values.x | default 1 }}\n",
            "warning UnknownRoot cluster-addon/ccm/overwrite.yaml:1:7",
            "no Cluster ever has .Values.x: the template always finds it empty",
        ),
    ] {
        assert_eq!(one(&Stack::good().with(OWN, source)), (place.to_owned(), message.to_owned()), "{source}");
    }
}

#[test]
fn common_template_is_checked() {
    let stack = Stack::single().with("cluster-addon-values.yaml", "a: {{ .Values.x }}\n");
    assert_eq!(one(&stack).0, "error UnknownRoot cluster-addon-values.yaml:1:7");
}

#[test]
fn root_that_was_meant_is_in_the_hint() {
    for (field, hint) in [
        (".cluster.a", "did you mean .Cluster?"),
        (".ControlPane.a", "did you mean .ControlPlane?"),
        (
            ".Values.a",
            "a values template reads .Cluster, .ControlPlane and .InfraCluster, and nothing of Helm",
        ),
    ] {
        let findings = found(&Stack::good().with(OWN, &format!("a: {{{{ {field} }}}}\n")));
        assert_eq!(findings[0].hint.as_deref(), Some(hint));
    }
}

#[test]
fn error_after_many_warnings_is_reported() {
    let source = format!("{}b: {{{{ .Values.y }}}}\n", "# {{ .Values.x | default 1 }}\n".repeat(100));
    let findings = found(&Stack::good().with(OWN, &source));
    let errors: Vec<_> = findings.iter().filter(|found| found.severity == Severity::Error).collect();
    assert_eq!(
        (errors.len(), errors.first().and_then(|error| error.line), findings.len()),
        (1, Some(101), 20)
    );
}

#[test]
fn number_of_findings_is_limited() {
    assert_eq!(found(&Stack::good().with(OWN, &"a: {{ .Values.x }}\n".repeat(100))).len(), 20);
}
