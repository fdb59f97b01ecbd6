//! Names of definitions by their ids: the tables behind `Region: "main" <3>` and `Remote: 1 ("PE 1" <1>)`.
//!
//! They grow definition by definition, in the order of the file. So a definition that refers to a later one shows it as
//! invalid, as `otf2-print` does. Most definitions have a string of the archive as their name; some names are composed
//! here.

use std::collections::{BTreeSet, HashMap};

use otf2::Definition;
use otf2::def::ClockProperties;
use otf2::enums::{GroupFlag, GroupType, Named};
use otf2::id::{
    CartTopologyRef, CommRef, GroupRef, Id, IoFileRef, IoParadigmRef, LocationRef, MetricRef,
    RefKind, RegionRef, RmaWinRef, SourceCodeLocationRef, StringRef,
};

use super::number;
use crate::terminal::visible_bytes;

/// Map from ids to values. Ids usually run 0, 1, 2 …, and then need no hashing.
#[derive(Debug)]
struct Table<T> {
    dense: Vec<T>,
    sparse: HashMap<u64, T>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { dense: Vec::new(), sparse: HashMap::new() }
    }
}

impl<T> Table<T> {
    fn insert(&mut self, id: u64, item: T) {
        let at = usize::try_from(id).unwrap_or(usize::MAX);
        if let Some(place) = self.dense.get_mut(at) {
            *place = item;
        } else if at == self.dense.len() {
            self.dense.push(item);
        } else {
            self.sparse.insert(id, item);
        }
    }

    fn get(&self, id: u64) -> Option<&T> {
        let dense = usize::try_from(id).ok().and_then(|at| self.dense.get(at));
        dense.or_else(|| self.sparse.get(&id))
    }
}

/// Name of a definition.
#[derive(Debug)]
enum Name {
    /// The definition has no name and is shown by its number.
    None,
    /// The name is a string of the archive.
    String(StringRef),
    /// The name is composed of several strings.
    Own(Box<[u8]>),
}

/// Members of a group, as far as ranks need them.
#[derive(Debug)]
struct Members {
    kind: GroupType,
    global: bool,
    members: Box<[u64]>,
    /// Group that maps the ranks to locations.
    locations: Option<u64>,
}

/// Object whose ranks a record refers to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Team {
    #[default]
    None,
    Comm(u64),
    Win(u64),
    Topology(u64),
}

/// Names of the definitions of an archive, and other definitions that are needed to print records.
#[derive(Debug, Default)]
pub(super) struct Names {
    strings: Table<Box<[u8]>>,
    names: HashMap<RefKind, Table<Name>>,
    paradigms: Table<Name>,
    groups: Table<Members>,
    /// Group of locations of each paradigm, by the code of the paradigm.
    paradigm_locations: Table<u64>,
    /// Group of each communicator, or both groups of an inter-communicator.
    comms: Table<(Option<u64>, Option<u64>)>,
    wins: Table<CommRef>,
    topologies: Table<CommRef>,
    metrics: Table<Box<[u64]>>,
    /// Locations in the order of the file.
    pub(super) locations: Vec<LocationRef>,
    /// Locations whose definition says that they have no events.
    pub(super) silent: BTreeSet<LocationRef>,
    /// Clock of the trace.
    pub(super) clock: Option<ClockProperties>,
}

impl Names {
    /// Adds a definition.
    pub(super) fn add(&mut self, definition: &Definition<'_>) {
        self.add_details(definition);
        let Some((kind, id)) = definition.key() else {
            return;
        };
        if let Definition::String(string) = definition
            && !string.id.is_undefined()
        {
            // Shown wherever it is referred to, so it is made visible once.
            self.strings.insert(id, visible_bytes(string.string.as_bytes()).into());
        }
        let name = self.name_of(definition);
        self.names.entry(kind).or_default().insert(id, name);
    }

