//! An archive that holds every kind of record, with many values of every field.
//!
//! Definitions keep to what `otf2-print` needs to live: dense ids, and references that hold or are
//! undefined. Events do not: ids of nothing, constants of no meaning and unknown bits are in there.

use std::path::Path;

use otf2::def::{self, PropertyValue};
use otf2::enums::{
    Base, CartPeriodicity, CollectiveOp, CollectiveRoot, CommFlag, GroupFlag, GroupType,
    InterruptGeneratorMode, IoAccessMode, IoCreationFlag, IoHandleFlag, IoOperationFlag,
    IoOperationMode, IoParadigmClass, IoParadigmFlag, IoParadigmProperty, IoSeekOption,
    IoStatusFlag, LocationGroupType, LocationType, LockType, MappingType, MarkerScope,
    MarkerSeverity, MeasurementMode, MetricMode, MetricOccurrence, MetricScope, MetricType,
    Paradigm, ParadigmClass, ParadigmProperty, ParameterType, RecorderKind, RegionFlag, RegionRole,
    RmaAtomicType, RmaSyncLevel, RmaSyncType, RmaWinFlag, SystemTreeDomain, Type,
};
use otf2::event::{self, Event};
use otf2::id::{
    AttributeRef, CallingContextRef, CallpathRef, CallsiteRef, CartDimensionRef, CartTopologyRef,
    CommRef, GroupRef, InterruptGeneratorRef, IoFileRef, IoHandleRef, IoParadigmRef,
    LocationGroupRef, LocationRef, LockId, MarkerRef, MatchingId, MetricMemberRef, MetricRef,
    ParameterRef, Rank, RegionRef, RequestId, RmaWinRef, SourceCodeLocationRef, StringRef,
    SystemTreeNodeRef, Time,
};
use otf2::map::IdMapRef;
use otf2::value::IoProperty;
use otf2::write::{ArchiveWriter, DefWriter, Options};
use otf2::{Attribute, AttributeValue, List, MetricValue, Str, marker, snapshot};

/// Number of rounds that covers every constant of the largest enumeration in definitions: region roles.
const ROUNDS: usize = 40;
/// Number of rounds that covers every constant of the largest enumeration in events: paradigms.
const EVENT_ROUNDS: usize = 26;

/// Locations of the archive: not dense, as those of Score-P are not.
pub(crate) const LOCATIONS: [LocationRef; 3] =
    [LocationRef(0), LocationRef(1), LocationRef(1 << 33)];

const STRINGS: &[&[u8]] = &[
    b"",
    b"main",
    "Gr\u{fc}\u{df}e \u{1F980}".as_bytes(),
    b"\xFF not UTF-8",
    b"with \"quotes\", commas and\ttabs",
    b"dir/sub/file.c",
    b"machine",
    b"a name that is longer than the buffers of otf2-print, which have room for one hundred and twenty-eight bytes only before they must grow",
];

fn pick<T: Copy>(pool: &[T], round: usize) -> T {
    pool[round % pool.len()]
}

/// Returns each constant of an enumeration in turn, then one without a meaning.
macro_rules! constant {
    ($enum:ident, $round:expr) => {{
        let round = $round % ($enum::ALL.len() + 1);
        $enum::ALL.get(round).copied().unwrap_or($enum::Unlisted(200))
    }};
}

/// Returns bit sets: none, each bit, several bits, and bits without a meaning.
fn bits(round: usize) -> u32 {
    match round % 16 {
        0 => 0,
        n @ 1..=12 => 1 << (n - 1),
        13 => 0b11,
        14 => 0x8000_0001,
        _ => u32::MAX,
    }
}

fn leak<T: Clone>(items: &[T]) -> List<'static, T> {
    List::from(&*Box::leak(items.to_vec().into_boxed_slice()))
}

/// Returns valid references, one to nothing, and the undefined one.
macro_rules! reference {
    ($id:ident, $round:expr, $count:expr) => {
        pick(&[$id(0), $id(1), $id($count - 1), $id(7_777), $id::UNDEFINED], $round)
    };
}

