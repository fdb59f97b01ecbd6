//! The global definitions of an archive, from what unification found.
//!
//! Ids of regions, windows and calling contexts are those of the unified lists. Strings are numbered as
//! they come.

use std::collections::BTreeMap;
use std::path::Path;

use dwell_model::archive::{self, Meaning};
use dwell_model::cores::Cores;
use dwell_model::layer::{Layer, Processes, Ranks};
use otf2::enums::{
    Base, CommFlag, GroupFlag, GroupType, InterruptGeneratorMode, LocationGroupType, LocationType,
    MetricMode, MetricOccurrence, MetricType, Paradigm, ParadigmClass, ParadigmProperty,
    ParameterType, RecorderKind, RegionFlag, RegionRole, RmaWinFlag, SystemTreeDomain, Type,
};
use otf2::id::{
    AttributeRef, CallingContextRef, CommRef, GroupRef, InterruptGeneratorRef, LocationGroupRef,
    LocationRef, MetricMemberRef, MetricRef, ParameterRef, RegionRef, RmaWinRef,
    SourceCodeLocationRef, StringRef, SystemTreeNodeRef,
};
use otf2::write::DefWriter;
use otf2::{Attribute, AttributeValue, List, def};

use crate::facts;
use crate::statistics::Statistic;
use crate::unify::{CommId, Global, Group, GroupId, Label, Site, SiteId};

/// Ids of the attributes, which are the same in every archive: positions in [`ATTRIBUTES`].
#[allow(missing_docs)] // Their names and descriptions are in the table.
pub mod attribute {
    use otf2::id::AttributeRef;

    pub const CALL_SITE: AttributeRef = AttributeRef(0);
    pub const SYMMETRIC_OFFSET: AttributeRef = AttributeRef(1);
    pub const SIGNAL_OFFSET: AttributeRef = AttributeRef(2);
    pub const SEQUENCE: AttributeRef = AttributeRef(3);
    pub const CUT: AttributeRef = AttributeRef(4);
    pub const SKIPPED: AttributeRef = AttributeRef(5);
    pub const NEIGHBOURS: AttributeRef = AttributeRef(6);
    pub const ACTIVE_MESSAGE: AttributeRef = AttributeRef(7);
    pub const CALLS: AttributeRef = AttributeRef(8);
    pub const TIME_IN_CALLS: AttributeRef = AttributeRef(9);
    pub const BYTES_IN_CALLS: AttributeRef = AttributeRef(10);
    pub const OWNER: AttributeRef = AttributeRef(11);
    pub const PROCESSOR_TIME: AttributeRef = AttributeRef(12);
    pub const UNSAMPLED_TIME: AttributeRef = AttributeRef(13);
    pub const READY_TIME: AttributeRef = AttributeRef(14);
}

/// Attribute that marks a leave event which the program did not make, because its process or thread ended inside the
/// region.
pub const CUT: Attribute = Attribute { attribute: attribute::CUT, value: AttributeValue::Uint8(1) };

/// Attributes that events of an archive may have, in the order of their ids: name, type and description of each.
pub const ATTRIBUTES: [(&str, Type, &str); 12] = [
    (archive::CALL_SITE, Type::CallingContext, "From where the region was called"),
    (archive::SYMMETRIC_OFFSET, Type::Uint64, "Where in symmetric memory it acts"),
    (archive::SIGNAL_OFFSET, Type::Uint64, "Where in symmetric memory the signal is"),
    (archive::SEQUENCE, Type::Uint64, "Number of the collective on its window"),
    (
        archive::CUT,
        Type::Uint8,
        "Added by recovery: its process ended here (1), events are missing here (2)",
    ),
    (archive::SKIPPED, Type::Uint64, "Messages of the same kind before it that were not recorded"),
    (archive::NEIGHBOURS, Type::Group, "The process and the neighbours that send to it"),
    (archive::ACTIVE_MESSAGE, Type::Uint64, "Checksum of an active message"),
    (archive::CALLS, Type::Uint64, "Number of calls that the region stands for"),
    (archive::TIME_IN_CALLS, Type::Uint64, "Nanoseconds of it that were spent in these calls"),
    (archive::BYTES_IN_CALLS, Type::Uint64, "Bytes that these calls moved"),
    (archive::OWNER, Type::Uint64, "Rank of the process whose memory it waits for"),
];

