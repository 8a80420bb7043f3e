//! A repository on a real Gitea, whose branch changes by pull requests alone.

use serde_json::{Value, json};
use stackflux_testbed::Gitea;
use tokio::runtime::{Builder, Runtime};

use super::fleet::{Fleet, PATH};
use super::scenario::Scenario;
use crate::forge::Site;

/// A repository that Flux applies, and into which a user merges.
pub(crate) struct Reviewed<'g> {
    gitea: &'g Gitea,
    site: Site<'g>,
    runtime: Runtime,
}

impl<'g> Reviewed<'g> {
    /// Creates the repository, and the Secrets by which the operator pushes and opens pull requests.
    pub(crate) fn start(scenario: &Scenario<'_>, gitea: &'g Gitea) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let site = runtime.block_on(Site::create(gitea, "fleet"));
        Fleet::of(scenario, &site.url().to_string());
        let reviewed = Self { gitea, site, runtime };
        reviewed.push_with(scenario, gitea.token());
        apply_secret(scenario, "forge", &json!({"token": gitea.token()}));
        reviewed
    }

    /// Sets the password with which the operator pushes.
    pub(crate) fn push_with(&self, scenario: &Scenario<'_>, password: &str) {
        apply_secret(scenario, "fleet-push", &json!({"username": self.gitea.user(), "password": password}));
    }

    /// The address of the repository.
    pub(crate) fn url(&self) -> String {
        self.site.url().to_string()
    }

    /// The `delivery` of a ClusterStack through this repository.
    pub(crate) fn delivery(&self) -> Value {
        let git = json!({
            "url": self.url(), "path": PATH, "secretRef": {"name": "fleet-push"},
            "pullRequest": {"forge": "gitea", "secretRef": {"name": "forge"}},
        });
        json!({"delivery": {"mode": "Git", "git": git}})
    }

    /// The address of a pull request.
    pub(crate) fn address(&self, number: u64) -> String {
        format!("{}/{}/fleet/pulls/{number}", self.gitea.url(), self.gitea.user())
    }

    /// All pull requests, the latest first.
    pub(crate) fn pulls(&self) -> Vec<Value> {
        self.runtime.block_on(self.site.pulls())
    }

    /// The numbers of the open pull requests.
    pub(crate) fn open(&self) -> Vec<u64> {
        let is_open = |pull: &&Value| pull["state"] == "open";
        self.pulls().iter().filter(is_open).map(|pull| pull["number"].as_u64().unwrap()).collect()
    }

    /// Merges a pull request. Returns whether Gitea could.
    pub(crate) fn merge(&self, number: u64) -> bool {
        self.runtime.block_on(self.site.merge(number))
    }
}

/// Applies a Secret in the namespace of a scenario.
pub(crate) fn apply_secret(scenario: &Scenario<'_>, name: &str, data: &Value) {
    let metadata = json!({"name": name, "namespace": scenario.namespace});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data});
    scenario.management().apply(&secret.to_string()).unwrap();
}
