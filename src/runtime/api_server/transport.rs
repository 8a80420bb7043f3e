//! Transports of requests to the API server, and the parsing of its answers.

use axum::http::{Request, StatusCode};
use futures::future::BoxFuture;
use kube::Client;
use kube::client::Body;
use kube::core::Status;
use serde::de::{DeserializeOwned, Error as _};

/// An answer of the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: StatusCode,
    /// The JSON of an object or of a `Status`.
    pub body: Vec<u8>,
}

/// A transport of requests to the API server.
pub trait Transport: Send + Sync {
    /// Sends a request and waits for its answer. A refusal is not an error here.
    fn send(&self, request: Request<Vec<u8>>) -> BoxFuture<'_, kube::Result<Answer>>;
}

impl Transport for Client {
    fn send(&self, request: Request<Vec<u8>>) -> BoxFuture<'_, kube::Result<Answer>> {
        Box::pin(async move {
            let answer = Client::send(self, request.map(Body::from)).await?;
            let status = answer.status();
            let body = answer.into_body().collect_bytes().await?.into();
            Ok(Answer { status, body })
        })
    }
}

/// Sends a request and parses the object in its answer. A refusal is [`kube::Error::Api`], as with a [`Client`].
pub(in crate::runtime) async fn request<T: DeserializeOwned>(
    transport: &dyn Transport,
    request: Request<Vec<u8>>,
) -> kube::Result<T> {
    let Answer { status, body } = transport.send(request).await?;
    if status.is_client_error() || status.is_server_error() {
        return Err(kube::Error::Api(refusal(status, &body).boxed()));
    }
    // As kube reads its answers: from text, so that the code of a kind is compiled once.
    let text = std::str::from_utf8(&body).map_err(serde_json::Error::custom);
    text.and_then(serde_json::from_str).map_err(kube::Error::SerdeError)
}

/// Parses the `Status` of a refusal. A proxy answers with text instead.
fn refusal(status: StatusCode, body: &[u8]) -> Status {
    serde_json::from_slice(body).unwrap_or_else(|_| {
        let text = String::from_utf8_lossy(body);
        Status::failure(text.trim(), "Failed to parse error data").with_code(status.as_u16())
    })
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use serde_json::{Value, json};

    use super::*;

    /// Answers every request with this answer.
    struct Fixed(u16, &'static str);

    impl Transport for Fixed {
        fn send(&self, _: Request<Vec<u8>>) -> BoxFuture<'_, kube::Result<Answer>> {
            let status = StatusCode::from_u16(self.0).unwrap();
            Box::pin(ready(Ok(Answer { status, body: self.1.into() })))
        }
    }

    async fn answer(status: u16, body: &'static str) -> kube::Result<Value> {
        request(&Fixed(status, body), Request::new(Vec::new())).await
    }

    async fn refused(status: u16, body: &'static str) -> (u16, String) {
        match answer(status, body).await {
            Err(kube::Error::Api(status)) => (status.code, status.message.clone()),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn answer_is_the_object_or_the_refusal() {
        assert_eq!(answer(200, r#"{"a":1}"#).await.unwrap(), json!({"a": 1}));
        assert!(matches!(answer(200, "no JSON").await, Err(kube::Error::SerdeError(_))));
        let refusal = r#"{"kind":"Status","code":409,"message":"conflict","reason":"Conflict"}"#;
        assert_eq!(refused(409, refusal).await, (409, "conflict".to_owned()));
        assert_eq!(refused(502, "bad gateway\n").await, (502, "bad gateway".to_owned()));
    }
}
