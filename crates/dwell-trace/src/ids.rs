//! Numbers of processes, locations, nodes, parties, contexts and call paths, each a type of its own.
//!
//! The crate counts all of these from 0, and an archive of one process per node has nearly the same numbers for all of
//! them: only the type distinguishes a process from its location. Regions, windows, groups and ranks keep the types of the
//! crate `otf2`, because these numbers come from the archive and mean what they mean there.

/// Defines number types that count from 0 in the order of the archive.
macro_rules! numbers {
    ($( $(#[$doc:meta])* $visibility:vis $name:ident; )*) => {
        $(
            $(#[$doc])*
            #[derive(
                Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
            )]
            #[repr(transparent)]
            $visibility struct $name(pub u32);

            impl Ordinal for $name {
                #[inline(always)]
                fn of(number: u32) -> Self {
                    Self(number)
                }

                #[inline(always)]
                fn value(self) -> u32 {
                    self.0
                }
            }
        )*
    };
}

/// A number that counts from 0, so that it can index a list.
pub trait Ordinal: Copy {
    /// Returns the number with this value.
    fn of(number: u32) -> Self;

    /// Returns the value of the number.
    fn value(self) -> u32;

    /// Returns the place of the number in a list that has an element for each.
    #[inline(always)]
    fn index(self) -> usize {
        self.value() as usize
    }

    /// Returns the numbers from this one on, without end.
    fn and_more(self) -> impl Iterator<Item = Self> {
        (self.value()..).map(Self::of)
    }

    /// Returns all numbers of a range.
    fn all(range: std::ops::Range<Self>) -> impl DoubleEndedIterator<Item = Self> {
        (range.start.value()..range.end.value()).map(Self::of)
    }
}

numbers! {
    /// Number of a process: the place of its location group in the order of their ids, counted from 0.
    pub ProcessNumber;
    /// Number of a location: its place in the report, in which the locations of a process are consecutive, counted
    /// from 0.
    pub LocationNumber;
    /// Number of a node in the order in which processes name it, counted from 0.
    pub NodeNumber;
    /// Number of a row or column of the communication matrix: a process, or a node in large runs.
    pub PartyNumber;
    /// Number of a context, which is the group of processes of a communicator or window.
    pub ContextNumber;
    /// Number of a call path of the program, which the report gives it too. Callers precede the functions that they call. At a
    /// single location a call path has another number, its [`Path`](crate::engine::paths::Path).
    pub CallPathNumber;
}

impl LocationNumber {
    /// Returns the location at a place in the order of the report, counted from 0.
    pub const fn new(place: u32) -> Self {
        Self(place)
    }

    /// Returns the place of the location in the order of the report, counted from 0.
    pub const fn place(self) -> u32 {
        self.0
    }
}

impl ProcessNumber {
    /// Stands for a process that is not known. It is greater than the number of every process.
    pub const UNKNOWN: Self = Self(u32::MAX);

    /// Returns the process at a place in the order of the report, counted from 0.
    pub const fn new(place: u32) -> Self {
        Self(place)
    }
}
