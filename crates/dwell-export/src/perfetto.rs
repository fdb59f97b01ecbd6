//! Writes a run as a trace of Perfetto.
//!
//! A process of the run is a process there, and a location a thread, whose slices are its calls. A location that waits has a track
//! below its own with a slice for each wait, and a process that others operate on has a track with an instant for each completed
//! operation. A sample is an instant with the name of the function that computes. Flows connect the begin of an operation with its completion, the send of a message with its receipt, and a wait with
//! the instant at which the other location ended it.
//!
//! Every location is a sequence of packets of its own with its own interned names, so that locations are written in parallel.
//! Packets of a sequence are not sorted by time where an operation is known only when it completes: readers sort them. Both ends of
//! a message make the same number for its flow, so that neither has to know the other.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;

use dwell_files::Folder;
use dwell_log::piece::Piece;
use dwell_model::waits::Wait;
use dwell_report::LocationId;
use dwell_trace::ids::LocationNumber;
use dwell_trace::samples::Spot;
use otf2::Event;
use otf2::id::RegionRef;
use otf2::read::EventRecord;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::error::{Error, Result};
use crate::operation::{Operation, OperationKind, Space};
use crate::proto::Message;
use crate::run::Run;
use crate::walk::{Sink, walk};

/// Numbers of fields in the schema of Perfetto, by message.
mod field {
    pub(super) mod trace {
        pub(crate) const PACKET: u32 = 1;
    }
    pub(super) mod packet {
        pub(crate) const TIMESTAMP: u32 = 8;
        pub(crate) const SEQUENCE: u32 = 10;
        pub(crate) const TRACK_EVENT: u32 = 11;
        pub(crate) const INTERNED_DATA: u32 = 12;
        pub(crate) const SEQUENCE_FLAGS: u32 = 13;
        pub(crate) const DEFAULTS: u32 = 59;
        pub(crate) const TRACK_DESCRIPTOR: u32 = 60;
    }
    pub(super) mod defaults {
        pub(crate) const TRACK_EVENT: u32 = 11;
        pub(crate) const TRACK: u32 = 11;
    }
    pub(super) mod descriptor {
        pub(crate) const UUID: u32 = 1;
        pub(crate) const NAME: u32 = 2;
        pub(crate) const PROCESS: u32 = 3;
        pub(crate) const THREAD: u32 = 4;
        pub(crate) const PARENT: u32 = 5;
        pub(crate) const PID: u32 = 1;
        pub(crate) const PROCESS_NAME: u32 = 6;
        pub(crate) const TID: u32 = 2;
        pub(crate) const THREAD_NAME: u32 = 5;
    }
    pub(super) mod event {
        pub(crate) const CATEGORY: u32 = 3;
        pub(crate) const ANNOTATION: u32 = 4;
        pub(crate) const TYPE: u32 = 9;
        pub(crate) const NAME: u32 = 10;
        pub(crate) const TRACK: u32 = 11;
        pub(crate) const FLOW: u32 = 47;
        pub(crate) const LAST_OF_FLOW: u32 = 48;
    }
    pub(super) mod interned {
        pub(crate) const CATEGORY: u32 = 1;
        pub(crate) const EVENT: u32 = 2;
        pub(crate) const ANNOTATION: u32 = 3;
        pub(crate) const NUMBER: u32 = 1;
        pub(crate) const NAME: u32 = 2;
    }
    pub(super) mod annotation {
        pub(crate) const NAME: u32 = 1;
        pub(crate) const NUMBER: u32 = 3;
    }
}

/// Types of events on tracks.
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;

/// Flags of a packet: the first of its sequence, and one that uses interned names.
const FIRST: u64 = 1;
const USES_NAMES: u64 = 2;

/// Interned categories and annotations.
const CALL: u64 = 1;
const WAIT: u64 = 2;
const OPERATION: u64 = 3;
const SAMPLE: u64 = 4;
const BYTES: u64 = 1;

/// Interned names of events: regions have their numbers after these, and calling contexts of samples above all of them.
const RELEASE: u64 = 1;
const FIRST_OPERATION: u64 = 2;
const FIRST_WAIT: u64 = FIRST_OPERATION + OperationKind::ALL.len() as u64;
const FIRST_REGION: u64 = FIRST_WAIT + Wait::ALL.len() as u64;
const FIRST_CONTEXT: u64 = FIRST_REGION + (1 << 32);

