//! Newtypes for everything that a report numbers.
//!
//! An id is the number that stands in `anchor.xml`, so it is the one that other tools show. Writers
//! number from zero without gaps, and then an id is also a position in a table. Should a file have
//! gaps, its elements are numbered anew in the order of the document; only locations may not have
//! gaps, because the number of a location is its column in the rows of values.

use std::fmt;

/// Makes one id type a row.
macro_rules! ids {
    ($( $(#[$doc:meta])* $name:ident; )*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
            #[repr(transparent)]
            pub struct $name(pub u32);

            impl $name {
                /// The id as a position.
                #[inline]
                pub const fn index(self) -> usize {
                    self.0 as usize
                }
            }

            impl fmt::Debug for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    write!(f, concat!(stringify!($name), "({})"), self.0)
                }
            }

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    self.0.fmt(f)
                }
            }
        )*
    };
}

ids! {
    /// A metric.
    MetricId;
    /// A region: a function, a loop, anything that a program enters and leaves.
    RegionId;
    /// A call path, by the last node of its path in the call tree.
    CnodeId;
    /// A node of the system tree: a machine, a rack, a computer.
    SystemNodeId;
    /// A location group, usually a process.
    GroupId;
    /// A location, usually a thread; also its column in every row of values.
    LocationId;
    /// A topology.
    TopologyId;
}
