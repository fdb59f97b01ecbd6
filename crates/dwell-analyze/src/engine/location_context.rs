//! The location whose events are being read, with its process.

use dwell_trace::ids::{ContextNumber, ProcessNumber};
use dwell_trace::world::World;
use otf2::enums::CollectiveRoot;
use otf2::id::{Rank, RmaWinRef};

use crate::engine::accounts::Distance;
use crate::engine::location::{Frame, Location};
use crate::engine::matrix::{Kind, Matrix};
use crate::engine::polling::Run;
use crate::engine::process::Process;

/// The location whose events are being read, with everything that they act on except the state of patterns.
pub(crate) struct LocationContext<'a> {
    pub(crate) world: &'a World,
    pub(crate) process: &'a mut Process,
    /// State of the location, taken out of the process while its events are read.
    pub(crate) location: &'a mut Location,
    pub(crate) matrix: &'a mut Matrix,
    /// The process's row of the communication matrix.
    pub(crate) row: usize,
    /// Bit of the pattern that sees the location now.
    pub(crate) pattern: u16,
}

impl LocationContext<'_> {
    /// Returns the open call if waits are judged at it.
    pub(crate) fn judged_call(&self) -> Option<Frame> {
        self.location.stack.last().copied().filter(|frame| frame.judged)
    }

    /// Makes sure that this pattern sees the end of the open call, which may have waited for something. Returns `false`
    /// if waits are not judged at the call.
    pub(crate) fn note(&mut self) -> bool {
        let is_judged = self.attend();
        if let Some(frame) = self.location.stack.last_mut().filter(|_| is_judged) {
            frame.noted = true;
        }
        is_judged
    }

    /// Makes sure that this pattern sees the end of the open call. Returns `false` if waits are not judged at the call.
    pub(crate) fn attend(&mut self) -> bool {
        let frame = self.location.stack.last_mut().filter(|frame| frame.judged);
        frame.map(|frame| frame.seen_by |= self.pattern).is_some()
    }

    /// Returns the outermost open call at which waits are judged, in which a handler may run now.
    pub(crate) fn polling_call(&self) -> Option<Frame> {
        let depth = self.location.judged.checked_sub(1)?;
        self.location.stack.get(depth as usize).copied()
    }

    /// Makes sure that this pattern sees the end of the call in which a handler runs now. Returns `false` if waits are not
    /// judged at any open call.
    pub(crate) fn attend_polling(&mut self) -> bool {
        let Some(depth) = self.location.judged.checked_sub(1) else { return false };
        let frame = self.location.stack.get_mut(depth as usize);
        frame.map(|frame| frame.seen_by |= self.pattern).is_some()
    }

    /// Adds bytes that the open call moved in a group of this size.
    pub(crate) fn moved_in_group(&mut self, members: u32, bytes: u64) {
        if self.judged_call().is_some() {
            let moved = &mut self.location.moved;
            moved.add(bytes, Distance::None);
            moved.members = moved.members.max(members);
        }
    }

    /// Adds bytes that the open call moved to or from a process by a message.
    pub(crate) fn moved(&mut self, bytes: u64, partner: ProcessNumber) {
        let far = self.distance(partner);
        if self.judged_call().is_some() {
            self.location.moved.add(bytes, far);
            self.location.paths.sequence.interrupt();
        }
    }

    /// Counts a message in the communication matrix, which covers the layer at which waits are judged.
    pub(crate) fn count_message(&mut self, frame: &Frame, bytes: u64, receiver: ProcessNumber) {
        if !frame.counts() {
            return;
        }
        let to = self.world.system.party(receiver);
        if let Some(cell) = self.matrix.cell(self.row, to, Kind::Message) {
            cell.operations += 1;
            cell.bytes += bytes;
        }
        if let Some(frame) = self.location.stack.last_mut() {
            frame.first = frame.first.or(Some((Kind::Message, receiver)));
        }
    }

    /// Announces that the polling loop around the call which ends now will be told what ended it. Returns its number,
    /// or `None` if the call is not part of a loop.
    pub(crate) fn expect_release(&mut self, is: impl Fn(&Run) -> bool) -> Option<u32> {
        let run = self.location.polls.as_mut().filter(|run| is(run))?;
        Some(self.process.loops.expect(run))
    }

    /// Returns the distance to a process.
    #[inline(always)]
    pub(crate) fn distance(&self, process: ProcessNumber) -> Distance {
        let near = self.world.system.node(process) == self.process.node;
        match near {
            true if process == self.process.index => Distance::Itself,
            true => Distance::Node,
            false => Distance::Far,
        }
    }

    /// Returns the context of a window, or `None` if the window is not defined.
    #[inline(always)]
    pub(crate) fn context(&mut self, win: RmaWinRef) -> Option<ContextNumber> {
        match self.location.window {
            Some((known, context, _)) if known == win => Some(context),
            _ => {
                let found = self.world.system.window(win);
                match found {
                    Some((context, memory)) => {
                        self.location.window = Some((win, context, memory));
                    }
                    None => self.location.damage.undefined += 1,
                }
                found.map(|(context, _)| context)
            }
        }
    }

    /// Returns the memory of the window whose context was asked for last.
    #[inline(always)]
    pub(crate) fn memory(&self) -> u16 {
        self.location.window.map_or(u16::MAX, |(_, _, memory)| memory)
    }

    /// Returns the process of a rank in a context, or `None` if there is none.
    #[inline(always)]
    pub(crate) fn process_of(
        &mut self,
        context: ContextNumber,
        rank: Rank,
    ) -> Option<ProcessNumber> {
        let ranks = &self.world.system.context(context)?.ranks;
        let process = ranks.process(rank, self.process.index);
        if process.is_none() {
            self.location.damage.undefined += 1;
        }
        process
    }

    /// Returns the process that is the root of a collective.
    pub(crate) fn root(
        &mut self,
        context: ContextNumber,
        root: CollectiveRoot,
    ) -> Option<ProcessNumber> {
        match root {
            CollectiveRoot::Rank(rank) => self.process_of(context, Rank(rank)),
            CollectiveRoot::SelfRank => Some(self.process.index),
            _ => None,
        }
    }
}
