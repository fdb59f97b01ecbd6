//! The stream of facts: a file in which a process says what its events mean.
//!
//! It is mapped in blocks with space reserved behind them, like the events, and a fact becomes part of
//! it when its first byte stops being zero. So it can be read at any instant, also after a kill.
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
#![allow(unsafe_code)] // The words of the head are atomic, in mapped memory.

use std::ffi::CString;
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence, fence};

use otf2::files;

use crate::facts::{self, Damage, FILLER, Fact};
use crate::memory::{self, Memory};

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

/// Bytes of the head, which are mapped as long as the process lives.
const HEAD: usize = 4096;
const FACTS: usize = 8;
const CHUNKS: usize = 9;
const LOST: usize = 10;
const UNCOUNTED: usize = 11;
const THREADS: usize = 12;
const CALLS: usize = 13;
const STOPPED: usize = 14;
const TEXT: usize = 16;
/// Bytes of the text that says why recording stopped.
const TEXT_BYTES: usize = 512;

/// The beginning of a stream: numbers that change, kept up to date in the file by a store each. It is
/// shared by all threads, and takes no lock and no space, so that it works when nothing else does.
#[derive(Clone, Copy, Debug)]
pub struct Head(&'static [AtomicU64]);

impl Head {
    fn add(self, word: usize) -> u64 {
        self.0.get(word).map_or(0, |word| word.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn get(self, word: usize) -> u64 {
        self.0.get(word).map_or(0, |word| word.load(Ordering::Relaxed))
    }

    /// Counts a chunk that an event file has. Its header is in the file by then, also if the process is killed in
    /// between: recovery takes a counted chunk without a header for damage.
    pub fn has_chunk(self) {
        fence(Ordering::Release);
        self.add(CHUNKS);
    }

    /// Counts a call that is lost because recording has stopped.
    pub fn loses_call(self) {
        self.add(LOST);
    }

    /// Takes note that calls are lost from here on that nobody counts.
    pub fn loses_calls_uncounted(self) {
        self.add(UNCOUNTED);
    }

    /// Counts a thread that cannot be recorded.
    pub fn misses_thread(self) {
        self.add(THREADS);
    }

    /// Counts a call of such a thread.
    pub fn misses_call(self) {
        self.add(CALLS);
    }

    /// Calls that are lost so far, and whether others are that nobody counted.
    pub fn lost(self) -> (u64, bool) {
        (self.get(LOST), self.get(UNCOUNTED) > 0)
    }

    /// Threads that could not be recorded, and the calls that they made.
    pub fn missed(self) -> (u64, u64) {
        (self.get(THREADS), self.get(CALLS))
    }

    /// Writes down why recording stopped. Only the first reason counts, so it is for the caller to ask
    /// once. `errno` is 0 if the system had nothing to say.
    pub fn stopped(self, what: &str, errno: i32) {
        let mut text = what;
        while text.len() > TEXT_BYTES {
            let end = text.char_indices().next_back().map_or(0, |(at, _)| at);
            text = text.get(..end).unwrap_or_default();
        }
        for (place, bytes) in self.0.iter().skip(TEXT).zip(text.as_bytes().chunks(8)) {
            let mut word = [0; 8];
            word.iter_mut().zip(bytes).for_each(|(to, byte)| *to = *byte);
            place.store(u64::from_ne_bytes(word), Ordering::Relaxed);
        }
        let word = u64::from(errno.cast_unsigned()) << 32 | (text.len() as u64) << 1 | 1;
        if let Some(place) = self.0.get(STOPPED) {
            place.store(word, Ordering::Release);
        }
    }

    fn bytes(self) -> Vec<u8> {
        self.0.iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).collect()
    }
}

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
    /// The words that never change, as the file has them.
    pub fn fixed(&self) -> [u8; 64] {
        let fixed = [MAGIC, VERSION, self.run.0, self.size, self.rank, self.pid, self.chunk_size];
        let mut bytes = [0; 64];
        let words = fixed.into_iter().chain([sum(&fixed)]).flat_map(u64::to_le_bytes);
        bytes.iter_mut().zip(words).for_each(|(to, byte)| *to = byte);
        bytes
    }

    /// Reads the head of a stream; `None` if these bytes are none of this version.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| -> Option<u64> {
            bytes.get(8 * at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
        };
        let fixed = [word(0)?, word(1)?, word(2)?, word(3)?, word(4)?, word(5)?, word(6)?];
        let [MAGIC, VERSION, run, size, rank, pid, chunk_size] = fixed else { return None };
        if word(7)? != sum(&fixed) {
            return None;
        }
        let stop = word(STOPPED)?;
        let stopped = (stop & 1 == 1).then(|| {
            let length = (stop as u32 as usize >> 1).min(TEXT_BYTES);
            let text = bytes.get(8 * TEXT..).and_then(|rest| rest.get(..length));
            let text = String::from_utf8_lossy(text.unwrap_or_default()).into_owned();
            why(&text, (stop >> 32) as i32)
        });
        Some(Self {
            run: RunId(run),
            size,
            rank,
            pid,
            chunk_size,
            facts: word(FACTS)?,
            chunks: word(CHUNKS)?,
            lost: (word(LOST)?, word(UNCOUNTED)? > 0),
            missed: (word(THREADS)?, word(CALLS)?),
            stopped,
        })
    }
}

