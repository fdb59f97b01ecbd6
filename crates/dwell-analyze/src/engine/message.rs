//! Messages between shards, and the boxes that collect them.
//!
//! A sender puts messages into an [`Outbox`], addressed to a process. They arrive in the [`Inbox`] of the shard that owns
//! this process.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use dwell_trace::ids::ProcessNumber;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::engine::sharding::{MOST_BATCH, Sharding};
use crate::engine::wire::{self, Garbled};

/// A message between shards. The trait is a marker without methods: implement it for every type that goes into an
/// [`Outbox`].
pub(crate) trait Message: Send + Serialize + DeserializeOwned + 'static {}

impl Message for ProcessNumber {}

impl Message for u64 {}

/// An outbox for messages of one kind, sorted by destination shard. It collects them in batches of a fixed size: a list
/// that grows would be copied again and again, and would fragment the memory.
#[derive(Debug)]
pub(crate) struct Outbox<T> {
    sharding: Sharding,
    /// The batch being filled for each shard. They are close together in memory, since every message needs one of them.
    open: Vec<Vec<T>>,
    full: Vec<Batches<T>>,
    pool: Option<Arc<Pool<T>>>,
}

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
