//! The OCI registries of the testbed: an open one, and one with a password.

use std::fs;
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::control_plane::Site;
use crate::debian::DOCKER_REGISTRY;
use crate::error::{Context as _, Result};
use crate::probe;

/// The user of the protected registry, and its password.
const USER: (&str, &str) = ("testbed", "open sesame");
/// The same as a line of an htpasswd file: the registry reads bcrypt.
const HTPASSWD: &str = "testbed:$2b$05$dG8gYmUgb3Igbm90IHRvI.eTbq/0laY6mR1g/UCQyUH.B19eKSbYq";

/// A registry on loopback, over plain HTTP. It stores pushed content until the testbed stops.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Registry {
    address: String,
    is_protected: bool,
}

impl Registry {
    /// The registry with anonymous push and pull.
    pub(crate) fn start(site: &Site<'_>) -> Result<Self> {
        Self::start_as(site, "registry", false)
    }

    /// The registry that requires a user and a password (`WWW-Authenticate: Basic`).
    pub(crate) fn start_protected(site: &Site<'_>) -> Result<Self> {
        Self::start_as(site, "protected-registry", true)
    }

    fn start_as(site: &Site<'_>, name: &'static str, is_protected: bool) -> Result<Self> {
        let data = site.supervisor.data().join(name);
        fs::create_dir_all(&data).context(|| format!("cannot create {}", data.display()))?;
        let write = |file: &str, text: &str| {
            let path = data.join(file);
            fs::write(&path, text).context(|| format!("cannot write {}", path.display()))?;
            Ok(path)
        };
        let port = site.ports.free()?;
        let address = format!("127.0.0.1:{port}");
        let auth = if is_protected {
            let passwords = write("htpasswd", &format!("{HTPASSWD}\n"))?;
            format!("auth: {{htpasswd: {{realm: testbed, path: \"{}\"}}}}\n", passwords.display())
        } else {
            String::new()
        };
        let settings = format!(
            "version: 0.1\nlog: {{level: warn, accesslog: {{disabled: true}}}}\nhttp: {{addr: \"{address}\"}}\n\
             storage: {{filesystem: {{rootdirectory: \"{}\"}}, delete: {{enabled: true}}}}\n{auth}",
            data.join("storage").display()
        );
        let mut command = Command::new(DOCKER_REGISTRY.program()?);
        command.arg("serve").arg(write("config.yml", &settings)?);
        let process = site.supervisor.start(name, command)?;
        site.supervisor.wait(&process, move || probe::answers(port, "/"))?;
        Ok(Self { address, is_protected })
    }

    /// The host and port.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The required user and password, if any.
    #[must_use]
    pub fn user(&self) -> Option<(&'static str, &'static str)> {
        self.is_protected.then_some(USER)
    }
}
