//! Files of the index.
//!
//! The index is a directory with the files `timeline-0000`, `timeline-0001`, …, one for each group of consecutive
//! locations, and `timeline`, which is written last and has what concerns all. There are at most 64 groups.
//! A group is complete or absent, so that an index whose making was interrupted is continued.
//!
//! All files begin with a header of 64 bytes. Numbers of fixed size are little-endian.
//!
//! | bytes | content |
//! | --- | --- |
//! | 8 | `DWELLTIM` |
//! | 4 | version |
//! | 4 | number of the group, or 0xffffffff for the file of all |
//! | 8 | fingerprint of the report |
//! | 4 | number of all locations |
//! | 4 | number of the first location of the group |
//! | 4 | number of locations of the group |
//! | 4 | greatest number of bins |
//! | 8 | end of the run |
//! | 2, 2 | number of waits in the catalogue, and of classes |
//! | 8 | 0 |
//! | 4 | CRC-32 of the preceding bytes |
//!
//! A group continues with the blocks and [levels](crate::levels) of each location, then rows of the [pyramid](crate::pyramid), each
//! with its CRC-32: one for each location, one for each 16 of them, and the exact sums of the group, as numbers of variable length. A summary follows,
//! and 8 bytes with its place.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use dwell_model::varint::{put, take};
use dwell_model::waits::Wait;

use crate::classes::{CLASSES, Sums};
use crate::error::{Error, Result};
use crate::ids::Location;
use crate::span::{Span, Time};

/// Version of the format.
pub(crate) const VERSION: u32 = 1;

/// Size of a header in bytes.
pub(crate) const HEADER: usize = 64;

const MAGIC: &[u8; 8] = b"DWELLTIM";

/// Number of the group that means the file of all groups.
pub(crate) const ALL: u32 = u32::MAX;

/// Number of locations in a row of the middle level of the pyramid.
pub(crate) const SOME: u32 = 16;

/// Tells the report of one analysis from that of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(pub u64);

/// Returns the fingerprint of a report: its size, and the checksum of its first and last bytes.
///
/// # Errors
/// If the report cannot be read.
pub fn fingerprint(report: &Path) -> io::Result<Fingerprint> {
    const LOOKED_AT: u64 = 1 << 16;
    let file = dwell_files::open(report)?;
    let size = file.metadata()?.len();
    let mut sum = crc32fast::Hasher::new();
    let mut bytes = vec![0; size.min(LOOKED_AT) as usize];
    for at in [0, size - bytes.len() as u64] {
        file.read_exact_at(&mut bytes, at)?;
        sum.update(&bytes);
    }
    Ok(Fingerprint(size << 32 ^ u64::from(sum.finalize())))
}

/// Returns the name of the file of a group.
pub(crate) fn name(group: u32) -> String {
    if group == ALL { "timeline".into() } else { format!("timeline-{group:04}") }
}

/// Returns the number of locations in a group: a power of two, so that there are at most 64.
pub(crate) fn group_size(locations: u32) -> u32 {
    locations.div_ceil(64).max(1).next_power_of_two()
}

/// Header of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) group: u32,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) locations: u32,
    pub(crate) first: Location,
    pub(crate) count: u32,
    pub(crate) bins: u32,
    pub(crate) end: Time,
}

impl Header {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let mut four = |it: u32| bytes.extend_from_slice(&it.to_le_bytes());
        four(VERSION);
        four(self.group);
        four(self.fingerprint.0 as u32);
        four((self.fingerprint.0 >> 32) as u32);
        [self.locations, self.first.0, self.count, self.bins].into_iter().for_each(&mut four);
        four(self.end.0 as u32);
        four((self.end.0 >> 32) as u32);
        four(Wait::ALL.len() as u32 | (CLASSES as u32) << 16);
        four(0);
        four(0);
        let sum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads a header. Returns `None` for one of another version, or of no index.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes = crate::block::checked(bytes)?;
        let mut rest = bytes.strip_prefix(MAGIC)?.as_chunks::<4>().0.iter();
        let mut four = || rest.next().map(|it| u32::from_le_bytes(*it));
        if four()? != VERSION {
            return None;
        }
        let group = four()?;
        let fingerprint = Fingerprint(u64::from(four()?) | u64::from(four()?) << 32);
        let (locations, first, count, bins) = (four()?, Location(four()?), four()?, four()?);
        let end = Time(u64::from(four()?) | u64::from(four()?) << 32);
        let known = Wait::ALL.len() as u32 | (CLASSES as u32) << 16;
        (four()? == known).then_some(Self {
            group,
            fingerprint,
            locations,
            first,
            count,
            bins,
            end,
        })
    }
}

