//! Writes archives as the recorder does, and reads them back as text.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::process::Command;

use dwell_model::archive::{self, Address};
use dwell_symbols::archive::INLINED_INTO;
use dwell_symbols::{Module, ReturnOffset};
use otf2::enums::{
    CommFlag, GroupFlag, GroupType, LocationGroupType, LocationType, MappingType, Paradigm,
    ParadigmClass, RegionFlag, RegionRole, RmaWinFlag, Type,
};
use otf2::event::{Enter, Leave};
use otf2::id::{
    AttributeRef, CallingContextRef, CommRef, GroupRef, LocationGroupRef, LocationRef, RegionRef,
    RmaWinRef, SourceCodeLocationRef, StringRef, SystemTreeNodeRef, Time,
};
use otf2::map::IdMapRef;
use otf2::write::{ArchiveWriter, DefWriter, Options};
use otf2::{Archive, Attribute, AttributeValue, Definition, List, Result, def};
use tempfile::TempDir;

/// Names of the regions in front of those of sites.
pub(crate) const CALLS: [&str; 2] = ["shmem_getmem", "shmem_barrier_all"];

/// An archive of one location, which called from every site.
pub(crate) struct Recorded {
    dir: TempDir,
}

/// Returns the description of the region for a call.
pub(crate) fn address((module, at): &(Module, ReturnOffset)) -> String {
    let build_id = module.build_id.as_ref().map(ToString::to_string).unwrap_or_default();
    let path = module.path.to_str().unwrap();
    Address { module: path, build_id: &build_id, offset: at.0 }.to_string()
}

impl Recorded {
    /// Creates an archive with a site for each address.
    pub(crate) fn new<T: AsRef<str>>(addresses: &[T]) -> Self {
        Self::with(addresses, |_| Ok(()))
    }

