//! The container: a plain tar archive, and the trap in it.
//!
//! | offset | bytes | header of a member | written |
//! |---|---|---|---|
//! | 0 | 100 | name | |
//! | 100 | 8 | mode | `0000600` |
//! | 108, 116 | 8, 8 | owner, group | `0000000` |
//! | 124 | 12 | size in octal, or bit 7 of the first byte set and big-endian binary | octal |
//! | 136 | 12 | time | 0, so that equal reports are equal bytes |
//! | 148 | 8 | sum of all bytes of the header, these eight as blanks; not checked by readers | right |
//! | 156 | 1 | type: `0` or NUL file, `x` extended header for the next member, others are skipped | `0`, `x` |
//! | 257 | 6, 2 | `ustar` NUL, `00` | |
//! | 265, 297 | 32, 32 | names of owner and group | `users` for the group |
//! | 345 | 155 | prefix of the name | empty |
//! | 500 | 12 | unused | the mark `cubex CRC-32` for `anchor.xml` and the checksums |
//!
//! Contents follow, filled up to a multiple of 512 bytes, and two blocks of zeros end the archive.
//! A member of 8 GiB or more has an extended header before it with one record, `NN size=BYTES\n`.
//!
//! # The 512-byte trap
//!
//! cubew and cubelib fill up by `(size / 512 + 1) * 512 - size` bytes, so that after a member of
//! exactly 512 k bytes they expect one block more than all other tools. Where there is such a member,
//! either they or all others lose what follows.
//!
//! `anchor.xml` gets a newline more when its size would be so. Any other member of such a size, or of
//! none, is followed by a bridge of three blocks, which both rules cross and come out at the same
//! place:
//!
//! | block | who follows the standard sees | who follows cubelib sees |
//! |---|---|---|
//! | 1 | header of `cubex-pad.N` with 1,023 bytes | filling |
//! | 2 | its contents | header of `cubex-pad.N` with 1 byte |
//! | 3 | its contents | its contents |
//!
//! Reading takes both: after a member of such a size, a single block of zeros that a header follows
//! is filling.

use std::collections::HashSet;

use crate::bytes::Bytes;
use crate::error::{Error, ErrorKind, Result};

/// Size of a tar block, in bytes.
pub(crate) const BLOCK: u64 = 512;

/// Name of the member with the metadata.
pub(crate) const ANCHOR: &str = "anchor.xml";

/// Name of the member with the checksums.
pub(crate) const SUMS: &str = "cubex-checksums";

/// What the tar headers of a report with checksums have in bytes that other readers ignore.
const MARK: &[u8; 12] = b"cubex CRC-32";

/// Offset of the mark in a header.
const MARK_AT: usize = 500;

/// Name of the members of a bridge, without their number.
const PAD: &str = "cubex-pad.";

/// Smallest size of a member that gets an extended header, as in cubew.
const EXTENDED: u64 = 0x1_FFFF_FFFF;

/// A file inside the tar archive that a report is. [`Report::members`](crate::Report::members) lists them;
/// [`Report::open_member`](crate::Report::open_member) reads one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub(crate) name: String,
    pub(crate) header: u64,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    /// `true` if the header has the mark of a report with checksums.
    pub(crate) marked: bool,
}

impl Member {
    /// Returns the name of the member, such as `anchor.xml` or `0.data`, without a leading `./`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the offset of the contents from the beginning of the report, in bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the size of the contents in bytes, without header and padding.
    pub fn size(&self) -> u64 {
        self.size
    }
}

/// Returns the number of padding bytes behind a member of this size.
fn filling(size: u64) -> u64 {
    size.wrapping_neg() % BLOCK
}

