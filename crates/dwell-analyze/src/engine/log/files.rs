//! Writes the files of the log, after the last event.
//!
//! Every rank writes the groups whose first process it owns. A group may extend to the next ranks: these send their
//! parts of it to the rank that has the file, each to a temporary file of its own, and the sections are joined in the
//! order of locations.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry::{Occupied, Vacant};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use dwell_files::NewFile;
use dwell_log::block::{self, seal};
use dwell_log::edge::Ruling;
use dwell_log::edge::Side;
use dwell_log::edges::Merged;
use dwell_log::format::{self, Entry, Header, SECTIONS, group_size};
use dwell_model::varint::put;
use dwell_mpi::Agreement;
use dwell_trace::ids::{LocationNumber, Ordinal, ProcessNumber};
use dwell_trace::names::Setting;
use dwell_trace::roles::Traits;
use dwell_trace::time::Time;
use dwell_trace::world::World;
use otf2::id::{CallingContextRef, RegionRef};
use serde::{Deserialize, Serialize};

use crate::engine::location::Location;
use crate::engine::log::ShardLog;
use crate::engine::message::Message;
use crate::engine::process::Process;
use crate::engine::transport::{Error, Transport};

/// Part of the log that a shard has, with its processes.
pub(crate) struct Part<'a> {
    pub(crate) processes: &'a mut [Process],
    pub(crate) log: ShardLog,
}

/// Lengths of the sections of a location that is written by another rank.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Sent {
    location: LocationNumber,
    lengths: [u64; SECTIONS],
}

impl Message for Sent {}

/// Buffer size in bytes for files.
const BUFFER: usize = 1 << 18;

/// A file that is being written.
struct Output {
    group: usize,
    first: LocationNumber,
    new: NewFile,
    buffer: Vec<u8>,
    end: u64,
    entries: Vec<Entry>,
}

impl Output {
    fn new(directory: &Path, group: usize, first: LocationNumber) -> io::Result<Self> {
        let new = dwell_files::create(directory.join(format::name(group)))?;
        let (buffer, entries) = (Vec::with_capacity(BUFFER), Vec::new());
        let mut output = Self { group, first, new, buffer, end: 0, entries };
        // The header follows when the number of locations is known.
        output.write_all(&[0; format::HEADER])?;
        Ok(output)
    }

    /// Completes the file.
    fn finish(mut self, run: Run) -> io::Result<()> {
        let mut index = Vec::new();
        self.entries.iter().for_each(|entry| entry.encode(&mut index));
        let sum = crc32fast::hash(&index);
        index.extend(sum.to_le_bytes());
        index.extend(format::END);
        self.write_all(&index)?;
        self.flush()?;
        let header = Header {
            group: self.group as u32,
            groups: run.groups as u32,
            locations: run.locations as u32,
            first: self.first,
            count: self.entries.len() as u32,
        };
        let mut file = self.new.file();
        file.rewind()?;
        file.write_all(&header.encode())?;
        self.new.place()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() + bytes.len() > BUFFER {
            self.flush()?;
        }
        self.buffer.extend_from_slice(bytes);
        self.end += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.new.file().write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

/// Sections of a group whose file another rank writes.
#[derive(Default)]
struct Spool {
    file: Option<io::BufWriter<File>>,
    sent: Vec<Sent>,
}

impl Spool {
    /// Returns the file, from its begin, and the lengths of sections.
    fn finish(self) -> io::Result<(Option<File>, Vec<Sent>)> {
        let Some(file) = self.file else { return Ok((None, self.sent)) };
        let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        Ok((Some(file), self.sent))
    }
}

/// Numbers that the headers of all files state.
#[derive(Clone, Copy)]
struct Run {
    /// Number of processes of a group.
    size: usize,
    groups: usize,
    locations: usize,
}

/// Writes the sections of all locations of some shards, in their order. `owner` gives the rank that owns a process.
/// Returns errors of files apart from errors of communication, and the former at all ranks if one has any.
pub(crate) fn write(
    transport: &Transport<'_>,
    world: &World,
    directory: &Path,
    parts: Vec<Part<'_>>,
    owner: impl Fn(ProcessNumber) -> usize,
) -> Result<io::Result<()>, Error> {
    let count = world.system.processes.len();
    let size = group_size(count);
    let owner_of_group = |group: usize| owner(ProcessNumber((group * size) as u32));
    let (rank, _) = transport.rank();
    let begin = parts.iter().find_map(|part| part.processes.first()).map(|it| it.index);
    let head = begin.map(|it| it.index() / size).filter(|it| owner_of_group(*it) != rank);
    let run = Run { size, groups: count.div_ceil(size), locations: world.system.locations() };
    let mut spool = Spool::default();
    let mut last = own_parts(world, directory, parts, (run, head), &mut spool);
    let mut received = Received { directory, files: BTreeMap::new(), failed: None };
    let (file, sent) = match spool.finish() {
        Ok(done) => done,
        Err(error) => {
            last = Err(error);
            (None, Vec::new())
        }
    };
    let mut read = |bytes: &mut Vec<u8>| match &file {
        Some(file) => file.take(BUFFER as u64).read_to_end(bytes),
        None => Ok(0),
    };
    let read = transport.forward(
        "dependency log",
        head.map(owner_of_group),
        &mut read,
        &mut |from, bytes| received.add(from, bytes),
    )?;
    let sent = transport.share("sections of the dependency log", sent)?;
    let last = last.and_then(|last| read.map(|()| last));
    let last = last.and_then(|last| match last {
        Some(output) => received.complete(output, sent, |it| owner(world.process(it))).map(Some),
        None => Ok(None),
    });
    let most = vec![u64::from(last.is_err())];
    let failed = transport.agree("files of the log", Agreement { most, ..Agreement::default() })?;
    Ok(match last {
        Ok(_) if failed.most != [0] => {
            Err(io::Error::other("another process cannot write its part"))
        }
        Ok(Some(output)) => output.finish(run),
        Ok(None) => Ok(()),
        Err(error) => Err(error),
    })
}

/// Sections that other ranks have sent.
struct Received<'a> {
    directory: &'a Path,
    /// A file for each rank.
    files: BTreeMap<usize, File>,
    failed: Option<io::Error>,
}

impl Received<'_> {
    fn add(&mut self, from: usize, bytes: &[u8]) {
        if let Err(error) = self.try_add(from, bytes) {
            self.failed.get_or_insert(error);
        }
    }

