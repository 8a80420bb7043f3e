//! A promotion by pull request on a real Gitea, which merges it in its own way.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use stackflux::http::{Client, Method, Options, Request};
use stackflux_testbed::Gitea;

use crate::git::commit_and_push;
use crate::operator::scenario::V2;
use crate::stages::two_stages;
use crate::support::{Run, scratch, stackflux};

/// A repository on Gitea with two stages.
struct Site {
    gitea: Gitea,
    token: PathBuf,
}

impl Site {
    fn new() -> Self {
        let (gitea, directory) = (Gitea::start().unwrap(), scratch("promoted-on-gitea"));
        let token = directory.join("token");
        fs::write(&token, gitea.token()).unwrap();
        let site = Self { gitea, token };
        site.ask(Method::POST, "/user/repos", &json!({"name": "stacks", "default_branch": "main"}));
        let with_token = format!("http://{}:{}@", site.gitea.user(), site.gitea.token());
        commit_and_push(&two_stages(&directory), &site.url().replace("http://", &with_token), "two stages");
        // Until Gitea has seen the first push, the repository counts as empty and has no pull requests.
        site.ask(Method::GET, &format!("/repos/{}/stacks/pulls", site.gitea.user()), &json!({}));
        site
    }

    fn url(&self) -> String {
        format!("{}/{}/stacks.git", self.gitea.url(), self.gitea.user())
    }

    /// Sends requests to Gitea for operations that stackflux does not have, until one succeeds: Gitea checks a new pull
    /// request before it can merge it.
    fn ask(&self, method: Method, path: &str, body: &Value) {
        let client = Client::new(Options { attempts: 1, ..Options::default() }).unwrap();
        let token = format!("token {}", self.gitea.token()).into();
        let url: stackflux::http::Url = format!("{}/api/v1{path}", self.gitea.url()).parse().unwrap();
        let request = Request::new(method, url).authorization(&token).unwrap();
        let request = request.body("application/json", body.to_string().into_bytes());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut statuses = Vec::new();
        while statuses.len() < 50 {
            match runtime.block_on(client.send(&request)).unwrap().status() {
                200..=299 => return,
                status => statuses.push(status),
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        panic!("{path}: {statuses:?}");
    }

    fn merge(&self, number: u8, how: &str) {
        let path = format!("/repos/{}/stacks/pulls/{number}/merge", self.gitea.user());
        self.ask(Method::POST, &path, &json!({"Do": how}));
    }

    fn run(&self, arguments: &[&str]) -> Run {
        let (token, url) = (self.token.display().to_string(), self.url());
        let user = ["--git-username", self.gitea.user(), "--git-password-file", &token];
        let run = stackflux(&[arguments, &["--repository", &url], &user].concat());
        assert!(!format!("{}{}", run.stdout, run.stderr).contains(self.gitea.token()));
        run
    }

    fn propose(&self, arguments: &[&str]) -> Run {
        let token = self.token.display().to_string();
        let forge = ["--pull-request", "--forge", "gitea", "--forge-token-file", &token];
        let run = self.run(&[arguments, &forge, &["--author", "Ada <ada@example.org>"]].concat());
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
        run
    }

    /// The history of prod, the latest first: cause, added and removed releases.
    fn history(&self) -> Vec<(String, Value, Value)> {
        let history = self.run(&["history", "prod", "--output", "json"]);
        let history: Value = serde_json::from_str(&history.stdout).unwrap();
        let one = |entry: &Value| {
            let cause = crate::text(entry, "/cause").to_owned();
            (cause, entry["added"].clone(), entry["removed"].clone())
        };
        history.as_array().unwrap().iter().map(one).collect()
    }
}

#[test]
fn gitea_promotion_is_opened_merged_and_reverted() {
    let site = Site::new();
    let promote = ["promote", V2, "--to", "prod", "--offline"];
    let opened = site.propose(&promote);
    assert!(opened.stderr.contains("pull request 1 is opened: "), "{}", opened.stderr);
    let again = site.propose(&promote);
    assert!(again.stderr.contains("pull request 1 is already open: "), "{}", again.stderr);

    site.merge(1, "merge");
    assert_eq!(
        site.history()[0],
        ("promoted".to_owned(), json!([V2]), json!([])),
        "a merge commit of Gitea's"
    );
    let done = site.propose(&promote);
    assert!(done.stderr.contains("stage prod has docker-demo-1-34-v2 with this content"), "{}", done.stderr);

    let rollback = ["rollback", "prod", "--reason", "it leaks"];
    let opened = site.propose(&rollback);
    assert!(opened.stderr.contains("pull request 2 is opened: "), "{}", opened.stderr);
    site.merge(2, "squash");
    let (cause, added, removed) = site.history().swap_remove(0);
    assert_eq!((cause.as_str(), added, removed), ("rolledBack", json!([]), json!([V2])), "a squashed commit");
    let held = site.run(&promote);
    assert!(held.stderr.contains("is held back from stage prod: it leaks"), "{}", held.stderr);
}
