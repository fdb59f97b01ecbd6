//! A cache of `anchor.xml`: its tables in binary, beside the report.
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 8 | `DWELLCBX` |
//! | 8 | 4 | version of this layout, 1 |
//! | 12 | 40 | key: size of the report, its time (seconds, nanoseconds), place of the document, checksum of the document's tar header and of its first and last 4 KiB |
//! | 52 | 8 | checksum of what follows |
//! | 60 | … | strings; then each table: number of rows, rows of u32 |
//!
//! All numbers are little-endian. A cache that does not fit its report, is damaged, or is of another
//! version counts for nothing: the document is read and the cache is made anew. It goes to a file of
//! another name first, so that two processes that write it at once do no harm. What is loaded goes
//! through the same checks as a document, so that even a forged cache cannot do more harm than a
//! forged report.

use std::fs::Metadata;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::meta::tables::{Heads, Record, Tables};
use crate::meta::{Meta, finish};
use crate::source::Source;
use crate::tar::{BLOCK, Member};
use crate::text::{StrId, Texts};

const MAGIC: &[u8; 8] = b"DWELLCBX";
const VERSION: u32 = 1;
const HEAD: usize = 60;

/// Identity of the report and document to which a cache belongs.
pub(super) type Key = [u8; 40];

/// Computes the key of a report, or returns `None` if it cannot be read.
pub(super) fn key(source: &Source, metadata: &Metadata, anchor: &Member) -> Option<Key> {
    let edge = anchor.size.min(4096);
    let mut sum = Sum::default();
    let ends = [(anchor.header, BLOCK), (anchor.offset, edge)];
    for (offset, length) in ends.into_iter().chain([(anchor.offset + anchor.size - edge, edge)]) {
        let mut bytes = vec![0; length as usize];
        source.read_exact_at(offset, &mut bytes).ok()?;
        sum.add(&bytes);
    }
    let words = [
        metadata.len(),
        metadata.mtime().cast_unsigned(),
        metadata.mtime_nsec().cast_unsigned(),
        anchor.header,
        sum.0,
    ];
    let mut key = [0; 40];
    for (slot, word) in key.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *slot = word.to_le_bytes();
    }
    Some(key)
}

/// A checksum that takes eight bytes at a time. It detects accidents, not forgery.
struct Sum(u64);

