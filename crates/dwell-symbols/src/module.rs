//! The description of an address as a recorder knows it: the module, its build id, and an offset in it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A program or shared library that was loaded into a measured process.
///
/// The recorder takes both fields from `dl_iterate_phdr`: the path, and the note `NT_GNU_BUILD_ID` among the loaded
/// segments.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Module {
    /// Path of the file on the machine where the program ran.
    pub path: PathBuf,
    /// Build id of the file that was loaded. Without one the file at the path cannot be checked, and is believed.
    pub build_id: Option<BuildId>,
}

impl Module {
    /// Creates a module from a path and the bytes of its build id. No bytes mean that the module has no build id.
    pub fn new(path: impl Into<PathBuf>, build_id: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), build_id: BuildId::new(build_id) }
    }
}

/// The identifier that a linker wrote into a file to tell it from all others (`--build-id`), usually 20 bytes.
///
/// Its text is lower-case hexadecimal, as `file` and `readelf -n` print it; upper case is read as well.
///
/// ```
/// use dwell_symbols::BuildId;
///
/// let id: BuildId = "0AFF10".parse()?;
/// assert_eq!(id.to_string(), "0aff10");
/// # Ok::<(), dwell_symbols::NotABuildId>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BuildId(Vec<u8>);

impl BuildId {
    /// Creates a build id from its bytes. Returns `None` if there are none.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Option<Self> {
        let bytes = bytes.into();
        (!bytes.is_empty()).then_some(Self(bytes))
    }

    /// Returns the bytes of the build id, of which there is at least one.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BuildId({self})")
    }
}

/// The error of parsing a text that is not a build id: empty, of odd length, or with something other than hexadecimal
/// digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotABuildId;

impl fmt::Display for NotABuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a build id is an even number of hexadecimal digits, at least two")
    }
}

impl std::error::Error for NotABuildId {}

impl FromStr for BuildId {
    type Err = NotABuildId;

    fn from_str(text: &str) -> Result<Self, NotABuildId> {
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|it| u8::try_from(it).ok());
        let (pairs, []) = text.as_bytes().as_chunks::<2>() else {
            return Err(NotABuildId);
        };
        let bytes: Option<Vec<u8>> =
            pairs.iter().map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect();
        bytes.and_then(Self::new).ok_or(NotABuildId)
    }
}

/// A return address less the load bias of its module (`dlpi_addr`). This makes it an address as the file has it, also
/// in programs that are loaded at a fixed address.
///
/// The address points behind the call, perhaps into the next line or function, so the byte before it is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReturnOffset(pub u64);

impl ReturnOffset {
    /// Returns an address inside the call instruction, or `None` for address 0.
    pub(crate) fn call(self) -> Option<u64> {
        self.0.checked_sub(1)
    }
}

impl fmt::Display for ReturnOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_ids_are_text_and_back() {
        let id = BuildId::new([0x0a, 0xff, 0x10]).unwrap();
        assert_eq!(id.to_string(), "0aff10");
        assert_eq!("0aff10".parse(), Ok(id.clone()));
        assert_eq!("0AFF10".parse(), Ok(id));
        for wrong in ["", "0", "0g", "0a f", "+1"] {
            assert_eq!(wrong.parse::<BuildId>(), Err(NotABuildId), "{wrong:?}");
        }
    }

    #[test]
    fn no_bytes_are_no_build_id() {
        assert_eq!(Module::new("a", []).build_id, None);
        assert_eq!(Module::new("a", [1]).build_id, BuildId::new([1]));
    }
}
