//! The stream of facts: a file in which a process states what its events mean.
//!
//! The recorder writes it into mapped memory, and a fact becomes part of it when its first byte stops being zero. So it
//! can be read at any instant, also after a kill. Here are the layout and the reader; the writer is in the recorder,
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
//! | 5 | process id of the operating system |
//! | 6 | bytes of a chunk of its event files |
//! | 7 | sum of the words before it |
//! | 8 | number of facts. A process that was killed may have left one more |
//! | 9 | number of chunks that its event files have. A process that was killed may have left more |
//! | 10 | calls that are lost because recording had stopped |
//! | 11 | not 0 if further calls were lost that were not counted |
//! | 12 | threads that could not be recorded |
//! | 13 | calls that these threads made |
//! | 14 | why recording stopped: 1 in the lowest bit if it did, then bytes of the text, in the upper half the `errno` of the system |
//! | 16 … 79 | that text |
//!
//! [Facts](crate::facts) begin at byte [`BLOCK`], in blocks of that size. No fact crosses the border of a block.

use std::fmt;
use std::io;
use std::path::Path;

use otf2::files;

use crate::facts::{self, Damage, Fact};

/// Size of a block of the stream, in bytes. No fact crosses the end of a block, so none is larger.
pub const BLOCK: usize = 64 * 1024;

/// First word of the file, by which a reader recognises a stream of facts.
pub const MAGIC: u64 = u64::from_le_bytes(*b"dwellfct");
/// Version of the layout that is written, and the only one that is read.
pub const VERSION: u64 = 1;

/// Random number that distinguishes a run from all others. Rank 0 draws it; the streams of facts and the
/// run file of an experiment have it, so that recovery can tell which files belong together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub u64);

impl RunId {
    /// Draws a new run id. It is 64 random bits, so that two runs practically never get the same.
    pub fn random() -> Self {
        use std::hash::{BuildHasher, RandomState};
        // The keys of hash maps are random numbers of the operating system.
        Self(RandomState::new().hash_one(std::process::id()))
    }

    /// Parses the hexadecimal text that `Display` writes. Returns `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        u64::from_str_radix(text, 16).ok().map(Self)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Size of the head of the file, in bytes. The head has room for more words than version 1 uses.
pub const HEAD: usize = 4096;
/// Positions of the words of the head that change while the process runs, as the table of the module has them.
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

/// Largest size of the text that states why recording stopped, in bytes. Longer texts are cut.
pub const TEXT_BYTES: usize = 512;

/// Contents of the head of a stream. The counters are those of the moment at which the head was read or the process
/// died.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headed {
    /// The run that the process belonged to.
    pub run: RunId,
    /// Number of processes of the run.
    pub size: u64,
    /// Rank of the process.
    pub rank: u64,
    /// Process id of the operating system.
    pub pid: u64,
    /// Size of a chunk of the event files of the process, in bytes.
    pub chunk_size: u64,
    /// Number of facts that the process has counted. A killed process may have written one more.
    pub facts: u64,
    /// Number of chunks of the event files. A killed process may have written more.
    pub chunks: u64,
    /// Number of calls that are lost because recording had stopped, and `true` if further calls were lost that were not
    /// counted.
    pub lost: (u64, bool),
    /// Number of threads that could not be recorded, and number of calls that they made.
    pub missed: (u64, u64),
    /// Reason for which recording stopped early, in words; `None` if it did not.
    pub stopped: Option<String>,
}

impl Headed {
    /// Returns the first eight words of the file, which never change. The last of them is a sum of the others.
    pub fn fixed(&self) -> [u64; 8] {
        let [a, b, c, d, e, f, g] =
            [MAGIC, VERSION, self.run.0, self.size, self.rank, self.pid, self.chunk_size];
        [a, b, c, d, e, f, g, sum(&[a, b, c, d, e, f, g])]
    }

    /// Reads the head of a stream from the first bytes of the file. Returns `None` if the bytes are too short, have
    /// another magic number or version, or do not have the right sum.
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

/// Describes the reason for which recording stopped: `what` happened, and the text of the system for `errno` unless
/// that is 0.
pub fn why(what: &str, errno: i32) -> String {
    match errno {
        0 => what.to_string(),
        errno => {
            let error = io::Error::from_raw_os_error(errno).to_string();
            // As the recorder says it, without the number.
            let words = error.split(" (os error ").next().unwrap_or_default();
            format!("{what}: {words}")
        }
    }
}

fn sum(words: &[u64]) -> u64 {
    let step = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    words.iter().flat_map(|word| word.to_le_bytes()).fold(0xCBF2_9CE4_8422_2325, step)
}

/// Largest stream that is read, in bytes. No sound process writes so much.
pub const MOST: u64 = 256 << 20;

/// Reads a stream from a file that its process may have left at any moment. Calls `visit` for each fact and each piece
/// of damage, with the offset in the file. Returns the head.
///
/// # Errors
/// If the file is not a regular file, is larger than [`MOST`], cannot be read, or has no head of this version.
pub fn read(path: &Path, visit: impl FnMut(u64, Result<Fact<'_>, Damage>)) -> io::Result<Headed> {
    parse(&files::read(path, MOST)?, visit)
}

/// Reads a stream from the bytes of its file, as [`read`] does.
///
/// # Errors
/// With [`io::ErrorKind::InvalidData`] if the bytes have no head of this version.
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
