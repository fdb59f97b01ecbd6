//! Carries messages between the shards of the replay.
//!
//! Patterns put messages (questions, facts and answers) into an [`Outbox`], addressed to a process. The [`Transport`]
//! delivers them to the [`Inbox`] of the shard that owns this process. Patterns do not know whether that shard runs on
//! a thread of the same program or on another node.
//!
//! Over MPI every rank owns consecutive shards ([`Assignment`]). What is for shards of other ranks travels as bytes, in one
//! message for each pair of ranks and step of a window.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

pub(crate) use dwell_mpi::Error;
use dwell_mpi::{Agreement, Peers, parcel};
use dwell_trace::ids::ProcessNumber;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::engine::wire::{self, Garbled, Inboxes};

/// A message between shards. The trait is a marker without methods: implement it for every type that goes into an
/// [`Outbox`].
pub(crate) trait Message: Send + Serialize + DeserializeOwned + 'static {}

impl Message for ProcessNumber {}

impl Message for u64 {}

/// Distribution of processes to shards: each shard owns as many consecutive processes, and that number is a power of
/// two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sharding {
    shift: u32,
    /// Number of shards. The last one may own no process.
    pub(crate) count: usize,
    /// Size of a batch of messages in bytes.
    batch: usize,
}

impl Sharding {
    /// Chooses a distribution for a number of processes and of workers, which are the threads of all ranks. A large run
    /// has a few hundred shards: enough to keep all workers busy, and few enough for batches of messages to be worth
    /// sending.
    pub(crate) fn of(processes: usize, workers: usize) -> Self {
        let shards = (workers * SHARDS_PER_WORKER).next_power_of_two().max(LEAST_SHARDS);
        let shift = (processes / shards).max(1).next_power_of_two().trailing_zeros();
        Self { shift, count: (processes >> shift) + 1, batch: MOST_BATCH }
    }

    /// Returns the same distribution with smaller batches, so that all batches being filled take about `bytes`
    /// together. A batch never becomes smaller than 512 bytes.
    #[must_use]
    pub(crate) fn within(self, bytes: u64) -> Self {
        let open = self.count.saturating_mul(OPEN_BATCHES).max(1) as u64;
        let batch = (bytes / open) as usize;
        Self { batch: batch.clamp(LEAST_BATCH, MOST_BATCH), ..self }
    }

    /// Returns the shard that owns a process. The result is below [`Self::count`] for every process that was counted in
    /// [`Self::of`].
    #[inline]
    pub(crate) fn shard(self, process: ProcessNumber) -> usize {
        (process.0 >> self.shift) as usize
    }

    /// Returns the processes that a shard owns. `of` is the number of all processes; the range is empty for a shard
    /// beyond them.
    pub(crate) fn processes(self, shard: usize, of: usize) -> std::ops::Range<usize> {
        (shard << self.shift).min(of)..((shard + 1) << self.shift).min(of)
    }
}

/// An outbox for messages of one kind, sorted by destination shard. It collects them in batches of a fixed size: a list
/// that grows would be copied again and again, and would leave fragments of memory that nothing else fits into.
#[derive(Debug)]
pub(crate) struct Outbox<T> {
    sharding: Sharding,
    /// The batch being filled for each shard. They are close together in memory, since every message needs one of them.
    open: Vec<Vec<T>>,
    full: Vec<Batches<T>>,
    pool: Option<Arc<Pool<T>>>,
}

/// Greatest size of a batch in bytes. Larger batches would not travel faster.
const MOST_BATCH: usize = 16 * 1024;
const LEAST_BATCH: usize = 512;
/// Bytes that a rank receives at once when values are scattered over all ranks.
const MOST_SCATTERED: usize = 4 << 20;
/// Least number of shards of a large run, and least number for each worker.
const LEAST_SHARDS: usize = 256;
const SHARDS_PER_WORKER: usize = 4;
/// Number of batches being filled for one shard: usual kinds of messages times threads.
const OPEN_BATCHES: usize = 12;

