//! A process as its stream of facts describes it, in the form that unification and the archive need.
//!
//! A living process reads its own stream at the end of the run; `dwell recover` reads those of dead processes. Both use
//! this code, so that a recovered archive differs from a finished one only in what was lost.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use dwell_model::archive;
use dwell_model::cores::Cores;
use otf2::enums::{MappingType, Paradigm, RegionRole};
use otf2::files;
use otf2::id::{CallingContextRef, CommRef, GroupRef, Rank, RegionRef, RmaWinRef, Time};

use crate::clock_correction::{ClockCorrection, Distance};
use crate::facts::{self, DEPTH, Fact, MOST_OPEN, OpenCall, STATIC_DATA};
use crate::stream::{self, Headed};
use crate::unify::{
    Comm, CommId, Coordinates, Counter, Dimension, Group, GroupId, Host, Label, MOST_DIMENSIONS,
    Maps, Module, ModuleId, Parameter, Process, Property, Region, Shared, Site, SiteId, Stack,
    StackId, Text, Thread, Topology, TopologyId, Window, WindowId,
};

/// Contents of the stream of facts of one process: its definitions, its row, and the tables that translate the ids in
/// its events.
#[derive(Clone, Debug, Default)]
pub struct ProcessFacts {
    /// Definitions that other processes may have too.
    pub shared: Shared,
    /// Row of the process: definitions that only it has. Times are on the clock of its node until [`ProcessFacts::shift`]
    /// moves them.
    pub process: Process,
    /// Number of processes of the run, as this process knew it.
    pub size: u64,
    /// Path of the program that the process ran.
    pub program: String,
    /// Clock offsets of the process, ascending: a time on the clock of the recorder, and the value to add to get that
    /// of the node, or that of the archive after [`ProcessFacts::shift`]. In nanoseconds.
    pub clock: Vec<(u64, i64)>,
    /// Measurements of the offset of the node's clock from that of rank 0.
    pub(crate) distances: Vec<Distance>,
    /// Bound on the error of the times relative to those of rank 0, in nanoseconds.
    residual: u64,
    /// Description of the end of the process; `None` if it died without noticing.
    pub end: Option<String>,
    /// Contents of the head of the stream.
    pub head: Headed,
    /// Files of each thread, as the bits of [`Fact::Thread`]; 0 for threads that no fact mentions.
    pub files: Vec<u64>,
    /// For each thread the calls that were open when it began its last chunks, with the number of the first event.
    open: BTreeMap<u64, Vec<(u64, Vec<OpenCall>)>>,
    /// Descriptions of damage in the stream, with byte offsets. Empty if the stream is sound.
    pub damage: Vec<String>,
    /// Maps from ids in events to those in `shared`, where equal definitions have one id.
    regions: Vec<u32>,
    sites: Vec<u32>,
    stacks: Vec<u32>,
    windows: Vec<u32>,
    groups: Vec<u32>,
    comms: Vec<u32>,
    parameters: Vec<u32>,
    counters: Vec<u32>,
    texts: Vec<u32>,
    topologies: Vec<u32>,
    modules: Vec<Loaded>,
    /// Number of ids of each space that the events use: see [`ProcessFacts::name`].
    named: [usize; SPACES.len()],
    numbers: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug)]
struct Loaded {
    start: u64,
    end: u64,
    bias: u64,
    id: ModuleId,
}

/// Id spaces of events in which each process has its own numbers, in the order of [`ProcessFacts::tables`].
const SPACES: [MappingType; 8] = [
    MappingType::String,
    MappingType::Region,
    MappingType::Group,
    MappingType::Comm,
    MappingType::RmaWin,
    MappingType::Metric,
    MappingType::Parameter,
    MappingType::CallingContext,
];

/// Number of threads of a process, and number of ids of each space that its events use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    pub(crate) threads: u64,
    ids: [usize; SPACES.len()],
}

/// Number of damaged places that are described; further ones are counted.
const LISTED: usize = 8;

