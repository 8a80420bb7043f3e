//! The alerts of `monitoring/`, and promtool, which evaluates them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The file of a path in the repository.
pub(crate) fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The rules of the `PrometheusRule`, in the form of a file of rules.
pub(crate) fn rules() -> Value {
    let text = fs::read_to_string(file("monitoring/rules.yaml")).unwrap();
    let mut object: Value = serde_yaml::from_str(&text).unwrap();
    object["spec"].take()
}

/// Fails with what promtool says about rules.
pub(crate) fn check_rules(directory: &Path, rules: &Value) {
    fs::write(directory.join("rules.yaml"), rules.to_string()).unwrap();
    promtool(directory, &["check", "rules", "rules.yaml"]);
}

/// Runs tests of the alerts in a directory of their own, and fails with what promtool says.
pub(crate) fn test_rules(directory: &Path, tests: &str) {
    check_rules(directory, &rules());
    fs::write(directory.join("tests.yaml"), tests).unwrap();
    promtool(directory, &["test", "rules", "tests.yaml"]);
}

fn promtool(directory: &Path, arguments: &[&str]) {
    let program = stackflux_testbed::promtool().unwrap();
    let output = Command::new(program).current_dir(directory).args(arguments).output().unwrap();
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}: {out}{errors}", arguments.join(" "));
}
