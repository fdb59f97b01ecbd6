//! What only one process has: itself and its threads.
//!
//! These definitions are unique, so there is nothing to compare. They travel up the tree and no
//! further, and on the way nobody reads them: a process joins the bytes of its own row, or rows, and
//! those of the next ranks. Only the hosts, whose ids change on the way, travel apart, as runs of
//! processes on the same host.

use std::io;

use otf2::id::{LocationRef, Time};

use super::maps::Map;
use super::shared::HostId;
use super::wire::{Damaged, Input, put, put_step, put_text};

/// One process and its threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number among the processes of the run.
    pub rank: u64,
    /// Where it ran, or [`HostId::UNKNOWN`].
    pub host: HostId,
    /// Its number at the operating system.
    pub pid: u32,
    /// A name of its own. Empty if its rank says enough.
    pub name: String,
    /// When recording began.
    pub begin: Time,
    /// When it ended.
    pub end: Time,
    /// Its threads. Each is a location of the archive. None if nothing was recorded.
    pub threads: Vec<Thread>,
    /// The cores that it may use, as the [words](dwell_model::cores::Cores::words) of the set. None if that is not known.
    pub cores: Vec<u64>,
    /// Whatever else the recorder has to say in numbers. It knows what each place means.
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
    /// Gives a process that recorded nothing a thread without events. Ranks of communicators count
    /// locations, so none may be without.
    pub fn stand_in(&mut self) {
        if self.threads.is_empty() {
            self.threads.push(Thread::default());
        }
    }
}

/// One thread of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// What it is called.
    pub label: Label,
    /// How many events it has.
    pub events: u64,
    /// The time of the first.
    pub first: Time,
    /// The time of the last.
    pub last: Time,
    /// How many events it lost.
    pub lost: u64,
    /// Whatever else the recorder has to say in numbers.
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

/// What a thread is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Label {
    /// The thread that the process began with.
    Main,
    /// Another one, in the order in which they came.
    Numbered(u32),
    /// One with a name.
    Named(String),
}

/// Processes in the order of their ranks, as bytes: about 40 for a process with one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rows {
    processes: u64,
    locations: u64,
    /// Host, and how many processes in a row are on it.
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

/// The processes of a run in the order of their ranks, each with the id of its first location. The
/// locations of its other threads follow.
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

/// Times are steps from one another: from the beginning of the process, from the first event.
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

/// Reads a row into `process`, whose memory is used again.
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
/// What is shared, once, and some 40 bytes for each process with one thread; nothing is unpacked until
/// it is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Global {
    pub(super) shared: super::Shared,
    pub(super) rows: Rows,
    pub(super) size: u64,
}

impl Global {
    /// The definitions that processes have in common, in the order of their content.
    pub fn shared(&self) -> &super::Shared {
        &self.shared
    }

    /// The processes in the order of their ranks, each with the id of its first location.
    pub fn processes(&self) -> Processes<'_> {
        self.rows.iter()
    }

    /// How many processes the run had, those that are missing included.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// How many locations there are in all.
    pub fn locations(&self) -> u64 {
        self.rows.locations()
    }

    /// Which ranks are missing, as ranges: their definitions never came, or came damaged.
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

    /// Where each definition of a process is here: for those who have the definitions of the processes
    /// at hand, and no memory for the maps of all of them at once.
    ///
    /// # Errors
    /// A definition that is not here.
    pub fn locate(&mut self, shared: &super::Shared) -> io::Result<super::Maps> {
        let maps = self.shared.locate(shared);
        if maps.is_total() {
            Ok(maps)
        } else {
            Err(io::Error::new(io::ErrorKind::NotFound, "a definition that was never unified"))
        }
    }

    /// About how many bytes of memory it takes.
    pub fn memory(&self) -> usize {
        self.shared.memory() + self.rows.memory()
    }
}
