use super::*;
use crate::release::tests::builder::archive;

const CHART: &str = "apiVersion: v2\nname: CCM\nversion: v1\n";

/// Returns the findings about a file of the addon ccm with this content: place and message.
fn of(path: &str, content: &str) -> Option<(String, String)> {
    let stack = Stack::good().with(&format!("cluster-addon/ccm/{path}"), content);
    (!found(&stack).is_empty()).then(|| one(&stack))
}

#[test]
fn file_that_helm_cannot_read_is_refused() {
    for (path, content, place, message) in [
        ("values.yaml", "a: 1\nb: [\n", "error InvalidYaml", ""),
        ("values.yaml", "a:\n\tb: 1\n", "error InvalidYaml", ""),
        (
            "values.yaml",
            "image: {{ .Values.image }}\n",
            "error InvalidYaml",
            "a key is a mapping: no reader of Kubernetes accepts it",
        ),
        ("values.yaml", "? [a, b]\n: c\n", "error InvalidYaml", ""),
        ("values.yaml", "a: [{~: a}]\n", "error InvalidYaml", ""),
        (
            "values.yaml",
            "- a\n",
            "error InvalidField",
            "the file is a list: the values of a chart must be a mapping",
        ),
        (
            "values.yaml",
            "text\n",
            "error InvalidField",
            "the file is a text: the values of a chart must be a mapping",
        ),
        ("values.schema.json", "{\"type\": ", "error InvalidJson", ""),
        ("values.schema.json", "", "error InvalidJson", ""),
        ("values.schema.json", "{}\n x", "error InvalidJson", "the file is not JSON: trailing characters"),
        ("crds/a.yaml", "kind: [\n", "error InvalidYaml", ""),
        (
            "crds/a.json",
            "[]",
            "error InvalidField",
            "the file is a list: Helm applies only Kubernetes objects",
        ),
        (
            "templates/a.yaml",
            "a: {{ if }}\n",
            "error InvalidTemplate",
            "Helm cannot parse the template: missing value for if",
        ),
        (
            "templates/NOTES.txt",
            "{{ end }}",
            "error InvalidTemplate",
            "Helm cannot parse the template: unexpected {{end}}",
        ),
        ("templates/x/_a.tpl", "{{ define \"a\" }}", "error InvalidTemplate", ""),
        ("charts/dir/a.yaml", "a: 1\n", "error InvalidChart", ""),
        (
            "charts/README.md",
            "a\n",
            "error InvalidChart",
            "it is not a chart: Helm refuses the chart around it",
        ),
        (".helmignore", "a\n**/b\n", "error InvalidChart", ""),
    ] {
        let (found, says) = of(path, content).unwrap_or_else(|| panic!("{path}: {content} passes"));
        assert!(
            found.starts_with(&format!("{place} cluster-addon/ccm/")),
            "{path}: {content}: {found}: {says}"
        );
        assert!(message.is_empty() || says == message, "{path}: {content}: {says}");
    }
}

#[test]
fn findings_have_their_place() {
    for (path, content, place) in [
        ("values.yaml", "a: 1\nb: [\n", "error InvalidYaml cluster-addon/ccm/values.yaml:2:4"),
        (
            "values.schema.json",
            "{\n  \"a\": x\n}",
            "error InvalidJson cluster-addon/ccm/values.schema.json:2:8",
        ),
        (
            "templates/a.yaml",
            "a: 1\nb: {{ if }}\n",
            "error InvalidTemplate cluster-addon/ccm/templates/a.yaml:2:10",
        ),
        (".helmignore", "a\n**/b\n", "error InvalidChart cluster-addon/ccm/.helmignore:2:1"),
        ("values.yaml", "# a\n\n- a\n", "error InvalidField cluster-addon/ccm/values.yaml:3:1"),
        ("values.yaml", "a:\n  b: {{ .c }}\n", "error InvalidYaml cluster-addon/ccm/values.yaml:2:7"),
        ("crds/a.yaml", "kind: A\n---\nx\n", "error InvalidField cluster-addon/ccm/crds/a.yaml:3:1"),
    ] {
        assert_eq!(of(path, content).map(|found| found.0).as_deref(), Some(place));
    }
}

#[test]
fn file_that_helm_reads_is_accepted() {
    for (path, content) in [
        ("values.yaml", ""),
        ("values.yaml", "# nothing\n"),
        ("values.yaml", "a: 1\na: 2\n"),
        ("values.yaml", "a: 1\n---\nb: !!binary /////w==\n? 1\n: x\n"),
        ("values.yaml", "\u{feff}a: &a {b: 1}\nc:\n  <<: *a\n  d: !Ref x\n"),
        ("values.schema.json", "{\"type\": \"object\"}"),
        ("values.schema.json", "true"),
        ("crds/a.yaml", "# a\n---\nkind: A\n---\n"),
        ("crds/README.md", "- a\n"),
        ("templates/a.yaml", "{{ include \"x\" . | nindent 2 }}{{ nosuch .Values.x }}\n"),
        ("templates/.a.yaml.swp", "{{ if }}\n"),
        ("charts/_dir/a.yaml", "a: 1\n"),
        ("charts/.README.md", "a\n"),
        ("charts/sub-1.0.0.tgz.prov", "a\n"),
        ("charts/_sub/a.yaml", "a\n"),
        ("ci/values.yaml", "- a\n"),
        ("files/a.yaml", "{{ if }}: [\n"),
    ] {
        assert_eq!(of(path, content), None, "{path}: {content}");
    }
}

