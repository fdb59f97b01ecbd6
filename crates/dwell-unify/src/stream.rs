//! The stream of facts: a file in which a process says what its events mean.
//!
//! The recorder writes it into mapped memory, and a fact becomes part of it when its first byte stops being zero. So
//! it can be read at any instant, also after a kill. Here are the layout and the reader; the writer is in the recorder,
//! because mapping memory takes unsafe code.
//!
//! # The file, version 1
//!
//! Words of 8 bytes in little endian, from byte 0 on. The first eight never change.
//!
//! | word | is |
//! |---:|---|
//! | 0 | [`MAGIC`] |
//! | 1 | version |
//! | 2 | [`RunId`] |
//! | 3 | number of processes |
//! | 4 | rank |
//! | 5 | number of the process at the operating system |
//! | 6 | bytes of a chunk of its event files |
//! | 7 | sum of the words before it |
//! | 8 | number of facts. A process that was killed may have left one more |
//! | 9 | number of chunks that its event files have. A process that was killed may have left more |
//! | 10 | calls that are lost because recording had stopped |
//! | 11 | not 0 if further calls were lost and nobody counted them |
//! | 12 | threads that could not be recorded |
//! | 13 | calls that these made |
//! | 14 | why recording stopped: 1 in the lowest bit if it did, then bytes of the text, in the upper half the number that the system gave for the error |
//! | 16 … 79 | that text |
//!
//! [Facts](crate::facts) begin at byte [`BLOCK`], in blocks of that size. None crosses the border of one.

use std::fmt;
use std::io;
use std::path::Path;

use otf2::files;

use crate::facts::{self, Damage, Fact};

/// Size of a block; no fact is larger.
pub const BLOCK: usize = 64 * 1024;

/// First word of the file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"dwellfct");
/// The version that is written, and the only one that is read.
pub const VERSION: u64 = 1;

/// Tells a run from all others. Rank 0 draws it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub u64);

impl RunId {
    /// A number that no other run has.
    pub fn random() -> Self {
        use std::hash::{BuildHasher, RandomState};
        // The keys of hash maps are random numbers of the operating system.
        Self(RandomState::new().hash_one(std::process::id()))
    }

    /// Reads what `Display` writes.
    pub fn parse(text: &str) -> Option<Self> {
        u64::from_str_radix(text, 16).ok().map(Self)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Bytes of the head.
pub const HEAD: usize = 4096;
/// Words of the head, by their place in the table above.
#[allow(missing_docs)] // The table says what they are.
pub mod word {
    pub const FACTS: usize = 8;
    pub const CHUNKS: usize = 9;
    pub const LOST: usize = 10;
    pub const UNCOUNTED: usize = 11;
    pub const THREADS: usize = 12;
    pub const CALLS: usize = 13;
    pub const STOPPED: usize = 14;
    pub const TEXT: usize = 16;
}

/// Bytes of the text that says why recording stopped, at most.
pub const TEXT_BYTES: usize = 512;

/// What the head of a stream says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headed {
    /// The run that its process belonged to.
    pub run: RunId,
    /// Number of processes of the run.
    pub size: u64,
    /// Its rank.
    pub rank: u64,
    /// Its number at the operating system.
    pub pid: u64,
    /// Bytes of a chunk of its event files.
    pub chunk_size: u64,
    /// Number of facts.
    pub facts: u64,
    /// Number of chunks of its event files.
    pub chunks: u64,
    /// Calls that are lost because recording had stopped, and whether others are that nobody counted.
    pub lost: (u64, bool),
    /// Threads that could not be recorded, and the calls that they made.
    pub missed: (u64, u64),
    /// Why recording stopped.
    pub stopped: Option<String>,
}

impl Headed {
    /// The words that never change, as the file has them: the last is the sum of those before it.
    pub fn fixed(&self) -> [u64; 8] {
        let [a, b, c, d, e, f, g] =
            [MAGIC, VERSION, self.run.0, self.size, self.rank, self.pid, self.chunk_size];
        [a, b, c, d, e, f, g, sum(&[a, b, c, d, e, f, g])]
    }

    /// Reads the head of a stream; `None` if these bytes are none of this version.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let read = |at: usize| -> Option<u64> {
            bytes.get(8 * at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
        };
        let fixed = [read(0)?, read(1)?, read(2)?, read(3)?, read(4)?, read(5)?, read(6)?];
        let [MAGIC, VERSION, run, size, rank, pid, chunk_size] = fixed else { return None };
        if read(7)? != sum(&fixed) {
            return None;
        }
        let stop = read(word::STOPPED)?;
        let stopped = (stop & 1 == 1).then(|| {
            let length = (stop as u32 as usize >> 1).min(TEXT_BYTES);
            let text = bytes.get(8 * word::TEXT..).and_then(|rest| rest.get(..length));
            let text = String::from_utf8_lossy(text.unwrap_or_default()).into_owned();
            why(&text, (stop >> 32) as i32)
        });
        Some(Self {
            run: RunId(run),
            size,
            rank,
            pid,
            chunk_size,
            facts: read(word::FACTS)?,
            chunks: read(word::CHUNKS)?,
            lost: (read(word::LOST)?, read(word::UNCOUNTED)? > 0),
            missed: (read(word::THREADS)?, read(word::CALLS)?),
            stopped,
        })
    }
}

/// What recording stopped for, in words.
pub fn why(what: &str, errno: i32) -> String {
    match errno {
        0 => what.to_string(),
        errno => format!("{what}: {}", io::Error::from_raw_os_error(errno)),
    }
}

fn sum(words: &[u64]) -> u64 {
    let step = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    words.iter().flat_map(|word| word.to_le_bytes()).fold(0xCBF2_9CE4_8422_2325, step)
}

/// Bytes that a stream may have: a process that writes more has lost its way.
pub const MOST: u64 = 256 << 20;

/// Reads a stream, from a file that its process may have left at any moment. Facts, and damage, come with
/// their offset in the file.
///
/// # Errors
/// If the file is no regular file, cannot be read, or has no head.
pub fn read(path: &Path, visit: impl FnMut(u64, Result<Fact<'_>, Damage>)) -> io::Result<Headed> {
    parse(&files::read(path, MOST)?, visit)
}

/// The same from the bytes of the file.
///
/// # Errors
/// If they have no head.
pub fn parse(
    bytes: &[u8],
    mut visit: impl FnMut(u64, Result<Fact<'_>, Damage>),
) -> io::Result<Headed> {
    let head = Headed::read(bytes).ok_or_else(|| {
        let what = match bytes.first() {
            None => "the file is empty",
            Some(_) => "byte 0: no facts of a process as this version of Dwell writes them",
        };
        io::Error::new(io::ErrorKind::InvalidData, what)
    })?;
    for (number, block) in bytes.chunks(BLOCK).enumerate().skip(1) {
        let offset = (number * BLOCK) as u64;
        facts::read(block).for_each(|(at, fact)| visit(offset + at as u64, fact));
    }
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_id_is_random_and_comes_back() {
        let (one, other) = (RunId::random(), RunId::random());
        assert_ne!(one, other);
        assert_eq!(RunId::parse(&one.to_string()), Some(one));
    }
}
