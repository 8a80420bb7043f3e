//! What only a release that is published is refused for.

mod charts;
mod manifests;
mod pointers;
mod values_template;

use crate::release::Release;
use crate::release::finding::{Finding, Findings, Severity};
use crate::release::tests::builder::Stack;

/// Returns the findings that loading the release does not have: it must stay usable.
#[track_caller]
fn found(stack: &Stack) -> Vec<Finding> {
    let loaded =
        stack.load().unwrap_or_else(|findings| panic!("a release in use becomes invalid:\n{findings}"));
    let all = stack.lint().map_or_else(|findings| findings, |loaded| loaded.warnings);
    all.into_iter().filter(|finding| !loaded.warnings.iter().any(|known| known == finding)).collect()
}

/// Returns the only finding, as a reader sees its place: `error UnknownRoot file:line:column`, and its message.
#[track_caller]
fn one(stack: &Stack) -> (String, String) {
    let findings = found(stack);
    let [finding] = findings.as_slice() else { panic!("not one finding: {findings:#?}") };
    assert_eq!(finding.text.is_some(), finding.line.is_some());
    assert_eq!(stack.lint().is_err(), finding.severity == Severity::Error);
    let place = [finding.line, finding.column].into_iter().flatten().map(|number| format!(":{number}"));
    let place = place.fold(finding.file.clone(), |place, number| place + &number);
    (format!("{} {} {place}", finding.severity.as_str(), finding.reason.as_str()), finding.message.clone())
}

#[test]
fn good_releases_have_nothing_more() {
    for stack in [Stack::good(), Stack::single()] {
        assert_eq!(found(&stack), []);
    }
}

#[test]
fn everything_is_reported_together() {
    let stack =
        Stack::good().without("metadata.yaml").with("cluster-addon/ccm/overwrite.yaml", "{{ .Values }}\n");
    let findings: Findings = stack.lint().unwrap_err();
    assert_eq!(findings.errors().count(), 2, "{findings}");
    let name = "openstack-demo-1-34-v2".parse().unwrap();
    assert_eq!(Release::load(&name, stack.files, &stack.limits).unwrap_err().errors().count(), 1);
}
