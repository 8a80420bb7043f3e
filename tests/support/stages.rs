//! A stack repository with two stages.

use std::fs;
use std::path::{Path, PathBuf};

use crate::git::git;
use crate::support::copy;

const V1: &str = "docker-demo-1-34-v1";
const V2: &str = "docker-demo-1-34-v2";

/// Creates a work tree in a directory: both stages have the first release of the example, and stage has the second one
/// as well. Prod has two clusters.
pub(crate) fn two_stages(directory: &Path) -> PathBuf {
    let (root, work) = (Path::new(env!("CARGO_MANIFEST_DIR")), directory.join("work"));
    copy(&root.join("examples/promotion"), &work);
    for (stage, releases) in [("stage", &[V1, V2][..]), ("prod", &[V1])] {
        fs::create_dir_all(work.join(stage).join("releases")).unwrap();
        for release in releases {
            copy(&root.join("examples/stack/releases").join(release), &work.join(stage).join("releases"));
        }
    }
    copy(&root.join("examples/clusters"), &work.join("prod/clusters"));
    git(&work, &["init", "--quiet", "--initial-branch=main"]);
    work
}
