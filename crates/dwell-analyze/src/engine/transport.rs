//! Carries messages between the shards of the replay.
//!
//! Patterns put messages (questions, facts and answers) into an [`Outbox`], addressed to a process. A [`Transport`]
//! delivers them to the [`Inbox`] of the shard that owns this process. Patterns do not know whether that shard runs on
//! a thread of the same program or on another node.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::archive::ids::ProcessNumber;

/// A message between shards. It contains numbers only and no references, so that it could be sent over a network as it
/// is. The trait is a marker without methods: implement it for every type that goes into a [`Outbox`].
pub trait Message: Copy + Send + 'static {}

/// Distribution of processes to shards: each shard owns as many consecutive processes, and that number is a power of
/// two.
#[derive(Clone, Copy, Debug)]
pub struct Sharding {
    shift: u32,
    /// Number of shards. The last one may own no process.
    pub count: usize,
    /// Size of a batch of messages in bytes.
    batch: usize,
}

impl Sharding {
    /// Chooses a distribution for a number of processes. A large run has a few hundred shards: enough to keep all
    /// threads busy, and few enough for batches of messages to be worth sending.
    pub fn of(processes: usize) -> Self {
        let shift = (processes / 256).max(1).next_power_of_two().trailing_zeros();
        Self { shift, count: (processes >> shift) + 1, batch: MOST_BATCH }
    }

    /// Returns the same distribution with smaller batches, so that all batches being filled take about `bytes`
    /// together. A batch never becomes smaller than 512 bytes.
    #[must_use]
    pub fn within(self, bytes: u64) -> Self {
        let open = self.count.saturating_mul(OPEN_BATCHES).max(1) as u64;
        let batch = (bytes / open) as usize;
        Self { batch: batch.clamp(LEAST_BATCH, MOST_BATCH), ..self }
    }

    /// Returns the shard that owns a process. The result is below [`Self::count`] for every process that was counted in
    /// [`Self::of`].
    #[inline]
    pub fn shard(self, process: ProcessNumber) -> usize {
        (process.0 >> self.shift) as usize
    }

    /// Returns the processes that a shard owns. `of` is the number of all processes; the range is empty for a shard
    /// beyond them.
    pub fn processes(self, shard: usize, of: usize) -> std::ops::Range<usize> {
        (shard << self.shift).min(of)..((shard + 1) << self.shift).min(of)
    }
}

/// An outbox for messages of one kind, sorted by destination shard. It collects them in batches of a fixed size: a list
/// that grows would be copied again and again, and would leave fragments of memory that nothing else fits into.
#[derive(Debug)]
pub struct Outbox<T> {
    sharding: Sharding,
    /// The batch being filled for each shard. They are close together in memory, since every message needs one of them.
    open: Vec<Vec<T>>,
    full: Vec<Batches<T>>,
    pool: Option<Arc<Pool<T>>>,
}

/// Greatest size of a batch in bytes. Larger batches would not travel faster.
const MOST_BATCH: usize = 16 * 1024;
const LEAST_BATCH: usize = 512;
/// Number of batches being filled for one shard: usual kinds of messages times threads.
const OPEN_BATCHES: usize = 12;

impl<T: Message> Outbox<T> {
    /// Creates an empty outbox that allocates its own batches. Use it for rare messages, whose batches are not worth a
    /// pool.
    pub fn new(sharding: Sharding) -> Self {
        let open = (0..sharding.count).map(|_| Vec::new()).collect();
        let full = (0..sharding.count).map(|_| Vec::new()).collect();
        Self { sharding, open, full, pool: None }
    }

    /// Creates an empty outbox that takes its batches from a pool, which the receiver returns them to.
    pub fn with_pool(sharding: Sharding, pool: &Arc<Pool<T>>) -> Self {
        Self { pool: Some(Arc::clone(pool)), ..Self::new(sharding) }
    }

