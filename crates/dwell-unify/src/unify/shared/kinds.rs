//! The kinds of definitions: their contents, and how each kind is encoded.

use std::borrow::Cow;

use otf2::enums::{MetricMode, MetricType};

use super::super::group::Group;
use super::super::wire::{Damaged, Input, put, put_bytes, put_step, put_text};
use super::{CommId, Definition, GroupId, Maps, ModuleId, Shared, SiteId, TopologyId};

/// A machine that processes run on. Machines of the same name are one definition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host {
    /// Name of the host as the operating system states it.
    pub name: String,
}

/// A property of the run, such as the version of the runtime. Where processes differ in the value, each value is a
/// property of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Property {
    /// Name of the property, without the prefix that it has in the archive.
    pub name: String,
    /// Value of the property, as text.
    pub value: String,
}

/// A region: a function or another part of a program that threads enter and leave.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Region {
    /// Name of the region as the archive shows it.
    pub name: String,
    /// Description of the region, which states the [meaning](dwell_model::archive::Meaning) of a call of a runtime. May
    /// be empty.
    pub meaning: String,
    /// Role of the region, as a number of `OTF2_RegionRole`.
    pub role: u8,
    /// Paradigm of the region, as a number of `OTF2_Paradigm`.
    pub paradigm: u8,
}

/// A program or shared library that was loaded into a process. The addresses differ between processes and are therefore
/// not part of the definition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Module {
    /// Path of the file that it was loaded from.
    pub path: String,
    /// Build id that the linker wrote into the file, or empty if the file has none. It tells apart files that have the
    /// same path on different nodes.
    pub build_id: Vec<u8>,
}

/// A call site: the place in a module that a recorded call came from, or the line of a file of an interpreted language.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Site {
    /// The module that contains the call site, or [`ModuleId::UNKNOWN`]. Files of an interpreted language are modules here.
    pub module: ModuleId,
    /// The return address: relative to the module, or absolute if the module is unknown. In a file it is the line.
    pub offset: u64,
    /// Name of the function of an interpreted language, or empty for an address.
    pub function: String,
    /// Name of the wrapper library that the site calls and that made the recorded call, or empty if there is none.
    pub wrapper: String,
}

impl Site {
    /// Makes a call site without a wrapper.
    pub fn at(module: ModuleId, offset: u64) -> Self {
        Self { module, offset, function: String::new(), wrapper: String::new() }
    }
}

/// A communicator. Communicators of the same members are told apart by their `identity`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Comm {
    /// Group of its members, or [`GroupId::UNKNOWN`].
    pub group: GroupId,
    /// Remote group of an inter-communicator; [`GroupId::UNKNOWN`] for all others.
    pub remote: GroupId,
    /// Name of the communicator. May be empty.
    pub name: String,
    /// A number derived from the way in which the communicator was made. All its members compute the same.
    pub identity: u64,
}

/// A window: a context of a group of processes that one-sided operations belong to. An MPI window is one, and so is a
/// context of an OpenSHMEM team.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Window {
    /// Group of its processes, or [`GroupId::UNKNOWN`].
    pub group: GroupId,
    /// The communicator that the window was made from, or [`CommId::UNKNOWN`] if there is none.
    pub comm: CommId,
    /// Name of the window. May be empty.
    pub name: String,
    /// Distinguishes windows of the same group and name.
    pub context: u32,
}

/// A parameter: the program sets it to a value that holds from then on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Parameter {
    /// Name of the parameter as the program states it.
    pub name: String,
    /// Type of its values, as a number of `OTF2_ParameterType`.
    pub kind: u8,
}

/// A counter whose value the program reports from time to time, or the counters that the recorder samples together. In
/// the archive it is a metric class.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Counter {
    /// The counters that have a value in each record of the class: one if the program reports it.
    pub members: Vec<Member>,
    /// Set if the recorder samples them.
    pub is_sampled: bool,
}

