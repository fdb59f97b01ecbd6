//! Processes, their locations and nodes, and the meaning of ranks.
//!
//! The module numbers processes and locations from 0 in the order of their ids, and the whole crate uses these numbers.
//! An archive may refer to something that it does not define: such a reference is `None`, and only the records that use
//! it are lost.

use std::collections::{BTreeMap, HashMap};

use dwell_model::cores::Cores;
use otf2::Definition;
use otf2::enums::{GroupFlag, GroupType, LocationType, Paradigm};
use otf2::id::{
    CommRef, GroupRef, LocationGroupRef, LocationRef, Rank, RmaWinRef, SystemTreeNodeRef,
};
use otf2::read::Definitions;
use serde::{Deserialize, Serialize, Serializer};

use crate::crowds::{self, Crowd, Room};
use crate::ids::{ContextNumber, LocationNumber, NodeNumber, Ordinal, ProcessNumber};
use crate::parties;

/// Greatest size of a group that is kept for synchronisation between partners.
const MOST_PARTNERS: usize = 4096;

/// A process of the measured program, in the 16 bytes that every rank of an analysis keeps of every process.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Process {
    /// Number of the node that the process ran on.
    pub node: NodeNumber,
    /// First location of the process. The locations of a process are numbered consecutively.
    pub first: LocationNumber,
    /// Number of locations of the process, without those for metrics.
    pub count: u32,
    /// Whether the process has enough cores or shares them with other processes.
    pub room: Room,
}

const _: () = assert!(size_of::<Process>() == 16);

impl Process {
    /// Returns the places of the locations in lists of all locations.
    pub fn locations(&self) -> std::ops::Range<usize> {
        self.first.index()..self.first.index() + self.count as usize
    }
}

/// Description of a process in reports.
#[derive(Debug, Serialize, Deserialize)]
pub struct Title {
    /// Name of the location group, or `process N` if the archive does not define one.
    pub name: String,
    /// Parent of the process in the system tree of the archive.
    pub parent: SystemTreeNodeRef,
}

/// A location, which is a thread of a process.
#[derive(Debug)]
pub struct Place {
    /// Id of the location in the archive.
    pub id: LocationRef,
    /// Name of the location; empty if the archive does not define one.
    pub name: String,
    /// Number of events according to the definitions.
    pub events: u64,
}

/// Mapping of the ranks of a communicator to processes.
#[derive(Debug, Serialize, Deserialize)]
pub enum Ranks {
    /// Rank r is process r.
    Identity(u32),
    /// Rank r is process `table[r]`.
    Table(Vec<Option<ProcessNumber>>),
    /// The communicator has the calling process only.
    Itself,
    /// Rank r is the r-th process of the other group of an intercommunicator.
    Between([Vec<Option<ProcessNumber>>; 2]),
}

impl Ranks {
    /// Returns the process of a rank in a record of process `me`.
    #[inline(always)]
    pub fn process(&self, rank: Rank, me: ProcessNumber) -> Option<ProcessNumber> {
        match self {
            Self::Identity(count) => (rank.0 < *count).then_some(ProcessNumber(rank.0)),
            Self::Table(table) => table.get(rank.0 as usize).copied().flatten(),
            Self::Itself => Some(me),
            Self::Between([first, second]) => {
                let other = if first.contains(&Some(me)) { second } else { first };
                other.get(rank.0 as usize).copied().flatten()
            }
        }
    }
}

/// A group of processes that acts together: a communicator, or the communicator of a window.
#[derive(Debug, Serialize, Deserialize)]
pub struct Context {
    /// Mapping of ranks in records to processes.
    pub ranks: Ranks,
    /// Members by rank; `None` for all processes in their order.
    pub members: Option<Vec<ProcessNumber>>,
    /// Number of processes in the group.
    pub size: u32,
}

impl Context {
    /// Returns the two groups of an intercommunicator, and `None` for any other communicator.
    pub fn sides(&self) -> Option<&[Vec<Option<ProcessNumber>>; 2]> {
        match &self.ranks {
            Ranks::Between(sides) => Some(sides),
            _ => None,
        }
    }

