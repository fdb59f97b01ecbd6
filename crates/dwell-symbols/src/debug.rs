//! The debug information of one module.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use addr2line::{Context, LookupContinuation as _, LookupResult, SplitDwarfLoad};
use gimli::{AttributeValue, DwLang, Dwarf, DwarfPackage, Reader as _, UnitOffset};

use crate::demangle::{self, demangle};
use crate::image::{Allowance, Image, Reader};
use crate::locate;
use crate::site::{Frame, Reason};

/// DWARF of a module, parsed as far as lookups have needed it.
pub(crate) struct Debug {
    context: Context<Reader>,
    split: Split,
    names: Names,
}

/// Demangled names by mangled ones. The cache exists because demangling takes longer than the rest of a lookup.
#[derive(Default)]
struct Names(HashMap<Option<DwLang>, HashMap<String, String>>);

impl Names {
    fn of(&mut self, raw: &str, language: Option<DwLang>) -> String {
        let known = self.0.entry(language).or_default();
        if let Some(readable) = known.get(raw) {
            return readable.clone();
        }
        let readable = demangle(raw, language);
        if readable != raw {
            known.insert(raw.to_owned(), readable.clone());
        }
        readable
    }
}

/// The sources of split debug information.
struct Split {
    /// Paths of the module and its debug file, after which packages are named.
    owners: Vec<PathBuf>,
    package: Option<Option<DwarfPackage<Reader>>>,
    missing: Option<PathBuf>,
    problems: Vec<Reason>,
}

/// The result of a lookup in debug information.
pub(crate) struct Found {
    pub(crate) frames: Vec<Frame>,
    /// `true` if the innermost frame comes from the description of a function, not from lines alone.
    pub(crate) functions: bool,
    /// `true` if the outermost name says less than the symbol table does.
    pub(crate) bare: bool,
}

impl Debug {
    /// Parses the tables that find units by address. `image` has the debug information for the module at `path`.
    pub(crate) fn new(
        image: &Image,
        path: &Path,
        directories: &[PathBuf],
        allowance: &mut Allowance,
    ) -> Result<Self, Reason> {
        let mut dwarf = image.dwarf(false, allowance)?;
        let mut problems = Vec::new();
        match locate::supplement(image, directories, allowance) {
            Ok(None) => {}
            Ok(Some(found)) => dwarf.set_sup(found.dwarf(false, allowance)?),
            // Most of the debug information can be read without the common file.
            Err(reason) => problems.push(reason),
        }
        if !is_shallow(&dwarf) {
            return Err(image.damaged(&TOO_DEEP));
        }
        let context = Context::from_dwarf(dwarf).map_err(|error| image.damaged(&error))?;
        let mut owners = vec![path.to_owned()];
        if image.path != path {
            owners.push(image.path.clone());
        }
        let split = Split { owners, package: None, missing: None, problems };
        Ok(Self { context, split, names: Names::default() })
    }

    /// Returns the problems with optional files, such as split debug information, since the last call.
    pub(crate) fn take_problems(&mut self) -> Vec<Reason> {
        std::mem::take(&mut self.split.problems)
    }

    /// Returns the path of a part of split debug information that was not found.
    pub(crate) fn missing(&self) -> Option<&Path> {
        self.split.missing.as_deref()
    }

    /// Returns the frames of an address inside a call, innermost first, or none if debug information does not cover it.
    pub(crate) fn find(
        &mut self,
        address: u64,
        allowance: &mut Allowance,
    ) -> Result<Found, gimli::Error> {
        let mut result = self.context.find_frames(address);
        let mut iter = loop {
            match result {
                LookupResult::Output(output) => break output?,
                LookupResult::Load { load, continuation } => {
                    result = continuation.resume(self.split.load(&load, allowance));
                }
            }
        };
        let mut found = Found { frames: Vec::new(), functions: false, bare: false };
        while let Some(frame) = iter.next()? {
            found.functions |= frame.dw_die_offset.is_some();
            let (mut function, mut linkage) = (None, None);
            if let Some(name) = &frame.function {
                let raw = name.raw_name()?;
                let mut readable = self.names.of(&raw, name.language);
                if demangle::is_fortran(name.language) && *raw == readable {
                    let own = frame.dw_die_offset.and_then(|die| self.own_name(address, die));
                    readable = own.unwrap_or(readable);
                }
                found.bare = demangle::is_bare(&raw, name.language);
                linkage = (*raw != readable).then(|| raw.into_owned());
                function = Some(readable);
            }
            let location = frame.location;
            // DWARF says 0 for "no line in particular" and "no column in particular".
            found.frames.push(Frame {
                function,
                linkage,
                file: location.as_ref().and_then(|it| it.file).map(str::to_owned),
                line: location.as_ref().and_then(|it| it.line).filter(|line| *line > 0),
                column: location.as_ref().and_then(|it| it.column).filter(|column| *column > 0),
            });
        }
        Ok(found)
    }

