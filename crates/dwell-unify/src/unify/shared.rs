//! Definitions that many processes have in common.

use std::borrow::Cow;
use std::hash::Hash;

use otf2::enums::{MetricMode, MetricType};

use super::group::Group;
use super::maps::{Id, Map};
use super::table::Table;
use super::wire::{Damaged, Input, put, put_bytes, put_step, put_text};

/// First byte of encoded definitions. To be raised when the layout changes.
const VERSION: u8 = 5;

/// Operations that every kind of definition has: encoding, decoding, and replacing the ids that it refers to.
trait Definition: Clone + Eq + Ord + Hash {
    /// Least number of bytes that a definition of the kind takes in a message.
    const LEAST: usize;

    fn encode(&self, before: Option<&Self>, out: &mut Vec<u8>);

    fn decode(input: &mut Input<'_>, before: Option<&Self>) -> Result<Self, Damaged>;

    /// Returns the definition with every id that it refers to replaced by its image.
    fn relinked(&self, _maps: &Maps) -> Cow<'_, Self> {
        Cow::Borrowed(self)
    }

    /// Returns `true` if `shared` has every definition that this one refers to.
    fn is_linked(&self, _shared: &Shared) -> bool {
        true
    }

    /// Makes all references unknown.
    fn unlink(&mut self) {}

    /// Returns the bytes of heap memory that the definition owns.
    fn heap(&self) -> usize;
}

