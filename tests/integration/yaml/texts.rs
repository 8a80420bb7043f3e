//! Texts that some YAML writer or reader is known to get wrong, and texts as they stand in real values.

/// The whole corpus, without repetitions.
pub(crate) fn all() -> Vec<String> {
    let mut texts: Vec<String> = [WORDS, NUMBERS, TIMES, INDICATORS, BLANKS, CHARACTERS, LINES, EVERYDAY]
        .concat()
        .into_iter()
        .map(str::to_owned)
        .collect();
    texts.extend(indicators_in_context());
    texts.extend(lines_in_context());
    texts.extend(
        [127, 128, 129, 990, 1_000, 1_001, 1_022, 1_023, 1_024, 1_025, 5_000].map(|size| "x".repeat(size)),
    );
    texts.extend([80, 250, 500].map(|words| "some: word ".repeat(words)));
    texts.extend([340, 341, 342].map(|size| "語".repeat(size)));
    texts.sort();
    texts.dedup();
    texts
}

/// Every indicator and blank at the beginning, in the middle and at the end of a text.
fn indicators_in_context() -> Vec<String> {
    let indicators = "-?:,[]{}#&*!|>'\"%@`~=<\\ \t\n\r\u{85}\u{a0}\u{2028}\u{feff}";
    indicators
        .chars()
        .flat_map(|mark| {
            [
                format!("{mark}a"),
                format!("{mark} a"),
                format!("a{mark}b"),
                format!("a {mark} b"),
                format!("a{mark}"),
            ]
        })
        .collect()
}

/// Two lines with every combination of what may stand before, between and after them.
fn lines_in_context() -> Vec<String> {
    let mut texts = Vec::new();
    for before in ["", "\n", " ", "\t", "  \n", "# "] {
        for between in ["\n", "\n\n", "\n  ", "\n\t", " \n", "\r\n", "\n- ", "\n---\n"] {
            for after in ["", "\n", "\n\n\n", " ", "\n "] {
                texts.push(format!("{before}one{between}two{after}"));
            }
        }
    }
    texts
}

#[rustfmt::skip]
const WORDS: &[&str] = &[
    "", "~", "null", "Null", "NULL", "nUll", "nil", "none", "None", "y", "Y", "n", "N", "yes", "Yes", "YES",
    "yEs", "no", "No", "NO", "true", "True", "TRUE", "tRUE", "false", "False", "FALSE", "on", "On", "ON",
    "oN", "off", "Off", "OFF", "t", "f", "T", "F", "yes ", " no", "nope", "yesterday", "one", "offer", "<<",
    "=", "<", "<<<", "==", "undefined", "!!null", "!!str a", "!!binary aGVsbG8=", "NaN", "nan", "inf",
    "Infinity", "-Infinity", "infinity", "+infinity",
];

#[rustfmt::skip]
const NUMBERS: &[&str] = &[
    "0", "00", "-0", "+0", "1", "-1", "+1", "01", "007", "0777", "-0777", "0888", "0o7", "0o17", "0O17",
    "-0o17", "0o8", "0x", "0x1F", "0X1F", "0x1g", "-0x1F", "+0x1F", "0xdeadbeef", "0x1_F", "0b", "0b1", "0B1",
    "0b1010_1010", "-0b1", "0b2", "1_000", "1__000", "_1", "1_", "_", "1,000", "1,000.5", "1,",
    "123456789012345678901234567890", "9223372036854775807", "9223372036854775808", "18446744073709551615",
    "18446744073709551616", "-9223372036854775809", "1.0", "1.", ".1", ".", "+.1", "-.1", "-.", "+.", "+",
    "1.5.2", "1.2.3", "1e3", "1E3", "1e+3", "1e-3", "1.5e3", "1.e3", ".5e3", ".e3", "1e", "1e+", "e3", "1e3x",
    "1.0e+21", "1e400", "-1e400", "1e-400", "0e0", "0.0", "00.5", "12e03", "1_0.5_0", "1.5e1_0", "0x1p4",
    "0x1.8p1", ".inf", ".Inf", ".INF", "+.inf", "-.inf", "-.INF", ".iNf", ".nan", ".NaN", ".NAN", "-.nan",
    ".nano", "1d", "1f", "5m", "10s", "100m", "1Gi", "1E", "2Ei", "0.5", "1.32", "1.10", "+1.5", "--1", "+-1",
    "- 1", "1 2", "1-2", "1/2", "１２", "٣", "½", "12345e7", "1234e567", "0e123456", "00e1", "3e8", "7e-10",
    "0123e4",
];

