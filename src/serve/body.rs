//! The body of a request, which may be compressed.

use std::io::{self, Read as _};

use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use flate2::read::MultiGzDecoder;
use futures::StreamExt as _;
use hyper::body::Incoming;

/// The type of the body of a fetch.
const REQUEST: &str = "application/x-git-upload-pack-request";

/// A request that cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum BodyError {
    #[error("the request is not that of git fetch: expected the type {REQUEST}")]
    Type,
    #[error("the request has another encoding than gzip")]
    Encoding,
    #[error("the request exceeds the limit of {0} bytes")]
    TooLarge(usize),
    #[error("the request cannot be read")]
    Broken,
}

impl BodyError {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Type | Self::Encoding => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Broken => StatusCode::BAD_REQUEST,
        }
    }
}

/// Reads a body of at most `most` bytes, before and after it is unpacked.
pub(super) async fn read(headers: &HeaderMap, body: Incoming, most: usize) -> Result<Vec<u8>, BodyError> {
    if headers.get(CONTENT_TYPE).is_none_or(|kind| kind != REQUEST) {
        return Err(BodyError::Type);
    }
    let mut chunks = axum::body::Body::new(body).into_data_stream();
    let mut content = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| BodyError::Broken)?;
        if content.len() + chunk.len() > most {
            return Err(BodyError::TooLarge(most));
        }
        content.extend_from_slice(&chunk);
    }
    match headers.get(CONTENT_ENCODING).map(HeaderValue::as_bytes) {
        None | Some(b"identity") => Ok(content),
        Some(b"gzip" | b"x-gzip") => unpack(&content, most),
        Some(_) => Err(BodyError::Encoding),
    }
}

/// Unpacks gzip up to a limit: a thousand bytes can become a million.
fn unpack(packed: &[u8], most: usize) -> Result<Vec<u8>, BodyError> {
    let mut content = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    let read: io::Result<usize> = MultiGzDecoder::new(packed).take(limit).read_to_end(&mut content);
    match read {
        Ok(read) if read > most => Err(BodyError::TooLarge(most)),
        Ok(_) => Ok(content),
        Err(_) => Err(BodyError::Broken),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn packed(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn bomb_is_unpacked_up_to_the_limit() {
        assert_eq!(unpack(&packed(b"0000"), 4).unwrap(), b"0000");
        assert!(matches!(unpack(&packed(b"00000"), 4), Err(BodyError::TooLarge(4))));
        let bomb = packed(&vec![0; 64 << 20]);
        assert!(bomb.len() < 1 << 20);
        assert!(matches!(unpack(&bomb, 1 << 20), Err(BodyError::TooLarge(_))));
        let twice = [packed(b"00"), packed(b"00")].concat();
        assert_eq!(unpack(&twice, 4).unwrap(), b"0000", "gzip may have several parts");
    }

    #[test]
    fn broken_gzip_is_refused() {
        let whole = packed(b"0000");
        for broken in [&whole[..whole.len() - 4], b"not gzip", b""] {
            assert!(matches!(unpack(broken, 4), Err(BodyError::Broken)), "{broken:?}");
        }
    }
}
