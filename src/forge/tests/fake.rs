//! A fake forge that follows the documentation: it rejects undocumented requests as bad requests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::{Value, json};

use super::{ForgeKind, TOKEN};

/// A pull request of the fake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pull {
    pub(super) number: u64,
    pub(super) head: String,
    pub(super) base: String,
    pub(super) title: String,
    pub(super) body: Option<String>,
    pub(super) is_open: bool,
    /// Whether its branch is in a fork that has the same owner, as an organisation can have.
    pub(super) is_fork: bool,
}

/// A recorded request.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) method: String,
    /// Path and query.
    pub(super) target: String,
    pub(super) body: Option<Value>,
}

struct Answer {
    method: String,
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

#[derive(Default)]
struct Inside {
    pulls: Vec<Pull>,
    seen: Vec<Seen>,
    once: Option<Answer>,
    loses_answer: bool,
    page: Option<usize>,
}

#[derive(Clone)]
pub(super) struct Fake {
    kind: ForgeKind,
    host: String,
    inside: Arc<Mutex<Inside>>,
}

impl Fake {
    pub(super) async fn start(kind: ForgeKind) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = format!("http://{}", listener.local_addr().unwrap());
        let fake = Self { kind, host, inside: Arc::default() };
        let router = Router::new().fallback(handle).with_state(fake.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        fake
    }

    pub(super) fn kind(&self) -> ForgeKind {
        self.kind
    }

    pub(super) fn git_url(&self) -> String {
        format!("{}/{}", self.host, self.repository())
    }

    /// Returns the URL of a pull request's page.
    pub(super) fn page_of(&self, number: u64) -> String {
        let below = match self.kind {
            ForgeKind::GitHub => "pull",
            ForgeKind::GitLab => "-/merge_requests",
            ForgeKind::Gitea => "pulls",
        };
        format!("{}/{below}/{number}", self.git_url())
    }

    pub(super) fn add(&self, pull: Pull) {
        self.inside().pulls.push(pull);
    }

    /// Limits the number of pull requests on a page.
    pub(super) fn pages_of(&self, most: usize) {
        self.inside().page = Some(most);
    }

    /// Gives this answer to the next request of this method, without acting on the request.
    pub(super) fn answer_once(&self, method: &str, status: u16, headers: &[(&str, &str)], body: &str) {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let answer = Answer { method: method.to_owned(), status, headers, body: body.to_owned() };
        self.inside().once = Some(answer);
    }

    /// Performs the next creation, but answers like a failing proxy.
    pub(super) fn lose_answer_once(&self) {
        self.inside().loses_answer = true;
    }

    pub(super) fn pulls(&self) -> Vec<Pull> {
        self.inside().pulls.clone()
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.inside().seen.clone()
    }

    pub(super) fn methods(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.method).collect()
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap()
    }