    /// Returns `true` if a process belongs to the group.
    pub fn contains(&self, process: ProcessNumber) -> bool {
        match &self.members {
            None => process.0 < self.size,
            Some(members) => members.contains(&process),
        }
    }

    /// Returns all processes of the group.
    pub fn processes(&self) -> impl Iterator<Item = ProcessNumber> {
        let all = if self.members.is_none() { 0..self.size } else { 0..0 };
        self.members.iter().flatten().copied().chain(all.map(ProcessNumber))
    }
}

/// Processes, locations and nodes, and the groups that they form. Some parts are known only to the rank of the analysis
/// that has read the definitions; at other ranks, these lists are empty.
#[derive(Debug, Serialize, Deserialize)]
pub struct System {
    /// Processes in the order of [`ProcessNumber`], without location groups that have metric locations only.
    pub processes: Vec<Process>,
    /// Names of the processes. Other ranks know them if the rows of the communication matrix are processes.
    #[serde(serialize_with = "if_few")]
    pub titles: Vec<Title>,
    /// Locations, which other ranks do not know.
    #[serde(skip)]
    pub places: Vec<Place>,
    /// Names of the nodes.
    pub nodes: Vec<String>,
    /// Nodes with more processes than cores, by number of the node.
    pub crowds: BTreeMap<NodeNumber, Crowd>,
    /// Members of small groups.
    groups: HashMap<GroupRef, Vec<ProcessNumber>>,
    contexts: Vec<Context>,
    comms: HashMap<CommRef, ContextNumber>,
    /// Context and memory of each window.
    windows: HashMap<RmaWinRef, (ContextNumber, u16)>,
}

