//! The enumerations and bit sets of OTF2.
//!
//! A value that this crate does not know, from a later version or a damaged file, is kept: an enum
//! has a variant `Unlisted` with the number, a bit set keeps its bits. So what was read is written back
//! unchanged.

use core::fmt;

/// An enumeration of the format whose type is not known at compile time, for code that prints values of any
/// enumeration.
pub trait Named: Copy {
    /// Returns the number of the value on disk.
    fn code(self) -> u32;
    /// The name in the spelling of OTF2, or `None` for a value that this crate does not know.
    fn name(self) -> Option<&'static str>;
}

/// Makes one enum from each row; its values take a single byte on disk.
macro_rules! enums {
    ($( $(#[$doc:meta])* $name:ident { $( $value:literal $variant:ident $text:literal, )* } )*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
            #[non_exhaustive]
            pub enum $name {
                $( #[doc = concat!("`", $text, "`, ", stringify!($value), " on disk.")] $variant, )*
                /// A value that this crate does not know, kept as it was read so that it is written back unchanged.
                Unlisted(u8),
            }

            impl $name {
                /// All values that this crate knows, in the order of the table. [`Self::Unlisted`] is not among them.
                pub const ALL: &'static [Self] = &[$( Self::$variant, )*];
            }

            impl From<u8> for $name {
                #[inline]
                fn from(code: u8) -> Self {
                    match code {
                        $( $value => Self::$variant, )*
                        other => Self::Unlisted(other),
                    }
                }
            }

            impl From<$name> for u8 {
                #[inline(always)]
                fn from(value: $name) -> u8 {
                    match value {
                        $( $name::$variant => $value, )*
                        $name::Unlisted(code) => code,
                    }
                }
            }

            impl Named for $name {
                fn code(self) -> u32 { u32::from(u8::from(self)) }
                fn name(self) -> Option<&'static str> {
                    match self {
                        $( Self::$variant => Some($text), )*
                        Self::Unlisted(_) => None,
                    }
                }
            }

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    match self.name() {
                        Some(name) => f.pad(name),
                        None => write!(f, "{}", self.code()),
                    }
                }
            }
        )*
    };
}

/// Makes one bit set from each row; it is a compressed 32-bit number on disk.
macro_rules! flags {
    ($( $(#[$doc:meta])* $name:ident { $( $bit:literal $flag:ident, )* } )*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
            #[repr(transparent)]
            pub struct $name(pub u32);

            impl $name {
                /// The empty bit set, in which no flag is set. It is also the default.
                pub const NONE: Self = Self(0);
                $( #[doc = concat!("Bit `", stringify!($flag), "`.")] pub const $flag: Self = Self($bit); )*

                /// Returns `true` if all bits of `other` are set. Every bit set contains [`Self::NONE`].
                #[inline]
                pub const fn contains(self, other: Self) -> bool {
                    self.0 & other.0 == other.0
                }
            }

            impl core::ops::BitOr for $name {
                type Output = Self;
                #[inline]
                fn bitor(self, other: Self) -> Self { Self(self.0 | other.0) }
            }

            impl BitSet for $name {
                const BITS: &'static [(u32, &'static str)] = &[$( ($bit, stringify!($flag)), )*];
                fn bits(self) -> u32 { self.0 }
            }
        )*
    };
}

/// A bit set of the format whose type is not known at compile time, for code that prints bit sets of any kind. Bits
/// without a name are kept, so a bit set of a later version survives reading and writing.
pub trait BitSet: Copy {
    /// Each bit that has a name, with the name, lowest bit first.
    const BITS: &'static [(u32, &'static str)];
    /// Returns all bits that are set, including bits without a name.
    fn bits(self) -> u32;
}

/// Root of a collective operation: a rank, or one of the special values that inter-communicators need. On disk it is
/// one compressed number whose three largest values are the special ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CollectiveRoot {
    /// The root is this rank of the communicator.
    Rank(u32),
    /// The operation has no root, such as a barrier or an allreduce.
    None,
    /// The root is the recording process itself. Only collectives on inter-communicators use this value.
    SelfRank,
    /// The root is another process in the group of the recording process. Only collectives on inter-communicators use
    /// this value.
    ThisGroup,
}

