//! Newtypes for everything that OTF2 numbers: definitions, ranks, times.
//!
//! An id refers to a definition of one kind, and mixing kinds is a type error. The largest value of
//! a type means *undefined*, for example a region without a source file.

use core::fmt;

/// Makes one id type a row: name, width, what it refers to.
macro_rules! ids {
    ($( $(#[$doc:meta])* $name:ident($repr:ty) => $kind:ident; )*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
            #[repr(transparent)]
            pub struct $name(pub $repr);

            impl $name {
                /// No definition: the largest value of the type.
                pub const UNDEFINED: Self = Self(<$repr>::MAX);

                /// Whether this id refers to nothing.
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

/// What every id type can tell about itself.
pub trait Id: Copy {
    /// Kind of definition the id refers to.
    const KIND: RefKind;
    /// The number, widened.
    fn raw(self) -> u64;
}

/// Kinds of definition an id can refer to.
///
/// Some kinds share one id space: communicators and inter-communicators, metric classes and
/// instances, regular files and directories.
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
    /// A string definition.
    StringRef(u32) => String;
    /// An attribute definition: the name and type of a value attached to events.
    AttributeRef(u32) => Attribute;
    /// A node of the system tree: a machine, a rack, a node.
    SystemTreeNodeRef(u32) => SystemTreeNode;
    /// A group of locations: a process or an accelerator.
    LocationGroupRef(u32) => LocationGroup;
    /// A location: a thread or an accelerator stream, with an event file of its own.
    LocationRef(u64) => Location;
    /// A code region.
    RegionRef(u32) => Region;
    /// A call site (deprecated by the format).
    CallsiteRef(u32) => Callsite;
    /// A call path.
    CallpathRef(u32) => Callpath;
    /// A group of locations, regions, metrics or ranks.
    GroupRef(u32) => Group;
    /// A metric member: one counter.
    MetricMemberRef(u32) => MetricMember;
    /// A metric class or metric instance.
    MetricRef(u32) => Metric;
    /// A communicator or inter-communicator.
    CommRef(u32) => Comm;
    /// A parameter.
    ParameterRef(u32) => Parameter;
    /// A window of remotely accessible memory.
    RmaWinRef(u32) => RmaWin;
    /// A dimension of a Cartesian topology.
    CartDimensionRef(u32) => CartDimension;
    /// A Cartesian topology.
    CartTopologyRef(u32) => CartTopology;
    /// A file and line.
    SourceCodeLocationRef(u32) => SourceCodeLocation;
    /// A node of the calling-context tree.
    CallingContextRef(u32) => CallingContext;
    /// A source of sampling interrupts.
    InterruptGeneratorRef(u32) => InterruptGenerator;
    /// An I/O paradigm.
    IoParadigmRef(u8) => IoParadigm;
    /// A regular file or directory.
    IoFileRef(u32) => IoFile;
    /// An I/O handle.
    IoHandleRef(u32) => IoHandle;
    /// A marker definition.
    MarkerRef(u32) => Marker;
}

/// Makes the numbers that are not references: ranks, request numbers and the like.
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
    /// A moment on the clock of the trace, in ticks.
    ///
    /// [`ClockProperties`](crate::def::ClockProperties) says how many ticks make a second.
    Time(u64);
    /// The number of an event in its location, counted from 1 as chunk headers count.
    EventNumber(u64);
    /// A rank, counted in the communicator (or window) that stands beside it.
    Rank(u32);
    /// Links the records of one non-blocking operation on a location.
    RequestId(u64);
    /// Pairs an operation with its completion on the same location and window or handle.
    MatchingId(u64);
    /// Which of several locks of a window.
    LockId(u64);
}

impl Rank {
    /// All ranks of the window, as lock records mean it, or no rank at all.
    pub const UNDEFINED: Self = Self(u32::MAX);

    /// Whether this is [`Rank::UNDEFINED`].
    #[inline]
    pub const fn is_undefined(self) -> bool {
        self.0 == u32::MAX
    }
}
