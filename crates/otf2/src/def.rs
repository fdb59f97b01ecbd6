//! Definition records, which give the ids in events their meaning.
//!
//! Global definitions are in the archive's `.def` file. Each location may have a `.def` file of its own with [mapping
//! tables](MappingTable) and [clock offsets](ClockOffset). The byte table of each record says how its fields are stored on
//! disk, in the codes of the [crate documentation](crate#codes).

mod group;
mod legacy;
mod region;

pub use self::group::Group;
pub use self::region::Region;
use crate::enums::{
    self, Base, CartPeriodicity, CommFlag, InterruptGeneratorMode, IoAccessMode, IoHandleFlag,
    IoParadigmClass, IoParadigmFlag, IoStatusFlag, LocationGroupType, LocationType, MappingType,
    MetricMode, MetricOccurrence, MetricScope, MetricType, ParadigmClass, ParameterType,
    RecorderKind, RmaWinFlag, SystemTreeDomain, Type,
};
use crate::id::{
    AttributeRef, CallingContextRef, CallpathRef, CallsiteRef, CartDimensionRef, CartTopologyRef,
    CommRef, GroupRef, Id, InterruptGeneratorRef, IoFileRef, IoHandleRef, IoParadigmRef,
    LocationGroupRef, LocationRef, MetricMemberRef, MetricRef, ParameterRef, Rank, RefKind,
    RegionRef, RmaWinRef, SourceCodeLocationRef, StringRef, SystemTreeNodeRef, Time,
};
use crate::map::IdMapRef;
use crate::output::Output;
use crate::record::{Framing, Keep, Record, Scope, Then, Unknown, records};
use crate::value::{AttributeValue, IoProperty, List, Str, Value};
use crate::wire::{Fault, Input, Wire};

