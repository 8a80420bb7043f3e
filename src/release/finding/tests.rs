use super::*;

#[test]
fn finding_shows_its_position() {
    let source = "one\n\ttwo: x\n";
    let finding = Finding::warning(Reason::UnknownField, "a.yaml", "what").at(2, 2, source).hint("do this");
    let expected = "warning: UnknownField: a.yaml:2:2: what\n  2 |  two: x\n    |  ^\n  hint: do this";
    assert_eq!(finding.to_string(), expected);
    assert_eq!(
        Finding::error(Reason::MissingFile, "a.yaml", "what").to_string(),
        "error: MissingFile: a.yaml: what"
    );
    assert_eq!(Finding::error(Reason::InvalidYaml, "", "what").to_string(), "error: InvalidYaml: what");
    assert_eq!(
        Finding::error(Reason::SpecialFile, "a", "what").to_string(),
        "error: SpecialFile: a: what\n  hint: remove it",
        "a reason with one remedy brings it along"
    );
}

#[test]
fn long_line_is_truncated_and_missing_one_omitted() {
    let long = "é".repeat(MAX_TEXT + 1);
    let text = Finding::error(Reason::InvalidYaml, "a", "b").at(1, 1, &long).text.unwrap();
    assert_eq!(text.chars().count(), MAX_TEXT + 1);
    let finding = Finding::error(Reason::InvalidYaml, &long.repeat(10), long.repeat(10));
    assert_eq!((finding.file.chars().count(), finding.message.chars().count()), (501, 1001));
    assert_eq!(Finding::error(Reason::InvalidYaml, "a", "b").at(9, 1, "x").text, None);
    assert_eq!(Finding::error(Reason::InvalidYaml, "a", "b").at(0, 0, "x").text, None);
}

#[test]
fn position_beyond_truncated_line_has_no_marker() {
    let long = format!("{}: [", "x".repeat(70_000));
    let shown = Finding::error(Reason::InvalidYaml, "a", "b").at(1, 70_002, &long).to_string();
    assert!(shown.starts_with("error: InvalidYaml: a:1:70002: b\n  1 | xxx"), "{shown}");
    assert!(!shown.contains('^') && shown.ends_with('…'), "{shown}");
}

#[test]
fn findings_are_sorted_and_deduplicated() {
    let at = |file: &str, line| Finding::error(Reason::InvalidYaml, file, "x").at(line, 1, "");
    let mut findings = Findings::default();
    findings.extend([
        at("b", 1),
        at("a", 10),
        at("a", 10),
        at("a", 9),
        Finding::warning(Reason::InvalidYaml, "a", "x"),
    ]);
    let places: Vec<_> = findings.iter().map(|finding| (finding.file.as_str(), finding.line)).collect();
    assert_eq!(places, [("a", None), ("a", Some(9)), ("a", Some(10)), ("b", Some(1))]);
    assert_eq!((findings.errors().count(), findings.warnings().count()), (3, 1));
}

#[test]
fn reason_is_that_of_the_first_error() {
    let mut findings = Findings::from(Finding::warning(Reason::UnknownField, "a", "x"));
    assert_eq!((findings.class(), findings.reason()), (Class::Terminal, "ReleaseInvalid"));
    findings.push(Finding::error(Reason::MissingFile, "b", "x"));
    assert_eq!(findings.reason(), "MissingFile");
}

#[test]
fn reasons_are_pascal_case_words() {
    for reason in Reason::ALL {
        let name = reason.as_str();
        assert!(name.starts_with(|first: char| first.is_ascii_uppercase()), "{name}");
        assert!(name.chars().all(|character| character.is_ascii_alphanumeric()), "{name}");
    }
}
