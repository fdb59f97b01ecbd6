//! Definitions that many processes have in common.

mod kinds;

use std::borrow::Cow;
use std::hash::Hash;

use super::group::Group;
use super::maps::{Id, Map};
use super::table::Table;
use super::wire::{Damaged, Input, put};

pub(crate) use kinds::MOST_DIMENSIONS;
pub use kinds::{
    Comm, Coordinates, Counter, Dimension, Host, Member, Module, Parameter, Property, Region, Site,
    Stack, Text, Topology, Window,
};

/// First byte of encoded definitions. To be raised when the layout changes.
const VERSION: u8 = 7;

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

/// Generates what all kinds of definitions have in common. Each kind must be listed after the kinds that it refers to.
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
    /// Cartesian topologies: grids of processes.
    topologies, topology, add_topology: Topology as TopologyId;
    /// Coordinates of processes in topologies that the program describes.
    coordinates, coordinates_by_id, add_coordinates: Coordinates as CoordinatesId;
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