impl ProcessFacts {
    /// Reads the stream of facts of a process from its file. Damaged facts are skipped and described in `damage`.
    ///
    /// # Errors
    /// If the file is not a regular file, cannot be read, or is not a stream of facts.
    pub fn read(path: &Path) -> io::Result<Self> {
        Self::parse(&files::read(path, stream::MOST)?)
    }

    /// Reads a stream of facts from its bytes, as [`ProcessFacts::read`] does from a file.
    ///
    /// # Errors
    /// If the bytes are not a stream of facts.
    pub fn parse(bytes: &[u8]) -> io::Result<Self> {
        let mut local = Self::default();
        let mut facts = 0;
        let mut damage = Vec::new();
        let mut more = 0;
        local.head = stream::parse(bytes, |offset, fact| match fact {
            Ok(fact) => {
                facts += 1;
                local.learn(&fact);
            }
            Err(it) if damage.len() < LISTED => damage.push(format!("byte {offset}: {it}")),
            Err(_) => more += 1,
        })?;
        if more > 0 {
            damage.push(format!("{more} more places"));
        }
        // A process may have died after a fact and before it was counted.
        let stated = local.head.facts;
        if facts < stated || facts > stated.saturating_add(1) {
            damage.push(format!("{stated} facts were written and {facts} are there"));
        }
        local.damage = damage;
        let mut times =
            local.clock.iter().map(|(time, ahead)| Time(time.wrapping_add_signed(*ahead)));
        local.process.begin = times.clone().next().unwrap_or(Time(0));
        local.process.end = times.next_back().unwrap_or(Time(0));
        Ok(local)
    }

