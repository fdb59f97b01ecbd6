//! Segments of a location: which call path it was in, from when to when.
//!
//! Every call at which waits are judged is a segment, whatever it calls. All other time belongs to the call path of the
//! innermost region that is open. A record holds a segment and the computing before it: most calls are made from the
//! region around them, so that the path of the computing is the parent of the path of the call.

use std::io;
use std::sync::Arc;

use dwell_log::blocks::Blocks;
use dwell_log::needs::Needs;
use dwell_log::scratch::Scratch;
use dwell_trace::time::{Duration, Time};

use crate::engine::paths::{Path, Paths};

/// A segment that is not written yet, because it may become the computing before the next.
#[derive(Clone, Copy, Debug)]
struct Pending {
    gap: Duration,
    length: Duration,
    path: Path,
}

/// Stands for a path that nothing has followed in the block.
const NO_PATH: Path = Path(u32::MAX);

/// The segments of a location while its events are read.
#[derive(Debug)]
pub(crate) struct Segments {
    blocks: Blocks,
    /// Time up to which segments are known.
    reached: Time,
    /// Time up to which segments are written.
    written: Time,
    pending: Option<Pending>,
    /// Path of the last segment of the block, and the path that followed each path last.
    previous: Path,
    followers: Vec<Path>,
    /// Number of judged calls that have ended.
    pub(crate) calls: u64,
    /// Events of others that these calls needed.
    pub(crate) needs: Needs,
}

impl Segments {
    pub(crate) fn new(scratch: &Arc<Scratch>) -> Self {
        Self {
            blocks: Blocks::new(Arc::clone(scratch)),
            reached: Time::BEGIN,
            written: Time::BEGIN,
            pending: None,
            previous: Path::TOP,
            followers: Vec::new(),
            calls: 0,
            needs: Needs::new(Arc::clone(scratch)),
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
        self.calls += 1;
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
        if self.blocks.is_closed() {
            self.open_block();
        }
        // Calls often repeat in the same order.
        let is_usual = self.followers.get(self.previous.0 as usize) == Some(&path);
        self.blocks.put(gap.0 << 1 | u64::from(is_usual));
        self.blocks.put(length.0);
        if !is_usual {
            self.blocks.put(path.0.into());
            self.learn(path);
        }
        self.previous = path;
        self.written = self.written + gap + length;
        self.blocks.end_record();
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
        self.blocks.open();
        self.blocks.put(self.written.0);
    }

    /// Writes what is left, and returns the size of all blocks in bytes.
    pub(crate) fn finish(&mut self) -> u64 {
        self.flush();
        self.followers = Vec::new();
        self.blocks.finish()
    }

    /// Copies all blocks in their order.
    ///
    /// # Errors
    /// Returns an error if they cannot be read or written.
    pub(crate) fn copy(&self, to: &mut impl io::Write) -> io::Result<()> {
        self.blocks.copy(to)
    }

    /// Returns the memory in bytes that open blocks take.
    pub(crate) fn bytes(&self) -> usize {
        self.blocks.bytes() + self.needs.bytes() + self.followers.capacity() * size_of::<Path>()
    }
}
