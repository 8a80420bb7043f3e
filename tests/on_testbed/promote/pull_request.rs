//! A promotion and a rollback by pull request: on the testbed's Git server, as a repository of a forge, with the forge
//! as its documentation describes it. `gitea.rs` uses a real Gitea.

#[path = "../../../src/forge/tests/fake.rs"]
#[allow(dead_code, reason = "the forge's own tests use all of it")]
mod fake;

use std::fs;
use std::path::PathBuf;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use serde_json::Value;
use stackflux::forge::ForgeKind;
use stackflux_testbed::Testbed;

use self::fake::Fake;
use crate::git::{commit_and_push, git};
use crate::operator::scenario::V2;
use crate::stages::two_stages;
use crate::support::{Run, scratch, stackflux};

/// The token that the forge accepts.
const TOKEN: &str = "a-token";

/// A repository of a forge: its Git address, and the forge.
struct Hosted {
    runtime: tokio::runtime::Runtime,
    fake: Fake,
    url: String,
    token: String,
    directory: PathBuf,
}

impl Hosted {
    fn new(name: &str, kind: ForgeKind, path: &str) -> Self {
        let directory = scratch(name);
        let work = two_stages(&directory);
        // The ClusterStack of prod follows this repository, and not that of the example.
        let stack = work.join("prod/clusterstack.yaml");
        let text = fs::read_to_string(&stack).unwrap();
        fs::write(&stack, text.replace("example.org/stacks.git", &format!("example.org/{path}.git")))
            .unwrap();
        let there = Testbed::shared().git().url(name);
        commit_and_push(&work, &there, "two stages");
        let token = directory.join("token");
        fs::write(&token, format!("{TOKEN}\n")).unwrap();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let fake = runtime.block_on(Fake::start(kind));
        let url = runtime.block_on(proxy(format!("/{path}.git"), there));
        Self { runtime, fake, url, token: token.display().to_string(), directory }
    }

    fn run(&self, arguments: &[&str]) -> Run {
        let (kind, version) = match self.fake.kind() {
            ForgeKind::GitHub => ("github", "v3"),
            ForgeKind::GitLab => ("gitlab", "v4"),
            ForgeKind::Gitea => ("gitea", "v1"),
        };
        let url = self.fake.git_url();
        let host = url.strip_suffix(&format!("/{}", self.path())).unwrap();
        let api = format!("{host}/api/{version}");
        let forge =
            ["--pull-request", "--forge", kind, "--forge-api", &api, "--forge-token-file", &self.token];
        let repository = ["--repository", &self.url, "--author", "Ada <ada@example.org>"];
        stackflux(&[arguments, &forge, &repository].concat())
    }

    fn path(&self) -> &'static str {
        if self.fake.kind() == ForgeKind::GitLab { "acme/platform/stacks" } else { "acme/stacks" }
    }

    /// The branches of the repository.
    fn branches(&self) -> Vec<String> {
        let refs = git(&self.directory.join("work"), &["ls-remote", "--heads", &self.url]);
        refs.lines().map(|line| line.split_once("refs/heads/").unwrap().1.to_owned()).collect()
    }

    /// Merges a branch as a forge does.
    fn merge(&self, branch: &str) {
        let work = self.directory.join("work");
        git(&work, &["fetch", "--quiet", &self.url, "main"]);
        git(&work, &["reset", "--quiet", "--hard", "FETCH_HEAD"]);
        git(&work, &["fetch", "--quiet", &self.url, branch]);
        git(&work, &["merge", "--quiet", "--no-ff", "--message", "Merge pull request", "FETCH_HEAD"]);
        git(&work, &["push", "--quiet", &self.url, "HEAD:main"]);
    }
}

/// Serves a repository at another path than its own.
async fn proxy(path: String, to: String) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}{path}", listener.local_addr().unwrap());
    let router = axum::Router::new().fallback(forward).with_state((path, to));
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