impl From<u32> for CollectiveRoot {
    #[inline]
    fn from(code: u32) -> Self {
        match code {
            0xFFFF_FFFF => Self::None,
            0xFFFF_FFFE => Self::SelfRank,
            0xFFFF_FFFD => Self::ThisGroup,
            rank => Self::Rank(rank),
        }
    }
}

impl From<CollectiveRoot> for u32 {
    #[inline]
    fn from(root: CollectiveRoot) -> u32 {
        match root {
            CollectiveRoot::Rank(rank) => rank,
            CollectiveRoot::None => 0xFFFF_FFFF,
            CollectiveRoot::SelfRank => 0xFFFF_FFFE,
            CollectiveRoot::ThisGroup => 0xFFFF_FFFD,
        }
    }
}

enums! {
    /// Hardware that a node of the system tree represents.
    SystemTreeDomain {
        0 Machine "MACHINE",
        1 SharedMemory "SHARED_MEMORY",
        2 Numa "NUMA",
        3 Socket "SOCKET",
        4 Cache "CACHE",
        5 Core "CORE",
        6 Pu "PU",
        7 AcceleratorDevice "ACCELERATOR_DEVICE",
        8 NetworkingDevice "NETWORKING_DEVICE",
    }
    /// Kind of a location group: a process or an accelerator.
    LocationGroupType {
        0 Unknown "UNKNOWN",
        1 Process "PROCESS",
        2 Accelerator "ACCELERATOR",
    }
    /// Kind of a location: a thread, an accelerator stream, or a recorder of metrics.
    LocationType {
        0 Unknown "UNKNOWN",
        1 CpuThread "CPU_THREAD",
        2 AcceleratorStream "ACCELERATOR_STREAM",
        3 Metric "METRIC",
    }
    /// Role of a region in the program, for example function, barrier or RMA operation.
    RegionRole {
        0 Unknown "UNKNOWN",
        1 Function "FUNCTION",
        2 Wrapper "WRAPPER",
        3 Loop "LOOP",
        4 Code "CODE",
        5 Parallel "PARALLEL",
        6 Sections "SECTIONS",
        7 Section "SECTION",
        8 Workshare "WORKSHARE",
        9 Single "SINGLE",
        10 SingleSblock "SINGLE_SBLOCK",
        11 Master "MASTER",
        12 Critical "CRITICAL",
        13 CriticalSblock "CRITICAL_SBLOCK",
        14 Atomic "ATOMIC",
        15 Barrier "BARRIER",
        16 ImplicitBarrier "IMPLICIT_BARRIER",
        17 Flush "FLUSH",
        18 Ordered "ORDERED",
        19 OrderedSblock "ORDERED_SBLOCK",
        20 Task "TASK",
        21 TaskCreate "TASK_CREATE",
        22 TaskWait "TASK_WAIT",
        23 CollOne2all "COLL_ONE2ALL",
        24 CollAll2one "COLL_ALL2ONE",
        25 CollAll2all "COLL_ALL2ALL",
        26 CollOther "COLL_OTHER",
        27 FileIo "FILE_IO",
        28 Point2point "POINT2POINT",
        29 Rma "RMA",
        30 DataTransfer "DATA_TRANSFER",
        31 Artificial "ARTIFICIAL",
        32 ThreadCreate "THREAD_CREATE",
        33 ThreadWait "THREAD_WAIT",
        34 TaskUntied "TASK_UNTIED",
        35 Allocate "ALLOCATE",
        36 Deallocate "DEALLOCATE",
        37 Reallocate "REALLOCATE",
        38 FileIoMetadata "FILE_IO_METADATA",
    }
    /// Kind of the members of a group, which decides how their numbers are to be read.
    GroupType {
        0 Unknown "UNKNOWN",
        1 Locations "LOCATIONS",
        2 Regions "REGIONS",
        3 Metric "METRIC",
        4 CommLocations "COMM_LOCATIONS",
        5 CommGroup "COMM_GROUP",
        6 CommSelf "COMM_SELF",
    }
    /// Base of a scale factor: powers of two or of ten.
    Base {
        0 Binary "BINARY",
        1 Decimal "DECIMAL",
    }
    /// Events with which the values of a metric class are recorded.
    MetricOccurrence {
        0 SynchronousStrict "SYNCHRONOUS_STRICT",
        1 Synchronous "SYNCHRONOUS",
        2 Asynchronous "ASYNCHRONOUS",
    }
    /// Source of a metric: PAPI, the resource usage of the operating system, the user, or another one.
    MetricType {
        0 Other "OTHER",
        1 Papi "PAPI",
        2 Rusage "RUSAGE",
        3 User "USER",
    }
    /// Meaning of the values of a metric: accumulated, absolute or relative, combined with the interval of time to
    /// which a value applies.
    MetricMode {
        0 AccumulatedStart "ACCUMULATED_START",
        16 AccumulatedPoint "ACCUMULATED_POINT",
        32 AccumulatedLast "ACCUMULATED_LAST",
        48 AccumulatedNext "ACCUMULATED_NEXT",
        17 AbsolutePoint "ABSOLUTE_POINT",
        33 AbsoluteLast "ABSOLUTE_LAST",
        49 AbsoluteNext "ABSOLUTE_NEXT",
        18 RelativePoint "RELATIVE_POINT",
        34 RelativeLast "RELATIVE_LAST",
        50 RelativeNext "RELATIVE_NEXT",
    }
    /// Kind of object that a metric instance measures.
    MetricScope {
        0 Location "LOCATION",
        1 LocationGroup "LOCATION_GROUP",
        2 SystemTreeNode "SYSTEM_TREE_NODE",
        3 Group "GROUP",
    }
    /// Kind of location that records a metric class.
    RecorderKind {
        0 Unknown "UNKNOWN",
        1 Abstract "ABSTRACT",
        2 Cpu "CPU",
        3 Gpu "GPU",
    }
    /// Type of the values of a parameter.
    ParameterType {
        0 String "STRING",
        1 Int64 "INT64",
        2 Uint64 "UINT64",
    }
    /// Periodicity of a dimension of a Cartesian topology: true if it wraps around.
    CartPeriodicity {
        0 False "FALSE",
        1 True "TRUE",
    }
    /// Quantity in which the period of an interrupt generator is measured: time, or counts of an event.
    InterruptGeneratorMode {
        0 Time "TIME",
        1 Count "COUNT",
    }
    /// Class of an I/O paradigm: serial or parallel.
    IoParadigmClass {
        0 Serial "SERIAL",
        1 Parallel "PARALLEL",
    }
    /// Properties that an I/O paradigm can have.
    IoParadigmProperty {
        0 Version "VERSION",
    }
    /// Access mode with which an I/O handle was opened.
    IoAccessMode {
        0 ReadOnly "READ_ONLY",
        1 WriteOnly "WRITE_ONLY",
        2 ReadWrite "READ_WRITE",
        3 ExecuteOnly "EXECUTE_ONLY",
        4 SearchOnly "SEARCH_ONLY",
    }
    /// State of the recorder from this event on: on or off.
    MeasurementMode {
        1 On "ON",
        2 Off "OFF",
    }
    /// Kind of a collective operation.
    CollectiveOp {
        0 Barrier "BARRIER",
        1 Bcast "BCAST",
        2 Gather "GATHER",
        3 Gatherv "GATHERV",
        4 Scatter "SCATTER",
        5 Scatterv "SCATTERV",
        6 Allgather "ALLGATHER",
        7 Allgatherv "ALLGATHERV",
        8 Alltoall "ALLTOALL",
        9 Alltoallv "ALLTOALLV",
        10 Alltoallw "ALLTOALLW",
        11 Allreduce "ALLREDUCE",
        12 Reduce "REDUCE",
        13 ReduceScatter "REDUCE_SCATTER",
        14 Scan "SCAN",
        15 Exscan "EXSCAN",
        16 ReduceScatterBlock "REDUCE_SCATTER_BLOCK",
        17 CreateHandle "CREATE_HANDLE",
        18 DestroyHandle "DESTROY_HANDLE",
        19 Allocate "ALLOCATE",
        20 Deallocate "DEALLOCATE",
        21 CreateHandleAndAllocate "CREATE_HANDLE_AND_ALLOCATE",
        22 DestroyHandleAndDeallocate "DESTROY_HANDLE_AND_DEALLOCATE",
    }
    /// Kind of a pairwise RMA synchronisation.
    RmaSyncType {
        0 Memory "MEMORY",
        1 NotifyIn "NOTIFY_IN",
        2 NotifyOut "NOTIFY_OUT",
    }
    /// Kind of a lock: exclusive or shared.
    LockType {
        0 Exclusive "EXCLUSIVE",
        1 Shared "SHARED",
    }
    /// Kind of an atomic RMA operation.
    RmaAtomicType {
        0 Accumulate "ACCUMULATE",
        1 Increment "INCREMENT",
        2 TestAndSet "TEST_AND_SET",
        3 CompareAndSwap "COMPARE_AND_SWAP",
        4 Swap "SWAP",
        5 FetchAndAdd "FETCH_AND_ADD",
        6 FetchAndIncrement "FETCH_AND_INCREMENT",
        7 FetchAndAccumulate "FETCH_AND_ACCUMULATE",
    }
    /// Position from which a seek counts.
    IoSeekOption {
        0 FromStart "FROM_START",
        1 FromCurrent "FROM_CURRENT",
        2 FromEnd "FROM_END",
        3 Data "DATA",
        4 Hole "HOLE",
    }
    /// Kind of an I/O operation.
    IoOperationMode {
        0 Read "READ",
        1 Write "WRITE",
        2 Flush "FLUSH",
    }
    /// Compression of the files of an archive. OTF2 3 and this crate read uncompressed files only.
    Compression {
        0 Undefined "UNDEFINED",
        1 None "NONE",
        2 Zlib "ZLIB",
    }
    /// Storage of the files of an archive: plain files or SIONlib containers. This crate reads plain files only.
    FileSubstrate {
        0 Undefined "UNDEFINED",
        1 Posix "POSIX",
        2 Sion "SION",
        3 None "NONE",
    }
    /// Kind of id that a mapping table translates.
    MappingType {
        0 String "STRING",
        1 Attribute "ATTRIBUTE",
        2 Location "LOCATION",
        3 Region "REGION",
        4 Group "GROUP",
        5 Metric "METRIC",
        6 Comm "COMM",
        7 Parameter "PARAMETER",
        8 RmaWin "RMA_WIN",
        9 SourceCodeLocation "SOURCE_CODE_LOCATION",
        10 CallingContext "CALLING_CONTEXT",
        11 InterruptGenerator "INTERRUPT_GENERATOR",
        12 IoFile "IO_FILE",
        13 IoHandle "IO_HANDLE",
        14 LocationGroup "LOCATION_GROUP",
    }
    /// Type of an attribute value or a metric value.
    Type {
        0 None "NONE",
        1 Uint8 "UINT8",
        2 Uint16 "UINT16",
        3 Uint32 "UINT32",
        4 Uint64 "UINT64",
        5 Int8 "INT8",
        6 Int16 "INT16",
        7 Int32 "INT32",
        8 Int64 "INT64",
        9 Float "FLOAT",
        10 Double "DOUBLE",
        11 String "STRING",
        12 Attribute "ATTRIBUTE",
        13 Location "LOCATION",
        14 Region "REGION",
        15 Group "GROUP",
        16 Metric "METRIC",
        17 Comm "COMM",
        18 Parameter "PARAMETER",
        19 RmaWin "RMA_WIN",
        20 SourceCodeLocation "SOURCE_CODE_LOCATION",
        21 CallingContext "CALLING_CONTEXT",
        22 InterruptGenerator "INTERRUPT_GENERATOR",
        23 IoFile "IO_FILE",
        24 IoHandle "IO_HANDLE",
        25 LocationGroup "LOCATION_GROUP",
    }
    /// Programming model or library to which a definition or an event belongs.
    Paradigm {
        0 Unknown "UNKNOWN",
        1 User "USER",
        2 Compiler "COMPILER",
        3 Openmp "OPENMP",
        4 Mpi "MPI",
        5 Cuda "CUDA",
        6 MeasurementSystem "MEASUREMENT_SYSTEM",
        7 Pthread "PTHREAD",
        8 Hmpp "HMPP",
        9 Ompss "OMPSS",
        10 Hardware "HARDWARE",
        11 Gaspi "GASPI",
        12 Upc "UPC",
        13 Shmem "SHMEM",
        14 Winthread "WINTHREAD",
        15 Qtthread "QTTHREAD",
        16 Acethread "ACETHREAD",
        17 Tbbthread "TBBTHREAD",
        18 Openacc "OPENACC",
        19 Opencl "OPENCL",
        20 Mtapi "MTAPI",
        21 Sampling "SAMPLING",
        22 None "NONE",
        23 Hip "HIP",
        24 Kokkos "KOKKOS",
    }
    /// Class of a paradigm, by the kind of parallelism that it provides.
    ParadigmClass {
        0 Process "PROCESS",
        1 ThreadForkJoin "THREAD_FORK_JOIN",
        2 ThreadCreateWait "THREAD_CREATE_WAIT",
        3 Accelerator "ACCELERATOR",
    }
    /// Properties that a paradigm can have.
    ParadigmProperty {
        0 CommNameTemplate "COMM_NAME_TEMPLATE",
        1 RmaWinNameTemplate "RMA_WIN_NAME_TEMPLATE",
        2 RmaOnly "RMA_ONLY",
    }
    /// Kind of object that the values of a thumbnail belong to.
    ThumbnailType {
        0 Region "REGION",
        1 Metric "METRIC",
        2 Attributes "ATTRIBUTES",
    }
    /// Severity of a kind of marker.
    MarkerSeverity {
        0 None "NONE",
        1 Low "LOW",
        2 Medium "MEDIUM",
        3 High "HIGH",
    }
    /// Kind of object that a marker is attached to.
    MarkerScope {
        0 Global "GLOBAL",
        1 Location "LOCATION",
        2 LocationGroup "LOCATION_GROUP",
        3 SystemTreeNode "SYSTEM_TREE_NODE",
        4 Group "GROUP",
        5 Comm "COMM",
    }
}

