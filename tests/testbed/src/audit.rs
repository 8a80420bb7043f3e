//! The writes to the management cluster and their users, from the audit log of its API server.
//!
//! The format of its lines: <https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/>.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::{Context as _, Result};

/// Logs all writes and all requests of the installed operator, without bodies. In blocking mode the line is there soon
/// after the answer. Flux's controllers renew their Leases every two seconds: with these lines the log would never be quiet.
const POLICY: &str = r"
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: None
    users: [admin]
    resources: [{group: coordination.k8s.io, resources: [leases]}]
  - level: Metadata
    verbs: [create, update, patch, delete, deletecollection]
  - level: Metadata
    users: ['system:serviceaccount:flux-system:stackflux']
  - level: None
";

/// The verbs of requests that write.
const WRITES: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];

/// The flags that make an API server keep the log.
pub(crate) fn flags(data: &Path, run: &Path) -> Result<Vec<String>> {
    let policy = data.join("audit-policy.yaml");
    fs::write(&policy, POLICY).context(|| format!("cannot write {}", policy.display()))?;
    Ok(vec![
        format!("--audit-policy-file={}", policy.display()),
        format!("--audit-log-path={}", path(&run.join("logs")).display()),
    ])
}

fn path(logs: &Path) -> PathBuf {
    logs.join("management-audit.jsonl")
}

/// The log of all writes to the management cluster.
#[derive(Clone, Debug)]
pub struct Audit(PathBuf);

/// A moment in the log. Two are equal if nothing was written between them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Mark(u64);

/// A request and its answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Write {
    /// The user: `stackflux` (the operator), `admin` (tests and all controllers),
    /// `system:serviceaccount:<namespace>:<name>`.
    pub user: String,
    /// The field manager that the request names, such as `capi-topology`; empty if it names none.
    pub manager: String,
    /// `create`, `update`, `patch`, `delete` or `deletecollection`; `get`, `list` or `watch` if reads are included.
    pub verb: String,
    /// The plural name of the kind, such as `helmreleases`.
    pub resource: String,
    /// `status`, for example; empty if the object itself was written.
    pub subresource: String,
    /// The namespace; empty if there is none.
    pub namespace: String,
    /// The name of the object.
    pub name: String,
    /// The HTTP status of the answer.
    pub code: u16,
    /// Time of the answer: RFC 3339 with microseconds, UTC.
    pub time: String,
}

impl Audit {
    pub(crate) fn of(logs: &Path) -> Self {
        Self(path(logs))
    }

    /// The current moment.
    pub fn mark(&self) -> Result<Mark> {
        let length = fs::metadata(&self.0).context(|| format!("cannot read {}", self.0.display()))?.len();
        Ok(Mark(length))
    }

    /// All writes since then by any user, in the order of the answers. Dry runs do not count; refused requests do, see
    /// [`Write::code`].
    pub fn writes_since(&self, mark: Mark) -> Result<Vec<Write>> {
        let mut requests = self.requests_since(mark)?;
        requests.retain(|request| WRITES.contains(&request.verb.as_str()));
        Ok(requests)
    }

    /// The requests since then that RBAC refused: writes by any user, and reads by the service account of the installed
    /// operator, `stackflux` in Flux's namespace.
    pub fn forbidden_since(&self, mark: Mark) -> Result<Vec<Write>> {
        let mut requests = self.requests_since(mark)?;
        requests.retain(|request| request.code == 403);
        Ok(requests)
    }

    fn requests_since(&self, mark: Mark) -> Result<Vec<Write>> {
        let failed = || format!("cannot read {}", self.0.display());
        let mut file = File::open(&self.0).context(failed)?;
        // A line was half written at the mark if the byte before it ends none.
        file.seek(SeekFrom::Start(mark.0.saturating_sub(1))).context(failed)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).context(failed)?;
        let text = String::from_utf8_lossy(&bytes);
        let since = if mark.0 == 0 { &*text } else { text.split_once('\n').map_or("", |(_, since)| since) };
        // The last line may be half written.
        let whole = since.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let mut requests = Vec::new();
        for line in whole.lines() {
            let event: Event = serde_json::from_str(line).context(|| format!("no audit event: {line}"))?;
            if !event.request_uri.contains("dryRun=All") {
                requests.push(event.into());
            }
        }
        Ok(requests)
    }

    /// The writes of the operator under test since then, other than Leases.
    pub fn operator_writes_since(&self, mark: Mark) -> Result<Vec<Write>> {
        let mut writes = self.writes_since(mark)?;
        writes.retain(|write| write.user == "stackflux" && write.resource != "leases");
        Ok(writes)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    #[serde(rename = "requestURI")]
    request_uri: String,
    verb: String,
    user: User,
    #[serde(default)]
    object_ref: Reference,
    #[serde(default)]
    response_status: Status,
    stage_timestamp: String,
}

#[derive(Deserialize)]
struct User {
    username: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Reference {
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    code: u16,
}

impl From<Event> for Write {
    fn from(event: Event) -> Self {
        let Reference { resource, subresource, namespace, name } = event.object_ref;
        let parameters = event.request_uri.split_once('?').map_or("", |(_, parameters)| parameters);
        let manager =
            parameters.split('&').find_map(|it| it.strip_prefix("fieldManager=")).unwrap_or_default();
        Self {
            user: event.user.username,
            manager: manager.to_owned(),
            verb: event.verb,
            resource,
            subresource,
            namespace,
            name,
            code: event.response_status.code,
            time: event.stage_timestamp,
        }
    }
}
