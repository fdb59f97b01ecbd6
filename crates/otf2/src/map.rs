//! Mapping tables, which translate the ids that a location uses to the ids of the archive.
//!
//! A recording process numbers its regions, windows and strings as it meets them. When the run ends, the numbers are
//! unified, and each location gets a table instead of rewritten events. An id without an entry in the table is the same
//! on both sides.

use crate::enums::MappingType;
use crate::output::Output;
use crate::value::Value;
use crate::wire::{ByteOrder, Fault, Input, Wire};

/// The table inside a [`MappingTable`](crate::def::MappingTable) record, borrowed from the bytes of a file or from
/// slices of the caller. Make an [`IdMap`] from it to look up ids.
///
/// On disk: number of entries (v64), mode (u8: 0 dense, 1 sparse), then for each entry of a dense table the global id
/// (v64) of local id 0, 1, 2 …, and for each entry of a sparse table the pair of local and global id (v64, v64).
#[derive(Clone, Copy)]
pub struct IdMapRef<'a>(Repr<'a>);

#[derive(Clone, Copy)]
enum Repr<'a> {
    /// Entries as they are stored in a file. Reading has checked that `count` entries can be decoded.
    Wire {
        bytes: &'a [u8],
        count: u64,
        dense: bool,
        order: ByteOrder,
    },
    Dense(&'a [u64]),
    Sparse(&'a [(u64, u64)]),
}

impl<'a> IdMapRef<'a> {
    /// Makes a dense table, which gives a global id for each of the local ids 0, 1, 2 …. Use it when most local ids
    /// change.
    pub const fn dense(globals: &'a [u64]) -> Self {
        Self(Repr::Dense(globals))
    }

    /// Makes a sparse table from pairs of local and global id, which must be sorted by local id. Ids without a pair are
    /// the same on both sides.
    pub const fn sparse(pairs: &'a [(u64, u64)]) -> Self {
        Self(Repr::Sparse(pairs))
    }

    /// Returns the number of entries, which for a sparse table is the number of pairs.
    pub fn len(&self) -> usize {
        match self.0 {
            Repr::Wire { count, .. } => usize::try_from(count).unwrap_or(usize::MAX),
            Repr::Dense(globals) => globals.len(),
            Repr::Sparse(pairs) => pairs.len(),
        }
    }

    /// Returns `true` if the table has no entries. The C library refuses to read such a table, so writers should leave
    /// it out.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns `true` for a dense table, whose entries hold global ids only, and `false` for a sparse table of pairs.
    pub fn is_dense(&self) -> bool {
        match self.0 {
            Repr::Wire { dense, .. } => dense,
            Repr::Dense(_) => true,
            Repr::Sparse(_) => false,
        }
    }

    /// Iterates over pairs of local and global id, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + use<'a> {
        let table = self.0;
        let mut at = match table {
            Repr::Wire { bytes, order, .. } => Some(Input::new(bytes, 0, bytes.len(), order, None)),
            _ => None,
        };
        (0..self.len()).map_while(move |i| match table {
            Repr::Wire { dense, .. } => {
                let input = at.as_mut()?;
                let local = if dense { i as u64 } else { input.v64().ok()? };
                Some((local, input.v64().ok()?))
            }
            Repr::Dense(globals) => Some((i as u64, *globals.get(i)?)),
            Repr::Sparse(pairs) => pairs.get(i).copied(),
        })
    }
}

impl PartialEq for IdMapRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.is_dense() == other.is_dense() && self.iter().eq(other.iter())
    }
}

impl core::fmt::Debug for IdMapRef<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<'a> Wire<'a> for IdMapRef<'a> {
    const CODE: &'static str = "idmap";

    fn read(input: &mut Input<'a>) -> Result<Self, Fault> {
        let count = input.v64()?;
        let dense = match input.u8()? {
            0 => true,
            1 => false,
            mode => return Err(Fault::MapMode(mode)),
        };
        let begin = *input;
        // Every entry takes at least a byte, so a wild count ends at the end of the record.
        for _ in 0..count {
            if !dense {
                input.v64()?;
            }
            input.v64()?;
            input.check()?;
        }
        let (bytes, order, _) = begin.until(input);
        Ok(Self(Repr::Wire { bytes, count, dense, order }))
    }

    fn write(self, output: &mut impl Output) {
        output.v64(self.len() as u64);
        output.u8(u8::from(!self.is_dense()));
        for (local, global) in self.iter() {
            if !self.is_dense() {
                output.v64(local);
            }
            output.v64(global);
        }
    }

    fn bound(self) -> usize {
        10 + self.len() * if self.is_dense() { 9 } else { 18 }
    }

    fn value(&self) -> Value<'_> {
        Value::Map(*self)
    }
}

