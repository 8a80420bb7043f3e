use crate::Template;

const ROOTS: [&str; 2] = ["Cluster", "InfraCluster"];

/// Returns the reads outside, each with its place: `!` if the template waits for it, `?` if not.
fn reads(source: &str) -> Vec<String> {
    let template = Template::parse("overwrite.yaml", source).expect("a template");
    let reads = template.reads_outside(&ROOTS).into_iter();
    let shown = reads.map(|read| {
        let mark = if read.is_needed { '!' } else { '?' };
        format!("{}{mark}{}", read.field, read.place.position)
    });
    shown.collect()
}

#[test]
fn template_waits_for_a_root_that_it_prints_or_passes_on() {
    for (source, expected) in [
        ("{{ .Values.x }}", ".Values.x!1:4"),
        ("a\n  {{ .cluster.metadata.name }}", ".cluster.metadata.name!2:6"),
        ("{{ .Release.Name | quote }}", ".Release.Name!1:4"),
        ("{{ quote .Values.x }}", ".Values.x!1:10"),
        ("{{ printf \"%s\" $.Values.x }}", ".Values.x!1:16"),
        ("{{ with .Cluster }}{{ $.Values.x }}{{ end }}", ".Values.x!1:23"),
        ("{{ if .Cluster.a }}{{ .Values.x }}{{ end }}", ".Values.x!1:23"),
        ("{{ range .Cluster.a }}{{ $.Values.x }}{{ end }}", ".Values.x!1:26"),
        ("{{ define \"t\" }}{{ .Values.x }}{{ end }}{{ template \"t\" . }}", ".Values.x!1:20"),
        ("{{ define \"t\" }}{{ . }}{{ end }}{{ template \"t\" .Values.x }}", ".Values.x!1:49"),
        ("{{ index . \"Values\" \"x\" }}", ".Values!1:4"),
        ("{{ (index . \"Values\").x | default (.Other | quote) }}", ".Other!1:36"),
        ("{{ if not .Cluster.a }}{{ .Values }}{{ end }}", ".Values!1:27"),
        ("{{ default .Values.a .Release.b }}", ".Values.a!1:12"),
        ("{{ get .Cluster .Values.key }}", ".Values.key!1:17"),
    ] {
        assert!(reads(source).contains(&expected.to_owned()), "{source}: {:?}", reads(source));
    }
}

#[test]
fn template_does_not_wait_for_a_root_that_it_tests() {
    for (source, expected) in [
        ("{{ if .Values.x }}a{{ end }}", vec![".Values.x?1:7"]),
        ("{{ with .Values.x }}{{ .y }}{{ end }}", vec![".Values.x?1:9", ".Values.x.y?1:24"]),
        ("{{ if .Values.x }}{{ .Values.x }}{{ end }}", vec![".Values.x?1:7", ".Values.x?1:22"]),
        ("{{ range .Values.x }}{{ . }}{{ else }}a{{ end }}", vec![".Values.x?1:10"]),
        ("{{ .Values.x | default \"a\" }}", vec![".Values.x?1:4"]),
        ("{{ default .Cluster.a .Values.x }}", vec![".Values.x?1:23"]),
        ("{{ or .Values.x .Cluster.a }}", vec![".Values.x?1:7"]),
        (
            "{{ if and .Values.x (eq (quote .Values.x) \"a\") }}b{{ end }}",
            vec![".Values.x?1:11", ".Values.x?1:32"],
        ),
        ("{{ coalesce .Values.x .Cluster.a }}", vec![".Values.x?1:13"]),
        ("{{ if eq .Values.x \"a\" }}b{{ end }}", vec![".Values.x?1:10"]),
        ("{{ $v := .Values }}{{ if $v }}{{ $v.x }}{{ end }}", vec![".Values?1:10", ".Values.x?1:34"]),
        ("{{ $v := .Values.x }}{{ if .Cluster.a }}{{ $v = 1 }}{{ end }}{{ $v }}", vec![".Values.x?1:10"]),
    ] {
        assert_eq!(reads(source), expected, "{source}");
    }
}