/// One counter of a [`Counter`]. In the archive it is a metric member.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Member {
    /// Name of the counter, as the program states it or as the recorder calls it.
    pub name: String,
    /// Unit of its values. May be empty.
    pub unit: String,
    /// Type of its values, as a number of `OTF2_Type`.
    pub kind: u8,
    /// Origin of the counter, as a number of `OTF2_MetricType`.
    pub source: u8,
    /// Meaning of its values, as a number of `OTF2_MetricMode`.
    pub mode: u8,
}

impl Counter {
    /// Returns a counter whose value the program reports from time to time.
    pub fn of_program(name: &str, unit: &str, kind: u8) -> Self {
        let (source, mode) = (MetricType::User.into(), MetricMode::AbsolutePoint.into());
        let (name, unit) = (name.into(), unit.into());
        Self { members: vec![Member { name, unit, kind, source, mode }], is_sampled: false }
    }
}

/// A text that is the value of a parameter, so that events can refer to it by an id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text {
    /// The text itself; it may be empty.
    pub text: String,
}

/// A call path: call sites, the outermost first, where the function that contains each was called from the one before.
/// A list that has a stack also has every stack that it begins with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stack {
    /// The call sites, at least one.
    pub sites: Vec<SiteId>,
}

impl Definition for Stack {
    const LEAST: usize = 2;

    fn encode(&self, before: Option<&Self>, out: &mut Vec<u8>) {
        let before = before.map_or(&[][..], |stack| &stack.sites);
        let same = before.iter().zip(&self.sites).take_while(|(a, b)| a == b).count();
        put(out, same as u64);
        put(out, (self.sites.len() - same) as u64);
        for site in self.sites.iter().skip(same) {
            put(out, site.0.into());
        }
    }

    fn decode(input: &mut Input<'_>, before: Option<&Self>) -> Result<Self, Damaged> {
        let before = before.map_or(&[][..], |stack| &stack.sites);
        let same = input.small("beginning of a stack")? as usize;
        let same = before.get(..same).ok_or_else(|| input.fault("beginning of a stack"))?;
        let mut sites = same.to_vec();
        for _ in 0..input.count(1, "length of a stack")? {
            sites.push(SiteId(input.small("site of a stack")?));
        }
        Ok(Self { sites })
    }

    fn relinked(&self, maps: &Maps) -> Cow<'_, Self> {
        Cow::Owned(Self { sites: self.sites.iter().map(|site| maps.sites.apply(*site)).collect() })
    }

    fn is_linked(&self, shared: &Shared) -> bool {
        self.sites.len() <= crate::facts::DEPTH + 1
            && self.sites.iter().all(|site| shared.site(*site).is_some())
    }

    fn unlink(&mut self) {
        self.sites.clear();
    }

    fn heap(&self) -> usize {
        self.sites.capacity() * size_of::<SiteId>()
    }
}

/// A Cartesian topology: processes in a grid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Topology {
    /// Communicator whose ranks are in row-major order in the grid, or [`CommId::UNKNOWN`] for all processes of the run,
    /// each of which has a [`Coordinates`].
    pub comm: CommId,
    /// Name of the topology.
    pub name: String,
    /// Dimensions of the grid, the slowest first.
    pub dimensions: Vec<Dimension>,
}

/// A dimension of a [`Topology`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dimension {
    /// Number of places along the dimension.
    pub size: u32,
    /// Set if the last place is next to the first.
    pub is_periodic: bool,
}

/// Largest number of dimensions of a topology.
pub(crate) const MOST_DIMENSIONS: usize = 32;

/// The place of a process in a topology.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Coordinates {
    /// The topology, or [`TopologyId::UNKNOWN`].
    pub topology: TopologyId,
    /// Rank of the process.
    pub rank: u64,
    /// Coordinates, one for each dimension, counted from 0.
    pub at: Vec<u32>,
}

impl Definition for Topology {
    const LEAST: usize = 4;