flags! {
    /// Properties of a region, as flags.
    RegionFlag {
        1 DYNAMIC,
        2 PHASE,
    }
    /// Properties of a group, as flags.
    GroupFlag {
        1 GLOBAL_MEMBERS,
    }
    /// Properties of an I/O paradigm, as flags.
    IoParadigmFlag {
        1 OS,
    }
    /// Properties of an I/O handle, as flags.
    IoHandleFlag {
        1 PRE_CREATED,
        2 ALL_PROXY,
    }
    /// Status of an I/O handle, as flags that a program can change while the handle is open.
    IoStatusFlag {
        1 CLOSE_ON_EXEC,
        2 APPEND,
        4 NON_BLOCKING,
        8 ASYNC,
        16 SYNC,
        32 DATA_SYNC,
        64 AVOID_CACHING,
        128 NO_ACCESS_TIME,
        256 DELETE_ON_CLOSE,
    }
    /// Properties of a communicator, as flags.
    CommFlag {
        1 CREATE_DESTROY_EVENTS,
    }
    /// Properties of an RMA window, as flags.
    RmaWinFlag {
        1 CREATE_DESTROY_EVENTS,
    }
    /// Effect of a collective or group synchronisation, as flags: it synchronises processes, memory, or both.
    RmaSyncLevel {
        1 PROCESS,
        2 MEMORY,
    }
    /// Flags that the program passed when it created an I/O handle.
    IoCreationFlag {
        1 CREATE,
        2 TRUNCATE,
        4 DIRECTORY,
        8 EXCLUSIVE,
        16 NO_CONTROLLING_TERMINAL,
        32 NO_FOLLOW,
        64 PATH,
        128 TEMPORARY_FILE,
        256 LARGEFILE,
        512 NO_SEEK,
        1024 UNIQUE,
    }
    /// Properties of an I/O operation, as flags.
    IoOperationFlag {
        1 NON_BLOCKING,
        2 COLLECTIVE,
    }
}
