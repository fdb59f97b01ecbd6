//! A stream that stops giving once an allowance is used up.
//!
//! The XML reader keeps one tag or one text in memory at a time. Nothing in the format bounds these,
//! and a compressed document can be a thousand times larger than its file; so both are metered here.

use std::io::{self, BufRead, Read};

use crate::source::read_buffered;

/// A stream with a limit for the next piece and one for the whole.
pub(super) struct Metered<R> {
    inner: R,
    piece: u64,
    total: u64,
    /// Description of the limit that was exceeded, if one was.
    pub(super) exceeded: Option<&'static str>,
}

impl<R: BufRead> Metered<R> {
    pub(super) fn new(inner: R, total: u64) -> Self {
        Self { inner, piece: 0, total, exceeded: None }
    }

    /// Sets the limit for the next piece, in bytes.
    pub(super) fn allow(&mut self, bytes: u64) {
        self.piece = bytes;
    }
}

impl<R: BufRead> BufRead for Metered<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let bytes = self.inner.fill_buf()?;
        if !bytes.is_empty() {
            if self.piece == 0 {
                self.exceeded = Some("a tag or text of more than 1 MiB");
            } else if self.total == 0 {
                self.exceeded = Some("a document far larger than its compressed form");
            }
            if self.exceeded.is_some() {
                return Err(io::ErrorKind::QuotaExceeded.into());
            }
        }
        // Return no more than the rest of the limit, so that one step cannot exceed it.
        let most =
            bytes.len().min(usize::try_from(self.piece.min(self.total)).unwrap_or(usize::MAX));
        Ok(bytes.get(..most).unwrap_or_default())
    }

    fn consume(&mut self, amount: usize) {
        self.inner.consume(amount);
        self.piece = self.piece.saturating_sub(amount as u64);
        self.total = self.total.saturating_sub(amount as u64);
    }
}

impl<R: BufRead> Read for Metered<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        read_buffered(self, out)
    }
}