    fn encode(&self, before: Option<&Self>, out: &mut Vec<u8>) {
        let last = before.map_or(0, |it| it.comm.0.wrapping_add(1));
        put_step(out, last.into(), self.comm.0.wrapping_add(1).into());
        put_text(out, before.map_or("", |it| &it.name), &self.name);
        put(out, self.dimensions.len() as u64);
        for it in &self.dimensions {
            put(out, u64::from(it.size) << 1 | u64::from(it.is_periodic));
        }
    }

    fn decode(input: &mut Input<'_>, before: Option<&Self>) -> Result<Self, Damaged> {
        let last = before.map_or(0, |it| it.comm.0.wrapping_add(1));
        let comm = input.step(last.into(), "communicator of a topology")?;
        let comm = u32::try_from(comm).map_err(|_| input.fault("communicator of a topology"))?;
        let name = input.text(before.map_or("", |it| &it.name), "name of a topology")?;
        let mut dimensions = Vec::new();
        for _ in 0..input.count(1, "number of dimensions")? {
            let number = input.number("dimension")?;
            let size = u32::try_from(number >> 1).map_err(|_| input.fault("dimension"))?;
            dimensions.push(Dimension { size, is_periodic: number & 1 == 1 });
        }
        Ok(Self { comm: CommId(comm.wrapping_sub(1)), name, dimensions })
    }

    fn relinked(&self, maps: &Maps) -> Cow<'_, Self> {
        match maps.comms.apply(self.comm) {
            comm if comm == self.comm => Cow::Borrowed(self),
            comm => Cow::Owned(Self { comm, ..self.clone() }),
        }
    }

    fn is_linked(&self, shared: &Shared) -> bool {
        self.comm == CommId::UNKNOWN || shared.comm(self.comm).is_some()
    }

    fn unlink(&mut self) {
        self.comm = CommId::UNKNOWN;
    }

    fn heap(&self) -> usize {
        self.name.capacity() + self.dimensions.capacity() * size_of::<Dimension>()
    }
}

impl Definition for Coordinates {
    const LEAST: usize = 3;

    fn encode(&self, before: Option<&Self>, out: &mut Vec<u8>) {
        let (topology, rank) = before.map_or((0, 0), |it| (it.topology.0.wrapping_add(1), it.rank));
        put_step(out, topology.into(), self.topology.0.wrapping_add(1).into());
        put_step(out, rank, self.rank);
        put(out, self.at.len() as u64);
        for it in &self.at {
            put(out, (*it).into());
        }
    }

    fn decode(input: &mut Input<'_>, before: Option<&Self>) -> Result<Self, Damaged> {
        let (topology, rank) = before.map_or((0, 0), |it| (it.topology.0.wrapping_add(1), it.rank));
        let topology = input.step(topology.into(), "topology of a place")?;
        let topology = u32::try_from(topology).map_err(|_| input.fault("topology of a place"))?;
        let rank = input.step(rank, "rank of a place")?;
        let mut at = Vec::new();
        for _ in 0..input.count(1, "number of coordinates")? {
            at.push(input.small("coordinate")?);
        }
        Ok(Self { topology: TopologyId(topology.wrapping_sub(1)), rank, at })
    }

    fn relinked(&self, maps: &Maps) -> Cow<'_, Self> {
        match maps.topologies.apply(self.topology) {
            topology if topology == self.topology => Cow::Borrowed(self),
            topology => Cow::Owned(Self { topology, ..self.clone() }),
        }
    }

    fn is_linked(&self, shared: &Shared) -> bool {
        self.topology == TopologyId::UNKNOWN || shared.topology(self.topology).is_some()
    }

    fn unlink(&mut self) {
        self.topology = TopologyId::UNKNOWN;
    }

    fn heap(&self) -> usize {
        self.at.capacity() * size_of::<u32>()
    }
}

impl Definition for Parameter {
    const LEAST: usize = 3;