records! {
    /// One definition of any kind, global or local.
    enum Definition is AnyDefinition;

    /// Defines the clock of the trace. An archive has this definition once.
    5 ClockProperties "1.0" global {
        /// Number of clock ticks in a second.
        timer_resolution: u64 as v64,
        /// Clock value that is not later than any event.
        global_offset: u64 as v64,
        /// Length of the trace in ticks, counted from `global_offset`, so that it covers every event.
        trace_length: u64 as v64,
        @late {
            /// Wall-clock time of `global_offset` in nanoseconds since 1970 UTC, or `u64::MAX` if it is not known.
            realtime_timestamp: u64 as v64 = u64::MAX,
        }
    }
    /// Declares a programming model that the trace uses.
    6 Paradigm "1.5" global {
        /// The paradigm that is declared.
        paradigm: enums::Paradigm as u8,
        /// Name of the paradigm.
        name: StringRef as v32,
        /// Class of the paradigm.
        paradigm_class: ParadigmClass as u8,
    }
    /// States a property of a paradigm.
    7 ParadigmProperty "1.5" global {
        /// The paradigm that has the property.
        paradigm: enums::Paradigm as u8,
        /// The property that is stated.
        property: enums::ParadigmProperty as u8,
        /// Value of the property, with its type.
        value: AttributeValue as attr,
    }
    /// Defines an I/O paradigm: an I/O library or layer.
    8 IoParadigm<'a> "2.1" global {
        /// Id of this definition.
        id: IoParadigmRef as u8,
        /// Name of the I/O paradigm that tools recognise, such as `POSIX` or `MPI-IO`.
        identification: StringRef as v32,
        /// Name of the I/O paradigm for people.
        name: StringRef as v32,
        /// Class of the I/O paradigm: serial or parallel.
        io_paradigm_class: IoParadigmClass as u8,
        /// Flags of the I/O paradigm.
        io_paradigm_flags: IoParadigmFlag as v32,
        /// Properties of the I/O paradigm, such as its version.
        properties: List<'a, IoProperty> as list8,
    }
    /// Translates the ids of one kind that a location uses to global ids.
    5 MappingTable<'a> "1.0" local {
        /// Kind of id that the table translates.
        mapping_type: MappingType as u8,
        /// The table of local and global ids.
        id_map: IdMapRef<'a> as idmap,
    }
    /// States one measurement of the clock of a location against the global clock.
    6 ClockOffset "1.0" local {
        /// Value of the local clock at the measurement.
        time: Time as u64,
        /// Ticks to add to the local time of the measurement to get global time.
        offset: i64 as s64,
        /// Quality of the measurement, which readers ignore.
        standard_deviation: f64 as f64,
    }
    /// Defines a string, to which other definitions refer by its id.
    10 String<'a> "1.0" both {
        /// Id of this definition.
        id: StringRef as v32,
        /// The bytes of the string, without the terminating zero.
        string: Str<'a> as str,
    }
    /// Defines an attribute that events may carry.
    11 Attribute "1.0" both {
        /// Id of this definition.
        id: AttributeRef as v32,
        /// Name of the attribute.
        name: StringRef as v32,
        /// Type of the values of the attribute.
        kind: Type as u8,
        @late {
            /// Longer description of the attribute; undefined if it has none.
            description: StringRef as v32 = StringRef::UNDEFINED,
        }
    }
    /// Defines a node of the system tree: a machine, a compute node or another part of the system.
    12 SystemTreeNode "1.0" both {
        /// Id of this definition.
        id: SystemTreeNodeRef as v32,
        /// Name of the node, such as a host name.
        name: StringRef as v32,
        /// Class of the node, such as `machine` or `node`.
        class_name: StringRef as v32,
        /// Parent of the node in the tree; undefined for the root.
        parent: SystemTreeNodeRef as v32,
    }
    /// Defines a location group: a process or an accelerator context.
    13 LocationGroup "1.0" both {
        /// Id of this definition.
        id: LocationGroupRef as v32,
        /// Name of the group, such as `MPI Rank 0`.
        name: StringRef as v32,
        /// Kind of the group: process or accelerator.
        location_group_type: LocationGroupType as u8,
        /// Node of the system tree on which the group runs.
        system_tree_parent: SystemTreeNodeRef as v32,
        @late {
            /// Group that created this one; undefined if none did.
            creating_location_group: LocationGroupRef as v32 = LocationGroupRef::UNDEFINED,
        }
    }
    /// Defines a location: a thread or another stream of events.
    14 Location "1.0" both {
        /// Id of this definition.
        id: LocationRef as v64,
        /// Name of the location, such as `Master thread`.
        name: StringRef as v32,
        /// Kind of the location: CPU thread, accelerator stream or metric.
        location_type: LocationType as u8,
        /// Number of records in the event file of the location.
        number_of_events: u64 as v64,
        /// Location group to which the location belongs.
        location_group: LocationGroupRef as v32,
    }
    15 Region custom "1.0" both;
    /// Defines a call site (deprecated by the format).
    16 Callsite "1.0" both {
        /// Id of this definition.
        id: CallsiteRef as v32,
        /// Source file of the call.
        source_file: StringRef as v32,
        /// Line of the call.
        line_number: u32 as v32,
        /// Region that is called.
        entered_region: RegionRef as v32,
        /// Region that contains the call.
        left_region: RegionRef as v32,
    }
    /// Defines a node of a call tree.
    17 Callpath "1.0" both {
        /// Id of this definition.
        id: CallpathRef as v32,
        /// Parent in the call tree; undefined for a root.
        parent: CallpathRef as v32,
        /// Region that is called on this path.
        region: RegionRef as v32,
    }
    18 Group<'a> custom "1.0" both;
    /// Defines a metric member: one counter.
    19 MetricMember "1.0" both {
        /// Id of this definition.
        id: MetricMemberRef as v32,
        /// Name of the counter.
        name: StringRef as v32,
        /// Longer description of the counter; undefined if it has none.
        description: StringRef as v32,
        /// Source of the counter, such as PAPI.
        metric_type: MetricType as u8,
        /// Meaning of the values and the interval to which a value applies (see [`MetricMode`]).
        metric_mode: MetricMode as u8,
        /// Type of the values: `INT64`, `UINT64` or `DOUBLE`.
        value_type: Type as u8,
        /// Base of the scale factor.
        base: Base as u8,
        /// Exponent of the scale factor: the true value is the recorded one × base^exponent.
        exponent: i64 as s64,
        /// Unit of the values, without a prefix.
        unit: StringRef as v32,
    }
    /// Defines a metric class: counters that are read together.
    20 MetricClass<'a> "1.0" both {
        /// Id of this definition.
        id: MetricRef as v32,
        /// The counters, in the order of the values in metric events.
        metric_members: List<'a, MetricMemberRef> as list8,
        /// Events with which the values are recorded.
        metric_occurrence: MetricOccurrence as u8,
        @late {
            /// Kind of location that records the class.
            recorder_kind: RecorderKind as u8 = RecorderKind::Unknown,
        }
    }
    /// Defines a metric instance: a metric class that is recorded for an object other than the location itself.
    21 MetricInstance "1.0" both {
        /// Id of this definition.
        id: MetricRef as v32,
        /// Metric class of the instance, whose recorder kind is `ABSTRACT`.
        metric_class: MetricRef as v32,
        /// Location whose event file holds the values.
        recorder: LocationRef as v64,
        /// Kind of the object that is measured.
        metric_scope: MetricScope as u8,
        /// Id of the object that is measured, of the kind that `metric_scope` states.
        scope: u64 as v64,
    }
    /// Defines a communicator.
    22 Comm "1.0" both {
        /// Id of this definition.
        id: CommRef as v32,
        /// Name of the communicator, which may be the empty string.
        name: StringRef as v32,
        /// Group of the members, in the order of their ranks.
        group: GroupRef as v32,
        /// Communicator from which this one was made; undefined if there is none.
        parent: CommRef as v32,
        @late {
            /// Flags of the communicator.
            flags: CommFlag as v32 = CommFlag::NONE,
        }
    }
    /// Defines a parameter, whose values events of a region can state.
    23 Parameter "1.0" both {
        /// Id of this definition.
        id: ParameterRef as v32,
        /// Name of the parameter.
        name: StringRef as v32,
        /// Type of the values of the parameter.
        parameter_type: ParameterType as u8,
    }
    /// Defines an RMA window: memory that other processes can access.
    24 RmaWin "1.2" both {
        /// Id of this definition.
        id: RmaWinRef as v32,
        /// Name of the window.
        name: StringRef as v32,
        /// Communicator whose processes share the window.
        comm: CommRef as v32,
        @late {
            /// Flags of the window.
            flags: RmaWinFlag as v32 = RmaWinFlag::CREATE_DESTROY_EVENTS,
        }
    }
    /// Names a location that records a metric.
    25 MetricClassRecorder "1.2" both {
        /// The metric class or metric instance that is recorded.
        metric: MetricRef as v32,
        /// Location whose event file holds the values.
        recorder: LocationRef as v64,
    }
    /// States a property of a system tree node.
    26 SystemTreeNodeProperty "1.2" both {
        /// The node that has the property.
        system_tree_node: SystemTreeNodeRef as v32,
        /// Name of the property.
        name: StringRef as v32,
        /// Value of the property.
        value: PropertyValue as property,
    }
    /// States the hardware that a system tree node represents.
    27 SystemTreeNodeDomain "1.2" both {
        /// The node of the system tree.
        system_tree_node: SystemTreeNodeRef as v32,
        /// Hardware that the node represents.
        system_tree_domain: SystemTreeDomain as u8,
    }
    /// States a property of a location group.
    28 LocationGroupProperty "1.3" both {
        /// The location group that has the property.
        location_group: LocationGroupRef as v32,
        /// Name of the property.
        name: StringRef as v32,
        /// Value of the property.
        value: PropertyValue as property,
    }
    /// States a property of a location.
    29 LocationProperty "1.3" both {
        /// The location that has the property.
        location: LocationRef as v64,
        /// Name of the property.
        name: StringRef as v32,
        /// Value of the property.
        value: PropertyValue as property,
    }
    /// Defines a dimension of a Cartesian topology.
    30 CartDimension "1.3" both {
        /// Id of this definition.
        id: CartDimensionRef as v32,
        /// Name of the dimension.
        name: StringRef as v32,
        /// Number of elements in the dimension.
        size: u32 as v32,
        /// Periodicity of the dimension.
        cart_periodicity: CartPeriodicity as u8,
    }
    /// Defines a Cartesian topology of a communicator.
    31 CartTopology<'a> "1.3" both {
        /// Id of this definition.
        id: CartTopologyRef as v32,
        /// Name of the topology.
        name: StringRef as v32,
        /// Communicator whose ranks the topology arranges.
        communicator: CommRef as v32,
        /// The dimensions of the topology.
        cart_dimensions: List<'a, CartDimensionRef> as list8,
    }
    /// States the coordinates of a rank in a Cartesian topology.
    32 CartCoordinate<'a> "1.3" both {
        /// The topology in which the rank has the coordinates.
        cart_topology: CartTopologyRef as v32,
        /// Rank in the communicator of the topology.
        rank: Rank as v32,
        /// One coordinate for each dimension of the topology.
        coordinates: List<'a, u32> as list8,
    }
    /// Defines a source code location: a file and a line.
    33 SourceCodeLocation "1.5" both {
        /// Id of this definition.
        id: SourceCodeLocationRef as v32,
        /// Name of the source file.
        file: StringRef as v32,
        /// Line in the source file.
        line_number: u32 as v32,
    }
    /// Defines a node of the calling-context tree.
    34 CallingContext "1.5" both {
        /// Id of this definition.
        id: CallingContextRef as v32,
        /// Region that runs in this context.
        region: RegionRef as v32,
        /// Source code location of the context; undefined if it is not known.
        source_code_location: SourceCodeLocationRef as v32,
        /// Parent in the calling-context tree; undefined for a root.
        parent: CallingContextRef as v32,
    }
    /// States a property of a calling context.
    35 CallingContextProperty "2.0" both {
        /// The calling context that has the property.
        calling_context: CallingContextRef as v32,
        /// Name of the property.
        name: StringRef as v32,
        /// Value of the property, with its type.
        value: AttributeValue as attr,
    }
    /// Defines an interrupt generator, which triggers the samples of a sampling recorder.
    36 InterruptGenerator "1.5" both {
        /// Id of this definition.
        id: InterruptGeneratorRef as v32,
        /// Name of the interrupt generator.
        name: StringRef as v32,
        /// Quantity in which the period is measured: time or counts.
        interrupt_generator_mode: InterruptGeneratorMode as u8,
        /// Base of the scale factor of the period.
        base: Base as u8,
        /// Exponent of the scale factor of the period.
        exponent: i64 as s64,
        /// Distance between interrupts: period × base^exponent, in seconds or counts.
        period: u64 as v64,
    }
    /// States a property of a file or directory.
    37 IoFileProperty "2.1" both {
        /// The file or directory that has the property.
        io_file: IoFileRef as v32,
        /// Name of the property.
        name: StringRef as v32,
        /// Value of the property, with its type.
        value: AttributeValue as attr,
    }
    /// Defines a regular file.
    38 IoRegularFile "2.1" both {
        /// Id of this definition.
        id: IoFileRef as v32,
        /// Path of the file.
        name: StringRef as v32,
        /// Part of the system in which the path names the same file; undefined if this is not known.
        scope: SystemTreeNodeRef as v32,
    }
    /// Defines a directory.
    39 IoDirectory "2.1" both {
        /// Id of this definition.
        id: IoFileRef as v32,
        /// Path of the directory.
        name: StringRef as v32,
        /// Part of the system in which the path names the same directory; undefined if this is not known.
        scope: SystemTreeNodeRef as v32,
    }
    /// Defines an I/O handle: an open file as one I/O paradigm sees it.
    40 IoHandle "2.1" both {
        /// Id of this definition.
        id: IoHandleRef as v32,
        /// Name of the handle, such as `stdout`.
        name: StringRef as v32,
        /// File that the handle refers to; undefined if it is not known.
        file: IoFileRef as v32,
        /// I/O paradigm to which the handle belongs.
        io_paradigm: IoParadigmRef as u8,
        /// Flags of the handle.
        io_handle_flags: IoHandleFlag as v32,
        /// Communicator whose processes share the handle; undefined if the handle belongs to one process.
        comm: CommRef as v32,
        /// Handle of the higher-level I/O paradigm that uses this one; undefined if there is none.
        parent: IoHandleRef as v32,
    }
    /// States how an I/O handle was opened that was active when recording began.
    41 IoPreCreatedHandleState "2.1" both {
        /// The handle that was active.
        io_handle: IoHandleRef as v32,
        /// Access mode of the handle.
        mode: IoAccessMode as u8,
        /// Status flags of the handle.
        status_flags: IoStatusFlag as v32,
    }
    /// States the value of a parameter on a call path.
    42 CallpathParameter "2.2" both {
        /// The call path.
        callpath: CallpathRef as v32,
        /// The parameter.
        parameter: ParameterRef as v32,
        /// Value of the parameter, with its type.
        value: AttributeValue as attr,
    }
    /// Defines an inter-communicator between two groups.
    43 InterComm "3.0" both {
        /// Id of this definition.
        id: CommRef as v32,
        /// Name of the inter-communicator.
        name: StringRef as v32,
        /// Group of the processes on one side.
        group_a: GroupRef as v32,
        /// Group of the processes on the other side.
        group_b: GroupRef as v32,
        /// Communicator that both groups have in common, the peer communicator of MPI; undefined if there is none.
        common_communicator: CommRef as v32,
        /// Flags of the inter-communicator.
        flags: CommFlag as v32,
    }
}

