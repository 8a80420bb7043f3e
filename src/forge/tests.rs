mod fake;

use std::time::Duration;

use fake::{Fake, Pull, Seen};
use serde_json::json;

use super::*;
use crate::error::{Class, Classify as _};
use crate::http::{Options, TransportError};

const KINDS: [ForgeKind; 3] = [ForgeKind::GitHub, ForgeKind::GitLab, ForgeKind::Gitea];
const TOKEN: &str = "t0ken-of-a-test";

fn wanted() -> PullRequest {
    PullRequest {
        head: "stackflux/openstack-demo-1-34-v2-0a1b2c3d".to_owned(),
        base: "main".to_owned(),
        title: "releases: openstack-demo-1-34-v2".to_owned(),
        body: "Published from `oci://registry.example.com/csr`.\n\nTwo lines & more: ü.".to_owned(),
    }
}

/// Returns the desired pull request as an existing one.
fn there(number: u64) -> Pull {
    let PullRequest { head, base, title, body } = wanted();
    Pull { number, head, base, title, body: Some(body), is_open: true, is_fork: false }
}

fn forge(fake: &Fake) -> Forge {
    let options =
        Options { proxies: false, attempts: 2, pause: Duration::from_millis(1), ..Options::default() };
    let repository = Repository::of(&fake.git_url().parse().unwrap(), Some(fake.kind()), None).unwrap();
    Forge::new(Client::new(options).unwrap(), repository, TOKEN.to_owned().into())
}

async fn open(fake: &Fake) -> Result<Opened, ForgeError> {
    forge(fake).pull_request(&wanted()).await
}

#[tokio::test]
async fn pull_request_is_opened_once() {
    for kind in KINDS {
        let fake = Fake::start(kind).await;
        let opened = open(&fake).await.unwrap();
        assert_eq!(opened, Opened { url: fake.page_of(1), number: 1, created: true });
        assert_eq!(open(&fake).await.unwrap(), Opened { created: false, ..opened });
        assert_eq!(fake.pulls(), [there(1)]);
        assert_eq!(fake.methods(), ["GET", "POST", "GET"]);
    }
}

#[tokio::test]
async fn requests_match_the_documented_api() {
    let (head, body) = ("stackflux%2Fopenstack-demo-1-34-v2-0a1b2c3d", wanted().body);
    let owned = format!("acme%3A{head}");
    let table = [
        (
            ForgeKind::GitHub,
            format!("/api/v3/repos/acme/stacks/pulls?state=open&head={owned}&base=main&per_page=100&page=1"),
            "/api/v3/repos/acme/stacks/pulls",
            json!({"head": wanted().head, "base": "main", "title": wanted().title, "body": body}),
        ),
        (
            ForgeKind::GitLab,
            format!(
                "/api/v4/projects/acme%2Fplatform%2Fstacks/merge_requests?state=opened&source_branch={head}&target_branch=main&per_page=100&page=1"
            ),
            "/api/v4/projects/acme%2Fplatform%2Fstacks/merge_requests",
            json!({"source_branch": wanted().head, "target_branch": "main", "title": wanted().title, "description": body}),
        ),
        (
            ForgeKind::Gitea,
            "/api/v1/repos/acme/stacks/pulls?state=open&base_branch=main&limit=50&page=1".to_owned(),
            "/api/v1/repos/acme/stacks/pulls",
            json!({"head": wanted().head, "base": "main", "title": wanted().title, "body": body}),
        ),
    ];
    for (kind, search, creation, body) in table {
        let fake = Fake::start(kind).await;
        open(&fake).await.unwrap();
        let seen = |method: &str, target: &str, body| Seen {
            method: method.to_owned(),
            target: target.to_owned(),
            body,
        };
        assert_eq!(fake.seen(), [seen("GET", &search, None), seen("POST", creation, Some(body))]);
    }
}

#[tokio::test]
async fn changed_title_or_body_is_updated() {
    for (kind, method) in KINDS.into_iter().zip(["PATCH", "PUT", "PATCH"]) {
        for changed in [
            Pull { title: "Draft: something".to_owned(), ..there(7) },
            Pull { body: Some("edited".to_owned()), ..there(7) },
            Pull { body: None, ..there(7) },
        ] {
            let fake = Fake::start(kind).await;
            fake.add(changed);
            let expected = Opened { url: fake.page_of(7), number: 7, created: false };
            assert_eq!(open(&fake).await.unwrap(), expected);
            assert_eq!(fake.pulls(), [there(7)]);
            assert_eq!(fake.methods(), ["GET", method]);
        }
    }
}