    /// Creates an archive with a site for each address, and further definitions behind them.
    pub(crate) fn with<T: AsRef<str>>(
        addresses: &[T],
        more: impl FnOnce(&mut DefWriter) -> Result<()>,
    ) -> Self {
        let dir = TempDir::new().unwrap();
        write(dir.path(), addresses, more).unwrap();
        Self { dir }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Returns names and bytes of all files of the archive.
    pub(crate) fn bytes(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        for directory in [self.path().to_owned(), self.path().join("traces")] {
            for entry in fs::read_dir(directory).unwrap() {
                let entry = entry.unwrap().path();
                if entry.file_name().is_some_and(|name| name == "traces") {
                    continue;
                }
                let name = entry.strip_prefix(self.path()).unwrap().to_str().unwrap();
                files.insert(name.to_owned(), fs::read(&entry).unwrap());
            }
        }
        files
    }

    /// Returns the calling contexts as text: `swap heat.c:12 [advance (heat.c:20)]`, without directories.
    pub(crate) fn contexts(&self) -> Vec<String> {
        let definitions = Archive::open(self.path()).unwrap().definitions().unwrap();
        assert!(definitions.warning().is_none());
        let text = |id: StringRef| definitions.string(id).unwrap().to_str().unwrap();
        let mut places = HashMap::new();
        let mut contexts: Vec<String> = Vec::new();
        for definition in definitions.iter() {
            match definition {
                Definition::SourceCodeLocation(place) => {
                    let file = Path::new(text(place.file)).file_name().unwrap().to_str().unwrap();
                    places.insert(place.id, format!(" {file}:{}", place.line_number));
                }
                Definition::CallingContext(context) => {
                    assert_eq!(context.id.0 as usize, contexts.len());
                    assert!(context.parent.is_undefined());
                    let region = definitions.region(context.region).unwrap();
                    assert_eq!(region.region_role, RegionRole::Function);
                    assert_eq!(region.paradigm, Paradigm::Compiler);
                    let place = places.get(&context.source_code_location);
                    assert!(place.is_some() || context.source_code_location.is_undefined());
                    contexts.push(text(region.name).to_owned() + place.map_or("", |it| it));
                }
                Definition::CallingContextProperty(property) => {
                    if text(property.name) == archive::COLUMN {
                        continue;
                    }
                    assert_eq!(text(property.name), INLINED_INTO);
                    let AttributeValue::String(value) = property.value else { panic!() };
                    let context = &mut contexts[property.calling_context.0 as usize];
                    context.push_str(&format!(" [{}]", text(value)));
                }
                _ => {}
            }
        }
        contexts
    }

    /// Returns the regions behind those that are calls, as text: name, linkage name, file, description.
    pub(crate) fn functions(&self) -> Vec<[String; 4]> {
        let definitions = Archive::open(self.path()).unwrap().definitions().unwrap();
        let text = |id: StringRef| definitions.string(id).map(|text| text.to_string());
        let regions = definitions.iter().filter_map(|definition| match definition {
            Definition::Region(region) => Some(region),
            _ => None,
        });
        regions
            .skip(CALLS.len())
            .map(|region| {
                [region.name, region.canonical_name, region.source_file, region.description]
                    .map(|id| text(id).unwrap_or_default())
            })
            .collect()
    }

    /// Returns the events as text, with their attributes and global ids.
    pub(crate) fn events(&self) -> Vec<String> {
        let archive = Archive::open(self.path()).unwrap();
        let mut events = archive.events(LocationRef(0)).unwrap();
        let mut lines = Vec::new();
        while let Some(record) = events.next().unwrap() {
            let attributes: Vec<Attribute> = record.attributes.iter().collect();
            lines.push(format!("{} {:?} {attributes:?}", record.time, record.event));
        }
        lines
    }

    /// Checks what readers expect, and that the C library reports no problem.
    #[track_caller]
    pub(crate) fn check(&self) {
        self.check_ids();
        for option in ["--silent", "-G"] {
            self.print(option);
        }
    }

    /// Checks that ids run 0, 1, 2 … in the order of the file, and that every reference is to a definition before it.
    #[track_caller]
    pub(crate) fn check_ids(&self) {
        let archive = Archive::open(self.path()).unwrap();
        let definitions = archive.definitions().unwrap();
        assert!(definitions.warning().is_none());
        assert_eq!(archive.anchor().definitions, definitions.len() as u64);
        assert_eq!(archive.anchor().locations, 1);
        let mut next = HashMap::new();
        for definition in definitions.iter() {
            let key = definition.key();
            if let Some((kind, id)) = key {
                let count = next.entry(kind).or_insert(0);
                assert_eq!(id, *count, "{definition:?}");
                *count += 1;
            }
            definition.fields(&mut |field, value| {
                let (kind, id) = match value {
                    otf2::Value::Ref(kind, id) => (kind, id),
                    otf2::Value::Typed(AttributeValue::String(id)) => {
                        (otf2::id::RefKind::String, u64::from(id.0))
                    }
                    _ => return,
                };
                let defined = next.get(&kind).copied().unwrap_or(0);
                assert!(id < defined, "{field} of {definition:?} comes later");
            });
        }
    }

    /// Returns the output of `otf2-print`, or an empty text if it is not installed.
    #[track_caller]
    pub(crate) fn print(&self, option: &str) -> String {
        let anchor = self.path().join("traces.otf2");
        let Ok(output) = Command::new("otf2-print").arg(option).arg(anchor).output() else {
            crate::needs::missing("OTF2", "there is no otf2-print");
            return String::new();
        };
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && words.is_empty(), "{words}");
        String::from_utf8(output.stdout).unwrap()
    }
}

