//! Receives bodies: counts, hashes and stores their bytes.

use std::io;

use sha2::{Digest as _, Sha256};
use tokio::fs::File;
use tokio::io::{AsyncSeekExt as _, AsyncWriteExt as _};

use super::TransportError;
use crate::release::Digest;

/// Expected properties of a download.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The SHA-256 digest, if known.
    pub digest: Option<Digest>,
    /// The size in bytes, if known.
    pub size: Option<u64>,
    /// Maximum number of bytes to receive.
    pub most: u64,
}

/// A destination for a body.
pub trait BodySink: Send {
    /// Appends bytes.
    fn add(&mut self, bytes: &[u8]) -> impl Future<Output = io::Result<()>> + Send;
    /// Discards all bytes.
    fn clear(&mut self) -> impl Future<Output = io::Result<()>> + Send;
    /// Waits until all bytes are written.
    fn finish(&mut self) -> impl Future<Output = io::Result<()>> + Send;
}

impl BodySink for Vec<u8> {
    async fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.extend_from_slice(bytes);
        Ok(())
    }

    async fn clear(&mut self) -> io::Result<()> {
        Self::clear(self);
        Ok(())
    }

    async fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl BodySink for File {
    async fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes).await
    }

    async fn clear(&mut self) -> io::Result<()> {
        self.rewind().await?;
        self.set_len(0).await
    }

    async fn finish(&mut self) -> io::Result<()> {
        self.flush().await
    }
}

/// Receives a body, in one or more pieces.
#[derive(Debug)]
pub(super) struct Receiver<K> {
    sink: K,
    hash: Sha256,
    /// Number of bytes received.
    length: u64,
    expected: Expected,
}

impl<K: BodySink> Receiver<K> {
    pub(super) fn new(sink: K, expected: Expected) -> Self {
        Self { sink, hash: Sha256::new(), length: 0, expected }
    }

    /// Returns the number of bytes received.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Discards all bytes received.
    pub(super) async fn restart(&mut self) -> Result<(), TransportError> {
        (self.hash, self.length) = (Sha256::new(), 0);
        self.sink.clear().await.map_err(TransportError::Temporary)
    }

    /// Refuses a body that announces, before its first byte, a size that is too large or not the expected one.
    pub(super) fn announce(&self, place: &str, more: Option<u64>) -> Result<(), TransportError> {
        let Some(more) = more else { return Ok(()) };
        let found = self.length.saturating_add(more);
        match self.expected {
            Expected { size: Some(expected), .. } if found != expected => {
                Err(TransportError::Size { place: place.to_owned(), expected, found })
            }
            Expected { most, .. } if found > most => {
                Err(TransportError::TooLarge { place: place.to_owned(), most, unit: "bytes" })
            }
            _ => Ok(()),
        }
    }

    /// Adds bytes.
    pub(super) async fn write(&mut self, place: &str, bytes: &[u8]) -> Result<(), TransportError> {
        let most = self.expected.size.unwrap_or(self.expected.most).min(self.expected.most);
        let length = self.length.saturating_add(bytes.len() as u64);
        if length > most {
            return Err(TransportError::TooLarge { place: place.to_owned(), most, unit: "bytes" });
        }
        self.hash.update(bytes);
        self.sink.add(bytes).await.map_err(TransportError::Temporary)?;
        self.length = length;
        Ok(())
    }

    /// Whether all expected bytes are there; true if the size is unknown.
    pub(super) fn is_complete(&self) -> bool {
        self.expected.size.is_none_or(|size| size == self.length)
    }

    /// Returns the destination and the digest, if it is the expected one.
    pub(super) async fn finish(mut self, place: &str) -> Result<(K, Digest), TransportError> {
        self.sink.finish().await.map_err(TransportError::Temporary)?;
        let found = Digest::of_hashed(self.hash);
        match self.expected.digest {
            Some(expected) if found != expected => {
                Err(TransportError::Digest { place: place.to_owned(), expected, found })
            }
            _ => Ok((self.sink, found)),
        }
    }
}
