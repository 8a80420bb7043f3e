use super::*;
use crate::release::File;

fn owned<'a>(
    files: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> impl IntoIterator<Item = (String, String)> {
    files.into_iter().map(|(directory, text)| (directory.to_owned(), text.to_owned()))
}

fn rules_of<'a>(ignore_files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Rules {
    Rules::new(owned(ignore_files)).unwrap()
}

fn left_out(patterns: &str, path: &str) -> bool {
    rules_of([("", patterns)]).leave_out(path)
}

#[test]
fn flux_s_own_list() {
    let rules = rules_of([]);
    for path in [
        "logo.png",
        "a/b/photo.jpg",
        "a.tar.gz",
        "charts/x.zip",
        ".gitignore",
        "a/.gitattributes",
        ".github/workflows/ci.yaml",
        "a/.github/x",
        "a/.travis.yml",
        "a/b/.sops.yaml",
        ".goreleaser.yml",
    ] {
        assert!(rules.leave_out(path), "{path}");
    }
    for path in
        ["charts/cilium-1.18.9.tgz", "README.md", ".github", "a.PNG", "png", ".helmignore", ".sourceignore"]
    {
        assert!(!rules.leave_out(path), "{path}");
    }
}

#[test]
fn pattern_replaces_defaults_but_not_git_files() {
    assert!(!left_out("docs\n", "logo.png"));
    assert!(left_out("docs\n", "docs/x"));
    assert!(left_out("docs\n", ".gitignore"));
    assert!(left_out("# only a comment\n\n  \n", "logo.png"), "no pattern at all keeps the list");
}

#[test]
fn file_of_a_directory_comes_before_those_below_it() {
    for order in [[("", "*.md"), (".github", "!x.md")], [(".github", "!x.md"), ("", "*.md")]] {
        let rules = rules_of(order);
        assert!(!rules.leave_out(".github/x.md"), "the directory's own file decides: {order:?}");
        assert!(rules.leave_out("x.md"), "{order:?}");
    }
}

#[test]
fn patterns_without_a_slash_match_at_any_depth() {
    assert!(left_out("*.md", "a/b/c.md"));
    assert!(left_out("docs", "a/docs/b/c"));
    assert!(left_out("docs/", "a/docs/b"));
    assert!(!left_out("docs/", "a/docs"), "a file is no directory");
    assert!(!left_out("doc", "docs"));
    assert!(left_out("**", "a/b"), "alone it is two stars in a name");
}

#[test]
fn patterns_with_a_slash_match_from_their_directory() {
    assert!(left_out("/a", "a"));
    assert!(left_out("/a", "a/b/c"));
    assert!(!left_out("/a", "b/a"));
    assert!(left_out("a/b", "a/b/c"));
    assert!(!left_out("a/b", "x/a/b"));
    assert!(left_out("a/*/c", "a/b/c"));
    assert!(!left_out("a/*/c", "a/b/b/c"));
    assert!(left_out("a/b/", "a/b/c"));
    assert!(!left_out("a/b/", "a/b"));
}

#[test]
fn two_stars_match_directories() {
    assert!(left_out("**/c", "a/b/c"));
    assert!(left_out("**/c", "c"));
    assert!(left_out("a/**/c", "a/b/b/c"));
    assert!(left_out("a/**/c", "a/c"));
    assert!(!left_out("a/**/c", "b/c"));
    assert!(left_out("a/**", "a/b/c"));
    assert!(!left_out("a/x**/c", "a/xy/c"), "two stars inside a part never match");
    // The first part that fits is taken, without backtracking.
    assert!(!left_out("**/b/c", "b/x/b/c"));
}

#[test]
fn last_match_decides() {
    assert!(!left_out("*.md\n!README.md", "a/README.md"));
    assert!(left_out("!README.md\n*.md", "a/README.md"));
    // Git would leave it out: it does not descend into a directory that it leaves out.
    assert!(!left_out("/*\n!/keep", "keep/a/b"));
    assert!(left_out("/*\n!/keep", "other/a"));
    assert!(!left_out("!.gitignore", ".gitignore"));
}

