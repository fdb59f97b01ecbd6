//! The processes of a launch, joined by MPI.

use std::mem;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use crate::calls::{Pending, Reduction, Returned, Started};
use crate::error::Error;
use crate::launch::Launch;
use crate::library;
use crate::watch::{GAVE_UP, Watch, later, say};

/// Settings of a [`World`]. All processes of a launch should use the same settings, because they wait for each other.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The MPI library: a path, or a name for the loader. If it is `None`, the library of the launcher is used.
    pub library: Option<PathBuf>,
    /// Time within which all processes must reach each step.
    pub timeout: Duration,
    /// Greatest size of a single MPI message in bytes. Longer messages are split. It is below the limit of MPI, which
    /// is 2 GiB, so that the completion of a piece is noticed while others are in transit.
    pub piece: usize,
    /// Behaviour while waiting for others: whether the process sleeps or keeps its core.
    pub waiting: Waiting,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            library: std::env::var_os(crate::error::LIBRARY).map(PathBuf::from),
            timeout: Duration::from_mins(10),
            piece: 1 << 20,
            waiting: Waiting::Sleep,
        }
    }
}

/// Behaviour of a process that waits for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Test several times in a row and yield the core in between, then sleep between tests.
    Sleep,
    /// Test again immediately. Useful for measurements only.
    Spin,
}

/// Number of tests in a row that find nothing new before the first sleep.
const TESTS: u32 = 200;
/// Shortest and longest sleep between tests. The length doubles after every [`SAME`] sleeps.
const SLEEPS: (Duration, Duration) = (Duration::from_micros(50), Duration::from_millis(1));
const SAME: u32 = 32;
/// Time after the deadline in which the waiting thread may give up by itself, and in which `MPI_Abort` must end the
/// process.
const GRACE: Duration = Duration::from_secs(5);
/// Longest time that `MPI_Finalize` may take, after all processes have agreed to end.
const TO_FINALIZE: Duration = Duration::from_secs(30);

/// The sign bit. Flipping it maps unsigned numbers to signed numbers in the same order.
const SIGN: u64 = 1 << 63;
/// Size in bytes of the header before each message of [`World::join_all`]: the length of the message, and a check of
/// the step.
const HEAD: usize = 16;
/// Time in which a launcher forwards the output of a process.
const TO_PASS_ON: Duration = Duration::from_millis(200);

/// Amount of communication of one process so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of exchanges that this process took part in.
    pub exchanges: u64,
    /// Number of messages that this process sent in exchanges and along trees. A message that was split counts once.
    pub messages: u64,
    /// Number of bytes that this process sent in exchanges and along trees.
    pub bytes: u64,
    /// Time that this process waited for operations to end.
    pub waited: Duration,
}

/// Numbers that [`World::agree`] reduces over all processes. Each process passes its own numbers, and all of them get
/// the same results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Each is replaced by the minimum over all processes at its index.
    pub least: Vec<u64>,
    /// Each is replaced by the maximum over all processes at its index.
    pub most: Vec<u64>,
    /// Each is replaced by the sum over all processes at its index, which wraps around on overflow.
    pub sum: Vec<u64>,
    /// Each is replaced by the bitwise or over all processes at its index.
    pub bits: Vec<u64>,
}

/// All processes of a launch. Every method that communicates must be called by all of them, in the same order.
///
/// Call [`finish`](Self::finish) at the end. A `World` that is dropped without it, because of an error or a panic,
/// prints the error and ends all processes: the others would wait for this one, and some launchers report success for a
/// process that merely exits.
pub struct World {
    mpi: Option<Started>,
    watch: Watch,
    options: Options,
    rank: usize,
    size: usize,
    label: String,
    /// Number of the next exchange.
    round: u64,
    traffic: Traffic,
    /// The error after which this process cannot communicate.
    lost: Option<Error>,
}

impl std::fmt::Debug for World {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("World").field("rank", &self.rank).field("size", &self.size).finish()
    }
}

