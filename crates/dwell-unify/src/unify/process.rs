//! Definitions that only one process has: itself and its threads.
//!
//! These definitions are unique, so there is nothing to compare. They travel up the tree and no further, and no process
//! decodes them on the way: a process joins the bytes of its own rows and those of the next ranks. Only the hosts,
//! whose ids change on the way, travel apart, as runs of processes on the same host.

use std::io;

use otf2::id::{LocationRef, Time};

use super::maps::Map;
use super::shared::HostId;
use super::wire::{Damaged, Input, put, put_step, put_text};

/// One process of the run and its threads: a location group of the archive and its locations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Rank of the process in the world of the run.
    pub rank: u64,
    /// The machine that the process ran on, as an id of the definitions that go with the process, or
    /// [`HostId::UNKNOWN`].
    pub host: HostId,
    /// Process id of the operating system.
    pub pid: u32,
    /// Name of the location group. If empty, the archive names the process by its rank.
    pub name: String,
    /// Time at which recording began.
    pub begin: Time,
    /// Time at which recording ended.
    pub end: Time,
    /// Threads of the process, each a location of the archive. The list is empty if nothing was recorded.
    pub threads: Vec<Thread>,
    /// Cores that the process may use, as the [words](dwell_model::cores::Cores::words) of the set. Empty if they are
    /// not known.
    pub cores: Vec<u64>,
    /// Numbers that the recorder reports about itself. [`Statistic`](crate::statistics::Statistic) says what each position
    /// means; unification does not look at them.
    pub numbers: Vec<u64>,
}

impl Default for Process {
    fn default() -> Self {
        Self {
            rank: 0,
            host: HostId::UNKNOWN,
            pid: 0,
            name: String::new(),
            begin: Time(0),
            end: Time(0),
            threads: Vec::new(),
            cores: Vec::new(),
            numbers: Vec::new(),
        }
    }
}

impl Process {
    /// Gives a process that recorded nothing a thread without events. Groups of communicators list locations, so every
    /// process needs at least one. Does nothing if the process has threads.
    pub fn stand_in(&mut self) {
        if self.threads.is_empty() {
            self.threads.push(Thread::default());
        }
    }
}

/// One thread of a process, which is a location of the archive, with the figures that its definition needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Name of the thread in the archive.
    pub label: Label,
    /// Number of events in the event file of the thread.
    pub events: u64,
    /// Time of the first event of the thread.
    pub first: Time,
    /// Time of the last event of the thread.
    pub last: Time,
    /// Number of events of the thread that are lost, for instance because there was no room for them.
    pub lost: u64,
    /// Further numbers that the recorder reports about the thread; unification passes them on unchanged.
    pub numbers: Vec<u64>,
}

impl Default for Thread {
    fn default() -> Self {
        Self {
            label: Label::Main,
            events: 0,
            first: Time(0),
            last: Time(0),
            lost: 0,
            numbers: Vec::new(),
        }
    }
}

/// Name of a thread, in a form that takes one byte in a message for nearly all threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Label {
    /// The thread that the process began with, which runs `main`.
    Main,
    /// Another thread, numbered in the order in which the recorder met them.
    Numbered(u32),
    /// A thread that has a name of its own.
    Named(String),
}

/// Processes in the order of their ranks, as bytes: about 40 for a process with one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rows {
    processes: u64,
    locations: u64,
    /// Host, and the number of consecutive processes that ran on it.
    hosts: Vec<(HostId, u64)>,
    bytes: Vec<u8>,
}

impl Rows {
    pub(super) fn of(process: &Process) -> Self {
        let mut bytes = Vec::with_capacity(64);
        encode_row(process, &mut bytes);
        Self {
            processes: 1,
            locations: process.threads.len() as u64,
            hosts: vec![(process.host, 1)],
            bytes,
        }
    }