#[test]
fn nested_file_applies_to_its_directory_only() {
    let rules = rules_of([("", "*.md"), ("a", "!x.md\n/b")]);
    assert!(rules.leave_out("x.md"));
    assert!(!rules.leave_out("a/x.md"));
    assert!(rules.leave_out("a/b/c") && !rules.leave_out("b/c") && !rules.leave_out("a/c/b"));
    assert!(!rules_of([("a", "*")]).leave_out("ab/c"));
}

#[test]
fn blanks_and_line_ends() {
    assert!(left_out("a.md   \r\n", "a.md"));
    assert!(left_out("a.md\r", "a.md"));
    assert!(left_out("a\\ ", "a "));
    assert!(left_out("\\#a", "#a"));
    assert!(!left_out("#a", "#a"));
    let long = format!("{}\n*.md\n", "x".repeat(70_000));
    assert!(!left_out(&long, "a.md"), "Go's scanner stops at a line that is too long");
}

#[test]
fn wildcards_are_go_s() {
    let matches =
        |pattern: &str, name: &str| Wildcard::parse(pattern).is_some_and(|wildcard| wildcard.matches(name));
    for (pattern, name) in [
        ("abc", "abc"),
        ("*", ""),
        ("*c", "abc"),
        ("a*", "a"),
        ("a*b*c*d", "axbxcxd"),
        ("a*ab", "aabab"),
        ("a?b", "aéb"),
        ("[a-c]x", "bx"),
        ("[^a-c]x", "dx"),
        ("[\\]a]", "]"),
        ("[!a]", "!"),
        ("\\*", "*"),
    ] {
        assert!(matches(pattern, name), "{pattern} {name}");
    }
    for (pattern, name) in [
        ("abc", "abcd"),
        ("a?b", "ab"),
        ("[a-c]x", "dx"),
        ("[^a-c]x", "bx"),
        ("[c-a]", "b"),
        ("[", "["),
        ("[]a]", "]"),
        ("[-a]", "-"),
        ("[a-]", "-"),
        ("[a", "a"),
        ("a\\", "a\\"),
        ("*x", ""),
    ] {
        assert!(!matches(pattern, name), "{pattern} {name}");
    }
}

#[test]
fn many_stars_are_matched_quickly() {
    let pattern = "*a".repeat(2000);
    assert!(!Wildcard::parse(&pattern).unwrap().matches(&"a".repeat(1999)));
    assert!(!Wildcard::parse(&(pattern + "b")).unwrap().matches(&"a".repeat(4000)));
}

#[test]
fn ignored_files_are_recorded() {
    let mut files = Files::default();
    for (path, content) in [("a/.sourceignore", "*.md"), ("a/x.md", ""), ("x.md", ""), ("logo.png", "")] {
        files.insert(path, File { content: content.as_bytes().to_vec(), executable: false }).unwrap();
    }
    let files = files.without_ignored().unwrap();
    assert_eq!(files.ignored().collect::<Vec<_>>(), ["a/x.md"]);
    assert_eq!(
        files.iter().map(|(path, _)| path).collect::<Vec<_>>(),
        ["a/.sourceignore", "logo.png", "x.md"]
    );
    assert_eq!(files.clone().without_ignored().unwrap(), files);
}

#[test]
fn more_patterns_than_anybody_needs_are_refused() {
    let (most, more) = ("a\n".repeat(1_000), "a\n".repeat(1_001));
    assert!(rules_of([("", most.as_str())]).leave_out("a"));
    for files in [vec![("", more.as_str())], vec![("", most.as_str()), ("b", "c\n")]] {
        let finding = Rules::new(owned(files)).unwrap_err();
        assert_eq!(finding.reason, Reason::LimitExceeded);
        assert!(finding.message.contains("the limit of 1000 patterns"), "{}", finding.message);
    }
}
