//! The definitions of an archive before resolution: strings, source code locations, and the regions that are still
//! addresses.

use std::collections::{HashMap, HashSet};

use dwell_model::archive::{Address, Entry, THROUGH};
use otf2::def::{Region, SourceCodeLocation};
use otf2::id::{CallingContextRef, StringRef};
use otf2::{Archive, Definition};

use crate::module::{BuildId, Module, ReturnOffset};

/// The length at which texts are truncated, in bytes. A record must fit into a chunk, and chunks have at least 256 KiB.
const LONGEST: usize = 1 << 16;

/// The error text for an archive whose ids are all taken.
pub(super) const FULL: &str = "it has no ids left";

/// The definitions that matter for the resolution of call sites.
#[derive(Default)]
pub(super) struct Content {
    pub(super) texts: Texts,
    pub(super) regions: Vec<Region>,
    pub(super) places: Vec<SourceCodeLocation>,
    /// Number of calling contexts.
    pub(super) contexts: u64,
    /// `true` if some calling contexts have a parent, and so say where their function was called from.
    pub(super) has_callers: bool,
    /// Calling contexts of which the recorder knows the wrapper behind them.
    pub(super) wrapped: HashSet<CallingContextRef>,
    /// `true` if there are definitions of a later version of OTF2, which cannot be copied.
    pub(super) later: bool,
}

/// A region whose description is still an address.
pub(super) struct SiteRegion {
    pub(super) region: Region,
    /// Path of the program or library.
    pub(super) path: String,
    build_id: String,
    pub(super) at: ReturnOffset,
}

impl SiteRegion {
    /// Returns the module of the address. Returns `None` if the build id cannot be parsed: without a build id, any file
    /// would be believed.
    pub(super) fn module(&self) -> Option<Module> {
        let build_id = match self.build_id.as_str() {
            "" => None,
            text => Some(text.parse::<BuildId>().ok()?),
        };
        Some(Module { path: self.path.clone().into(), build_id })
    }
}

impl Content {
    /// Reads the global definitions. Damage is an error.
    pub(super) fn read(archive: &Archive) -> otf2::Result<Self> {
        let mut content = Self::default();
        let mut reader = archive.global_definitions()?;
        while let Some(definition) = reader.next()? {
            match definition {
                Definition::String(text) => content.texts.add(text.id, text.string.as_bytes()),
                Definition::Region(region) => content.regions.push(region),
                Definition::SourceCodeLocation(place) => content.places.push(place),
                Definition::CallingContext(context) => {
                    content.contexts += 1;
                    content.has_callers |= !context.parent.is_undefined();
                }
                Definition::CallingContextProperty(it)
                    if content.texts.get(it.name) == Some(THROUGH.as_bytes()) =>
                {
                    content.wrapped.insert(it.calling_context);
                }
                Definition::Unknown(_) => content.later = true,
                _ => {}
            }
        }
        Ok(content)
    }

    /// Removes the regions that are addresses of call sites, and returns them.
    pub(super) fn take_sites(&mut self) -> Vec<SiteRegion> {
        let mut sites = Vec::new();
        let Self { texts, regions, .. } = self;
        regions.retain(|region| {
            let description = texts.get(region.description).and_then(|it| str::from_utf8(it).ok());
            let address = description.and_then(Address::parse);
            sites.extend(address.map(|address| SiteRegion {
                region: *region,
                path: address.module.into(),
                build_id: address.build_id.into(),
                at: ReturnOffset(address.offset),
            }));
            address.is_none()
        });
        sites
    }
}

impl Content {
    /// Returns the regions of functions that are still addresses. They stay in the list, since events refer to them.
    pub(super) fn functions(&self) -> Vec<SiteRegion> {
        let one = |region: &Region| {
            let description = self.texts.get(region.description)?;
            let Entry(address) = Entry::parse(str::from_utf8(description).ok()?)?;
            Some(SiteRegion {
                region: *region,
                path: address.module.into(),
                build_id: address.build_id.into(),
                // The resolver expects a return address, which lies behind the instruction.
                at: ReturnOffset(address.offset.saturating_add(1)),
            })
        };
        self.regions.iter().filter_map(one).collect()
    }
}

/// All strings of the archive, in the order of the file, followed by new ones.
#[derive(Default)]
pub(super) struct Texts {
    all: Vec<(StringRef, Vec<u8>)>,
    by_id: HashMap<StringRef, usize>,
    by_text: HashMap<Vec<u8>, StringRef>,
    /// The next free id, greater than all ids so far.
    next: u32,
}

impl Texts {
    /// Adds a string that has an id. The first definition of an id counts, as it does for readers.
    fn add(&mut self, id: StringRef, text: &[u8]) {
        self.by_id.entry(id).or_insert(self.all.len());
        self.by_text.entry(text.into()).or_insert(id);
        self.all.push((id, text.into()));
        self.next = self.next.max(id.0.saturating_add(1));
    }

    fn get(&self, id: StringRef) -> Option<&[u8]> {
        self.all.get(*self.by_id.get(&id)?).map(|(_, text)| text.as_slice())
    }

    /// Returns the id of a text, and adds the text as a new string if need be.
    pub(super) fn id(&mut self, text: &str) -> Result<StringRef, &'static str> {
        let text = text.get(..text.floor_char_boundary(LONGEST)).unwrap_or_default();
        // A string of an archive ends at a zero.
        let text = text.split('\0').next().unwrap_or_default();
        if let Some(&id) = self.by_text.get(text.as_bytes()) {
            return Ok(id);
        }
        let id = StringRef(self.next);
        if id.is_undefined() {
            return Err(FULL);
        }
        self.add(id, text.as_bytes());
        Ok(id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (StringRef, &[u8])> {
        self.all.iter().map(|(id, text)| (*id, text.as_slice()))
    }
}