mod definitions;

fn string(round: usize) -> StringRef {
    StringRef((round % STRINGS.len()) as u32)
}

fn string_or_none(round: usize) -> StringRef {
    if round % 5 == 4 { StringRef::UNDEFINED } else { string(round) }
}

fn number(round: usize) -> u64 {
    pick(&[0, 1, 42, 1 << 20, u64::from(u32::MAX), u64::MAX - 1, u64::MAX], round)
}

fn small(round: usize) -> u32 {
    pick(&[0, 1, 42, 1 << 20, u32::MAX], round)
}

fn signed(round: usize) -> i64 {
    pick(&[0, 1, -1, i64::MAX, i64::MIN, 1 << 40], round)
}

fn real(round: usize) -> f64 {
    pick(
        &[
            0.0,
            -0.0,
            1.5,
            1e6,
            123_456.75,
            1e-5,
            -2.5e300,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            -f64::NAN,
        ],
        round,
    )
}

/// Returns a value of each type in turn.
fn typed(round: usize) -> AttributeValue {
    use AttributeValue as V;
    let which = round % 26;
    let round = round / 26 + round;
    match which {
        0 => V::Uint8(u8::MAX),
        1 => V::Uint16(u16::MAX),
        2 => V::Uint32(small(round)),
        3 => V::Uint64(number(round)),
        4 => V::Int8(i8::MIN),
        5 => V::Int16(i16::MIN),
        6 => V::Int32(i32::MIN),
        7 => V::Int64(signed(round)),
        8 => V::Float(real(round) as f32),
        9 => V::Double(real(round)),
        10 => V::String(string_or_none(round)),
        11 => V::Attribute(reference!(AttributeRef, round, 25)),
        12 => V::Location(reference!(LocationRef, round, 2)),
        13 => V::Region(reference!(RegionRef, round, 40)),
        14 => V::Group(reference!(GroupRef, round, 10)),
        15 => V::Metric(reference!(MetricRef, round, 6)),
        16 => V::Comm(reference!(CommRef, round, 5)),
        17 => V::Parameter(reference!(ParameterRef, round, 4)),
        18 => V::RmaWin(reference!(RmaWinRef, round, 4)),
        19 => V::SourceCodeLocation(reference!(SourceCodeLocationRef, round, 4)),
        20 => V::CallingContext(reference!(CallingContextRef, round, 4)),
        21 => V::InterruptGenerator(reference!(InterruptGeneratorRef, round, 4)),
        22 => V::IoFile(reference!(IoFileRef, round, 4)),
        23 => V::IoHandle(reference!(IoHandleRef, round, 4)),
        24 => V::LocationGroup(reference!(LocationGroupRef, round, 3)),
        _ => V::Other(Type::None, number(round)),
    }
}

/// Returns a value of each type like [`typed`], but only references to definitions that exist.
fn typed_now(round: usize) -> AttributeValue {
    match typed(round) {
        AttributeValue::String(_) => AttributeValue::String(string(round)),
        value => value,
    }
}

