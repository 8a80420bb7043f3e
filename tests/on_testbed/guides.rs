//! The commands of a guide work.

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
#[ignore = "it starts a testbed with Cluster API and takes minutes: make test-long"]
fn commands_of_the_quickstart_work() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("docs/learn/quickstart.md")).unwrap();
    // What follows is for other clusters.
    let (guide, _) = text.split_once("## Use your own management cluster").unwrap();
    let blocks = guide.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let kubectl = "kubectl() { \"$KUBECTL\" \"$@\"; }";
    let script = format!("set -euo pipefail\n{kubectl}\n{}", blocks.collect::<Vec<_>>().join("\n"));
    let run = Command::new("bash").args(["-c", &script]).current_dir(root).output().unwrap();
    let (out, errors) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{out}\n{errors}");
    assert!(out.contains("one.example") || out.contains("https://"), "the values of one.ccm: {out}");
}
