//! A forge: Gitea, with one user and a token. Gitea is not part of the shared testbed: the tests that need it start one
//! of their own, which is built then.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::building::{go, once, run, say, source_directory};
use crate::error::{Context as _, Result};
use crate::paths;
use crate::ports::Ports;
use crate::probe;
use crate::process::Supervisor;
use crate::tools::module_directory;

const MODULE: &str = "gitea";
const PACKAGE: &str = "code.gitea.io/gitea";

/// The database is `SQLite`, which is C.
const TAGS: &str = "sqlite sqlite_unlock_notify";

const USER: &str = "stackflux";
const PASSWORD: &str = "a-password-of-tests";

/// The scopes of the token: those that `docs/reference/servers.md` requires, and creating repositories.
const SCOPES: &str = "write:repository,write:user";

/// A running Gitea on loopback. It stops when it is dropped; its log stays until the next run.
pub struct Gitea {
    url: String,
    token: String,
    _supervisor: Supervisor,
}

impl Gitea {
    /// Builds Gitea if needed (three and a half minutes on two cores), and starts it (six seconds).
    pub fn start() -> Result<Self> {
        let program = built()?;
        let supervisor = Supervisor::new(&paths::run_of_component(MODULE)?)?;
        let port = Ports::of_this_process().free()?;
        let url = format!("http://127.0.0.1:{port}");
        let settings = supervisor.data().join("app.ini");
        let text = settings_of(port, &url, supervisor.data(), &source_directory(MODULE, PACKAGE)?);
        fs::write(&settings, text).context(|| format!("cannot write {}", settings.display()))?;
        let gitea = |arguments: &[&str]| {
            let mut command = Command::new(&program);
            command.arg("--config").arg(&settings).args(arguments);
            // Nothing else runs as root here, but test machines often do.
            command.env("GITEA_I_AM_BEING_UNSAFE_RUNNING_AS_ROOT", "true").env("HOME", supervisor.data());
            command
        };
        run(&mut gitea(&["migrate"]))?;
        let mail = "stackflux@example.com";
        run(gitea(&["admin", "user", "create", "--must-change-password=false", "--username", USER]).args([
            "--password",
            PASSWORD,
            "--email",
            mail,
        ]))?;
        let token = run(gitea(&["admin", "user", "generate-access-token", "--raw", "--username", USER])
            .args(["--scopes", SCOPES]))?;
        let process = supervisor.start(MODULE, gitea(&["web"]))?;
        supervisor.wait(&process, move || probe::answers(port, "/api/healthz"))?;
        let token = token.lines().last().unwrap_or_default().trim().to_owned();
        Ok(Self { url, token, _supervisor: supervisor })
    }

    /// The URL, without a path.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The user that owns all repositories.
    #[must_use]
    pub fn user(&self) -> &'static str {
        USER
    }

    /// The user's token, also for pushing.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }
}

/// The program, built once into the cache.
fn built() -> Result<PathBuf> {
    let directory = paths::cache()?.join(format!("{MODULE}-{}", key()?));
    fs::create_dir_all(&directory).context(|| format!("cannot create {}", directory.display()))?;
    let lock_path = directory.join("lock");
    let lock = File::create(&lock_path).context(|| format!("cannot create {}", lock_path.display()))?;
    // Another test process may be building the same: wait for it. The lock ends with the file handle.
    lock.lock().context(|| format!("cannot lock {}", lock_path.display()))?;
    let program = directory.join(MODULE);
    once(&program, |incomplete| {
        say(&format!("building {MODULE} into {} ... ", directory.display()))?;
        let start = Instant::now();
        let mut command = go(MODULE);
        command.env("CGO_ENABLED", "1").args(["build", "-mod=readonly", "-buildvcs=false", "-trimpath"]);
        command.args(["-ldflags", "-s -w", "-tags", TAGS, "-o"]).arg(incomplete).arg(PACKAGE);
        run(&mut command)?;
        say(&format!("{:.0} s\n", start.elapsed().as_secs_f64()))
    })?;
    Ok(program)
}

/// The key of everything that determines the build.
fn key() -> Result<String> {
    let mut hasher = DefaultHasher::new();
    (std::env::consts::ARCH, TAGS).hash(&mut hasher);
    for file in ["go.mod", "go.sum"] {
        let path = module_directory(MODULE).join(file);
        fs::read(&path).context(|| format!("cannot read {}", path.display()))?.hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

/// Templates, options and the public files come from the module's own directory. A page of the API has three items. On a busy
/// machine a query of the database waits: if it failed after Gitea's half second, a valid token would be answered with 401.
fn settings_of(port: u16, url: &str, data: &Path, sources: &Path) -> String {
    let (data, sources) = (data.display(), sources.display());
    format!(
        "WORK_PATH = {data}\nRUN_MODE = prod\n\
         [server]\nHTTP_ADDR = 127.0.0.1\nHTTP_PORT = {port}\nROOT_URL = {url}/\nSTATIC_ROOT_PATH = {sources}\n\
         DISABLE_SSH = true\nOFFLINE_MODE = true\n\
         [database]\nDB_TYPE = sqlite3\nPATH = {data}/gitea.db\nSQLITE_JOURNAL_MODE = WAL\nSQLITE_TIMEOUT = 60000\n\
         [repository]\nROOT = {data}/repositories\nDEFAULT_BRANCH = main\n\
         [security]\nINSTALL_LOCK = true\nSECRET_KEY = of-tests\n\
         [service]\nDISABLE_REGISTRATION = true\n\
         [log]\nMODE = console\nLEVEL = Info\n\
         [indexer]\nISSUE_INDEXER_TYPE = db\n\
         [api]\nMAX_RESPONSE_ITEMS = 3\n\
         [actions]\nENABLED = false\n[cron]\nENABLED = false\n"
    )
}