#[test]
fn file_that_is_not_utf8_is_refused() {
    for path in ["values.yaml", "crds/a.yaml"] {
        let with =
            |content: &[u8]| Stack::good().with_bytes(&format!("cluster-addon/ccm/{path}"), content.to_vec());
        let (place, message) = one(&with(b"a: 1\nb: \xff\n"));
        assert_eq!(place, format!("error InvalidYaml cluster-addon/ccm/{path}:2:4"));
        assert_eq!(message, "the file is not UTF-8: invalid byte");
        assert_eq!(found(&with(b"\xff\xfea\x00:\x00 \x001\x00")), [], "Go's reader decodes UTF-16");
    }
}

#[test]
fn deep_yaml_does_not_exceed_the_stack() {
    for depth in [100, 255, 10_000] {
        for (open, close) in [("[", "]"), ("{a: ", "}"), ("{? ", "}"), ("{[", "]}")] {
            let text = format!("a: {}{}\n", open.repeat(depth), close.repeat(depth));
            of("values.yaml", &text);
        }
    }
}

#[test]
fn file_that_helm_leaves_out_is_accepted() {
    let stack = Stack::good()
        .with("cluster-addon/ccm/.helmignore", "# a\n*.bak.yaml\ntemplates/old/\n/values.yaml\n")
        .with("cluster-addon/ccm/templates/a.bak.yaml", "{{ if }}\n")
        .with("cluster-addon/ccm/templates/old/a.yaml", "{{ if }}\n")
        .with("cluster-addon/ccm/values.yaml", "- a\n");
    assert_eq!(found(&stack), []);
    assert_eq!(found(&stack.with("cluster-addon/ccm/templates/a.yaml", "{{ if }}\n")).len(), 1);
}

#[test]
fn helmignore_without_chart_yaml_is_refused() {
    let stack = Stack::good().with("cluster-addon/ccm/.helmignore", "*.md\nC*.yaml\n");
    let message = "the pattern leaves out Chart.yaml: Helm refuses a chart without it";
    let place = "error InvalidChart cluster-addon/ccm/.helmignore:2:1".to_owned();
    assert_eq!(one(&stack), (place, message.to_owned()));
    let vendored = Stack::good()
        .with("cluster-addon/ccm/charts/b/Chart.yaml", CHART)
        .with("cluster-addon/ccm/charts/b/values.yaml", "")
        .with("cluster-addon/ccm/.helmignore", "/charts/b/C*\n");
    assert_eq!(one(&vendored).0, "error InvalidChart cluster-addon/ccm/charts/b");
    assert_eq!(found(&vendored.with("cluster-addon/ccm/.helmignore", "/charts/b/\n")), []);
}

#[test]
fn helmignore_beyond_the_limits_is_refused() {
    let (at, beyond) = ("a/b\n".repeat(1_000), "a/b\n".repeat(1_001));
    assert_eq!(of(".helmignore", &at), None);
    for (text, limit) in [(beyond, "1000 patterns"), ("# ".repeat(40_000), "65536 bytes")] {
        let place = "error LimitExceeded cluster-addon/ccm/.helmignore".to_owned();
        assert_eq!(of(".helmignore", &text), Some((place, format!("the file exceeds the limit of {limit}"))));
    }
}

#[test]
fn template_beyond_the_limit_is_not_parsed() {
    let source = format!("{}{{{{ if }}}}", "x".repeat(1 << 20));
    let (place, message) = of("templates/a.yaml", &source).expect("a finding");
    assert_eq!(place, "warning LimitExceeded cluster-addon/ccm/templates/a.yaml");
    assert!(message.starts_with("the template was not checked: it has 1048584 bytes"), "{message}");
}

#[test]
fn archives_of_all_charts_share_the_limits() {
    let big =
        archive(&[("sub/Chart.yaml", CHART), ("sub/templates/a", "{{ if }}"), ("sub/b", &"x".repeat(900))]);
    let mut stack = Stack::good();
    for addon in ["ccm", "cni"] {
        stack = stack.with_bytes(&format!("cluster-addon/{addon}/charts/sub-1.0.0.tgz"), big.clone());
    }
    stack.limits.unpacked = 1_500;
    let mut findings = Findings::default();
    super::super::check(&stack.files, &stack.limits, &mut findings);
    assert_eq!(findings.len(), 1, "the second archive is not unpacked: {findings}");
}

