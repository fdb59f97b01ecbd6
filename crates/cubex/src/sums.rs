//! `cubex-checksums`: checksums of the bytes of a report, so that a changed byte does not pass silently.
//!
//! The documentation of the crate has the byte table. This crate writes the member as the last one of each report, and
//! other readers ignore it. Opening a report reads everything above the table, which is a millionth of the file. When a
//! block is read for the first time, it is compared with its checksum, and so is the page of the table that has the
//! checksum.
//!
//! Blocks are small so that damage makes few rows unreadable. They are parts of the file and not of rows, so narrow rows
//! do not need a checksum each, a single value of a wide row is read without the rest of the row, and headers and extra
//! members are covered like values.
//!
//! # How readers know that there are checksums
//!
//! The tar headers of `anchor.xml` and of this member end with the [mark](crate::tar). A report with one of the marks
//! must have the member, so a report that was cut, or whose member was renamed, is damaged. A report with neither was
//! written or packed again by another tool, which may have kept a member that fits no more: it is read without
//! checksums, as are reports that never had any. An attribute in `anchor.xml` would be copied by such tools and could not
//! tell the two cases apart.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::bytes::Bytes;
use crate::error::{Error, ErrorKind, Result, Wrong};
use crate::tar::{ANCHOR, Member, SUMS};

const MAGIC: &[u8; 16] = b"CUBEX.CHECKSUMS\x01";
/// Offset of the checksums of pages.
const PAGES: u64 = 28;
/// Size of a block of the file, and of a page of the table, in bytes.
pub(crate) const BLOCK: u64 = 4096;
/// Number of checksums on a page.
const PER_PAGE: u64 = BLOCK / 4;

fn wrong(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, Wrong(what))
}

/// Sizes of the parts of the member, which follow from the number of covered bytes.
#[derive(Clone, Copy, Debug)]
struct Shape {
    covered: u64,
    blocks: u64,
    pages: u64,
}

impl Shape {
    fn new(covered: u64) -> Self {
        let blocks = covered.div_ceil(BLOCK);
        Self { covered, blocks, pages: blocks.div_ceil(PER_PAGE) }
    }

    /// Returns the offset of the table in the member.
    fn table(self) -> u64 {
        PAGES + 4 * self.pages + 4
    }

    /// Returns the size of the member.
    fn size(self) -> u64 {
        self.table() + 4 * self.blocks
    }
}

/// Computes the checksum of the list of members before an offset of the file.
fn list_sum<'a>(members: impl Iterator<Item = &'a Member>, before: u64) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    for member in members.filter(|member| member.offset() < before) {
        sum.update(member.name().as_bytes());
        sum.update(&[0]);
        sum.update(&member.offset().to_le_bytes());
        sum.update(&member.size().to_le_bytes());
    }
    sum.finalize()
}

/// The checksums of a report that is open for reading.
#[derive(Debug)]
pub(crate) struct Sums {
    shape: Shape,
    /// Offset of the table in the file.
    table: u64,
    /// Checksums of the pages of the table.
    pages: Vec<u32>,
    /// Pages that were read.
    read: Vec<OnceLock<Page>>,
}

/// A page of the table.
#[derive(Debug)]
struct Page {
    sums: Vec<u32>,
    /// A bit for each block that was compared with its checksum.
    right: Vec<AtomicU8>,
}

impl Sums {
    /// Reads the checksums of a report with these members, which are in the order of the file. Returns `None` if the
    /// report has none.
    pub(crate) fn read(bytes: &Bytes, members: &[Member]) -> Result<Option<Self>> {
        let marked = |member: &&Member| member.marked;
        let member = members.iter().find(|member| member.name() == SUMS);
        let anchor = members.iter().find(|member| member.name() == ANCHOR);
        if anchor.into_iter().chain(member).find(marked).is_none() {
            return Ok(None);
        }
        let Some(member) = member else {
            return Err(Error::from(ErrorKind::NoMember).in_member(SUMS));
        };
        let fail = |what| Err(Error::from(ErrorKind::Checksum(what)).in_member(SUMS));
        let damaged = "the checksums are damaged themselves";
        let shape = Shape::new(member.header);
        if member.size() != shape.size() {
            return fail(damaged);
        }
        // The member has these bytes, and the file has the member.
        let mut head = vec![0; shape.table() as usize];
        let read = bytes.read_at(member.offset(), &mut head);
        if read.map_err(|error| Error::io(error).in_member(SUMS))? != head.len() {
            return Err(Error::from(ErrorKind::Cut).in_member(SUMS));
        }
        let Some((front, sum)) = head.split_last_chunk::<4>() else { return fail(damaged) };
        let covered = member.header.to_le_bytes();
        if crc32fast::hash(front) != u32::from_le_bytes(*sum)
            || !front.starts_with(MAGIC)
            || front.get(16..24) != Some(covered.as_slice())
        {
            return fail(damaged);
        }
        if front.get(24..28)
            != Some(list_sum(members.iter(), member.header).to_le_bytes().as_slice())
        {
            let what = "the members of the archive are not those that were written";
            return Err(ErrorKind::Checksum(what).into());
        }
        let (pages, _) = front.get(PAGES as usize..).unwrap_or_default().as_chunks::<4>();
        Ok(Some(Self {
            shape,
            table: member.offset() + shape.table(),
            pages: pages.iter().map(|&sum| u32::from_le_bytes(sum)).collect(),
            read: pages.iter().map(|_| OnceLock::new()).collect(),
        }))
    }