/// Lists the members of an archive, without those of bridges.
pub(crate) fn members(source: &Bytes) -> Result<Vec<Member>> {
    let mut members = Vec::new();
    let mut names = HashSet::new();
    let mut at = 0;
    let mut extended = Extended::default();
    // True if the member before has a size at which padding rules differ.
    let mut trap = false;
    loop {
        let fail = |error: Error| Err(error.at_byte(at));
        let Some(block) = block(source, at)? else {
            // Writers end with zeros, but a file that lacks only those has lost nothing.
            break;
        };
        if block.iter().all(|&byte| byte == 0) {
            let after = at.saturating_add(BLOCK);
            let next = block_at_end_is_header(source, after)?;
            if !(std::mem::take(&mut trap) && next) {
                break;
            }
            at = after;
            continue;
        }
        let Some(header) = Header::parse(&block) else {
            return fail(Error::new(if at == 0 {
                ErrorKind::NotCubex
            } else {
                ErrorKind::Header("there is no header where a member must begin")
            }));
        };
        let size = extended.size.filter(|_| header.kind != b'x').unwrap_or(header.size);
        let offset = at + BLOCK;
        let end = offset.checked_add(size).filter(|&end| end <= source.len());
        let name = extended.path.take().filter(|_| header.kind != b'x').unwrap_or(header.name);
        let Some(end) = end else {
            return fail(Error::from(ErrorKind::Cut).in_member(&name));
        };
        trap = size.is_multiple_of(BLOCK);
        match header.kind {
            b'x' => extended = Extended::read(source, offset, size)?,
            b'0' | 0 => {
                extended = Extended::default();
                if !name.starts_with(PAD) {
                    if !names.insert(name.clone()) {
                        return fail(Error::from(ErrorKind::DuplicateMember).in_member(&name));
                    }
                    let marked = header.marked;
                    members.push(Member { name, header: at, offset, size, marked });
                }
            }
            _ => extended = Extended::default(),
        }
        at = end.saturating_add(filling(size));
    }
    if members.is_empty() {
        return Err(ErrorKind::NotCubex.into());
    }
    Ok(members)
}

/// Reads a block of the archive, or returns `None` at its end.
fn block(source: &Bytes, at: u64) -> Result<Option<[u8; BLOCK as usize]>> {
    let mut block = [0; BLOCK as usize];
    match source.read_at(at, &mut block).map_err(Error::io)? {
        0 => Ok(None),
        512 => Ok(Some(block)),
        _ if at == 0 => Err(ErrorKind::NotCubex.into()),
        _ => Err(Error::from(ErrorKind::Cut).at_byte(at)),
    }
}

/// Returns `true` if a member begins at `at`. The archive may end before.
fn block_at_end_is_header(source: &Bytes, at: u64) -> Result<bool> {
    let mut block = [0; BLOCK as usize];
    let got = source.read_at(at, &mut block).map_err(Error::io)?;
    Ok(got == block.len() && Header::parse(&block).is_some_and(|header| !header.name.is_empty()))
}

/// The fields of a tar header that readers need.
struct Header {
    name: String,
    size: u64,
    kind: u8,
    marked: bool,
}

impl Header {
    /// Decodes a header. The checksum is not verified, because CubeWriter 4.8.0 wrote wrong ones.
    fn parse(block: &[u8; BLOCK as usize]) -> Option<Self> {
        let field = |from: usize, length: usize| block.get(from..from + length).unwrap_or_default();
        // Headers without this magic are older than Cube.
        if !field(257, 5).eq(b"ustar") {
            return None;
        }
        let text = |bytes: &[u8]| {
            let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
            String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
        };
        let (name, prefix) = (text(field(0, 100)), text(field(345, 155)));
        let name = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        let name = name.strip_prefix("./").map(str::to_owned).unwrap_or(name);
        let kind = field(156, 1).first().copied()?;
        let marked = field(MARK_AT, MARK.len()) == MARK;
        Some(Self { name, size: number(field(124, 12))?, kind, marked })
    }
}

/// Decodes a size: octal digits, or binary for large ones.
fn number(field: &[u8]) -> Option<u64> {
    let (&first, rest) = field.split_first()?;
    if first == 0x80 {
        let (high, low) = rest.split_at_checked(rest.len().checked_sub(8)?)?;
        high.iter().all(|&byte| byte == 0).then_some(())?;
        return Some(u64::from_be_bytes(low.try_into().ok()?));
    }
    let text = str::from_utf8(field).ok()?;
    let digits = text.trim_matches(|c| c == '\0' || c == ' ');
    if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 8).ok() }
}

/// The fields of an extended header, which apply to the member after it.
#[derive(Default)]
struct Extended {
    size: Option<u64>,
    path: Option<String>,
}

