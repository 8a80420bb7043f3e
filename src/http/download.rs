//! Downloads: bytes of a known digest or size, taken up again where they broke off.

use super::receive::{Keep, Receiver};
use super::{Client, Request, TransportError, redacted_url};
use crate::release::Digest;

/// What a download must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Its SHA-256, where it is known.
    pub digest: Option<Digest>,
    /// Its size in bytes, where it is known.
    pub size: Option<u64>,
    /// The most bytes that are taken.
    pub most: u64,
}

impl Client {
    /// Fetches bytes and returns them with their digest, if they are what is expected. Redirects are followed. What
    /// breaks off is taken up again with a request for the rest; the digest is that of the whole.
    pub async fn download<K: Keep>(
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

    /// Asks for what is not there yet.
    async fn receive(
        &self,
        request: &Request,
        receiver: &mut Receiver<impl Keep>,
    ) -> Result<(), TransportError> {
        let at = receiver.length();
        let answer =
            if at == 0 { self.follow(request).await? } else { self.follow(&request.rest(at)).await? };
        let place = answer.place().to_owned();
        match answer.status() {
            // Whoever knows nothing of ranges begins at the beginning.
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
        answer.pour(receiver).await?;
        if receiver.is_complete() {
            return Ok(());
        }
        let error = format!("it ended after {} bytes", receiver.length());
        Err(TransportError::Interrupted { place, error })
    }
}
