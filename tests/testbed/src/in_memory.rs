//! Adapts the sources of the infrastructure provider whose machines exist in its memory, so that two of it can run on a machine.
//!
//! Its servers have fixed ports on all addresses, and the provider has no flag for them. The adapted provider serves on the address
//! alone that it takes from its environment, and its debug server on a port that the kernel chooses.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use crate::building;
use crate::error::{Context as _, Error, Result};
use crate::tools::module_directory;

/// The name of the program.
pub(crate) const PROGRAM: &str = "in-memory-infrastructure";
/// The module of the sources.
const DEPENDENCY: &str = "sigs.k8s.io/cluster-api/test";
/// The file with the ports.
const FILE: &str = "infrastructure/inmemory/pkg/server/mux.go";
/// What is replaced in it, how often, and by what: the port of the debug server, and the address of each API server.
const EDITS: [(&str, usize, &str); 2] = [
    ("DefaultDebugPort = 19000\n", 1, "DefaultDebugPort = 0\n"),
    ("net.Listen(\"tcp\", fmt.Sprintf(\":%d\", wcl.Port()))", 2, "net.Listen(\"tcp\", wcl.HostPort())"),
];

/// Writes adapted sources to a directory. Returns a `go.mod` that builds from them.
pub(crate) fn adapt(module: &str, directory: &Path) -> Result<PathBuf> {
    let sources = directory.join("sources");
    copy(&building::source_directory(module, DEPENDENCY)?, &sources)?;
    let path = sources.join(FILE);
    let mut text = fs::read_to_string(&path).context(|| format!("cannot read {}", path.display()))?;
    for (old, count, new) in EDITS {
        if text.matches(old).count() != count {
            return Err(Error::new(format!("{} does not have {old:?} {count} times", path.display())));
        }
        text = text.replace(old, new);
    }
    write(&path, &text)?;
    let read = |file: &str| {
        let path = module_directory(module).join(file);
        fs::read_to_string(&path).context(|| format!("cannot read {}", path.display()))
    };
    let adapted = directory.join("adapted.mod");
    write(&adapted, &format!("{}\nreplace {DEPENDENCY} => {}\n", read("go.mod")?, sources.display()))?;
    write(&directory.join("adapted.sum"), &read("go.sum")?)?;
    Ok(adapted)
}

/// Returns an address of loopback for the API servers of one provider. No other provider has this port.
pub(crate) fn address(port: u16) -> Ipv4Addr {
    let [high, low] = port.to_be_bytes();
    Ipv4Addr::new(127, high, low, 1)
}

/// Copies a directory, whose files may be read-only.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).context(|| format!("cannot create {}", to.display()))?;
    let entries = fs::read_dir(from).context(|| format!("cannot list {}", from.display()))?;
    for entry in entries.flatten() {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy(&source, &target)?;
        } else {
            let bytes = fs::read(&source).context(|| format!("cannot read {}", source.display()))?;
            fs::write(&target, bytes).context(|| format!("cannot write {}", target.display()))?;
        }
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).context(|| format!("cannot write {}", path.display()))
}