#[test]
fn metadata_that_helm_refuses_is_an_error() {
    for (content, place, message) in [
        (
            "apiVersion: v2\nname: a/b\nversion: v1\n",
            "error InvalidChart cluster-addon/ccm/Chart.yaml:2:7",
            "invalid name \"a/b\": Helm refuses a chart whose name is a path",
        ),
        (
            "apiVersion: v3\nname: a\nversion: v1\n",
            "error InvalidChart cluster-addon/ccm/Chart.yaml:1:13",
            "unknown apiVersion v3: Helm's charts have v1 or v2",
        ),
        (
            "apiVersion: v2\nname: a\nversion: v1\ntype: library\n",
            "error InvalidChart cluster-addon/ccm/Chart.yaml:4:7",
            "the chart is a library: Helm installs nothing of it, and reports success",
        ),
        (
            "apiVersion: v2\nname: a\nversion: v1\ntype: app\n",
            "error InvalidChart cluster-addon/ccm/Chart.yaml:4:7",
            "unknown type app: Helm refuses the chart",
        ),
    ] {
        let expected = Some((place.to_owned(), message.to_owned()));
        assert_eq!(of("Chart.yaml", content), expected);
    }
    for content in
        ["name: A.b-c_1\nversion: v1\n", "apiVersion: v1\nname: a\nversion: v1\ntype: application\n"]
    {
        assert_eq!(of("Chart.yaml", content), None);
    }
}

#[test]
fn class_and_single_chart_are_checked() {
    for (stack, place) in [
        (
            Stack::good().with("cluster-class/values.yaml", "- a\n"),
            "error InvalidField cluster-class/values.yaml:1:1",
        ),
        (
            Stack::good().with("cluster-class/templates/class.yaml", "{{ end }}\n"),
            "error InvalidTemplate cluster-class/templates/class.yaml:1:1",
        ),
        (
            Stack::single().with("cluster-addon/templates/all.yaml", "{{ .a }\n"),
            "error InvalidTemplate cluster-addon/templates/all.yaml:1:7",
        ),
    ] {
        assert_eq!(one(&stack).0, place);
    }
}

#[test]
fn vendored_charts_are_checked() {
    let packed = |more: &str, files: &[(&str, &str)]| {
        let chart = format!("apiVersion: v2\nname: sub\nversion: 1.0.0\n{more}");
        let mut all = vec![("sub/Chart.yaml", chart.as_str())];
        all.extend(files);
        Stack::good().with_bytes("cluster-addon/ccm/charts/sub-1.0.0.tgz", archive(&all))
    };
    let archive = "cluster-addon/ccm/charts/sub-1.0.0.tgz: sub";
    for (stack, place) in [
        (
            packed("", &[("sub/values.yaml", "- a\n")]),
            format!("error InvalidField {archive}/values.yaml:1:1"),
        ),
        (
            packed("", &[("sub/templates/a", "\n{{ if }}")]),
            format!("error InvalidTemplate {archive}/templates/a:2:7"),
        ),
        (packed("type: x\n", &[]), format!("error InvalidChart {archive}/Chart.yaml:4:7")),
        (
            packed("", &[("sub/charts/b/Chart.yaml", CHART), ("sub/charts/b/templates/a", "{{ if }}")]),
            format!("error InvalidTemplate {archive}/charts/b/templates/a:1:7"),
        ),
        (
            Stack::good()
                .with("cluster-addon/ccm/charts/b/Chart.yaml", CHART)
                .with("cluster-addon/ccm/charts/b/templates/a", "{{ if }}"),
            "error InvalidTemplate cluster-addon/ccm/charts/b/templates/a:1:7".to_owned(),
        ),
    ] {
        assert_eq!(one(&stack).0, place);
    }
    let library = packed(
        "type: library\n",
        &[("sub/templates/a.yaml", "{{ if }}"), ("sub/templates/_a.tpl", "{{ .a }}")],
    );
    assert_eq!(found(&library), [], "Helm reads only the partial templates of a library");
}

#[test]
fn vendored_chart_that_may_be_disabled_is_only_loaded() {
    let chart = format!("{CHART}dependencies: [{{name: sub, version: 1.0.0, condition: sub.enabled}}]\n");
    let disabled = |path: &str, content: &str| {
        Stack::good()
            .with("cluster-addon/ccm/Chart.yaml", &chart)
            .with("cluster-addon/ccm/charts/sub/Chart.yaml", "apiVersion: v2\nname: sub\nversion: 1.0.0\n")
            .with(&format!("cluster-addon/ccm/charts/sub/{path}"), content)
    };
    let sub = "cluster-addon/ccm/charts/sub";
    let template = one(&disabled("templates/a.yaml", "{{ if }}")).0;
    assert_eq!(template, format!("warning InvalidTemplate {sub}/templates/a.yaml:1:7"));
    assert_eq!(one(&disabled("values.yaml", "- a\n")).0, format!("error InvalidField {sub}/values.yaml:1:1"));
}

#[test]
fn yaml_that_only_some_readers_refuse_is_a_warning() {
    for content in [
        "waitFor: [-]\n",
        "a: *b\n",
        "a: \"x\"# y\n",
        "a: 1e999\n",
        "a: &a b\n*a: y\n",
        "a: 1\n---\n\u{feff}b: 1\n",
    ] {
        let found = of("values.yaml", content).unwrap_or_default();
        assert!(found.0.starts_with("warning InvalidYaml"), "{content}: {found:?}");
    }
}