impl World {
    /// Loads the MPI library and joins the other processes.
    ///
    /// # Errors
    /// If there is no library that fits the launcher, or if MPI and the launcher report different numbers of processes.
    /// This is usually detected before `MPI_Init`, which would abort; then all processes of the launch get the same
    /// error, and one of them should print it ([`Launch::is_first`]).
    pub fn join(launch: &Launch, options: Options) -> Result<Self, Error> {
        let library = library::load(launch, options.library.as_deref())?;
        let watch = Watch::start();
        let label = label(launch.rank, launch.size);
        let late = Error::Late { step: "MPI_Init", seconds: options.timeout.as_secs() };
        let limit = watch.limit(options.timeout, format!("{label}: {late}"));
        let mpi = library.start()?;
        drop(limit);
        let (rank, size) = (mpi.rank, mpi.size);
        if let Some(started) = launch.size
            && started != size
        {
            let path = mpi.library().path.clone();
            let _limit = watch.limit(GRACE, String::new());
            mpi.finalize()?;
            return Err(Error::OtherSize { path, known: size, started });
        }
        let label = self::label(rank, Some(size));
        let traffic = Traffic::default();
        Ok(Self {
            mpi: Some(mpi),
            watch,
            options,
            rank,
            size,
            label,
            round: 0,
            traffic,
            lost: None,
        })
    }

    /// Returns the rank of this process in the launch, counted from 0.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the number of processes in the launch, this one included.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the path of the MPI library, and the first line of its version string.
    pub fn library(&self) -> (PathBuf, String) {
        let library = self.mpi.as_ref().map(Started::library);
        let version = library.and_then(|it| it.version.lines().next()).unwrap_or_default();
        (library.map(|it| it.path.clone()).unwrap_or_default(), version.into())
    }

    /// Returns the amount of communication of this process since the world was created.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Sends `out[r]` to each process `r`, this one included, and stores the bytes that process `r` sent in `into[r]`.
    /// `step` names the exchange in error messages; all processes must pass the same name. The memory of both lists is
    /// kept: `out` has empty buffers afterwards.
    ///
    /// # Errors
    /// If MPI fails, if not all processes arrive within the time allowed, or if another process is at another step. The
    /// world cannot be used afterwards: call [`give_up`](Self::give_up), or drop it.
    pub fn exchange(
        &mut self,
        step: &'static str,
        out: &mut Vec<Vec<u8>>,
        into: &mut Vec<Vec<u8>>,
    ) -> Result<(), Error> {
        out.resize_with(self.size, Vec::new);
        into.resize_with(self.size, Vec::new);
        let check = self.round << 32 | u64::from(hash(step));
        self.round += 1;
        let sizes = out.iter().flat_map(|bytes| [bytes.len() as u64, check]).collect();
        let sizes = self.complete(step, |pending| pending.all_to_all(sizes, 2))?;
        let sizes = sizes.numbers.into_iter().nth(1).unwrap_or_default();

        // Buffers to receive into and to send from, each with the rank of the other process.
        let (mut receives, mut sends) = (Vec::new(), Vec::new());
        for ((from, buffer), said) in into.iter_mut().enumerate().zip(sizes.chunks_exact(2)) {
            let &[length, theirs] = said else { continue };
            if theirs != check {
                return self.lose(Error::Apart { step, rank: Some(from) });
            }
            let Ok(length) = usize::try_from(length) else {
                return self.garbled(from, "it is too long");
            };
            buffer.clear();
            if length > 0 && from != self.rank {
                buffer.resize(length, 0);
                receives.push((from, mem::take(buffer)));
            }
        }
        for (to, buffer) in out.iter_mut().enumerate() {
            if to == self.rank {
                into.get_mut(to).into_iter().for_each(|own| mem::swap(own, buffer));
            } else if !buffer.is_empty() {
                self.traffic.messages += 1;
                self.traffic.bytes += buffer.len() as u64;
                sends.push((to, mem::take(buffer)));
            }
        }
        self.traffic.exchanges += 1;
        let most = self.options.piece;
        let (sources, targets): (Vec<usize>, Vec<usize>) =
            (receives.iter().map(|it| it.0).collect(), sends.iter().map(|it| it.0).collect());
        let mut returned = self.complete(step, |pending| {
            for (from, buffer) in receives {
                pending.receive(buffer, from, most)?;
            }
            sends.into_iter().try_for_each(|(to, buffer)| pending.send(buffer, to, most))
        })?;
        let sent = returned.bytes.split_off(sources.len());
        for (to, mut buffer) in targets.into_iter().zip(sent) {
            buffer.clear();
            out.get_mut(to).into_iter().for_each(|place| mem::swap(place, &mut buffer));
        }
        for (from, mut buffer) in sources.into_iter().zip(returned.bytes) {
            into.get_mut(from).into_iter().for_each(|place| mem::swap(place, &mut buffer));
        }
        Ok(())
    }