/// Returns every event once, with the values of a round.
fn events(r: usize) -> Vec<Event<'static>> {
    let region = reference!(RegionRef, r, 40);
    let communicator = reference!(CommRef, r, 5);
    let comm_or_inter = pick(
        &[
            CommRef(0),
            CommRef(1),
            CommRef(2),
            CommRef(3),
            CommRef(4),
            CommRef(5),
            CommRef(99),
            CommRef::UNDEFINED,
        ],
        r,
    );
    let win = pick(
        &[
            RmaWinRef(0),
            RmaWinRef(1),
            RmaWinRef(2),
            RmaWinRef(3),
            RmaWinRef(9),
            RmaWinRef::UNDEFINED,
        ],
        r,
    );
    let remote = pick(&[Rank(0), Rank(1), Rank(2), Rank(77), Rank::UNDEFINED], r / 2);
    let root = pick(
        &[
            CollectiveRoot::None,
            CollectiveRoot::SelfRank,
            CollectiveRoot::ThisGroup,
            CollectiveRoot::Rank(0),
            CollectiveRoot::Rank(1),
            CollectiveRoot::Rank(9),
        ],
        r,
    );
    let handle = reference!(IoHandleRef, r, 4);
    let parameter = reference!(ParameterRef, r, 4);
    let context = reference!(CallingContextRef, r, 4);
    let metric = pick(&[0, 1, 2, 3, 4, 5, 9, u32::MAX].map(MetricRef), r);
    let request_id = RequestId(number(r));
    let matching_id = MatchingId(number(r + 1));
    let lock_id = LockId(number(r + 2));
    let lock_type = constant!(LockType, r);
    let model = constant!(Paradigm, r);
    let collective_op = constant!(CollectiveOp, r);
    let sync_level = RmaSyncLevel(bits(r));
    let status_flags = IoStatusFlag(bits(r));
    let metric_values: Vec<_> = (0..r % 5)
        .map(|i| match (r + i) % 3 {
            0 => MetricValue::signed(signed(r + i)),
            1 => MetricValue::unsigned(number(r + i)),
            2 if r == 7 => MetricValue { value_type: Type::Uint8, bits: 0xABC },
            _ => MetricValue::real(real(r + i)),
        })
        .collect();
    let arguments: Vec<_> = (0..r % 4).map(|i| string_or_none(r + i)).collect();
    let (msg_tag, msg_length) = (small(r), number(r));
    let (acquisition_order, sequence_count) = (small(r + 3), number(r + 3));
    let number_of_requested_threads = small(r + 1);
    let (lock, generation_number, unwind_distance) = (small(r + 2), small(r), small(r + 4));
    let (a, b) = (number(r), number(r + 5));
    vec![
        event::BufferFlush { stop_time: Time(0) }.into(),
        event::MeasurementOnOff { measurement_mode: constant!(MeasurementMode, r) }.into(),
        event::Enter { region }.into(),
        event::Leave { region }.into(),
        event::MpiSend { receiver: remote, communicator: comm_or_inter, msg_tag, msg_length }
            .into(),
        event::MpiIsend { receiver: remote, communicator, msg_tag, msg_length, request_id }.into(),
        event::MpiIsendComplete { request_id }.into(),
        event::MpiIrecvRequest { request_id }.into(),
        event::MpiRecv { sender: remote, communicator: comm_or_inter, msg_tag, msg_length }.into(),
        event::MpiIrecv { sender: remote, communicator, msg_tag, msg_length, request_id }.into(),
        event::MpiRequestTest { request_id }.into(),
        event::MpiRequestCancelled { request_id }.into(),
        event::MpiCollectiveBegin {}.into(),
        event::MpiCollectiveEnd {
            collective_op,
            communicator: comm_or_inter,
            root,
            size_sent: a,
            size_received: b,
        }
        .into(),
        event::OmpFork { number_of_requested_threads }.into(),
        event::OmpJoin {}.into(),
        event::OmpAcquireLock { lock_id: lock, acquisition_order }.into(),
        event::OmpReleaseLock { lock_id: lock, acquisition_order }.into(),
        event::OmpTaskCreate { task_id: a }.into(),
        event::OmpTaskSwitch { task_id: a }.into(),
        event::OmpTaskComplete { task_id: a }.into(),
        event::Metric { metric, values: leak(&metric_values) }.into(),
        event::ParameterString { parameter, string: string_or_none(r) }.into(),
        event::ParameterInt { parameter, value: signed(r) }.into(),
        event::ParameterUnsignedInt { parameter, value: number(r) }.into(),
        event::RmaWinCreate { win }.into(),
        event::RmaWinDestroy { win }.into(),
        event::RmaCollectiveBegin {}.into(),
        event::RmaCollectiveEnd {
            collective_op,
            sync_level,
            win,
            root,
            bytes_sent: a,
            bytes_received: b,
        }
        .into(),
        event::RmaGroupSync { sync_level, win, group: reference!(GroupRef, r, 10) }.into(),
        event::RmaRequestLock { win, remote, lock_id, lock_type }.into(),
        event::RmaAcquireLock { win, remote, lock_id, lock_type }.into(),
        event::RmaTryLock { win, remote, lock_id, lock_type }.into(),
        event::RmaReleaseLock { win, remote, lock_id }.into(),
        event::RmaSync { win, remote, sync_type: constant!(RmaSyncType, r) }.into(),
        event::RmaWaitChange { win }.into(),
        event::RmaPut { win, remote, bytes: a, matching_id }.into(),
        event::RmaGet { win, remote, bytes: b, matching_id }.into(),
        event::RmaAtomic {
            win,
            remote,
            kind: constant!(RmaAtomicType, r),
            bytes_sent: a,
            bytes_received: b,
            matching_id,
        }
        .into(),
        event::RmaOpCompleteBlocking { win, matching_id }.into(),
        event::RmaOpCompleteNonBlocking { win, matching_id }.into(),
        event::RmaOpTest { win, matching_id }.into(),
        event::RmaOpCompleteRemote { win, matching_id }.into(),
        event::ThreadFork { model, number_of_requested_threads }.into(),
        event::ThreadJoin { model }.into(),
        event::ThreadTeamBegin { thread_team: communicator }.into(),
        event::ThreadTeamEnd { thread_team: communicator }.into(),
        event::ThreadAcquireLock { model, lock_id: lock, acquisition_order }.into(),
        event::ThreadReleaseLock { model, lock_id: lock, acquisition_order }.into(),
        event::ThreadTaskCreate {
            thread_team: communicator,
            creating_thread: remote,
            generation_number,
        }
        .into(),
        event::ThreadTaskSwitch {
            thread_team: communicator,
            creating_thread: remote,
            generation_number,
        }
        .into(),
        event::ThreadTaskComplete {
            thread_team: communicator,
            creating_thread: remote,
            generation_number,
        }
        .into(),
        event::ThreadCreate { thread_contingent: communicator, sequence_count }.into(),
        event::ThreadBegin { thread_contingent: communicator, sequence_count }.into(),
        event::ThreadWait { thread_contingent: communicator, sequence_count }.into(),
        event::ThreadEnd { thread_contingent: communicator, sequence_count }.into(),
        event::CallingContextEnter { calling_context: context, unwind_distance }.into(),
        event::CallingContextLeave { calling_context: context }.into(),
        event::CallingContextSample {
            calling_context: context,
            unwind_distance,
            interrupt_generator: reference!(InterruptGeneratorRef, r, 4),
        }
        .into(),
        event::IoCreateHandle {
            handle,
            mode: constant!(IoAccessMode, r),
            creation_flags: IoCreationFlag(bits(r)),
            status_flags,
        }
        .into(),
        event::IoDestroyHandle { handle }.into(),
        event::IoDuplicateHandle {
            old_handle: handle,
            new_handle: reference!(IoHandleRef, r + 1, 4),
            status_flags,
        }
        .into(),
        event::IoSeek {
            handle,
            offset_request: signed(r),
            whence: constant!(IoSeekOption, r),
            offset_result: a,
        }
        .into(),
        event::IoChangeStatusFlags { handle, status_flags }.into(),
        event::IoDeleteFile {
            io_paradigm: pick(&[0, 1, 9, u8::MAX].map(IoParadigmRef), r),
            file: reference!(IoFileRef, r, 4),
        }
        .into(),
        event::IoOperationBegin {
            handle,
            mode: constant!(IoOperationMode, r),
            operation_flags: IoOperationFlag(bits(r)),
            bytes_request: a,
            matching_id,
        }
        .into(),
        event::IoOperationTest { handle, matching_id }.into(),
        event::IoOperationIssued { handle, matching_id }.into(),
        event::IoOperationComplete { handle, bytes_result: b, matching_id }.into(),
        event::IoOperationCancelled { handle, matching_id }.into(),
        event::IoAcquireLock { handle, lock_type }.into(),
        event::IoReleaseLock { handle, lock_type }.into(),
        event::IoTryLock { handle, lock_type }.into(),
        event::ProgramBegin {
            program_name: string_or_none(r),
            program_arguments: leak(&arguments),
        }
        .into(),
        event::ProgramEnd { exit_status: signed(r) }.into(),
        event::NonBlockingCollectiveRequest { request_id }.into(),
        event::NonBlockingCollectiveComplete {
            collective_op,
            communicator: comm_or_inter,
            root,
            size_sent: a,
            size_received: b,
            request_id,
        }
        .into(),
        event::CommCreate { communicator }.into(),
        event::CommDestroy { communicator }.into(),
    ]
}