/// Number of a track, which all sequences share.
#[derive(Clone, Copy)]
enum Track {
    Process(u32),
    Location(u32),
    Waits(u32),
    /// Operations of others on the process of a location.
    Target(u32),
}

impl Track {
    fn uuid(self) -> u64 {
        let (kind, number) = match self {
            Self::Process(it) => (1, it),
            Self::Location(it) => (2, it),
            Self::Waits(it) => (3, it),
            Self::Target(it) => (4, it),
        };
        kind << 32 | u64::from(number)
    }
}

/// Writes a run to a file that Perfetto opens. `progress` is told the number of events that were read since it was called last, from
/// any thread. Returns the number of bytes of the file.
///
/// # Errors
/// If the run cannot be read, or the file not be written.
pub fn perfetto(run: &Run, file: &Path, progress: &(dyn Fn(u64) + Sync)) -> Result<u64> {
    let io = |error| Error::Io(file.to_owned(), error);
    let new = dwell_files::create(file).map_err(io)?;
    let mut output = BufWriter::with_capacity(1 << 18, new.file());
    let parts = run.parts();
    let parts = parts
        .par_iter()
        .map(|part| write_part(run, part, new.folder(), progress).map_err(|it| it.at(file)))
        .collect::<Result<Vec<_>>>()?;
    tracks(run, &mut output).map_err(io)?;
    for mut part in parts {
        part.seek(SeekFrom::Start(0)).map_err(io)?;
        io::copy(&mut part, &mut output).map_err(io)?;
    }
    output.flush().map_err(io)?;
    drop(output);
    let bytes = new.file().metadata().map_err(io)?.len();
    new.place().map_err(io)?;
    Ok(bytes)
}

/// Writes the descriptions of all tracks of processes and locations.
fn tracks(run: &Run, output: &mut impl Write) -> io::Result<()> {
    use field::descriptor::{
        NAME, PARENT, PID, PROCESS, PROCESS_NAME, THREAD, THREAD_NAME, TID, UUID,
    };
    let meta = run.query.meta();
    let mut write = |descriptor: &Message| {
        let mut packet = Message::default();
        packet.number(field::packet::SEQUENCE, 1_u64);
        packet.message(field::packet::TRACK_DESCRIPTOR, descriptor);
        let mut trace = Message::default();
        trace.message(field::trace::PACKET, &packet);
        output.write_all(trace.bytes())
    };
    for location in 0..run.layout.locations() {
        let first = run.first_of_process(LocationNumber::new(location));
        // The first thread of a process has its number in Perfetto, and 0 is the idle thread.
        let (pid, tid) = (u64::from(first) + 1, u64::from(location) + 1);
        if first == location {
            let group = meta.group_of_location(LocationId(location));
            let name = group.and_then(|it| meta.group(it)).map_or("", |it| it.name);
            let (mut track, mut process) = (Message::default(), Message::default());
            process.number(PID, pid).text(PROCESS_NAME, name);
            track.number(UUID, Track::Process(location).uuid()).message(PROCESS, &process);
            write(&track)?;
            let (mut track, parent) = (Message::default(), Track::Process(location).uuid());
            track.number(UUID, Track::Target(location).uuid()).text(NAME, "operations of others");
            write(track.number(PARENT, parent))?;
        }
        let name = run.query.location_name(LocationId(location));
        let (mut track, mut thread) = (Message::default(), Message::default());
        thread.number(PID, pid).number(TID, tid).text(THREAD_NAME, &name);
        track.number(UUID, Track::Location(location).uuid()).message(THREAD, &thread);
        write(track.number(PARENT, Track::Process(first).uuid()))?;
        let (mut track, parent) = (Message::default(), Track::Location(location).uuid());
        track.number(UUID, Track::Waits(location).uuid()).text(NAME, "waits");
        write(track.number(PARENT, parent))?;
    }
    Ok(())
}