    fn encode(&self, before: Option<&Self>, out: &mut Vec<u8>) {
        put_text(out, before.map_or("", |it| &it.name), &self.name);
        out.push(self.kind);
    }

    fn decode(input: &mut Input<'_>, before: Option<&Self>) -> Result<Self, Damaged> {
        Ok(Self {
            name: input.text(before.map_or("", |it| &it.name), "name of a parameter")?,
            kind: input.byte("kind of a parameter")?,
        })
    }

    fn heap(&self) -> usize {
        self.name.capacity()
    }
}

impl Definition for Counter {
    const LEAST: usize = 2;

    fn encode(&self, before: Option<&Self>, out: &mut Vec<u8>) {
        out.push(u8::from(self.is_sampled));
        put(out, self.members.len() as u64);
        let before = before.map_or(&[][..], |it| &it.members);
        for (at, it) in self.members.iter().enumerate() {
            let before = before.get(at);
            put_text(out, before.map_or("", |it| &it.name), &it.name);
            put_text(out, before.map_or("", |it| &it.unit), &it.unit);
            out.extend([it.kind, it.source, it.mode]);
        }
    }

    fn decode(input: &mut Input<'_>, before: Option<&Self>) -> Result<Self, Damaged> {
        let is_sampled = input.byte("kind of a class of counters")? != 0;
        let before = before.map_or(&[][..], |it| &it.members);
        let mut members = Vec::new();
        for at in 0..input.count(7, "number of counters of a class")? {
            let before = before.get(at);
            members.push(Member {
                name: input.text(before.map_or("", |it| &it.name), "name of a counter")?,
                unit: input.text(before.map_or("", |it| &it.unit), "unit of a counter")?,
                kind: input.byte("kind of a counter")?,
                source: input.byte("source of a counter")?,
                mode: input.byte("mode of a counter")?,
            });
        }
        Ok(Self { members, is_sampled })
    }

    fn heap(&self) -> usize {
        let texts = self.members.iter().map(|it| it.name.capacity() + it.unit.capacity());
        texts.sum::<usize>() + self.members.capacity() * size_of::<Member>()
    }
}

impl Definition for Text {
    const LEAST: usize = 2;

    fn encode(&self, before: Option<&Self>, out: &mut Vec<u8>) {
        put_text(out, before.map_or("", |it| &it.text), &self.text);
    }

    fn decode(input: &mut Input<'_>, before: Option<&Self>) -> Result<Self, Damaged> {
        Ok(Self { text: input.text(before.map_or("", |it| &it.text), "text")? })
    }

    fn heap(&self) -> usize {
        self.text.capacity()
    }
}

impl Definition for Host {
    const LEAST: usize = 2;

    fn encode(&self, before: Option<&Self>, out: &mut Vec<u8>) {
        put_text(out, before.map_or("", |host| &host.name), &self.name);
    }

    fn decode(input: &mut Input<'_>, before: Option<&Self>) -> Result<Self, Damaged> {
        Ok(Self { name: input.text(before.map_or("", |host| &host.name), "host")? })
    }

    fn heap(&self) -> usize {
        self.name.capacity()
    }
}

impl Definition for Property {
    const LEAST: usize = 4;

    fn encode(&self, before: Option<&Self>, out: &mut Vec<u8>) {
        put_text(out, before.map_or("", |property| &property.name), &self.name);
        put_text(out, before.map_or("", |property| &property.value), &self.value);
    }

    fn decode(input: &mut Input<'_>, before: Option<&Self>) -> Result<Self, Damaged> {
        Ok(Self {
            name: input.text(before.map_or("", |property| &property.name), "name of a property")?,
            value: input
                .text(before.map_or("", |property| &property.value), "value of a property")?,
        })
    }

    fn heap(&self) -> usize {
        self.name.capacity() + self.value.capacity()
    }
}

impl Definition for Region {
    const LEAST: usize = 6;