    /// Returns the name of a function in its source: `exchange`, where the linker sees `exchange_`.
    fn own_name(&self, address: u64, die: UnitOffset) -> Option<String> {
        let unit = self.context.find_dwarf_and_unit(address).skip_all_loads()?;
        let mut die = die;
        for _ in 0..REFERENCES {
            let entry = unit.entry(die).ok()?;
            if let Some(name) = entry.attr_value(gimli::DW_AT_name) {
                let name = unit.attr_string(name).ok()?;
                return Some(name.to_string_lossy().ok()?.into_owned());
            }
            // An inlined call refers to its function, a definition to its declaration.
            let next = [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification]
                .into_iter()
                .find_map(|attribute| entry.attr_value(attribute))?;
            let AttributeValue::UnitRef(next) = next else { return None };
            die = next;
        }
        None
    }
}

/// The largest number of references that are followed to a name. Damaged ones may form a cycle.
const REFERENCES: usize = 8;

impl Split {
    /// Loads one unit of split debug information, from a package or from the file that the compiler left.
    fn load(
        &mut self,
        load: &SplitDwarfLoad<Reader>,
        allowance: &mut Allowance,
    ) -> Option<Arc<Dwarf<Reader>>> {
        let owners = &self.owners;
        let problems = &mut self.problems;
        let package = self.package.get_or_insert_with(|| package(owners, problems, allowance));
        if let Some(package) = package
            && let Ok(Some(unit)) = package.find_cu(load.dwo_id, &load.parent)
            && is_shallow(&unit)
        {
            return Some(Arc::new(unit));
        }
        let text = |reader: &Reader| reader.to_slice().ok().map(Cow::into_owned);
        let name = text(load.path.as_ref()?)?;
        let directory = load.comp_dir.as_ref().and_then(text).unwrap_or_default();
        let place = Path::new(OsStr::from_bytes(&directory)).join(OsStr::from_bytes(&name));
        let mut after = *allowance;
        match unit(&place, load, &mut after) {
            Ok(found) => {
                *allowance = after;
                Some(Arc::new(found))
            }
            Err(reason) => {
                if !matches!(reason, Reason::Gone { .. }) && self.problems.is_empty() {
                    self.problems.push(reason);
                }
                self.missing.get_or_insert(place);
                None
            }
        }
    }
}

/// Reads the package `x.dwp` of a module `x`, if there is one.
fn package(
    owners: &[PathBuf],
    problems: &mut Vec<Reason>,
    allowance: &mut Allowance,
) -> Option<DwarfPackage<Reader>> {
    owners.iter().find_map(|owner| {
        let mut place = owner.clone().into_os_string();
        place.push(".dwp");
        let mut after = *allowance;
        let image = Image::read(Path::new(&place), &mut after);
        match image.and_then(|image| image.package(&mut after)) {
            Ok(package) => {
                *allowance = after;
                Some(package)
            }
            Err(Reason::Gone { .. }) => None,
            Err(reason) => {
                problems.push(reason);
                None
            }
        }
    })
}

/// Reads a `.dwo` file, and accepts it only if it comes from the compilation of the module.
fn unit(
    place: &Path,
    load: &SplitDwarfLoad<Reader>,
    allowance: &mut Allowance,
) -> Result<Dwarf<Reader>, Reason> {
    let image = Image::read(place, allowance)?;
    let mut dwarf = image.dwarf(true, allowance)?;
    let dwo_id = dwarf.units().next().and_then(|header| match header {
        Some(header) => dwarf.unit(header).map(|unit| unit.dwo_id),
        None => Ok(None),
    });
    if dwo_id.map_err(|error| image.damaged(&error))? != Some(load.dwo_id) {
        return Err(image.damaged(&"compiled again since the module was linked"));
    }
    if !is_shallow(&dwarf) {
        return Err(image.damaged(&TOO_DEEP));
    }
    dwarf.make_dwo(&load.parent);
    Ok(dwarf)
}

/// The deepest nesting of entries that is accepted. Real programs stay below a hundred or so; the 2 MiB stack of a
/// thread is enough for this depth even without optimisation, and not for 1,000.
const DEEPEST: isize = 400;

const TOO_DEEP: &str = "debug information nested too deeply";

/// Returns `true` if entries are nested no deeper than a stack can follow.
///
/// `addr2line` descends into inlined calls by recursion, and one byte is enough for a level, so a file can ask for more
/// stack than there is. Looking at every entry beforehand takes about as long as reading the file did.
fn is_shallow(dwarf: &Dwarf<Reader>) -> bool {
    let mut units = dwarf.units();
    // addr2line stops parsing at the same entry as this loop.
    while let Ok(Some(header)) = units.next() {
        let Ok(abbreviations) = dwarf.abbreviations(&header) else { continue };
        let Ok(mut entries) = header.entries_raw(&abbreviations, None) else { continue };
        while !entries.is_empty() {
            if entries.next_depth() > DEEPEST {
                return false;
            }
            match entries.read_abbreviation() {
                Ok(Some(abbreviation)) => {
                    if entries.skip_attributes(abbreviation.attributes()).is_err() {
                        break;
                    }
                }
                Ok(None) => {}
                Err(_) => break,
            }
        }
    }
    true
}