    fn learn(&mut self, fact: &Fact<'_>) {
        match *fact {
            Fact::Process { rank, size, pid, host, program, .. } => {
                self.process.host = self.shared.add_host(Host { name: host.into() });
                self.process.rank = rank;
                self.process.pid = pid as u32;
                (self.size, self.program) = (size, program.into());
            }
            // Properties of a single process.
            Fact::Property { name: "CORES", value } => {
                let cores = value.parse::<Cores>().unwrap_or_default();
                self.process.cores = cores.words().to_vec();
            }
            // Properties that only the recorder and recovery use.
            Fact::Property { name: name @ ("CLOCK_SHIFT" | "CLOCK_AHEAD"), value } => {
                self.numbers.push((name.into(), value.into()));
            }
            Fact::Property { name, value } => {
                self.shared.add_property(Property { name: name.into(), value: value.into() });
            }
            Fact::Region { id, name, meaning, role, paradigm } => {
                let (role, paradigm) = (role as u8, paradigm as u8);
                let region = Region { name: name.into(), meaning: meaning.into(), role, paradigm };
                let global = self.shared.add_region(region).0;
                put(&mut self.regions, id, global);
            }
            Fact::Function { id, address } => {
                let region = self.function(address);
                let global = self.shared.add_region(region).0;
                put(&mut self.regions, id, global);
            }
            Fact::Module { start, end, bias, path, build_id, .. } => {
                let module = Module { path: path.into(), build_id: build_id.into() };
                let id = self.shared.add_module(module);
                self.modules.push(Loaded { start, end, bias, id });
            }
            Fact::Site { id, address } => {
                let site = self.site(address, "").0;
                put(&mut self.sites, id, site);
            }
            Fact::Context { id, address, parent } => {
                let site = self.site(address, "");
                self.context(id, site, parent);
            }
            Fact::Wrapped { id, context, address, wrapper } => {
                let site = self.site(address, wrapper);
                self.site_or_context(id, site, context);
            }
            Fact::Line { id, context, line, file, function, wrapper } => {
                let module = self.shared.add_module(Module { path: file.into(), build_id: vec![] });
                let (function, wrapper) = (function.into(), wrapper.into());
                let site = Site { module, offset: line, function, wrapper };
                let site = self.shared.add_site(site);
                self.site_or_context(id, site, context);
            }
            Fact::Window { id, paradigm, start, stride, size, context } => {
                let window = self.add_window(paradigm as u8, start, stride, size, context as u32);
                put(&mut self.windows, id, window);
            }
            Fact::Thread { id, files, .. } => {
                let label = match id {
                    0 => Label::Main,
                    id => Label::Numbered(id as u32),
                };
                let threads = &mut self.process.threads;
                if let Ok(id) = usize::try_from(id)
                    && id < THREADS
                {
                    threads.resize_with(threads.len().max(id + 1), Thread::default);
                    self.files.resize(threads.len(), 0);
                    if let (Some(thread), Some(has)) = (threads.get_mut(id), self.files.get_mut(id))
                    {
                        (thread.label, *has) = (label, files);
                    }
                }
            }
            Fact::Clock { recorder, monotonic, .. } => {
                // Times of a stream that goes back are damage.
                if self.clock.last().is_none_or(|(last, _)| *last < recorder) {
                    self.clock.push((recorder, monotonic.wrapping_sub(recorder).cast_signed()));
                }
            }
            Fact::Sync { monotonic, offset, residual, half, near } => {
                let offset = (offset >> 1).cast_signed() ^ -(offset & 1).cast_signed();
                let (half, near) = (half.checked_sub(1), near.checked_sub(1));
                self.distances.push(Distance { monotonic, offset, residual, half, near });
            }
            Fact::End { how } => self.end = Some(how.into()),
            Fact::Members { group, paradigm, runs } => self.members(group, paradigm as u8, runs),
            Fact::Comm { id, group, remote, identity, name } => {
                let at = |id: Option<u64>| {
                    let id = id.and_then(|id| self.groups.get(usize::try_from(id).ok()?));
                    id.copied().map_or(GroupId::UNKNOWN, GroupId)
                };
                let (group, remote) = (at(Some(group)), at(remote.checked_sub(1)));
                let comm = Comm { group, remote, name: name.into(), identity };
                let comm = self.shared.add_comm(comm).0;
                put(&mut self.comms, id, comm);
            }
            Fact::CommWindow { id, comm, number, name } => {
                let comm = usize::try_from(comm).ok().and_then(|id| self.comms.get(id));
                let comm = comm.copied().map_or(CommId::UNKNOWN, CommId);
                let group = self.shared.comm(comm).map_or(GroupId::UNKNOWN, |comm| comm.group);
                let (name, context) = (name.into(), number as u32);
                let window = self.shared.add_window(Window { group, comm, name, context }).0;
                put(&mut self.windows, id, window);
            }
            Fact::Parameter { id, kind, name } => {
                let parameter = Parameter { name: name.into(), kind: kind as u8 };
                put(&mut self.parameters, id, self.shared.add_parameter(parameter).0);
            }
            Fact::Counter { id, kind, name, unit } => {
                let counter = Counter::of_program(name, unit, kind as u8);
                put(&mut self.counters, id, self.shared.add_counter(counter).0);
            }
            Fact::Sample { id, members } => {
                let members = facts::decode_members(members).take(MOST_COUNTERS).collect();
                let counter = Counter { members, is_sampled: true };
                put(&mut self.counters, id, self.shared.add_counter(counter).0);
            }
            Fact::Text { id, text } => {
                put(&mut self.texts, id, self.shared.add_text(Text { text: text.into() }).0);
            }
            Fact::Topology { id, comm, name, grid } => {
                let known = comm.checked_sub(1).map(|id| self.comms.get(usize::try_from(id).ok()?));
                // A communicator whose definition is lost has no known ranks.
                let comm = match known {
                    None => CommId::UNKNOWN,
                    Some(Some(id)) if *id != u32::MAX => CommId(*id),
                    Some(_) => return,
                };
                let dimensions = facts::decode_numbers(grid).take(MOST_DIMENSIONS);
                let dimensions = dimensions
                    .map(|it| Dimension { size: (it >> 1) as u32, is_periodic: it & 1 == 1 })
                    .collect();
                let topology = Topology { comm, name: name.into(), dimensions };
                put(&mut self.topologies, id, self.shared.add_topology(topology).0);
            }
            Fact::Coordinates { topology, at } => {
                let known = usize::try_from(topology).ok().and_then(|id| self.topologies.get(id));
                let Some(topology) = known.map(|id| TopologyId(*id)) else { return };
                let at = facts::decode_numbers(at).take(MOST_DIMENSIONS).map(|it| it as u32);
                let place = Coordinates { topology, rank: self.process.rank, at: at.collect() };
                self.shared.add_coordinates(place);
            }
            Fact::Open { thread, first, calls } if thread < THREADS as u64 => {
                let calls = facts::decode_open(calls).take(MOST_OPEN).collect();
                let known = self.open.entry(thread).or_default();
                if known.len() >= OPEN_CHUNKS {
                    known.remove(0);
                }
                known.push((first, calls));
            }
            Fact::Open { .. } => {}
        }
    }