#[tokio::test]
async fn trailing_whitespace_is_not_a_difference() {
    for kind in KINDS {
        let fake = Fake::start(kind).await;
        let body = Some(wanted().body.replace('\n', "\r\n") + "\n");
        fake.add(Pull { body, ..there(7) });
        open(&fake).await.unwrap();
        assert_eq!(fake.methods(), ["GET"]);
    }
}

#[tokio::test]
async fn closed_or_unrelated_pull_requests_are_not_reused() {
    for kind in KINDS {
        let fake = Fake::start(kind).await;
        fake.add(Pull { is_open: false, ..there(1) });
        fake.add(Pull { is_fork: true, ..there(2) });
        fake.add(Pull { base: "stable".to_owned(), ..there(3) });
        fake.add(Pull { head: "main".to_owned(), ..there(4) });
        let expected = Opened { url: fake.page_of(5), number: 5, created: true };
        assert_eq!(open(&fake).await.unwrap(), expected, "{kind:?}");
    }
}

#[tokio::test]
async fn pull_request_is_found_on_every_page() {
    for kind in KINDS {
        let fake = Fake::start(kind).await;
        fake.pages_of(1);
        // Two forks have a branch of the same name.
        (1..=2).for_each(|number| fake.add(Pull { is_fork: true, ..there(number) }));
        fake.add(there(3));
        assert_eq!(open(&fake).await.unwrap().number, 3, "{kind:?}");
        assert_eq!(fake.methods(), ["GET"; 3]);
    }
}

#[tokio::test]
async fn pages_without_end_are_not_read() {
    for kind in KINDS {
        let fake = Fake::start(kind).await;
        fake.pages_of(1);
        (1..=100).for_each(|number| fake.add(Pull { is_fork: true, ..there(number) }));
        assert!(matches!(open(&fake).await, Err(ForgeError::TooMany { pages: MAX_PAGES, .. })));
        assert_eq!(fake.methods().len(), MAX_PAGES);
    }
}

#[tokio::test]
async fn next_page_is_requested_from_the_same_host() {
    for kind in KINDS {
        let (fake, other) = (Fake::start(kind).await, Fake::start(kind).await);
        fake.pages_of(1);
        (1..=2).for_each(|number| fake.add(Pull { is_fork: number == 1, ..there(number) }));
        let link = format!("<{}/page>; rel=\"next\"", other.git_url());
        fake.answer_once("GET", 200, &[("link", &link)], "[]");
        assert_eq!(open(&fake).await.unwrap().number, 2, "{kind:?}");
        assert_eq!(other.seen(), []);
    }
}

#[tokio::test]
async fn pull_request_opened_concurrently_is_reused() {
    for kind in KINDS {
        let fake = Fake::start(kind).await;
        fake.add(Pull { title: "theirs".to_owned(), ..there(9) });
        // The pull request appears between search and creation, which then conflicts.
        fake.answer_once("GET", 200, &[], "[]");
        assert_eq!(open(&fake).await.unwrap(), Opened { url: fake.page_of(9), number: 9, created: false });
        assert_eq!(fake.methods()[..3], ["GET", "POST", "GET"]);
        assert_eq!(fake.pulls(), [there(9)]);
    }
}

#[tokio::test]
async fn lost_response_opens_only_one_pull_request() {
    for kind in KINDS {
        let fake = Fake::start(kind).await;
        fake.lose_answer_once();
        assert_eq!(open(&fake).await.unwrap(), Opened { url: fake.page_of(1), number: 1, created: false });
        assert_eq!(fake.pulls(), [there(1)]);
        assert_eq!(fake.methods(), ["GET", "POST", "GET"]);
    }
}

#[tokio::test]
async fn refusal_of_unchanged_branch_is_passed_on() {
    let table = [
        (
            ForgeKind::GitHub,
            422,
            r#"{"message": "Validation Failed", "errors": [{"resource": "PullRequest", "code": "custom",
               "message": "No commits between main and stackflux/a"}], "documentation_url": "https://docs.github.com/"}"#,
            "Validation Failed; No commits between main and stackflux/a",
        ),
        (ForgeKind::GitLab, 422, r#"{"message": {"source_branch": ["does not exist"]}}"#, "does not exist"),
        (
            ForgeKind::Gitea,
            422,
            r#"{"message": "Invalid PullRequest: There are no changes between the head and the base", "url": "x"}"#,
            "Invalid PullRequest: There are no changes between the head and the base",
        ),
    ];
    for (kind, status, body, message) in table {
        let fake = Fake::start(kind).await;
        fake.answer_once("POST", status, &[], body);
        let error = open(&fake).await.unwrap_err();
        assert!(error.to_string().ends_with(&format!(" answered {status}: {message}")), "{error}");
        assert_eq!((error.class(), error.reason()), (Class::Terminal, "ForgeRefused"));
    }
}

