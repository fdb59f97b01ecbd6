//! Writing the [stream of facts](dwell_unify::stream) of a process.
//!
//! The file is mapped in blocks with space reserved behind them, like the events, and a fact becomes part of
//! it when its first byte stops being zero. So it can be read at any instant, also after a kill.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence, fence};

use dwell_unify::facts::{FILLER, Fact};
use dwell_unify::stream::{BLOCK, HEAD, Headed, RunId, TEXT_BYTES, word};

use crate::memory::{self, Memory};

/// The words of a stream that change while the process runs. Each is kept up to date in the file by a single store. All
/// threads share it; it needs neither lock nor space, so that it works when nothing else does.
#[derive(Clone, Copy, Debug)]
pub struct Head(&'static [AtomicU64]);

impl Head {
    fn add(self, at: usize) -> u64 {
        self.0.get(at).map_or(0, |word| word.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn get(self, at: usize) -> u64 {
        self.0.get(at).map_or(0, |word| word.load(Ordering::Relaxed))
    }

    /// Counts a chunk of an event file. The header of the chunk must be written before: recovery takes a counted chunk
    /// without a header for damage, also if the process is killed in between.
    pub fn has_chunk(self) {
        fence(Ordering::Release);
        self.add(word::CHUNKS);
    }

    /// Counts a call that is lost because recording has stopped for lack of space. The archive states the number.
    pub fn loses_call(self) {
        self.add(word::LOST);
    }

    /// Notes that calls are lost from now on that are not counted, because the recorder itself is off.
    pub fn loses_calls_uncounted(self) {
        self.add(word::UNCOUNTED);
    }

    /// Counts a thread that cannot be recorded. The archive states the number.
    pub fn misses_thread(self) {
        self.add(word::THREADS);
    }

    /// Counts a call of a thread that cannot be recorded. The archive states the number.
    pub fn misses_call(self) {
        self.add(word::CALLS);
    }

    /// Returns the number of calls that are lost so far, and `true` if further calls were lost that were not counted.
    pub fn lost(self) -> (u64, bool) {
        (self.get(word::LOST), self.get(word::UNCOUNTED) > 0)
    }

    /// Returns the number of threads that could not be recorded, and the number of calls that they made.
    pub fn missed(self) -> (u64, u64) {
        (self.get(word::THREADS), self.get(word::CALLS))
    }

    /// Writes the reason for which recording stopped. A text that is too long is cut. The caller must call it once,
    /// with the first reason. `errno` is 0 if the reason did not come from the system.
    pub fn stopped(self, what: &str, errno: i32) {
        let mut text = what;
        while text.len() > TEXT_BYTES {
            let end = text.char_indices().next_back().map_or(0, |(at, _)| at);
            text = text.get(..end).unwrap_or_default();
        }
        for (place, bytes) in self.0.iter().skip(word::TEXT).zip(text.as_bytes().chunks(8)) {
            let mut word = [0; 8];
            word.iter_mut().zip(bytes).for_each(|(to, byte)| *to = *byte);
            place.store(u64::from_ne_bytes(word), Ordering::Relaxed);
        }
        let word = u64::from(errno.cast_unsigned()) << 32 | (text.len() as u64) << 1 | 1;
        if let Some(place) = self.0.get(word::STOPPED) {
            place.store(word, Ordering::Release);
        }
    }

    fn bytes(self) -> Vec<u8> {
        self.0.iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).collect()
    }
}

/// The stream of facts of this process, open for writing. One thread at a time writes to it: see
/// [`Process`](crate::process).
#[derive(Debug)]
pub struct Stream {
    path: CString,
    head: Head,
    block: Memory,
    /// Number of blocks before the current one.
    blocks: u64,
    at: usize,
}

impl Stream {
    /// Creates the stream of a process in a new file, writes its head and maps its first block.
    ///
    /// # Errors
    /// If the file exists, cannot be created, or there is no space for it.
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
        let fixed = Headed { run, rank, size, pid, chunk_size, ..Headed::default() }.fixed();
        // The magic number comes last: a head is complete or none.
        for (place, word) in head.0.iter().zip(fixed).rev() {
            place.store(word, Ordering::Release);
        }
        let stream = Self { path: name, head, block, blocks: 0, at: 0 };
        stream.save()?;
        Ok(stream)
    }

    /// Returns the words of the head that change while the process runs. The value can be copied and outlives the
    /// stream.
    pub fn head(&self) -> Head {
        self.head
    }

    /// Appends a fact. When the function returns, a kill of the process does not lose it any more, unless the file
    /// system cannot reserve space.
    ///
    /// # Errors
    /// If another block is needed and there is no space for it, or if the fact is larger than a block.
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
                self.head.add(word::FACTS);
                return self.save();
            }
            self.turn()?;
        }
        Err(io::Error::other("a fact is larger than a block"))
    }

    /// Writes blocks that are only in memory to the file, on file systems that cannot reserve space.
    fn save(&self) -> io::Result<()> {
        if self.block.survives() {
            return Ok(());
        }
        let file = memory::open(&self.path, false)?;
        memory::copy(&self.head.bytes(), &file, 0)?;
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
        // Neither the compiler nor the processor moves earlier stores behind this one, since another process may read
        // the file now; and the compiler does not put it off. The fence costs nothing on x86-64, and a fact is rare.
        fence(Ordering::Release);
        *first = tag;
        compiler_fence(Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use dwell_unify::stream::read;

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

    #[test]
    fn the_file_is_as_version_1_says() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("3.facts");
        let mut stream = Stream::create(&path, RUN, 3, 8, CHUNK)?;
        let facts = [
            Fact::Process { rank: 3, size: 8, pid: 77, host: "n1", program: "heat", layer: 13 },
            Fact::Property { name: "RUNTIME", value: "Open MPI" },
            Fact::Region { id: 0, name: "shmem_init", meaning: "", role: 1, paradigm: 13 },
            Fact::Module {
                id: 1,
                start: 1 << 40,
                end: u64::MAX,
                bias: 0,
                path: "/lib/grün.so",
                build_id: &[9; 20],
            },
            Fact::Site { id: 2, address: 0x5555_5555_5555 },
            Fact::Window { id: 1, paradigm: 13, start: 0, stride: 2, size: 4, context: 0 },
            Fact::Thread { id: 0, tid: 77, files: 3 },
            Fact::Clock { recorder: 127, monotonic: 128, doubt: 16_384 },
            Fact::Members { group: 2, paradigm: 4, runs: &[1, 2, 3] },
            Fact::Comm { id: 1, group: 2, remote: 0, identity: u64::MAX, name: "row" },
            Fact::CommWindow { id: 3, comm: 1, number: 7, name: "w" },
            Fact::Sync { monotonic: 300, offset: 7, residual: 2, half: 1, near: 0 },
            Fact::Function { id: 4, address: 0x1000 },
            Fact::Parameter { id: 0, kind: 1, name: "size" },
            Fact::Counter { id: 0, kind: 10, name: "residual", unit: "1" },
            Fact::Text { id: 200, text: "cg" },
            Fact::Context { id: 3, address: 0x1000, parent: 2 },
            Fact::End { how: "finalised" },
        ];
        facts.iter().try_for_each(|fact| stream.append(fact))?;
        let head = stream.head();
        (0..2).for_each(|_| head.has_chunk());
        (0..3).for_each(|_| head.loses_call());
        head.loses_calls_uncounted();
        head.misses_thread();
        (0..4).for_each(|_| head.misses_call());
        head.stopped("the disk is full", 28);
        let mut bytes = std::fs::read(&path)?;
        // Each process has a number of its own, which is part of the sum.
        let written = Headed::read(&bytes).unwrap();
        assert_eq!(written.pid, u64::from(std::process::id()));
        let fixed = Headed { pid: 4242, ..written }.fixed().map(u64::to_le_bytes).concat();
        bytes[..fixed.len()].copy_from_slice(&fixed);
        let used = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
        crate::golden::hold("facts-1.facts", &bytes[..used]);
        Ok(())
    }
}
