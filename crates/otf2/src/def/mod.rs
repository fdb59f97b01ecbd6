//! Definition records: what the ids in events mean.
//!
//! Global definitions stand in the archive's `.def` file. Each location may have a `.def` file of its
//! own with [mapping tables](MappingTable) and [clock offsets](ClockOffset). The byte table of each
//! record says how its fields stand on disk, in the codes of the [crate documentation](crate#codes).

mod legacy;

use crate::enums::{
    self, Base, CartPeriodicity, CommFlag, GroupFlag, GroupType, InterruptGeneratorMode,
    IoAccessMode, IoHandleFlag, IoParadigmClass, IoParadigmFlag, IoStatusFlag, LocationGroupType,
    LocationType, MappingType, MetricMode, MetricOccurrence, MetricScope, MetricType,
    ParadigmClass, ParameterType, RecorderKind, RegionFlag, RegionRole, RmaWinFlag,
    SystemTreeDomain, Type,
};
use crate::id::{
    AttributeRef, CallingContextRef, CallpathRef, CallsiteRef, CartDimensionRef, CartTopologyRef,
    CommRef, GroupRef, Id, InterruptGeneratorRef, IoFileRef, IoHandleRef, IoParadigmRef,
    LocationGroupRef, LocationRef, MetricMemberRef, MetricRef, ParameterRef, Rank, RefKind,
    RegionRef, RmaWinRef, SourceCodeLocationRef, StringRef, SystemTreeNodeRef, Time,
};
use crate::map::IdMapRef;
use crate::record::{Framing, Keep, Record, Scope, Then, Unknown, records};
use crate::value::{AttributeValue, IoProperty, List, Str, Value};
use crate::wire::{Fault, Input, Output, Wire};

