//! The definitions of an archive after resolution, and how they are written.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::mem;
use std::path::Path;

use dwell_model::archive::{COLUMN, INLINED_FUNCTION, INLINED_PLACE, THROUGH};
use otf2::def::{self, Region, SourceCodeLocation};
use otf2::enums::{GroupType, Paradigm, RegionFlag, RegionRole};
use otf2::id::{CallingContextRef, RefKind, RegionRef, SourceCodeLocationRef, StringRef};
use otf2::store::FileKind;
use otf2::write::DefWriter;
use otf2::{Archive, AttributeValue, Definition, Str, Value};

use super::content::{Content, FULL, SiteRegion, Texts};
use super::{Answer, Error, INLINED_INTO, is_resolved};
use crate::site::{Frame, Quality};

/// The result of planning. The error is a text that says why the archive cannot be rewritten.
type Result<T, E = &'static str> = std::result::Result<T, E>;

/// The definitions that change.
pub(super) struct Plan {
    /// All strings, old and new.
    texts: Texts,
    /// Regions of new functions, then those of sites that stay addresses. Their ids follow those of the other regions.
    regions: Vec<Region>,
    /// All source code locations, old and new.
    places: Vec<SourceCodeLocation>,
    /// The new references for calling contexts, by the region that was an address.
    fates: HashMap<RegionRef, Fate>,
    /// Regions of functions whose names were found, by their id, which stays the same.
    renamed: HashMap<RegionRef, Region>,
    contexts: u64,
    /// Names of the properties for each function into which another was inlined, the nearest first: the property of its
    /// region, and that of the place in it.
    inlined: Vec<(StringRef, StringRef)>,
    /// Name of the property [`INLINED_INTO`], if any context has it.
    inlined_into: StringRef,
    /// Name of the property [`COLUMN`], if any context has it.
    column: StringRef,
    /// Name of the property [`THROUGH`], if any context has it.
    through: StringRef,
    /// Calling contexts that have this property already.
    wrapped: HashSet<CallingContextRef>,
}

/// The new references of a calling context whose region was an address.
struct Fate {
    region: RegionRef,
    place: Option<SourceCodeLocationRef>,
    /// Column of the call, if other calls are on the same line.
    column: Option<u32>,
    inlined_into: Option<StringRef>,
    /// The wrapper whose inlined functions made the call.
    through: Option<StringRef>,
    /// The functions into which the call was inlined, the nearest first. Empty if contexts of the archive have no
    /// callers.
    outer: Vec<(RegionRef, Option<SourceCodeLocationRef>)>,
}