#[cfg(feature = "std")]
pub use tables::{IdMap, Maps};

/// Stands in for the tables of the `std` feature. They cannot be kept without an allocator, so this type has no values.
#[cfg(not(feature = "std"))]
#[derive(Debug)]
pub enum Maps {}

#[cfg(not(feature = "std"))]
impl Maps {
    pub(crate) fn global(&self, _: MappingType, _: u64) -> u64 {
        match *self {}
    }
}

#[cfg(feature = "std")]
mod tables {
    use super::{IdMapRef, MappingType};

    /// A mapping table in memory, made from an [`IdMapRef`] to look up ids. A sparse table is sorted when it is made;
    /// if a local id occurs twice, the first entry counts.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct IdMap(Table);

    #[derive(Clone, Debug, PartialEq, Eq)]
    enum Table {
        Dense(Vec<u64>),
        /// Pairs of local and global id, sorted by local id without repetition.
        Sparse(Vec<(u64, u64)>),
    }

    impl IdMap {
        /// Returns the global id of a local one. An id without an entry is returned unchanged, as the format demands.
        #[inline]
        pub fn global(&self, local: u64) -> u64 {
            match &self.0 {
                Table::Dense(globals) => {
                    usize::try_from(local).ok().and_then(|i| globals.get(i)).copied()
                }
                Table::Sparse(pairs) => pairs
                    .binary_search_by_key(&local, |pair| pair.0)
                    .ok()
                    .and_then(|i| pairs.get(i))
                    .map(|pair| pair.1),
            }
            .unwrap_or(local)
        }

        /// Iterates over pairs of local and global id, in the order of local ids.
        pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
            let (dense, sparse) = match &self.0 {
                Table::Dense(globals) => (globals.as_slice(), [].as_slice()),
                Table::Sparse(pairs) => ([].as_slice(), pairs.as_slice()),
            };
            (0..).zip(dense.iter().copied()).chain(sparse.iter().copied())
        }
    }

    impl From<IdMapRef<'_>> for IdMap {
        fn from(table: IdMapRef<'_>) -> Self {
            if table.is_dense() {
                return Self(Table::Dense(table.iter().map(|pair| pair.1).collect()));
            }
            let mut pairs: Vec<_> = table.iter().collect();
            // Files of the C library are sorted; others are read as well. The first entry wins.
            pairs.sort_by_key(|pair| pair.0);
            pairs.dedup_by_key(|pair| pair.0);
            Self(Table::Sparse(pairs))
        }
    }

    /// Number of kinds of ids that can be mapped.
    const SPACES: usize = MappingType::ALL.len();

    /// All mapping tables of one location, at most one for each kind of id. Readers apply them to the references in
    /// events while they decode.
    #[derive(Clone, Debug, Default)]
    pub struct Maps([Option<IdMap>; SPACES]);

    impl Maps {
        /// Returns the global id of a local one of this kind, which is the same if the location has no such table.
        #[inline(always)]
        pub(crate) fn global(&self, space: MappingType, local: u64) -> u64 {
            match self.0.get(usize::from(u8::from(space))) {
                Some(Some(map)) => map.global(local),
                _ => local,
            }
        }

        /// Returns the table for one kind of id, or `None` if the ids of this kind are global already.
        pub fn get(&self, space: MappingType) -> Option<&IdMap> {
            self.0.get(usize::from(u8::from(space)))?.as_ref()
        }

        /// Adds a table for one kind of id. Returns `false` and keeps the old table if there is one for this kind
        /// already. A table for a kind of id that only a later version of OTF2 knows is ignored, with `true` as the
        /// result.
        pub fn insert(&mut self, space: MappingType, map: IdMap) -> bool {
            match self.0.get_mut(usize::from(u8::from(space))) {
                Some(place @ None) => {
                    *place = Some(map);
                    true
                }
                Some(Some(_)) => false,
                None => true,
            }
        }

        /// Returns `true` if the location has no table at all, so that all of its ids are global.
        pub fn is_empty(&self) -> bool {
            self.0.iter().all(Option::is_none)
        }
    }
}
