//! `N.index`: which rows are in `N.data`.
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 11 | `CUBEX.INDEX` |
//! | 11 | 4 | u32 1, in the byte order of this file and of the values |
//! | 15 | 2 | u16 version, 0 |
//! | 17 | 1 | 1: sparse, 3: dense |
//! | 18 | 4 | sparse: u32 n, the number of rows present |
//! | 22 | 4 n | sparse: n × u32 row numbers, rising |
//!
//! A dense index ends at byte 18 and means that all rows are present.

use crate::error::{Error, ErrorKind, Result};
use crate::source::Source;
use crate::tar::Member;
use crate::value::ByteOrder;

pub(crate) const INDEX_MAGIC: &[u8; 11] = b"CUBEX.INDEX";
pub(crate) const SPARSE: u8 = 1;
pub(crate) const DENSE: u8 = 3;

/// Offset of the row numbers in a sparse index.
const LIST: u64 = 22;

/// The rows that a metric has stored.
#[derive(Debug)]
pub(super) enum Rows {
    /// All rows, as many as there are call paths.
    Dense(u32),
    /// The rows with these numbers, in rising order.
    Sparse(Vec<u32>),
}

impl Rows {
    /// Returns the number of stored rows.
    pub(super) fn len(&self) -> u32 {
        match self {
            Self::Dense(count) => *count,
            // There are no more rows than call paths, whose number fits.
            Self::Sparse(rows) => rows.len() as u32,
        }
    }

    /// Returns the position of a row among the stored ones.
    pub(super) fn find(&self, row: u32) -> Option<u32> {
        match self {
            Self::Dense(count) => (row < *count).then_some(row),
            Self::Sparse(rows) => rows.binary_search(&row).ok().map(|at| at as u32),
        }
    }
}

/// Reads an index for a call tree of `cnodes` call paths.
pub(super) fn read(source: &Source, member: &Member, cnodes: u32) -> Result<(ByteOrder, Rows)> {
    let fail = |at: u64, what| Err(Error::from(ErrorKind::Index(what)).at_byte(at));
    let cut = || Error::from(ErrorKind::Cut).at_byte(member.size);
    let mut head = [0; LIST as usize];
    let got = (member.size.min(LIST)) as usize;
    let front = head.get_mut(..got).unwrap_or_default();
    source.read_exact_at(member.offset, front).map_err(Error::io)?;
    let (magic, rest) = head.split_at(INDEX_MAGIC.len());
    if got < 18 {
        return Err(cut());
    }
    if magic != INDEX_MAGIC {
        return fail(0, "it does not begin with CUBEX.INDEX");
    }
    let &[a, b, c, d, v, w, format, e, f, g, h] = rest else { return Err(cut()) };
    let order = match [a, b, c, d] {
        [1, 0, 0, 0] => ByteOrder::Little,
        [0, 0, 0, 1] => ByteOrder::Big,
        _ => return fail(11, "the mark of the byte order is not 1"),
    };
    if [v, w] != [0, 0] {
        let what = format!("version {} of the index", u16::from_le_bytes([v, w]));
        return Err(Error::from(ErrorKind::Unsupported(what)).at_byte(15));
    }
    let word = |bytes: [u8; 4]| match order {
        ByteOrder::Little => u32::from_le_bytes(bytes),
        ByteOrder::Big => u32::from_be_bytes(bytes),
    };
    match format {
        DENSE => return Ok((order, Rows::Dense(cnodes))),
        SPARSE => {}
        other => {
            let what = format!("index format {other}; only sparse and dense indices are known");
            return Err(Error::from(ErrorKind::Unsupported(what)).at_byte(17));
        }
    }
    if got < LIST as usize {
        return Err(cut());
    }
    let count = word([e, f, g, h]);
    if count > cnodes {
        return fail(18, "it has more rows than there are call paths");
    }
    if LIST + 4 * u64::from(count) > member.size {
        return Err(cut());
    }
    // This is at most four bytes for each call path, and the file has as many bytes.
    let mut bytes = vec![0; 4 * count as usize];
    source.read_exact_at(member.offset + LIST, &mut bytes).map_err(Error::io)?;
    let (words, _) = bytes.as_chunks::<4>();
    let mut rows = Vec::with_capacity(words.len());
    for (at, &bytes) in words.iter().enumerate() {
        let row = word(bytes);
        if row >= cnodes {
            return fail(LIST + 4 * at as u64, "a row beyond the last call path");
        }
        if rows.last().is_some_and(|&before| before >= row) {
            return fail(LIST + 4 * at as u64, "row numbers do not rise");
        }
        rows.push(row);
    }
    Ok((order, Rows::Sparse(rows)))
}
