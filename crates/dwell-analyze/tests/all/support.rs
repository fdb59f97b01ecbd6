//! Archives written by hand: a list of events for each thread.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

pub(crate) mod sums;

use std::path::Path;

use dwell_analyze::{Analysis, Cut, Options};
use dwell_model::archive;
use otf2::enums::{
    Base, CartPeriodicity, CollectiveOp, CollectiveRoot, CommFlag, GroupFlag, GroupType,
    LocationGroupType, LocationType, MetricMode, MetricOccurrence, MetricType, Paradigm,
    ParameterType, RecorderKind, RegionFlag, RegionRole, RmaSyncLevel, RmaWinFlag, Type,
};
use otf2::event::{
    CallingContextEnter, CallingContextLeave, Enter, Leave, Metric, RmaCollectiveEnd, RmaGet,
    RmaOpCompleteBlocking, RmaPut, RmaWaitChange,
};
use otf2::id::{
    AttributeRef, CallingContextRef, CartDimensionRef, CartTopologyRef, CommRef, GroupRef,
    LocationGroupRef, LocationRef, MatchingId, MetricMemberRef, MetricRef, ParameterRef, Rank,
    RegionRef, RmaWinRef, SourceCodeLocationRef, StringRef, SystemTreeNodeRef, Time,
};
use otf2::value::MetricValue;
use otf2::write::{ArchiveWriter, DefWriter};
use otf2::{Archive, Attribute, AttributeValue, Event, List, def};
use tempfile::TempDir;

/// Window and communicator of all processes.
pub(crate) const WINDOW: RmaWinRef = RmaWinRef(0);
/// Window of the second further group, which stands for static data.
pub(crate) const STATIC: RmaWinRef = RmaWinRef(2);
/// Attribute with the offset in symmetric memory that an operation acts on.
pub(crate) const OFFSET: AttributeRef = AttributeRef(0);
/// Attribute with the sequence number of a collective.
pub(crate) const SEQUENCE: AttributeRef = AttributeRef(1);
/// Attribute with the checksum of an active message.
pub(crate) const ACTIVE_MESSAGE: AttributeRef = AttributeRef(2);
/// Attribute with the number of calls that a region stands for.
pub(crate) const CALLS: AttributeRef = AttributeRef(3);
/// Attribute with the rank of the process whose memory a loop read.
pub(crate) const OWNER: AttributeRef = AttributeRef(4);
/// Attribute with the site of a call.
pub(crate) const SITE: AttributeRef = AttributeRef(5);

/// Attribute with the bytes of the calls that a region stands for.
pub(crate) const BYTES: AttributeRef = AttributeRef(6);
/// Attribute with the time in the calls that a region stands for.
pub(crate) const TIME: AttributeRef = AttributeRef(7);

/// Columns of the sites, which are on one line of the first region. Sites of one column are copies of a call.
const COLUMNS: [u32; 3] = [7, 7, 30];

/// Metric class of the counters that are sampled.
pub(crate) const SAMPLES: MetricRef = MetricRef(0);
/// Names and modes of these counters.
pub(crate) const COUNTERS: [(&str, MetricMode); 4] = [
    ("cpu_time", MetricMode::AccumulatedStart),
    ("instructions", MetricMode::AccumulatedStart),
    ("involuntary_switches", MetricMode::AccumulatedStart),
    ("mpi_t:queue", MetricMode::AbsolutePoint),
];

/// An event with its time and its attributes.
pub(crate) type Entry = (u64, Vec<(AttributeRef, u64)>, Event<'static>);

/// Events of a thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Thread {
    pub(crate) events: Vec<Entry>,
}

impl Thread {
    /// Adds a sample of [`COUNTERS`].
    pub(crate) fn sample(self, time: u64, values: [u64; COUNTERS.len()]) -> Self {
        let values: &'static [MetricValue] = values.map(MetricValue::unsigned).to_vec().leak();
        self.at(time, Metric { metric: SAMPLES, values: List::from(values) })
    }
}

/// A list of events that grows. Tests extend it by traits with calls of their own, which have the same names in several of
/// them.
pub(crate) trait Events: Default {
    fn add(self, entry: Entry) -> Self;

    fn at(self, time: u64, event: impl Into<Event<'static>>) -> Self {
        self.add((time, Vec::new(), event.into()))
    }

    fn with(
        self,
        time: u64,
        attribute: (AttributeRef, u64),
        event: impl Into<Event<'static>>,
    ) -> Self {
        self.add((time, vec![attribute], event.into()))
    }

    /// Adds a call without records.
    fn call(self, region: RegionRef, enter: u64, leave: u64) -> Self {
        self.at(enter, Enter { region }).at(leave, Leave { region })
    }