/// Attributes of samples, which archives without any do not have.
const OF_SAMPLES: [(&str, Type, &str); 3] = [
    (archive::PROCESSOR_TIME, Type::Uint64, "Processor time since the sample before"),
    (
        archive::UNSAMPLED_TIME,
        Type::Int64,
        "Processor time of the computing that ends here, without that of its samples",
    ),
    (
        archive::READY_TIME,
        Type::Uint64,
        "Time of the computing that ends here in which the thread was ready but had no core",
    ),
];

/// Returns `true` if events of some archive have the attribute.
pub(crate) fn is_defined(attribute: AttributeRef) -> bool {
    attribute <= attribute::READY_TIME
}

/// Writes all global definitions of a run. `begin_realtime` is the time of day at which the run began, in nanoseconds
/// since 1970. The same definitions give the same bytes, whether the run ended well or was recovered.
///
/// # Errors
/// If the file cannot be written.
pub fn write(global: &Global, begin_realtime: u64, defs: &mut DefWriter) -> otf2::Result<()> {
    let times = || global.processes().filter(|(_, process)| !process.threads.is_empty());
    let begin = times().map(|(_, process)| process.begin.0).min().unwrap_or(0);
    let end = times().map(|(_, process)| process.end.0).max().unwrap_or(begin);
    defs.write(def::ClockProperties {
        timer_resolution: 1_000_000_000,
        global_offset: begin,
        trace_length: end - begin,
        realtime_timestamp: begin_realtime,
    })?;
    // Events name texts by their place among them, so they come before all other strings.
    for text in global.shared().texts() {
        defs.string(&text.text)?;
    }
    let mut writer = Writer { empty: defs.string("")?, global, defs };
    writer.paradigms()?;
    writer.system()?;
    writer.attributes()?;
    writer.samples()?;
    writer.regions()?;
    writer.sites()?;
    writer.windows()?;
    writer.topologies()?;
    writer.parameters()?;
    writer.counters()
}

/// Call sites in interpreted languages, by their numbers: region and line of each.
struct Lines {
    next_region: u32,
    places: BTreeMap<u32, (RegionRef, SourceCodeLocationRef)>,
}

pub(crate) struct Writer<'w> {
    pub(crate) global: &'w Global,
    pub(crate) defs: &'w mut DefWriter,
    empty: StringRef,
}