    fn repository(&self) -> &'static str {
        match self.kind {
            ForgeKind::GitHub | ForgeKind::Gitea => "acme/stacks",
            ForgeKind::GitLab => "acme/platform/stacks",
        }
    }

    fn collection(&self) -> &'static str {
        match self.kind {
            ForgeKind::GitHub => "/api/v3/repos/acme/stacks/pulls",
            ForgeKind::GitLab => "/api/v4/projects/acme%2Fplatform%2Fstacks/merge_requests",
            ForgeKind::Gitea => "/api/v1/repos/acme/stacks/pulls",
        }
    }

    fn answer(&self, method: &str, path: &str, query: &Query, body: Option<&Value>) -> Response {
        let number = path.strip_prefix(self.collection()).map(|rest| rest.strip_prefix('/'));
        match (method, number, body) {
            ("GET", Some(None), None) => self.list(query),
            ("POST", Some(None), Some(body)) if query.is_empty() => self.create(body),
            ("PATCH" | "PUT", Some(Some(number)), Some(body)) if query.is_empty() => {
                self.change(method, number.parse().unwrap(), body)
            }
            _ => respond(404, &json!({"message": "404 Not Found"})),
        }
    }

    fn list(&self, query: &Query) -> Response {
        let one = |name: &str| query.get(name).map(String::as_str);
        let known = match self.kind {
            ForgeKind::GitHub => ["state", "head", "base", "per_page", "page"],
            ForgeKind::GitLab => ["state", "source_branch", "target_branch", "per_page", "page"],
            ForgeKind::Gitea => ["state", "base_branch", "", "limit", "page"],
        };
        let open = if self.kind == ForgeKind::GitLab { "opened" } else { "open" };
        if query.keys().any(|name| !known.contains(&name.as_str())) || one("state") != Some(open) {
            return respond(400, &json!({"message": "not as documented"}));
        }
        let fits = |pull: &&Pull| {
            let head = if self.kind == ForgeKind::GitHub {
                format!("acme:{}", pull.head)
            } else {
                pull.head.clone()
            };
            pull.is_open
                && one(known[1]).is_none_or(|wanted| self.kind == ForgeKind::Gitea || wanted == head)
                && one("base")
                    .or(one("target_branch"))
                    .or(one("base_branch"))
                    .is_none_or(|base| base == pull.base)
        };
        let inside = self.inside();
        let found: Vec<Value> = inside.pulls.iter().filter(fits).map(|pull| self.json(pull)).collect();
        let size = one(known[3]).unwrap().parse::<usize>().unwrap().min(inside.page.unwrap_or(usize::MAX));
        let page = one("page").map_or(1, |page| page.parse::<usize>().unwrap());
        let shown: Vec<_> = found.iter().skip((page - 1) * size).take(size).cloned().collect();
        let mut response = respond(200, &Value::from(shown));
        if page * size < found.len() {
            let rest = query.iter().filter(|(name, _)| *name != "page");
            let rest: Vec<_> = rest.map(|(name, value)| format!("{name}={}", encoded(value))).collect();
            let (place, next) = (format!("{}{}", self.host, self.collection()), page + 1);
            let link = format!(
                "<{place}?page={next}&{}>; rel=\"next\", <{place}?page=9>; rel=\"last\"",
                rest.join("&")
            );
            response.headers_mut().insert("link", link.parse().unwrap());
        }
        response
    }

    fn create(&self, body: &Value) -> Response {
        let (names, conflict) = match self.kind {
            ForgeKind::GitHub => (["head", "base", "title", "body"], 422),
            ForgeKind::GitLab => (["source_branch", "target_branch", "title", "description"], 409),
            ForgeKind::Gitea => (["head", "base", "title", "body"], 409),
        };
        let Some([head, base, title, text]) = fields(body, names) else {
            return respond(400, &json!({"message": "not as documented"}));
        };
        let mut inside = self.inside();
        let same = |pull: &Pull| pull.is_open && !pull.is_fork && pull.head == head && pull.base == base;
        if let Some(pull) = inside.pulls.iter().find(|pull| same(pull)) {
            let (number, head) = (pull.number, &pull.head);
            let message = match self.kind {
                ForgeKind::GitHub => {
                    json!({"message": "Validation Failed", "errors": [{"resource": "PullRequest",
                    "code": "custom", "message": format!("A pull request already exists for acme:{head}.")}]})
                }
                ForgeKind::GitLab => json!({"message": [format!(
                    "Another open merge request already exists for this source branch: !{number}")]}),
                ForgeKind::Gitea => json!({"message": format!(
                    "pull request already exists for these targets [id: {number}, issue_id: {number}]"), "url": "x"}),
            };
            return respond(conflict, &message);
        }
        let number = inside.pulls.len() as u64 + 1;
        let pull = Pull { number, head, base, title, body: Some(text), is_open: true, is_fork: false };
        inside.pulls.push(pull.clone());
        if std::mem::take(&mut inside.loses_answer) {
            return respond(502, &json!({"message": "Bad Gateway"}));
        }
        respond(201, &self.json(&pull))
    }

    fn change(&self, method: &str, number: u64, body: &Value) -> Response {
        let (expected, names, status) = match self.kind {
            ForgeKind::GitHub => ("PATCH", ["title", "body"], 200),
            ForgeKind::GitLab => ("PUT", ["title", "description"], 200),
            ForgeKind::Gitea => ("PATCH", ["title", "body"], 201),
        };
        let (true, Some([title, text])) = (method == expected, fields(body, names)) else {
            return respond(400, &json!({"message": "not as documented"}));
        };
        let mut inside = self.inside();
        let pull = inside.pulls.iter_mut().find(|pull| pull.number == number).unwrap();
        (pull.title, pull.body) = (title, Some(text));
        respond(status, &self.json(pull))
    }

    /// Returns a pull request with the documented fields, including those that are easily confused.
    fn json(&self, pull: &Pull) -> Value {
        let Pull { number, head, base, title, body, is_open, is_fork } = pull;
        let state = if *is_open { "open" } else { "closed" };
        let (source, url) = (if *is_fork { 2 } else { 1 }, self.page_of(*number));
        let api = format!("{}{}/{number}", self.host, self.collection());
        match self.kind {
            ForgeKind::GitLab => {
                json!({"id": 1000 + number, "iid": number, "project_id": 1, "state": format!("{state}ed"),
                "title": title, "description": body, "source_branch": head, "target_branch": base,
                "source_project_id": source, "target_project_id": 1, "web_url": url})
            }
            _ => json!({"id": 1000 + number, "number": number, "url": api, "html_url": url, "state": state,
                "title": title, "body": body,
                "head": {"label": head, "ref": head, "sha": "0".repeat(40), "repo": {"id": source, "name": "stacks"}},
                "base": {"label": base, "ref": base, "sha": "0".repeat(40), "repo": {"id": 1, "name": "stacks"}}}),
        }
    }

    /// Whether a request has the documented headers.
    fn is_as_documented(&self, headers: &HeaderMap, has_body: bool) -> bool {
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let accepts = match self.kind {
            ForgeKind::GitHub => "application/vnd.github+json",
            ForgeKind::GitLab | ForgeKind::Gitea => "application/json",
        };
        header("accept") == accepts
            && header("user-agent").starts_with("stackflux/")
            && (self.kind != ForgeKind::GitHub || header("x-github-api-version") == "2022-11-28")
            && (!has_body || header("content-type") == "application/json")
    }
}