#[tokio::test]
async fn token_without_permission_error_names_the_scope() {
    let table = [
        (ForgeKind::GitHub, "Pull requests: read and write"),
        (ForgeKind::GitLab, "the scope api and at least the role Developer"),
        (ForgeKind::Gitea, "the scope write:repository"),
    ];
    for (kind, needs) in table {
        for (status, begins) in [
            (401, "the token is invalid or has expired"),
            (403, "the token needs"),
            (404, "does not exist, or the token has no access"),
        ] {
            let fake = Fake::start(kind).await;
            fake.answer_once("GET", status, &[], r#"{"message": "no"}"#);
            let error = open(&fake).await.unwrap_err();
            let text = error.to_string();
            assert!(text.contains(begins) && text.contains(needs) && text.contains(": no; "), "{text}");
            assert_eq!((error.class(), error.reason()), (Class::Terminal, "ForgeUnauthorised"));
        }
    }
}

#[tokio::test]
async fn rate_limit_is_transient() {
    let limits: [(u16, (&str, &str)); 3] =
        [(403, ("x-ratelimit-remaining", "0")), (403, ("retry-after", "600")), (429, ("retry-after", "600"))];
    for (status, header) in limits {
        let fake = Fake::start(ForgeKind::GitHub).await;
        fake.answer_once("POST", status, &[header], r#"{"message": "API rate limit exceeded"}"#);
        let error = open(&fake).await.unwrap_err();
        assert!(matches!(error, ForgeError::Limited { .. }), "{error}");
        assert_eq!(error.class(), Class::Transient);
    }
}

#[tokio::test]
async fn writing_request_is_not_redirected() {
    for kind in KINDS {
        let fake = Fake::start(kind).await;
        fake.answer_once("POST", 307, &[("location", "/elsewhere")], r#"{"message": "Moved Permanently"}"#);
        let error = open(&fake).await.unwrap_err().to_string();
        assert!(error.contains("has moved, or this is not the address of the API"), "{error}");
        assert_eq!(fake.methods(), ["GET", "POST"]);
    }
}

#[tokio::test]
async fn redirected_search_sends_no_token() {
    for kind in KINDS {
        let (fake, other) = (Fake::start(kind).await, Fake::start(kind).await);
        fake.answer_once("GET", 302, &[("location", &other.git_url())], "");
        // The other forge checks the token first.
        let error = open(&fake).await.unwrap_err();
        assert!(error.to_string().contains("answered 401"), "{error}");
    }
}

#[tokio::test]
async fn errors_contain_no_token() {
    for kind in KINDS {
        let fake = Fake::start(kind).await;
        let echo = format!(r#"{{"message": "bad credentials: {TOKEN}"}}"#);
        fake.answer_once("GET", 403, &[], &echo);
        let error = open(&fake).await.unwrap_err();
        assert!(error.to_string().contains("bad credentials: ***"), "{error}");
        assert!(!format!("{error:?}{:?}", forge(&fake)).contains(TOKEN));
    }
}

#[tokio::test]
async fn response_without_pull_request_is_refused() {
    for kind in KINDS {
        for body in ["", "{}", "[{}]", "[[", "null", "[1]", "<html>sign in</html>"] {
            let fake = Fake::start(kind).await;
            fake.answer_once("GET", 200, &[], body);
            let error = open(&fake).await.unwrap_err();
            assert!(
                matches!(error, ForgeError::Transport(TransportError::Malformed { .. })),
                "{body}: {error}"
            );
        }
    }
    let fake = Fake::start(ForgeKind::Gitea).await;
    let hostile = json!({"number": 1, "html_url": "javascript:alert(1)", "title": "", "body": null,
        "head": {"ref": "", "repo": null}, "base": {"ref": "", "repo": null}});
    fake.answer_once("POST", 201, &[], &hostile.to_string());
    assert!(matches!(open(&fake).await, Err(ForgeError::Transport(TransportError::Malformed { .. }))));
}

#[tokio::test]
async fn long_body_is_truncated_deterministically() {
    for kind in KINDS {
        let fake = Fake::start(kind).await;
        let long = PullRequest {
            title: format!("a\n{}", "ü".repeat(300)),
            body: "ä\r\n".repeat(40_000),
            ..wanted()
        };
        let forge = forge(&fake);
        assert!(forge.pull_request(&long).await.unwrap().created);
        assert!(!forge.pull_request(&long).await.unwrap().created);
        assert_eq!(fake.methods(), ["GET", "POST", "GET"]);
        let there = &fake.pulls()[0];
        assert!(there.title.starts_with("a ü") && there.title.ends_with('…') && there.title.len() <= 252);
        let body = there.body.as_ref().unwrap();
        assert!(body.len() <= 60_000 && body.ends_with("it is in the commits."), "{}", body.len());
    }
}