/// What recording stopped for, in words.
pub(crate) fn why(what: &str, errno: i32) -> String {
    match errno {
        0 => what.to_string(),
        errno => format!("{what}: {}", io::Error::from_raw_os_error(errno)),
    }
}

fn sum(words: &[u64]) -> u64 {
    let step = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    words.iter().flat_map(|word| word.to_le_bytes()).fold(0xCBF2_9CE4_8422_2325, step)
}

/// A stream that is being written. One thread at a time writes to it: see
/// [`Process`](crate::process).
#[derive(Debug)]
pub struct Stream {
    path: CString,
    head: Head,
    block: Memory,
    /// Blocks before this one.
    blocks: u64,
    at: usize,
}

impl Stream {
    /// Begins the stream of a process in a new file.
    ///
    /// # Errors
    /// If the file exists, cannot be made, or there is no space for it.
    pub fn create(
        path: &Path,
        run: RunId,
        rank: u64,
        size: u64,
        chunk_size: u64,
    ) -> io::Result<Self> {
        let told =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let name = CString::new(path.as_os_str().as_bytes())?;
        let file = memory::open(&name, true).map_err(told)?;
        let head = Memory::of_file(&file, 0, HEAD).map_err(told)?;
        let block = Memory::of_file(&file, BLOCK as u64, BLOCK).map_err(told)?;
        let head = Head(head.leak_words());
        let pid = u64::from(std::process::id());
        let fixed = [MAGIC, VERSION, run.0, size, rank, pid, chunk_size];
        // The magic number comes last: a head is complete or none.
        let [a, b, c, d, e, f, g] = fixed;
        for (place, word) in head.0.iter().zip([a, b, c, d, e, f, g, sum(&fixed)]).rev() {
            place.store(word, Ordering::Release);
        }
        let stream = Self { path: name, head, block, blocks: 0, at: 0 };
        stream.save()?;
        Ok(stream)
    }

    /// The numbers of this stream that change.
    pub fn head(&self) -> Head {
        self.head
    }

    /// Appends a fact. It is in the file, as far as a kill is concerned, when this returns.
    ///
    /// # Errors
    /// If another block is needed and there is no space for it, or the fact is larger than a block.
    pub fn append(&mut self, fact: &Fact<'_>) -> io::Result<()> {
        for _ in 0..2 {
            // Behind the last fact of a block there is always room for the mark of its end.
            let room = self.block.len().saturating_sub(1);
            let place = self.block.get_mut(self.at..room);
            if let Some((place, (tag, length))) =
                place.and_then(|place| fact.encode(place).map(|done| (place, done)))
            {
                publish(place, tag);
                self.at += length;
                self.head.add(FACTS);
                return self.save();
            }
            self.turn()?;
        }
        Err(io::Error::other("a fact is larger than a block"))
    }

