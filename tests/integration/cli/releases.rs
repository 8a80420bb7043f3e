//! `stackflux releases` over paths.

use super::{expect, own_directory, run, scratch};

#[test]
fn the_releases_of_a_stack_repository() {
    let directory = own_directory();
    expect(&directory, "releases-repository", &["releases", "stack"]);
    expect(&directory, "releases-all", &["releases", "stack", "--all"]);
    expect(&directory, "releases-wide", &["releases", "stack", "-o", "wide"]);
    expect(&directory, "releases-json", &["releases", "stack/releases/openstack-demo-1-34-v2", "-o", "json"]);
}

#[test]
fn a_place_that_cannot_be_read() {
    let directory = own_directory();
    expect(&directory, "releases-nowhere", &["releases", "nowhere"]);
    expect(&directory, "releases-scheme", &["releases", "https://user:geheim@git.example.com/stacks.git"]);
}

#[test]
fn a_place_without_releases() {
    let directory = scratch("releases-empty");
    let run = run(&directory, &["releases", "."]);
    assert!(
        run.code == 2 && run.stderr.contains("neither a release nor a stack repository"),
        "{}",
        run.stderr
    );
}
