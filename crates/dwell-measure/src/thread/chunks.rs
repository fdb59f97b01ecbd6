//! The chunks of a location: the first is a mapped piece of the event file, the others pass through one piece of memory.
//!
//! A new page of a mapped file costs more than everything else that recording a call does to it. So the chunks after
//! the first are filled in a mapped file `RANK.THREAD.now` that is used again and again, and each full one is copied into
//! the event file; see [`dwell_unify::stage`] for how a chunk finds its place after a kill. The place of a chunk in the
//! event file is reserved before the chunk is begun, so that a full disk is noticed between two chunks and never keeps
//! one from its place. Where this does not pay or is not safe ([`memory::Filling`]), all chunks are mapped pieces of the
//! event file.

use std::fs::File;
use std::io;
use std::path::Path;

use dwell_model::varint::LONGEST;
use dwell_unify::facts::{Fact, MOST_OPEN, OpenCall, encode_open};
use dwell_unify::stage;

use super::Thread;
use crate::file_limit::without_signal;
use crate::memory::{self, Memory};
use crate::process::Process;

/// The end of the name of an event file, and that of the file in which its chunks are filled.
const ENDS: [&str; 2] = ["evt", "now"];

/// Number of locations of a process whose first chunk is mapped as a whole. Programs with more threads have many that make
/// few calls, so the others begin with a part of it.
const WHOLE: u32 = 64;

/// Number of bytes of the first chunk that these locations begin with.
const PART: usize = 64 << 10;

/// Returns memory for the beginning of the first chunk of a location: all of it, or for one of many a part. The file is as
/// long as the chunk in both cases, since recovery takes a shorter one for damaged, but only the part takes space.
pub(super) fn first(process: &Process, file: &File, id: u32, chunk: usize) -> io::Result<Memory> {
    // Where space cannot be reserved, it could not be reserved later either.
    if id >= WHOLE && chunk > PART && process.filling.is_staged(file) {
        let part = Memory::of_file(file, 0, PART)?;
        // Memory that is not the file itself cannot be exchanged for more of it.
        if !part.is_copied() && without_signal(|| file.set_len(chunk as u64)).is_ok() {
            return Ok(part);
        }
    }
    Memory::of_file(file, 0, chunk)
}

impl Thread {
    /// Continues in another chunk, or in the rest of this one. If that fails, the chunk that is full keeps all of its
    /// events and its place.
    pub(super) fn next_chunk(&mut self) -> io::Result<()> {
        let whole = self.process.chunk_size() as usize;
        if let Some(encoder) = &mut self.encoder
            && encoder.memory().len() < whole
        {
            let file = memory::open(self.path.c_str(), false)?;
            let memory = Memory::of_file(&file, 0, whole)?;
            return encoder.grow(memory).map(drop).map_err(io::Error::other);
        }
        let chunk = self.process.chunk(false)?;
        let file = memory::open(self.path.c_str(), false)?;
        let at = self.chunks * chunk as u64;
        let next = at + chunk as u64;
        let Some(encoder) = &mut self.encoder else { return Ok(()) };
        if encoder.memory().is_copied() {
            if encoder.memory().survives() {
                memory::reserve(&file, next, chunk)?;
            }
            encoder.reuse(|bytes| memory::copy(bytes, &file, at))?;
            encoder.memory_mut().copy_to(next);
        } else {
            let memory = self.memory(&file, next, chunk)?;
            let Some(encoder) = &mut self.encoder else { return Ok(()) };
            encoder.turn(memory).map_err(io::Error::other)?;
        }
        self.process.head.has_chunk();
        self.chunks += 1;
        self.note_open_calls();
        Ok(())
    }

    /// Writes down which calls of runtimes are open while a chunk begins. The archive does without, so it is no failure if
    /// there is no space for it.
    fn note_open_calls(&self) {
        let (process, polls) = (self.process, &self.polls);
        let open = self.frames.iter().take(self.depth).enumerate();
        let open = open.filter(|(_, it)| it.layer != 0 && !it.muted && it.parameter == 0);
        let calls = open.take(MOST_OPEN).map(|(before, it)| OpenCall {
            region: it.region.into(),
            site: process.site(it.site).map_or(0, |site| u64::from(site) + 1),
            since: it.enter,
            count: if polls.depth == before + 1 { polls.count.max(1) } else { 1 },
        });
        let mut bytes = [0; MOST_OPEN * 4 * LONGEST];
        let used = encode_open(calls, &mut bytes).and_then(|used| bytes.get(..used));
        if let (Some(calls @ [_, ..]), Some(encoder)) = (used, &self.encoder) {
            let (thread, first) = (self.id.into(), encoder.events() + 1);
            let _ = process.define(&Fact::Open { thread, first, calls });
        }
    }

    /// Returns memory for the chunk at `offset` of the event file, whose space is reserved.
    fn memory(&mut self, file: &File, offset: u64, chunk: usize) -> io::Result<Memory> {
        if self.process.filling.is_staged(file) && self.process.take_stage() {
            // Its place comes first: where there is space for one of the two, it is for events.
            let reserved = memory::reserve(file, offset, chunk);
            if let Ok(staged) = reserved.and_then(|()| self.stage(chunk, offset)) {
                return Ok(staged);
            }
            self.process.give_stage_back();
        }
        Memory::of_file(file, offset, chunk)
    }

    /// Makes the file in which chunks are filled. If there is no space for it, it is removed, and chunks are mapped.
    fn stage(&mut self, chunk: usize, offset: u64) -> io::Result<Memory> {
        let [events, staged] = ENDS;
        // A second path would take 4 KiB of the program's stack.
        self.path.end_with(staged);
        let memory = memory::open(self.path.c_str(), true).and_then(|file| {
            Memory::staged(&file, chunk, offset).inspect_err(|_| {
                memory::remove(self.path.c_str());
            })
        });
        self.path.end_with(events);
        memory
    }

    /// Copies the staged chunk into the event file, if there is one, as recovery does it.
    pub(super) fn put_back(&self) -> io::Result<()> {
        stage::put_back(Path::new(self.path.as_str()), self.process.chunk_size()).map(drop)
    }

    /// Removes the file of a staged chunk whose events have been copied.
    pub(super) fn unstage(&mut self) {
        let [events, staged] = ENDS;
        self.path.end_with(staged);
        memory::remove(self.path.c_str());
        self.path.end_with(events);
    }
}