    /// Reduces numbers over all processes. All processes must pass the same number of values of each kind.
    ///
    /// # Errors
    /// If MPI fails, if not all processes arrive within the time allowed, or if one is at another step.
    pub fn agree(&mut self, step: &'static str, numbers: Agreement) -> Result<Agreement, Error> {
        let Agreement { mut least, most, sum, bits } = numbers;
        let (kept, check) = (least.len(), u64::from(hash(step)));
        // The maximum is the inverse of the minimum of the inverted numbers, so one reduction computes both. The check
        // is reduced in both ways too: its minimum and maximum are equal only if all processes are at the same step.
        least.extend(most.iter().map(|number| !number).chain([check, !check]));
        // MPI compares the numbers as signed ones.
        least.iter_mut().for_each(|number| *number ^= SIGN);
        let kinds = [(least, Reduction::Least), (sum, Reduction::Sum), (bits, Reduction::Bits)];
        let mut lists = [const { Vec::new() }; 3];
        let mut used = Vec::new();
        let returned = self.complete(step, |pending| {
            for (index, (numbers, how)) in kinds.into_iter().enumerate() {
                if !numbers.is_empty() {
                    used.push(index);
                    pending.reduce(numbers, how)?;
                }
            }
            Ok(())
        })?;
        let results = returned.numbers.into_iter().skip(1).step_by(2); // Each result follows its input.
        for (index, result) in used.into_iter().zip(results) {
            lists.get_mut(index).into_iter().for_each(|list| list.clone_from(&result));
        }
        let [mut least, sum, bits] = lists;
        least.iter_mut().for_each(|number| *number ^= SIGN);
        let ends: Vec<u64> = least.drain(least.len().saturating_sub(2)..).collect();
        if ends != [check, !check] {
            return self.lose(Error::Apart { step, rank: None });
        }
        let most = least.split_off(kept.min(least.len())).iter().map(|number| !number).collect();
        Ok(Agreement { least, most, sum, bits })
    }

    /// Replaces the bytes of every process by those of the process `root`.
    ///
    /// # Errors
    /// If MPI fails, or not all processes arrive within the time allowed.
    pub fn broadcast(
        &mut self,
        step: &'static str,
        root: usize,
        bytes: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let length = if self.rank == root { bytes.len() as u64 } else { 0 };
        let length = self.greatest(step, length)? as usize;
        bytes.resize(length, 0);
        let (mine, most) = (mem::take(bytes), self.options.piece);
        let returned = self.complete(step, |pending| pending.broadcast(mine, root, most))?;
        *bytes = returned.bytes.into_iter().next().unwrap_or_default();
        Ok(())
    }

    fn greatest(&mut self, step: &'static str, number: u64) -> Result<u64, Error> {
        let agreed = self.agree(step, Agreement { most: vec![number], ..Agreement::default() })?;
        Ok(agreed.most.first().copied().unwrap_or(number))
    }

