//! `stackflux releases` over paths.

use super::{expect, own_directory, run, scratch};

#[test]
fn stack_repository_releases_are_listed() {
    let directory = own_directory();
    expect(&directory, "releases-repository", &["releases", "stack"]);
    expect(&directory, "releases-all", &["releases", "stack", "--all"]);
    expect(&directory, "releases-wide", &["releases", "stack", "-o", "wide"]);
    expect(&directory, "releases-json", &["releases", "stack/releases/openstack-demo-1-34-v2", "-o", "json"]);
}

#[test]
fn unreadable_source_is_reported() {
    let directory = own_directory();
    expect(&directory, "releases-nowhere", &["releases", "nowhere"]);
    expect(&directory, "releases-scheme", &["releases", "https://user:geheim@git.example.com/stacks.git"]);
}

#[test]
fn source_without_releases_is_reported() {
    let directory = scratch("releases-empty");
    let run = run(&directory, &["releases", "."]);
    assert!(
        run.code == 2 && run.stderr.contains("neither a release nor a stack repository"),
        "{}",
        run.stderr
    );
}
