//! Looks up names of regions, windows, parameters and call sites in the definitions of an archive.

use serde::{Deserialize, Serialize};

use std::collections::HashMap;

use dwell_model::archive;
use otf2::enums::ParameterType;
use otf2::id::{
    CallingContextRef, ParameterRef, RegionRef, RmaWinRef, SourceCodeLocationRef, StringRef,
};
use otf2::read::Definitions;
use otf2::{AttributeValue, Definition, id::Id};

/// Source position of a call, with enough detail to distinguish it from other calls on the same line. It comes from the
/// calling contexts of the archive; fields that the archive does not have are empty or 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// Name of the function that contains the call.
    pub function: String,
    /// Path of the source file as the archive gives it, or an empty string if it is unknown.
    pub file: String,
    /// Line number, counted from 1; 0 if it is unknown.
    pub line: u32,
    /// Column number, given only if several calls share the line and the archive knows their columns; otherwise 0.
    pub column: u32,
    /// Position of this call among the calls of the same function on this line, counted from 1, and their number, in
    /// the order in which they were first made. Given only if no column distinguishes them.
    pub nth: Option<(u32, u32)>,
    /// Name of the wrapper library that is called here and makes the call; empty if there is none.
    pub through: String,
}

/// Wrapper libraries through which calls were made, by call site.
#[derive(Debug, Default)]
pub struct Throughs(HashMap<CallingContextRef, String>);

impl Throughs {
    /// Reads the wrappers that the archive states as properties of its calling contexts.
    pub fn of(defs: &Definitions) -> Self {
        let text = |id| defs.string(id).map(|it| it.to_string());
        let wrapper = |definition: Definition<'_>| match definition {
            Definition::CallingContextProperty(it) => match it.value {
                AttributeValue::String(value) if text(it.name)? == archive::THROUGH => {
                    Some((it.calling_context, text(value)?))
                }
                _ => None,
            },
            _ => None,
        };
        Self(defs.iter().filter_map(wrapper).collect())
    }

    /// Returns the wrapper behind a call site, or an empty text if there is none.
    pub fn get(&self, site: CallingContextRef) -> &str {
        self.0.get(&site).map_or("", String::as_str)
    }
}

/// Columns of calls that share a line with other calls.
#[derive(Debug, Default)]
pub struct Columns(HashMap<CallingContextRef, u32>);

impl Columns {
    /// Reads the columns that the archive states as properties of its calling contexts.
    pub fn of(defs: &Definitions) -> Self {
        let column = |definition: Definition<'_>| match definition {
            Definition::CallingContextProperty(it) => {
                let name = defs.string(it.name).and_then(otf2::Str::to_str);
                match (name, it.value) {
                    (Some(archive::COLUMN), AttributeValue::Uint32(column)) => {
                        Some((it.calling_context, column))
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        Self(defs.iter().filter_map(column).collect())
    }

    /// Returns the column of a call site, or 0 if it is unknown.
    pub fn get(&self, site: CallingContextRef) -> u32 {
        self.0.get(&site).copied().unwrap_or(0)
    }
}

/// A parameter with one of its values. A recorder that met too many values keeps the rest together, without a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Setting {
    /// Parameter whose definition has the name and the type of the value.
    pub parameter: ParameterRef,
    /// Bits of a number, or the reference of a string in the archive.
    pub value: Option<u64>,
}

/// Formats a parameter and its value as `name=value`.
pub fn setting(defs: &Definitions, Setting { parameter, value }: Setting) -> String {
    let text = |id| defs.string(id).map(|it| it.to_string());
    let (name, kind) = match defs.find(ParameterRef::KIND, parameter.raw()) {
        Some(Definition::Parameter(it)) => (text(it.name), it.parameter_type),
        _ => (None, ParameterType::Uint64),
    };
    let name = name.unwrap_or_else(|| format!("parameter {}", parameter.0));
    match (value, kind) {
        (None, _) => format!("{name}=other values"),
        (Some(value), ParameterType::String) => {
            let value = StringRef(value as u32);
            format!("{name}={}", text(value).unwrap_or_else(|| format!("text {}", value.0)))
        }
        (Some(value), ParameterType::Int64) => format!("{name}={}", value.cast_signed()),
        (Some(value), _) => format!("{name}={value}"),
    }
}

/// Returns the name of a region, or `region N` if the archive does not define one.
pub fn region(defs: &Definitions, id: RegionRef) -> String {
    defs.region(id)
        .and_then(|region| defs.string(region.name))
        .map_or_else(|| format!("region {}", id.0), |name| name.to_string())
}

/// Returns the name of a window if the archive defines it. `u16::MAX` means a window whose number does not fit.
pub fn window(defs: &Definitions, number: u16) -> Option<String> {
    let id = RmaWinRef(u32::from(number));
    match defs.find(RmaWinRef::KIND, id.raw()) {
        Some(Definition::RmaWin(it)) if number != u16::MAX => {
            defs.string(it.name).map(|it| it.to_string())
        }
        _ => None,
    }
}

/// Returns file and line of a position in the source, if the archive defines it.
pub fn line(defs: &Definitions, id: SourceCodeLocationRef) -> Option<(String, u32)> {
    match defs.find(SourceCodeLocationRef::KIND, id.raw()) {
        Some(Definition::SourceCodeLocation(it)) => {
            Some((defs.string(it.file)?.to_string(), it.line_number))
        }
        _ => None,
    }
}

/// Returns a call site without column and position, if the archive defines it.
pub fn site(defs: &Definitions, id: CallingContextRef) -> Option<Site> {
    let context = defs.calling_context(id)?;
    let place = context.source_code_location;
    let (file, line) = line(defs, place).unwrap_or_default();
    let function = region(defs, context.region);
    Some(Site { function, file, line, column: 0, nth: None, through: String::new() })
}