/// Writes the packets of some locations to a file without a name.
fn write_part(
    run: &Run,
    part: &Range<u32>,
    folder: &Folder,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<File> {
    let file = folder.unnamed().map_err(Error::of_unnamed)?;
    let mut packets = Packets {
        run,
        me: LocationNumber::new(part.start),
        output: BufWriter::with_capacity(1 << 18, file),
        known: HashSet::new(),
        flows: 0,
        waited: 0,
        event: Message::default(),
        names: Message::default(),
        packet: Message::default(),
        trace: Message::default(),
    };
    for number in part.clone() {
        packets.begin(LocationNumber::new(number)).map_err(Error::of_unnamed)?;
        walk(run, packets.me, &mut packets, progress)?;
    }
    let file = packets.output.into_inner();
    file.map_err(|error| Error::of_unnamed(error.into_error()))
}

/// Packets of some locations.
struct Packets<'a> {
    run: &'a Run,
    me: LocationNumber,
    output: BufWriter<File>,
    /// Names that the sequence of the location has interned.
    known: HashSet<u64>,
    /// Number of flows that begin at the location.
    flows: u64,
    /// End of the last wait.
    waited: u64,
    /// Parts of the packet that is being made.
    event: Message,
    names: Message,
    packet: Message,
    trace: Message,
}

impl Packets<'_> {
    /// Begins the sequence of a location.
    fn begin(&mut self, location: LocationNumber) -> io::Result<()> {
        self.me = location;
        self.known.clear();
        self.flows = 0;
        self.waited = 0;
        let (mut defaults, mut of_events) = (Message::default(), Message::default());
        of_events.number(field::defaults::TRACK, Track::Location(location.place()).uuid());
        defaults.message(field::defaults::TRACK_EVENT, &of_events);
        let mut names = Message::default();
        for (kind, number, name) in [
            (field::interned::CATEGORY, CALL, "call"),
            (field::interned::CATEGORY, WAIT, "wait"),
            (field::interned::CATEGORY, OPERATION, "operation"),
            (field::interned::CATEGORY, SAMPLE, "sample"),
            (field::interned::ANNOTATION, BYTES, "bytes"),
        ] {
            names.message(kind, &interned(number, name));
        }
        self.packet.number(field::packet::SEQUENCE_FLAGS, FIRST);
        self.packet.message(field::packet::DEFAULTS, &defaults);
        self.packet.message(field::packet::INTERNED_DATA, &names);
        self.write()
    }

    /// Writes the packet that was made, with its sequence.
    fn write(&mut self) -> io::Result<()> {
        self.packet.number(field::packet::SEQUENCE, self.me.place() + 2);
        self.trace.clear();
        self.trace.message(field::trace::PACKET, &self.packet);
        self.packet.clear();
        self.output.write_all(self.trace.bytes())
    }

    /// Sets the name of the event that is being made, and interns it where it is new.
    fn name<'n>(&mut self, number: u64, name: impl FnOnce() -> std::borrow::Cow<'n, str>) {
        if self.known.insert(number) {
            self.names.message(field::interned::EVENT, &interned(number, &name()));
        }
        self.event.number(field::event::NAME, number);
    }

    /// Writes the event that was made.
    fn event(&mut self, time: u64, kind: u64) -> Result<()> {
        self.event.number(field::event::TYPE, kind);
        self.packet.number(field::packet::TIMESTAMP, self.run.after(time));
        self.packet.number(field::packet::SEQUENCE_FLAGS, USES_NAMES);
        if !self.names.bytes().is_empty() {
            self.packet.message(field::packet::INTERNED_DATA, &self.names);
            self.names.clear();
        }
        self.packet.message(field::packet::TRACK_EVENT, &self.event);
        self.event.clear();
        self.write().map_err(Error::of_unnamed)
    }

    /// Returns the number of a new flow from this location.
    fn new_flow(&mut self) -> u64 {
        self.flows += 1;
        (u64::from(self.me.place()) + 1) << 32 | self.flows & u64::from(u32::MAX)
    }

    /// Begins an event of an operation.
    fn operation(&mut self, it: &Operation) {
        let number = OperationKind::ALL.iter().position(|kind| *kind == it.kind).unwrap_or(0);
        self.name(FIRST_OPERATION + number as u64, || it.kind.name().into());
        self.event.number(field::event::CATEGORY, OPERATION);
        if it.bytes > 0 {
            let mut bytes = Message::default();
            bytes.number(field::annotation::NAME, BYTES);
            bytes.number(field::annotation::NUMBER, it.bytes);
            self.event.message(field::event::ANNOTATION, &bytes);
        }
    }
}

/// Returns an interned name.
fn interned(number: u64, name: &str) -> Message {
    let mut message = Message::default();
    message.number(field::interned::NUMBER, number).text(field::interned::NAME, name);
    message
}

