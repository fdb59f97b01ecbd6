//! Newtypes for everything that OTF2 numbers: definitions, ranks, times.
//!
//! An id refers to a definition of one kind, and mixing kinds is a type error. The largest value of
//! a type means *undefined*, for example a region without a source file.

use core::fmt;

/// Makes one id type from each row: its name, its width, and the kind of definition it refers to.
macro_rules! ids {
    ($( $(#[$doc:meta])* $name:ident($repr:ty) => $kind:ident; )*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
            #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
            #[repr(transparent)]
            pub struct $name(pub $repr);

            impl $name {
                /// The id that refers to no definition: the largest value of the type, as in the C library. Optional
                /// references, such as the file of a region, hold this value if there is nothing to refer to.
                pub const UNDEFINED: Self = Self(<$repr>::MAX);

                /// Returns `true` if this id refers to no definition. Callers must check this before they use the
                /// number as an index.
                #[inline]
                pub const fn is_undefined(self) -> bool {
                    self.0 == <$repr>::MAX
                }
            }

            impl fmt::Debug for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    if self.is_undefined() {
                        f.write_str(concat!(stringify!($name), "(undefined)"))
                    } else {
                        write!(f, concat!(stringify!($name), "({})"), self.0)
                    }
                }
            }

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    if self.is_undefined() { f.write_str("undefined") } else { self.0.fmt(f) }
                }
            }

            impl Id for $name {
                const KIND: RefKind = RefKind::$kind;
                #[inline]
                fn raw(self) -> u64 { u64::from(self.0) }
            }
        )*

    };
}

/// The operations that all id types share, for code that handles references of any kind, such as printing and looking
/// up names.
pub trait Id: Copy {
    /// Kind of definition that ids of this type refer to.
    const KIND: RefKind;
    /// Returns the number of the definition, widened to 64 bits. The undefined id of a 32-bit type is `u32::MAX` here,
    /// not `u64::MAX`.
    fn raw(self) -> u64;
}

/// The kinds of definitions that an id can refer to.
///
/// Some definitions share one id space and therefore one kind: communicators and inter-communicators, metric classes
/// and metric instances, regular files and directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[allow(missing_docs)] // The names are the documentation.
pub enum RefKind {
    String,
    Attribute,
    SystemTreeNode,
    LocationGroup,
    Location,
    Region,
    Callsite,
    Callpath,
    Group,
    MetricMember,
    Metric,
    Comm,
    Parameter,
    RmaWin,
    CartDimension,
    CartTopology,
    SourceCodeLocation,
    CallingContext,
    InterruptGenerator,
    IoParadigm,
    IoFile,
    IoHandle,
    Marker,
}

ids! {
    /// Refers to a string definition, in which all names and texts of other definitions are kept.
    StringRef(u32) => String;
    /// Refers to an attribute definition: the name and type of a value that events can carry.
    AttributeRef(u32) => Attribute;
    /// Refers to a node of the system tree: a machine, a rack or a compute node.
    SystemTreeNodeRef(u32) => SystemTreeNode;
    /// Refers to a location group: a process or an accelerator, whose threads or streams are its locations.
    LocationGroupRef(u32) => LocationGroup;
    /// Refers to a location: a thread or an accelerator stream, with an event file of its own.
    LocationRef(u64) => Location;
    /// Refers to a code region: a function, a loop or another part of the program that can be entered and left.
    RegionRef(u32) => Region;
    /// Refers to a call site. The format has deprecated these definitions.
    CallsiteRef(u32) => Callsite;
    /// Refers to a call path. The format has deprecated these definitions.
    CallpathRef(u32) => Callpath;
    /// Refers to a group of locations, regions, metrics or ranks.
    GroupRef(u32) => Group;
    /// Refers to a metric member: one counter with its name, unit and type.
    MetricMemberRef(u32) => MetricMember;
    /// Refers to a metric class or a metric instance.
    MetricRef(u32) => Metric;
    /// Refers to a communicator or an inter-communicator.
    CommRef(u32) => Comm;
    /// Refers to a parameter, whose values events of a region can state.
    ParameterRef(u32) => Parameter;
    /// Refers to an RMA window: memory that other processes can access.
    RmaWinRef(u32) => RmaWin;
    /// Refers to one dimension of a Cartesian topology.
    CartDimensionRef(u32) => CartDimension;
    /// Refers to a Cartesian topology.
    CartTopologyRef(u32) => CartTopology;
    /// Refers to a source code location: a file and a line.
    SourceCodeLocationRef(u32) => SourceCodeLocation;
    /// Refers to a node of the calling-context tree.
    CallingContextRef(u32) => CallingContext;
    /// Refers to an interrupt generator, which triggers the samples of a sampling recorder.
    InterruptGeneratorRef(u32) => InterruptGenerator;
    /// Refers to an I/O paradigm, such as POSIX I/O or MPI I/O.
    IoParadigmRef(u8) => IoParadigm;
    /// Refers to a regular file or a directory that the program used.
    IoFileRef(u32) => IoFile;
    /// Refers to an I/O handle: an open file as one I/O paradigm sees it.
    IoHandleRef(u32) => IoHandle;
    /// Refers to a marker definition, the kind of a marker.
    MarkerRef(u32) => Marker;
}

/// Makes the types of numbers that refer to no definition: ranks, requests and the like.
macro_rules! numbers {
    ($( $(#[$doc:meta])* $name:ident($repr:ty); )*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
            #[repr(transparent)]
            pub struct $name(pub $repr);

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { self.0.fmt(f) }
            }
        )*
    };
}

numbers! {
    /// A point in time on the clock of the trace, in ticks.
    ///
    /// [`ClockProperties`](crate::def::ClockProperties) states the number of ticks in a second.
    Time(u64);
    /// The number of an event on its location, counted from 1 as in chunk headers.
    EventNumber(u64);
    /// A rank in the communicator or RMA window that the same record names, counted from 0.
    Rank(u32);
    /// Links the records of one non-blocking operation of a location: its start, tests and completion.
    RequestId(u64);
    /// Links an operation with its completion on the same location and the same window or I/O handle.
    MatchingId(u64);
    /// Identifies one of the locks of an RMA window.
    LockId(u64);
}

impl Rank {
    /// The largest value, which lock records use for all ranks of the window and other records for no rank at all.
    pub const UNDEFINED: Self = Self(u32::MAX);

    /// Returns `true` if this is [`Rank::UNDEFINED`], so that it must not be used as an index into a group.
    #[inline]
    pub const fn is_undefined(self) -> bool {
        self.0 == u32::MAX
    }
}
