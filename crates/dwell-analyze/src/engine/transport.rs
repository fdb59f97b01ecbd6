//! Carries messages between the shards of the replay.
//!
//! Patterns put messages (questions, facts and answers) into an [outbox](crate::engine::message::Outbox), addressed to a process. The [`Transport`]
//! delivers them to the [inbox](crate::engine::message::Inbox) of the shard that owns this process. Patterns do not know whether that shard runs on
//! a thread of the same program or on another node.
//!
//! Over MPI every rank owns consecutive shards ([`Assignment`]). Messages to shards of other ranks are sent as bytes, in
//! one MPI message for each pair of ranks and step of a window.

use std::cell::RefCell;
use std::io;

pub(crate) use dwell_mpi::Error;
use dwell_mpi::{Agreement, Peers, parcel};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::engine::message::Message;
use crate::engine::sharding::Assignment;
use crate::engine::wire::{self, Inboxes};
use crate::engine::workers::{cores, map_on, run_on};

/// Bytes that a rank receives at once when values are scattered over all ranks.
const MOST_SCATTERED: usize = 4 << 20;

/// Runs the work of the shards of this program, and delivers messages between the shards of all programs that take part
/// in the replay: only this one, or the ranks of an MPI launch.
pub(crate) struct Transport<'p> {
    threads: usize,
    others: Option<RefCell<Others<'p>>>,
}

/// The other ranks, and buffers that are used again and again.
struct Others<'p> {
    peers: &'p mut dyn Peers,
    out: Vec<Vec<u8>>,
    into: Vec<Vec<u8>>,
}

impl<'p> Transport<'p> {
    /// Creates a transport within this program with this number of threads; 0 means one thread per available core.
    pub(crate) fn new(threads: usize) -> Self {
        Self { threads: if threads == 0 { cores() } else { threads }, others: None }
    }

    /// Creates a transport between the ranks of a launch, each with this number of threads.
    pub(crate) fn among(peers: &'p mut dyn Peers, threads: usize) -> Self {
        let others = Others { peers, out: Vec::new(), into: Vec::new() };
        Self { others: Some(RefCell::new(others)), ..Self::new(threads) }
    }