impl Plan {
    /// Plans the new definitions from the answers of the resolver. `sites` are regions that calling contexts use;
    /// `functions` are regions that events use.
    pub(super) fn new<'a>(
        content: Content,
        sites: impl Iterator<Item = (&'a SiteRegion, &'a Answer<'a>)> + Clone,
        functions: impl Iterator<Item = (&'a SiteRegion, &'a Answer<'a>)>,
    ) -> Result<Self> {
        if content.later {
            return Err("it has definitions of a later version of the format");
        }
        let first = content.regions.iter().map(|region| region.id.0.saturating_add(1)).max();
        let first = first.unwrap_or(0);
        if sites.clone().any(|(site, _)| site.region.id.0 < first) {
            return Err("regions that are addresses are not the last ones");
        }
        let mut maker = Maker {
            functions: Functions::new(first, &content),
            places: Places::new(content.places),
            texts: content.texts,
            has_callers: content.has_callers,
        };
        let mut renamed = HashMap::new();
        for (function, answer) in functions {
            let frame = answer.site.as_ref().and_then(|answer| answer.frames.last());
            if let Some(frame) = frame.filter(|frame| frame.function.is_some()) {
                let region = maker.renamed(function, frame)?;
                renamed.insert(region.id, region);
            }
        }
        let mut fates = HashMap::new();
        let mut staying = Vec::new();
        for (site, answer) in sites {
            let fate = match answer.site.as_ref().filter(|answer| is_resolved(answer)) {
                Some(_) => maker.fate(site, answer)?,
                None => {
                    staying.push(site.region);
                    let (region, outer) = (site.region.id, Vec::new());
                    let (place, column, inlined_into, through) = (None, None, None, None);
                    Fate { region, place, column, inlined_into, through, outer }
                }
            };
            if fates.insert(site.region.id, fate).is_some() {
                return Err("several regions have the same id");
            }
        }
        keep_columns(&mut fates);
        let mut column = StringRef::UNDEFINED;
        if fates.values().any(|fate| fate.column.is_some()) {
            column = maker.texts.id(COLUMN)?;
        }
        let mut inlined_into = StringRef::UNDEFINED;
        if fates.values().any(|fate| fate.inlined_into.is_some()) {
            inlined_into = maker.texts.id(INLINED_INTO)?;
        }
        let mut through = StringRef::UNDEFINED;
        if fates.values().any(|fate| fate.through.is_some()) {
            through = maker.texts.id(THROUGH)?;
        }
        let deepest = fates.values().map(|fate| fate.outer.len()).max().unwrap_or(0);
        let mut inlined = Vec::with_capacity(deepest);
        for number in 1..=deepest {
            let function = maker.texts.id(&format!("{INLINED_FUNCTION}::{number}"))?;
            inlined.push((function, maker.texts.id(&format!("{INLINED_PLACE}::{number}"))?));
        }
        let Maker { texts, functions, places, .. } = maker;
        let mut regions = functions.new;
        for mut region in staying {
            let id = next(first, regions.len())?;
            if let Some(fate) = fates.get_mut(&region.id) {
                fate.region = RegionRef(id);
            }
            region.id = RegionRef(id);
            regions.push(region);
        }
        let (contexts, places) = (content.contexts, places.all);
        let wrapped = content.wrapped;
        Ok(Self {
            texts,
            regions,
            places,
            fates,
            renamed,
            contexts,
            inlined,
            inlined_into,
            column,
            through,
            wrapped,
        })
    }

    /// Writes all global definitions of the archive in their new form.
    ///
    /// Strings come first. Everything else keeps the order of the file, except that regions of sites go where the first
    /// of them was, source code locations before the first calling context, and properties behind the last calling
    /// context.
    pub(super) fn write(mut self, archive: &Archive, defs: &mut DefWriter) -> Result<(), Error> {
        for (id, text) in self.texts.iter() {
            defs.write(def::String { id, string: Str::new(text) })?;
        }
        let mut properties = Vec::new();
        let mut reader = archive.global_definitions()?;
        while let Some(definition) = reader.next()? {
            match definition {
                Definition::String(_) => {}
                Definition::Region(region) if self.fates.contains_key(&region.id) => {
                    for region in mem::take(&mut self.regions) {
                        defs.write(region)?;
                    }
                }
                Definition::Region(region) if self.renamed.contains_key(&region.id) => {
                    defs.write(self.renamed.get(&region.id).copied().unwrap_or(region))?;
                }
                Definition::SourceCodeLocation(_) => self.write_places(defs)?,
                Definition::CallingContext(mut context) => {
                    self.write_places(defs)?;
                    if let Some(fate) = self.fates.get(&context.region) {
                        context.region = fate.region;
                        context.source_code_location =
                            fate.place.unwrap_or(context.source_code_location);
                        let id = context.id;
                        properties.extend(
                            fate.inlined_into
                                .map(|text| (id, self.inlined_into, AttributeValue::String(text))),
                        );
                        properties.extend(
                            fate.column.map(|it| (id, self.column, AttributeValue::Uint32(it))),
                        );
                        properties.extend(
                            fate.through
                                .filter(|_| !self.wrapped.contains(&id))
                                .map(|text| (id, self.through, AttributeValue::String(text))),
                        );
                        for (outer, names) in fate.outer.iter().zip(&self.inlined) {
                            properties.push((id, names.0, AttributeValue::Region(outer.0)));
                            properties.extend(outer.1.map(|place| {
                                (id, names.1, AttributeValue::SourceCodeLocation(place))
                            }));
                        }
                    }
                    defs.write(context)?;
                    self.contexts = self.contexts.saturating_sub(1);
                    if self.contexts == 0 {
                        for (calling_context, name, value) in mem::take(&mut properties) {
                            defs.write(def::CallingContextProperty {
                                calling_context,
                                name,
                                value,
                            })?;
                        }
                    }
                }
                other => {
                    if self.uses_site(&other) {
                        return Err(Error::Layout {
                            path: archive.store().describe(FileKind::GlobalDefs),
                            why: "not only calling contexts use regions that are addresses",
                        });
                    }
                    defs.write(other)?;
                }
            }
        }
        Ok(())
    }

    fn write_places(&mut self, defs: &mut DefWriter) -> otf2::Result<()> {
        mem::take(&mut self.places).into_iter().try_for_each(|place| defs.write(place))
    }

    /// Returns `true` if a definition refers to the region of a site.
    fn uses_site(&self, definition: &Definition<'_>) -> bool {
        let is_site =
            |id: u64| u32::try_from(id).is_ok_and(|id| self.fates.contains_key(&RegionRef(id)));
        if let Definition::Group(group) = definition
            && group.group_type == GroupType::Regions
        {
            return group.members.iter().any(is_site);
        }
        let mut uses = false;
        definition.fields(&mut |_, value| {
            uses |= match value {
                Value::Ref(RefKind::Region, id) => is_site(id),
                Value::Typed(AttributeValue::Region(region)) => is_site(u64::from(region.0)),
                _ => false,
            };
        });
        uses
    }
}

/// Assigns ids to new strings, regions and source code locations.
struct Maker {
    texts: Texts,
    functions: Functions,
    places: Places,
    has_callers: bool,
}

impl Maker {
    /// Returns the region of a function, with the placeholders in its definition replaced by the name, the file and the
    /// first line that `frame` has.
    fn renamed(&mut self, function: &SiteRegion, frame: &Frame) -> Result<Region> {
        let name = self.texts.id(frame.function.as_deref().unwrap_or("??"))?;
        let canonical_name = match &frame.linkage {
            Some(linkage) => self.texts.id(linkage)?,
            None => name,
        };
        let mut region = Region { name, canonical_name, ..function.region };
        region.description = self.texts.id("")?;
        if let Some(file) = &frame.file {
            region.source_file = self.texts.id(file)?;
            region.begin_line_number = frame.line.unwrap_or(0);
            // Call sites in this file and function share the region.
            let key = (name, Home::File(region.source_file));
            self.functions.ids.entry(key).or_insert(region.id);
        }
        Ok(region)
    }