    /// Joins the bytes of all processes at rank 0 along a binary tree of about `log2(size)` levels. `join` merges the
    /// bytes in its second argument, which come from higher ranks, into the first. It must be associative; the result
    /// is then the same as that of merging the bytes of all ranks one after the other. Returns the result at rank 0,
    /// and `None` elsewhere.
    ///
    /// # Errors
    /// If MPI fails, if a process does not arrive within the time allowed, or if `join` fails.
    pub fn join_all(
        &mut self,
        step: &'static str,
        mut bytes: Vec<u8>,
        mut join: impl FnMut(&mut Vec<u8>, &[u8]) -> Result<(), String>,
    ) -> Result<Option<Vec<u8>>, Error> {
        let (rank, most) = (self.rank, self.options.piece);
        let check = u64::from(hash(step));
        let mut distance = 1;
        while distance < self.size {
            if rank & distance != 0 {
                let head = [bytes.len() as u64, check].map(u64::to_le_bytes).concat();
                let to = rank - distance;
                self.traffic.messages += 1;
                self.traffic.bytes += bytes.len() as u64;
                self.complete(step, |pending| {
                    pending.send(head, to, HEAD)?;
                    pending.send(bytes, to, most)
                })?;
                return Ok(None);
            }
            let from = rank + distance;
            if from < self.size {
                let head =
                    self.complete(step, |pending| pending.receive(vec![0; HEAD], from, HEAD))?;
                let head = head.bytes.first().map_or(&[][..], Vec::as_slice).as_chunks::<8>().0;
                let &[length, theirs] = head else { return self.garbled(from, "it has no head") };
                if u64::from_le_bytes(theirs) != check {
                    return self.lose(Error::Apart { step, rank: Some(from) });
                }
                let Ok(length) = usize::try_from(u64::from_le_bytes(length)) else {
                    return self.garbled(from, "it is too long");
                };
                let body =
                    self.complete(step, |pending| pending.receive(vec![0; length], from, most))?;
                let more = body.bytes.first().map_or(&[][..], Vec::as_slice);
                if let Err(reason) = join(&mut bytes, more) {
                    return self.garbled(from, &reason);
                }
            }
            distance *= 2;
        }
        Ok(Some(bytes))
    }