    pub(super) fn locations(&self) -> u64 {
        self.locations
    }

    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity() + self.hosts.capacity() * size_of::<(HostId, u64)>()
    }

    /// Gives every host the id that it has in another list.
    pub(super) fn relink(&mut self, hosts: &Map<HostId>) {
        for (host, _) in &mut self.hosts {
            *host = hosts.apply(*host);
        }
    }

    /// Adds the rows of the ranks that follow.
    pub(super) fn append(&mut self, next: &Self) {
        self.processes = self.processes.saturating_add(next.processes);
        self.locations = self.locations.saturating_add(next.locations);
        for &(host, count) in &next.hosts {
            match self.hosts.last_mut() {
                Some((last, sum)) if *last == host => *sum = sum.saturating_add(count),
                _ => self.hosts.push((host, count)),
            }
        }
        self.bytes.extend_from_slice(&next.bytes);
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        put(out, self.processes);
        put(out, self.locations);
        put(out, self.hosts.len() as u64);
        let mut before = 0;
        for &(HostId(host), count) in &self.hosts {
            put_step(out, before, u64::from(host.wrapping_add(1)));
            put(out, count);
            before = u64::from(host.wrapping_add(1));
        }
        out.extend_from_slice(&self.bytes);
    }

    /// Takes all that is left of `input`. The rows themselves are looked at by [`check`](Self::check).
    pub(super) fn decode(input: &mut Input<'_>, hosts: usize) -> Result<Self, Damaged> {
        let processes = input.number("number of processes")?;
        let locations = input.number("number of locations")?;
        let count = input.count(2, "number of hosts")?;
        let mut runs = Vec::with_capacity(count);
        let (mut before, mut sum) = (0, 0_u64);
        for _ in 0..count {
            before = input.step(before, "host of processes")?;
            let host = u32::try_from(before).map_err(|_| input.fault("host of processes"))?;
            let host = HostId(host.wrapping_sub(1));
            if host != HostId::UNKNOWN && host.0 as usize >= hosts {
                return Err(input.fault("host of processes"));
            }
            let count = input.number("number of processes on a host")?;
            sum = sum.saturating_add(count);
            runs.push((host, count));
        }
        if sum != processes {
            return Err(input.fault("host of every process"));
        }
        let bytes = input.rest().to_vec();
        Ok(Self { processes, locations, hosts: runs, bytes })
    }

    /// Goes through all rows, whose ranks must rise within `from .. to`.
    pub(super) fn check(&self, from: u64, to: u64) -> Result<(), Damaged> {
        let mut input = Input::new(&self.bytes);
        let mut process = Process::default();
        let (mut next, mut locations) = (from, 0_u64);
        for _ in 0..self.processes {
            decode_row(&mut input, &mut process)?;
            if process.rank < next || process.rank >= to {
                return Err(input.fault("rank in order"));
            }
            next = process.rank + 1;
            locations = locations.saturating_add(process.threads.len() as u64);
        }
        if locations != self.locations {
            return Err(input.fault("location of every thread"));
        }
        input.end()
    }

    pub(super) fn iter(&self) -> Processes<'_> {
        Processes {
            input: Input::new(&self.bytes),
            hosts: self.hosts.iter(),
            host: (HostId::UNKNOWN, 0),
            location: 0,
        }
    }
}

/// Iterator over the processes of a run in the order of their ranks, each with the id of its first location. The
/// locations of its other threads follow that id. Each row is decoded when the iterator reaches it.
#[derive(Clone, Debug)]
pub struct Processes<'a> {
    input: Input<'a>,
    hosts: std::slice::Iter<'a, (HostId, u64)>,
    host: (HostId, u64),
    location: u64,
}

impl Iterator for Processes<'_> {
    type Item = (LocationRef, Process);

    fn next(&mut self) -> Option<Self::Item> {
        // All rows were checked before.
        let mut process = Process::default();
        decode_row(&mut self.input, &mut process).ok()?;
        while self.host.1 == 0 {
            self.host = *self.hosts.next()?;
        }
        self.host.1 -= 1;
        process.host = self.host.0;
        let first = LocationRef(self.location);
        self.location += process.threads.len() as u64;
        Some((first, process))
    }
}

/// Writes the row of a process. Its times are written as steps: from the beginning of the process, or from the first
/// event.
fn encode_row(process: &Process, out: &mut Vec<u8>) {
    put(out, process.rank);
    put(out, process.pid.into());
    put_text(out, "", &process.name);
    put(out, process.begin.0);
    put_step(out, process.begin.0, process.end.0);
    encode_numbers(&process.cores, out);
    encode_numbers(&process.numbers, out);
    put(out, process.threads.len() as u64);
    for thread in &process.threads {
        match &thread.label {
            Label::Main => put(out, 0),
            Label::Named(name) => {
                put(out, 1);
                put_text(out, "", name);
            }
            Label::Numbered(number) => put(out, u64::from(*number) + 2),
        }
        put(out, thread.events);
        put_step(out, process.begin.0, thread.first.0);
        put_step(out, thread.first.0, thread.last.0);
        put(out, thread.lost);
        encode_numbers(&thread.numbers, out);
    }
}