impl<T: Message> Outbox<T> {
    /// Creates an empty outbox that allocates its own batches. Use it for rare messages, whose batches are not worth a
    /// pool.
    pub(crate) fn new(sharding: Sharding) -> Self {
        let open = (0..sharding.count).map(|_| Vec::new()).collect();
        let full = (0..sharding.count).map(|_| Vec::new()).collect();
        Self { sharding, open, full, pool: None }
    }

    /// Creates an empty outbox that takes its batches from a pool, which the receiver returns them to.
    pub(crate) fn with_pool(sharding: Sharding, pool: &Arc<Pool<T>>) -> Self {
        Self { pool: Some(Arc::clone(pool)), ..Self::new(sharding) }
    }

    /// Puts a message into the batch for the shard that owns `process`. A message to a process without a shard is
    /// dropped.
    #[inline]
    pub(crate) fn send(&mut self, process: ProcessNumber, message: T) {
        let shard = self.sharding.shard(process);
        let Some(batch) = self.open.get_mut(shard) else { return };
        if batch.len() == batch.capacity() {
            let pool = self.pool.as_deref();
            Self::replace(batch, self.full.get_mut(shard), pool, self.sharding.batch);
        }
        batch.push(message);
    }

    /// Creates an empty outbox that takes its batches from the same pool.
    pub(crate) fn another(&self) -> Self {
        Self { pool: self.pool.clone(), ..Self::new(self.sharding) }
    }

    /// Takes all messages of another outbox.
    pub(crate) fn append(&mut self, other: Self) {
        for (full, (mut theirs, last)) in
            self.full.iter_mut().zip(other.full.into_iter().zip(other.open))
        {
            full.append(&mut theirs);
            full.extend((!last.is_empty()).then_some(last));
        }
    }

    /// Puts a full batch aside and starts a new one.
    #[cold]
    #[inline(never)]
    fn replace(
        batch: &mut Vec<T>,
        full: Option<&mut Batches<T>>,
        pool: Option<&Pool<T>>,
        bytes: usize,
    ) {
        let spare = pool.and_then(Pool::spare);
        let new = spare.unwrap_or_else(|| Vec::with_capacity((bytes / size_of::<T>()).max(1)));
        let before = std::mem::replace(batch, new);
        if let Some(full) = full
            && !before.is_empty()
        {
            full.push(before);
        }
    }
}

/// Batches that were read and can be filled again. Every window needs many of them, so allocating them anew would be
/// slow.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    spare: Mutex<Batches<T>>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { spare: Mutex::default() }
    }
}

impl<T: Message> Pool<T> {
    /// Returns an empty batch that was used before, if there is one.
    fn spare(&self) -> Option<Vec<T>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Takes back a batch that was read, drops its messages and keeps its memory for the next outbox that asks. The
    /// pool never shrinks.
    fn take(&self, mut batch: Vec<T>) {
        batch.clear();
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(batch);
    }
}

/// Messages of one kind that arrived at a shard. Messages of one worker keep their order, but messages of different
/// workers may be in any order, so readers sort where the order matters.
#[derive(Debug)]
pub(crate) struct Inbox<T> {
    batches: Batches<T>,
    pool: Option<Arc<Pool<T>>>,
}

impl<T> Default for Inbox<T> {
    fn default() -> Self {
        Self { batches: Vec::new(), pool: None }
    }
}

impl<T: Message> Inbox<T> {
    /// Shows every message once and gives the memory of the batches back to their pool.
    #[inline]
    pub(crate) fn read(self, mut show: impl FnMut(&T)) {
        for batch in self.batches {
            batch.iter().for_each(&mut show);
            if let Some(pool) = &self.pool {
                pool.take(batch);
            }
        }
    }

    /// Returns all messages. Use it for rare messages, whose batches are not worth a pool.
    pub(crate) fn into_messages(self) -> impl Iterator<Item = T> {
        self.batches.into_iter().flatten()
    }

