//! Writes an archive anew with our writers, record by record.
//!
//! What a record holds comes from an archive of libotf2, and that we read it rightly is tested
//! elsewhere. So all that can go wrong here is the writing.

use std::path::Path;

use otf2::def::{CartCoordinate, CartTopology, Group, IoParadigm, MappingTable, MetricClass};
use otf2::event::{Metric, ProgramBegin};
use otf2::id::LocationRef;
use otf2::map::IdMapRef;
use otf2::write::{ArchiveWriter, DefWriter, Options};
use otf2::{Archive, ByteOrder, Definition, Event, List, snapshot};

/// Settings of a copy.
#[derive(Clone, Copy)]
pub(crate) struct How {
    /// Byte order of the copy.
    pub(crate) order: ByteOrder,
    /// `true` if lists are decoded first and written from slices, as programs write them; `false` if they are written
    /// as they were read.
    pub(crate) slices: bool,
}

/// Copies an archive with the files of these locations.
pub(crate) fn copy(archive: &Archive, locations: &[u64], directory: &Path, how: How) {
    let anchor = archive.anchor();
    let options = Options {
        events_chunk: anchor.events_chunk,
        defs_chunk: anchor.defs_chunk,
        order: how.order,
        machine: anchor.machine.clone(),
        creator: anchor.creator.clone(),
        description: anchor.description.clone(),
        properties: anchor.properties.clone(),
        trace_id: anchor.trace_id,
        snapshots: anchor.snapshots,
        checksums: anchor.has_checksums(),
        local_definitions: anchor.has_local_definitions(),
    };
    let writer = ArchiveWriter::create(directory, "traces", options).unwrap();
    for location in locations.iter().copied().map(LocationRef) {
        events(archive, &writer, location, how);
        snapshots(archive, &writer, location, how);
        if let Some(mut reader) = archive.local_definitions(location).unwrap() {
            let mut copy = writer.local_definitions(location).unwrap();
            while let Some(record) = reader.next().unwrap() {
                definition(&mut copy, record, how);
            }
            copy.finish().unwrap();
        }
    }
    let mut reader = archive.global_definitions().unwrap();
    let mut copy = writer.global_definitions().unwrap();
    while let Some(record) = reader.next().unwrap() {
        definition(&mut copy, record, how);
    }
    copy.finish().unwrap();
    if let Some(mut reader) = archive.markers().unwrap() {
        let mut copy = writer.markers().unwrap();
        while let Some(record) = reader.next().unwrap() {
            copy.write(record).unwrap();
        }
        copy.finish().unwrap();
    }
    for number in 0..anchor.thumbnails {
        let mut reader = archive.thumbnail(number).unwrap();
        let mut copy = writer.thumbnail().unwrap();
        while let Some(record) = reader.next().unwrap() {
            copy.write(record).unwrap();
        }
        copy.finish().unwrap();
    }
    writer.finish().unwrap();
}

/// Copies the events as they are in the file, without translating ids and times.
fn events(archive: &Archive, writer: &ArchiveWriter, location: LocationRef, how: How) {
    let mut reader = archive.events_with(location, &Default::default(), 128 * 1024).unwrap();
    let mut copy = writer.events(location).unwrap();
    while let Some(record) = reader.next().unwrap() {
        let attributes: Vec<_> = record.attributes.iter().collect();
        let attributes = if how.slices { List::from(&attributes[..]) } else { record.attributes };
        match record.event {
            Event::Metric(metric) if how.slices => {
                let values: Vec<_> = metric.values.iter().collect();
                let metric = Metric { values: List::from(&values[..]), ..metric };
                copy.write_with(record.time, attributes, metric).unwrap();
            }
            Event::ProgramBegin(begin) if how.slices => {
                let arguments: Vec<_> = begin.program_arguments.iter().collect();
                let program_arguments = List::from(&arguments[..]);
                let begin = ProgramBegin { program_arguments, ..begin };
                copy.write_with(record.time, attributes, begin).unwrap();
            }
            event if attributes.is_empty() => copy.write(record.time, event).unwrap(),
            event => copy.write_with(record.time, attributes, event).unwrap(),
        }
    }
    assert_eq!(copy.finish().unwrap().events, reader.position().0);
}

fn snapshots(archive: &Archive, writer: &ArchiveWriter, location: LocationRef, how: How) {
    let Some(mut reader) = archive.snapshots(location).unwrap() else {
        return;
    };
    let mut copy = writer.snapshots(location).unwrap();
    while let Some(record) = reader.next().unwrap() {
        match record.snapshot {
            snapshot::Snapshot::Metric(metric) if how.slices => {
                let values: Vec<_> = metric.values.iter().collect();
                let metric = snapshot::Metric { values: List::from(&values[..]), ..metric };
                copy.write_with(record.time, record.attributes, metric).unwrap();
            }
            other => copy.write_with(record.time, record.attributes, other).unwrap(),
        }
    }
    copy.finish().unwrap();
}

fn definition(copy: &mut DefWriter, definition: Definition<'_>, how: How) {
    match definition {
        Definition::Group(group) if how.slices => {
            let members: Vec<_> = group.members.iter().collect();
            copy.write(Group { members: List::from(&members[..]), ..group })
        }
        Definition::MetricClass(class) if how.slices => {
            let members: Vec<_> = class.metric_members.iter().collect();
            copy.write(MetricClass { metric_members: List::from(&members[..]), ..class })
        }
        Definition::CartTopology(topology) if how.slices => {
            let dimensions: Vec<_> = topology.cart_dimensions.iter().collect();
            copy.write(CartTopology { cart_dimensions: List::from(&dimensions[..]), ..topology })
        }
        Definition::CartCoordinate(coordinate) if how.slices => {
            let coordinates: Vec<_> = coordinate.coordinates.iter().collect();
            copy.write(CartCoordinate { coordinates: List::from(&coordinates[..]), ..coordinate })
        }
        Definition::IoParadigm(paradigm) if how.slices => {
            let properties: Vec<_> = paradigm.properties.iter().collect();
            copy.write(IoParadigm { properties: List::from(&properties[..]), ..paradigm })
        }
        Definition::MappingTable(table) if how.slices => {
            let pairs: Vec<_> = table.id_map.iter().collect();
            let globals: Vec<_> = pairs.iter().map(|pair| pair.1).collect();
            let id_map = match table.id_map.is_dense() {
                true => IdMapRef::dense(&globals),
                false => IdMapRef::sparse(&pairs),
            };
            copy.write(MappingTable { id_map, ..table })
        }
        other => copy.write(other),
    }
    .unwrap();
}