records! {
    /// One definition.
    enum Definition is AnyDefinition;

    /// The clock of the trace. Once in an archive.
    5 ClockProperties "1.0" global {
        /// Clock ticks per second.
        timer_resolution: u64 as v64,
        /// Clock value at or before every event.
        global_offset: u64 as v64,
        /// Ticks that cover every event, counted from `global_offset`.
        trace_length: u64 as v64,
        @late {
            /// Wall clock of `global_offset`: nanoseconds since 1970 UTC, or `u64::MAX` for none.
            realtime_timestamp: u64 as v64 = u64::MAX,
        }
    }
    /// A programming model that the trace holds.
    6 Paradigm "1.5" global {
        /// Paradigm.
        paradigm: enums::Paradigm as u8,
        /// Name.
        name: StringRef as v32,
        /// Class of paradigm.
        paradigm_class: ParadigmClass as u8,
    }
    /// A property of a paradigm.
    7 ParadigmProperty "1.5" global {
        /// Paradigm.
        paradigm: enums::Paradigm as u8,
        /// Which property.
        property: enums::ParadigmProperty as u8,
        /// Typed value.
        value: AttributeValue as attr,
    }
    /// An I/O library or layer.
    8 IoParadigm<'a> "2.1" global {
        /// Id of this definition.
        id: IoParadigmRef as u8,
        /// Stable key of the I/O paradigm (e.g. POSIX, MPI-IO).
        identification: StringRef as v32,
        /// Name.
        name: StringRef as v32,
        /// Serial or parallel.
        io_paradigm_class: IoParadigmClass as u8,
        /// Flags.
        io_paradigm_flags: IoParadigmFlag as v32,
        /// Properties.
        properties: List<'a, IoProperty> as list8,
    }
    /// Translates the ids of one kind that a location uses into global ones.
    5 MappingTable<'a> "1.0" local {
        /// Which id space the table maps.
        mapping_type: MappingType as u8,
        /// The table.
        id_map: IdMapRef<'a> as idmap,
    }
    /// A measurement of the clock of a location against the global one.
    6 ClockOffset "1.0" local {
        /// Local clock value of the measurement.
        time: Time as u64,
        /// Ticks to add to local time at that moment.
        offset: i64 as s64,
        /// Quality figure, ignored by readers.
        standard_deviation: f64 as f64,
    }
    /// A string; all other definitions refer to names by its id.
    10 String<'a> "1.0" both {
        /// Id of this definition.
        id: StringRef as v32,
        /// Zero-terminated bytes.
        string: Str<'a> as str,
    }
    /// An attribute that events may carry.
    11 Attribute "1.0" both {
        /// Id of this definition.
        id: AttributeRef as v32,
        /// Name.
        name: StringRef as v32,
        /// Type its values have.
        kind: Type as u8,
        @late {
            /// Longer text.
            description: StringRef as v32 = StringRef::UNDEFINED,
        }
    }
    /// A machine, node or other part of the system.
    12 SystemTreeNode "1.0" both {
        /// Id of this definition.
        id: SystemTreeNodeRef as v32,
        /// Name.
        name: StringRef as v32,
        /// Class name (e.g. machine, node).
        class_name: StringRef as v32,
        /// Parent (undefined = none).
        parent: SystemTreeNodeRef as v32,
    }
    /// A process or an accelerator context.
    13 LocationGroup "1.0" both {
        /// Id of this definition.
        id: LocationGroupRef as v32,
        /// Name.
        name: StringRef as v32,
        /// Process or accelerator.
        location_group_type: LocationGroupType as u8,
        /// Node the group sits on.
        system_tree_parent: SystemTreeNodeRef as v32,
        @late {
            /// Group that created this one.
            creating_location_group: LocationGroupRef as v32 = LocationGroupRef::UNDEFINED,
        }
    }
    /// A thread or stream of events.
    14 Location "1.0" both {
        /// Id of this definition.
        id: LocationRef as v64,
        /// Name.
        name: StringRef as v32,
        /// CPU thread, accelerator stream, metric.
        location_type: LocationType as u8,
        /// Event records in the event file.
        number_of_events: u64 as v64,
        /// Owning group.
        location_group: LocationGroupRef as v32,
    }
    15 Region custom "1.0" both;
    /// A call site (deprecated).
    16 Callsite "1.0" both {
        /// Id of this definition.
        id: CallsiteRef as v32,
        /// File.
        source_file: StringRef as v32,
        /// Line.
        line_number: u32 as v32,
        /// Callee.
        entered_region: RegionRef as v32,
        /// Caller.
        left_region: RegionRef as v32,
    }
    /// A node of a call tree.
    17 Callpath "1.0" both {
        /// Id of this definition.
        id: CallpathRef as v32,
        /// Parent (undefined = none).
        parent: CallpathRef as v32,
        /// Region.
        region: RegionRef as v32,
    }
    18 Group<'a> custom "1.0" both;
    /// One counter.
    19 MetricMember "1.0" both {
        /// Id of this definition.
        id: MetricMemberRef as v32,
        /// Name.
        name: StringRef as v32,
        /// Longer text (undefined = none).
        description: StringRef as v32,
        /// Origin.
        metric_type: MetricType as u8,
        /// How values are to be read: value property + timing (see [`MetricMode`]).
        metric_mode: MetricMode as u8,
        /// INT64, UINT64 or DOUBLE.
        value_type: Type as u8,
        /// Base of the scale factor.
        base: Base as u8,
        /// True value = recorded × base^exponent.
        exponent: i64 as s64,
        /// Unit without prefix.
        unit: StringRef as v32,
    }
    /// Counters that are read together.
    20 MetricClass<'a> "1.0" both {
        /// Id of this definition.
        id: MetricRef as v32,
        /// The counters.
        metric_members: List<'a, MetricMemberRef> as list8,
        /// When values appear.
        metric_occurrence: MetricOccurrence as u8,
        @late {
            /// Who records.
            recorder_kind: RecorderKind as u8 = RecorderKind::Unknown,
        }
    }
    /// A metric class recorded for something else than the location itself.
    21 MetricInstance "1.0" both {
        /// Id of this definition.
        id: MetricRef as v32,
        /// Class instantiated (kind ABSTRACT).
        metric_class: MetricRef as v32,
        /// Location whose stream carries the values.
        recorder: LocationRef as v64,
        /// What scope is.
        metric_scope: MetricScope as u8,
        /// Id of the thing measured, of the kind `metric_scope` says.
        scope: u64 as v64,
    }
    /// A communicator.
    22 Comm "1.0" both {
        /// Id of this definition.
        id: CommRef as v32,
        /// Name (may be the empty string).
        name: StringRef as v32,
        /// Group of members.
        group: GroupRef as v32,
        /// Parent (undefined = none).
        parent: CommRef as v32,
        @late {
            /// Flags.
            flags: CommFlag as v32 = CommFlag::NONE,
        }
    }
    /// A parameter.
    23 Parameter "1.0" both {
        /// Id of this definition.
        id: ParameterRef as v32,
        /// Name.
        name: StringRef as v32,
        /// Value type.
        parameter_type: ParameterType as u8,
    }
    /// A window of remotely accessible memory.
    24 RmaWin "1.2" both {
        /// Id of this definition.
        id: RmaWinRef as v32,
        /// Name.
        name: StringRef as v32,
        /// Communicator.
        comm: CommRef as v32,
        @late {
            /// Flags.
            flags: RmaWinFlag as v32 = RmaWinFlag::CREATE_DESTROY_EVENTS,
        }
    }
    /// A location that records a metric.
    25 MetricClassRecorder "1.2" both {
        /// MetricClass or MetricInstance.
        metric: MetricRef as v32,
        /// Location whose stream carries the values.
        recorder: LocationRef as v64,
    }
    /// A property of a system tree node.
    26 SystemTreeNodeProperty "1.2" both {
        /// Node.
        system_tree_node: SystemTreeNodeRef as v32,
        /// Name.
        name: StringRef as v32,
        /// Its value.
        value: PropertyValue as property,
    }
    /// What a system tree node stands for.
    27 SystemTreeNodeDomain "1.2" both {
        /// Node.
        system_tree_node: SystemTreeNodeRef as v32,
        /// Domain.
        system_tree_domain: SystemTreeDomain as u8,
    }
    /// A property of a location group.
    28 LocationGroupProperty "1.3" both {
        /// Owning group.
        location_group: LocationGroupRef as v32,
        /// Name.
        name: StringRef as v32,
        /// Its value.
        value: PropertyValue as property,
    }
    /// A property of a location.
    29 LocationProperty "1.3" both {
        /// Location.
        location: LocationRef as v64,
        /// Name.
        name: StringRef as v32,
        /// Its value.
        value: PropertyValue as property,
    }
    /// A dimension of a Cartesian topology.
    30 CartDimension "1.3" both {
        /// Id of this definition.
        id: CartDimensionRef as v32,
        /// Name.
        name: StringRef as v32,
        /// Extent.
        size: u32 as v32,
        /// Periodic or not.
        cart_periodicity: CartPeriodicity as u8,
    }
    /// A Cartesian topology.
    31 CartTopology<'a> "1.3" both {
        /// Id of this definition.
        id: CartTopologyRef as v32,
        /// Name.
        name: StringRef as v32,
        /// Communicator.
        communicator: CommRef as v32,
        /// The dimensions.
        cart_dimensions: List<'a, CartDimensionRef> as list8,
    }
    /// Place of a rank in a Cartesian topology.
    32 CartCoordinate<'a> "1.3" both {
        /// Topology.
        cart_topology: CartTopologyRef as v32,
        /// Rank in the communicator of the topology.
        rank: Rank as v32,
        /// A coordinate for each dimension.
        coordinates: List<'a, u32> as list8,
    }
    /// A file and line.
    33 SourceCodeLocation "1.5" both {
        /// Id of this definition.
        id: SourceCodeLocationRef as v32,
        /// File name.
        file: StringRef as v32,
        /// Line.
        line_number: u32 as v32,
    }
    /// A node of the calling-context tree.
    34 CallingContext "1.5" both {
        /// Id of this definition.
        id: CallingContextRef as v32,
        /// Region.
        region: RegionRef as v32,
        /// Where in the source.
        source_code_location: SourceCodeLocationRef as v32,
        /// Parent (undefined = none).
        parent: CallingContextRef as v32,
    }
    /// A property of a calling context.
    35 CallingContextProperty "2.0" both {
        /// Node.
        calling_context: CallingContextRef as v32,
        /// Name.
        name: StringRef as v32,
        /// Typed value.
        value: AttributeValue as attr,
    }
    /// A source of sampling interrupts.
    36 InterruptGenerator "1.5" both {
        /// Id of this definition.
        id: InterruptGeneratorRef as v32,
        /// Name.
        name: StringRef as v32,
        /// Time or count.
        interrupt_generator_mode: InterruptGeneratorMode as u8,
        /// Base of the scale factor.
        base: Base as u8,
        /// True value = recorded × base^exponent.
        exponent: i64 as s64,
        /// Distance of interrupts = period × base^exponent (seconds or counts).
        period: u64 as v64,
    }
    /// A property of a file.
    37 IoFileProperty "2.1" both {
        /// File or directory.
        io_file: IoFileRef as v32,
        /// Name.
        name: StringRef as v32,
        /// Typed value.
        value: AttributeValue as attr,
    }
    /// A regular file.
    38 IoRegularFile "2.1" both {
        /// Id of this definition.
        id: IoFileRef as v32,
        /// Name.
        name: StringRef as v32,
        /// System tree node on which the file is one thing.
        scope: SystemTreeNodeRef as v32,
    }
    /// A directory.
    39 IoDirectory "2.1" both {
        /// Id of this definition.
        id: IoFileRef as v32,
        /// Name.
        name: StringRef as v32,
        /// As [`IoRegularFile::scope`].
        scope: SystemTreeNodeRef as v32,
    }
    /// An I/O handle.
    40 IoHandle "2.1" both {
        /// Id of this definition.
        id: IoHandleRef as v32,
        /// Name.
        name: StringRef as v32,
        /// File.
        file: IoFileRef as v32,
        /// IoParadigm id.
        io_paradigm: IoParadigmRef as u8,
        /// Flags.
        io_handle_flags: IoHandleFlag as v32,
        /// Who shares the handle (undefined = nobody).
        comm: CommRef as v32,
        /// Handle of the higher-level paradigm.
        parent: IoHandleRef as v32,
    }
    /// State of a handle that was active when recording began.
    41 IoPreCreatedHandleState "2.1" both {
        /// Handle.
        io_handle: IoHandleRef as v32,
        /// Access mode.
        mode: IoAccessMode as u8,
        /// Flags.
        status_flags: IoStatusFlag as v32,
    }
    /// A parameter of a call path.
    42 CallpathParameter "2.2" both {
        /// Callpath.
        callpath: CallpathRef as v32,
        /// Parameter.
        parameter: ParameterRef as v32,
        /// Typed value.
        value: AttributeValue as attr,
    }
    /// An inter-communicator.
    43 InterComm "3.0" both {
        /// Id of this definition.
        id: CommRef as v32,
        /// Name.
        name: StringRef as v32,
        /// One side.
        group_a: GroupRef as v32,
        /// Other side.
        group_b: GroupRef as v32,
        /// Peer communicator (undefined = none).
        common_communicator: CommRef as v32,
        /// Flags.
        flags: CommFlag as v32,
    }
}

