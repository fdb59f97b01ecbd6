//! The global definitions of the archive.

use super::*;

/// Defines everything that events may refer to.
#[allow(clippy::too_many_lines)] // A list, one definition after the other.
pub(super) fn definitions(defs: &mut DefWriter, counts: &[u64]) -> otf2::Result<()> {
    defs.write(def::ClockProperties {
        timer_resolution: 1_000_000_000,
        global_offset: 1_000_000,
        trace_length: 10_000,
        realtime_timestamp: 1_709_251_199_000_000_007,
    })?;
    for (id, text) in (0..).zip(STRINGS) {
        defs.write(def::String { id: StringRef(id), string: Str::new(text) })?;
    }
    for (round, &paradigm) in Paradigm::ALL.iter().enumerate().filter(|(round, _)| round % 2 == 0) {
        defs.write(def::Paradigm {
            paradigm,
            name: string_or_none(round),
            paradigm_class: constant!(ParadigmClass, round / 2),
        })?;
    }
    defs.write(def::Paradigm {
        paradigm: Paradigm::Unlisted(210),
        name: string(1),
        paradigm_class: ParadigmClass::Process,
    })?;
    for (round, (property, value)) in [
        (ParadigmProperty::CommNameTemplate, AttributeValue::String(string(1))),
        (ParadigmProperty::RmaWinNameTemplate, AttributeValue::String(string(2))),
        (ParadigmProperty::RmaWinNameTemplate, AttributeValue::Uint64(17)),
        (ParadigmProperty::RmaOnly, AttributeValue::Uint8(0)),
        (ParadigmProperty::RmaOnly, AttributeValue::Uint8(1)),
        (ParadigmProperty::RmaOnly, AttributeValue::Uint8(2)),
        (ParadigmProperty::Unlisted(99), AttributeValue::Uint64(18)),
    ]
    .into_iter()
    .enumerate()
    {
        defs.write(def::ParadigmProperty {
            paradigm: constant!(Paradigm, round),
            property,
            value,
        })?;
    }
    let property = |property, value| IoProperty { property, value };
    let properties = [
        property(IoParadigmProperty::Version, AttributeValue::String(string(1))),
        property(IoParadigmProperty::Version, AttributeValue::Uint64(5)),
        property(IoParadigmProperty::Unlisted(9), AttributeValue::Uint64(6)),
    ];
    for round in 0..6 {
        defs.write(def::IoParadigm {
            id: IoParadigmRef(round as u8),
            identification: string(round),
            name: string(round + 1),
            io_paradigm_class: constant!(IoParadigmClass, round),
            io_paradigm_flags: IoParadigmFlag(bits(round)),
            properties: List::from(&properties[..round % 4]),
        })?;
    }
    for round in 0..26 {
        defs.write(def::Attribute {
            id: AttributeRef(round as u32),
            name: string_or_none(round),
            kind: constant!(Type, round + 1),
            description: string_or_none(round + 1),
        })?;
    }
    for round in 0..4 {
        let parent = usize::checked_sub(round, 1)
            .map_or(SystemTreeNodeRef::UNDEFINED, |up| SystemTreeNodeRef(up as u32));
        defs.write(def::SystemTreeNode {
            id: SystemTreeNodeRef(round as u32),
            name: string(round),
            class_name: string(round + 1),
            parent,
        })?;
        defs.write(def::LocationGroup {
            id: LocationGroupRef(round as u32),
            name: string_or_none(round),
            location_group_type: constant!(LocationGroupType, round),
            system_tree_parent: pick(&[SystemTreeNodeRef(0), SystemTreeNodeRef::UNDEFINED], round),
            creating_location_group: pick(
                &[LocationGroupRef::UNDEFINED, LocationGroupRef(0)],
                round,
            ),
        })?;
    }
    for (round, (&id, &number_of_events)) in LOCATIONS.iter().zip(counts).enumerate() {
        defs.write(def::Location {
            id,
            name: string(round + 1),
            location_type: constant!(LocationType, round + 1),
            number_of_events,
            location_group: pick(&[0, 1, u32::MAX].map(LocationGroupRef), round),
        })?;
    }
    for round in 0..ROUNDS {
        defs.write(def::Region {
            id: RegionRef(round as u32),
            // A calling context without a region name is too much for `otf2-print`.
            name: if round < 4 { string(round) } else { string_or_none(round) },
            canonical_name: string_or_none(round + 1),
            description: string_or_none(round + 2),
            region_role: constant!(RegionRole, round),
            paradigm: constant!(Paradigm, round),
            region_flags: RegionFlag(bits(round)),
            source_file: string_or_none(round + 3),
            begin_line_number: small(round),
            end_line_number: small(round + 1),
        })?;
    }
    let region = |round| reference!(RegionRef, round, 40);
    for round in 0..5 {
        defs.write(def::Callsite {
            id: CallsiteRef(round as u32),
            source_file: string_or_none(round),
            line_number: small(round),
            entered_region: region(round),
            left_region: region(round + 2),
        })?;
        defs.write(def::Callpath {
            id: CallpathRef(round as u32),
            parent: pick(&[CallpathRef::UNDEFINED, CallpathRef(0)], round),
            region: region(round),
        })?;
        defs.write(def::Parameter {
            id: ParameterRef(round as u32),
            name: string_or_none(round),
            parameter_type: constant!(ParameterType, round),
        })?;
    }
    for round in 0..26 {
        defs.write(def::CallpathParameter {
            callpath: reference!(CallpathRef, round, 5),
            parameter: reference!(ParameterRef, round, 5),
            value: typed(round),
        })?;
        defs.write(def::SystemTreeNodeProperty {
            system_tree_node: reference!(SystemTreeNodeRef, round, 4),
            name: string_or_none(round),
            value: PropertyValue(typed_now(round)),
        })?;
        defs.write(def::SystemTreeNodeDomain {
            system_tree_node: reference!(SystemTreeNodeRef, round, 4),
            system_tree_domain: constant!(SystemTreeDomain, round),
        })?;
        defs.write(def::LocationGroupProperty {
            location_group: reference!(LocationGroupRef, round, 4),
            name: string_or_none(round),
            value: PropertyValue(typed_now(round)),
        })?;
        defs.write(def::LocationProperty {
            location: reference!(LocationRef, round, 2),
            name: string_or_none(round),
            value: PropertyValue(typed_now(round)),
        })?;
    }
    for round in 0..26 {
        defs.write(def::MetricMember {
            id: MetricMemberRef(round as u32),
            name: string_or_none(round),
            description: string_or_none(round + 1),
            metric_type: constant!(MetricType, round),
            metric_mode: constant!(MetricMode, round),
            value_type: constant!(Type, round),
            base: constant!(Base, round),
            exponent: signed(round),
            unit: string_or_none(round + 2),
        })?;
    }
    groups_and_comms(defs)?;
    metrics(defs)?;
    contexts_and_files(defs)
}

