//! The program as a person meets it: what it prints where, and how it ends.
//!
//! Each case is a golden transcript in `cli/`, made over the stack repository `cli/stack`. Its release v1 and v2 have
//! one object in common; v3 is broken wherever it can be, and one of its lines has an escape sequence for terminals.

#![allow(clippy::disallowed_methods, reason = "the tests of a program read files and how they were called")]

mod diff;
mod publish;
mod releases;
mod template;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use stackflux::plan::canonical::to_yaml;

/// What a run of the program gave.
struct Run {
    stdout: String,
    stderr: String,
    code: i32,
}

/// Runs the program in a directory, far from any terminal.
fn run_with(directory: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stackflux"));
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(variable);
    }
    let command = command.current_dir(directory).args(arguments).envs(environment.iter().copied());
    let output = command.stdin(Stdio::null()).output().unwrap();
    Run {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code().unwrap(),
    }
}

fn run(directory: &Path, arguments: &[&str]) -> Run {
    run_with(directory, arguments, &[])
}

fn own_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/cli")
}

/// An empty directory of a test's own.
fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli").join(name);
    if path.exists() {
        fs::remove_dir_all(&path).unwrap();
    }
    fs::create_dir_all(&path).unwrap();
    path
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    let status = Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(status.success());
}

/// Compares a run with the transcript of that name.
#[track_caller]
fn expect(directory: &Path, name: &str, arguments: &[&str]) {
    let Run { stdout, stderr, code } = run(directory, arguments);
    let transcript =
        format!("$ stackflux {}\n{stdout}--- stderr\n{stderr}--- exit {code}\n", arguments.join(" "));
    let golden = own_directory().join(format!("{name}.txt"));
    if std::env::var("UPDATE_GOLDEN").is_ok() {
        fs::write(&golden, &transcript).unwrap();
    }
    let written = fs::read_to_string(&golden).unwrap_or_default();
    assert!(written == transcript, "{} differs (UPDATE_GOLDEN=1 writes it):\n{transcript}", golden.display());
}

/// The release v1 without what it is warned of, as one archive, and with a link in it where that is wanted.
fn archive(directory: &Path, with_link: bool) {
    let release = "openstack-demo-1-34-v1";
    let gzip = GzEncoder::new(
        fs::File::create(directory.join(format!("{release}.tgz"))).unwrap(),
        Compression::fast(),
    );
    let mut builder = tar::Builder::new(gzip);
    let unpacked = directory.join("unpacked");
    copy(&own_directory().join("stack/releases").join(release), &unpacked);
    fs::remove_file(unpacked.join("cluster-class/templates/shared.yaml")).unwrap();
    builder.follow_symlinks(false);
    if with_link {
        symlink("/etc/passwd", unpacked.join("cluster-addon/policies/users.yaml")).unwrap();
    }
    builder.append_dir_all(release, &unpacked).unwrap();
    builder.into_inner().unwrap().finish().unwrap().flush().unwrap();
}

