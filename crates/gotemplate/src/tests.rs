//! The engine from its users' view. Go itself gave the expected answers; many more cases are in `tests/conformance`.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Limit, RenderError, Template, functions};

fn cluster() -> Value {
    json!({
        "Cluster": {
            "metadata": {"name": "one", "labels": {"app.kubernetes.io/name": "x", "b": "y"}, "annotations": null},
            "spec": {"controlPlaneEndpoint": {"host": "10.0.0.1", "port": 6443}, "subnets": ["a", "b"], "factor": 1.0},
        },
        "InfraCluster": {"status": {}},
    })
}

fn render(source: &str) -> Result<String, RenderError> {
    Template::parse("overwrite.yaml", source).expect("a template").render(&cluster())
}

fn missing(source: &str) -> String {
    match render(source) {
        Err(RenderError::Missing { path, .. }) => path.to_string(),
        other => panic!("{source}: {other:?}"),
    }
}

fn fields(source: &str) -> Vec<String> {
    let template = Template::parse("overwrite.yaml", source).expect("a template");
    template.fields().iter().map(ToString::to_string).collect()
}

#[test]
fn templates_give_the_output_of_go() {
    for (source, expected) in [
        ("name: {{ .Cluster.metadata.name }}", "name: one"),
        (
            r#"{{ printf "%s:%d" .Cluster.spec.controlPlaneEndpoint.host .Cluster.spec.controlPlaneEndpoint.port }}"#,
            "10.0.0.1:6443",
        ),
        ("{{ range $i, $s := .Cluster.spec.subnets }}{{ $i }}={{ $s }} {{ end }}", "0=a 1=b "),
        ("{{ range .Cluster.metadata.labels }}{{ . }}{{ end }}", "xy"),
        ("{{ .Cluster.metadata.labels }}", "map[app.kubernetes.io/name:x b:y]"),
        (
            "{{ .Cluster.spec.factor }} {{ typeOf .Cluster.spec.controlPlaneEndpoint.port }} {{ typeOf 1 }}",
            "1 int64 int",
        ),
        (
            r#"{{ define "t" }}<{{ . }}>{{ end }}{{ template "t" "a" }}{{ block "u" 2 }}[{{ . }}]{{ end }}"#,
            "<a>[2]",
        ),
        (r#"{{ "a\nb" | nindent 2 }}"#, "\n  a\n  b"),
        ("{{ if and .Cluster (eq .Cluster.metadata.name \"one\") }}yes{{ else }}no{{ end }}", "yes"),
        ("{{ with .Cluster.metadata }}{{ .name }}{{ $.Cluster.metadata.name }}{{ end }}", "oneone"),
        ("a {{- /* comment */ -}} b", "ab"),
        ("{{ printf \"%5.1f|%-4d|%x|%q\" 3.14159 7 255 \"a\" }}", "  3.1|7   |ff|\"a\""),
        ("{{ range 3 }}{{ if eq . 1 }}{{ continue }}{{ end }}{{ . }}{{ end }}", "02"),
        ("{{ trunc 1 \"ab\" | printf \"%d\" }}", "%!d(string=a)"),
    ] {
        assert_eq!(render(source).as_deref(), Ok(expected), "{source}");
    }
}

#[test]
fn missing_required_field_is_named() {
    for (source, path) in [
        ("{{ .InfraCluster.status.network.id }}", ".InfraCluster.status.network.id"),
        ("{{ .Cluster.metadata.annotations }}", ".Cluster.metadata.annotations"),
        (
            "{{ with .InfraCluster.status }}{{ else }}{{ .InfraCluster.status.id | quote }}{{ end }}",
            ".InfraCluster.status.id",
        ),
        ("{{ $c := .InfraCluster }}{{ $c.status.id }}", ".InfraCluster.status.id"),
        (r#"{{ index .Cluster.metadata.labels "no.name/x" }}"#, r#".Cluster.metadata.labels["no.name/x"]"#),
        (r#"{{ index .InfraCluster "status" "network" "id" }}"#, ".InfraCluster.status.network.id"),
        ("{{ printf \"%s\" .ControlPlane.spec.version }}", ".ControlPlane.spec.version"),
        ("{{ $d := dict }}{{ $d.host }}", "$d.host"),
    ] {
        assert_eq!(missing(source), path, "{source}");
    }
}

#[test]
fn optional_field_test_reads_presence_only() {
    for (source, expected) in [
        ("{{ if .ControlPlane.spec.version }}yes{{ else }}no{{ end }}", "no"),
        ("{{ .ControlPlane.spec.version | default \"none\" }}", "none"),
        (
            "{{ hasKey .Cluster.metadata \"none\" }} {{ hasKey .Cluster.metadata \"annotations\" }}",
            "false true",
        ),
        ("{{ range .InfraCluster.status.networks }}x{{ else }}none{{ end }}", "none"),
        ("{{ empty .ControlPlane }} {{ eq .ControlPlane nil }}", "true true"),
        ("{{ get .Cluster.metadata \"none\" | default \"d\" }}", "d"),
    ] {
        assert_eq!(render(source).as_deref(), Ok(expected), "{source}");
    }
}

#[test]
fn fields_read_by_template_are_listed() {
    for (source, expected) in [
        ("plain", &[][..]),
        ("{{ .Cluster.metadata.name }}", &[".Cluster.metadata.name"]),
        ("{{ if .Cluster.spec.x }}{{ .InfraCluster.a }}{{ end }}", &[".Cluster.spec.x?", ".InfraCluster.a"]),
        ("{{ with .Cluster.spec }}{{ .x.y }}{{ end }}", &[".Cluster.spec?", ".Cluster.spec.x.y"]),
        ("{{ range .Cluster.spec.subnets }}{{ .id }}{{ end }}", &[".Cluster.spec.subnets.*"]),
        (r#"{{ index .Cluster.metadata.labels "a/b" }}"#, &[r#".Cluster.metadata.labels["a/b"]"#]),
        (
            "{{ index .Cluster.metadata.labels .Cluster.metadata.name }}",
            &[".Cluster.metadata.labels.*", ".Cluster.metadata.name"],
        ),
        (
            r#"{{ define "t" }}{{ .name }}{{ end }}{{ template "t" .Cluster.metadata }}"#,
            &[".Cluster.metadata.name"],
        ),
        (
            r#"{{ define "t" }}{{ .root.Cluster.a }}{{ end }}{{ template "t" (dict "root" .) }}"#,
            &[".Cluster.a"],
        ),
        ("{{ $m := .Cluster.metadata }}{{ $m.name }}", &[".Cluster.metadata.name"]),
        ("{{ . }}", &[".*"]),
        ("{{ .Cluster.spec.x | default .Cluster.spec.y }}", &[".Cluster.spec.x", ".Cluster.spec.y"]),
        (
            r#"{{ define "t" }}{{ template "t" .next }}{{ .v }}{{ end }}{{ template "t" .Cluster }}"#,
            &[".Cluster.*"],
        ),
    ] {
        let found = fields(source);
        if source.contains("next") {
            // The field is followed several times, then taken as a whole.
            assert!(found.iter().any(|field| field.ends_with(".next.*")), "{source}: {found:?}");
        } else {
            assert_eq!(found, expected, "{source}");
        }
    }
}

#[test]
fn only_changes_of_read_fields_are_seen() {
    let template = Template::parse("t", "{{ if .Cluster.spec.x }}{{ .Cluster.metadata.name }}{{ end }}")
        .expect("a template");
    let data = |name: &str, x: Value, other: i64| json!({"Cluster": {"metadata": {"name": name, "other": other}, "spec": {"x": x}}});
    let usual = data("a", json!(1), 1);
    let is_seen =
        |other: &Value| template.fields().iter().any(|field| field.select(&usual) != field.select(other));
    assert!(!is_seen(&data("a", json!({"y": 2}), 2)), "only the presence of x is read");
    assert!(is_seen(&data("a", json!(0), 1)));
    assert!(is_seen(&data("b", json!(1), 1)));
    assert!(is_seen(&json!({"Cluster": "no map"})));
    // The placeholder of a field that cannot exist is not a value that data may have.
    let template = Template::parse("t", "{{ .a.b }}").expect("a template");
    let [short, long] = [json!({"a": 5}), json!({"a": {"b": {"no field b": 5}}})];
    assert!(template.fields().iter().any(|field| field.select(&short) != field.select(&long)));
}

#[test]
fn error_names_its_position() {
    let error = Template::parse("ccm/overwrite.yaml", "values: |\n  a: {{ .x | uper }}")
        .expect_err("an unknown function");
    assert_eq!(
        error.to_string(),
        "ccm/overwrite.yaml:2:14: function \"uper\" not defined (did you mean \"upper\"?)\n      a: {{ .x | uper }}"
    );
    let error = Template::parse("t", "{{ now }}").expect_err("a refused function");
    assert!(error.message.contains("another answer tomorrow"), "{error}");
    for (source, instead) in [
        ("{{ toYaml .a }}", "use toJson"),
        ("{{ include \"a\" . }}", "use {{ template"),
        ("{{ tpl .a . }}", "texts of the data are not rendered"),
        ("{{ required \"a\" .a }}", "use {{ fail"),
        ("{{ lookup \"v1\" \"Secret\" \"a\" \"b\" }}", "only the data that it is given"),
    ] {
        let error = Template::parse("t", source).expect_err("a function of Helm");
        assert!(error.message.contains("only Helm has it") && error.message.contains(instead), "{error}");
    }
    let error = render("é\n  é: {{ div 1 0 }}").expect_err("a division");
    let RenderError::Failed { place, .. } = error else { panic!("{error}") };
    assert_eq!((place.position.line, place.position.column), (2, 9));
    assert_eq!(place.source_line, "  é: {{ div 1 0 }}");
}

#[test]
fn limits_are_enforced() {
    for (source, expected) in [
        (r#"{{ $_ := set .Cluster "self" .Cluster }}{{ .Cluster }}"#, Limit::ValueDepth),
        (r#"{{ $x := "ab" }}{{ range until 40 }}{{ $x = print $x $x }}{{ end }}"#, Limit::ValueSize),
        ("{{ repeat 2000000000 \"x\" }}", Limit::ValueSize),
        ("{{ range until 1000 }}{{ printf \"%999999d\" . }}{{ end }}", Limit::Output),
        ("{{ until 2000000000 }}", Limit::ValueSize),
        ("{{ range 1000000000000 }}{{ end }}", Limit::Steps),
        (r#"{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}"#, Limit::Depth),
        (r#"{{ mustRegexMatch "(\\pL{1,500}){1,2}" "a" }}"#, Limit::Regex),
        (
            "{{ $x := list 1 }}{{ range until 40 }}{{ $x = list $x $x }}{{ end }}{{ deepEqual $x (list $x) }}{{ $x }}",
            Limit::ValueSize,
        ),
        ("{{ range until 100 }}{{ $x := until 100000 }}{{ end }}", Limit::Memory),
    ] {
        match render(source) {
            Err(RenderError::Limit { limit, .. }) => assert_eq!(limit, expected, "{source}"),
            other => panic!("{source}: {other:?}"),
        }
    }
}

#[test]
fn deep_sources_are_refused() {
    for (open, close) in [("(", ")"), ("{{ if 1 }}", "{{ end }}"), ("{{ range 1 }}", "{{ end }}")] {
        let inside = format!("{}1{}", open.repeat(5_000), close.repeat(5_000));
        let source = if open == "(" { format!("{{{{ {inside} }}}}") } else { inside };
        let error = Template::parse("t", &source).expect_err("too deep");
        assert!(error.message.contains("nested more than 100"), "{error}");
    }
    assert!(Template::parse("t", &" ".repeat(300_000)).is_err());
}

#[test]
fn deepest_allowed_source_fits_the_stack() {
    let nested = |open: &str, inside: &str| format!("{}{inside}{}", open.repeat(97), "{{ end }}".repeat(97));
    let parentheses = format!("{}.{}", "(".repeat(97), ")".repeat(97));
    let call = |next: &str| format!("{{{{ template \"a\" {next} }}}}");
    for body in [
        nested("{{ if . }}", &call(".")),
        nested("{{ with . }}", &call(".next")),
        nested("{{ range list $ }}", &call("$")),
        call(&parentheses),
        format!("{{{{ with {parentheses} }}}}{}{{{{ end }}}}", call(&parentheses)),
        "{{ if . }}{{ with . }}{{ range list . }}{{ template \"a\" . }}{{ end }}{{ end }}{{ end }}"
            .to_owned(),
    ] {
        let source = format!("{{{{ define \"a\" }}}}{body}{{{{ end }}}}{{{{ template \"a\" . }}}}");
        let thread = std::thread::Builder::new().stack_size(3 << 19);
        let rendered =
            thread.spawn(move || render(&source).map(|_| ())).expect("a thread").join().expect("no panic");
        assert!(
            matches!(rendered, Ok(()) | Err(RenderError::Limit { limit: Limit::Depth, .. })),
            "{rendered:?}"
        );
    }
}

#[test]
fn function_table_has_no_duplicates() {
    let mut names: Vec<_> = functions().map(|function| function.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(functions().all(|function| function.summary.ends_with('.') && !function.group.is_empty()));
}

#[test]
fn template_is_shared_between_threads() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Template>();
}

/// Generates pieces that often stand in templates, so that random sources get past the lexer.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{{ ".to_owned()),
        Just(" }}".to_owned()),
        Just("{{- ".to_owned()),
        Just(" -}}".to_owned()),
        Just("{{ end }}".to_owned()),
        Just("{{ else }}".to_owned()),
        Just("$x := ".to_owned()),
        Just("$x".to_owned()),
        Just("(".to_owned()),
        Just(")".to_owned()),
        Just(" | ".to_owned()),
        Just(".Cluster.spec".to_owned()),
        Just("\"%v %5.2f %[1]*d\" ".to_owned()),
        proptest::sample::select(
            functions()
                .map(|function| format!("{} ", function.name))
                .chain(
                    [
                        "if ",
                        "range ",
                        "with ",
                        "define \"a\"",
                        "template \"a\" ",
                        "block ",
                        "break",
                        "nil",
                        "-1 ",
                        "0x1p4 ",
                        "'é' ",
                        "1e9 "
                    ]
                    .map(str::to_owned)
                )
                .collect::<Vec<_>>()
        ),
        "\\PC{0,6}",
    ];
    proptest::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn random_template_never_panics_and_is_deterministic(source in pieces()) {
        if let Ok(template) = Template::parse("t", &source) {
            let first = template.render(&cluster());
            prop_assert_eq!(first, template.render(&cluster()));
        }
    }

    #[test]
    fn text_without_actions_stays(text in "[^{]{0,200}") {
        let template = Template::parse("t", &text).expect("a template");
        prop_assert_eq!(template.render(&json!({})), Ok(text));
    }
}
