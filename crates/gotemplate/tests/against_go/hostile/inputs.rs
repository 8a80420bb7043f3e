//! The hostile templates, for the test and for `benches/hostile.rs`.

use serde_json::{Value, json};

/// One hostile template with its data.
pub(crate) struct Input {
    /// The purpose of the template.
    pub(crate) name: &'static str,
    /// The source.
    pub(crate) template: String,
    /// The data that it is rendered with.
    pub(crate) data: Value,
}

/// Lists every hostile template.
pub(crate) fn all() -> Vec<Input> {
    let mut inputs: Vec<_> =
        SHORT.iter().map(|(name, template)| input(name, (*template).to_owned())).collect();
    inputs.extend(long());
    inputs
}

fn input(name: &'static str, template: String) -> Input {
    let data = json!({ "text": "aaaaaaaaaa".repeat(10_000), "list": vec![1; 1_000], "map": {"a": {"b": 1}} });
    Input { name, template, data }
}

/// The templates that fit on a line.
const SHORT: &[(&str, &str)] = &[
    ("a map set into itself and printed", r#"{{ $_ := set .map "self" .map }}{{ .map }}"#),
    ("a map set into itself and written as JSON", r#"{{ $_ := set .map "self" .map }}{{ mustToJson .map }}"#),
    ("a map in a list in itself", r#"{{ $_ := set .map "self" (list .map) }}{{ quote .map }}"#),
    (
        "two maps in each other, compared",
        r#"{{ $a := dict }}{{ $b := dict "a" $a }}{{ $_ := set $a "b" $b }}{{ deepEqual $a $b }}{{ printf "%v" $a }}"#,
    ),
    (
        "a text doubled by print",
        r#"{{ $x := "ab" }}{{ range until 40 }}{{ $x = print $x $x }}{{ end }}{{ len $x }}"#,
    ),
    (
        "a text doubled by printf",
        r#"{{ $x := "ab" }}{{ range until 40 }}{{ $x = printf "%s%s" $x $x }}{{ end }}{{ len $x }}"#,
    ),
    (
        "a text doubled by cat",
        r#"{{ $x := "ab" }}{{ range until 40 }}{{ $x = cat $x $x }}{{ end }}{{ len $x }}"#,
    ),
    (
        "a text doubled by quoting",
        r#"{{ $x := "\\\"" }}{{ range until 40 }}{{ $x = quote $x }}{{ end }}{{ len $x }}"#,
    ),
    (
        "a text doubled by JSON",
        r#"{{ $x := "\\\"" }}{{ range until 40 }}{{ $x = toJson $x }}{{ end }}{{ len $x }}"#,
    ),
    (
        "a text doubled by join",
        r#"{{ $x := "ab" }}{{ range until 40 }}{{ $x = join $x (list $x $x) }}{{ end }}{{ len $x }}"#,
    ),
    (
        "a text doubled by replace",
        r#"{{ $x := "aa" }}{{ range until 40 }}{{ $x = replace "a" $x $x }}{{ end }}{{ len $x }}"#,
    ),
    (
        "a text doubled by a regular expression",
        r#"{{ $x := "aa" }}{{ range until 40 }}{{ $x = regexReplaceAll "a" $x "$0$0" }}{{ end }}{{ len $x }}"#,
    ),
    ("a list doubled", "{{ $x := list 1 }}{{ range until 40 }}{{ $x = concat $x $x }}{{ end }}{{ len $x }}"),
    (
        "a tree doubled and printed",
        "{{ $x := list 1 }}{{ range until 40 }}{{ $x = list $x $x }}{{ end }}{{ $x }}",
    ),
    (
        "a tree doubled and written as JSON",
        "{{ $x := list 1 }}{{ range until 40 }}{{ $x = list $x $x }}{{ end }}{{ toJson $x }}",
    ),
    (
        "a tree doubled and compared",
        "{{ $x := list 1 }}{{ $y := list 1 }}{{ range until 40 }}{{ $x = list $x $x }}{{ $y = list $y $y }}{{ end }}{{ deepEqual $x $y }}",
    ),
    (
        "a tree doubled and searched",
        "{{ $x := list 1 }}{{ $y := list 1 }}{{ range until 40 }}{{ $x = list $x $x }}{{ $y = list $y $y }}{{ end }}{{ has $x (list $y) }}",
    ),
    (
        "a tree of maps doubled",
        r#"{{ $x := dict }}{{ range until 40 }}{{ $x = dict "a" $x "b" $x }}{{ end }}{{ $x }}"#,
    ),
    ("a deep value", "{{ $x := list }}{{ range until 100000 }}{{ $x = list $x }}{{ end }}{{ $x }}"),
    (
        "a deep map",
        r#"{{ $x := dict }}{{ range until 100000 }}{{ $x = dict "a" $x }}{{ end }}{{ toPrettyJson $x }}"#,
    ),
    ("a long repeat", r#"{{ repeat 2000000000 "x" }}"#),
    ("a long repeat of nothing much", r#"{{ repeat 9223372036854775807 "x" }}"#),
    (
        "a wide printf",
        r#"{{ printf "%1000000000d" 1 }}{{ range until 1000000 }}{{ printf "%999999d" . }}{{ end }}"#,
    ),
    ("a wide printf by argument", r#"{{ range until 1000 }}{{ printf "%*d" 999999 1 }}{{ end }}"#),
    ("a precise printf", r#"{{ range until 1000 }}{{ printf "%.999999f" 1.1 }}{{ end }}"#),
    ("a precise and wide exponent", r#"{{ range until 1000 }}{{ printf "%999999.999999e" 1.1 }}{{ end }}"#),
    ("a printf of a long list with a width", r#"{{ printf "%99999d" .list }}"#),
    ("a long until", "{{ until 2000000000 }}"),
    ("a long untilStep", "{{ untilStep 0 9223372036854775807 1 }}"),
    (
        "an untilStep that overflows",
        "{{ untilStep 0 9223372036854775807 4611686018427387905 }}{{ until 2000000000 }}",
    ),
    ("a long seq", "{{ seq 1 2000000000 }}"),
    ("a range over a number", "{{ range 9223372036854775807 }}{{ end }}"),
    (
        "10^12 turns of nothing",
        "{{ range until 1000 }}{{ range until 1000 }}{{ range until 1000 }}{{ range until 1000 }}{{ end }}{{ end }}{{ end }}{{ end }}",
    ),
    (
        "10^12 turns of a condition",
        "{{ range until 10000 }}{{ range until 10000 }}{{ range until 10000 }}{{ if . }}{{ end }}{{ end }}{{ end }}{{ end }}",
    ),
    ("much output", r#"{{ range until 100000 }}{{ repeat 1000 "x" }}{{ end }}"#),
    ("much output of one list", "{{ range .list }}{{ $.list }}{{ $.text }}{{ end }}"),
    ("recursion", r#"{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}"#),
    ("recursion of the root", r#"{{ if .map }}{{ template "template" . }}{{ end }}"#),
    (
        "recursion in turns",
        r#"{{ define "a" }}{{ template "b" . }}{{ end }}{{ define "b" }}{{ template "a" . }}{{ end }}{{ template "a" . }}"#,
    ),
    (
        "a tree of calls",
        r#"{{ define "a" }}{{ if . }}{{ template "a" (rest .) }}{{ template "a" (rest .) }}{{ end }}{{ end }}{{ template "a" (until 60) }}"#,
    ),
    (
        "a regular expression of repetitions",
        r#"{{ regexMatch "((((a{100}){100}){100}){100}){100}" .text }}{{ fail "matched" }}"#,
    ),
    (
        "a regular expression of classes",
        r#"{{ range until 1000 }}{{ regexMatch (printf "(\\pL{1,%d}){1,9}" .) $.text }}{{ end }}{{ fail "matched" }}"#,
    ),
    (
        "a regular expression that backtracks elsewhere",
        r#"{{ regexMatch "(x+x+)+y" (repeat 100000 "x") }}{{ range until 100000 }}{{ regexMatch "(a*)*b" $.text }}{{ end }}"#,
    ),
    ("a long regular expression", r#"{{ mustRegexMatch (repeat 100000 "(a|b)*") .text }}"#),
    (
        "many regular expressions",
        r#"{{ range until 1000000 }}{{ regexMatch (print "a{" . "}") "a" }}{{ end }}"#,
    ),
    ("every place replaced by a long text", r#"{{ regexReplaceAll "" .text .text }}"#),
    ("every place replaced by itself", r#"{{ replace "" .text .text }}"#),
    ("a wide indent", r#"{{ indent 1000000000 "a" }}"#),
    ("a wide indent of many lines", r#"{{ nindent 100000 (repeat 10000 "\n") }}"#),
    ("a long list made unique", "{{ range until 1000 }}{{ uniq (until 100000) | len }}{{ end }}"),
    (
        "a long list without each",
        "{{ range until 1000 }}{{ without (until 100000) 1 2 3 4 5 6 7 8 9 | len }}{{ end }}",
    ),
    (
        "a long list sorted again and again",
        r#"{{ $x := splitList "" .text }}{{ range until 100000 }}{{ $_ := sortAlpha $x }}{{ end }}"#,
    ),
    (
        "a long list grown one by one",
        "{{ $x := list }}{{ range until 100000 }}{{ $x = append $x $x }}{{ end }}",
    ),
    ("a long text hashed again and again", "{{ range until 1000000 }}{{ sha256sum $.text }}{{ end }}"),
    (
        "a long text split again and again",
        r#"{{ range until 100000 }}{{ $_ := splitList "" $.text }}{{ end }}"#,
    ),
    (
        "a long text searched again and again",
        r#"{{ range until 1000000 }}{{ contains "b" $.text }}{{ end }}"#,
    ),
    (
        "a long text compared again and again",
        "{{ $x := print .text }}{{ range until 1000000 }}{{ eq $x $.text }}{{ end }}",
    ),
    ("a long text counted in characters", "{{ range until 100000 }}{{ range $.text }}{{ end }}{{ end }}"),
    ("JSON nested deeply", r#"{{ mustFromJson (repeat 100000 "[") }}"#),
    (
        "JSON nested deeply and closed",
        r#"{{ $x := print (repeat 50000 "[") (repeat 50000 "]") }}{{ mustFromJson $x }}"#,
    ),
    (
        "JSON read again and again",
        "{{ $x := toJson .list }}{{ range until 1000000 }}{{ $_ := fromJson $x }}{{ end }}",
    ),
    (
        "a map grown",
        "{{ $x := dict }}{{ range until 1000000 }}{{ $_ := set $x (print .) $x }}{{ end }}{{ $x }}",
    ),
    (
        "many values kept",
        r#"{{ $x := list }}{{ range until 100000 }}{{ $x = list $x (repeat 100000 "x") }}{{ end }}"#,
    ),
    (
        "a long map copied for each change",
        r#"{{ $m := fromJson (print "{" (replace " " "," (regexReplaceAll "[0-9]+" (seq 1 50000) "\"$0\":1")) "}") }}{{ range 1000000 }}{{ range $m }}{{ $_ := unset $m "x" }}{{ break }}{{ end }}{{ end }}"#,
    ),
    (
        "a long map that is kept at each depth",
        r#"{{ $m := fromJson (print "{" (replace " " "," (regexReplaceAll "[0-9]+" (seq 1 50000) "\"$0\":1")) "}") }}{{ define "a" }}{{ $m := .m }}{{ range $m }}{{ $_ := set $m "x" 1 }}{{ template "a" (dict "m" $m) }}{{ end }}{{ end }}{{ template "a" (dict "m" $m) }}"#,
    ),
    ("chunks of nothing", "{{ chunk 9223372036854775807 .list }}{{ chunk 0 .list }}"),
    (
        "a plucked crowd",
        "{{ range until 1000000 }}{{ $_ := keys $.map $.map $.map $.map }}{{ $_ := toString $.list }}{{ end }}",
    ),
];

/// Lists the long templates.
fn long() -> Vec<Input> {
    let nested = |open: &str, inner: &str, close: &str, times: usize| {
        format!("{}{inner}{}", open.repeat(times), close.repeat(times))
    };
    vec![
        input("5,000 parentheses", format!("{{{{ {} }}}}", nested("(", "1", ")", 5_000))),
        input("100,000 parentheses", format!("{{{{ {} }}}}", nested("(", "1", ")", 100_000))),
        input("100,000 parentheses never closed", format!("{{{{ {}", "(".repeat(100_000))),
        input(
            "5,000 calls in calls",
            format!("{{{{ {} }}}}", nested("print (", "1", ")", 5_000).replacen("print (", "print 1 (", 1)),
        ),
        input("5,000 conditions", nested("{{if 1}}", "x", "{{end}}", 5_000)),
        input("20,000 conditions never closed", "{{if 1}}".repeat(20_000)),
        input("5,000 loops", nested("{{range .}}", "x", "{{end}}", 5_000)),
        input(
            "5,000 else-if",
            format!("{{{{if 0}}}}{}{{{{end}}}}{{{{fail \"end\"}}}}", "{{else if 0}}".repeat(5_000)),
        ),
        input("5,000 definitions in each other", nested("{{define \"a\"}}", "x", "{{end}}", 5_000)),
        input("300,000 bytes", "x".repeat(300_000)),
        input("80,000 openings", "{{".repeat(80_000)),
        input(
            "a long path",
            format!("{{{{ if .map{} }}}}{{{{ end }}}}{{{{ fail \"end\" }}}}", ".c".repeat(100_000)),
        ),
        input("a long pipeline", format!("{{{{ 1{} }}}}{{{{ fail \"end\" }}}}", " | print".repeat(20_000))),
        input("many arguments", format!("{{{{ print{} }}}}{{{{ fail \"end\" }}}}", " 1".repeat(100_000))),
        input("many variables", format!("{}{{{{ fail \"end\" }}}}", "{{$x:=1}}".repeat(25_000))),
        input(
            "many wide verbs",
            format!("{{{{ printf \"{}\" }}}}{{{{ fail \"end\" }}}}", "%999999d".repeat(20_000)),
        ),
        input("a long number", format!("{{{{ {} }}}}", "9".repeat(200_000))),
        input("a comment never closed", format!("{{{{/*{}", "*".repeat(200_000))),
        input("a string never closed", format!("{{{{ \"{}", "\\\"".repeat(100_000))),
    ]
}