impl Writer<'_> {
    /// Returns the paradigms that regions or groups have, ascending.
    fn used_paradigms(&self) -> Vec<u8> {
        let shared = self.global.shared();
        let regions = shared.regions().iter().map(|region| region.paradigm);
        let groups = shared.groups().iter().map(Group::paradigm);
        distinct(regions.chain(groups))
    }

    fn paradigms(&mut self) -> otf2::Result<()> {
        for paradigm in self.used_paradigms().into_iter().map(Paradigm::from) {
            let name = match paradigm {
                Paradigm::Shmem => "OpenSHMEM",
                Paradigm::Mpi => "MPI",
                _ => "other",
            };
            let name = self.defs.string(name)?;
            let paradigm_class = ParadigmClass::Process;
            self.defs.write(def::Paradigm { paradigm, name, paradigm_class })?;
            if paradigm == Paradigm::Shmem {
                self.defs.write(def::ParadigmProperty {
                    paradigm,
                    property: ParadigmProperty::RmaOnly,
                    value: AttributeValue::Uint8(1),
                })?;
            }
        }
        Ok(())
    }

    /// Writes the system tree: the machine, its nodes, the processes and their threads.
    fn system(&mut self) -> otf2::Result<()> {
        let hosts: Vec<&str> =
            self.global.shared().hosts().iter().map(|host| host.name.as_str()).collect();
        self.node(0, "machine", "machine", SystemTreeNodeRef::UNDEFINED)?;
        for (id, host) in (1..).zip(&hosts) {
            self.node(id, host, "node", SystemTreeNodeRef(0))?;
        }
        for id in 0..=hosts.len() as u32 {
            let system_tree_domain = match id {
                0 => SystemTreeDomain::Machine,
                _ => SystemTreeDomain::SharedMemory,
            };
            let system_tree_node = SystemTreeNodeRef(id);
            self.defs.write(def::SystemTreeNodeDomain { system_tree_node, system_tree_domain })?;
        }
        let regions = self.global.shared().regions().iter();
        let layers = regions.filter_map(|it| Some(Meaning::parse(&it.meaning)?.layer));
        // Groups are of OpenSHMEM even if a filter left out all of its calls.
        let shmem = self.used_paradigms().contains(&Paradigm::Shmem.into());
        let own = Layer::ALL.iter().copied().filter(|it| shmem && it.ranks() == Ranks::Own);
        let names = Processes::of(layers.chain(own));
        for (_, process) in self.global.processes() {
            let name = match process.name.as_str() {
                "" => self.defs.string(&names.name(process.rank))?,
                name => self.defs.string(name)?,
            };
            let host = process.host.0.checked_add(1).filter(|id| *id as usize <= hosts.len());
            self.defs.write(def::LocationGroup {
                id: LocationGroupRef(process.rank as u32),
                name,
                location_group_type: LocationGroupType::Process,
                system_tree_parent: SystemTreeNodeRef(host.unwrap_or(0)),
                creating_location_group: LocationGroupRef::UNDEFINED,
            })?;
            let cores = Cores::from_words(&process.cores);
            if cores.count() > 0 {
                let value = AttributeValue::String(self.defs.string(&cores.to_string())?);
                self.property(process.rank, archive::CORES, value)?;
            }
            for (statistic, name) in [
                (Statistic::OnCore, archive::TIME_ON_CORE),
                (Statistic::Ready, archive::TIME_READY),
            ] {
                let number = process.numbers.get(statistic as usize).copied();
                if let Some(nanoseconds) = number.and_then(|it| it.checked_sub(1)) {
                    self.property(process.rank, name, AttributeValue::Uint64(nanoseconds))?;
                }
            }
        }
        let main = self.defs.string("Main thread")?;
        for (first, process) in self.global.processes() {
            for (id, thread) in (first.0..).zip(&process.threads) {
                let name = match &thread.label {
                    Label::Main => main,
                    Label::Numbered(number) => self.defs.string(&format!("Thread {number}"))?,
                    Label::Named(name) => self.defs.string(name)?,
                };
                self.defs.write(def::Location {
                    id: LocationRef(id),
                    name,
                    location_type: LocationType::CpuThread,
                    number_of_events: thread.events,
                    location_group: LocationGroupRef(process.rank as u32),
                })?;
            }
        }
        Ok(())
    }

    /// Writes a property of the process with this rank.
    fn property(&mut self, rank: u64, name: &str, value: AttributeValue) -> otf2::Result<()> {
        let name = self.defs.string(name)?;
        let (location_group, value) = (LocationGroupRef(rank as u32), def::PropertyValue(value));
        self.defs.write(def::LocationGroupProperty { location_group, name, value })
    }

    fn node(
        &mut self,
        id: u32,
        name: &str,
        class: &str,
        parent: SystemTreeNodeRef,
    ) -> otf2::Result<()> {
        let (name, class_name) = (self.defs.string(name)?, self.defs.string(class)?);
        let id = SystemTreeNodeRef(id);
        self.defs.write(def::SystemTreeNode { id, name, class_name, parent })
    }

    fn attributes(&mut self) -> otf2::Result<()> {
        let of_samples = self.interval().into_iter().flat_map(|_| OF_SAMPLES);
        for (id, (name, kind, description)) in (0..).zip(ATTRIBUTES.into_iter().chain(of_samples)) {
            let (name, description) = (self.defs.string(name)?, self.defs.string(description)?);
            self.defs.write(def::Attribute { id: AttributeRef(id), name, kind, description })?;
        }
        Ok(())
    }

    /// Returns the mean processor time from one sample to the next in nanoseconds, if threads were sampled.
    fn interval(&self) -> Option<u64> {
        let mut properties = self.global.shared().properties().iter();
        properties.find(|it| it.name == archive::SAMPLES)?.value.parse().ok()
    }

    /// Writes what samples refer to, if there are any.
    fn samples(&mut self) -> otf2::Result<()> {
        let Some(period) = self.interval() else { return Ok(()) };
        let name = self.defs.string("processor time of the thread")?;
        self.defs.write(def::InterruptGenerator {
            id: InterruptGeneratorRef(0),
            name,
            interrupt_generator_mode: InterruptGeneratorMode::Time,
            base: Base::Decimal,
            exponent: -9,
            period,
        })
    }

    fn regions(&mut self) -> otf2::Result<()> {
        for (id, region) in (0..).zip(self.global.shared().regions()) {
            let name = self.defs.string(&region.name)?;
            let description = if region.meaning.is_empty() {
                self.empty
            } else {
                self.defs.string(&region.meaning)?
            };
            self.defs.write(def::Region {
                id: RegionRef(id),
                name,
                canonical_name: name,
                description,
                region_role: RegionRole::from(region.role),
                paradigm: Paradigm::from(region.paradigm),
                region_flags: if region.meaning == archive::PHASE {
                    RegionFlag::PHASE | RegionFlag::DYNAMIC
                } else {
                    RegionFlag::NONE
                },
                source_file: StringRef::UNDEFINED,
                begin_line_number: 0,
                end_line_number: 0,
            })?;
        }
        Ok(())
    }

    /// Writes call sites as far as they are known here: by module and offset. Functions and lines are looked up later,
    /// by a reader that has the files of the program and the time to read them. Lines of interpreted languages are known.
    fn sites(&mut self) -> otf2::Result<()> {
        let shared = self.global.shared();
        let lines = self.lines(shared.regions().len() as u32)?;
        let mut region = lines.next_region;
        let mut places = Vec::with_capacity(shared.sites().len());
        for (id, site) in (0..).zip(shared.sites()) {
            let place = match lines.places.get(&id) {
                Some(place) => *place,
                None => {
                    self.address(RegionRef(region), site)?;
                    region += 1;
                    (RegionRef(region - 1), SourceCodeLocationRef::UNDEFINED)
                }
            };
            places.push(place);
            if shared.stacks().is_empty() {
                self.context(id, place, CallingContextRef::UNDEFINED)?;
            }
        }
        // If callers are known, the contexts are call paths instead. Each stack follows the stacks that it begins with.
        for (id, stack) in (0..).zip(shared.stacks()) {
            let Some((site, above)) = stack.sites.split_last() else { continue };
            let above = shared.stacks().binary_search_by(|it| it.sites.as_slice().cmp(above));
            let parent =
                above.map_or(CallingContextRef::UNDEFINED, |at| CallingContextRef(at as u32));
            let none = (RegionRef::UNDEFINED, SourceCodeLocationRef::UNDEFINED);
            let place = places.get(site.0 as usize).copied().unwrap_or(none);
            self.context(id, place, parent)?;
        }
        self.wrappers()
    }

    /// Writes the region of a call site of which the address is known.
    fn address(&mut self, id: RegionRef, site: &Site) -> otf2::Result<()> {
        let module = self.global.shared().module(site.module);
        let path = module.map_or("", |module| module.path.as_str());
        let file = Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or("?");
        let name = self.defs.string(&format!("{file}+{:#x}", site.offset))?;
        let build_id: String = module
            .map(|module| module.build_id.iter().map(|byte| format!("{byte:02x}")).collect())
            .unwrap_or_default();
        let address = archive::Address { module: path, build_id: &build_id, offset: site.offset };
        let description = self.defs.string(&address.to_string())?;
        self.function(id, name, description, StringRef::UNDEFINED)
    }

    fn function(
        &mut self,
        id: RegionRef,
        name: StringRef,
        description: StringRef,
        source_file: StringRef,
    ) -> otf2::Result<()> {
        self.defs.write(def::Region {
            id,
            name,
            canonical_name: name,
            description,
            region_role: RegionRole::Function,
            paradigm: Paradigm::Compiler,
            region_flags: RegionFlag::NONE,
            source_file,
            begin_line_number: 0,
            end_line_number: 0,
        })
    }

    /// Writes the functions and lines of call sites in interpreted languages: regions from `first` on, and source code
    /// locations. Regions of addresses follow.
    fn lines(&mut self, first: u32) -> otf2::Result<Lines> {
        let shared = self.global.shared();
        let (mut functions, mut locations) = (BTreeMap::new(), BTreeMap::new());
        let mut lines = Lines { next_region: first, places: BTreeMap::new() };
        for (id, site) in (0..).zip(shared.sites()).filter(|(_, it)| !it.function.is_empty()) {
            let file = shared.module(site.module).map_or("", |module| module.path.as_str());
            let source = self.defs.string(file)?;
            let region = match functions.get(&(file, site.function.as_str())) {
                Some(region) => *region,
                None => {
                    let region = RegionRef(lines.next_region);
                    lines.next_region += 1;
                    let name = self.defs.string(&site.function)?;
                    self.function(region, name, self.empty, source)?;
                    functions.insert((file, site.function.as_str()), region);
                    region
                }
            };
            let location = match locations.get(&(file, site.offset)) {
                Some(location) => *location,
                None => {
                    let id = SourceCodeLocationRef(locations.len() as u32);
                    let line_number = u32::try_from(site.offset).unwrap_or(0);
                    self.defs.write(def::SourceCodeLocation { id, file: source, line_number })?;
                    locations.insert((file, site.offset), id);
                    id
                }
            };
            lines.places.insert(id, (region, location));
        }
        Ok(lines)
    }

    /// Writes which calling contexts call a wrapper that made the recorded call.
    fn wrappers(&mut self) -> otf2::Result<()> {
        let shared = self.global.shared();
        let sites = || (0..).map(SiteId).zip(shared.sites());
        let of_context: Vec<SiteId> = match shared.stacks() {
            [] => sites().map(|it| it.0).collect(),
            stacks => stacks
                .iter()
                .map(|it| it.sites.last().copied().unwrap_or(SiteId(u32::MAX)))
                .collect(),
        };
        if sites().all(|(_, site)| site.wrapper.is_empty()) {
            return Ok(());
        }
        let name = self.defs.string(archive::THROUGH)?;
        for (id, site) in (0..).zip(of_context) {
            let Some(site) = shared.site(site).filter(|it| !it.wrapper.is_empty()) else {
                continue;
            };
            let value = AttributeValue::String(self.defs.string(&site.wrapper)?);
            let calling_context = CallingContextRef(id);
            self.defs.write(def::CallingContextProperty { calling_context, name, value })?;
        }
        Ok(())
    }

    fn context(
        &mut self,
        id: u32,
        (region, source_code_location): (RegionRef, SourceCodeLocationRef),
        parent: CallingContextRef,
    ) -> otf2::Result<()> {
        let id = CallingContextRef(id);
        self.defs.write(def::CallingContext { id, region, source_code_location, parent })
    }

    /// Writes groups, communicators and windows. The members of a group are listed one by one, as OTF2 requires. A
    /// group without members stands for all processes that can be a member of its kind, and comes first.
    fn windows(&mut self) -> otf2::Result<()> {
        let shared = self.global.shared();
        let main: Vec<u64> = self
            .global
            .processes()
            .filter(|(_, process)| !process.threads.is_empty())
            .map(|(first, _)| first.0)
            .collect();
        for (id, group) in (0..).zip(shared.groups()) {
            let paradigm = Paradigm::from(group.paradigm());
            if group.runs().is_empty() {
                self.group(id, GroupType::CommLocations, paradigm, &main)?;
            } else if group.is_itself() {
                self.group(id, GroupType::CommSelf, paradigm, &[])?;
            } else {
                let members: Vec<u64> = group.members().collect();
                self.group(id, GroupType::CommGroup, paradigm, &members)?;
            }
        }
        for (id, comm) in (0..).zip(shared.comms()) {
            let (id, name) = (CommRef(id), self.defs.string(&comm.name)?);
            if comm.remote == GroupId::UNKNOWN {
                self.comm(id, name, GroupRef(comm.group.0))?;
            } else {
                self.defs.write(def::InterComm {
                    id,
                    name,
                    group_a: GroupRef(comm.group.0),
                    group_b: GroupRef(comm.remote.0),
                    common_communicator: CommRef::UNDEFINED,
                    flags: CommFlag::NONE,
                })?;
            }
        }
        let alone = self.groups_without_communicator();
        let first = shared.comms().len() as u32;
        for (id, group) in (first..).zip(&alone) {
            self.comm(CommRef(id), self.empty, GroupRef(*group))?;
        }
        for (id, window) in (0..).zip(shared.windows()) {
            let name = self.defs.string(&window.name)?;
            let (comm, flags) = if window.comm == CommId::UNKNOWN {
                let at = alone.binary_search(&window.group.0).unwrap_or_default();
                (CommRef(first + at as u32), RmaWinFlag::NONE)
            } else {
                // Those of layers above MPI are there as long as their communicator.
                let flags = match window.context & facts::OVER_MPI {
                    0 => RmaWinFlag::CREATE_DESTROY_EVENTS,
                    _ => RmaWinFlag::NONE,
                };
                (CommRef(window.comm.0), flags)
            };
            self.defs.write(def::RmaWin { id: RmaWinRef(id), name, comm, flags })?;
        }
        Ok(())
    }

    /// Returns the groups of windows that belong to no communicator, ascending. Each is given a communicator.
    pub(crate) fn groups_without_communicator(&self) -> Vec<u32> {
        let windows = self.global.shared().windows().iter();
        let alone = windows.filter(|window| window.comm == CommId::UNKNOWN);
        let mut alone: Vec<u32> = alone.map(|window| window.group.0).collect();
        alone.sort_unstable();
        alone.dedup();
        alone
    }

    fn parameters(&mut self) -> otf2::Result<()> {
        for (id, it) in (0..).zip(self.global.shared().parameters()) {
            let name = self.defs.string(&it.name)?;
            let (id, parameter_type) = (ParameterRef(id), ParameterType::from(it.kind));
            self.defs.write(def::Parameter { id, name, parameter_type })?;
        }
        Ok(())
    }

    /// Writes counters: each one of the program as a metric of its own with values at irregular times, and those that
    /// the recorder samples as one metric with values at some of the enter and leave events.
    fn counters(&mut self) -> otf2::Result<()> {
        let members = self.global.shared().counters().iter().flat_map(|it| &it.members);
        for (id, it) in (0..).zip(members) {
            let (name, unit) = (self.defs.string(&it.name)?, self.defs.string(&it.unit)?);
            self.defs.write(def::MetricMember {
                id: MetricMemberRef(id),
                name,
                description: self.empty,
                metric_type: MetricType::from(it.source),
                metric_mode: MetricMode::from(it.mode),
                value_type: Type::from(it.kind),
                base: Base::Decimal,
                exponent: 0,
                unit,
            })?;
        }
        let mut first = 0;
        for (id, it) in (0..).zip(self.global.shared().counters()) {
            let end = first + it.members.len() as u32;
            let members: Vec<MetricMemberRef> = (first..end).map(MetricMemberRef).collect();
            first = end;
            self.defs.write(def::MetricClass {
                id: MetricRef(id),
                metric_members: List::from(members.as_slice()),
                metric_occurrence: if it.is_sampled {
                    MetricOccurrence::Synchronous
                } else {
                    MetricOccurrence::Asynchronous
                },
                recorder_kind: RecorderKind::Cpu,
            })?;
        }
        Ok(())
    }

    fn comm(&mut self, id: CommRef, name: StringRef, group: GroupRef) -> otf2::Result<()> {
        let (parent, flags) = (CommRef::UNDEFINED, CommFlag::NONE);
        self.defs.write(def::Comm { id, name, group, parent, flags })
    }

    fn group(
        &mut self,
        id: u32,
        group_type: GroupType,
        paradigm: Paradigm,
        members: &[u64],
    ) -> otf2::Result<()> {
        self.defs.write(def::Group {
            id: GroupRef(id),
            name: self.empty,
            group_type,
            paradigm,
            // Ranks in events are those of the communicator.
            group_flags: GroupFlag::NONE,
            members: List::from(members),
        })
    }
}

/// Returns each number once, ascending.
fn distinct(numbers: impl Iterator<Item = u8>) -> Vec<u8> {
    numbers.collect::<std::collections::BTreeSet<u8>>().into_iter().collect()
}
