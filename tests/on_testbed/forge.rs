//! Pull requests on a real Gitea, from branches that stackflux's own Git pushes.

use std::convert::Infallible;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use stackflux::forge::{Forge, ForgeError, ForgeKind, Opened, PullRequest, Repository};
use stackflux::git::{
    Access, BareRepository, Credentials, Edit, GitUrl, Identity, Proposal, Reference, Target, Updated, update,
};
use stackflux::http::{Client, Method, Options, Request, TransportError};
use stackflux::release::File;
use stackflux_testbed::Gitea;

use crate::repositories::be_impatient;

const HEAD: &str = "stackflux/docker-demo-1-34-v1-0a1b2c3d";
const PATH: &str = "releases/docker-demo-1-34-v1/metadata.yaml";
const TEXT: &str = "versions: {clusterStack: v1, kubernetes: v1.34.2}\n";

/// A repository on Gitea.
pub(crate) struct Site<'a> {
    gitea: &'a Gitea,
    client: Client,
    name: &'static str,
}

impl<'a> Site<'a> {
    /// A new repository with a first commit.
    pub(crate) async fn create(gitea: &'a Gitea, name: &'static str) -> Self {
        be_impatient();
        let client = Client::new(Options { attempts: 1, ..Options::default() }).unwrap();
        let site = Self { gitea, client, name };
        let body = json!({"name": name, "auto_init": true, "default_branch": "main"});
        site.ask(Method::POST, "/user/repos", Some(&body)).await;
        site
    }

    pub(crate) fn url(&self) -> GitUrl {
        format!("{}/{}/{}.git", self.gitea.url(), self.gitea.user(), self.name).parse().unwrap()
    }

    /// Sends a request to Gitea's API, for operations that stackflux does not have.
    async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Value {
        let answer = self.answer(method, path, body).await.unwrap();
        if answer.is_empty() { Value::Null } else { serde_json::from_slice(&answer).unwrap() }
    }