    /// Returns the rank of this program, and the number of ranks.
    pub(crate) fn rank(&self) -> (usize, usize) {
        let of = |others: &RefCell<Others<'_>>| {
            let others = others.borrow();
            (others.peers.rank(), others.peers.size())
        };
        self.others.as_ref().map_or((0, 1), of)
    }

    /// Returns the number of threads of this program.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Calls `work` once for every shard. Each worker creates a workspace of its own, passes it to all calls that it
    /// makes, and the method returns the workspaces of all workers in no particular order. It returns after all calls
    /// have ended.
    pub(crate) fn run<S: Send, W: Send>(
        &self,
        shards: &mut [S],
        workspace: &(dyn Fn() -> W + Sync),
        work: &(dyn Fn(&mut S, &mut W) + Sync),
    ) -> Vec<W> {
        run_on(self.threads, shards, workspace, work)
    }

    /// Delivers messages: takes what the workers of this program sent to all shards, and returns what the shards of this
    /// program receive, in their order.
    pub(crate) fn deliver<I: Inboxes>(
        &self,
        step: &'static str,
        assignment: &Assignment,
        mut sent: Vec<I>,
    ) -> Result<Vec<I>, Error> {
        let Some(others) = &self.others else { return Ok(sent) };
        let Others { peers, out, into } = &mut *others.borrow_mut();
        let (rank, size) = (peers.rank(), peers.size());
        out.resize_with(size, Vec::new);
        // From the end, so that what is left are the shards of lower ranks.
        let mut own = Vec::new();
        let mut parcels: Vec<(usize, Vec<I>, &mut Vec<u8>)> = Vec::new();
        for (to, bytes) in out.iter_mut().enumerate().rev() {
            let shards = assignment.shards(to);
            let theirs = sent.split_off(shards.start.min(sent.len()));
            if to == rank {
                own = theirs;
            } else if theirs.iter().any(|inboxes| !inboxes.is_empty()) {
                parcels.push((shards.start, theirs, bytes));
            }
        }
        self.run(&mut parcels, &|| (), &|(first, inboxes, bytes), ()| {
            for (shard, inboxes) in (*first..).zip(std::mem::take(inboxes)) {
                if !inboxes.is_empty() {
                    parcel::append(bytes, shard as u32, 0, |bytes| inboxes.write(bytes));
                }
            }
        });
        drop(parcels);
        peers.exchange(step, out, into)?;

        let first = assignment.shards(rank).start;
        let mut arrived: Vec<(I, Sections<'_>)> =
            own.into_iter().map(|inboxes| (inboxes, Vec::new())).collect();
        for (from, bytes) in into.iter().enumerate().filter(|(from, _)| *from != rank) {
            for section in parcel::sections(bytes) {
                let section = section.map_err(|reason| garbled(from, reason))?;
                let place = (section.part as usize).checked_sub(first);
                match place.and_then(|place| arrived.get_mut(place)) {
                    Some((_, parts)) => parts.push((from, section.bytes)),
                    None => return Err(garbled(from, "it is for another process".into())),
                }
            }
        }
        let found = self.run(&mut arrived, &|| None, &|(inboxes, parts), found| {
            for (from, mut bytes) in parts.drain(..) {
                if inboxes.read(&mut bytes).is_err() || !bytes.is_empty() {
                    *found = Some(from);
                }
            }
        });
        match found.into_iter().flatten().next() {
            Some(from) => Err(garbled(from, format!("not all messages of {step} can be read"))),
            None => Ok(arrived.into_iter().map(|it| it.0).collect()),
        }
    }

    /// Joins numbers of all ranks.
    pub(crate) fn agree(&self, step: &'static str, numbers: Agreement) -> Result<Agreement, Error> {
        match &self.others {
            Some(others) => others.borrow_mut().peers.agree(step, numbers),
            None => Ok(numbers),
        }
    }

    /// Adds up a number of all ranks.
    pub(crate) fn sum(&self, step: &'static str, number: u64) -> Result<u64, Error> {
        let numbers = Agreement { sum: vec![number], ..Agreement::default() };
        Ok(self.agree(step, numbers)?.sum.first().copied().unwrap_or(number))
    }

    /// Returns the messages of all ranks in the order of the ranks, the same list in each of them.
    pub(crate) fn share<T: Message>(
        &self,
        step: &'static str,
        messages: Vec<T>,
    ) -> Result<Vec<T>, Error> {
        let Some(others) = &self.others else { return Ok(messages) };
        let Others { peers, out, into } = &mut *others.borrow_mut();
        out.resize_with(peers.size(), Vec::new);
        let mut bytes = Vec::new();
        messages.iter().for_each(|message| wire::write(message, &mut bytes));
        for one in out.iter_mut() {
            one.clone_from(&bytes);
        }
        peers.exchange(step, out, into)?;
        let mut all = Vec::new();
        for (from, bytes) in into.iter().enumerate() {
            let mut bytes = bytes.as_slice();
            while !bytes.is_empty() {
                let read = wire::read(&mut bytes);
                all.push(read.map_err(|_| garbled(from, format!("{step} cannot be read")))?);
            }
        }
        Ok(all)
    }

    /// Sends bytes to one other rank, or to none, a part of them at a time. `read` appends the next part and returns its
    /// size, and `take` gets the bytes of other ranks in their order. Returns an error of `read` apart from errors of
    /// communication.
    pub(crate) fn forward(
        &self,
        step: &'static str,
        to: Option<usize>,
        read: &mut dyn FnMut(&mut Vec<u8>) -> io::Result<usize>,
        take: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<io::Result<()>, Error> {
        let Some(others) = &self.others else { return Ok(Ok(())) };
        let Others { peers, out, into } = &mut *others.borrow_mut();
        let mut done = Ok(());
        loop {
            out.resize_with(peers.size(), Vec::new);
            let mut more = 0;
            if let Some(bytes) = to.and_then(|to| out.get_mut(to))
                && done.is_ok()
            {
                match read(bytes) {
                    Ok(size) => more = u64::from(size > 0),
                    Err(error) => done = Err(error),
                }
            }
            peers.exchange(step, out, into)?;
            for (from, bytes) in into.iter().enumerate().filter(|it| !it.1.is_empty()) {
                take(from, bytes);
            }
            let more = Agreement { most: vec![more], ..Agreement::default() };
            if peers.agree(step, more)?.most.iter().all(|more| *more == 0) {
                return Ok(done);
            }
        }
    }

    /// Joins values of all ranks at rank 0, along a tree. `join` adds a value of higher ranks to one of lower ranks, and
    /// must be associative. Returns the result at rank 0, and `None` elsewhere.
    pub(crate) fn reduce<T: Serialize + DeserializeOwned>(
        &self,
        step: &'static str,
        mut value: T,
        mut join: impl FnMut(&mut T, T),
    ) -> Result<Option<T>, Error> {
        let Some(others) = &self.others else { return Ok(Some(value)) };
        let peers = &mut *others.borrow_mut().peers;
        let mut own = Vec::new();
        wire::write(&value, &mut own);
        let joined = peers.join_all(step, own, &mut |bytes, mut more| {
            let more = wire::read(&mut more).map_err(|_| format!("{step} cannot be read"))?;
            join(&mut value, more);
            bytes.clear();
            wire::write(&value, bytes);
            Ok(())
        })?;
        Ok(joined.map(|_| value))
    }

    /// Returns the value of rank 0 at all ranks. Only rank 0 passes one.
    pub(crate) fn broadcast<T: Serialize + DeserializeOwned>(
        &self,
        step: &'static str,
        value: Option<T>,
    ) -> Result<T, Error> {
        let mut bytes = Vec::new();
        if let Some(others) = &self.others {
            value.iter().for_each(|value| wire::write(value, &mut bytes));
            others.borrow_mut().peers.broadcast(step, &mut bytes)?;
        }
        match value {
            Some(value) => Ok(value),
            None => {
                let read = wire::read(&mut bytes.as_slice());
                read.map_err(|_| garbled(0, format!("{step} cannot be read")))
            }
        }
    }

    /// Sends each value to its rank, some of them at a time, and shows `take` those that arrive, in any order.
    pub(crate) fn scatter<T: Serialize + DeserializeOwned>(
        &self,
        step: &'static str,
        values: impl Iterator<Item = (usize, T)>,
        mut take: impl FnMut(T),
    ) -> Result<(), Error> {
        let Some(others) = &self.others else {
            values.for_each(|(_, value)| take(value));
            return Ok(());
        };
        let Others { peers, out, into } = &mut *others.borrow_mut();
        let (rank, size) = (peers.rank(), peers.size());
        out.resize_with(size, Vec::new);
        // Of all that a rank receives at once, each may send it a part.
        let most = (MOST_SCATTERED / size).max(1);
        let mut left = values.peekable();
        loop {
            while let Some((to, value)) = left.next_if(|(to, _)| {
                *to == rank || out.get(*to).is_none_or(|bytes| bytes.len() < most)
            }) {
                match out.get_mut(to) {
                    Some(bytes) if to != rank => wire::write(&value, bytes),
                    _ => take(value),
                }
            }
            let more = u64::from(left.peek().is_some());
            peers.exchange(step, out, into)?;
            for (from, bytes) in into.iter().enumerate() {
                let mut bytes = bytes.as_slice();
                while !bytes.is_empty() {
                    let read = wire::read(&mut bytes);
                    take(read.map_err(|_| garbled(from, format!("{step} cannot be read")))?);
                }
            }
            let more = Agreement { most: vec![more], ..Agreement::default() };
            if peers.agree(step, more)?.most.iter().all(|more| *more == 0) {
                return Ok(());
            }
        }
    }

    /// Sends the bytes in `out` to the ranks at their indices, and returns what the ranks sent to this one in `into`.
    /// The own bytes stay here.
    pub(crate) fn exchange(
        &self,
        step: &'static str,
        out: &mut Vec<Vec<u8>>,
        into: &mut Vec<Vec<u8>>,
    ) -> Result<(), Error> {
        match &self.others {
            Some(others) => others.borrow_mut().peers.exchange(step, out, into),
            None => {
                std::mem::swap(out, into);
                out.iter_mut().for_each(Vec::clear);
                Ok(())
            }
        }
    }

    /// Calls `work` once for every item, on the threads of this program, and returns the results in the order of the
    /// items.
    pub(crate) fn map<S: Send, R: Send>(
        &self,
        items: impl IntoIterator<Item = S>,
        work: &(dyn Fn(S) -> R + Sync),
    ) -> Vec<R> {
        map_on(self.threads, items, work)
    }
}

/// Sections of messages from other ranks for one shard, with the rank that sent each.
type Sections<'m> = Vec<(usize, &'m [u8])>;

fn garbled(rank: usize, reason: String) -> Error {
    Error::Garbled { rank, reason }
}