#[rustfmt::skip]
const TIMES: &[&str] = &[
    "1:20", "12:30", "12:30:45", "190:20:30", "190:20:30.15", "-1:20", "+1:20", "1:60", "1:2:3:4", "0:0",
    "01:02", "1:", "8080:80", "22:22", "60:00", "1:20a", "::", "::1", "1::2", "2001:db8::1", "2001-12-14",
    "2001-1-1", "2001-12-14a", "2001-12", "2001-12-", "2001-13-45", "2001-12-14T21:59:43Z",
    "2001-12-14t21:59:43.10-05:00", "2001-12-14 21:59:43.10 -5", "2001-12-14 21:59:43",
    "2001-12-15 2:59:43.10", "2001-12-14T", "2001-12-14 x", "20011214", "20011214T215943Z", "0000-00-00",
    "9999-99-99", "12001-12-14", "2001/12/14", "2001-123-1", "2026-11-20T19:45:47.123456789+01:00",
];

#[rustfmt::skip]
const INDICATORS: &[&str] = &[
    "-", "--", "---", "----", "--- a", "---a", "...", "....", "... a", "...a", "..", "?", "? a", "?a", ":",
    ": a", ":a", "a:", "a: b", "a:b", "a :b", "a : b", "a::", "a:: b", "#", "#a", "a#", "a #", "a #b", "a# b",
    "a\t#b", ",", ",a", "a,", "[", "]", "[]", "[a]", "[a", "{", "}", "{}", "{a: b}", "{a", "{{ .Values.a }}",
    "a {{ b }}", "{{", "}}", "&", "&a", "&a b", "*", "*a", "*a b", "**", "!", "!a", "!!a", "!<a>", "|", "|a",
    "|-", "|2", ">", ">a", ">-", "%", "%a", "%YAML 1.2", "@", "@a", "`", "`a`", "'", "''", "'a'", "'a", "a'",
    "it's", "\"", "\"\"", "\"a\"", "\"a", "a\"", "\\", "\\n", "a\\", "\\\\", "$", "$a", "${a}", "${a:-b}",
    "a$b", "<a>", "(a)", "a;b", ";", "^a$", "a|b", "a > b", "a && b", "!a && *b", "a=b", "=a", "-a", "-a b",
    "--a=b", "- - a", "-:", "-: a", "?:", ":-", "- : a", "a: - b", "[a, b]: c", "a ? b : c", "*.example.org",
    "%(a)s", "@a/b", "&amp;",
];

#[rustfmt::skip]
const BLANKS: &[&str] = &[
    " ", "  ", "   ", " a", "  a", "a ", "a  ", " a ", "a b", "a  b", "a   b", "\t", "\t\t", "\ta", "a\t",
    "a\tb", " \t", "\t ", " \ta", "a \t", "a\t b", "a \tb", "a:\tb", "-\ta", "?\ta", "\u{a0}", "\u{a0}a",
    "a\u{a0}", "a\u{a0}b", "\u{3000}a", "a\u{3000}", "a\u{3000}b", "\u{2003}a", "a\u{2003}", "\u{1680}a",
    "a\u{202f}b", "\u{b}", "\u{c}", "a\u{b}b", "a\u{c}b",
];

#[rustfmt::skip]
const CHARACTERS: &[&str] = &[
    "\u{0}", "a\u{0}b", "\u{1}", "\u{7}", "\u{8}", "\u{1b}[31mred\u{1b}[0m", "\u{1f}", "\u{7f}", "a\u{7f}",
    "\u{80}", "\u{85}", "a\u{85}", "\u{85}a", "a\u{85}b", "\u{9f}", "\u{ad}", "\u{200b}", "a\u{200b}b",
    "\u{200d}", "👩\u{200d}💻", "\u{200e}a", "\u{202e}abc\u{202c}", "\u{2028}", "a\u{2028}", "a\u{2028}b",
    "\u{2029}", "a\u{2029}b", "\u{2066}a\u{2069}", "\u{feff}", "\u{feff}a", "a\u{feff}", "a\u{feff}b",
    "\u{fffd}", "\u{fffe}", "\u{ffff}", "a\u{ffff}b", "\u{fdd0}", "\u{1fffe}", "\u{10ffff}", "\u{10fffd}",
    "\u{e000}", "\u{f8ff}", "\u{d7ff}", "\u{e0001}", "é", "e\u{301}", "\u{301}", "ñandú", "日本語", "中文: 值",
    "한국어", "العربية", "עברית", "ไทย", "🚀", "🚀 #a", "a 🚀", "👍🏽", "🇪🇺", "𝒳", "𐍈: a", "ﬀ", "ß", "İ", "ı", "Ω: ω",
    "“a”", "a…", "–a", "€ 5", "°C", "a\u{fe0f}", "❤\u{fe0f}", "\u{10000}", "ÿ", "\u{a1}", "\u{2027}",
    "\u{202a}", "\u{110bd}",
];

