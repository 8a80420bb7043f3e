//! Programs from a Debian package: fetched without root rights, and unpacked beside the built ones.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::building::{once, run, say};
use crate::error::{Context as _, Error, Result};
use crate::paths;

/// A Debian package, one program of which is used.
pub(crate) struct Package {
    /// The package's name.
    pub(crate) name: &'static str,
    /// The program in it.
    program: &'static str,
    /// The environment variable that names an installed program instead.
    variable: &'static str,
}

/// The registry of the distribution project.
pub(crate) const DOCKER_REGISTRY: Package = Package {
    name: "docker-registry",
    program: "usr/bin/docker-registry",
    variable: "TESTBED_DOCKER_REGISTRY",
};

/// Prometheus, of which only the program is used that evaluates rules in a file.
const PROMETHEUS: Package =
    Package { name: "prometheus", program: "usr/bin/promtool", variable: "TESTBED_PROMTOOL" };

/// The program that evaluates the rules of Prometheus over series in a file. Fetches it if it is missing.
pub fn promtool() -> Result<PathBuf> {
    PROMETHEUS.program()
}

impl Package {
    /// The program: the one that the environment names, otherwise the installed one, otherwise that of the package,
    /// which is first fetched into the cache if it is missing.
    pub(crate) fn program(&self) -> Result<PathBuf> {
        if let Some(path) = paths::variable(self.variable).map(PathBuf::from) {
            let missing = || Error::new(format!("{}={} is not a file", self.variable, path.display()));
            return if path.is_file() { Ok(path) } else { Err(missing()) };
        }
        let installed = Path::new("/").join(self.program);
        if installed.is_file() {
            return Ok(installed);
        }
        let cache = paths::cache()?.join("debian");
        fs::create_dir_all(&cache).context(|| format!("cannot create {}", cache.display()))?;
        let unpacked = cache.join(format!("{}-{}", self.name, std::env::consts::ARCH));
        let lock_path = unpacked.with_added_extension("lock");
        let lock = File::create(&lock_path).context(|| format!("cannot create {}", lock_path.display()))?;
        // Another test process may be fetching the same: wait for it. The lock ends with the file handle.
        lock.lock().context(|| format!("cannot lock {}", lock_path.display()))?;
        once(&unpacked, |incomplete| self.fetch(incomplete))?;
        Ok(unpacked.join(self.program))
    }

    fn fetch(&self, target: &Path) -> Result<()> {
        say(&format!("fetching the Debian package {} into {}\n", self.name, target.display()))?;
        if target.exists() {
            fs::remove_dir_all(target).context(|| format!("cannot remove {}", target.display()))?;
        }
        fs::create_dir_all(target).context(|| format!("cannot create {}", target.display()))?;
        let hint = format!("; {}=<path> names an installed {} instead", self.variable, self.name);
        let hinted = |error: Error| Error::new(format!("{error}{hint}"));
        run(Command::new("apt-get").current_dir(target).args(["--quiet", "download", self.name]))
            .map_err(hinted)?;
        let package = fs::read_dir(target).context(|| format!("cannot list {}", target.display()))?;
        let package = package.flatten().map(|entry| entry.path()).find(|path| path.extension().is_some());
        let package =
            package.ok_or_else(|| Error::new(format!("apt-get left no package of {}", self.name)))?;
        run(Command::new("dpkg-deb").arg("--extract").arg(&package).arg(target)).map(drop)
    }
}