    /// Compares the blocks with a range of the file with their checksums, unless this was done before. `known` are the
    /// bytes from `offset` on, which are not read again.
    ///
    /// # Errors
    /// Fails with [`Wrong`] if a block has another checksum, and if the file cannot be read.
    pub(crate) fn check(&self, bytes: &Bytes, offset: u64, known: &[u8]) -> io::Result<()> {
        let end = offset.saturating_add(known.len() as u64).min(self.shape.covered);
        if end <= offset {
            return Ok(());
        }
        let mut buffer = Vec::new();
        for block in offset / BLOCK..end.div_ceil(BLOCK) {
            let page = self.page(bytes, block / PER_PAGE)?;
            let place = (block % PER_PAGE) as usize;
            let bit = 1_u8 << (place % 8);
            let right = page.right.get(place / 8);
            if right.is_none_or(|it| it.load(Ordering::Relaxed) & bit != 0) {
                continue;
            }
            let (begin, end) = self.range(block);
            let from = begin.checked_sub(offset).map(|from| from as usize);
            let here = from.and_then(|from| known.get(from..from + (end - begin) as usize));
            let sum = match here {
                Some(here) => crc32fast::hash(here),
                None => {
                    buffer.resize((end - begin) as usize, 0);
                    let got = bytes.read_at(begin, &mut buffer)?;
                    crc32fast::hash(buffer.get(..got).unwrap_or_default())
                }
            };
            if page.sums.get(place) != Some(&sum) {
                return Err(wrong("the checksum of the bytes here is wrong"));
            }
            if let Some(right) = right {
                right.fetch_or(bit, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Returns the first byte of a block and the one after the last.
    fn range(&self, block: u64) -> (u64, u64) {
        (block * BLOCK, ((block + 1) * BLOCK).min(self.shape.covered))
    }

    /// Returns a page of the table, which is read and checked when it is first needed.
    fn page(&self, bytes: &Bytes, number: u64) -> io::Result<&Page> {
        let damaged = || wrong("the checksums of the bytes here are damaged");
        let at = number as usize;
        let (slot, sum) = (self.read.get(at), self.pages.get(at));
        let (Some(slot), Some(&sum)) = (slot, sum) else { return Err(damaged()) };
        if let Some(page) = slot.get() {
            return Ok(page);
        }
        let count = (self.shape.blocks - number * PER_PAGE).min(PER_PAGE) as usize;
        let mut table = vec![0; 4 * count];
        let got = bytes.read_at(self.table + number * BLOCK, &mut table)?;
        if got != table.len() || crc32fast::hash(&table) != sum {
            return Err(damaged());
        }
        let (sums, _) = table.as_chunks::<4>();
        Ok(slot.get_or_init(|| Page {
            sums: sums.iter().map(|&sum| u32::from_le_bytes(sum)).collect(),
            right: (0..count.div_ceil(8)).map(|_| AtomicU8::new(0)).collect(),
        }))
    }
}

/// Number of bytes of a report that are read back at once.
const STEP: usize = 1 << 20;

/// Returns the size of the member for a report of `covered` bytes before it.
pub(crate) fn size(covered: u64) -> u64 {
    Shape::new(covered).size()
}

/// Reads the first `covered` bytes of an unfinished report, whose members are `members`, and writes their checksums to
/// `at`. `file` and `out` are the same file.
pub(crate) fn write(
    file: &File,
    covered: u64,
    members: &[Member],
    out: &File,
    at: u64,
) -> io::Result<()> {
    let shape = Shape::new(covered);
    let mut head = Vec::new();
    head.extend_from_slice(MAGIC);
    head.extend_from_slice(&covered.to_le_bytes());
    head.extend_from_slice(&list_sum(members.iter(), covered).to_le_bytes());
    let mut page = Vec::with_capacity(BLOCK as usize);
    let mut to = at + shape.table();
    let mut finish = |page: &mut Vec<u8>| {
        head.extend_from_slice(&crc32fast::hash(page).to_le_bytes());
        out.write_all_at(page, to)?;
        to += page.len() as u64;
        page.clear();
        Ok::<_, io::Error>(())
    };
    let mut add = |page: &mut Vec<u8>, sum: u32| {
        page.extend_from_slice(&sum.to_le_bytes());
        if page.len() as u64 == BLOCK { finish(page) } else { Ok(()) }
    };
    let mut buffer = vec![0; STEP];
    let nothing = crc32fast::hash(buffer.get(..BLOCK as usize).unwrap_or_default());
    let mut done = 0;
    while done < covered {
        // Rows that were announced and not written are holes, which are not read.
        let hole = dwell_files::next_written(file, done)?.unwrap_or(covered).min(covered);
        if hole.saturating_sub(done) >= STEP as u64 {
            for _ in done / BLOCK..hole / BLOCK {
                add(&mut page, nothing)?;
            }
            done = hole - hole % BLOCK;
            continue;
        }
        let length = (covered - done).min(STEP as u64);
        let part = buffer.get_mut(..length as usize).unwrap_or_default();
        file.read_exact_at(part, done)?;
        for block in part.chunks(BLOCK as usize) {
            add(&mut page, crc32fast::hash(block))?;
        }
        done += length;
    }
    if !page.is_empty() {
        finish(&mut page)?;
    }
    head.extend_from_slice(&crc32fast::hash(&head).to_le_bytes());
    out.write_all_at(&head, at)
}