fn groups_and_comms(defs: &mut DefWriter) -> otf2::Result<()> {
    let locations = LOCATIONS.map(|location| location.0);
    let (mpi, shmem) = (Paradigm::Mpi, Paradigm::Shmem);
    let none = GroupFlag::NONE;
    let global = GroupFlag::GLOBAL_MEMBERS;
    let groups: &[(GroupType, Paradigm, GroupFlag, &[u64])] = &[
        (GroupType::CommLocations, mpi, none, &locations),
        (GroupType::CommLocations, shmem, global, &locations),
        (GroupType::CommGroup, mpi, none, &[0, 1, 2]),
        (GroupType::CommGroup, mpi, none, &[0, 1]),
        (GroupType::CommGroup, mpi, none, &[2]),
        (GroupType::CommSelf, mpi, none, &[]),
        (GroupType::CommGroup, shmem, global, &[2, 1, 0]),
        (GroupType::CommGroup, shmem, none, &[2, 0]),
        (GroupType::Locations, Paradigm::Unlisted(201), GroupFlag(bits(15)), &locations),
        (GroupType::Regions, Paradigm::Unknown, none, &[0, 1, 4, u64::MAX]),
        (GroupType::Metric, Paradigm::Unknown, none, &[0]),
        (GroupType::Unknown, Paradigm::Unknown, none, &[7, u64::MAX]),
        (GroupType::Unlisted(77), Paradigm::User, none, &[]),
    ];
    for (round, &(group_type, paradigm, group_flags, members)) in groups.iter().enumerate() {
        defs.write(def::Group {
            id: GroupRef(round as u32),
            name: string_or_none(round),
            group_type,
            paradigm,
            group_flags,
            members: List::from(members),
        })?;
    }
    for (round, group) in [2, 5, 6, 7].into_iter().enumerate() {
        defs.write(def::Comm {
            id: CommRef(round as u32),
            name: string_or_none(round + 2),
            group: GroupRef(group),
            parent: pick(&[CommRef::UNDEFINED, CommRef(0)], round),
            flags: CommFlag(bits(round)),
        })?;
    }
    defs.write(def::InterComm {
        id: CommRef(4),
        name: string(1),
        group_a: GroupRef(3),
        group_b: GroupRef(4),
        common_communicator: CommRef(0),
        flags: CommFlag::NONE,
    })?;
    defs.write(def::InterComm {
        id: CommRef(5),
        name: string(0),
        group_a: GroupRef(4),
        group_b: GroupRef(3),
        common_communicator: CommRef::UNDEFINED,
        flags: CommFlag(bits(14)),
    })?;
    for (round, comm) in [0, 2, 3, 1].into_iter().enumerate() {
        defs.write(def::RmaWin {
            id: RmaWinRef(round as u32),
            name: string_or_none(round + 1),
            comm: CommRef(comm),
            flags: RmaWinFlag(bits(round)),
        })?;
    }
    for round in 0..4 {
        defs.write(def::CartDimension {
            id: CartDimensionRef(round as u32),
            name: string_or_none(round + 1),
            size: small(round),
            cart_periodicity: constant!(CartPeriodicity, round),
        })?;
    }
    let dimensions = [0, 1, 2, u32::MAX].map(CartDimensionRef);
    for round in 0..4 {
        let id = CartTopologyRef(round as u32);
        defs.write(def::CartTopology {
            id,
            name: string_or_none(round + 1),
            communicator: CommRef(round as u32),
            cart_dimensions: List::from(&dimensions[..round]),
        })?;
        for (at, rank) in [0, 1, 2, 9, u32::MAX].map(Rank).into_iter().enumerate() {
            let coordinates = [0, 1, 2, u32::MAX];
            defs.write(def::CartCoordinate {
                cart_topology: id,
                rank,
                coordinates: List::from(&coordinates[..at % 4]),
            })?;
        }
    }
    Ok(())
}