#[test]
fn version_is_printed_for_programs() {
    let run = run(&own_directory(), &["version", "-o", "json"]);
    let found: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(found["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(found["minimumFluxVersion"], "2.9");
}

#[test]
fn inspect_shows_the_release() {
    let directory = own_directory();
    expect(&directory, "inspect-release", &["inspect", "stack", "openstack-demo-1-34-v1"]);
    expect(&directory, "inspect-json", &["inspect", "stack/releases/openstack-demo-1-34-v2", "-o", "json"]);
}

#[test]
fn inspect_lists_the_releases_of_a_stack_repository() {
    let directory = own_directory();
    expect(&directory, "inspect-repository", &["inspect", "stack"]);
    expect(&directory, "inspect-all", &["inspect", "stack", "--all"]);
    expect(&directory, "inspect-yaml", &["inspect", "stack", "--output", "yaml"]);
}

#[test]
fn lint_warns_of_an_addon_in_two_forms() {
    let directory = scratch("lint-two-forms");
    let releases = directory.join("releases");
    fs::create_dir_all(&releases).unwrap();
    let first = releases.join("openstack-demo-1-34-v1");
    copy(&own_directory().join("stack/releases/openstack-demo-1-34-v1"), &releases);
    fs::remove_file(first.join("cluster-class/templates/shared.yaml")).unwrap();
    let second = releases.join("openstack-demo-1-34-v2");
    copy(&first, &directory);
    fs::rename(directory.join("openstack-demo-1-34-v1"), &second).unwrap();
    for file in ["metadata.yaml", "cluster-class/Chart.yaml"] {
        let text = fs::read_to_string(second.join(file)).unwrap();
        fs::write(second.join(file), text.replace(": v1\n", ": v2\n")).unwrap();
    }
    fs::remove_dir_all(second.join("cluster-addon/cni")).unwrap();
    fs::create_dir(second.join("cluster-addon/cni")).unwrap();
    let manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cni, namespace: kube-system}\n";
    fs::write(second.join("cluster-addon/cni/configmap.yaml"), manifest).unwrap();
    expect(&directory, "lint-two-forms", &["lint", "."]);
}

#[test]
fn inspect_fails_where_there_is_nothing_to_show() {
    let directory = own_directory();
    expect(&directory, "inspect-unusable", &["inspect", "stack/releases/openstack-demo-1-34-v3"]);
    let names = ["inspect", "stack", "openstack-demo-1-34-v1", "openstack-demo-1-34-v3"];
    expect(&directory, "inspect-unusable-of-two", &names);
    expect(&directory, "inspect-unknown", &["inspect", "stack", "openstack-demo-1-34-v9"]);
    expect(&directory, "inspect-nowhere", &["inspect", "nowhere"]);
}

#[test]
fn inspect_warns_about_values_it_cannot_search() {
    let directory = scratch("inspect-unread");
    let release = "stack/releases/openstack-demo-1-34-v1";
    copy(&own_directory().join(release), &directory.join(release));
    let values = "cluster-addon/cni/charts/cilium/values.yaml";
    fs::write(directory.join(release).join(values), "image: [\n").unwrap();
    let Run { stderr, code, .. } = run(&directory, &["inspect", release]);
    let expected = format!("skipping the images in values that cannot be read: {values}: ");
    assert!(code == 0 && stderr.contains(&expected), "{stderr}");
}

#[test]
fn missing_kubeconfig_error_names_the_options() {
    let home = scratch("no-kubeconfig");
    let home_text = home.to_str().unwrap();
    let none = [("HOME", home_text), ("KUBECONFIG", ""), ("KUBERNETES_SERVICE_HOST", "")];
    let Run { stderr, code, .. } = run_with(&home, &["status"], &none);
    let path = home.join(".kube/config");
    assert!(code == 2 && stderr.contains(path.to_str().unwrap()), "{stderr}");
    assert!(stderr.contains("name another one with --kubeconfig or KUBECONFIG"), "{stderr}");

    let config = "apiVersion: v1\nkind: Config\ncontexts: [{name: here, context: {cluster: c, user: u}}]\n";
    fs::write(home.join("kubeconfig"), config).unwrap();
    let there = ["status", "--kubeconfig", "kubeconfig", "--context", "there"];
    let Run { stderr, code, .. } = run_with(&home, &there, &none);
    assert!(code == 2 && stderr.contains("the kubeconfig has no context \"there\"; it has here"), "{stderr}");
}

#[test]
fn json_and_yaml_outputs_agree() {
    let arguments = ["inspect", "stack", "openstack-demo-1-34-v1", "openstack-demo-1-34-v2", "--output"];
    let form = |form| run(&own_directory(), &[&arguments[..], &[form]].concat()).stdout;
    let json: Value = serde_json::from_str(&form("json")).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 2);
    assert_eq!(form("yaml"), to_yaml(&json));
}

#[test]
fn lint_reports_all_findings_of_a_stack_repository() {
    let directory = scratch("repository");
    copy(&own_directory().join("stack"), &directory.join("stack"));
    let releases = directory.join("stack/releases");
    symlink("openstack-demo-1-34-v1", releases.join("openstack-demo-1-34-v4")).unwrap();
    symlink("openstack-demo-1-34-v1", releases.join("latest")).unwrap();
    expect(&directory, "lint-repository", &["lint", "stack"]);
    expect(&directory, "lint-table", &["lint", "stack", "--output", "table"]);
}