    /// Returns the number of messages.
    pub(crate) fn len(&self) -> usize {
        self.batches.iter().map(Vec::len).sum()
    }

    /// Returns the messages in batches, so that several workers can read them.
    pub(crate) fn batches(&self) -> &[Vec<T>] {
        &self.batches
    }

    /// Returns `true` if there are no messages.
    pub(crate) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// Appends all messages to the bytes for another process, and gives the memory of the batches back to their pool.
    pub(crate) fn write(self, to: &mut Vec<u8>) {
        let count: usize = self.batches.iter().map(Vec::len).sum();
        wire::write(&(count as u64), to);
        self.read(|message| wire::write(message, to));
    }

    /// Adds messages from the bytes of another process.
    pub(crate) fn take(&mut self, from: &mut &[u8]) -> Result<(), Garbled> {
        let count: u64 = wire::read(from)?;
        let most = (MOST_BATCH / size_of::<T>()).max(1);
        let mut batch = Vec::new();
        for _ in 0..count {
            if batch.len() == batch.capacity() {
                let spare = self.pool.as_deref().and_then(Pool::spare);
                let new = spare.unwrap_or_else(|| Vec::with_capacity(most));
                let full = std::mem::replace(&mut batch, new);
                self.batches.extend((!full.is_empty()).then_some(full));
            }
            batch.push(wire::read(from)?);
        }
        self.batches.extend((!batch.is_empty()).then_some(batch));
        Ok(())
    }

    /// Returns the memory in bytes that the messages take.
    pub(crate) fn bytes(&self) -> usize {
        self.batches.iter().map(Vec::capacity).sum::<usize>() * size_of::<T>()
    }
}

/// Moves the messages of all outboxes to the inboxes of their shards. Moving a batch is moving a `Vec`, so nothing is
/// copied.
pub(crate) fn sort<T: Message>(sharding: Sharding, sent: Vec<Outbox<T>>) -> Vec<Inbox<T>> {
    let pool = sent.first().and_then(|outbox| outbox.pool.clone());
    let inbox = |_| Inbox { batches: Vec::new(), pool: pool.clone() };
    let mut arrived: Vec<Inbox<T>> = (0..sharding.count).map(inbox).collect();
    for outbox in sent {
        let sent = outbox.full.into_iter().zip(outbox.open);
        for (inbox, (mut full, last)) in arrived.iter_mut().zip(sent) {
            inbox.batches.append(&mut full);
            if !last.is_empty() {
                inbox.batches.push(last);
            }
        }
    }
    arrived
}

/// Batches of messages. The order of the batches is unspecified.
type Batches<T> = Vec<Vec<T>>;

/// Pools for all kinds of frequent messages, which live as long as the replay.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    by_kind: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl Pools {
    /// Returns the pool for messages of one kind, the same at every call.
    pub(crate) fn of<T: Message>(&self) -> Arc<Pool<T>> {
        let mut pools = self.by_kind.lock().unwrap_or_else(PoisonError::into_inner);
        let pool = pools.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(Pool::<T>::default()));
        Arc::clone(pool).downcast().unwrap_or_default()
    }
}

/// Consecutive shards of each rank.
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    /// First shard of each rank, and the number of all shards at the end.
    first: Vec<usize>,
}

impl Assignment {
    /// Deals shards to ranks so that each gets about as much of the weight. If that would be less than `least`, only as
    /// many of the first ranks take part as have so much.
    pub(crate) fn of(weights: &[u64], ranks: usize, least: u64) -> Self {
        let all: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
        let busy = (all / u128::from(least.max(1))).clamp(1, ranks.max(1) as u128);
        let mut first = vec![0];
        let mut sum: u128 = 0;
        for (shard, &weight) in weights.iter().enumerate() {
            // A shard belongs to the rank in whose share its middle lies.
            let middle = 2 * sum + u128::from(weight);
            while (first.len() as u128) < busy && middle * busy >= 2 * all * first.len() as u128 {
                first.push(shard);
            }
            sum += u128::from(weight);
        }
        first.resize(ranks.max(1) + 1, weights.len());
        Self { first }
    }