    /// Adds a blocking get of 8 bytes from a process, which begins and completes with its call.
    fn get_from(self, region: RegionRef, id: u64, target: u32, enter: u64, leave: u64) -> Self {
        let (win, remote, matching_id) = (WINDOW, Rank(target), MatchingId(id));
        self.at(enter, Enter { region })
            .at(enter, RmaGet { win, remote, bytes: 8, matching_id })
            .at(leave, RmaOpCompleteBlocking { win, matching_id })
            .at(leave, Leave { region })
    }

    /// Adds a put of a word to an address of a process, in a call that takes 1.
    fn put_to(self, region: RegionRef, id: u64, target: u32, offset: u64, enter: u64) -> Self {
        let (win, remote, matching_id) = (WINDOW, Rank(target), MatchingId(id));
        self.at(enter, Enter { region })
            .with(enter, (OFFSET, offset), RmaPut { win, remote, bytes: 8, matching_id })
            .at(enter + 1, RmaOpCompleteBlocking { win, matching_id })
            .at(enter + 1, Leave { region })
    }

    /// Adds a wait for a change of the word at an address.
    fn wait_for(self, region: RegionRef, offset: u64, enter: u64, leave: u64) -> Self {
        self.at(enter, Enter { region })
            .with(enter, (OFFSET, offset), RmaWaitChange { win: WINDOW })
            .at(leave, Leave { region })
    }

    /// Adds a barrier of a window, which ends with its call.
    fn barrier_of(
        self,
        region: RegionRef,
        win: RmaWinRef,
        sequence: u64,
        enter: u64,
        leave: u64,
    ) -> Self {
        self.at(enter, Enter { region })
            .with(leave, (SEQUENCE, sequence), barrier_end(win))
            .at(leave, Leave { region })
    }
}

impl Events for Thread {
    fn add(mut self, entry: Entry) -> Self {
        self.events.push(entry);
        self
    }
}

/// Returns the record that ends a barrier of a window.
pub(crate) fn barrier_end(win: RmaWinRef) -> RmaCollectiveEnd {
    RmaCollectiveEnd {
        collective_op: CollectiveOp::Barrier,
        sync_level: RmaSyncLevel::PROCESS,
        win,
        root: CollectiveRoot::None,
        bytes_sent: 0,
        bytes_received: 0,
    }
}

/// Everything that an archive is made of.
pub(crate) struct World<'w> {
    /// Name and meaning of each region. The place of a region is its id.
    pub(crate) regions: &'w [(&'w str, &'w str)],
    /// Threads of each process.
    pub(crate) processes: &'w [Vec<Thread>],
    /// Number of processes on a node.
    pub(crate) per_node: usize,
    /// Members of further groups, by process. Group `n` has the id `FIRST_GROUP + n` and the window `1 + n`.
    pub(crate) groups: &'w [Vec<u64>],
    /// Least time of a request in nanoseconds, from one node to another and on one node.
    pub(crate) latency: [u64; 2],
    /// Cores that each process may use. Empty if the archive does not record them.
    pub(crate) cores: &'w [&'w str],
    /// Set if calls are enters and leaves of calling contexts, as tools write them that unwind the stack.
    pub(crate) by_context: bool,
}

/// Id of the first further group.
pub(crate) const FIRST_GROUP: u32 = 2;

/// Id of the calling context of the first region, if there are any.
const FIRST_CONTEXT: u32 = 16;