async fn forward(State((path, to)): State<(String, String)>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let target = head.uri.to_string();
    let rest = target.strip_prefix(&path).expect("below the repository");
    stackflux::http::install_tls_provider();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut asked = client.request(head.method, format!("{to}{rest}"));
    for (name, value) in
        head.headers.iter().filter(|(name, _)| !["host", "transfer-encoding"].contains(&name.as_str()))
    {
        asked = asked.header(name, value);
    }
    let answer = asked.body(to_bytes(body, 64 << 20).await.unwrap()).send().await.unwrap();
    let mut response = Response::builder().status(answer.status());
    for (name, value) in answer.headers().iter().filter(|(name, _)| *name != "transfer-encoding") {
        response = response.header(name, value);
    }
    response.body(Body::from(answer.bytes().await.unwrap())).unwrap()
}

const PROMOTE: [&str; 5] = ["promote", V2, "--to", "prod", "--offline"];

fn opened_once_merged_and_taken_back(hosted: &Hosted) {
    let first = hosted.run(&PROMOTE);
    assert_eq!(first.code, 0, "{}{}", first.stdout, first.stderr);
    let branches = hosted.branches();
    let branch = branches.iter().find(|branch| *branch != "main").unwrap();
    assert!(branch.starts_with(&format!("stackflux/promote-{V2}-to-prod-")), "{branch}");
    let pulls = hosted.fake.pulls();
    let [pull] = pulls.as_slice() else { panic!("{pulls:?}") };
    assert_eq!((&pull.head, pull.base.as_str()), (branch, "main"));
    assert_eq!(pull.title, format!("Promote {V2} from stage to prod"));
    let body = pull.body.as_deref().unwrap();
    assert!(body.contains("- Helm upgrades `monitoring` to another chart\n"), "{body}");
    assert!(first.stderr.contains(&hosted.fake.page_of(1)), "{}", first.stderr);

    let again = hosted.run(&PROMOTE);
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert!(again.stderr.contains("pull request 1 is already open"), "{}", again.stderr);
    assert_eq!((hosted.fake.pulls().len(), hosted.branches()), (1, branches.clone()));

    hosted.merge(branch);
    let rollback = hosted.run(&["rollback", "prod", "--reason", "it leaks"]);
    assert_eq!(rollback.code, 0, "{}{}", rollback.stdout, rollback.stderr);
    let again = hosted.run(&["rollback", "prod", "--reason", "it leaks"]);
    assert!(again.stderr.contains("pull request 2 is already open"), "{}", again.stderr);
    let titles: Vec<String> = hosted.fake.pulls().into_iter().map(|pull| pull.title).collect();
    assert_eq!(titles, [format!("Promote {V2} from stage to prod"), format!("Roll {V2} back from prod")]);

    let history = stackflux(&["history", "prod", "--repository", &hosted.url, "--output", "json"]).stdout;
    let history: Value = serde_json::from_str(&history).unwrap();
    assert_eq!(history[0]["cause"], "promoted", "the rollback is not merged: {history:#}");
    for run in [&first, &again, &rollback] {
        assert!(!format!("{}{}", run.stdout, run.stderr).contains(TOKEN));
    }
}

#[test]
fn gitlab_merge_request_is_opened_once() {
    let hosted = Hosted::new("promoted-on-gitlab", ForgeKind::GitLab, "acme/platform/stacks");
    opened_once_merged_and_taken_back(&hosted);
    drop(hosted.runtime);
}

#[test]
fn github_pull_request_is_opened_once() {
    let hosted = Hosted::new("promoted-on-github", ForgeKind::GitHub, "acme/stacks");
    opened_once_merged_and_taken_back(&hosted);
    drop(hosted.runtime);
}

#[test]
fn empty_token_prevents_the_push() {
    let hosted = Hosted::new("promoted-without", ForgeKind::Gitea, "acme/stacks");
    fs::write(&hosted.token, "").unwrap();
    let run = hosted.run(&PROMOTE);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("expected a token"), "{}", run.stderr);
    assert_eq!(hosted.branches(), ["main"]);
}