    /// Adds a call site for a return address, and the wrapper behind it if there is one. Returns its id.
    fn site(&mut self, address: u64, wrapper: &str) -> SiteId {
        // The module that was loaded there last.
        let mut modules = self.modules.iter().rev();
        let (module, offset) = match modules.find(|m| (m.start..m.end).contains(&address)) {
            Some(m) => (m.id, address.wrapping_sub(m.bias)),
            None => (ModuleId::UNKNOWN, address),
        };
        self.shared.add_site(Site { wrapper: wrapper.into(), ..Site::at(module, offset) })
    }

    /// Defines a site with an id, or a calling context of it whose parent is one less than `context`.
    fn site_or_context(&mut self, id: u64, site: SiteId, context: u64) {
        match context.checked_sub(1) {
            Some(parent) => self.context(id, site, parent),
            None => put(&mut self.sites, id, site.0),
        }
    }

    /// Defines a calling context of a site. `parent` is the context that its function was called from plus one, or 0.
    fn context(&mut self, id: u64, site: SiteId, parent: u64) {
        let above = parent.checked_sub(1).and_then(|id| usize::try_from(id).ok());
        let above = above.and_then(|id| self.stacks.get(id)).map(|id| StackId(*id));
        let above = above.and_then(|id| self.shared.stack(id));
        let mut sites = above.map(|stack| stack.sites.clone()).unwrap_or_default();
        // A damaged stream has no end of these.
        if sites.len() <= DEPTH {
            sites.push(site);
            let stack = self.shared.add_stack(Stack { sites }).0;
            put(&mut self.stacks, id, stack);
        }
    }

    /// Makes the region of a function of the program of which only the address is known.
    fn function(&self, address: u64) -> Region {
        let loaded = self.modules.iter().rev().find(|m| (m.start..m.end).contains(&address));
        let offset = address.wrapping_sub(loaded.map_or(0, |loaded| loaded.bias));
        let module = loaded.and_then(|loaded| self.shared.module(loaded.id));
        let path = module.map_or("", |module| module.path.as_str());
        let build_id: String = module
            .map(|module| module.build_id.iter().map(|byte| format!("{byte:02x}")).collect())
            .unwrap_or_default();
        let file = Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or("?");
        let address = archive::Address { module: path, build_id: &build_id, offset };
        Region {
            name: format!("{file}+{offset:#x}"),
            meaning: archive::Entry(address).to_string(),
            role: RegionRole::Function.into(),
            paradigm: Paradigm::Compiler.into(),
        }
    }

