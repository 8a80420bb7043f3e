use std::sync::Mutex;

use axum::http::{Request, StatusCode};
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::GroupVersionKind;
use prometheus_client::registry::Registry;

use super::*;

/// Answers with these bodies, the last one first, and notes the requests.
struct Scripted(Mutex<(Vec<Value>, Vec<String>)>);

impl Transport for Scripted {
    fn send(&self, request: Request<Vec<u8>>) -> BoxFuture<'_, kube::Result<Answer>> {
        let mut script = self.0.lock().unwrap();
        script.1.push(request.uri().to_string());
        let body = script.0.pop().unwrap_or_default().to_string().into_bytes();
        Box::pin(std::future::ready(Ok(Answer { status: StatusCode::OK, body })))
    }
}

/// Looks for the Cluster `b` in a namespace, or in all. Returns the result, and the requests.
async fn look(namespace: Option<&str>, mut pages: Vec<Value>) -> (Result<bool, String>, Vec<String>) {
    pages.reverse();
    let transport = Arc::new(Scripted(Mutex::new((pages, Vec::new()))));
    let metrics = Metrics::new(&mut Registry::default());
    let server = ApiServer::new(transport.clone(), Fence::open(), metrics, "stackflux");
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("cluster.x-k8s.io", "v1beta2", "Cluster"));
    let found = server.any_listed(namespace, &kind, |cluster| cluster["name"] == "b").await;
    let asked = transport.0.lock().unwrap().1.clone();
    (found.map_err(|error| error.to_string()), asked)
}

#[tokio::test]
async fn list_is_read_page_by_page_until_one_fits() {
    let first = json!({"metadata": {"continue": "x y"}, "items": [{"name": "a"}]});
    let last = |name: &str| json!({"metadata": {"continue": ""}, "items": [{"name": name}, {"no": "name"}]});
    let asked = |prefix: &str| {
        let page = format!("{prefix}/clusters?&limit=500");
        vec![page.clone(), format!("{page}&continue=x+y")]
    };
    let all = asked("/apis/cluster.x-k8s.io/v1beta2");
    assert_eq!(look(None, vec![first.clone(), last("b")]).await, (Ok(true), all.clone()));
    assert_eq!(look(None, vec![first.clone(), last("c")]).await, (Ok(false), all));
    let stacks = asked("/apis/cluster.x-k8s.io/v1beta2/namespaces/stacks");
    assert_eq!(look(Some("stacks"), vec![first, last("c")]).await, (Ok(false), stacks.clone()));
    assert_eq!(look(Some("stacks"), vec![last("b")]).await, (Ok(true), stacks[..1].to_vec()));
}

#[tokio::test]
async fn answer_that_is_no_list_is_an_error() {
    let (found, _) = look(None, vec![json!({"metadata": {}})]).await;
    let message = found.unwrap_err();
    assert!(message.starts_with("list Cluster */*: "), "{message}");
}

/// Refuses deletions with a conflict, and has this `ConfigMap`.
struct Conflicting(Value);

impl Transport for Conflicting {
    fn send(&self, request: Request<Vec<u8>>) -> BoxFuture<'_, kube::Result<Answer>> {
        let (status, body) = match request.method().as_str() {
            "DELETE" => (
                StatusCode::CONFLICT,
                json!({"kind": "Status", "status": "Failure", "code": 409, "reason": "Conflict", "message": "it changed"}),
            ),
            _ => (StatusCode::OK, self.0.clone()),
        };
        Box::pin(std::future::ready(Ok(Answer { status, body: body.to_string().into_bytes() })))
    }
}

#[tokio::test]
async fn deletion_that_conflicts_is_complete_if_uid_differs() {
    for (uid, is_gone) in [("an earlier one", true), ("this one", false)] {
        let found = json!({"metadata": {"name": "a", "namespace": "n", "uid": "this one"}});
        let metrics = Metrics::new(&mut Registry::default());
        let server = ApiServer::new(Arc::new(Conflicting(found)), Fence::open(), metrics, "stackflux");
        let deleted = server.delete::<ConfigMap>(&Key::new("n", "a"), uid, None, &()).await;
        assert_eq!(deleted.is_ok(), is_gone, "{deleted:?}");
    }
}
