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