/// Generates what all kinds of definitions have in common. A kind must stand after the kinds that it refers to.
macro_rules! kinds {
    ($($(#[$doc:meta])* $list:ident, $one:ident, $add:ident: $Type:ident as $Id:ident;)*) => {
        $(
            #[doc = concat!("The id of a [`", stringify!($Type), "`]: its position in the list of its kind, counted from 0.")]
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub struct $Id(pub u32);

            impl $Id {
                /// Stands for a definition that is not known, in references that allow it.
                pub const UNKNOWN: Self = Self(u32::MAX);
            }

            impl Id for $Id {
                fn new(position: u32) -> Self {
                    Self(position)
                }

                fn position(self) -> u32 {
                    self.0
                }
            }
        )*

        /// The definitions of one process, or of several processes merged into one list for each kind.
        ///
        /// An id is a position in the list of its kind. Equal definitions have one id. Definitions that must be told
        /// apart must differ in content: two windows of the same group, for instance, in name or context, and in the
        /// same way at every process that has them.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Shared {
            $($list: Table<$Type>,)*
        }

        impl Shared {
            $(
                $(#[$doc])*
                pub fn $list(&self) -> &[$Type] {
                    self.$list.items()
                }

                #[doc = concat!(
                    "Returns the definition that an id of [`", stringify!($list), "`](Self::", stringify!($list),
                    ") stands for, or `None` if the list has no such id.")]
                pub fn $one(&self, id: $Id) -> Option<&$Type> {
                    self.$list.get(id.0)
                }

                #[doc = concat!(
                    "Adds a definition to [`", stringify!($list), "`](Self::", stringify!($list),
                    ") unless an equal one is there, and returns its id. If the definition refers to another ",
                    "one that is not in this list, its references become unknown.")]
                pub fn $add(&mut self, mut definition: $Type) -> $Id {
                    if !definition.is_linked(self) {
                        definition.unlink();
                    }
                    $Id(self.$list.place(Cow::Owned(definition), u32::MAX))
                }
            )*

            /// Returns the number of definitions of each kind.
            pub fn counts(&self) -> Counts {
                Counts { $($list: self.$list.len(),)* }
            }

            /// Adds the definitions of `other` and returns the id that each of them has here. Ids that were valid
            /// before stay valid: new definitions come last. The time depends on the length of `other`, and on that of
            /// this list only when its hash table must grow.
            pub fn merge(&mut self, other: &Self) -> Maps {
                let mut maps = Maps::default();
                $(
                    let (mut map, mut place) = (Map::default(), u32::MAX);
                    for definition in other.$list.items() {
                        place = self.$list.place(definition.relinked(&maps), place.wrapping_add(1));
                        map.push(place);
                    }
                    maps.$list = map;
                )*
                maps
            }

            /// Finds each definition of `other` in this list without adding any. Definitions that are not here have no
            /// image in the result. The list is borrowed mutably because it may build its hash table first.
            pub fn locate(&mut self, other: &Self) -> Maps {
                let mut maps = Maps::default();
                $(
                    let mut map = Map::default();
                    for definition in other.$list.items() {
                        let definition = definition.relinked(&maps);
                        map.push(self.$list.position(&definition).unwrap_or(u32::MAX));
                    }
                    maps.$list = map;
                )*
                maps
            }

            /// Sorts the definitions by content, and returns them with the maps from the old ids to the new ones. The
            /// result does not depend on the order in which the definitions were added or merged.
            pub fn canonical(self) -> (Self, Maps) {
                let mut maps = Maps::default();
                $(
                    let (sorted, map) = sort(self.$list.into_items(), &maps);
                    let $list = Table::from(sorted);
                    maps.$list = map;
                )*
                (Self { $($list,)* }, maps)
            }

            /// Encodes the definitions for a message; see the [module](super) for the layout.
            pub fn encode(&self) -> Vec<u8> {
                let mut out = vec![VERSION];
                $(encode_list(self.$list.items(), &mut out);)*
                out
            }

            /// Reads definitions that [`encode`](Self::encode) wrote.
            ///
            /// # Errors
            /// If the version is unknown, if a definition refers to one that is not there, or if the bytes have another
            /// layout. Decoding takes no more memory than about 200 times the length of the bytes, whatever these
            /// contain.
            pub fn decode(bytes: &[u8]) -> Result<Self, Damaged> {
                let mut input = Input::new(bytes);
                if input.byte("version")? != VERSION {
                    return Err(Damaged { what: "known version", offset: 0 });
                }
                let mut shared = Self::default();
                $(shared.$list = decode_list(&mut input, &shared)?;)*
                input.end()?;
                Ok(shared)
            }

            /// Estimates the bytes of memory that the definitions take.
            pub fn memory(&self) -> usize {
                let mut sum = size_of::<Self>();
                $(
                    sum += self.$list.memory();
                    sum += self.$list.items().iter().map($Type::heap).sum::<usize>();
                )*
                sum
            }
        }

        /// Maps from the ids of one [`Shared`] to those of another, for each kind of definition.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Maps {
            $(
                $(#[$doc])*
                pub $list: Map<$Id>,
            )*
        }

        impl Maps {
            /// Makes the maps that leave every id as it is, for a list with `counts` definitions.
            pub fn identity(counts: &Counts) -> Self {
                Self { $($list: Map::identity(counts.$list),)* }
            }

            /// Composes maps: the result applies these maps first and `next` to their images.
            #[must_use]
            pub fn then(&self, next: &Self) -> Self {
                Self { $($list: self.$list.then(&next.$list),)* }
            }

            /// Returns the number of ids of each kind that the maps translate.
            pub fn counts(&self) -> Counts {
                Counts { $($list: self.$list.len(),)* }
            }

            /// Returns `true` if every id of every kind is its own image.
            pub fn is_identity(&self) -> bool {
                true $(&& self.$list.is_identity())*
            }

            /// Returns `true` if every id of every kind has an image.
            pub fn is_total(&self) -> bool {
                true $(&& self.$list.is_total())*
            }

            /// Encodes the maps for a message; see the [module](super) for the layout.
            pub fn encode(&self) -> Vec<u8> {
                let mut out = Vec::new();
                self.encode_into(&mut out);
                out
            }

            pub(super) fn encode_into(&self, out: &mut Vec<u8>) {
                $(self.$list.encode(out);)*
            }

            /// Reads maps that [`encode`](Self::encode) wrote for a list with `counts` definitions.
            ///
            /// # Errors
            /// If the bytes are not maps of exactly that number of definitions.
            pub fn decode(bytes: &[u8], counts: &Counts) -> Result<Self, Damaged> {
                let mut input = Input::new(bytes);
                let maps = Self::decode_from(&mut input, counts)?;
                input.end()?;
                Ok(maps)
            }

            pub(super) fn decode_from(
                input: &mut Input<'_>,
                counts: &Counts,
            ) -> Result<Self, Damaged> {
                Ok(Self { $($list: Map::decode(input, counts.$list)?,)* })
            }
        }

        /// A number for each kind of definition, such as the lengths of the lists of a [`Shared`].
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counts {
            $(
                $(#[$doc])*
                pub $list: usize,
            )*
        }

        impl Counts {
            /// Returns the number of definitions of all kinds together.
            pub fn total(&self) -> usize {
                0 $(+ self.$list)*
            }
        }
    };
}

