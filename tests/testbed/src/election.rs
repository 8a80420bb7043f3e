//! Adapts Flux's controllers so that they can elect a leader outside a Pod.
//!
//! controller-runtime reads the namespace of the election from a file that only a Pod has, and Flux has no flag for it.
//! So the built binaries get another path of the same length, which is relative to the directory that they are started in.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::error::{Context as _, Error, Result};

/// The path in controller-runtime (`pkg/leaderelection/leader_election.go`).
const POD: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// The name of the file that is read instead.
const FILE: &str = "namespace";

/// Writes a copy of a program that reads the namespace of its election from the directory that it is started in.
pub(crate) fn adapt(program: &Path, target: &Path) -> Result<()> {
    let mut bytes = fs::read(program).context(|| format!("cannot read {}", program.display()))?;
    let found: Vec<usize> = bytes
        .windows(POD.len())
        .enumerate()
        .filter(|(_, window)| *window == POD.as_bytes())
        .map(|(at, _)| at)
        .collect();
    let [at] = found.as_slice() else {
        return Err(Error::new(format!("{} has {POD} {} times", program.display(), found.len())));
    };
    if let Some(path) = bytes.get_mut(*at..at.saturating_add(POD.len())) {
        path.copy_from_slice(relative().as_bytes());
    }
    fs::write(target, bytes).context(|| format!("cannot write {}", target.display()))?;
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(target, executable).context(|| format!("cannot set the mode of {}", target.display()))
}

/// Sets the namespace of the election for programs that are started in a directory.
pub(crate) fn set_namespace(directory: &Path, namespace: &str) -> Result<()> {
    let file = directory.join(FILE);
    fs::write(&file, namespace).context(|| format!("cannot write {}", file.display()))
}

/// The path of the file, as long as that of a Pod: consecutive slashes count as one.
fn relative() -> String {
    let slashes = POD.len().saturating_sub(FILE.len() + 1);
    format!(".{}{FILE}", "/".repeat(slashes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_of_a_pod_becomes_one_of_the_same_length() {
        assert_eq!(relative().len(), POD.len());
        let directory = std::env::temp_dir().join(format!("stackflux-election-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let (program, target) = (directory.join("program"), directory.join("target"));
        fs::write(&program, format!("before{POD}after")).unwrap();
        adapt(&program, &target).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), format!("before{}after", relative()));
        set_namespace(&directory, "flux-system").unwrap();
        assert_eq!(fs::read_to_string(directory.join(relative())).unwrap(), "flux-system");
        fs::write(&program, format!("{POD}{POD}")).unwrap();
        assert!(adapt(&program, &target).unwrap_err().to_string().ends_with("2 times"));
        fs::remove_dir_all(&directory).unwrap();
    }
}