    /// Returns the name of the host of each process, in the order of the ranks.
    ///
    /// # Errors
    /// If MPI fails, or not all processes arrive within the time allowed.
    pub fn hosts(&mut self) -> Result<Vec<String>, Error> {
        let mut out = vec![host().into_bytes(); self.size];
        let mut into = Vec::new();
        self.exchange("names of hosts", &mut out, &mut into)?;
        Ok(into.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    /// Waits for all processes.
    ///
    /// # Errors
    /// If MPI fails, or not all processes arrive within the time allowed.
    // A path to the method would have a single lifetime.
    #[allow(clippy::redundant_closure_for_method_calls)]
    pub fn barrier(&mut self, step: &'static str) -> Result<(), Error> {
        self.complete(step, |pending| pending.barrier()).map(drop)
    }

    /// Starts operations and waits until they are complete.
    fn complete(
        &mut self,
        step: &'static str,
        begin: impl FnOnce(&mut Pending<'_>) -> Result<(), Error>,
    ) -> Result<Returned, Error> {
        let began = Instant::now();
        let result = self.try_complete(step, begin);
        self.traffic.waited += began.elapsed();
        result.or_else(|error| self.lose(error))
    }

    fn try_complete(
        &self,
        step: &'static str,
        begin: impl FnOnce(&mut Pending<'_>) -> Result<(), Error>,
    ) -> Result<Returned, Error> {
        let Some(mpi) = &self.mpi else { return Ok(Returned::default()) };
        let late = || Error::Late { step, seconds: self.options.timeout.as_secs() };
        // This thread gives up first, as long as MPI returns to it, and can then call `MPI_Abort`.
        let time = self.options.timeout.saturating_add(GRACE);
        let _limit = self.watch.limit(time, format!("{}: {}", self.label, late()));
        let mut pending = Pending::new(mpi);
        begin(&mut pending)?;
        let until = later(self.options.timeout);
        let mut patience = Patience::new(self.options.waiting);
        pending.wait(|ended| {
            if patience.pause(ended) && Instant::now() > until { Err(late()) } else { Ok(()) }
        })
    }

    /// Returns a communication error, and keeps it for the message that is printed when the world is dropped.
    fn lose<T>(&mut self, error: Error) -> Result<T, Error> {
        self.lost = Some(error.clone());
        Err(error)
    }

    fn garbled<T>(&mut self, rank: usize, reason: &str) -> Result<T, Error> {
        self.lose(Error::Garbled { rank, reason: reason.into() })
    }

    /// Prints a message about a failure of this process and ends all processes.
    pub fn fail(&mut self, message: &str) -> ! {
        // The message must come first: `MPI_Abort` may end this process before it is printed, and launchers drop output
        // that they have not yet forwarded.
        say(&format!("{}: {message}", self.label));
        let _limit = self.watch.limit(GRACE, String::new());
        thread::sleep(TO_PASS_ON);
        if let Some(mpi) = &self.mpi {
            mpi.abort(GAVE_UP);
        }
        crate::calls::exit_now(GAVE_UP)
    }

    /// Prints a communication error and ends all processes. Many processes get such an error at the same time, so lower
    /// ranks print it first, and end the others before they repeat the message.
    pub fn give_up(&mut self, error: &Error) -> ! {
        let turn = usize::BITS - self.rank.leading_zeros();
        thread::sleep(2 * TO_PASS_ON * turn);
        self.fail(&error.to_string())
    }

    /// Agrees on an exit code, the greatest of all processes, and finalises MPI. No process ends with code 0 before all
    /// have called this method. If `MPI_Finalize` does not return, which happened with MPICH 4.0.2 over TCP, the
    /// process ends with the code that was agreed on and a message.
    ///
    /// # Errors
    /// If MPI fails, or not all processes arrive within the time allowed.
    pub fn finish(mut self, code: u8) -> Result<u8, Error> {
        const STEP: &str = "the end";
        let code = self.greatest(STEP, u64::from(code))?;
        let code = u8::try_from(code).unwrap_or(GAVE_UP);
        let time = self.options.timeout.min(TO_FINALIZE);
        let (label, seconds) = (&self.label, time.as_secs());
        let message = format!(
            "{label}: MPI_Finalize did not return within {seconds} s; this process ends without it, after all had done \
             their work"
        );
        let limit = self.watch.limit_with(time, message, code);
        self.mpi.take().map_or(Ok(()), Started::finalize)?;
        drop(limit);
        Ok(code)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        match self.lost.take() {
            _ if self.mpi.is_none() => {}
            Some(error) => self.give_up(&error),
            None => self.fail("this process cannot go on"),
        }
    }
}

/// Returns the prefix of all messages of this process.
fn label(rank: usize, size: Option<usize>) -> String {
    let size = size.map(|size| format!(" of {size}")).unwrap_or_default();
    format!("dwell: rank {rank}{size} on {}", host())
}

/// Returns the name of this host, as the kernel reports it. It is empty if it cannot be read.
pub fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().into()
}

/// Hash of a name (FNV-1a), the same in every build.
fn hash(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Decides whether a process spins, yields or sleeps between two tests.
struct Patience {
    waiting: Waiting,
    /// Number of tests in a row that found nothing new.
    idle: u32,
}

impl Patience {
    fn new(waiting: Waiting) -> Self {
        Self { waiting, idle: 0 }
    }

    /// Pauses. Returns `true` if it is time to look at the clock.
    fn pause(&mut self, ended: bool) -> bool {
        self.idle = if ended { 0 } else { self.idle.saturating_add(1) };
        match self.sleep() {
            Some(time) => thread::sleep(time),
            None if self.waiting == Waiting::Sleep => thread::yield_now(),
            None => std::hint::spin_loop(),
        }
        self.idle.is_multiple_of(16)
    }

    /// Returns the length of the next sleep, or `None` if the process does not sleep.
    fn sleep(&self) -> Option<Duration> {
        let (shortest, longest) = SLEEPS;
        let slept = self.idle.checked_sub(TESTS)?;
        let length = shortest.saturating_mul(1 << (slept / SAME).min(16)).min(longest);
        (self.waiting == Waiting::Sleep).then_some(length)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Patience, TESTS, Waiting};

    #[test]
    fn sleeps_begin_after_some_tests_and_grow_to_a_limit() {
        let sleep = |idle| Patience { waiting: Waiting::Sleep, idle }.sleep();
        assert_eq!(sleep(TESTS - 1), None);
        assert_eq!(sleep(TESTS), Some(Duration::from_micros(50)));
        assert_eq!(sleep(TESTS + 32), Some(Duration::from_micros(100)));
        assert_eq!(sleep(u32::MAX), Some(Duration::from_millis(1)));
        assert_eq!(Patience { waiting: Waiting::Spin, idle: u32::MAX }.sleep(), None);
    }

    #[test]
    fn progress_ends_the_sleeps() {
        let mut patience = Patience { waiting: Waiting::Sleep, idle: TESTS };
        patience.pause(true);
        assert_eq!(patience.idle, 0);
    }
}