impl Default for Sum {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for &word in words {
            self.0 = (self.0 ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            self.0 ^= self.0 >> 32;
        }
        for &byte in rest {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// Writes a cache. Failures are ignored.
pub(super) fn save(path: &Path, key: &Key, tables: &Tables) {
    let mut bytes = Vec::new();
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(key);
    bytes.extend_from_slice(&[0; 8]);
    put(tables, &mut bytes);
    let mut sum = Sum::default();
    sum.add(bytes.get(HEAD..).unwrap_or_default());
    if let Some(slot) = bytes.get_mut(HEAD - 8..HEAD) {
        slot.copy_from_slice(&sum.0.to_le_bytes());
    }
    // A directory that cannot be written to must not keep the report from being shown.
    let _ = dwell_files::write(path, bytes);
}

/// Reads the cache, or returns `None` if there is none with this key or it is damaged.
pub(super) fn load(path: &Path, key: &Key) -> Option<Meta> {
    let mut file = dwell_files::open(path).ok()?;
    let mut head = [0; HEAD];
    file.read_exact(&mut head).ok()?;
    let (front, sum) = head.split_at(HEAD - 8);
    let fits = front.starts_with(MAGIC)
        && front.get(8..12) == Some(VERSION.to_le_bytes().as_slice())
        && front.get(12..) == Some(key.as_slice());
    if !fits {
        return None;
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    let mut actual = Sum::default();
    actual.add(&bytes);
    if actual.0.to_le_bytes().as_slice() != sum {
        return None;
    }
    let tables = take(&bytes)?;
    drop(bytes);
    finish(tables).ok()
}

/// Applies a macro to each table, in the order of the file.
macro_rules! each_table {
    ($tables:expr, $do:ident) => {
        $do!($tables.metrics);
        $do!($tables.expressions);
        $do!($tables.regions);
        $do!($tables.cnodes);
        $do!($tables.parameters);
        $do!($tables.nodes);
        $do!($tables.groups);
        $do!($tables.locations);
        $do!($tables.attributes);
        $do!($tables.topologies);
        $do!($tables.dimensions);
        $do!($tables.places);
    };
}

fn put(tables: &Tables, out: &mut Vec<u8>) {
    let (text, ends) = tables.texts.parts();
    out.extend_from_slice(&(text.len() as u64).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
    put_words(ends, out);
    let heads = tables.heads;
    let heads = [heads.version, heads.metrics_title, heads.program_title, heads.system_title];
    put_words(&heads.map(|id| id.0), out);
    put_words(&tables.mirrors, out);
    put_words(&tables.coordinates, out);
    macro_rules! put_table {
        ($table:expr) => {
            out.extend_from_slice(&($table.len() as u64).to_le_bytes());
            $table.iter().for_each(|record| record.put(out));
        };
    }
    each_table!(tables, put_table);
}

fn put_words(words: &[u32], out: &mut Vec<u8>) {
    out.extend_from_slice(&(words.len() as u64).to_le_bytes());
    out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

fn take(bytes: &[u8]) -> Option<Tables> {
    let mut rest = bytes;
    let length = take_count(&mut rest)?;
    let (text, after) = rest.split_at_checked(length)?;
    let text = str::from_utf8(text).ok()?.to_owned();
    rest = after;
    let ends = take_words(&mut rest)?;
    let mut tables = Tables { texts: Texts::from_parts(text, ends)?, ..Tables::default() };
    let &[version, metrics_title, program_title, system_title] = take_words(&mut rest)?.as_slice()
    else {
        return None;
    };
    tables.heads = Heads {
        version: StrId(version),
        metrics_title: StrId(metrics_title),
        program_title: StrId(program_title),
        system_title: StrId(system_title),
    };
    tables.mirrors = take_words(&mut rest)?;
    tables.coordinates = take_words(&mut rest)?;
    macro_rules! take_table {
        ($table:expr) => {
            $table = take_records(&mut rest)?;
        };
    }
    each_table!(tables, take_table);
    rest.is_empty().then_some(tables)
}

fn take_count(rest: &mut &[u8]) -> Option<usize> {
    let (count, after) = rest.split_first_chunk::<8>()?;
    *rest = after;
    usize::try_from(u64::from_le_bytes(*count)).ok()
}

/// Takes `count` items of `size` bytes from the front of `rest`, or returns `None` if there are fewer. Callers allocate
/// only afterwards.
fn take_bytes<'a>(rest: &mut &'a [u8], count: usize, size: usize) -> Option<&'a [u8]> {
    let (bytes, after) = rest.split_at_checked(count.checked_mul(size)?)?;
    *rest = after;
    Some(bytes)
}

fn take_words(rest: &mut &[u8]) -> Option<Vec<u32>> {
    let count = take_count(rest)?;
    let (words, _) = take_bytes(rest, count, 4)?.as_chunks::<4>();
    Some(words.iter().map(|&word| u32::from_le_bytes(word)).collect())
}

fn take_records<R: Record>(rest: &mut &[u8]) -> Option<Vec<R>> {
    let count = take_count(rest)?;
    let bytes = take_bytes(rest, count, 4 * R::WORDS)?;
    let (words, _) = bytes.as_chunks::<4>();
    let mut records = Vec::with_capacity(count);
    for row in words.chunks_exact(R::WORDS) {
        records.push(R::take(row.iter().map(|&word| u32::from_le_bytes(word)))?);
    }
    Some(records)
}
