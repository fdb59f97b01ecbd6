//! `N.data`: the values, plain or compressed.
//!
//! | offset | bytes | plain |
//! |---|---|---|
//! | 0 | 10 | `CUBEX.DATA` |
//! | 10 | … | the rows present, one after the other, a value for each location |
//!
//! | offset | bytes | compressed |
//! |---|---|---|
//! | 0 | 11 | `ZCUBEX.DATA` |
//! | 11 | 8 | u64 m, number of entries |
//! | 19 | 24 m | three u64 a row: where it begins among all plain values; where its compressed bytes begin, from the end of this table; how many these are |
//! | 19 + 24 m | … | a zlib stream for each row |

use std::io::Read;

use flate2::bufread::ZlibDecoder;

use crate::error::{Error, ErrorKind, Result};
use crate::source::{Source, Window};
use crate::tar::Member;
use crate::value::{ByteOrder, Row};

pub(crate) const DATA_MAGIC: &[u8; 10] = b"CUBEX.DATA";
const PACKED_MAGIC: &[u8; 11] = b"ZCUBEX.DATA";

/// Offset of the table of compressed rows.
const TABLE: u64 = 19;
/// Size of an entry of that table, in bytes.
const ENTRY: u64 = 24;
/// Largest ratio by which deflate can compress.
const MOST_DEFLATED: u64 = 1032;
/// Number of bytes that are read at once.
const STEP: u64 = 256 * 1024;

/// The layout of the values of a metric in its member.
#[derive(Debug)]
pub(super) enum Layout {
    Plain,
    /// Offset and size of the compressed bytes of each stored row, in the member. A size of 0 means that the row was
    /// never written.
    Packed(Vec<(u64, u64)>),
}

/// Determines how a member holds `rows` rows of `row_bytes` bytes each.
pub(super) fn read(
    source: &Source,
    member: &Member,
    order: ByteOrder,
    rows: u32,
    row_bytes: u64,
) -> Result<Layout> {
    let fail = |at: u64, what| Err(Error::from(ErrorKind::Data(what)).at_byte(at));
    let mut head = [0; TABLE as usize];
    let got = member.size.min(TABLE) as usize;
    source
        .read_exact_at(member.offset, head.get_mut(..got).unwrap_or_default())
        .map_err(Error::io)?;
    if head.starts_with(DATA_MAGIC) {
        return Ok(Layout::Plain);
    }
    let (magic, count) = head.split_at(PACKED_MAGIC.len());
    if magic != PACKED_MAGIC {
        return fail(0, "it begins neither with CUBEX.DATA nor with ZCUBEX.DATA");
    }
    let word = |bytes: [u8; 8]| match order {
        ByteOrder::Little => u64::from_le_bytes(bytes),
        ByteOrder::Big => u64::from_be_bytes(bytes),
    };
    let count = word(count.try_into().unwrap_or_default());
    if got < TABLE as usize {
        return Err(Error::from(ErrorKind::Cut).at_byte(member.size));
    }
    // The limit keeps the table no larger than the index.
    if count > u64::from(rows) {
        return fail(11, "it has more compressed rows than the index has rows");
    }
    let start = TABLE + ENTRY * count;
    if start > member.size {
        return Err(Error::from(ErrorKind::Cut).at_byte(member.size));
    }
    let mut bytes = vec![0; (ENTRY * count) as usize];
    source.read_exact_at(member.offset + TABLE, &mut bytes).map_err(Error::io)?;
    let mut packed = vec![(0, 0); rows as usize];
    let (entries, _) = bytes.as_chunks::<{ ENTRY as usize }>();
    for (at, entry) in entries.iter().enumerate() {
        let at = TABLE + ENTRY * at as u64;
        let (words, _) = entry.as_chunks::<8>();
        let &[plain, from, length] = words else { continue };
        let (plain, from, length) = (word(plain), word(from), word(length));
        if length == 0 {
            // A row that was never written.
            continue;
        }
        let end = from.checked_add(length).and_then(|end| end.checked_add(start));
        if end.is_none_or(|end| end > member.size) {
            return fail(at, "a compressed row lies beyond the end");
        }
        // Writers may store rows in any order, so the first word says which one this is.
        let row = plain.checked_div(row_bytes).filter(|_| plain.is_multiple_of(row_bytes));
        let slot = row.and_then(|row| packed.get_mut(usize::try_from(row).ok()?));
        let Some(slot) = slot else {
            return fail(at, "a compressed row belongs to no row of the index");
        };
        if slot.1 != 0 {
            return fail(at, "two compressed rows for the same row of the index");
        }
        *slot = (start + from, length);
    }
    let mut spans: Vec<_> = packed.iter().filter(|span| span.1 != 0).collect();
    spans.sort_unstable();
    // The sums cannot overflow: each end was checked above.
    let apart = spans.windows(2).all(|pair| matches!(pair, [a, b] if a.0 + a.1 <= b.0));
    if !apart {
        return fail(TABLE, "compressed rows overlap");
    }
    Ok(Layout::Packed(packed))
}