    /// Adds a group, or further members of it. A group without members stands for all processes that can be a member of
    /// a group of the paradigm, and comes first.
    fn members(&mut self, id: u64, paradigm: u8, runs: &[u8]) {
        self.shared.add_group(Group::empty(paradigm));
        let known = usize::try_from(id).ok().and_then(|id| self.groups.get(id));
        let known = known.and_then(|group| self.shared.group(GroupId(*group)));
        let mut all: Vec<_> = known.map(|group| group.runs().to_vec()).unwrap_or_default();
        // A damaged size would be a list of that many members in the archive.
        let size = self.size;
        all.extend(facts::decode_runs(runs).filter(|run| run.count <= size));
        let group = self.shared.add_group(Group::from_runs(paradigm, all)).0;
        put(&mut self.groups, id, group);
    }

    fn add_window(
        &mut self,
        paradigm: u8,
        start: u64,
        stride: u64,
        size: u64,
        context: u32,
    ) -> u32 {
        let everyone = start == 0 && stride == 1 && size == self.size;
        let of = if everyone {
            "all PEs".to_string()
        } else {
            format!("active set {start}:{stride}:{size}")
        };
        let number = context & !STATIC_DATA;
        let name = if number == 0 { of } else { format!("context {number} of {of}") };
        let name = if context == number { name } else { format!("static data of {name}") };
        let stride = i64::try_from(stride).unwrap_or(1);
        // A damaged size would be a list of that many members in the archive.
        let size = size.min(self.size);
        self.shared.add_group(Group::empty(paradigm));
        let group = self.shared.add_group(Group::strided(paradigm, start, stride, size));
        self.shared.add_window(Window { group, comm: CommId::UNKNOWN, name, context }).0
    }

    /// Returns the mapping tables for the events of this process: for each kind of id, the ids of the archive in the
    /// order of the local ids. `maps` lead from `shared` to the archive.
    ///
    /// Ids that events use and no fact defines are undefined in the tables: a reader of OTF2 would take an id that is
    /// in no table for one of the archive.
    pub fn tables(&self, maps: &Maps) -> [(MappingType, Vec<u64>); SPACES.len()] {
        let mut tables = self.defined(maps);
        for ((_, ids), named) in tables.iter_mut().zip(self.named) {
            ids.resize(ids.len().max(named), u64::from(u32::MAX));
        }
        tables
    }

    /// Returns the name of a region by the id that the events of this process use.
    pub fn region_name(&self, region: RegionRef) -> Option<String> {
        let global = self.regions.get(usize::try_from(region.0).ok()?)?;
        let known = self.shared.regions().get(usize::try_from(*global).ok()?)?;
        Some(known.name.clone())
    }

    /// Returns a region by the id that the events of this process use.
    pub fn region(&self, region: RegionRef) -> Option<&Region> {
        let global = self.regions.get(usize::try_from(region.0).ok()?)?;
        self.shared.regions().get(usize::try_from(*global).ok()?)
    }

    /// Returns a window by the id that the events of this process use.
    pub fn window(&self, window: RmaWinRef) -> Option<&Window> {
        let global = self.windows.get(usize::try_from(window.0).ok()?)?;
        self.shared.window(WindowId(*global))
    }

    /// Returns a communicator by the id that the events of this process use.
    pub fn comm(&self, comm: CommRef) -> Option<&Comm> {
        let global = self.comms.get(usize::try_from(comm.0).ok()?)?;
        self.shared.comm(CommId(*global))
    }

    /// Returns the rank in the run of a member of a window, which the events of this process name by its rank there.
    pub fn member_of_window(&self, window: RmaWinRef, rank: Rank) -> Option<u64> {
        self.member(self.window(window)?.group, rank)
    }

    /// Returns the rank in the run of a member of a communicator. Of an inter-communicator it is one of the remote group.
    pub fn member_of_comm(&self, comm: CommRef, rank: Rank) -> Option<u64> {
        let comm = self.comm(comm)?;
        let group = if comm.remote == GroupId::UNKNOWN { comm.group } else { comm.remote };
        self.member(group, rank)
    }

    /// Returns the members of a group by the id that the events of this process use.
    pub fn group(&self, group: GroupRef) -> Option<&Group> {
        let global = self.groups.get(usize::try_from(group.0).ok()?)?;
        self.shared.group(GroupId(*global))
    }