/// Returns an event as one of a calling context, if it enters or leaves a region.
fn of_context(event: Event<'static>) -> Event<'static> {
    let context = |region: RegionRef| CallingContextRef(FIRST_CONTEXT + region.0);
    match event {
        Event::Enter(it) => {
            CallingContextEnter { calling_context: context(it.region), unwind_distance: 1 }.into()
        }
        Event::Leave(it) => CallingContextLeave { calling_context: context(it.region) }.into(),
        other => other,
    }
}

impl<'w> World<'w> {
    /// Returns an archive of processes on a node each, without further groups and facts.
    pub(crate) fn new(regions: &'w [(&'w str, &'w str)], processes: &'w [Vec<Thread>]) -> Self {
        Self {
            regions,
            processes,
            per_node: 1,
            groups: &[],
            latency: [0; 2],
            cores: &[],
            by_context: false,
        }
    }

    /// Writes the archive to a directory of its own, which has to be kept as long as the archive.
    pub(crate) fn open(&self) -> (TempDir, Archive) {
        let directory = tempfile::tempdir().unwrap();
        self.write(directory.path());
        let archive = Archive::open(directory.path()).unwrap().by_region();
        (directory, archive)
    }

    /// Writes the archive.
    pub(crate) fn write(&self, directory: &Path) {
        let mut options = otf2::write::Options::default();
        for (name, latency) in
            [archive::LATENCY, archive::LATENCY_ON_NODE].into_iter().zip(self.latency)
        {
            if latency > 0 {
                options.properties.push((name.into(), latency.to_string()));
            }
        }
        let archive = ArchiveWriter::create(directory, "traces", options).unwrap();
        let mut counts = Vec::new();
        let mut length = 0;
        for (location, thread) in (0..).map(LocationRef).zip(self.processes.iter().flatten()) {
            let mut writer = archive.events(location).unwrap();
            for (time, attributes, event) in &thread.events {
                let attributes: Vec<Attribute> = attributes
                    .iter()
                    .map(|&(attribute, value)| Attribute {
                        attribute,
                        value: AttributeValue::Uint64(value),
                    })
                    .collect();
                let (time, attributes) = (*time, attributes.as_slice());
                let event = if self.by_context { of_context(*event) } else { *event };
                writer.write_with(Time(time), List::from(attributes), event).unwrap();
                length = length.max(time);
            }
            counts.push(writer.finish().unwrap().events);
            archive.local_definitions(location).unwrap().finish().unwrap();
        }
        self.definitions(&archive, length, &counts);
        archive.finish().unwrap();
    }

    fn definitions(&self, archive: &ArchiveWriter, trace_length: u64, counts: &[u64]) {
        let mut defs = archive.global_definitions().unwrap();
        defs.write(def::ClockProperties {
            timer_resolution: 1_000_000_000,
            global_offset: 0,
            trace_length,
            realtime_timestamp: u64::MAX,
        })
        .unwrap();
        let name = defs.string("a name").unwrap();
        for (id, (text, meaning)) in (0..).map(RegionRef).zip(self.regions) {
            let name = defs.string(text).unwrap();
            let description = match *meaning {
                "" => StringRef::UNDEFINED,
                text => defs.string(text).unwrap(),
            };
            defs.write(def::Region {
                id,
                name,
                canonical_name: name,
                description,
                region_role: RegionRole::Function,
                paradigm: Paradigm::Shmem,
                region_flags: RegionFlag::NONE,
                source_file: StringRef::UNDEFINED,
                begin_line_number: 0,
                end_line_number: 0,
            })
            .unwrap();
        }
        let attributes = [
            archive::SYMMETRIC_OFFSET,
            archive::SEQUENCE,
            archive::ACTIVE_MESSAGE,
            archive::CALLS,
            archive::OWNER,
            archive::CALL_SITE,
            archive::BYTES_IN_CALLS,
            archive::TIME_IN_CALLS,
        ];
        for (id, text) in attributes.iter().enumerate() {
            let (id, name) = (AttributeRef(id as u32), defs.string(text).unwrap());
            let kind = Type::Uint64;
            defs.write(def::Attribute { id, name, kind, description: name }).unwrap();
        }
        let place = SourceCodeLocationRef(0);
        defs.write(def::SourceCodeLocation { id: place, file: name, line_number: 12 }).unwrap();
        let column = defs.string(archive::COLUMN).unwrap();
        for (id, value) in (0..).map(CallingContextRef).zip(COLUMNS) {
            let (region, parent) = (RegionRef(0), CallingContextRef::UNDEFINED);
            defs.write(def::CallingContext { id, region, source_code_location: place, parent })
                .unwrap();
            let value = AttributeValue::Uint32(value);
            let (calling_context, name) = (id, column);
            defs.write(def::CallingContextProperty { calling_context, name, value }).unwrap();
        }
        for number in (0..self.regions.len() as u32).filter(|_| self.by_context) {
            let (id, region) = (CallingContextRef(FIRST_CONTEXT + number), RegionRef(number));
            let (source_code_location, parent) = (place, CallingContextRef::UNDEFINED);
            defs.write(def::CallingContext { id, region, source_code_location, parent }).unwrap();
        }
        let parameter = def::Parameter {
            id: ParameterRef(0),
            name: defs.string(archive::INSTANCE).unwrap(),
            parameter_type: ParameterType::Int64,
        };
        defs.write(parameter).unwrap();
        for node in 0..self.processes.len().div_ceil(self.per_node) as u32 {
            let (id, parent) = (SystemTreeNodeRef(node), SystemTreeNodeRef::UNDEFINED);
            defs.write(def::SystemTreeNode { id, name, class_name: name, parent }).unwrap();
        }
        let mut location = 0;
        for (process, threads) in self.processes.iter().enumerate() {
            let id = LocationGroupRef(process as u32);
            let name = defs.string(&format!("process {process}")).unwrap();
            defs.write(def::LocationGroup {
                id,
                name,
                location_group_type: LocationGroupType::Process,
                system_tree_parent: SystemTreeNodeRef((process / self.per_node) as u32),
                creating_location_group: LocationGroupRef::UNDEFINED,
            })
            .unwrap();
            if let Some(cores) = self.cores.get(process) {
                let name = defs.string(archive::CORES).unwrap();
                let value = AttributeValue::String(defs.string(cores).unwrap());
                let (location_group, value) = (id, def::PropertyValue(value));
                defs.write(def::LocationGroupProperty { location_group, name, value }).unwrap();
            }
            for _ in threads {
                defs.write(def::Location {
                    id: LocationRef(location),
                    name,
                    location_type: LocationType::CpuThread,
                    number_of_events: counts[location as usize],
                    location_group: id,
                })
                .unwrap();
                location += 1;
            }
        }
        let mut group = |id, group_type, group_flags, members: &[u64]| {
            let (id, paradigm, members) = (GroupRef(id), Paradigm::Shmem, List::from(members));
            let group = def::Group { id, name, group_type, paradigm, group_flags, members };
            defs.write(group).unwrap();
        };
        let mut leaders = vec![0];
        for threads in self.processes {
            leaders.extend(leaders.last().map(|first| first + threads.len() as u64));
        }
        leaders.pop();
        let all: Vec<u64> = (0..leaders.len() as u64).collect();
        group(0, GroupType::CommLocations, GroupFlag::NONE, &leaders);
        group(1, GroupType::CommGroup, GroupFlag::GLOBAL_MEMBERS, &all);
        for (id, members) in (FIRST_GROUP..).zip(self.groups) {
            group(id, GroupType::CommGroup, GroupFlag::GLOBAL_MEMBERS, members);
        }
        self.grid(&mut defs);
        let static_data = defs.string("static data of all PEs").unwrap();
        for number in 0..=self.groups.len() as u32 {
            let (id, parent, flags) = (CommRef(number), CommRef::UNDEFINED, CommFlag::NONE);
            let group = GroupRef(1 + number);
            defs.write(def::Comm { id, name, group, parent, flags }).unwrap();
            let (id, comm, flags) = (RmaWinRef(number), id, RmaWinFlag::NONE);
            let name = if id == STATIC { static_data } else { name };
            defs.write(def::RmaWin { id, name, comm, flags }).unwrap();
        }
        for (id, (text, metric_mode)) in (0..).map(MetricMemberRef).zip(COUNTERS) {
            let name = defs.string(text).unwrap();
            defs.write(def::MetricMember {
                id,
                name,
                description: name,
                metric_type: MetricType::Other,
                metric_mode,
                value_type: Type::Uint64,
                base: Base::Decimal,
                exponent: 0,
                unit: name,
            })
            .unwrap();
        }
        let members: Vec<_> = (0..COUNTERS.len() as u32).map(MetricMemberRef).collect();
        defs.write(def::MetricClass {
            id: SAMPLES,
            metric_members: List::from(members.as_slice()),
            metric_occurrence: MetricOccurrence::Synchronous,
            recorder_kind: RecorderKind::Cpu,
        })
        .unwrap();
        defs.finish().unwrap();
    }

    /// Writes a topology with a row for each node, if all nodes have as many processes.
    fn grid(&self, defs: &mut DefWriter) {
        let (processes, across) = (self.processes.len() as u32, self.per_node as u32);
        if !processes.is_multiple_of(across) {
            return;
        }
        let sizes = [(processes / across, CartPeriodicity::False), (across, CartPeriodicity::True)];
        for (id, (size, cart_periodicity)) in (0..).map(CartDimensionRef).zip(sizes) {
            let name = defs.string(&format!("dimension {}", id.0)).unwrap();
            defs.write(def::CartDimension { id, name, size, cart_periodicity }).unwrap();
        }
        let (id, name) = (CartTopologyRef(0), defs.string("nodes").unwrap());
        let (communicator, dimensions) = (CommRef(0), [CartDimensionRef(0), CartDimensionRef(1)]);
        let cart_dimensions = List::from(&dimensions[..]);
        defs.write(def::CartTopology { id, name, communicator, cart_dimensions }).unwrap();
        for rank in 0..processes {
            let at = [rank / across, rank % across];
            let (rank, coordinates) = (Rank(rank), List::from(&at[..]));
            defs.write(def::CartCoordinate { cart_topology: id, rank, coordinates }).unwrap();
        }
    }

    /// Analyses the archive with several ways of cutting windows, and passes each result to `check`.
    pub(crate) fn analyzed(&self, check: impl Fn(&Analysis)) {
        let (_directory, archive) = self.open();
        for cut in [Cut::Budget, Cut::EveryEvent, Cut::Nanoseconds(37)] {
            let mut options = Options::default();
            (options.cut, options.threads) = (cut, 2);
            let analysis = sums::analyze(&archive, &options);
            assert!(analysis.damage().is_empty(), "{:?}", analysis.damage());
            check(&analysis);
        }
    }
}
