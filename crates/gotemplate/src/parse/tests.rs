use crate::check_syntax;

#[test]
fn templates_of_other_programs_may_call_any_function() {
    let deep = format!("{}1{}", "(".repeat(300), ")".repeat(300));
    let long = format!("{{{{ include \"a\" . }}}}{}", "x".repeat(crate::limits::SOURCE_BYTES));
    for source in [
        "{{- include \"a.b\" (dict \"a\" $) | nindent 4 -}}",
        "{{ tpl (toYaml .Values.x) $ }}{{ lookup \"v1\" \"Secret\" \"\" \"a\" }}{{ required \"x\" .Values.y }}",
        "{{- define \"a\" -}}{{- range $i, $x := .Values.l }}{{ if $x }}{{ continue }}{{ end }}{{ break }}{{ end }}{{ end }}",
        "{{- /* a {{ comment }} */ -}}{{ with .Values.a }}{{ .b }}{{ else with .Values.c }}{{ .d }}{{ else }}e{{ end }}",
        "{{ block \"a\" . }}b{{ end }}{{ .Files.Get \"x\" | b64enc }}{{ (.Files.Glob \"a\").AsConfig }}",
        "{{ now | date \"2006\" }}{{ env \"X\" }}{{ nosuchfunction }}{{ 1i }}",
        "{{ $x := 1 }}{{ $x = 2 }}{{ if $y := .a }}{{ $y }}{{ end }}{{ printf `{{` }}",
        &format!("{{{{ {deep} }}}}"),
        &long,
        "",
    ] {
        assert_eq!(check_syntax("templates/a.yaml", source), Ok(()), "{source:.100}");
    }
}

#[test]
fn syntax_that_no_program_accepts_is_refused() {
    for (source, message) in [
        ("a\n{{ if .Values.x }}b", "unexpected EOF: an {{end}} is missing"),
        ("a\n{{ end }}", "unexpected {{end}}"),
        ("a\n{{ .Values.x }", "unexpected \"}\" in operand"),
        ("a\n{{ include \"a . }}", "unterminated quoted string"),
        ("a\n{{ $x }}", "undefined variable \"$x\""),
        ("a\n{{ break }}", "{{break}} outside {{range}}"),
        ("a\n{{/* b", "unclosed comment"),
    ] {
        let error = check_syntax("templates/a.yaml", source).unwrap_err();
        assert_eq!(error.message, message, "{source}");
        assert!(error.place.position.line == 2, "{error}");
    }
    let long = format!("{}{{{{ end }}}}", "x".repeat(crate::limits::SOURCE_BYTES));
    assert!(check_syntax("a", &long).is_err());
}