    fn member(&self, group: GroupId, rank: Rank) -> Option<u64> {
        let group = self.shared.group(group).filter(|_| rank != Rank::UNDEFINED)?;
        match group.is_itself() {
            true => Some(self.process.rank),
            false => group.member(rank.0.into()).filter(|it| *it < self.size),
        }
    }

    /// Returns the place of a call by the id that the events of this process use: module and offset, and the path and build
    /// id of the module if it is known.
    pub fn place(&self, context: CallingContextRef) -> Option<(&Site, Option<&Module>)> {
        let id = usize::try_from(context.0).ok()?;
        let site = match self.stacks.get(id) {
            Some(stack) => *self.shared.stack(StackId(*stack))?.sites.last()?,
            None => SiteId(*self.sites.get(id)?),
        };
        let site = self.shared.site(site)?;
        Some((site, self.shared.module(site.module)))
    }

    /// Returns the calls that a thread was in when it began the chunk whose first event has this number, the outermost first.
    /// `None` if there were none, or if that chunk is none of its last.
    pub(crate) fn open_calls(&self, thread: u64, first: u64) -> Option<&[OpenCall]> {
        let known = self.open.get(&thread)?.iter().rfind(|it| it.0 == first)?;
        Some(&known.1)
    }

    /// Notes that an event uses an id of a space. Returns `true` if a fact defines it, or if facts were lost, so that
    /// one of these may have defined it.
    pub(crate) fn name(&mut self, space: MappingType, id: u64) -> bool {
        let ids = match space {
            MappingType::String => &self.texts,
            MappingType::Region => &self.regions,
            MappingType::Group => &self.groups,
            MappingType::Comm => &self.comms,
            MappingType::RmaWin => &self.windows,
            MappingType::Metric => &self.counters,
            MappingType::Parameter => &self.parameters,
            MappingType::CallingContext if self.stacks.is_empty() => &self.sites,
            MappingType::CallingContext => &self.stacks,
            _ => return true,
        };
        let Ok(id) = usize::try_from(id) else { return false };
        let defined = ids.get(id).is_some_and(|id| *id != u32::MAX);
        if !defined && (self.damage.is_empty() || id >= MOST) {
            return false;
        }
        let place = SPACES.iter().position(|it| *it == space);
        if let Some(named) = place.and_then(|at| self.named.get_mut(at)) {
            *named = (*named).max(id + 1);
        }
        true
    }

    /// Returns which ids events [use](ProcessFacts::name), for another copy of this process that is read later.
    pub(crate) fn named(&self) -> Named {
        Named { threads: self.process.threads.len() as u64, ids: self.named }
    }

    /// Restores the result of [`ProcessFacts::named`] in another copy of the process.
    pub(crate) fn name_again(&mut self, named: Option<&Named>) {
        if let Some(named) = named {
            self.named = named.ids;
        }
    }

    fn defined(&self, maps: &Maps) -> [(MappingType, Vec<u64>); SPACES.len()] {
        let through = |ids: &[u32], map: &dyn Fn(u32) -> u32| -> Vec<u64> {
            ids.iter().map(|id| u64::from(map(*id))).collect()
        };
        [
            // The texts are the first strings of the archive.
            (MappingType::String, through(&self.texts, &|id| at(maps.texts.as_slice(), id))),
            (MappingType::Region, through(&self.regions, &|id| at(maps.regions.as_slice(), id))),
            (MappingType::Group, through(&self.groups, &|id| at(maps.groups.as_slice(), id))),
            (MappingType::Comm, through(&self.comms, &|id| at(maps.comms.as_slice(), id))),
            (MappingType::RmaWin, through(&self.windows, &|id| at(maps.windows.as_slice(), id))),
            (MappingType::Metric, through(&self.counters, &|id| at(maps.counters.as_slice(), id))),
            (
                MappingType::Parameter,
                through(&self.parameters, &|id| at(maps.parameters.as_slice(), id)),
            ),
            // A process has the one or the other: see `definitions`.
            (
                MappingType::CallingContext,
                if self.stacks.is_empty() {
                    through(&self.sites, &|id| at(maps.sites.as_slice(), id))
                } else {
                    through(&self.stacks, &|id| at(maps.stacks.as_slice(), id))
                },
            ),
        ]
    }