impl System {
    /// Builds the system from the definitions of an archive. A process is a location group that has other locations
    /// than metric locations.
    pub fn of(defs: &Definitions) -> Self {
        let mut groups: BTreeMap<LocationGroupRef, Vec<otf2::def::Location>> = BTreeMap::new();
        for location in defs.locations() {
            if !matches!(location.location_type, LocationType::Metric) {
                groups.entry(location.location_group).or_default().push(location);
            }
        }
        let mut nodes: Vec<String> = Vec::new();
        let mut node_of: HashMap<SystemTreeNodeRef, NodeNumber> = HashMap::new();
        // Cores that each process may use, for finding nodes with more processes than cores.
        let mut cores = crowds::cores(defs);
        let mut cores_of: BTreeMap<NodeNumber, Vec<(ProcessNumber, Cores)>> = BTreeMap::new();
        let (mut processes, mut titles, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for (id, mut locations) in groups {
            locations.sort_by_key(|location| location.id);
            let group = defs.location_group(id);
            let parent = group.map_or(SystemTreeNodeRef::UNDEFINED, |it| it.system_tree_parent);
            let node = *node_of.entry(parent).or_insert_with(|| {
                let name = defs.system_tree_node(parent).and_then(|it| defs.string(it.name));
                nodes.push(name.map_or_else(|| "unknown node".into(), |name| name.to_string()));
                NodeNumber(nodes.len() as u32 - 1)
            });
            let name = group.and_then(|it| defs.string(it.name));
            let number = ProcessNumber(processes.len() as u32);
            if let Some(cores) = cores.remove(&id) {
                cores_of.entry(node).or_default().push((number, cores));
            }
            let name =
                name.map_or_else(|| format!("process {}", number.0), |name| name.to_string());
            titles.push(Title { name, parent });
            processes.push(Process {
                node,
                first: LocationNumber(places.len() as u32),
                count: locations.len() as u32,
                room: Room::Enough,
            });
            places.extend(locations.iter().map(|location| Place {
                id: location.id,
                name: defs.string(location.name).map(|it| it.to_string()).unwrap_or_default(),
                events: location.number_of_events,
            }));
        }
        let mut system = Self {
            processes,
            titles,
            places,
            nodes,
            crowds: BTreeMap::new(),
            groups: HashMap::new(),
            contexts: Vec::new(),
            comms: HashMap::new(),
            windows: HashMap::new(),
        };
        system.contexts(defs);
        cores_of.iter().for_each(|(&node, cores)| system.crowd(node, cores));
        system
    }

    /// Records whether the processes of a node have enough cores.
    fn crowd(&mut self, node: NodeNumber, cores: &[(ProcessNumber, Cores)]) {
        let (worst, crowded) = crowds::crowd(cores);
        for process in crowded {
            if let Some(process) = self.processes.get_mut(process.index()) {
                process.room = Room::Crowded;
            }
        }
        if let Some((processes, cores)) = worst {
            let node_name = self.nodes.get(node.index()).cloned().unwrap_or_default();
            self.crowds.insert(node, Crowd { node: node_name, processes, cores });
        }
    }

    /// Returns whether a process has enough cores or shares them with other processes.
    #[inline]
    pub fn room(&self, process: ProcessNumber) -> Room {
        self.processes.get(process.index()).map_or(Room::Enough, |it| it.room)
    }

    fn contexts(&mut self, defs: &Definitions) {
        let processes = (0..).map(ProcessNumber).zip(&self.processes);
        let of_process = |(number, process): (ProcessNumber, &Process)| {
            let places = self.places.get(process.locations()).unwrap_or_default();
            places.iter().map(move |place| (place.id.0, number))
        };
        let by_id: HashMap<u64, ProcessNumber> = processes.flat_map(of_process).collect();
        // Ranks of each paradigm, given by the members of its group of communicating locations.
        let mut world: HashMap<Paradigm, Vec<Option<ProcessNumber>>> = HashMap::new();
        for definition in defs.iter() {
            if let Definition::Group(group) = definition
                && group.group_type == GroupType::CommLocations
            {
                let members = group.members.iter().map(|id| by_id.get(&id).copied()).collect();
                world.entry(group.paradigm).or_insert(members);
            }
        }
        for definition in defs.iter() {
            if let Definition::Group(group) = definition
                && group.group_type == GroupType::CommGroup
                && group.members.len() <= MOST_PARTNERS
                && let Some(table) = world.get(&group.paradigm)
            {
                let process = |rank: u64| table.get(usize::try_from(rank).ok()?).copied().flatten();
                self.groups.insert(group.id, group.members.iter().filter_map(process).collect());
            }
        }
        let mut comms: Vec<(CommRef, GroupRef)> = Vec::new();
        let mut windows: Vec<(RmaWinRef, CommRef)> = Vec::new();
        for definition in defs.iter() {
            match definition {
                Definition::Comm(comm) => comms.push((comm.id, comm.group)),
                Definition::RmaWin(win) => windows.push((win.id, win.comm)),
                _ => {}
            }
        }
        for (comm, group) in comms {
            if let Some(context) = self.context_of(defs, group, &world) {
                self.contexts.push(context);
                let number = ContextNumber(self.contexts.len() as u32 - 1);
                self.comms.insert(comm, number);
            }
        }
        for definition in defs.iter() {
            if let Definition::InterComm(comm) = definition
                && let Some(context) = between(defs, comm.group_a, comm.group_b, &world)
            {
                self.contexts.push(context);
                let number = ContextNumber(self.contexts.len() as u32 - 1);
                self.comms.insert(comm.id, number);
            }
        }
        for (win, comm) in windows {
            if let Some(&context) = self.comms.get(&comm) {
                let memory = u16::try_from(win.0).unwrap_or(u16::MAX);
                self.windows.insert(win, (context, memory));
            }
        }
    }

    fn context_of(
        &self,
        defs: &Definitions,
        group: GroupRef,
        world: &HashMap<Paradigm, Vec<Option<ProcessNumber>>>,
    ) -> Option<Context> {
        let group = defs.group(group)?;
        let all = self.processes.len() as u32;
        if group.group_type == GroupType::CommSelf {
            return Some(Context { ranks: Ranks::Itself, members: Some(Vec::new()), size: 1 });
        }
        let table = world.get(&group.paradigm);
        let of_world = |rank: u64| {
            let rank = usize::try_from(rank).ok()?;
            table.and_then(|table| table.get(rank).copied().flatten())
        };
        let members: Vec<Option<ProcessNumber>> = group.members.iter().map(of_world).collect();
        let known: Vec<ProcessNumber> = members.iter().copied().flatten().collect();
        let size = known.len() as u32;
        let in_order = |list: &[Option<ProcessNumber>]| {
            list.len() as u32 == all
                && (0..).zip(list).all(|(at, it)| *it == Some(ProcessNumber(at)))
        };
        // Ranks of a group with global members are ranks of the world.
        let ranks = match table {
            Some(table) if group.group_flags.contains(GroupFlag::GLOBAL_MEMBERS) => table.clone(),
            _ => members.clone(),
        };
        let ranks = if in_order(&ranks) { Ranks::Identity(all) } else { Ranks::Table(ranks) };
        let members = if in_order(&members) { None } else { Some(known) };
        Some(Context { ranks, members, size })
    }

    /// Returns the members of a group, or `None` if the group is too large for synchronisation between partners.
    pub fn group(&self, group: GroupRef) -> Option<&[ProcessNumber]> {
        self.groups.get(&group).map(Vec::as_slice)
    }

    /// Returns the numbers of the context and of the memory of a window.
    pub fn window(&self, win: RmaWinRef) -> Option<(ContextNumber, u16)> {
        self.windows.get(&win).copied()
    }

    /// Returns the number of the context of a communicator.
    pub fn comm(&self, comm: CommRef) -> Option<ContextNumber> {
        self.comms.get(&comm).copied()
    }

    /// Returns a context by its number.
    pub fn context(&self, number: ContextNumber) -> Option<&Context> {
        self.contexts.get(number.index())
    }

    /// Returns the process of a location, or [`ProcessNumber::UNKNOWN`] for an unknown location.
    #[inline]
    pub fn process(&self, location: LocationNumber) -> ProcessNumber {
        // Most processes have one location.
        let number = ProcessNumber(location.0);
        if self
            .processes
            .get(number.index())
            .is_some_and(|it| it.first == location && it.count == 1)
        {
            return number;
        }
        let after = self.processes.partition_point(|it| it.first <= location);
        let at = after.wrapping_sub(1);
        match self.processes.get(at) {
            Some(process) if process.locations().contains(&location.index()) => {
                ProcessNumber(at as u32)
            }
            _ => ProcessNumber::UNKNOWN,
        }
    }

    /// Returns the number of all locations.
    pub fn locations(&self) -> usize {
        self.processes.last().map_or(0, |it| it.locations().end)
    }

    /// Returns the name of a process.
    pub fn name(&self, process: ProcessNumber) -> Option<&str> {
        self.titles.get(process.index()).map(|it| it.name.as_str())
    }

    /// Returns the node of a process, and 0 for an unknown process.
    pub fn node(&self, process: ProcessNumber) -> NodeNumber {
        self.processes.get(process.index()).map_or(NodeNumber(0), |it| it.node)
    }
}

/// Writes a list that has an element for each process, or an empty one if there are too many processes.
fn if_few<T: Serialize, S: Serializer>(list: &[T], to: S) -> Result<S::Ok, S::Error> {
    let list = if list.len() > parties::MOST { &[] } else { list };
    list.serialize(to)
}

/// Returns the context of an intercommunicator between two groups.
fn between(
    defs: &Definitions,
    first: GroupRef,
    second: GroupRef,
    world: &HashMap<Paradigm, Vec<Option<ProcessNumber>>>,
) -> Option<Context> {
    let side = |group: GroupRef| {
        let group = defs.group(group).filter(|it| it.group_type == GroupType::CommGroup)?;
        let table = world.get(&group.paradigm)?;
        let process = |rank: u64| table.get(usize::try_from(rank).ok()?).copied().flatten();
        Some(group.members.iter().map(process).collect::<Vec<_>>())
    };
    let sides = [side(first)?, side(second)?];
    let members: Vec<ProcessNumber> = sides.iter().flatten().copied().flatten().collect();
    let size = members.len() as u32;
    Some(Context { ranks: Ranks::Between(sides), members: Some(members), size })
}
