//! Newtypes for everything that a report numbers.
//!
//! An id is the number in `anchor.xml`, so it is the one that other tools show. Writers
//! number from zero without gaps, and then an id is also a position in a table. Should a file have
//! gaps, its elements are numbered anew in the order of the document; only locations may not have
//! gaps, because the number of a location is its column in the rows of values.

use std::fmt;

/// Makes one id type from each row.
macro_rules! ids {
    ($( $(#[$doc:meta])* $name:ident; )*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
            #[repr(transparent)]
            pub struct $name(pub u32);

            impl $name {
                /// Returns the id as an index into a table or a row.
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
    /// Identifies a metric of the report.
    MetricId;
    /// Identifies a region: a function, a loop, or anything else that a program enters and leaves.
    RegionId;
    /// Identifies a call path, by the last node of its path in the call tree.
    CnodeId;
    /// Identifies a node of the system tree: a machine, a rack or a compute node.
    SystemNodeId;
    /// Identifies a location group, usually a process.
    GroupId;
    /// Identifies a location, usually a thread; it is also the column of the location in every row of values.
    LocationId;
    /// Identifies a topology of the report.
    TopologyId;
}
