//! The members of a gzip stream.

use std::io::{self, BufRead as _, BufReader, Read};

use flate2::bufread::GzDecoder;

/// Maximum number of members. eStargz writes a few for each file, and a parallel compressor one for each block; each costs
/// a new decoder, even if it holds nothing.
pub(super) const MAX_MEMBERS: usize = 1 << 15;

/// Decodes a gzip stream of up to [`MAX_MEMBERS`] members to their end, as one.
pub(in crate::release) struct Members<R> {
    /// The decoder of the current member; `None` only while the next one begins.
    decoder: Option<GzDecoder<BufReader<R>>>,
    left: usize,
}

impl<R: Read> Members<R> {
    /// Begins to decode a stream.
    pub(super) fn new(stream: R) -> Self {
        Self { decoder: Some(GzDecoder::new(BufReader::new(stream))), left: MAX_MEMBERS - 1 }
    }
}

impl<R: Read> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(decoder) = &mut self.decoder {
            let read = decoder.read(buffer)?;
            if read > 0 || buffer.is_empty() || decoder.get_mut().fill_buf()?.is_empty() {
                return Ok(read);
            }
            let message = || io::Error::other(format!("it has more than {MAX_MEMBERS} gzip members"));
            self.left = self.left.checked_sub(1).ok_or_else(message)?;
            self.decoder = self.decoder.take().map(|ended| GzDecoder::new(ended.into_inner()));
        }
        Ok(0)
    }
}