    fn try_add(&mut self, from: usize, bytes: &[u8]) -> io::Result<()> {
        let file = match self.files.entry(from) {
            Occupied(it) => it.into_mut(),
            Vacant(it) => it.insert(tempfile::tempfile_in(self.directory)?),
        };
        file.write_all(bytes)
    }

    /// Appends the sections of the locations that follow those of a file in its group.
    fn complete(
        mut self,
        mut output: Output,
        mut sent: Vec<Sent>,
        owner: impl Fn(LocationNumber) -> usize,
    ) -> io::Result<Output> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        for file in self.files.values_mut() {
            file.rewind()?;
        }
        sent.sort_by_key(|it| it.location);
        for Sent { location, lengths } in sent {
            // Sections of other groups are for other ranks.
            if location.0 != output.first.0 + output.entries.len() as u32 {
                continue;
            }
            let offset = output.end;
            let length = lengths.iter().sum();
            let file = self.files.get(&owner(location));
            let missing = || io::Error::from(io::ErrorKind::UnexpectedEof);
            let mut file = file.ok_or_else(missing)?.take(length);
            if io::copy(&mut file, &mut output)? != length {
                return Err(missing());
            }
            output.entries.push(Entry { offset, lengths });
        }
        Ok(output)
    }
}

/// Writes what this program has. Returns the last file, which other ranks may have to complete.
fn own_parts(
    world: &World,
    directory: &Path,
    parts: Vec<Part<'_>>,
    (run, head): (Run, Option<usize>),
    spool: &mut Spool,
) -> io::Result<Option<Output>> {
    let mut open: Option<Output> = None;
    for Part { processes, mut log } in parts {
        let mut merged = [log.waits.merged(), log.releases.merged()];
        log.rulings.sort_unstable();
        log.rulings.dedup();
        for process in processes {
            let group = process.index.index() / run.size;
            let of = |it: &(ProcessNumber, Ruling)| it.0 < process.index;
            let begin = log.rulings.partition_point(of);
            let end = log.rulings.partition_point(|it| it.0 <= process.index);
            let rulings: Vec<Ruling> =
                log.rulings.get(begin..end).unwrap_or_default().iter().map(|it| it.1).collect();
            for location in &mut process.locations {
                let number = location.number;
                if head == Some(group) {
                    let file = match &mut spool.file {
                        Some(file) => file,
                        empty => {
                            empty.insert(io::BufWriter::new(tempfile::tempfile_in(directory)?))
                        }
                    };
                    let lengths = write_location(world, location, &rulings, &mut merged, file)?;
                    spool.sent.push(Sent { location: number, lengths });
                    continue;
                }
                if open.as_ref().is_none_or(|it| it.group != group)
                    && let Some(full) = open.replace(Output::new(directory, group, number)?)
                {
                    full.finish(run)?;
                }
                let Some(output) = &mut open else { continue };
                let offset = output.end;
                let lengths = write_location(world, location, &rulings, &mut merged, output)?;
                output.entries.push(Entry { offset, lengths });
            }
        }
    }
    Ok(open)
}