/// Returns attributes for an event: none, one, or one of each type.
fn attributes(round: usize) -> Vec<Attribute> {
    let count = match round % 8 {
        0 => 25,
        1 => 1,
        2 => 2,
        _ => 0,
    };
    (0..count)
        .map(|i| Attribute { attribute: AttributeRef((i % 26) as u32), value: typed(round + i) })
        .collect()
}

/// Writes the archive. Returns the number of events.
pub(crate) fn write(directory: &Path) -> otf2::Result<u64> {
    let options = Options {
        machine: "a machine".into(),
        creator: "dwell's tests".into(),
        description: "every record".into(),
        properties: vec![
            ("DWELL::TEST".into(), "yes".into()),
            ("DWELL::MORE".into(), "a b".into()),
        ],
        trace_id: 0xABCD_EF01,
        snapshots: 1,
        ..Options::default()
    };
    let archive = ArchiveWriter::create(directory, "traces", options)?;
    let mut counts = Vec::new();
    for (at, &location) in LOCATIONS.iter().enumerate() {
        let mut writer = archive.events(location)?;
        let mut time = 1_000_000 + at as u64;
        for round in 0..EVENT_ROUNDS {
            for (index, mut event) in events(round + at).into_iter().enumerate() {
                if let Event::BufferFlush(flush) = &mut event {
                    // libotf2 corrects what follows as if it came after the flush.
                    let never = at == 0 && round % 3 == 0;
                    flush.stop_time = Time(if never { u64::MAX } else { time });
                }
                let list = attributes(round + index);
                writer.write_with(Time(time), List::from(&list[..]), event)?;
                // Some events share a time, within a location and between them.
                time += (index % 3) as u64;
            }
        }
        counts.push(writer.finish()?.events);
        snapshots(&archive, location)?;
        local_definitions(&archive, at)?;
    }
    let mut defs = archive.global_definitions()?;
    definitions::definitions(&mut defs, &counts)?;
    defs.finish()?;
    markers(&archive)?;
    archive.finish()?;
    Ok(counts.iter().sum())
}