#[test]
fn lint_exit_code_follows_findings() {
    let directory = own_directory();
    let release = "stack/releases/openstack-demo-1-34-v1";
    expect(&directory, "lint-warnings", &["lint", release]);
    expect(&directory, "lint-strict", &["lint", "--strict", release, "-o", "json"]);
    let inside = run(&directory.join("stack/releases/openstack-demo-1-34-v3"), &["lint", "."]);
    assert!(inside.stdout.contains(" = release: openstack-demo-1-34-v3\n"), "{}", inside.stdout);
    expect(&directory, "lint-nowhere", &["lint", release, "nowhere"]);
}

#[test]
fn lint_opens_archives() {
    let directory = scratch("archive");
    archive(&directory, false);
    expect(&directory, "lint-clean", &["lint", "openstack-demo-1-34-v1.tgz", "--strict"]);
    let directory = scratch("archive-with-link");
    archive(&directory, true);
    expect(&directory, "lint-archive", &["lint", "openstack-demo-1-34-v1.tgz"]);
}

#[test]
fn lint_refuses_archives_in_stack_repository_only() {
    let directory = scratch("packed");
    let release = directory.join("stack/releases/openstack-demo-1-34-v1");
    copy(&own_directory().join("stack/releases/openstack-demo-1-34-v1"), &release);
    let class = fs::File::create(release.join("openstack-demo-1-34-cluster-class-v1.tgz")).unwrap();
    let mut builder = tar::Builder::new(GzEncoder::new(class, Compression::fast()));
    builder.append_dir_all("demo-class", release.join("cluster-class")).unwrap();
    builder.into_inner().unwrap().finish().unwrap();
    fs::remove_dir_all(release.join("cluster-class")).unwrap();
    expect(&directory, "lint-packed", &["lint", "stack"]);
    let alone = run(&directory, &["lint", "stack/releases/openstack-demo-1-34-v1"]);
    assert!(!alone.stdout.contains("PackedInRepository"), "{}", alone.stdout);
    assert_eq!(alone.code, 0, "{}", alone.stderr);
}

#[test]
fn colours_need_a_terminal_or_a_request() {
    let lint = ["lint", "stack/releases/openstack-demo-1-34-v3"];
    let plain = run(&own_directory(), &lint).stdout;
    assert!(!plain.contains('\u{1b}'), "not even those of the release's text");
    let forced = run_with(&own_directory(), &lint, &[("CLICOLOR_FORCE", "1")]).stdout;
    assert!(forced.contains("\u{1b}[1m\u{1b}[31merror[UnknownAction]\u{1b}[0m"), "{forced}");
    assert_eq!(forced.replace("\u{1b}[31m", "").matches("[31m").count(), 1, "the release's own is text");
    let unwanted = [("CLICOLOR_FORCE", "0"), ("NO_COLOR", "1")];
    assert_eq!(run_with(&own_directory(), &lint, &unwanted).stdout, plain);
}

#[test]
fn crds_are_the_files_in_crds() {
    let directory = scratch("crds");
    let written = run(&directory, &["crds", "--output-dir", "below/crds"]);
    assert_eq!((written.stdout.as_str(), written.code), ("", 0), "{}", written.stderr);
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("crds");
    let mut texts = Vec::new();
    for kind in ["clusteraddonoverrides", "clusteraddons", "clusterstackreleases", "clusterstacks"] {
        let text = fs::read_to_string(committed.join(format!("{kind}.yaml"))).unwrap();
        assert_eq!(fs::read_to_string(directory.join(format!("below/crds/{kind}.yaml"))).unwrap(), text);
        texts.push(text);
    }
    let printed = run(&directory, &["crds"]).stdout;
    let mut documents: Vec<&str> = printed.split("---\n").collect();
    documents.sort_by_key(|document| texts.iter().position(|text| text == document));
    assert_eq!(documents, texts);
}

#[test]
fn command_help_has_summary_and_examples() {
    let help = run(&own_directory(), &["--help"]).stdout;
    let listed = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    for line in listed.lines().filter(|line| !line.trim_start().starts_with("help ")) {
        let (command, about) = line.trim().split_once("  ").unwrap_or_else(|| panic!("{line:?}"));
        assert!(about.trim().len() > 10 && line.len() <= 100, "{line:?}");
        if command != "version" {
            let help = run(&own_directory(), &[command, "--help"]).stdout;
            assert!(help.contains("Examples:\n  # "), "{command} has no examples:\n{help}");
        }
    }
    assert!(listed.lines().count() > 5, "{help}");
}