fn write<T: AsRef<str>>(
    directory: &Path,
    addresses: &[T],
    more: impl FnOnce(&mut DefWriter) -> Result<()>,
) -> Result<()> {
    let archive = ArchiveWriter::create(directory, "traces", Options::default())?;
    let location = LocationRef(0);
    let sites = addresses.len() as u64;

    // Local ids of sites run the other way.
    let mut events = archive.events(location)?;
    for site in 0..sites {
        let value = AttributeValue::CallingContext(CallingContextRef(site as u32));
        let attributes = [Attribute { attribute: AttributeRef(0), value }];
        let region = RegionRef(0);
        events.write_with(Time(site * 10), List::from(&attributes[..]), Enter { region })?;
        events.write(Time(site * 10 + 5), Leave { region })?;
    }
    let number_of_events = events.finish()?.events;
    let mut local = archive.local_definitions(location)?;
    let regions: Vec<u64> = vec![1, 0];
    let contexts: Vec<u64> = (0..sites).rev().collect();
    for (mapping_type, ids) in
        [(MappingType::Region, &regions), (MappingType::CallingContext, &contexts)]
    {
        if !ids.is_empty() {
            local.write(def::MappingTable { mapping_type, id_map: IdMapRef::dense(ids) })?;
        }
    }
    local.finish()?;

    let mut defs = archive.global_definitions()?;
    defs.write(def::ClockProperties {
        timer_resolution: 1_000_000_000,
        global_offset: 0,
        trace_length: 10 * sites,
        realtime_timestamp: u64::MAX,
    })?;
    let empty = defs.string("")?;
    let name = defs.string("OpenSHMEM")?;
    let (paradigm, paradigm_class) = (Paradigm::Shmem, ParadigmClass::Process);
    defs.write(def::Paradigm { paradigm, name, paradigm_class })?;
    let machine = defs.string("machine")?;
    defs.write(def::SystemTreeNode {
        id: SystemTreeNodeRef(0),
        name: machine,
        class_name: machine,
        parent: SystemTreeNodeRef::UNDEFINED,
    })?;
    defs.write(def::LocationGroup {
        id: LocationGroupRef(0),
        name: machine,
        location_group_type: LocationGroupType::Process,
        system_tree_parent: SystemTreeNodeRef(0),
        creating_location_group: LocationGroupRef::UNDEFINED,
    })?;
    let name = defs.string("Main thread")?;
    defs.write(def::Location {
        id: location,
        name,
        location_type: LocationType::CpuThread,
        number_of_events,
        location_group: LocationGroupRef(0),
    })?;
    let (name, description) = (defs.string(archive::CALL_SITE)?, defs.string("From where")?);
    let kind = Type::CallingContext;
    defs.write(def::Attribute { id: AttributeRef(0), name, kind, description })?;
    for (id, name) in (0..).zip(CALLS) {
        let name = defs.string(name)?;
        let description = defs.string("layer=shmem operation=get progress=always")?;
        defs.write(region(id, name, description, Paradigm::Shmem))?;
    }
    for (id, address) in (0..).zip(addresses) {
        let parsed = Address::parse(address.as_ref()).unwrap();
        let file = Path::new(parsed.module).file_name().unwrap().to_str().unwrap();
        let name = defs.string(&format!("{file}+{:#x}", parsed.offset))?;
        let description = defs.string(address.as_ref())?;
        let site = region(CALLS.len() as u32 + id, name, description, Paradigm::Compiler);
        defs.write(site)?;
        defs.write(def::CallingContext {
            id: CallingContextRef(id),
            region: site.id,
            source_code_location: SourceCodeLocationRef::UNDEFINED,
            parent: CallingContextRef::UNDEFINED,
        })?;
    }
    for (id, group_type) in [(0, GroupType::CommLocations), (1, GroupType::CommGroup)] {
        defs.write(def::Group {
            id: GroupRef(id),
            name: empty,
            group_type,
            paradigm: Paradigm::Shmem,
            group_flags: GroupFlag::NONE,
            members: List::from(&[0][..]),
        })?;
    }
    let (parent, flags) = (CommRef::UNDEFINED, CommFlag::NONE);
    defs.write(def::Comm { id: CommRef(0), name: empty, group: GroupRef(1), parent, flags })?;
    let name = defs.string("all PEs")?;
    let flags = RmaWinFlag::NONE;
    defs.write(def::RmaWin { id: RmaWinRef(0), name, comm: CommRef(0), flags })?;
    more(&mut defs)?;
    defs.finish()?;
    archive.finish()
}

/// Creates a region as the recorder writes it.
pub(crate) fn region(
    id: u32,
    name: StringRef,
    description: StringRef,
    paradigm: Paradigm,
) -> def::Region {
    def::Region {
        id: RegionRef(id),
        name,
        canonical_name: name,
        description,
        region_role: RegionRole::Function,
        paradigm,
        region_flags: RegionFlag::NONE,
        source_file: StringRef::UNDEFINED,
        begin_line_number: 0,
        end_line_number: 0,
    }
}