    fn name_of(&self, definition: &Definition<'_>) -> Name {
        let own = |parts: &[&[u8]]| Name::Own(parts.concat().into());
        match definition {
            Definition::String(string) => Name::String(string.id),
            Definition::SystemTreeNode(node) => {
                own(&[self.text(node.class_name), b"::", self.text(node.name)])
            }
            Definition::SourceCodeLocation(place) => {
                // Signed, as in `otf2-print`.
                let line = place.line_number.cast_signed().to_string();
                own(&[self.text(place.file), b":", line.as_bytes()])
            }
            Definition::CallingContext(context) => {
                let region = self.raw(RegionRef::KIND, context.region.raw());
                let place = context.source_code_location;
                let file = self.raw(SourceCodeLocationRef::KIND, place.raw()).unwrap_or_default();
                let file = file.rsplit(|&b| b == b'/').next().unwrap_or_default();
                let at: &[u8] = if file.is_empty() { b"" } else { b"@" };
                own(&[region.unwrap_or(b"UNDEFINED"), at, file])
            }
            Definition::IoRegularFile(file) => own(&[b"file://", self.text(file.name)]),
            Definition::IoDirectory(directory) => {
                own(&[b"directory://", self.text(directory.name)])
            }
            Definition::IoHandle(handle) if self.text(handle.name).is_empty() => {
                let paradigm = self.raw(IoParadigmRef::KIND, handle.io_paradigm.raw());
                let file = match handle.file {
                    IoFileRef::UNDEFINED => Some(&b"UNDEFINED"[..]),
                    file => self.raw(IoFileRef::KIND, file.raw()),
                };
                own(&[b"[", paradigm.unwrap_or_default(), b"]", file.unwrap_or_default()])
            }
            other => other.name_ref().map_or(Name::None, |string| self.string(string)),
        }
    }

    fn add_details(&mut self, definition: &Definition<'_>) {
        match definition {
            Definition::ClockProperties(clock) => self.clock = Some(*clock),
            // One that is defined twice has its events once all the same.
            Definition::Location(location)
                if self.find(RefKind::Location, location.id.raw()).is_none() =>
            {
                self.locations.push(location.id);
                if location.number_of_events == 0 {
                    self.silent.insert(location.id);
                }
            }
            Definition::Paradigm(paradigm) => {
                let name = self.string(paradigm.name);
                self.paradigms.insert(u64::from(paradigm.paradigm.code()), name);
            }
            Definition::Group(group) => {
                let id = group.id.raw();
                let paradigm = u64::from(group.paradigm.code());
                if group.group_type == GroupType::CommLocations {
                    self.paradigm_locations.insert(paradigm, id);
                }
                let locations = self.paradigm_locations.get(paradigm).copied();
                let members = Members {
                    kind: group.group_type,
                    global: group.group_flags.contains(GroupFlag::GLOBAL_MEMBERS),
                    members: group.members.iter().collect(),
                    locations,
                };
                self.groups.insert(id, members);
            }
            Definition::Comm(comm) => {
                let group = self.ranks(comm.group);
                self.comms.insert(comm.id.raw(), (group, None));
            }
            Definition::InterComm(comm) => {
                let groups = (self.ranks(comm.group_a), self.ranks(comm.group_b));
                self.comms.insert(comm.id.raw(), groups);
            }
            Definition::RmaWin(win) => self.wins.insert(win.id.raw(), win.comm),
            Definition::CartTopology(topology) => {
                self.topologies.insert(topology.id.raw(), topology.communicator);
            }
            Definition::MetricClass(class) => {
                let members = class.metric_members.iter().map(Id::raw).collect();
                self.metrics.insert(class.id.raw(), members);
            }
            Definition::MetricInstance(instance) => {
                let class = self.metrics.get(instance.metric_class.raw());
                let members = class.cloned().unwrap_or_default();
                self.metrics.insert(instance.id.raw(), members);
            }
            _ => {}
        }
    }

    /// Returns the id of a group if its members have ranks.
    fn ranks(&self, group: GroupRef) -> Option<u64> {
        let found = self.groups.get(group.raw())?;
        matches!(found.kind, GroupType::CommGroup | GroupType::CommSelf).then_some(group.raw())
    }

    fn string(&self, id: StringRef) -> Name {
        match self.strings.get(id.raw()) {
            Some(_) => Name::String(id),
            None => Name::None,
        }
    }

    fn text(&self, id: StringRef) -> &[u8] {
        self.strings.get(id.raw()).map(|text| &**text).unwrap_or_default()
    }

    fn raw_name<'a>(&'a self, name: &'a Name) -> Option<&'a [u8]> {
        match name {
            Name::None => None,
            Name::String(id) => self.strings.get(id.raw()).map(|text| &**text),
            Name::Own(text) => Some(text),
        }
    }

    /// Returns the name of a definition without quotes and id.
    fn raw(&self, kind: RefKind, id: u64) -> Option<&[u8]> {
        self.raw_name(self.find(kind, id)?)
    }

    fn find(&self, kind: RefKind, id: u64) -> Option<&Name> {
        self.names.get(&kind)?.get(id)
    }

    fn label(&self, out: &mut Vec<u8>, name: &Name, id: u64) {
        match self.raw_name(name) {
            Some(text) => {
                out.push(b'"');
                out.extend_from_slice(text);
                out.extend_from_slice(b"\" <");
                number::unsigned(out, id);
                out.push(b'>');
            }
            None => number::unsigned(out, id),
        }
    }