    fn encode(&self, before: Option<&Self>, out: &mut Vec<u8>) {
        put_text(out, before.map_or("", |region| &region.name), &self.name);
        put_text(out, before.map_or("", |region| &region.meaning), &self.meaning);
        out.extend([self.role, self.paradigm]);
    }

    fn decode(input: &mut Input<'_>, before: Option<&Self>) -> Result<Self, Damaged> {
        Ok(Self {
            name: input.text(before.map_or("", |region| &region.name), "name of a region")?,
            meaning: input.text(before.map_or("", |region| &region.meaning), "meaning")?,
            role: input.byte("role")?,
            paradigm: input.byte("paradigm of a region")?,
        })
    }

    fn heap(&self) -> usize {
        self.name.capacity() + self.meaning.capacity()
    }
}

impl Definition for Module {
    const LEAST: usize = 3;

    fn encode(&self, before: Option<&Self>, out: &mut Vec<u8>) {
        put_text(out, before.map_or("", |module| &module.path), &self.path);
        put_bytes(out, &self.build_id);
    }

    fn decode(input: &mut Input<'_>, before: Option<&Self>) -> Result<Self, Damaged> {
        Ok(Self {
            path: input.text(before.map_or("", |module| &module.path), "path of a module")?,
            build_id: input.bytes("build id")?.to_vec(),
        })
    }

    fn heap(&self) -> usize {
        self.path.capacity() + self.build_id.capacity()
    }
}

impl Definition for Site {
    const LEAST: usize = 6;

    fn encode(&self, before: Option<&Self>, out: &mut Vec<u8>) {
        let (module, offset) =
            before.map_or((0, 0), |site| (site.module.0.wrapping_add(1), site.offset));
        put_step(out, module.into(), self.module.0.wrapping_add(1).into());
        put_step(out, offset, self.offset);
        put_text(out, before.map_or("", |site| &site.function), &self.function);
        put_text(out, before.map_or("", |site| &site.wrapper), &self.wrapper);
    }

    fn decode(input: &mut Input<'_>, before: Option<&Self>) -> Result<Self, Damaged> {
        let (module, offset) =
            before.map_or((0, 0), |site| (site.module.0.wrapping_add(1), site.offset));
        let module = input.step(module.into(), "module of a site")?;
        let module = u32::try_from(module).map_err(|_| input.fault("module of a site"))?;
        let offset = input.step(offset, "offset of a site")?;
        let module = ModuleId(module.wrapping_sub(1));
        let function =
            input.text(before.map_or("", |site| &site.function), "function of a site")?;
        let wrapper = input.text(before.map_or("", |site| &site.wrapper), "wrapper of a site")?;
        Ok(Self { module, offset, function, wrapper })
    }

    fn relinked(&self, maps: &Maps) -> Cow<'_, Self> {
        Cow::Owned(Self { module: maps.modules.apply(self.module), ..self.clone() })
    }

    fn is_linked(&self, shared: &Shared) -> bool {
        self.module == ModuleId::UNKNOWN || shared.module(self.module).is_some()
    }

    fn unlink(&mut self) {
        self.module = ModuleId::UNKNOWN;
    }

    fn heap(&self) -> usize {
        self.function.capacity() + self.wrapper.capacity()
    }
}

impl Definition for Group {
    const LEAST: usize = 2;

    fn encode(&self, _: Option<&Self>, out: &mut Vec<u8>) {
        self.encode(out);
    }

    fn decode(input: &mut Input<'_>, _: Option<&Self>) -> Result<Self, Damaged> {
        Self::decode(input)
    }

    fn heap(&self) -> usize {
        size_of_val(self.runs())
    }
}

impl Definition for Comm {
    const LEAST: usize = 5;