fn encode_numbers(numbers: &[u64], out: &mut Vec<u8>) {
    put(out, numbers.len() as u64);
    for &number in numbers {
        put(out, number);
    }
}

fn decode_numbers(input: &mut Input<'_>) -> Result<Vec<u64>, Damaged> {
    let count = input.count(1, "number of numbers")?;
    (0..count).map(|_| input.number("number")).collect()
}

/// Reads a row into `process` and reuses the memory of its lists.
fn decode_row(input: &mut Input<'_>, process: &mut Process) -> Result<(), Damaged> {
    process.rank = input.number("rank")?;
    process.pid = input.small("process id")?;
    process.name = input.text("", "name of a process")?;
    process.begin = Time(input.number("begin")?);
    process.end = Time(input.step(process.begin.0, "end")?);
    process.cores = decode_numbers(input)?;
    process.numbers = decode_numbers(input)?;
    let count = input.count(LEAST_THREAD, "number of threads")?;
    process.threads.clear();
    process.threads.reserve_exact(count);
    for _ in 0..count {
        let label = match input.number("label")? {
            0 => Label::Main,
            1 => Label::Named(input.text("", "name of a thread")?),
            number => {
                let number = u32::try_from(number - 2).map_err(|_| input.fault("label"))?;
                Label::Numbered(number)
            }
        };
        let events = input.number("number of events")?;
        let first = input.step(process.begin.0, "first time")?;
        let last = input.step(first, "last time")?;
        process.threads.push(Thread {
            label,
            events,
            first: Time(first),
            last: Time(last),
            lost: input.number("number of lost events")?,
            numbers: decode_numbers(input)?,
        });
    }
    Ok(())
}

/// The least number of bytes that a thread takes.
const LEAST_THREAD: usize = 6;

/// The definitions of a whole run, as rank 0 has them in the end.
///
/// # Memory
/// Shared definitions, once, and some 40 bytes for each process with one thread; nothing is unpacked until
/// it is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Global {
    pub(super) shared: super::Shared,
    pub(super) rows: Rows,
    pub(super) size: u64,
}

impl Global {
    /// Returns the definitions that processes have in common. They are sorted by content, so that they do not depend on
    /// the order in which processes were merged.
    pub fn shared(&self) -> &super::Shared {
        &self.shared
    }

    /// Iterates over the processes in the order of their ranks, each with the id of its first location. Ranks that are
    /// [missing](Self::missing) are skipped.
    pub fn processes(&self) -> Processes<'_> {
        self.rows.iter()
    }

    /// Returns the number of processes that the run had, those that are [missing](Self::missing) included.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the number of locations of the run, which is the number of threads of all processes.
    pub fn locations(&self) -> u64 {
        self.rows.locations()
    }

    /// Returns the ranks that are missing, as ascending ranges: their definitions never arrived, or arrived damaged.
    /// Empty if the run is complete.
    pub fn missing(&self) -> Vec<std::ops::Range<u64>> {
        let mut missing = Vec::new();
        let mut next = 0;
        for (_, process) in self.processes() {
            if process.rank > next {
                missing.push(next..process.rank);
            }
            next = next.max(process.rank.saturating_add(1));
        }
        if next < self.size {
            missing.push(next..self.size);
        }
        missing
    }

    /// Maps the definitions of one process to those of the run. It serves callers that can read the definitions of each
    /// process a second time and have no memory for the maps of all processes at once, such as recovery.
    ///
    /// # Errors
    /// With [`io::ErrorKind::NotFound`] if a definition of the process was never unified.
    pub fn locate(&mut self, shared: &super::Shared) -> io::Result<super::Maps> {
        let maps = self.shared.locate(shared);
        if maps.is_total() {
            Ok(maps)
        } else {
            Err(io::Error::new(io::ErrorKind::NotFound, "a definition that was never unified"))
        }
    }

    /// Estimates the bytes of memory that these definitions take.
    pub fn memory(&self) -> usize {
        self.shared.memory() + self.rows.memory()
    }
}