/// Returns the number of the flow of a message, which is the same at its sender and its receiver.
fn flow_of_message(sender: u32, receiver: u32, space: Space) -> Option<u64> {
    let Space::Message { communicator, tag, number: Some(number) } = space else { return None };
    let parts = [sender.into(), receiver.into(), communicator.into(), tag.into(), number];
    // SplitMix64, with the part as what is added.
    let mix = |state: u64, part: u64| {
        let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_add(part);
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    };
    // Flows of locations have numbers without the highest bit.
    Some(parts.into_iter().fold(0, mix) | 1 << 63)
}

impl Sink for Packets<'_> {
    fn event(&mut self, time: u64, record: &EventRecord<'_>) -> Result<()> {
        match record.event {
            Event::Enter(it) => {
                let definitions = &self.run.definitions;
                let RegionRef(number) = it.region;
                self.name(FIRST_REGION + u64::from(number), || {
                    let name = definitions.region(it.region).map(|it| it.name);
                    name.and_then(|it| definitions.string(it))
                        .unwrap_or_default()
                        .to_string()
                        .into()
                });
                self.event.number(field::event::CATEGORY, CALL);
                self.event(time, SLICE_BEGIN)
            }
            Event::Leave(_) => self.event(time, SLICE_END),
            Event::CallingContextSample(it) => {
                let (contexts, definitions) = (&self.run.contexts, &self.run.definitions);
                let Some(spot) = Spot::of(contexts, definitions, it.calling_context) else {
                    return Ok(());
                };
                let number = FIRST_CONTEXT + u64::from(it.calling_context.0);
                self.name(number, || spot.name(definitions).into());
                self.event.number(field::event::CATEGORY, SAMPLE);
                self.event(time, INSTANT)
            }
            _ => Ok(()),
        }
    }

    fn operation(&mut self, it: &Operation) -> Result<()> {
        self.operation(it);
        let message = |sender, receiver| flow_of_message(sender, receiver, it.space);
        let me = self.run.first_of_process(self.me);
        match (it.kind, it.partner) {
            (OperationKind::Send, Some(partner)) => {
                if let Some(flow) = message(me, partner) {
                    self.event.fixed(field::event::FLOW, flow);
                }
                self.event(it.begin, INSTANT)
            }
            (OperationKind::Receive, Some(partner)) => {
                if let Some(flow) = message(partner, me) {
                    self.event.fixed(field::event::LAST_OF_FLOW, flow);
                }
                self.event(it.completion.unwrap_or(it.begin), INSTANT)
            }
            (OperationKind::Put | OperationKind::Get | OperationKind::Atomic, Some(partner)) => {
                let flow = it.completion.map(|completion| (completion, self.new_flow()));
                if let Some((_, flow)) = flow {
                    self.event.fixed(field::event::FLOW, flow);
                }
                self.event(it.begin, INSTANT)?;
                if let Some((completion, flow)) = flow {
                    self.operation(it);
                    self.event.number(field::event::TRACK, Track::Target(partner).uuid());
                    self.event.fixed(field::event::LAST_OF_FLOW, flow);
                    self.event(completion, INSTANT)?;
                }
                Ok(())
            }
            _ => self.event(it.completion.unwrap_or(it.begin), INSTANT),
        }
    }

    fn wait(&mut self, it: &Piece, call: Option<(Option<u32>, u64, u64)>) -> Result<()> {
        let Some(what) = it.what.wait().map(Wait::whole) else { return Ok(()) };
        let number = Wait::ALL.iter().position(|wait| *wait == what).unwrap_or(0);
        let end = it.to.nanoseconds();
        // Waits of one call may overlap, and slices of a track must not: the one that ends first has the time.
        let begin = it.from.nanoseconds().max(call.map_or(0, |it| it.1)).max(self.waited).min(end);
        self.waited = end;
        let flow = self.new_flow();
        let track = Track::Waits(self.me.place()).uuid();
        self.name(FIRST_WAIT + number as u64, || what.about().title.into());
        self.event.number(field::event::CATEGORY, WAIT).number(field::event::TRACK, track);
        self.event.fixed(field::event::FLOW, flow);
        self.event(begin, SLICE_BEGIN)?;
        self.event.number(field::event::TRACK, track);
        self.event(end, SLICE_END)?;
        self.name(RELEASE, || "ends a wait".into());
        let other = Track::Location(it.culprit.place()).uuid();
        self.event.number(field::event::CATEGORY, WAIT).number(field::event::TRACK, other);
        self.event.fixed(field::event::LAST_OF_FLOW, flow);
        self.event(end, INSTANT)
    }
}