fn metrics(defs: &mut DefWriter) -> otf2::Result<()> {
    let members = [3, 1, 2, 9].map(MetricMemberRef);
    for round in 0..5 {
        defs.write(def::MetricClass {
            id: MetricRef(round as u32),
            metric_members: List::from(&members[..round % 5]),
            metric_occurrence: constant!(MetricOccurrence, round),
            recorder_kind: constant!(RecorderKind, round),
        })?;
    }
    for round in 0..10 {
        defs.write(def::MetricInstance {
            id: MetricRef(5 + round as u32),
            metric_class: MetricRef(round as u32 % 5),
            recorder: reference!(LocationRef, round, 2),
            metric_scope: constant!(MetricScope, round),
            scope: pick(&[0, 1, 2, u64::from(u32::MAX), u64::MAX, 0, 9], round),
        })?;
        defs.write(def::MetricClassRecorder {
            metric: reference!(MetricRef, round, 5),
            recorder: reference!(LocationRef, round, 2),
        })?;
    }
    Ok(())
}

fn contexts_and_files(defs: &mut DefWriter) -> otf2::Result<()> {
    for round in 0..5 {
        let id = round as u32;
        defs.write(def::SourceCodeLocation {
            id: SourceCodeLocationRef(id),
            file: string(round + 3),
            line_number: small(round),
        })?;
        let scl = pick(
            &[SourceCodeLocationRef(0), SourceCodeLocationRef::UNDEFINED, SourceCodeLocationRef(2)],
            round,
        );
        let parent = pick(&[CallingContextRef::UNDEFINED, CallingContextRef(0)], round);
        let region = pick(&[0, 1, 2, 3, u32::MAX].map(RegionRef), round);
        defs.write(def::CallingContext {
            id: CallingContextRef(id),
            region,
            source_code_location: scl,
            parent,
        })?;
        defs.write(def::InterruptGenerator {
            id: InterruptGeneratorRef(id),
            name: string_or_none(round),
            interrupt_generator_mode: constant!(InterruptGeneratorMode, round),
            base: constant!(Base, round),
            exponent: signed(round),
            period: number(round),
        })?;
        let scope = reference!(SystemTreeNodeRef, round, 4);
        defs.write(def::IoRegularFile { id: IoFileRef(2 * id), name: string(round), scope })?;
        defs.write(def::IoDirectory { id: IoFileRef(2 * id + 1), name: string(round + 1), scope })?;
    }
    for round in 0..26 {
        defs.write(def::CallingContextProperty {
            calling_context: CallingContextRef(round as u32 % 5),
            name: string_or_none(round),
            value: typed(round),
        })?;
        defs.write(def::IoFileProperty {
            io_file: reference!(IoFileRef, round, 10),
            name: string_or_none(round),
            value: typed(round),
        })?;
    }
    for round in 0..8 {
        defs.write(def::IoHandle {
            id: IoHandleRef(round as u32),
            name: string_or_none(round),
            file: pick(&[0, 1, u32::MAX].map(IoFileRef), round),
            io_paradigm: IoParadigmRef(round as u8 % 3),
            io_handle_flags: IoHandleFlag(bits(round)),
            comm: reference!(CommRef, round, 6),
            parent: pick(&[IoHandleRef::UNDEFINED, IoHandleRef(0)], round),
        })?;
        defs.write(def::IoPreCreatedHandleState {
            io_handle: IoHandleRef(round as u32),
            mode: constant!(IoAccessMode, round),
            status_flags: IoStatusFlag(bits(2 * round + 1)),
        })?;
    }
    Ok(())
}
