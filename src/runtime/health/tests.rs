use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::metrics::Metrics;
use super::*;

const ANY: &str = "127.0.0.1:0";
const SERVER: &str = "https://api.example.org:6443/";

fn tasks() -> Tasks {
    Tasks::new().0
}

/// Fetches a path, and returns status code, head and body of the answer.
async fn get(address: SocketAddr, path: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let code = head.split(' ').nth(1).unwrap().parse().unwrap();
    (code, head.to_owned(), body.to_owned())
}

#[tokio::test]
async fn readiness_names_missing_parts_and_recovers() {
    let readiness = Readiness::starting(SERVER);
    let address = serve_health(&tasks(), &ANY.parse().unwrap(), readiness.clone()).await.unwrap();
    let ready = async || {
        let (code, _, body) = get(address, "/readyz").await;
        (code, body)
    };
    assert_eq!(ready().await, (503, "operator: starting\n".to_owned()));
    readiness.waits_for("HelmRelease", "not found: is Flux installed?");
    readiness.waits_for("Cluster", "listing");
    readiness.started();
    let both = "Cluster: listing\nHelmRelease: not found: is Flux installed?\n";
    assert_eq!(ready().await, (503, both.to_owned()));
    readiness.has("HelmRelease");
    readiness.waits_for("Cluster", "forbidden");
    assert_eq!(ready().await, (503, "Cluster: forbidden\n".to_owned()));
    readiness.has("Cluster");
    assert_eq!(ready().await, (200, "ok".to_owned()));
    readiness.waits_for("Cluster", "listing");
    assert_eq!(ready().await.0, 503, "what is lost is waited for again");
    let (code, _, body) = get(address, "/healthz").await;
    assert_eq!((code, body.as_str()), (200, "ok"), "it lives while it waits");
}

#[tokio::test]
async fn metrics_are_served_as_open_metrics() {
    let mut registry = Registry::with_prefix("demo");
    let metrics = Metrics::new(&mut registry);
    let address = serve_metrics(&tasks(), &ANY.parse().unwrap(), Arc::new(registry)).await.unwrap();
    metrics.skipped("HelmRelease");
    let (code, head, body) = get(address, "/metrics").await;
    assert_eq!(code, 200);
    assert!(head.contains(&format!("content-type: {OPEN_METRICS}")), "{head}");
    assert!(body.contains("demo_skipped_writes_total{kind=\"HelmRelease\"} 1"), "{body}");
    assert_eq!(get(address, "/other").await.0, 404);
}

#[tokio::test]
async fn address_in_use_is_named() {
    let address = serve_metrics(&tasks(), &ANY.parse().unwrap(), Arc::default()).await.unwrap();
    let error = serve_health(&tasks(), &address.to_string().parse().unwrap(), Readiness::starting(SERVER))
        .await
        .unwrap_err();
    assert!(error.to_string().starts_with(&format!("cannot listen on {address} for health: ")), "{error}");
}

#[tokio::test]
async fn address_without_host_listens_on_all() {
    let address = serve_health(&tasks(), &":0".parse().unwrap(), Readiness::starting(SERVER)).await.unwrap();
    assert!(address.ip().is_unspecified());
    assert_eq!(get((std::net::Ipv4Addr::LOCALHOST, address.port()).into(), "/healthz").await.0, 200);
}

#[test]
fn listen_addresses_are_parsed() {
    for text in [":8080", "127.0.0.1:0", "[::1]:9440", "localhost:1"] {
        assert_eq!(text.parse::<ListenAddress>().unwrap().to_string(), text);
    }
    for text in ["", "8080", ":", ":65536", "host", "host:http"] {
        assert_eq!(text.parse::<ListenAddress>(), Err(ListenAddressError(text.to_owned())));
    }
}

#[test]
fn unreachable_api_server_error_is_one_line() {
    let readiness = Readiness::starting(SERVER);
    readiness.started();
    let kinds = ["Cluster", "ClusterStack", "HelmRelease"];
    for kind in kinds {
        readiness.failed(kind, &Failure::NoAnswer("connection refused".to_owned()));
    }
    readiness.waits_for("Kustomization", "forbidden");
    let line = "the API server https://api.example.org:6443/ does not answer: connection refused (caches that wait: 3)";
    assert_eq!(readiness.waits(), [line, "Kustomization: forbidden"]);
    for kind in kinds {
        readiness.has(kind);
    }
    assert_eq!(readiness.waits(), ["Kustomization: forbidden"]);
}