    /// Returns the rank that owns a shard.
    pub(crate) fn rank(&self, shard: usize) -> usize {
        self.first.partition_point(|first| *first <= shard).saturating_sub(1)
    }

    /// Returns the shards of a rank.
    pub(crate) fn shards(&self, rank: usize) -> Range<usize> {
        let at = |index: usize| self.first.get(index).copied().unwrap_or(0);
        at(rank)..at(rank + 1)
    }
}

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
    /// Creates a transport within this program with this number of threads; 0 stands for one thread per available core.
    pub(crate) fn new(threads: usize) -> Self {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
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
        let mut slots: Vec<(Option<S>, Option<R>)> =
            items.into_iter().map(|item| (Some(item), None)).collect();
        self.run(&mut slots, &|| (), &|(item, result), ()| *result = item.take().map(work));
        slots.into_iter().filter_map(|(_, result)| result).collect()
    }
}

/// Calls `work` once for every item, on at most `threads` threads: see [`Transport::run`].
pub(crate) fn run_on<S: Send, W: Send>(
    threads: usize,
    items: &mut [S],
    workspace: &(dyn Fn() -> W + Sync),
    work: &(dyn Fn(&mut S, &mut W) + Sync),
) -> Vec<W> {
    let workers = threads.min(items.len()).max(1);
    if workers == 1 {
        let mut space = workspace();
        items.iter_mut().for_each(|item| work(item, &mut space));
        return vec![space];
    }
    let queue = Mutex::new(items.iter_mut());
    let spaces = Mutex::new(Vec::with_capacity(workers));
    on_threads(workers, &|| {
        let mut space = workspace();
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(item) = next else { break };
            work(item, &mut space);
        }
        spaces.lock().unwrap_or_else(PoisonError::into_inner).push(space);
    });
    spaces.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `work` once on each of `threads` threads, one of which is the caller's. This is compiled once: the code that
/// starts a thread is large, and would be repeated for every kind of item.
fn on_threads(threads: usize, work: &(dyn Fn() + Sync)) {
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        work();
        for other in others {
            if let Err(panic) = other.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
}

/// Sections of messages from other ranks for one shard, with the rank that sent each.
type Sections<'m> = Vec<(usize, &'m [u8])>;

fn garbled(rank: usize, reason: String) -> Error {
    Error::Garbled { rank, reason }
}

#[cfg(test)]
mod tests {
    use super::Assignment;

    fn assignment(weights: &[u64], ranks: usize, least: u64) -> Vec<usize> {
        Assignment::of(weights, ranks, least).first
    }

    #[test]
    fn ranks_get_consecutive_shards_of_about_the_same_weight() {
        assert_eq!(assignment(&[1; 8], 4, 1), [0, 2, 4, 6, 8]);
        assert_eq!(assignment(&[5, 1, 1, 1, 1, 1], 2, 1), [0, 1, 6]);
        assert_eq!(assignment(&[1, 1, 1, 1, 1, 5], 2, 1), [0, 5, 6]);
        assert_eq!(assignment(&[1, 100, 1], 3, 1), [0, 1, 2, 3]);
        // The middle of the only shard lies in the share of the second of three ranks.
        assert_eq!(assignment(&[3], 3, 1), [0, 0, 1, 1]);
        assert_eq!(assignment(&[], 2, 1), [0, 0, 0]);
        let large = [u64::MAX; 4];
        assert_eq!(assignment(&large, 2, 1), [0, 2, 4]);
    }

    #[test]
    fn a_small_trace_is_not_spread_over_all_ranks() {
        assert_eq!(assignment(&[10; 8], 4, 40), [0, 4, 8, 8, 8]);
        assert_eq!(assignment(&[10; 8], 4, 1_000), [0, 8, 8, 8, 8]);
        assert_eq!(assignment(&[0; 3], 2, 0), [0, 3, 3]);
    }
}