/// A code region.
///
/// Record 15, since OTF2 1.0. Fields on disk:
///
/// | field | code |
/// |---|---|
/// | `id` | v32 |
/// | `name` | v32 |
/// | `description` | v32 |
/// | legacy type | u8, written for readers before 1.1 |
/// | `source_file` | v32 |
/// | `begin_line_number` | v32 |
/// | `end_line_number` | v32 |
/// | `canonical_name` | v32, if bytes are left; else `name` |
/// | `region_role` | u8, if bytes are left; else from the legacy type |
/// | `paradigm` | u8, likewise |
/// | `region_flags` | v32, likewise |
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    /// Id of this definition.
    pub id: RegionRef,
    /// Name.
    pub name: StringRef,
    /// Mangled name, or the same as `name`.
    pub canonical_name: StringRef,
    /// Longer text (undefined = none).
    pub description: StringRef,
    /// What the region does.
    pub region_role: RegionRole,
    /// Library or model it belongs to.
    pub paradigm: enums::Paradigm,
    /// Flags.
    pub region_flags: RegionFlag,
    /// File.
    pub source_file: StringRef,
    /// First line (0 = unknown).
    pub begin_line_number: u32,
    /// Last line (0 = unknown).
    pub end_line_number: u32,
}

impl<'a> Record<'a> for Region {
    const ID: u8 = 15;
    const NAME: &'static str = "Region";
    const FRAMING: Framing = Framing::Length;

