//! How questions, facts and answers travel.
//!
//! Patterns put letters into a [`Post`], addressed to a process; a [`Transport`] hands them to the
//! shard that this process lives in. Patterns do not know whether that is a thread of the same program
//! or another node.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Something that travels: numbers only, so that it could go over a network as it is.
pub trait Letter: Copy + Send + 'static {}

/// Which shard a process lives in: consecutive processes, as many as a power of two.
#[derive(Clone, Copy, Debug)]
pub struct Sharding {
    shift: u32,
    /// How many shards there are.
    pub count: usize,
    /// Bytes of a batch of letters.
    batch: usize,
}

impl Sharding {
    /// Enough shards that threads find work, few enough that a batch is worth sending.
    pub fn of(processes: usize) -> Self {
        let shift = (processes / 256).max(1).next_power_of_two().trailing_zeros();
        Self { shift, count: (processes >> shift) + 1, batch: MOST_BATCH }
    }

    /// With batches so small that those which are being filled take no more than these bytes.
    #[must_use]
    pub fn within(self, bytes: u64) -> Self {
        let open = self.count.saturating_mul(OPEN_BATCHES).max(1) as u64;
        let batch = (bytes / open) as usize;
        Self { batch: batch.clamp(LEAST_BATCH, MOST_BATCH), ..self }
    }

    /// The shard of a process.
    #[inline]
    pub fn shard(self, process: u32) -> usize {
        (process >> self.shift) as usize
    }

    /// The processes of a shard.
    pub fn processes(self, shard: usize, of: usize) -> std::ops::Range<usize> {
        (shard << self.shift).min(of)..((shard + 1) << self.shift).min(of)
    }
}

/// Letters of one kind, sorted by the shard they go to, in batches of a fixed size: a list that grows is
/// copied again and again, and leaves memory behind that nothing else fits into.
#[derive(Debug)]
pub struct Post<T> {
    sharding: Sharding,
    /// For each shard the batch that is being filled; close together, since every letter needs one.
    open: Vec<Vec<T>>,
    full: Vec<Batches<T>>,
    pool: Arc<Pool<T>>,
}

/// Bytes of a batch: more would not travel faster, fewer would be mostly the list that holds them.
const MOST_BATCH: usize = 16 * 1024;
const LEAST_BATCH: usize = 512;
/// Batches that are being filled for a shard: kinds of letters that are usual, times threads.
const OPEN_BATCHES: usize = 12;

impl<T: Letter> Post<T> {
    /// No letters yet.
    pub fn new(sharding: Sharding) -> Self {
        Self::with_pool(sharding, &Arc::default())
    }

    /// No letters yet; batches come from a pool.
    pub fn with_pool(sharding: Sharding, pool: &Arc<Pool<T>>) -> Self {
        let open = (0..sharding.count).map(|_| Vec::new()).collect();
        let full = (0..sharding.count).map(|_| Vec::new()).collect();
        Self { sharding, open, full, pool: Arc::clone(pool) }
    }

    /// Sends a letter to the home of a process.
    #[inline]
    pub fn send(&mut self, process: u32, letter: T) {
        let shard = self.sharding.shard(process);
        let Some(batch) = self.open.get_mut(shard) else { return };
        if batch.len() == batch.capacity() {
            Self::turn(batch, self.full.get_mut(shard), &self.pool, self.sharding.batch);
        }
        batch.push(letter);
    }

    /// Puts a batch aside that is full.
    #[cold]
    #[inline(never)]
    fn turn(batch: &mut Vec<T>, full: Option<&mut Batches<T>>, pool: &Pool<T>, bytes: usize) {
        let before = std::mem::replace(batch, pool.batch(bytes));
        if let Some(full) = full
            && !before.is_empty()
        {
            full.push(before);
        }
    }
}

/// Memory of letters that were read, to be used again: there are many of them in every window.
#[derive(Debug)]
pub struct Pool<T> {
    spare: Mutex<Batches<T>>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { spare: Mutex::default() }
    }
}

impl<T: Letter> Pool<T> {
    /// An empty batch of so many bytes.
    fn batch(&self, bytes: usize) -> Vec<T> {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.unwrap_or_else(|| Vec::with_capacity((bytes / size_of::<T>()).max(1)))
    }

    /// Takes a batch that was read.
    pub fn take(&self, mut batch: Vec<T>) {
        batch.clear();
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(batch);
    }
}

/// Letters that arrived at a shard, in batches of no particular order.
pub type Batches<T> = Vec<Vec<T>>;

/// Runs the work of shards and carries letters between them.
pub trait Transport {
    /// Does something for every shard, with a workspace for each worker. Returns the workspaces.
    fn run<S: Send, W: Send>(
        &self,
        shards: &mut [S],
        workspace: &(dyn Fn() -> W + Sync),
        work: &(dyn Fn(&mut S, &mut W) + Sync),
    ) -> Vec<W>;

    /// Hands letters to the shards they are for: one list of batches for each shard.
    fn exchange<T: Letter>(&self, sharding: Sharding, posts: Vec<Post<T>>) -> Vec<Batches<T>>;

    /// The least of all numbers, everywhere.
    fn least(&self, number: u64) -> u64;

    /// Everyone's letters to everyone.
    fn share<T: Letter>(&self, letters: Vec<T>) -> Vec<T>;
}

/// Threads of this program.
#[derive(Clone, Copy, Debug)]
pub struct Threads {
    count: usize,
}

impl Threads {
    /// This many threads; 0 for as many as there are cores.
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

    fn exchange<T: Letter>(&self, sharding: Sharding, posts: Vec<Post<T>>) -> Vec<Batches<T>> {
        let mut arrived: Vec<Batches<T>> = (0..sharding.count).map(|_| Vec::new()).collect();
        for post in posts {
            let sent = post.full.into_iter().zip(post.open);
            for (batches, (mut full, last)) in arrived.iter_mut().zip(sent) {
                batches.append(&mut full);
                if !last.is_empty() {
                    batches.push(last);
                }
            }
        }
        arrived
    }

    fn least(&self, number: u64) -> u64 {
        number
    }

    fn share<T: Letter>(&self, letters: Vec<T>) -> Vec<T> {
        letters
    }
}