kinds! {
    /// Machines that processes ran on, which become nodes of the system tree.
    hosts, host, add_host: Host as HostId;
    /// Properties of the run that are not in its events, such as the version of the runtime.
    properties, property, add_property: Property as PropertyId;
    /// Regions: functions and other parts of a program that threads enter and leave.
    regions, region, add_region: Region as RegionId;
    /// Modules: the programs and shared libraries that contain call sites.
    modules, module, add_module: Module as ModuleId;
    /// Call sites: return addresses of recorded calls.
    sites, site, add_site: Site as SiteId;
    /// Groups of processes, of communicators and of windows.
    groups, group, add_group: Group as GroupId;
    /// Communicators that the program uses.
    comms, comm, add_comm: Comm as CommId;
    /// Windows: contexts of groups that one-sided operations belong to.
    windows, window, add_window: Window as WindowId;
    /// Parameters that the program sets through the user API.
    parameters, parameter, add_parameter: Parameter as ParameterId;
    /// Counters that the program reports through the user API, and counters that the recorder samples.
    counters, counter, add_counter: Counter as CounterId;
    /// Texts that are values of parameters.
    texts, text, add_text: Text as TextId;
    /// Call paths: call sites, each with the call sites of the functions around it.
    stacks, stack, add_stack: Stack as StackId;
}

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

/// A call site: the place in a module that a recorded call came from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Site {
    /// The module that contains the call site, or [`ModuleId::UNKNOWN`].
    pub module: ModuleId,
    /// The return address: relative to the module, or absolute if the module is unknown.
    pub offset: u64,
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
    const LEAST: usize = 2;

    fn encode(&self, before: Option<&Self>, out: &mut Vec<u8>) {
        let (module, offset) =
            before.map_or((0, 0), |site| (site.module.0.wrapping_add(1), site.offset));
        put_step(out, module.into(), self.module.0.wrapping_add(1).into());
        put_step(out, offset, self.offset);
    }

    fn decode(input: &mut Input<'_>, before: Option<&Self>) -> Result<Self, Damaged> {
        let (module, offset) =
            before.map_or((0, 0), |site| (site.module.0.wrapping_add(1), site.offset));
        let module = input.step(module.into(), "module of a site")?;
        let module = u32::try_from(module).map_err(|_| input.fault("module of a site"))?;
        let offset = input.step(offset, "offset of a site")?;
        Ok(Self { module: ModuleId(module.wrapping_sub(1)), offset })
    }

    fn relinked(&self, maps: &Maps) -> Cow<'_, Self> {
        Cow::Owned(Self { module: maps.modules.apply(self.module), ..*self })
    }

    fn is_linked(&self, shared: &Shared) -> bool {
        self.module == ModuleId::UNKNOWN || shared.module(self.module).is_some()
    }

    fn unlink(&mut self) {
        self.module = ModuleId::UNKNOWN;
    }

    fn heap(&self) -> usize {
        0
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

fn encode_list<T: Definition>(list: &[T], out: &mut Vec<u8>) {
    put(out, list.len() as u64);
    let mut before = None;
    for definition in list {
        Definition::encode(definition, before, out);
        before = Some(definition);
    }
}

/// `shared` has the kinds that this kind may refer to.
fn decode_list<T: Definition>(input: &mut Input<'_>, shared: &Shared) -> Result<Table<T>, Damaged> {
    let count = input.count(T::LEAST, "number of definitions")?;
    let mut list: Vec<T> = Vec::with_capacity(count);
    for _ in 0..count {
        let definition = <T as Definition>::decode(input, list.last())?;
        if !definition.is_linked(shared) {
            return Err(input.fault("definition to refer to"));
        }
        list.push(definition);
    }
    Ok(Table::from(list))
}

/// Sorts a list whose references go through `maps`, which are in their final order already.
fn sort<T: Definition, I: Id>(list: Vec<T>, maps: &Maps) -> (Vec<T>, Map<I>) {
    let mut places = vec![u32::MAX; list.len()];
    let relinked = list.into_iter().map(|definition| match definition.relinked(maps) {
        Cow::Owned(other) => other,
        Cow::Borrowed(_) => definition,
    });
    let mut order: Vec<(T, usize)> = relinked.zip(0..).collect();
    // The stable sort is the one that is fast on lists that are sorted in parts.
    order.sort();
    let mut sorted: Vec<T> = Vec::with_capacity(order.len());
    for (definition, from) in order {
        // Equal ones come from damaged lists only.
        if sorted.last() != Some(&definition) {
            sorted.push(definition);
        }
        if let Some(place) = places.get_mut(from) {
            *place = (sorted.len() - 1) as u32;
        }
    }
    (sorted, Map::from(places))
}