    fn fate(&mut self, site: &SiteRegion, answer: &Answer<'_>) -> Result<Fate> {
        let through = answer.through.map(|it| self.texts.id(it)).transpose()?;
        let Some(answer) = &answer.site else { return Err("an answer is missing") };
        let Some((innermost, outer)) = answer.frames.split_first() else {
            return Err("a function is missing"); // Unreachable: a resolved site has a frame.
        };
        let region = self.functions.id(innermost, &site.path, &mut self.texts)?;
        let place = match (&innermost.file, innermost.line) {
            (Some(file), Some(line)) => Some(self.places.id(self.texts.id(file)?, line)?),
            _ => None,
        };
        let inlined_into = match (&answer.quality, outer) {
            (_, []) => None,
            (Quality::Exact, outer) => Some(self.texts.id(&chain(outer))?),
            _ => None,
        };
        let mut functions = Vec::new();
        if self.has_callers && inlined_into.is_some() {
            for frame in outer {
                let region = self.functions.id(frame, &site.path, &mut self.texts)?;
                let place = match (&frame.file, frame.line) {
                    (Some(file), Some(line)) => Some(self.places.id(self.texts.id(file)?, line)?),
                    _ => None,
                };
                functions.push((region, place));
            }
        }
        let column = innermost.column;
        Ok(Fate { region, place, column, inlined_into, through, outer: functions })
    }
}

/// Drops the columns of calls that are alone on their line.
fn keep_columns(fates: &mut HashMap<RegionRef, Fate>) {
    let mut calls: HashMap<_, u32> = HashMap::new();
    for fate in fates.values() {
        *calls.entry((fate.region, fate.place)).or_default() += 1;
    }
    for fate in fates.values_mut() {
        if calls.get(&(fate.region, fate.place)) == Some(&1) {
            fate.column = None;
        }
    }
}

/// Formats the functions into which a call was inlined: `advance (heat.c:88) < main (heat.c:140)`.
fn chain(frames: &[Frame]) -> String {
    let mut text = String::new();
    for frame in frames {
        if !text.is_empty() {
            text.push_str(" < ");
        }
        text.push_str(frame.function.as_deref().unwrap_or("??"));
        let file = frame.file.as_deref().map(Path::new).and_then(Path::file_name);
        if let Some(file) = file.and_then(|file| file.to_str()) {
            let _ = match frame.line {
                Some(line) => write!(text, " ({file}:{line})"),
                None => write!(text, " ({file})"),
            };
        }
    }
    text
}

/// Regions of functions, and the new ones among them.
struct Functions {
    first: u32,
    new: Vec<Region>,
    ids: HashMap<(StringRef, Home), RegionRef>,
}

/// The property that tells functions of the same name apart.
#[derive(PartialEq, Eq, Hash)]
enum Home {
    File(StringRef),
    /// Path of the module, where the source file is not known.
    Module(String),
}

impl Functions {
    /// Starts with the regions that an earlier run made, so that they are used again.
    fn new(first: u32, content: &Content) -> Self {
        let made = content.regions.iter().filter(|region| {
            region.paradigm == Paradigm::Compiler
                && region.region_role == RegionRole::Function
                && !region.source_file.is_undefined()
        });
        let ids = made.map(|region| ((region.name, Home::File(region.source_file)), region.id));
        Self { first, new: Vec::new(), ids: ids.collect() }
    }

