//! All global definitions in memory, for look-ups by id.

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

/// The global definitions of an archive, for look-ups by id.
///
/// Each definition is kept as it is stored in the file and decoded when it is looked up, so the definitions take little
/// more memory than the file has bytes. If an id is defined twice, the first definition counts.
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

/// A record in `bytes`, which begins where the one before it ends.
#[derive(Clone, Copy, Debug)]
struct Entry {
    id: u8,
    order: ByteOrder,
    end: usize,
}

/// Finds records by id. Ids usually run 0, 1, 2 … and then need no hashing.
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
    /// Reads definitions until the end of the file or the first damage, which becomes a warning.
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

    /// Returns the number of definitions of all kinds, including those of unknown kind.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Returns `true` if the archive has no definitions at all, which no complete archive should.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Returns the number of definitions of unknown kind, which come from a later version of the format.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Returns the error that ended the reading of the file, or `None` if it was read to its end. The definitions
    /// behind the damage are missing then.
    pub fn warning(&self) -> Option<&Error> {
        self.warning.as_ref()
    }

    /// Iterates over all definitions in the order of the file. Each is decoded when the iterator reaches it.
    pub fn iter(&self) -> impl Iterator<Item = Definition<'_>> {
        (0..self.records.len() as u32).filter_map(|number| self.record(number))
    }

    /// Returns the definition of this kind with this id, or `None` if there is none. Communicators and
    /// inter-communicators share one kind, so the result may be either.
    pub fn find(&self, kind: RefKind, id: u64) -> Option<Definition<'_>> {
        self.record(self.index.get(&kind)?.get(id)?)
    }

    /// Iterates over the locations in the order of the file. They are kept decoded, because every reader needs them.
    pub fn locations(&self) -> impl ExactSizeIterator<Item = Location> {
        self.locations.iter().copied()
    }

    /// Returns the clock properties of the trace, or `None` if the archive has none. Without them, ticks cannot be
    /// converted to seconds.
    pub fn clock(&self) -> Option<ClockProperties> {
        self.clock
    }

    /// Returns the text of a string definition, or `None` if the id is undefined or has no definition.
    pub fn string(&self, id: StringRef) -> Option<Str<'_>> {
        match self.find(RefKind::String, id.raw())? {
            Definition::String(string) => Some(string.string),
            _ => None,
        }
    }

    /// Returns the name of the definition of this kind with this id, or `None` if there is no such definition or it has
    /// no name. The name of a string is its text.
    pub fn name(&self, kind: RefKind, id: u64) -> Option<Str<'_>> {
        self.string(match self.find(kind, id)? {
            Definition::String(string) => string.id,
            other => other.name_ref()?,
        })
    }
}

/// Makes one look-up by typed id from each row.
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
    /// Returns the location with this id.
    location(LocationRef) -> Location;
    /// Returns the process or accelerator with this id.
    location_group(LocationGroupRef) -> LocationGroup;
    /// Returns the node of the system tree with this id.
    system_tree_node(SystemTreeNodeRef) -> SystemTreeNode;
    /// Returns the code region with this id.
    region(RegionRef) -> Region;
    /// Returns the group with this id.
    group(GroupRef) -> Group<'_>;
    /// Returns the communicator with this id. Inter-communicators are found by [`Definitions::find`] only.
    comm(CommRef) -> Comm;
    /// Returns the RMA window with this id.
    rma_win(RmaWinRef) -> RmaWin;
    /// Returns the calling context with this id.
    calling_context(CallingContextRef) -> CallingContext;
    /// Returns the I/O paradigm with this id.
    io_paradigm(IoParadigmRef) -> IoParadigm<'_>;
}

impl Definitions {
    /// Returns the attribute definition with this id, or `None` if there is none.
    pub fn attribute(&self, id: AttributeRef) -> Option<def::Attribute> {
        match self.find(RefKind::Attribute, id.raw())? {
            Definition::Attribute(attribute) => Some(attribute),
            _ => None,
        }
    }
}