type Query = BTreeMap<String, String>;

async fn handle(State(fake): State<Fake>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, 1 << 20).await.unwrap();
    let body: Option<Value> = (!body.is_empty()).then(|| serde_json::from_slice(&body).unwrap());
    let (method, target) = (head.method.to_string(), head.uri.to_string());
    fake.inside().seen.push(Seen { method: method.clone(), target: target.clone(), body: body.clone() });
    let scheme = if fake.kind == ForgeKind::Gitea { "token" } else { "Bearer" };
    let expected = format!("{scheme} {TOKEN}");
    if head.headers.get("authorization").is_none_or(|value| value != expected.as_str()) {
        return respond(401, &json!({"message": "401 Unauthorized"}));
    }
    if !fake.is_as_documented(&head.headers, body.is_some()) {
        return respond(400, &json!({"message": "not as documented"}));
    }
    let once = fake.inside().once.take_if(|answer| answer.method == method);
    if let Some(answer) = once {
        let mut response = Response::builder().status(answer.status);
        for (name, value) in answer.headers {
            response = response.header(name, value);
        }
        return response.body(Body::from(answer.body)).unwrap();
    }
    let url: reqwest::Url = format!("http://fake{target}").parse().unwrap();
    let query = url.query_pairs().into_owned().collect();
    fake.answer(&method, head.uri.path(), &query, body.as_ref())
}

/// Returns the texts of an object that has exactly these fields.
fn fields<const N: usize>(body: &Value, names: [&str; N]) -> Option<[String; N]> {
    let object = body.as_object().filter(|object| object.len() == N)?;
    let texts: Option<Vec<String>> =
        names.iter().map(|name| Some(object.get(*name)?.as_str()?.to_owned())).collect();
    texts?.try_into().ok()
}

fn encoded(value: &str) -> String {
    value.replace('/', "%2F").replace(':', "%3A")
}

fn respond(status: u16, body: &Value) -> Response {
    let response = Response::builder().status(status).header("content-type", "application/json");
    response.body(Body::from(body.to_string())).unwrap()
}
