//! All global definitions in memory, found by id.

use std::collections::HashMap;

use crate::def::{
    self, CallingContext, ClockProperties, Comm, Definition, Group, IoParadigm, Location,
    LocationGroup, Region, RmaWin, SystemTreeNode,
};
use crate::error::Error;
use crate::id::{
    AttributeRef, CallingContextRef, CommRef, GroupRef, Id, IoParadigmRef, LocationGroupRef,
    LocationRef, RefKind, RegionRef, RmaWinRef, StringRef, SystemTreeNodeRef,
};
use crate::read::records::DefReader;
use crate::record::Scope;
use crate::value::Str;
use crate::wire::{ByteOrder, Input};

/// The global definitions of an archive.
///
/// They are kept as they stand in the file and decoded when asked for, so they take little more
/// memory than the file has bytes.
#[derive(Debug, Default)]
pub struct Definitions {
    bytes: Vec<u8>,
    records: Vec<Entry>,
    index: HashMap<RefKind, Index>,
    locations: Vec<Location>,
    clock: Option<ClockProperties>,
    unknown: u64,
    warning: Option<Error>,
}

/// A record in `bytes`.
#[derive(Clone, Copy, Debug)]
struct Entry {
    id: u8,
    order: ByteOrder,
    end: usize,
}

/// Finds records by id. Ids usually run 0, 1, 2 …, and then need no hashing.
#[derive(Debug, Default)]
struct Index {
    dense: Vec<u32>,
    sparse: HashMap<u64, u32>,
}

impl Index {
    fn insert(&mut self, id: u64, record: u32) {
        if id == self.dense.len() as u64 {
            self.dense.push(record);
        } else if id > self.dense.len() as u64 {
            self.sparse.entry(id).or_insert(record);
        } // Else it is there already: the first wins.
    }

    fn get(&self, id: u64) -> Option<u32> {
        let dense = usize::try_from(id).ok().and_then(|id| self.dense.get(id));
        dense.or_else(|| self.sparse.get(&id)).copied()
    }
}

impl Definitions {
    /// Reads until the end or the first damage, which becomes a warning.
    pub(crate) fn read(mut reader: DefReader) -> Self {
        let mut definitions = Self::default();
        loop {
            match reader.next_raw() {
                Ok(Some((definition, raw))) => {
                    definitions.bytes.extend_from_slice(raw.bytes);
                    let entry =
                        Entry { id: raw.id, order: raw.order, end: definitions.bytes.len() };
                    definitions.add(&definition, entry);
                }
                Ok(None) => return definitions,
                Err(error) => {
                    definitions.warning = Some(error);
                    return definitions;
                }
            }
        }
    }

    fn add(&mut self, definition: &Definition<'_>, entry: Entry) {
        let Ok(number) = u32::try_from(self.records.len()) else {
            return;
        };
        self.records.push(entry);
        if let Some((kind, id)) = definition.key() {
            self.index.entry(kind).or_default().insert(id, number);
        }
        match definition {
            Definition::Location(location) => self.locations.push(*location),
            Definition::ClockProperties(clock) => self.clock = self.clock.or(Some(*clock)),
            Definition::Unknown(_) => self.unknown += 1,
            _ => {}
        }
    }

    fn record(&self, number: u32) -> Option<Definition<'_>> {
        let number = usize::try_from(number).ok()?;
        let entry = self.records.get(number)?;
        let start = match number.checked_sub(1) {
            Some(before) => self.records.get(before)?.end,
            None => 0,
        };
        let input = Input::new(&self.bytes, start, entry.end, entry.order, None);
        Definition::read(Scope::Global, entry.id, input).ok()
    }

    /// Number of definitions.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Number of definitions of unknown kind, from a later version of the format.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    /// What was wrong with the file, if anything was; definitions behind that are missing.
    pub fn warning(&self) -> Option<&Error> {
        self.warning.as_ref()
    }

    /// All definitions, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = Definition<'_>> {
        (0..self.records.len() as u32).filter_map(|number| self.record(number))
    }

    /// The definition of this kind with this id.
    pub fn find(&self, kind: RefKind, id: u64) -> Option<Definition<'_>> {
        self.record(self.index.get(&kind)?.get(id)?)
    }

    /// The locations, in the order of the file.
    pub fn locations(&self) -> impl ExactSizeIterator<Item = Location> {
        self.locations.iter().copied()
    }

    /// The clock of the trace.
    pub fn clock(&self) -> Option<ClockProperties> {
        self.clock
    }

    /// The text of a string.
    pub fn string(&self, id: StringRef) -> Option<Str<'_>> {
        match self.find(RefKind::String, id.raw())? {
            Definition::String(string) => Some(string.string),
            _ => None,
        }
    }

    /// The name of a definition that has one.
    pub fn name(&self, kind: RefKind, id: u64) -> Option<Str<'_>> {
        self.string(match self.find(kind, id)? {
            Definition::String(string) => string.id,
            other => other.name_ref()?,
        })
    }
}

/// Look-ups by typed id.
macro_rules! lookups {
    ($( $(#[$doc:meta])* $fn:ident($id:ident) -> $record:ident $(<$life:lifetime>)?; )*) => {
        impl Definitions {
            $(
                $(#[$doc])*
                pub fn $fn(&self, id: $id) -> Option<$record $(<$life>)?> {
                    match self.find($id::KIND, id.raw())? {
                        Definition::$record(record) => Some(record),
                        _ => None,
                    }
                }
            )*
        }
    };
}

lookups! {
    /// A location.
    location(LocationRef) -> Location;
    /// A process or accelerator.
    location_group(LocationGroupRef) -> LocationGroup;
    /// A node of the system tree.
    system_tree_node(SystemTreeNodeRef) -> SystemTreeNode;
    /// A code region.
    region(RegionRef) -> Region;
    /// A group.
    group(GroupRef) -> Group<'_>;
    /// A communicator; inter-communicators are found by [`Definitions::find`].
    comm(CommRef) -> Comm;
    /// A window.
    rma_win(RmaWinRef) -> RmaWin;
    /// A calling context.
    calling_context(CallingContextRef) -> CallingContext;
    /// An I/O paradigm.
    io_paradigm(IoParadigmRef) -> IoParadigm<'_>;
}

impl Definitions {
    /// An attribute.
    pub fn attribute(&self, id: AttributeRef) -> Option<def::Attribute> {
        match self.find(RefKind::Attribute, id.raw())? {
            Definition::Attribute(attribute) => Some(attribute),
            _ => None,
        }
    }
}