/// Writes the sections of a location. Returns their lengths in bytes.
fn write_location(
    world: &World,
    location: &mut Location,
    rulings: &[Ruling],
    [waits, releases]: &mut [Merged; 2],
    to: &mut impl Write,
) -> io::Result<[u64; SECTIONS]> {
    let mut bytes = paths(world, location);
    seal(&mut bytes);
    to.write_all(&bytes)?;
    let of_paths = bytes.len() as u64;
    bytes.clear();
    format::put_rulings(&mut bytes, rulings);
    seal(&mut bytes);
    to.write_all(&bytes)?;
    let of_rulings = bytes.len() as u64;
    let mut log = location.log.take();
    let of_segments = match &mut log {
        Some(segments) => {
            let size = segments.finish();
            segments.copy(to)?;
            size
        }
        None => 0,
    };
    let waits = write_edges(world, (location.number, Side::Waiter), rulings, waits, to)?;
    let releases = write_edges(world, (location.number, Side::Culprit), rulings, releases, to)?;
    let of_needs = match &mut log {
        Some(segments) => {
            let size = segments.needs.finish();
            segments.needs.copy(to)?;
            size
        }
        None => 0,
    };
    Ok([of_paths, of_rulings, of_segments, waits, releases, of_needs])
}

/// Writes the edges of a location on one side. Returns their length in bytes.
fn write_edges(
    world: &World,
    (at, side): (LocationNumber, Side),
    rulings: &[Ruling],
    merged: &mut Merged,
    to: &mut impl Write,
) -> io::Result<u64> {
    let (mut bytes, mut length, mut before) = (Vec::new(), 0, Time::BEGIN);
    while let Some(edge) = merged.next_of(at)? {
        let ruling = edge.kind.candidate().map_or(0, |it| {
            let key = (world.process(edge.waiter), it.target, it.class);
            rulings.partition_point(|it| (it.origin, it.target, it.class) < key)
        });
        format::put_edge(&mut bytes, (at, side), &edge, before, ruling);
        before = edge.to;
        if bytes.len() >= block::SIZE {
            seal(&mut bytes);
            to.write_all(&bytes)?;
            length += bytes.len() as u64;
            bytes.clear();
            before = Time::BEGIN;
        }
    }
    if !bytes.is_empty() {
        seal(&mut bytes);
        to.write_all(&bytes)?;
        length += bytes.len() as u64;
    }
    Ok(length)
}

/// Returns the call paths of a location as numbers.
fn paths(world: &World, location: &Location) -> Vec<u8> {
    let mut bytes = Vec::new();
    // The judged call that each path is in, or is itself; and which paths serve, by calls inside them as well.
    let mut calls: Vec<Option<usize>> = vec![None];
    let mut serving = vec![false; location.paths.len()];
    for (place, (_, node)) in (1..).zip(location.paths.iter()) {
        let above = calls.get(node.parent.0 as usize).copied().flatten();
        let is_call = node.setting.is_none() && is_judged(world, node.region);
        let call = above.or_else(|| is_call.then_some(place));
        calls.push(call);
        if let Some(serves) = call.and_then(|call| serving.get_mut(call)) {
            *serves |= world.roles.traits(node.region).has(Traits::SERVES);
        }
    }
    put(&mut bytes, location.paths.len() as u64 - 1);
    for (place, (_, node)) in (1..).zip(location.paths.iter()) {
        let is_judged = calls.get(place) == Some(&Some(place));
        let flag = match is_judged {
            true if serving.get(place) == Some(&true) => 12,
            true => 4,
            false => 0,
        };
        put(&mut bytes, node.parent.0.into());
        match node.setting {
            Some(Setting { parameter, value }) => {
                put(&mut bytes, if value.is_some() { 2 } else { 3 });
                put(&mut bytes, parameter.0.into());
                value.into_iter().for_each(|value| put(&mut bytes, value));
            }
            None if node.site == CallingContextRef::UNDEFINED => {
                put(&mut bytes, flag);
                put(&mut bytes, node.region.0.into());
            }
            None => {
                put(&mut bytes, 1 | flag);
                put(&mut bytes, node.region.0.into());
                put(&mut bytes, node.site.0.into());
            }
        }
    }
    bytes
}

/// Returns `true` if waits are judged at calls of a region that are made outside of such calls.
fn is_judged(world: &World, region: RegionRef) -> bool {
    let traits = world.roles.traits(region);
    traits.has(Traits::CALL)
        && match world.layer {
            None => !traits.has(Traits::SILENT),
            some => world.roles.get(region).layer() == some,
        }
}
