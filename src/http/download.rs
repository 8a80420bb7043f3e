//! Downloads that verify a digest or size, and resume after an interruption.

use super::receive::{BodySink, Expected, Receiver};
use super::{Client, Request, TransportError, redacted_url};
use crate::release::Digest;

impl Client {
    /// Downloads to `into`, and returns `into` with the digest of the whole, if the download is as expected. Follows
    /// redirects. Resumes an interrupted download with a request for the rest.
    pub async fn download<K: BodySink>(
        &self,
        request: &Request,
        expected: Expected,
        into: K,
    ) -> Result<(K, Digest), TransportError> {
        let place = redacted_url(&request.url);
        if expected.size.is_some_and(|size| size > expected.most) {
            return Err(TransportError::TooLarge { place, most: expected.most, unit: "bytes" });
        }
        let mut receiver = Receiver::new(into, expected);
        let mut pauses = self.pauses();
        loop {
            match self.receive(request, &mut receiver).await {
                Ok(()) => return receiver.finish(&place).await,
                Err(failure) => pauses.wait_after(failure).await?,
            }
        }
    }

    /// Requests and receives the missing bytes.
    async fn receive(
        &self,
        request: &Request,
        receiver: &mut Receiver<impl BodySink>,
    ) -> Result<(), TransportError> {
        let at = receiver.length();
        let answer =
            if at == 0 { self.follow(request).await? } else { self.follow(&request.rest(at)).await? };
        let place = answer.place().to_owned();
        match answer.status() {
            // The server does not support ranges, and sends everything again.
            200 => receiver.restart().await?,
            206 if at > 0 => {
                let range = answer.header("content-range").unwrap_or_default();
                if !range.starts_with(&format!("bytes {at}-")) {
                    let error = format!("requested the bytes from {at} on, got others");
                    return Err(TransportError::Malformed { place, error });
                }
            }
            _ => return Err(answer.refusal()),
        }
        answer.copy_to(receiver).await?;
        if receiver.is_complete() {
            return Ok(());
        }
        let error = format!("it ended after {} bytes", receiver.length());
        Err(TransportError::Interrupted { place, error })
    }
}