    /// Writes `"name" <id>`, or that the id is invalid.
    pub(super) fn reference(&self, out: &mut Vec<u8>, kind: RefKind, id: u64) {
        match self.find(kind, id) {
            Some(name) => self.label(out, name, id),
            None => number::invalid(out, id),
        }
    }

    /// Writes a reference like [`reference`](Self::reference), for a field whose type does not tell whether it is
    /// undefined. The largest value is shown as undefined.
    pub(super) fn wide_reference(&self, out: &mut Vec<u8>, kind: RefKind, id: u64) {
        match id {
            u64::MAX => out.extend_from_slice(b"UNDEFINED"),
            id => self.reference(out, kind, id),
        }
    }

    /// Writes a reference like [`reference`](Self::reference), for a field of 32 bits whose largest value means
    /// undefined.
    pub(super) fn narrow_reference(&self, out: &mut Vec<u8>, kind: RefKind, id: u64) {
        let id = if id == u64::from(u32::MAX) { u64::MAX } else { id };
        self.wide_reference(out, kind, id);
    }

    /// Writes the name of a paradigm: from its definition, or else that of its constant.
    pub(super) fn paradigm(&self, out: &mut Vec<u8>, code: u32, constant: Option<&str>) {
        match (self.paradigms.get(u64::from(code)), constant) {
            (Some(name), _) => self.label(out, name, u64::from(code)),
            (None, Some(constant)) => out.extend_from_slice(constant.as_bytes()),
            (None, None) => number::invalid(out, u64::from(code)),
        }
    }

    /// Returns the members of a metric class or instance.
    pub(super) fn metric_members(&self, metric: MetricRef) -> &[u64] {
        self.metrics.get(metric.raw()).map(|members| &**members).unwrap_or_default()
    }

    /// Returns the location with this rank among all locations of a paradigm.
    pub(super) fn paradigm_location(&self, paradigm: u32, rank: u64) -> Option<u64> {
        let group = self.groups.get(*self.paradigm_locations.get(u64::from(paradigm))?)?;
        group.members.get(usize::try_from(rank).ok()?).copied()
    }

    /// Writes `rank ("name" <location>)`. `at` is the location whose record contains the rank.
    pub(super) fn rank(&self, out: &mut Vec<u8>, team: Team, at: Option<LocationRef>, rank: u32) {
        let location = self.rank_location(team, at, rank);
        self.rank_at(out, u64::from(rank), location);
    }

    /// Writes `rank ("name" <location>)`, or that the rank is invalid.
    pub(super) fn rank_at(&self, out: &mut Vec<u8>, rank: u64, location: Option<u64>) {
        number::unsigned(out, rank);
        out.extend_from_slice(b" (");
        match location {
            Some(location) => self.wide_reference(out, RefKind::Location, location),
            None => out.extend_from_slice(b"INVALID"),
        }
        out.push(b')');
    }

    fn rank_location(&self, team: Team, at: Option<LocationRef>, rank: u32) -> Option<u64> {
        let comm = match team {
            Team::None => return None,
            Team::Comm(id) => id,
            Team::Win(id) => self.wins.get(id)?.raw(),
            Team::Topology(id) => self.topologies.get(id)?.raw(),
        };
        let &(a, b) = self.comms.get(comm)?;
        let mine = self.groups.get(a?)?;
        let group = match b {
            // Between two groups, ranks are those of the other side.
            Some(other) if at.is_some_and(|at| self.holds(mine, at)) => self.groups.get(other)?,
            _ => mine,
        };
        if group.kind == GroupType::CommSelf {
            return if rank == 0 { Some(at.map_or(u64::MAX, |at| at.0)) } else { None };
        }
        let locations = &self.groups.get(group.locations?)?.members;
        let rank = usize::try_from(rank).ok()?;
        let global =
            if group.global { rank } else { usize::try_from(*group.members.get(rank)?).ok()? };
        locations.get(global).copied()
    }

    /// Returns `true` if a location is a member of a group of ranks.
    fn holds(&self, group: &Members, location: LocationRef) -> bool {
        let Some(locations) = group.locations.and_then(|id| self.groups.get(id)) else {
            return false;
        };
        group.members.iter().any(|&rank| {
            let at = usize::try_from(rank).ok();
            at.and_then(|at| locations.members.get(at)) == Some(&location.0)
        })
    }
}

impl Team {
    /// Returns the object to whose ranks a reference points, or `None` for other references.
    pub(super) fn from_ref(kind: RefKind, id: u64) -> Option<Self> {
        match kind {
            CommRef::KIND => Some(Self::Comm(id)),
            RmaWinRef::KIND => Some(Self::Win(id)),
            CartTopologyRef::KIND => Some(Self::Topology(id)),
            _ => None,
        }
    }
}