    fn encode(&self, before: Option<&Self>, out: &mut Vec<u8>) {
        let last = before.map_or(0, |comm| comm.group.0.wrapping_add(1));
        put_step(out, last.into(), self.group.0.wrapping_add(1).into());
        let last = before.map_or(0, |comm| comm.remote.0.wrapping_add(1));
        put_step(out, last.into(), self.remote.0.wrapping_add(1).into());
        put_text(out, before.map_or("", |comm| &comm.name), &self.name);
        put(out, self.identity);
    }

    fn decode(input: &mut Input<'_>, before: Option<&Self>) -> Result<Self, Damaged> {
        let mut group = |last: Option<GroupId>, what| {
            let last = last.map_or(0, |group| group.0.wrapping_add(1));
            let group = input.step(last.into(), what)?;
            let group = u32::try_from(group).map_err(|_| input.fault(what))?;
            Ok(GroupId(group.wrapping_sub(1)))
        };
        Ok(Self {
            group: group(before.map(|comm| comm.group), "group of a communicator")?,
            remote: group(before.map(|comm| comm.remote), "other group of a communicator")?,
            name: input.text(before.map_or("", |comm| &comm.name), "name of a communicator")?,
            identity: input.number("identity of a communicator")?,
        })
    }

    fn relinked(&self, maps: &Maps) -> Cow<'_, Self> {
        let (group, remote) = (maps.groups.apply(self.group), maps.groups.apply(self.remote));
        Cow::Owned(Self { group, remote, ..self.clone() })
    }

    fn is_linked(&self, shared: &Shared) -> bool {
        let linked = |id| id == GroupId::UNKNOWN || shared.group(id).is_some();
        linked(self.group) && linked(self.remote)
    }

    fn unlink(&mut self) {
        (self.group, self.remote) = (GroupId::UNKNOWN, GroupId::UNKNOWN);
    }

    fn heap(&self) -> usize {
        self.name.capacity()
    }
}

impl Definition for Window {
    const LEAST: usize = 5;

    fn encode(&self, before: Option<&Self>, out: &mut Vec<u8>) {
        put_step(
            out,
            before.map_or(0, |window| window.group.0.wrapping_add(1)).into(),
            self.group.0.wrapping_add(1).into(),
        );
        put_step(
            out,
            before.map_or(0, |window| window.comm.0.wrapping_add(1)).into(),
            self.comm.0.wrapping_add(1).into(),
        );
        put_text(out, before.map_or("", |window| &window.name), &self.name);
        put(out, self.context.into());
    }

    fn decode(input: &mut Input<'_>, before: Option<&Self>) -> Result<Self, Damaged> {
        let group = before.map_or(0, |window| window.group.0.wrapping_add(1));
        let group = input.step(group.into(), "group of a window")?;
        let group = u32::try_from(group).map_err(|_| input.fault("group of a window"))?;
        let comm = before.map_or(0, |window| window.comm.0.wrapping_add(1));
        let comm = input.step(comm.into(), "communicator of a window")?;
        let comm = u32::try_from(comm).map_err(|_| input.fault("communicator of a window"))?;
        Ok(Self {
            group: GroupId(group.wrapping_sub(1)),
            comm: CommId(comm.wrapping_sub(1)),
            name: input.text(before.map_or("", |window| &window.name), "name of a window")?,
            context: input.small("context")?,
        })
    }

    fn relinked(&self, maps: &Maps) -> Cow<'_, Self> {
        let (group, comm) = (maps.groups.apply(self.group), maps.comms.apply(self.comm));
        if group == self.group && comm == self.comm {
            Cow::Borrowed(self)
        } else {
            Cow::Owned(Self { group, comm, ..self.clone() })
        }
    }

    fn is_linked(&self, shared: &Shared) -> bool {
        (self.group == GroupId::UNKNOWN || shared.group(self.group).is_some())
            && (self.comm == CommId::UNKNOWN || shared.comm(self.comm).is_some())
    }

    fn unlink(&mut self) {
        (self.group, self.comm) = (GroupId::UNKNOWN, CommId::UNKNOWN);
    }

    fn heap(&self) -> usize {
        self.name.capacity()
    }
}