    fn id(&mut self, frame: &Frame, module: &str, texts: &mut Texts) -> Result<RegionRef> {
        let name = texts.id(frame.function.as_deref().unwrap_or("??"))?;
        let (home, source_file) = match &frame.file {
            Some(file) => {
                let file = texts.id(file)?;
                (Home::File(file), file)
            }
            None => (Home::Module(module.into()), StringRef::UNDEFINED),
        };
        let key = (name, home);
        if let Some(&id) = self.ids.get(&key) {
            return Ok(id);
        }
        let canonical_name = match &frame.linkage {
            Some(linkage) => texts.id(linkage)?,
            None => name,
        };
        let id = RegionRef(next(self.first, self.new.len())?);
        self.new.push(Region {
            id,
            name,
            canonical_name,
            description: texts.id("")?,
            region_role: RegionRole::Function,
            paradigm: Paradigm::Compiler,
            region_flags: RegionFlag::NONE,
            source_file,
            begin_line_number: 0,
            end_line_number: 0,
        });
        self.ids.insert(key, id);
        Ok(id)
    }
}

/// Source code locations, old and new.
struct Places {
    all: Vec<SourceCodeLocation>,
    ids: HashMap<(StringRef, u32), SourceCodeLocationRef>,
    first: u32,
    old: usize,
}

impl Places {
    fn new(all: Vec<SourceCodeLocation>) -> Self {
        let ids = all.iter().map(|place| ((place.file, place.line_number), place.id)).collect();
        let first = all.iter().map(|place| place.id.0.saturating_add(1)).max().unwrap_or(0);
        Self { ids, first, old: all.len(), all }
    }

    fn id(&mut self, file: StringRef, line_number: u32) -> Result<SourceCodeLocationRef> {
        if let Some(&id) = self.ids.get(&(file, line_number)) {
            return Ok(id);
        }
        let id = SourceCodeLocationRef(next(self.first, self.all.len() - self.old)?);
        self.all.push(SourceCodeLocation { id, file, line_number });
        self.ids.insert((file, line_number), id);
        Ok(id)
    }
}

/// Returns the id that follows `first` by `used`.
fn next(first: u32, used: usize) -> Result<u32> {
    let id = u32::try_from(used).ok().and_then(|used| first.checked_add(used));
    id.filter(|id| *id != u32::MAX).ok_or(FULL)
}