    fn read(input: &mut Input<'a>) -> Result<Self, Fault> {
        let id = Wire::read(input)?;
        let name = Wire::read(input)?;
        let description = Wire::read(input)?;
        let legacy = legacy::region(u8::read(input)?);
        let source_file = Wire::read(input)?;
        let begin_line_number = Wire::read(input)?;
        let end_line_number = Wire::read(input)?;
        let canonical_name = if input.has_more() { Wire::read(input)? } else { name };
        Ok(Self {
            id,
            name,
            canonical_name,
            description,
            region_role: if input.has_more() { Wire::read(input)? } else { legacy.0 },
            paradigm: if input.has_more() { Wire::read(input)? } else { legacy.1 },
            region_flags: if input.has_more() { Wire::read(input)? } else { legacy.2 },
            source_file,
            begin_line_number,
            end_line_number,
        })
    }

    fn write(&self, output: &mut Output<'_>) {
        self.id.write(output);
        self.name.write(output);
        self.description.write(output);
        legacy::region_type(self.region_role, self.paradigm, self.region_flags).write(output);
        self.source_file.write(output);
        self.begin_line_number.write(output);
        self.end_line_number.write(output);
        self.canonical_name.write(output);
        self.region_role.write(output);
        self.paradigm.write(output);
        self.region_flags.write(output);
    }