/// A file of the index that can be read.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) path: PathBuf,
    file: File,
    pub(crate) header: Header,
    size: u64,
}

impl Part {
    /// Opens a file of the index.
    pub(crate) fn open(path: PathBuf) -> Result<Self> {
        let io = |error| Error::Io(path.clone(), error);
        let file = dwell_files::open(&path).map_err(io)?;
        let size = file.metadata().map_err(io)?.len();
        let mut bytes = [0; HEADER];
        let header = match file.read_exact_at(&mut bytes, 0) {
            Ok(()) => Header::decode(&bytes),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => None,
            Err(error) => return Err(io(error)),
        };
        let Some(header) = header else { return Err(Error::Stale(path)) };
        Ok(Self { path, file, header, size })
    }

    pub(crate) fn damaged(&self, offset: u64, reason: &'static str) -> Error {
        Error::Damaged { path: self.path.clone(), offset, reason }
    }

    /// Reads bytes at a place.
    pub(crate) fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let is_inside = offset.checked_add(bytes.len() as u64).is_some_and(|it| it <= self.size);
        if !is_inside {
            return Err(self.damaged(offset, "something lies outside of the file"));
        }
        self.file.read_exact_at(bytes, offset).map_err(|error| Error::Io(self.path.clone(), error))
    }

    /// Reads bytes and the checksum behind them.
    pub(crate) fn read_checked(&self, offset: u64, length: u64) -> Result<Vec<u8>> {
        let whole = length.checked_add(4).filter(|it| *it <= self.size);
        let Some(whole) = whole else {
            return Err(self.damaged(offset, "something lies outside of the file"));
        };
        let mut bytes = vec![0; whole as usize];
        self.read(offset, &mut bytes)?;
        match crate::block::checked(&bytes) {
            Some(it) => {
                let length = it.len();
                bytes.truncate(length);
                Ok(bytes)
            }
            None => Err(self.damaged(offset, "a checksum is wrong")),
        }
    }

    /// Reads the summary at the end of the file.
    pub(crate) fn summary(&self) -> Result<Vec<u8>> {
        let at = self.size.saturating_sub(8);
        let mut place = [0; 8];
        self.read(at, &mut place)?;
        let place = u64::from_le_bytes(place);
        let length = at.checked_sub(place).and_then(|it| it.checked_sub(4));
        let length = length.ok_or_else(|| self.damaged(at, "the file has no summary"))?;
        self.read_checked(place, length)
    }
}

/// Summary of a location, which is known without reading its slices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct About {
    /// Place of the first block.
    pub(crate) offset: u64,
    /// Size of all blocks in bytes.
    pub(crate) bytes: u64,
    pub(crate) blocks: u64,
    pub(crate) slices: u64,
    pub(crate) span: Span,
    /// Length of the longest wait.
    pub(crate) longest: u64,
    pub(crate) sums: Sums,
}

impl About {
    pub(crate) fn encode(&self, to: &mut Vec<u8>) {
        let Self { offset, bytes, blocks, slices, span, longest, sums } = *self;
        let numbers = [offset, bytes, blocks, slices, span.from.0, span.to.0, longest];
        numbers.into_iter().chain(sums).for_each(|it| put(to, it));
    }

    pub(crate) fn decode(from: &mut &[u8]) -> Option<Self> {
        let mut next = || take(from);
        let (offset, bytes, blocks, slices) = (next()?, next()?, next()?, next()?);
        let span = Span { from: Time(next()?), to: Time(next()?) };
        let longest = next()?;
        let mut sums = [0; CLASSES];
        for sum in &mut sums {
            *sum = next()?;
        }
        Some(Self { offset, bytes, blocks, slices, span, longest, sums })
    }
}
