//! Names of regions and call sites, from the definitions.

use otf2::id::{CallingContextRef, RegionRef};
use otf2::read::Definitions;
use otf2::{Definition, id::Id};

/// Where in the program something was called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// The function that calls.
    pub function: String,
    /// The file.
    pub file: String,
    /// The line; 0 if it is not known.
    pub line: u32,
}

/// The name of a region.
pub(crate) fn region(defs: &Definitions, id: RegionRef) -> String {
    defs.region(id)
        .and_then(|region| defs.string(region.name))
        .map_or_else(|| format!("region {}", id.0), |name| name.to_string())
}

/// A call site, if the archive knows it.
pub(crate) fn site(defs: &Definitions, id: CallingContextRef) -> Option<Site> {
    let context = defs.calling_context(id)?;
    let place = context.source_code_location;
    let found = defs.find(otf2::id::SourceCodeLocationRef::KIND, place.raw());
    let text = |id| defs.string(id).map(|it| it.to_string()).unwrap_or_default();
    let (file, line) = match found {
        Some(Definition::SourceCodeLocation(place)) => (text(place.file), place.line_number),
        _ => (String::new(), 0),
    };
    Some(Site { function: region(defs, context.region), file, line })
}