/// Value of a property of a system tree node, location group or location. It has a type since OTF2 2.0 and is a string
/// in older archives.
///
/// On disk: the id of the string or undefined (v32), then, if bytes are left, the typed value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PropertyValue(pub AttributeValue);

impl<'a> Wire<'a> for PropertyValue {
    const CODE: &'static str = "property";

    fn read(input: &mut Input<'a>) -> Result<Self, Fault> {
        let text = StringRef::read(input)?;
        Ok(Self(if input.has_more() { Wire::read(input)? } else { AttributeValue::String(text) }))
    }

    fn write(self, output: &mut impl Output) {
        let text = match self.0 {
            AttributeValue::String(text) => text,
            _ => StringRef::UNDEFINED,
        };
        text.write(output);
        self.0.write(output);
    }

    fn bound(self) -> usize {
        5 + self.0.bound()
    }

    fn value(&self) -> Value<'_> {
        self.0.value()
    }
}

/// Implements the look-up of the id and the name of a definition: one row for each record that defines an id.
macro_rules! keys {
    ($( $record:ident => $kind:ident $($name:ident)?; )*) => {
        impl Definition<'_> {
            /// Returns the kind and the id of the object that this record defines, or `None` for records that add to
            /// another definition, such as properties.
            pub fn key(&self) -> Option<(RefKind, u64)> {
                match self {
                    $( Self::$record(record) => Some((RefKind::$kind, record.id.raw())), )*
                    _ => None,
                }
            }

            /// Returns a reference to the name of the object that this record defines, or `None` if the record has no
            /// name. Strings have none: their text is in the record.
            pub fn name_ref(&self) -> Option<StringRef> {
                match self {
                    $($( Self::$record(record) => Some(record.$name), )?)*
                    _ => None,
                }
            }
        }
    };
}

keys! {
    String => String;
    Attribute => Attribute name;
    SystemTreeNode => SystemTreeNode name;
    LocationGroup => LocationGroup name;
    Location => Location name;
    Region => Region name;
    Callsite => Callsite;
    Callpath => Callpath;
    Group => Group name;
    MetricMember => MetricMember name;
    MetricClass => Metric;
    MetricInstance => Metric;
    Comm => Comm name;
    InterComm => Comm name;
    Parameter => Parameter name;
    RmaWin => RmaWin name;
    CartDimension => CartDimension name;
    CartTopology => CartTopology name;
    SourceCodeLocation => SourceCodeLocation;
    CallingContext => CallingContext;
    InterruptGenerator => InterruptGenerator name;
    IoParadigm => IoParadigm name;
    IoRegularFile => IoFile name;
    IoDirectory => IoFile name;
    IoHandle => IoHandle name;
}