    /// Puts a message into the batch for the shard that owns `process`. A message to a process without a shard is
    /// dropped.
    #[inline]
    pub fn send(&mut self, process: ProcessNumber, message: T) {
        let shard = self.sharding.shard(process);
        let Some(batch) = self.open.get_mut(shard) else { return };
        if batch.len() == batch.capacity() {
            let pool = self.pool.as_deref();
            Self::replace(batch, self.full.get_mut(shard), pool, self.sharding.batch);
        }
        batch.push(message);
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
pub struct Pool<T> {
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
pub struct Inbox<T> {
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
    pub fn read(self, mut show: impl FnMut(&T)) {
        for batch in self.batches {
            batch.iter().for_each(&mut show);
            if let Some(pool) = &self.pool {
                pool.take(batch);
            }
        }
    }

    /// Returns all messages. Use it for rare messages, whose batches are not worth a pool.
    pub fn into_messages(self) -> impl Iterator<Item = T> {
        self.batches.into_iter().flatten()
    }

    /// Returns the memory in bytes that the messages take.
    pub fn bytes(&self) -> usize {
        self.batches.iter().map(Vec::capacity).sum::<usize>() * size_of::<T>()
    }
}

/// Batches of messages. The order of the batches is unspecified.
type Batches<T> = Vec<Vec<T>>;

/// Pools for all kinds of frequent messages, which live as long as the replay.
#[derive(Debug, Default)]
pub struct Pools {
    by_kind: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl Pools {
    /// Returns the pool for messages of one kind, the same at every call.
    pub fn of<T: Message>(&self) -> Arc<Pool<T>> {
        let mut pools = self.by_kind.lock().unwrap_or_else(PoisonError::into_inner);
        let pool = pools.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(Pool::<T>::default()));
        Arc::clone(pool).downcast().unwrap_or_default()
    }
}

/// Runs the work of all shards and delivers messages between them. [`Threads`] is the implementation within one
/// program; one that spans nodes would hold only a part of the shards in each process.
pub trait Transport {
    /// Calls `work` once for every shard. Each worker creates a workspace of its own, passes it to all calls that it
    /// makes, and the method returns the workspaces of all workers in no particular order. It returns after all calls
    /// have ended.
    fn run<S: Send, W: Send>(
        &self,
        shards: &mut [S],
        workspace: &(dyn Fn() -> W + Sync),
        work: &(dyn Fn(&mut S, &mut W) + Sync),
    ) -> Vec<W>;

    /// Delivers the messages of all outboxes. Returns one inbox for each shard, in the order of the shards.
    fn exchange<T: Message>(&self, sharding: Sharding, sent: Vec<Outbox<T>>) -> Vec<Inbox<T>>;

    /// Returns the minimum of `number` over all programs that take part in the replay.
    fn least(&self, number: u64) -> u64;

    /// Returns the messages of all programs that take part in the replay, the same list in each of them.
    fn share<T: Message>(&self, messages: Vec<T>) -> Vec<T>;
}

/// A [`Transport`] within one program: threads work on the shards, and messages stay in memory. Moving a batch to
/// another shard is moving a `Vec`, so nothing is copied.
#[derive(Clone, Copy, Debug)]
pub struct Threads {
    count: usize,
}

impl Threads {
    /// Creates a transport with this number of threads; 0 stands for one thread per available core.
    pub fn new(count: usize) -> Self {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        Self { count: if count == 0 { cores() } else { count } }
    }
}

impl Transport for Threads {
    fn run<S: Send, W: Send>(
        &self,
        shards: &mut [S],
        workspace: &(dyn Fn() -> W + Sync),
        work: &(dyn Fn(&mut S, &mut W) + Sync),
    ) -> Vec<W> {
        let workers = self.count.min(shards.len()).max(1);
        if workers == 1 {
            let mut space = workspace();
            shards.iter_mut().for_each(|shard| work(shard, &mut space));
            return vec![space];
        }
        let queue = Mutex::new(shards.iter_mut());
        let run = || {
            let mut space = workspace();
            loop {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(shard) = next else { return space };
                work(shard, &mut space);
            }
        };
        thread::scope(|scope| {
            let others: Vec<_> = (1..workers).map(|_| scope.spawn(run)).collect();
            let mut spaces = vec![run()];
            for other in others {
                match other.join() {
                    Ok(space) => spaces.push(space),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            spaces
        })
    }

    fn exchange<T: Message>(&self, sharding: Sharding, sent: Vec<Outbox<T>>) -> Vec<Inbox<T>> {
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

    fn least(&self, number: u64) -> u64 {
        number
    }

    fn share<T: Message>(&self, messages: Vec<T>) -> Vec<T> {
        messages
    }
}