    async fn answer(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Vec<u8>, TransportError> {
        let url = format!("{}/api/v1{path}", self.gitea.url()).parse().unwrap();
        let token = format!("token {}", self.gitea.token()).into();
        let mut request =
            Request::new(method, url).authorization(&token).unwrap().within(Duration::from_secs(30));
        if let Some(body) = body {
            request = request.body("application/json", body.to_string().into_bytes());
        }
        self.client.send(&request).await?.success()?.bytes(1 << 20).await
    }

    /// Merges a pull request, which Gitea refuses while it looks for conflicts. Returns whether that succeeded in some seconds.
    pub(crate) async fn merge(&self, number: u64) -> bool {
        let path = format!("/repos/{}/{}/pulls/{number}/merge", self.gitea.user(), self.name);
        for _ in 0..50 {
            if self.answer(Method::POST, &path, Some(&json!({"Do": "merge"}))).await.is_ok() {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        false
    }

    /// All pull requests, also closed ones.
    pub(crate) async fn pulls(&self) -> Vec<Value> {
        let path = format!("/repos/{}/{}/pulls?state=all", self.gitea.user(), self.name);
        self.ask(Method::GET, &path, None).await.as_array().unwrap().clone()
    }

    fn clone(&self) -> BareRepository {
        let https = Some((self.gitea.user().to_owned(), self.gitea.token().to_owned().into()));
        let credentials = Credentials { https, ..Credentials::default() };
        BareRepository::temporary(Access { url: self.url(), credentials }).unwrap()
    }

    /// Pushes a release to the branch of the pull request.
    fn push(&self) -> Updated {
        let target = Target { branch: "main".to_owned(), push_to: Some(HEAD.to_owned()) };
        let updated = update(&self.clone(), &target, None, |_| {
            let mut edit = Edit::default();
            edit.write(PATH, File { content: TEXT.into(), executable: false }).unwrap();
            let identity = Identity::parse("Test <test@localhost>", Timestamp::UNIX_EPOCH).unwrap();
            Ok::<_, Infallible>(Some(Proposal { edit, message: "a release".to_owned(), identity }))
        });
        updated.unwrap()
    }

    /// The released file in the branch `main`.
    fn released(&self) -> Option<File> {
        let clone = self.clone();
        let commit = clone.fetch(&Reference::Branch("main".to_owned())).unwrap();
        clone.snapshot(commit).unwrap().file(PATH).unwrap()
    }

    fn forge(&self, token: &str) -> Forge {
        let repository = Repository::of(&self.url(), Some(ForgeKind::Gitea), None).unwrap();
        Forge::new(self.client.clone(), repository, token.to_owned().into())
    }

    async fn open(&self, request: &PullRequest) -> Result<Opened, ForgeError> {
        self.forge(self.gitea.token()).pull_request(request).await
    }
}

fn wanted() -> PullRequest {
    PullRequest {
        head: HEAD.to_owned(),
        base: "main".to_owned(),
        title: "releases: docker-demo-1-34-v1".to_owned(),
        body: "From `oci://registry.example.com/csr`.\n\n| a | b |\n|---|---|\n| ü | & |\n".to_owned(),
    }
}

#[tokio::test]
async fn gitea_pull_request_is_opened_updated_and_merged() {
    let gitea = Gitea::start().unwrap();
    let site = Site::create(&gitea, "stacks").await;

    // There is no branch to open one for.
    let error = site.open(&wanted()).await.unwrap_err();
    assert!(matches!(error, ForgeError::Refused { status: 404, .. }), "{error}");

    assert!(matches!(site.push(), Updated::Pushed { .. }));
    let opened = site.open(&wanted()).await.unwrap();
    let url = format!("{}/{}/stacks/pulls/1", gitea.url(), gitea.user());
    assert_eq!(opened, Opened { url, number: 1, created: true });
    assert_eq!(site.released(), None);

    // The same push again, from another machine.
    assert!(matches!(site.push(), Updated::Present(_)));
    assert_eq!(site.open(&wanted()).await.unwrap(), Opened { created: false, ..opened.clone() });
    let before = site.pulls().await;
    assert_eq!(before.len(), 1);
    assert_eq!(before[0]["title"], wanted().title);
    assert_eq!(before[0]["body"], wanted().body.trim_end());

    let other = PullRequest { title: "another".to_owned(), body: "text".to_owned(), ..wanted() };
    assert_eq!(site.open(&other).await.unwrap(), Opened { created: false, ..opened.clone() });
    let after = site.pulls().await;
    assert_eq!((&after[0]["title"], &after[0]["body"]), (&json!("another"), &json!("text")));

    assert!(site.merge(1).await);
    assert_eq!(site.released().unwrap().content, TEXT.as_bytes());

    // There are no changes for another one.
    assert_eq!(site.push(), Updated::Nothing);

    refusals(&site).await;
    more_pages(&site).await;
}

/// A refusal names the missing permission or repository.
async fn refusals(site: &Site<'_>) {
    let error = site.forge("not-a-token").pull_request(&wanted()).await.unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("401") && text.contains("write:repository") && !text.contains("not-a-token"),
        "{text}"
    );
    let missing = Site { gitea: site.gitea, client: site.client.clone(), name: "no-such-repository" };
    let error = missing.open(&wanted()).await.unwrap_err().to_string();
    assert!(
        error.contains("404") && error.contains("does not exist, or the token has no access to it"),
        "{error}"
    );
}

/// Gitea cannot search for a branch: more than a page of other pull requests does not hide ours.
async fn more_pages(site: &Site<'_>) {
    let branches = format!("/repos/{}/stacks/branches", site.gitea.user());
    let (mut first, count) = (None, 5);
    for number in 0..count {
        let name = format!("stackflux/many-{number}");
        let branch = json!({"new_branch_name": name, "old_branch_name": "main"});
        site.ask(Method::POST, &branches, Some(&branch)).await;
        let file = format!("/repos/{}/stacks/contents/file-{number}", site.gitea.user());
        site.ask(Method::POST, &file, Some(&json!({"branch": name, "content": "eA==", "message": "m"})))
            .await;
        let opened = site.open(&PullRequest { head: name, ..wanted() }).await.unwrap();
        assert!(opened.created);
        first.get_or_insert(opened);
    }
    let first = first.unwrap();
    let again = site.open(&PullRequest { head: "stackflux/many-0".to_owned(), ..wanted() }).await.unwrap();
    assert_eq!(again, Opened { created: false, ..first });
}