/// The place of the values of a metric.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) source: &'a Source,
    pub(super) member: &'a Member,
    pub(super) order: ByteOrder,
    /// Size of a row, in bytes.
    pub(super) row_bytes: u64,
    /// Size of a value, in bytes.
    pub(super) size: u64,
}

impl Layout {
    /// Appends `count` values, from number `skip` on, of the row at position `slot` to `row`. Returns `false` if the
    /// row has no values although the index names it.
    pub(super) fn append(
        &self,
        place: Place<'_>,
        slot: u32,
        skip: u64,
        count: u64,
        row: &mut Row,
    ) -> Result<bool> {
        match self {
            Self::Plain => place.plain(slot, skip, count, row).map(|()| true),
            Self::Packed(spans) => match spans.get(slot as usize) {
                Some(&(at, length)) if length != 0 => {
                    place.packed(at, length, skip, count, row).map(|()| true)
                }
                _ => Ok(false),
            },
        }
    }
}

impl Place<'_> {
    /// Makes a buffer for whole values that is no larger than `bytes`.
    fn buffer(self, bytes: u64) -> Vec<u8> {
        vec![0; ((STEP / self.size).max(1) * self.size).min(bytes) as usize]
    }

    fn plain(self, slot: u32, skip: u64, count: u64, row: &mut Row) -> Result<()> {
        let start = u64::from(slot)
            .checked_mul(self.row_bytes)
            .and_then(|at| at.checked_add(DATA_MAGIC.len() as u64))
            .filter(|&at| {
                at.checked_add(self.row_bytes).is_some_and(|end| end <= self.member.size)
            });
        let cut = || Error::from(ErrorKind::Cut).at_byte(self.member.size);
        let mut at = start.ok_or_else(cut)? + skip * self.size;
        // The row is within the member, and the member within the file: so the file has as many bytes.
        row.reserve(usize::try_from(count).unwrap_or(0));
        let mut left = count * self.size;
        let mut buffer = self.buffer(left);
        while left > 0 {
            let length = left.min(buffer.len() as u64);
            let part = buffer.get_mut(..length as usize).unwrap_or_default();
            self.source
                .read_exact_at(self.member.offset + at, part)
                .map_err(|error| Error::io(error).at_byte(at))?;
            row.decode(part, self.order);
            at += length;
            left -= length;
        }
        Ok(())
    }

    fn packed(self, at: u64, length: u64, skip: u64, count: u64, row: &mut Row) -> Result<()> {
        let damage = |what| Error::from(ErrorKind::Data(what)).at_byte(at);
        // This check comes before the allocation: so few bytes cannot hold a row.
        if length.saturating_mul(MOST_DEFLATED) < self.row_bytes {
            return Err(damage("too few compressed bytes for a row"));
        }
        row.reserve(usize::try_from(count).unwrap_or(0));
        let window = Window::new(self.source, self.member.offset + at, length);
        let mut stream = ZlibDecoder::new(window);
        let (mut skip, mut left) = (skip * self.size, count * self.size);
        let whole = skip == 0 && left == self.row_bytes;
        let mut buffer = self.buffer(skip.max(left));
        let mut next = |length: u64, buffer: &mut [u8]| {
            let length = length.min(buffer.len() as u64) as usize;
            let part = buffer.get_mut(..length).unwrap_or_default();
            // A stream that ends early is damaged as well.
            stream.read_exact(part).map_err(|_| damage("a compressed row makes no sense"))?;
            Ok::<_, Error>(length)
        };
        while skip > 0 {
            skip -= next(skip, &mut buffer)? as u64;
        }
        while left > 0 {
            let length = next(left, &mut buffer)?;
            row.decode(buffer.get(..length).unwrap_or_default(), self.order);
            left -= length as u64;
        }
        // The end of the stream holds its checksum: read on until there is no more.
        match stream.read(&mut [0]) {
            _ if !whole => Ok(()),
            Ok(0) => Ok(()),
            Ok(_) => Err(damage("a compressed row is longer than a row")),
            Err(_) => Err(damage("the checksum of a compressed row is wrong")),
        }
    }
}