#[rustfmt::skip]
const LINES: &[&str] = &[
    "\n", "\n\n", "\n\n\n", " \n", "\n ", " \n ", "\t\n", "\n\t", "\r", "\r\n", "\n\r", "\r\r", "a\n",
    "a\n\n", "a\n\n\n", "\na", "\n\na", "\n\na\n\n", "a\nb", "a\nb\n", "a\n\nb", "a\n\n\nb\n", " a\nb",
    " a\n b", "a\n b", "a\n  b\n c\n", "  a\nb\n", "\n a", "\n a\nb", "\n\n  a\nb\n", "\ta\nb", "\ta\n\tb\n",
    "a\n\tb", "a\n\t\n", " \ta\nb", "\t a\nb", "a \nb", "a\t\nb", "a\nb ", "a\nb\t", "a\n \nb",
    "a\n  \n  b\n", "a\n \n", "a\n\n ", "a\n ", "a\r\nb", "a\r\nb\r\n", "a\rb", "a\n\rb", "a\r\n", "\r\na",
    "a\u{85}b\n", "a\u{2028}b\nc", "a\u{2029}\n", "\u{feff}a\nb", "a\n\u{feff}b", "a\nb\u{feff}\n",
    "a\u{0}\nb", "a\n\u{a0}b", "a\u{a0}\nb", "\u{a0}a\nb", "a\u{a0}b\nc\n", "# a\nb", "a\n# b\n", "#\n#\n",
    "- a\n- b\n", "a: b\nc: d\n", "? a\n: b\n", "---\na", "a\n---\nb\n", "a\n...\nb\n", "...\n", "---\n",
    "---\n---\n", "%YAML 1.2\n---\na\n", "|\n a", ">\n a\n", "|2-\n  a", "{\n}\n", "{\n  \"a\": 1\n}\n",
    "[\n1,\n2\n]", "'\n'", "\"\n\"", "\"a\nb\"\n", "\\\n", "a\\\nb", "a \\\n  b\n", "\\n\n", "&a\n*a\n",
    "!a\n!!b\n", "yes\nno\n", "1\n2\n", "null\n", "true\n", "~\n", "0x1\n", "🚀\n🚀\n", "日本\n語",
    "a\n  - b:\n      c: |\n        d\n", "  a\n b\nc\n", "   \n  a\n", "\n   a\n\n\n b\n\n",
    "a\n        deep\nb\n", "         nine\nb\n", "          ten\nb\n", "a\n\n\n\n\n\n\n\n",
];

#[rustfmt::skip]
const EVERYDAY: &[&str] = &[
    "#!/bin/sh\nset -eu\nif [ -n \"$1\" ]; then\n\techo \"$1: ok\"\nfi\n",
    "[Global]\nauth-url=\"https://example.org:5000/v3\"\nregion=RegionOne\n\n[LoadBalancer]\nenabled=true\n",
    "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUe0=\n-----END CERTIFICATE-----\n",
    "clouds:\n  openstack:\n    auth:\n      auth_url: https://example.org\n    verify: false\n",
    "{\"apiVersion\":\"v1\",\"kind\":\"Config\"}", "{\n\t\"a\": [\n\t\t1\n\t]\n}\n",
    "SELECT *\n  FROM a -- b\n WHERE c = 'd';\n",
    "{{- if .Values.a }}\na: {{ .Values.a | quote }}\n{{- end }}\n", "line one  \nline two\n",
    "all:\n\tgo build ./...\n", "10.0.0.0/16", "10.96.0.1", "192.168.0.1:6443",
    "https://[2001:db8::1]:6443/path?a=b#c", "fe80::1%eth0", "::ffff:10.0.0.1",
    "registry/project/image:v1.32.0@sha256:0123456789abcdef", "v1.32.0", "1.32.0", "v1.32.0+rke2r1",
    ">=1.2.0 <2", "~1.2", "^1.2", "app.kubernetes.io/managed-by", "helm.sh/resource-policy", "demo.cni",
    "demo-ccm", "kube-system", "2Gi", "250m", "0.5", "10m0s",
    "node-role.kubernetes.io/control-plane:NoSchedule", "--cloud-provider=external", "-v=2", "-c", "a=b,c=d",
    "!reserved", "system:serviceaccount:kube-system:default", "*", "*/5 * * * *", "@daily", "0 3 * * 1-5",
    "%h", "$(POD_IP)", "user@example.org", "C:\\Program Files\\a", "~/.kube/config", "/dev/sda1",
    "./releases/openstack-scs-1-32-v1/cluster-addon/cni", "..", "a/../b",
    "cilium.status.numberReady == cilium.status.desiredNumberScheduled",
    "dep.status.conditions.filter(e, e.type == 'Ready')[0]", "Jane Doe <jane@example.org>",
    "Warning: this is a text, with: colons # and hashes", "100%", "50 %", "# not a comment",
    "aGVsbG8gd29ybGQ=", "$2y$10$abcdefghijklmnopqrstuv", "0123456789abcdef0123456789abcdef01234567",
    "1234567", "12345678e9", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "e3b0c442", "00e1234567", "deadbeef", "0123abcd",
];
