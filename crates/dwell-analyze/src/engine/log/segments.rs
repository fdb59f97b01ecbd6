//! Segments of a location: which call path it was in, from when to when.
//!
//! Every call at which waits are judged is a segment, whatever it calls. All other time belongs to the call path of the
//! innermost region that is open. A record holds a segment and the computing before it: most calls are made from the
//! region around them, so that the path of the computing is the parent of the path of the call.

use std::io;
use std::sync::Arc;

use crate::archive::time::{Duration, Time};
use crate::engine::log::block;
use crate::engine::log::scratch::Scratch;
use crate::engine::paths::{Path, Paths};

/// A segment that is not written yet, because it may become the computing before the next.
#[derive(Clone, Copy, Debug)]
struct Pending {
    gap: Duration,
    length: Duration,
    path: Path,
}

/// Place of a block in the scratch file.
#[derive(Clone, Copy, Debug)]
struct Place {
    offset: u64,
    length: u32,
}

/// Size in bytes of what precedes a block in the scratch file: the place of the block before it.
const LINK: usize = 12;

/// Bytes that a block may be longer: the rest of its last record, and its length and checksum.
const SPARE: usize = 40;

/// Stands for a path that nothing has followed in the block.
const NO_PATH: Path = Path(u32::MAX);

/// The segments of a location while its events are read.
#[derive(Debug)]
pub(crate) struct Segments {
    scratch: Arc<Scratch>,
    /// Time up to which segments are known.
    reached: Time,
    /// Time up to which segments are written.
    written: Time,
    pending: Option<Pending>,
    /// The block that is being filled, with the link to the one before.
    open: Vec<u8>,
    /// Path of the last segment of the block, and the path that followed each path last.
    previous: Path,
    followers: Vec<Path>,
    last: Option<Place>,
    /// Size in bytes of all blocks.
    size: u64,
}

impl Segments {
    pub(crate) fn new(scratch: Arc<Scratch>) -> Self {
        Self {
            scratch,
            reached: Time::BEGIN,
            written: Time::BEGIN,
            pending: None,
            open: Vec::new(),
            previous: Path::TOP,
            followers: Vec::new(),
            last: None,
            size: 0,
        }
    }

    /// Records the time of the first event.
    pub(crate) fn begin(&mut self, first: Time) {
        (self.reached, self.written) = (first, first);
    }

    /// Records that the innermost region was of this path up to a time, outside of judged calls.
    #[inline(never)]
    pub(crate) fn region(&mut self, until: Time, path: Path, paths: &Paths) {
        let length = until.since(self.reached);
        if length == Duration::ZERO {
            return;
        }
        self.reached = until;
        let gap = match &mut self.pending {
            Some(it) if it.path == path => {
                it.length += length;
                return;
            }
            Some(it) if it.gap == Duration::ZERO && it.path == paths.parent(path) => it.length,
            _ => {
                self.flush();
                Duration::ZERO
            }
        };
        self.pending = Some(Pending { gap, length, path });
    }

    /// Records a judged call.
    #[inline(always)]
    pub(crate) fn call(&mut self, enter: Time, leave: Time, path: Path, paths: &Paths) {
        let mut gap = enter.since(self.reached);
        if self.pending.is_some() {
            gap += self.before(path, paths);
        }
        self.reached = leave;
        self.write(Pending { gap, length: leave.since(enter), path });
    }

    /// Returns the length of the pending segment if it is the computing before a call, and writes it otherwise.
    #[inline(never)]
    fn before(&mut self, path: Path, paths: &Paths) -> Duration {
        match self.pending {
            Some(it) if it.gap == Duration::ZERO && it.path == paths.parent(path) => {
                self.pending = None;
                it.length
            }
            _ => {
                self.flush();
                Duration::ZERO
            }
        }
    }

    /// Writes the pending segment.
    fn flush(&mut self) {
        if let Some(pending) = self.pending.take() {
            self.write(pending);
        }
    }

    #[inline(always)]
    fn write(&mut self, Pending { gap, length, path }: Pending) {
        if self.open.is_empty() {
            self.open_block();
        }
        // Calls often repeat in the same order.
        let is_usual = self.followers.get(self.previous.0 as usize) == Some(&path);
        block::put(&mut self.open, gap.0 << 1 | u64::from(is_usual));
        block::put(&mut self.open, length.0);
        if !is_usual {
            block::put(&mut self.open, path.0.into());
            self.learn(path);
        }
        self.previous = path;
        self.written = self.written + gap + length;
        if self.open.len() >= LINK + block::SIZE {
            self.close_block();
        }
    }

    /// Remembers the path that followed the last one.
    #[inline(never)]
    fn learn(&mut self, path: Path) {
        let at = self.previous.0 as usize;
        if self.followers.len() <= at {
            self.followers.resize(at + 1, NO_PATH);
        }
        if let Some(follower) = self.followers.get_mut(at) {
            *follower = path;
        }
    }

    #[cold]
    #[inline(never)]
    fn open_block(&mut self) {
        self.followers.clear();
        self.previous = Path::TOP;
        self.open.reserve_exact(LINK + block::SIZE + SPARE);
        let Place { offset, length } = self.last.unwrap_or(Place { offset: 0, length: 0 });
        self.open.extend(offset.to_le_bytes());
        self.open.extend(length.to_le_bytes());
        block::put(&mut self.open, self.written.0);
    }

    #[cold]
    #[inline(never)]
    fn close_block(&mut self) {
        block::seal_from(&mut self.open, LINK);
        let length = (self.open.len() - LINK) as u32;
        self.size += u64::from(length);
        let offset = self.scratch.append(&self.open);
        self.last = Some(Place { offset, length });
        self.open.clear();
    }

    /// Writes what is left, and returns the size of all blocks in bytes.
    pub(crate) fn finish(&mut self) -> u64 {
        self.flush();
        if !self.open.is_empty() {
            self.close_block();
        }
        (self.open, self.followers) = Default::default();
        self.size
    }

    /// Copies all blocks in their order.
    ///
    /// # Errors
    /// Returns an error if they cannot be read or written.
    pub(crate) fn copy(&self, to: &mut impl io::Write) -> io::Result<()> {
        let mut places = Vec::new();
        let mut next = self.last;
        while let Some(place) = next {
            places.push(place);
            let mut link = [0; LINK];
            self.scratch.read(place.offset, &mut link)?;
            let [a, b, c, d, e, f, g, h, i, j, k, l] = link;
            let offset = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
            let length = u32::from_le_bytes([i, j, k, l]);
            next = (length > 0).then_some(Place { offset, length });
        }
        let mut bytes = Vec::new();
        for Place { offset, length } in places.into_iter().rev() {
            bytes.resize(length as usize, 0);
            self.scratch.read(offset + LINK as u64, &mut bytes)?;
            to.write_all(&bytes)?;
        }
        Ok(())
    }

    /// Returns the memory in bytes that the open block takes.
    pub(crate) fn bytes(&self) -> usize {
        self.open.capacity() + self.followers.capacity() * size_of::<Path>()
    }
}
