//! The settings of single addons: the same objects from files and from exported inputs, and what `lint` says.

use std::fs;
use std::path::Path;

use super::inputs::{exported, generate};
use super::{Example, examples};
use crate::support::{Run, copy, stackflux};

const SETTINGS: &str = "  flux:
    addons:
      ccm:
        values: {cluster: {name: other, proxy: null}, image: mirror.example.org/busybox}
        valuesFrom:
        - {kind: Secret, name: \"cloud-{cluster}\", valuesKey: token, targetPath: cluster.endpoint}
      cni:
        postRenderers: [{kustomize: {images: [{name: busybox, newTag: v2}]}}]
      policies: {decryption: {provider: sops, secretRef: {name: sops}}}
";

/// Runs a command with the example's `ClusterStack` and these settings.
fn with_settings(example: &Example, settings: &str, command: &[&str]) -> Run {
    let file = example.clusters.join("../clusterstack.yaml");
    fs::write(&file, fs::read_to_string(examples("clusterstack.yaml")).unwrap() + settings).unwrap();
    stackflux(&[command, &["--settings", file.to_str().unwrap()]].concat())
}

#[test]
fn settings_of_addons_are_planned_from_files_and_inputs() {
    let example = Example::new("settings");
    let stack = examples("stack");
    let clusters = example.clusters.to_str().unwrap();
    let command = ["generate", &stack, "--revision", super::REVISION, "--filename", clusters];
    let run = with_settings(&example, SETTINGS, &command);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for expected in [
        "    image: mirror.example.org/busybox\n",
        "  valuesFrom:\n  - kind: Secret\n    name: cloud-one\n    valuesKey: token\n    targetPath: cluster.endpoint\n",
        "  postRenderers:\n  - kustomize:\n      images:\n      - name: busybox\n        newTag: v2\n",
        "  decryption:\n    provider: sops\n    secretRef:\n      name: sops\n",
        "      proxy: null\n      name: one\n      podCIDR: 10.244.0.0/16\n",
    ] {
        assert!(run.stdout.contains(expected), "{expected}: {}", run.stdout);
    }
    assert!(!run.stdout.contains("endpoint: https"), "{}", run.stdout);
    let inputs = exported(&example).replacen("\n---\n", &format!("{SETTINGS}\n---\n"), 1);
    assert_eq!(generate(&example, &inputs, &[]).stdout, run.stdout);
}

#[test]
fn settings_are_linted_beside_their_release() {
    let example = Example::new("settings-lint");
    let release = examples("stack/releases/docker-demo-1-34-v1");
    let run = with_settings(&example, SETTINGS, &["lint", &release]);
    assert_eq!(run.code, 0, "{}", run.stdout);
    for expected in [
        "warning[ValueOverridden]: docker-demo-1-34-v1: spec.flux.addons.ccm: valuesFrom Secret cloud-{cluster} replaces rendered \
         path cluster.endpoint",
        "warning[ValueOverridden]: docker-demo-1-34-v1: spec.flux.addons.ccm: values has no effect at cluster.name: the values \
         template renders it",
    ] {
        assert!(run.stdout.contains(expected), "{expected}: {}", run.stdout);
    }
    let wrong = SETTINGS.replace("      policies: {", "      policies: {values: {a: 1}, ");
    let run = with_settings(&example, &wrong, &["lint", &release]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    let error = "error[SettingsInvalid]: docker-demo-1-34-v1: spec.flux.addons.policies.values: policies is plain manifests, and the \
                 field is for charts: remove it";
    assert!(run.stdout.contains(error), "{}", run.stdout);
    let run = with_settings(&example, "  flux: {addons: {ccm: {values: {image: x}}}}\n", &["lint", &release]);
    assert_eq!((run.code, run.stdout.contains("warning")), (0, false), "{}", run.stdout);
}

#[test]
fn settings_of_an_unknown_addon_are_linted() {
    let example = Example::new("settings-of-unknown");
    let settings = SETTINGS.replace("      policies: {", "      polices: {");
    let run = with_settings(&example, &settings, &["lint", &examples("stack")]);
    assert_eq!(run.code, 0, "{}", run.stdout);
    let expected = "warning[AddonUnknown]: spec.flux.addons.polices has no effect, because no release has an addon of this name, \
                    and spec.components has none";
    assert_eq!(run.stdout.matches("AddonUnknown").count(), 1, "{}", run.stdout);
    assert!(run.stdout.contains(expected), "{}", run.stdout);
}

#[test]
fn encrypted_manifests_without_decryption_are_linted() {
    let example = Example::new("settings-encrypted");
    let directory = example.clusters.parent().unwrap();
    copy(Path::new(&examples("stack/releases/docker-demo-1-34-v1")), directory);
    let release = directory.join("docker-demo-1-34-v1");
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {key: 'ENC[AES256_GCM,data:x]'}\nsops: {mac: x}\n";
    fs::write(release.join("cluster-addon/policies/secret.yaml"), secret).unwrap();
    let lint = ["lint", release.to_str().unwrap()];
    let run = with_settings(&example, "", &lint);
    assert_eq!(run.code, 0, "{}", run.stdout);
    let expected = "warning[DecryptionMissing]: docker-demo-1-34-v1: cluster-addon/policies/secret.yaml is encrypted with SOPS, and \
                    spec.flux.addons.policies.decryption is missing";
    assert!(run.stdout.contains(expected), "{}", run.stdout);
    let run = with_settings(&example, SETTINGS, &lint);
    assert!(!run.stdout.contains("DecryptionMissing"), "{}", run.stdout);
}

/// Runs a command with the example's `ClusterStack` and this source.
fn with_source(example: &Example, source: &str, command: &[&str]) -> Run {
    let file = example.clusters.join("../clusterstack.yaml");
    let text = fs::read_to_string(examples("clusterstack.yaml")).unwrap();
    let (before, _) = text.split_once("  source:\n").unwrap();
    fs::write(&file, format!("{before}{source}")).unwrap();
    stackflux(&[command, &["--settings", file.to_str().unwrap()]].concat())
}

const SERVED: &str = "  source: {upstream: {url: oci://registry.example.org/stacks}}\n";

#[test]
fn lint_needs_no_stack_repository() {
    let example = Example::new("lint-without-source");
    let release = examples("stack/releases/docker-demo-1-34-v1");
    for source in ["", SERVED, "  source: {gitRepositoryRef: {name: stacks}}\n"] {
        let run = with_source(&example, source, &["lint", &release]);
        assert_eq!(run.code, 0, "{source}: {}{}", run.stdout, run.stderr);
    }
}

#[test]
fn url_of_the_stack_repository_may_be_an_option() {
    let example = Example::new("url-of-settings");
    let release = examples("stack/releases/docker-demo-1-34-v1");
    let command = ["generate", &release, "--revision", super::REVISION];
    let url = ["--url", "https://git.example.org/served.git"];
    for source in ["", SERVED] {
        let run = with_source(&example, source, &command);
        assert_eq!(run.code, 2, "{}", run.stdout);
        let expected = "ClusterStack docker-demo-1-34 does not name the URL of its stack repository\n\
                        → give the URL with --url, as Flux reaches it, or set spec.source.git.url";
        assert!(run.stderr.contains(expected), "{}", run.stderr);
        let run = with_source(&example, source, &[&command[..], &url].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(run.stdout.contains("  url: https://git.example.org/served.git\n"), "{}", run.stdout);
    }
    let run = with_source(
        &example,
        "  source: {git: {url: https://git.example.org/a.git}}\n",
        &[&command[..], &url].concat(),
    );
    let expected = "--url is given, and ClusterStack docker-demo-1-34 names its stack repository";
    assert!(run.code == 2 && run.stderr.contains(expected), "{}", run.stderr);
}