    /// Writes to the file what is in memory only: where a file system cannot reserve space.
    fn save(&self) -> io::Result<()> {
        if self.block.survives() {
            return Ok(());
        }
        let file = memory::open(&self.path, false)?;
        std::os::unix::fs::FileExt::write_all_at(&file, &self.head.bytes(), 0)?;
        self.block.save(&file, BLOCK)
    }

    fn turn(&mut self) -> io::Result<()> {
        let file = memory::open(&self.path, false)?;
        let next = Memory::of_file(&file, (self.blocks + 2) * BLOCK as u64, BLOCK)?;
        if let Some(rest) = self.block.get_mut(self.at..) {
            publish(rest, FILLER);
        }
        self.block.save(&file, BLOCK)?;
        (self.block, self.blocks, self.at) = (next, self.blocks + 1, 0);
        Ok(())
    }
}

/// Makes a fact part of the stream: its tag is stored after everything else of it.
fn publish(place: &mut [u8], tag: u8) {
    if let Some(first) = place.first_mut() {
        // Neither the compiler nor the processor moves earlier stores behind this one, and the
        // compiler does not put it off.
        fence(Ordering::Release);
        *first = tag;
        compiler_fence(Ordering::SeqCst);
    }
}

/// Bytes that a stream may have: a process that writes more has lost its way.
pub(crate) const MOST: u64 = 256 << 20;

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

    const CHUNK: u64 = 256 * 1024;
    const RUN: RunId = RunId(0x0123_4567_89ab_cdef);

    #[test]
    fn facts_over_many_blocks() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("0.facts");
        let mut stream = Stream::create(&path, RUN, 3, 8, CHUNK)?;
        let long = "x".repeat(30_000);
        for id in 0..10 {
            stream.append(&Fact::Site { id, address: id * 7 })?;
            stream.append(&Fact::Property { name: "LONG", value: &long })?;
        }
        // Still open: this is what a killed process leaves.
        let mut sites = Vec::new();
        let mut long_ones = 0;
        let head = read(&path, |_, fact| match fact.expect("sound") {
            Fact::Site { id, address } => sites.push((id, address)),
            Fact::Property { value, .. } => long_ones += usize::from(value == long),
            other => panic!("{other:?}"),
        })?;
        assert!(sites.iter().copied().eq((0..10).map(|id| (id, id * 7))));
        assert_eq!(long_ones, 10);
        assert_eq!((head.run, head.rank, head.size, head.facts), (RUN, 3, 8, 20));
        assert_eq!(head.chunk_size, CHUNK);
        Ok(())
    }

    #[test]
    fn a_fact_larger_than_a_block_is_refused() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let mut stream = Stream::create(&folder.path().join("0.facts"), RUN, 0, 1, CHUNK)?;
        let long = "x".repeat(BLOCK);
        assert!(stream.append(&Fact::Property { name: "LONG", value: &long }).is_err());
        stream.append(&Fact::Site { id: 0, address: 1 })
    }

    #[test]
    fn the_head_says_what_happened() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("0.facts");
        let stream = Stream::create(&path, RUN, 0, 1, CHUNK)?;
        let head = stream.head();
        (0..5).for_each(|_| head.loses_call());
        head.misses_thread();
        head.has_chunk();
        head.stopped(&"ä".repeat(300), 28);
        let read = read(&path, |_, _| {})?;
        assert_eq!((read.lost, read.missed, read.chunks), ((5, false), (1, 0), 1));
        let text = read.stopped.unwrap_or_default();
        let expected = format!("{}: No space left on device", "ä".repeat(256));
        assert!(text.starts_with(&expected), "{text}");
        Ok(())
    }

    #[test]
    fn a_run_id_is_random_and_comes_back() {
        let (one, other) = (RunId::random(), RunId::random());
        assert_ne!(one, other);
        assert_eq!(RunId::parse(&one.to_string()), Some(one));
    }

    #[test]
    fn every_byte_of_the_fixed_part_is_checked() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("0.facts");
        Stream::create(&path, RUN, 0, 1, CHUNK)?;
        let sound = std::fs::read(&path)?;
        for at in 0..64 {
            let mut bytes = sound.clone();
            bytes[at] ^= 4;
            assert_eq!(Headed::read(&bytes), None, "{at}");
        }
        Ok(())
    }
}