    /// Returns a property of the process that is a number.
    pub(crate) fn number<N: std::str::FromStr>(&self, name: &str) -> Option<N> {
        self.numbers.iter().find(|(known, _)| known == name)?.1.parse().ok()
    }

    /// Moves the times of this process to the clock of the archive: by the measured offsets, or by `ahead` nanoseconds
    /// if nothing was measured. Must be called once, before the row and the clock offsets are used.
    pub fn shift(&mut self, ahead: i64) {
        let correction = ClockCorrection::of(&self.distances);
        let measured = !self.distances.is_empty();
        self.residual = correction.residual();
        correction.times().for_each(|time| self.split_clock(time));
        let by = |time: u64| if measured { correction.offset_at(time) } else { ahead };
        for (time, offset) in &mut self.clock {
            *offset = offset.wrapping_add(by(time.wrapping_add_signed(*offset)));
        }
        for time in [&mut self.process.begin, &mut self.process.end] {
            time.0 = time.0.wrapping_add_signed(by(time.0));
        }
    }

    /// Adds a clock offset at a time of the node's clock that lies between two readings of both clocks: the slope of
    /// the offset changes there.
    fn split_clock(&mut self, time: u64) {
        let of_node = |(recorder, ahead): (u64, i64)| recorder.wrapping_add_signed(ahead);
        let next = self.clock.partition_point(|pair| of_node(*pair) < time);
        let Some([before, after]) = self.clock.get(next.wrapping_sub(1)..next + 1) else { return };
        let (begin, end) = (of_node(*before), of_node(*after));
        if !(begin < time && time < end) {
            return;
        }
        let part = u128::from(after.0 - before.0) * u128::from(time - begin);
        let recorder = before.0 + (part / u128::from(end - begin)) as u64;
        if before.0 < recorder && recorder < after.0 {
            self.clock.insert(next, (recorder, time.wrapping_sub(recorder).cast_signed()));
        }
    }

    /// Returns three numbers in nanoseconds: the bound on the error of the times relative to those of rank 0, half of
    /// the shortest round trip to another node, and half of the shortest one on the same node; 0 where nothing was
    /// measured. The bound is known after [`ProcessFacts::shift`].
    pub fn doubt(&self) -> [u64; 3] {
        let least = |of: fn(&Distance) -> Option<u64>| self.distances.iter().filter_map(of).min();
        [self.residual, least(|it| it.half).unwrap_or(0), least(|it| it.near).unwrap_or(0)]
    }
}

/// Largest number of definitions of one kind in a stream.
const MOST: usize = 1 << 20;

/// Largest number of counters that are sampled together. Recorders have fewer; more are damage.
const MOST_COUNTERS: usize = 1024;

/// Number of chunks of a thread of which it is kept what was open when they began: those that are read of a run that has not
/// ended, and one for a thread that goes on meanwhile.
const OPEN_CHUNKS: usize = 3;

/// Largest number of threads of a process, which is the number that the recorder can record. Each gets two files.
const THREADS: usize = 4096;

fn at(map: &[u32], id: u32) -> u32 {
    map.get(id as usize).copied().unwrap_or(u32::MAX)
}

/// Stores a value at the position `id`. Ids come in ascending order unless the stream is damaged.
fn put(list: &mut Vec<u32>, id: u64, value: u32) {
    match usize::try_from(id) {
        Ok(id) if id < MOST => {
            list.resize(list.len().max(id + 1), u32::MAX);
            if let Some(place) = list.get_mut(id) {
                *place = value;
            }
        }
        _ => {}
    }
}