/// A render comes to the first read only if an absent field lets it, so that the template may be one that never waits.
#[test]
fn place_that_an_absent_field_decides_on_is_not_sure() {
    for source in [
        "{{ if not .M }}a{{ else }}{{ .M.x }}{{ end }}",
        "{{ if not (not .M) }}{{ .M.x }}{{ end }}",
        "{{ if .Cluster.a }}a{{ else if not .M }}b{{ else }}{{ .M.x }}{{ end }}",
        "{{ if empty .M }}a{{ else }}{{ .M.x }}{{ end }}",
        "{{ if hasKey . \"M\" }}{{ .M.x }}{{ end }}",
        "{{ with get . \"M\" }}{{ $.M.x }}{{ end }}",
        "{{ if . | toJson | contains \"M\" }}{{ .M.x }}{{ end }}",
        "{{ if . }}a{{ else }}{{ .M.x }}{{ end }}",
        "{{ range $key, $value := . }}{{ if eq $key \"M\" }}{{ $.M.x }}{{ end }}{{ end }}",
        "{{ if eq (.M.x | default \"\") \"a\" }}{{ .M.x }}{{ end }}",
        "{{ if and .Cluster.a (not .M) }}a{{ else }}{{ .M.x }}{{ end }}",
        "{{ if or .M .Cluster.a }}{{ .M.x }}{{ end }}",
        "{{ if or (not .M) (eq .M.x 1 | quote) }}a{{ end }}",
        "{{ if or (not .M) (quote .M.x) }}a{{ end }}",
        "{{ if and (empty .M | not) (quote .M.x) }}a{{ end }}",
        "{{ $m := default dict .M }}{{ if $m.x }}{{ .M.x }}{{ end }}",
        "{{ $m := false }}{{ if .M }}{{ $m = true }}{{ end }}{{ if $m }}{{ .M.x }}{{ end }}",
        "{{ $m := .Cluster.a }}{{ $m = .M }}{{ if $m }}{{ .M.x }}{{ end }}",
        "{{ $debug := false }}{{ if $debug }}{{ .M.x }}{{ end }}",
        "{{ if false }}{{ .M.x }}{{ end }}",
        "{{ with default dict .M }}{{ if .x }}{{ $.M.x }}{{ end }}{{ end }}",
        "{{ define \"t\" }}{{ if .m }}{{ .m.x }}{{ end }}{{ end }}{{ template \"t\" dict \"m\" .M }}",
        "{{ range .Cluster.a }}{{ break }}{{ $.M.x }}{{ end }}",
        "{{ range .Cluster.a }}{{ if not $.M }}{{ continue }}{{ end }}{{ $.M.x }}{{ end }}",
        "{{ range .Cluster.a }}{{ if .b }}{{ if not $.M }}{{ break }}{{ end }}{{ end }}{{ $.M.x }}{{ end }}",
        "{{ range $.M | default list }}{{ $.M.x }}{{ end }}",
        "{{ range list 1 | default .M }}{{ . }}{{ else }}{{ .M.x }}{{ end }}",
    ] {
        let all = reads(source);
        assert!(all.iter().all(|read| read.contains('?')), "{source}: {all:?}");
    }
}

#[test]
fn place_that_the_data_decide_on_is_sure() {
    for (source, expected) in [
        ("{{ if .M }}a{{ else }}{{ .N }}{{ end }}", ".N!1:26"),
        ("{{ if not .M }}a{{ end }}{{ .N }}", ".N!1:29"),
        ("{{ if eq .Cluster.a \"b\" }}{{ .N }}{{ end }}", ".N!1:30"),
        ("{{ if .Cluster.a }}a{{ else if .Cluster.b }}b{{ else }}{{ .N }}{{ end }}", ".N!1:59"),
        ("{{ $a := .Cluster.a }}{{ if $a.b }}{{ .N }}{{ end }}", ".N!1:39"),
        ("{{ if (index . \"Cluster\").a }}{{ .N }}{{ end }}", ".N!1:34"),
        ("{{ with . }}{{ .N }}{{ end }}", ".N!1:16"),
        ("{{ or .M (quote .N) }}", ".N!1:17"),
        ("{{ range .Cluster.a }}{{ if .b }}{{ break }}{{ end }}{{ $.N }}{{ end }}", ".N!1:57"),
        ("{{ range .Cluster.a }}{{ if not $.M }}{{ break }}{{ end }}{{ end }}{{ .N }}", ".N!1:71"),
    ] {
        assert!(reads(source).contains(&expected.to_owned()), "{source}: {:?}", reads(source));
    }
}

#[test]
fn fields_of_other_values_are_not_roots() {
    for source in [
        "{{ .Cluster.Values.x }}{{ .InfraCluster.a }}",
        "{{ with .Cluster }}{{ .metadata.name }}{{ end }}",
        "{{ range .Cluster.a }}{{ .Values }}{{ end }}",
        "{{ with dict \"Values\" 1 }}{{ .Values }}{{ end }}",
        "{{ define \"t\" }}{{ .name }}{{ end }}{{ template \"t\" .Cluster }}",
        "{{ index . \"Cluster\" }}{{ toJson . }}{{ with $ }}{{ .Cluster.a }}{{ end }}",
        "{{ define \"never called\" }}{{ .Values }}{{ end }}",
        "{{ range $key, $value := .Cluster.a }}{{ $value.x }}{{ end }}",
        "",
    ] {
        assert_eq!(reads(source), [""; 0], "{source}");
    }
}

#[test]
fn root_that_was_meant_is_suggested() {
    for (root, expected) in [
        ("cluster", Some("Cluster")),
        ("Clutser", Some("Cluster")),
        ("InfraClust", Some("InfraCluster")),
        ("Values", None),
    ] {
        let template = Template::parse("a", &format!("{{{{ .{root}.x }}}}")).expect("a template");
        let suggestions: Vec<_> =
            template.reads_outside(&ROOTS).into_iter().map(|read| read.suggestion).collect();
        assert_eq!(suggestions, [expected.map(str::to_owned)], "{root}");
    }
}

#[test]
fn endless_templates_are_followed_for_a_limited_time() {
    let template = |at: usize| {
        let (next, after) = (at + 1, at + 2);
        format!(
            r#"{{{{ define "t{at}" }}}}{{{{ template "t{next}" .a }}}}{{{{ template "t{after}" .b }}}}{{{{ end }}}}"#
        )
    };
    let calls = (0..60).map(template).collect::<Vec<_>>().concat();
    assert!(!reads(&format!("{calls}{{{{ template \"t0\" .Values }}}}")).is_empty());
    assert!(
        !reads("{{ define \"t\" }}{{ template \"t\" .x }}{{ end }}{{ template \"t\" .Values }}").is_empty()
    );
}