impl Extended {
    /// Decodes records of the form `LENGTH KEY=VALUE\n`.
    fn read(source: &Bytes, offset: u64, size: u64) -> Result<Self> {
        let bad =
            || Error::from(ErrorKind::Header("an extended header makes no sense")).at_byte(offset);
        // Ours have one short record; a name could be long, but not this long.
        let length =
            usize::try_from(size).ok().filter(|&size| size <= 64 * 1024).ok_or_else(bad)?;
        let mut bytes = vec![0; length];
        source.read_exact_at(offset, &mut bytes).map_err(Error::io)?;
        let mut rest = bytes.as_slice();
        let mut extended = Self::default();
        while !rest.is_empty() {
            let blank = rest.iter().position(|&byte| byte == b' ').ok_or_else(bad)?;
            let length = rest.get(..blank).and_then(|digits| str::from_utf8(digits).ok());
            let length = length.and_then(|digits| digits.parse().ok()).ok_or_else(bad)?;
            let (record, after) = rest.split_at_checked(length).ok_or_else(bad)?;
            let record = record.get(blank + 1..).and_then(|record| record.strip_suffix(b"\n"));
            let record = record.and_then(|it| str::from_utf8(it).ok()).ok_or_else(bad)?;
            match record.split_once('=').ok_or_else(bad)? {
                ("size", value) => extended.size = Some(value.parse().map_err(|_| bad())?),
                ("path", value) => extended.path = Some(value.to_owned()),
                _ => {}
            }
            rest = after;
        }
        Ok(extended)
    }
}

/// Returns the blocks that precede the contents of a member. Names have at most 100 bytes.
pub(crate) fn header(name: &str, size: u64) -> Vec<u8> {
    let mut out = Vec::new();
    if size >= EXTENDED {
        let size = format!(" size={size}\n");
        // The length of a record counts its own digits, of which there are two here.
        let record = format!("{}{size}", size.len() + 2);
        out.extend(one_header(&format!("PaxHeader/{name}"), record.len() as u64, b'x'));
        out.extend_from_slice(record.as_bytes());
        out.resize(out.len().next_multiple_of(BLOCK as usize), 0);
    }
    out.extend(one_header(name, size, b'0'));
    out
}

/// Returns the number of bytes that precede the contents of a member.
pub(crate) fn header_length(size: u64) -> u64 {
    if size >= EXTENDED { 3 * BLOCK } else { BLOCK }
}

fn one_header(name: &str, size: u64, kind: u8) -> [u8; BLOCK as usize] {
    let mut block = [0; BLOCK as usize];
    let mut put = |at: usize, text: &[u8]| {
        if let Some(to) = block.get_mut(at..at + text.len()) {
            to.copy_from_slice(text);
        }
    };
    put(0, name.as_bytes().get(..name.len().min(100)).unwrap_or_default());
    put(100, b"0000600");
    put(108, b"0000000");
    put(116, b"0000000");
    // If the extended header has the size, the field has as much of it as fits.
    put(124, format!("{:011o}", size.min(0o77_777_777_777)).as_bytes());
    put(136, b"00000000000");
    put(148, b"        ");
    put(156, &[kind]);
    put(257, b"ustar\x0000");
    put(297, b"users");
    if [ANCHOR, SUMS].contains(&name) {
        put(MARK_AT, MARK);
    }
    let sum: u64 = block.iter().map(|&byte| u64::from(byte)).sum();
    if let Some(to) = block.get_mut(148..156) {
        to.copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
    block
}

/// Returns the bytes that follow the contents of a member: zeros up to a whole block, and a bridge where padding rules
/// differ. `pads` counts the bridges.
pub(crate) fn trailer(size: u64, pads: &mut u32) -> Vec<u8> {
    let mut out = vec![0; filling(size) as usize];
    if size.is_multiple_of(BLOCK) {
        let name = format!("{PAD}{pads}");
        *pads += 1;
        out.extend(one_header(&name, 2 * BLOCK - 1, b'0'));
        out.extend(one_header(&name, 1, b'0'));
        out.resize(out.len() + BLOCK as usize, 0);
    }
    out
}

/// Returns `true` if an extra member may have this name: it is short, printable, and not a name of the report's own
/// members.
pub(crate) fn is_free_name(name: &str) -> bool {
    // `PaxHeader/` must fit before it.
    let fits = !name.is_empty() && name.len() <= 90;
    let values = name.strip_suffix(".data").or(name.strip_suffix(".index"));
    let values = values.map(|stem| stem.strip_prefix("ghost_").unwrap_or(stem));
    let is_values = values.is_some_and(|stem| stem.bytes().all(|byte| byte.is_ascii_digit()));
    let plain = name.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
    fits && plain && !is_values && ![ANCHOR, SUMS].contains(&name) && !name.starts_with(PAD)
}