fn local_definitions(archive: &ArchiveWriter, at: usize) -> otf2::Result<()> {
    let mut defs = archive.local_definitions(LOCATIONS[at])?;
    if at == 1 {
        let dense: Vec<u64> = (0..30).rev().collect();
        defs.write(def::MappingTable {
            mapping_type: MappingType::Region,
            id_map: IdMapRef::dense(&dense),
        })?;
        // No two ids may become one: the attributes of an event must differ.
        let sparse = [(0, 1), (1, 0), (5, 5)];
        for mapping_type in MappingType::ALL.iter().copied().filter(|&of| of != MappingType::Region)
        {
            defs.write(def::MappingTable { mapping_type, id_map: IdMapRef::sparse(&sparse) })?;
        }
        for (time, offset, standard_deviation) in
            [(900_000, -5, 0.0), (1_000_500, 12, 1.25e-7), (1_003_000, 0, 12_345_678.0)]
        {
            defs.write(def::ClockOffset { time: Time(time), offset, standard_deviation })?;
        }
    }
    defs.finish()?;
    Ok(())
}

fn snapshots(archive: &ArchiveWriter, location: LocationRef) -> otf2::Result<()> {
    let mut writer = archive.snapshots(location)?;
    for r in 0..6 {
        let time = Time(1_000_010 + 10 * r as u64);
        let orig_event_time = Time(1_000_000 + r as u64);
        let (receiver, communicator, msg_tag, msg_length) =
            (Rank(r as u32), CommRef(0), small(r), number(r));
        let request_id = RequestId(number(r));
        let root = CollectiveRoot::Rank(r as u32);
        let parameter = reference!(ParameterRef, r, 4);
        let values = [MetricValue::unsigned(5), MetricValue::real(0.5)];
        writer.write(time, snapshot::SnapshotStart { number_of_records: 18 })?;
        writer.write(
            time,
            snapshot::MeasurementOnOff { orig_event_time, measurement_mode: MeasurementMode::On },
        )?;
        let list = attributes(r);
        writer.write_with(
            time,
            List::from(&list[..]),
            snapshot::Enter { orig_event_time, region: RegionRef(0) },
        )?;
        writer.write(
            time,
            snapshot::MpiSend { orig_event_time, receiver, communicator, msg_tag, msg_length },
        )?;
        writer.write(
            time,
            snapshot::MpiIsend {
                orig_event_time,
                receiver,
                communicator,
                msg_tag,
                msg_length,
                request_id,
            },
        )?;
        writer.write(time, snapshot::MpiIsendComplete { orig_event_time, request_id })?;
        writer.write(
            time,
            snapshot::MpiRecv {
                orig_event_time,
                sender: receiver,
                communicator,
                msg_tag,
                msg_length,
            },
        )?;
        writer.write(time, snapshot::MpiIrecvRequest { orig_event_time, request_id })?;
        writer.write(
            time,
            snapshot::MpiIrecv {
                orig_event_time,
                sender: receiver,
                communicator,
                msg_tag,
                msg_length,
                request_id,
            },
        )?;
        writer.write(time, snapshot::MpiCollectiveBegin { orig_event_time })?;
        writer.write(
            time,
            snapshot::MpiCollectiveEnd {
                orig_event_time,
                collective_op: constant!(CollectiveOp, r),
                communicator,
                root,
                size_sent: 1,
                size_received: 2,
            },
        )?;
        writer
            .write(time, snapshot::OmpFork { orig_event_time, number_of_requested_threads: 4 })?;
        writer.write(
            time,
            snapshot::OmpAcquireLock { orig_event_time, lock_id: 1, acquisition_order: 2 },
        )?;
        writer.write(time, snapshot::OmpTaskCreate { orig_event_time, task_id: 9 })?;
        writer.write(time, snapshot::OmpTaskSwitch { orig_event_time, task_id: 9 })?;
        writer.write(
            time,
            snapshot::Metric {
                orig_event_time,
                metric: MetricRef(2),
                values: List::from(&values[..]),
            },
        )?;
        writer.write(
            time,
            snapshot::ParameterString { orig_event_time, parameter, string: string(r) },
        )?;
        writer
            .write(time, snapshot::ParameterInt { orig_event_time, parameter, value: signed(r) })?;
        writer.write(
            time,
            snapshot::ParameterUnsignedInt { orig_event_time, parameter, value: number(r) },
        )?;
        writer.write(time, snapshot::SnapshotEnd { cont_read_pos: r as u64 })?;
    }
    writer.finish()?;
    Ok(())
}

fn markers(archive: &ArchiveWriter) -> otf2::Result<()> {
    let mut writer = archive.markers()?;
    writer.write(marker::DefMarker {
        id: MarkerRef(0),
        group: Str::from("group"),
        category: Str::from("cat"),
        severity: MarkerSeverity::High,
    })?;
    for (scope, scope_ref) in
        [(MarkerScope::Global, u64::MAX), (MarkerScope::Location, 1), (MarkerScope::Comm, 0)]
    {
        writer.write(marker::Marker {
            time: 1_000_100,
            duration: 5,
            marker: MarkerRef(0),
            scope,
            scope_ref,
            text: Str::from("look"),
        })?;
    }
    writer.finish()?;
    Ok(())
}