    fn bound(&self) -> usize {
        8 * 5 + 3
    }

    fn fields(&self, visit: &mut dyn FnMut(&'static str, Value<'_>)) {
        visit("id", self.id.value());
        visit("name", self.name.value());
        visit("canonical_name", self.canonical_name.value());
        visit("description", self.description.value());
        visit("region_role", self.region_role.value());
        visit("paradigm", self.paradigm.value());
        visit("region_flags", self.region_flags.value());
        visit("source_file", self.source_file.value());
        visit("begin_line_number", self.begin_line_number.value());
        visit("end_line_number", self.end_line_number.value());
    }
}

/// A group of locations, ranks, regions or metrics.
///
/// Record 18, since OTF2 1.0. Fields on disk:
///
/// | field | code |
/// |---|---|
/// | `id` | v32 |
/// | `name` | v32 |
/// | legacy type | u8, written for readers before 1.2 |
/// | `members` | list32 of v64 |
/// | `group_type` | u8, if bytes are left; else from the legacy type |
/// | `paradigm` | u8, likewise |
/// | `group_flags` | v32, likewise |
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group<'a> {
    /// Id of this definition.
    pub id: GroupRef,
    /// Name.
    pub name: StringRef,
    /// What the members are.
    pub group_type: GroupType,
    /// Paradigm of the ranks.
    pub paradigm: enums::Paradigm,
    /// Flags.
    pub group_flags: GroupFlag,
    /// Ids or ranks, as `group_type` says.
    pub members: List<'a, u64>,
}

impl<'a> Record<'a> for Group<'a> {
    const ID: u8 = 18;
    const NAME: &'static str = "Group";
    const FRAMING: Framing = Framing::Length;

    fn read(input: &mut Input<'a>) -> Result<Self, Fault> {
        let id = Wire::read(input)?;
        let name = Wire::read(input)?;
        let legacy = legacy::group(u8::read(input)?);
        let members = Wire::read(input)?;
        Ok(Self {
            id,
            name,
            group_type: if input.has_more() { Wire::read(input)? } else { legacy.0 },
            paradigm: if input.has_more() { Wire::read(input)? } else { legacy.1 },
            group_flags: if input.has_more() { Wire::read(input)? } else { GroupFlag::NONE },
            members,
        })
    }

    fn write(&self, output: &mut Output<'_>) {
        self.id.write(output);
        self.name.write(output);
        legacy::group_type(self.group_type, self.paradigm, self.group_flags).write(output);
        self.members.write(output);
        self.group_type.write(output);
        self.paradigm.write(output);
        self.group_flags.write(output);
    }

    fn bound(&self) -> usize {
        5 + 5 + 1 + self.members.bound() + 1 + 1 + 5
    }

    fn fields(&self, visit: &mut dyn FnMut(&'static str, Value<'_>)) {
        visit("id", self.id.value());
        visit("name", self.name.value());
        visit("group_type", self.group_type.value());
        visit("paradigm", self.paradigm.value());
        visit("group_flags", self.group_flags.value());
        visit("members", self.members.value());
    }
}

/// Value of a property of the system tree: typed since OTF2 2.0, a string before.
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

    fn write(self, output: &mut Output<'_>) {
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

/// What a definition defines, and its name.
macro_rules! keys {
    ($( $record:ident => $kind:ident $($name:ident)?; )*) => {
        impl Definition<'_> {
            /// Kind and number of what this defines; `None` for records that add to another
            /// definition.
            pub fn key(&self) -> Option<(RefKind, u64)> {
                match self {
                    $( Self::$record(record) => Some((RefKind::$kind, record.id.raw())), )*
                    _ => None,
                }
            }

            /// The string that is the name of what this defines.
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
