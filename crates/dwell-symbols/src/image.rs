//! An ELF file in memory.
//!
//! Files are read, not mapped. A map costs less, but a program that is rebuilt during the lookup becomes shorter, and
//! the next access beyond its new end kills this process with SIGBUS; in a network file system a compiler on another
//! node suffices for that. The whole file is read at once: where it has debug information, that is most of it, and
//! every section and name is then a range of the one buffer. [`Allowance`] limits how much is read.

use std::io::{ErrorKind, Read};
use std::iter::repeat_n;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gimli::{EndianArcSlice, RunTimeEndian, SectionId};
use object::{CompressionFormat, Object as _, ObjectSection as _};

use crate::module::BuildId;
use crate::site::Reason;

/// A reader of a section: a range of the file's buffer, which all readers share.
pub(crate) type Reader = EndianArcSlice<RunTimeEndian>;

/// The number of bytes that may still be taken, and the number taken so far. To undo, restore a copy that was made
/// before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowance {
    left: u64,
    taken: u64,
}

impl Allowance {
    pub(crate) fn new(bytes: u64) -> Self {
        Self { left: bytes, taken: 0 }
    }

    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    fn take(&mut self, bytes: u64) -> Option<()> {
        self.left = self.left.checked_sub(bytes)?;
        self.taken += bytes;
        Some(())
    }
}

/// An ELF file that was read into memory and has a valid header.
#[derive(Debug, Clone)]
pub(crate) struct Image {
    pub(crate) path: PathBuf,
    bytes: Arc<[u8]>,
}

impl Image {
    /// Reads a file and parses its header. The allowance is charged only on success.
    pub(crate) fn read(path: &Path, allowance: &mut Allowance) -> Result<Self, Reason> {
        let unreadable = |error: &std::io::Error| match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Reason::Gone { path: path.into() },
            _ => Reason::Unreadable { path: path.into(), why: error.to_string() },
        };
        let mut file = match dwell_files::open(path) {
            // The path is now a pipe, a device or a directory.
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                return Err(Reason::Gone { path: path.into() });
            }
            opened => opened.map_err(|error| unreadable(&error))?,
        };
        let length = file.metadata().map_err(|error| unreadable(&error))?.len();
        let too_large = || Reason::TooLarge { path: path.into() };
        let size = usize::try_from(length).map_err(|_| too_large())?;
        let mut after = *allowance;
        after.take(length).ok_or_else(too_large)?;

        let mut bytes: Arc<[u8]> = repeat_n(0, size).collect();
        if let Some(buffer) = Arc::get_mut(&mut bytes) {
            file.read_exact(buffer).map_err(|error| unreadable(&error))?;
        }
        let image = Self { path: path.into(), bytes };
        image.object()?;
        *allowance = after;
        Ok(image)
    }

    /// Parses the headers of the file.
    pub(crate) fn object(&self) -> Result<object::File<'_>, Reason> {
        object::File::parse(&*self.bytes).map_err(|error| self.damaged(&error))
    }

    pub(crate) fn damaged(&self, why: &impl ToString) -> Reason {
        Reason::Damaged { path: self.path.clone(), why: why.to_string() }
    }

    pub(crate) fn build_id(&self) -> Result<Option<BuildId>, Reason> {
        let id = self.object()?.build_id().map_err(|error| self.damaged(&error))?;
        Ok(id.and_then(BuildId::new))
    }

    /// Returns `true` if the file itself contains DWARF.
    pub(crate) fn has_debug_info(&self) -> bool {
        let has = |object: object::File<'_>| {
            let section = object.section_by_name(".debug_info")?;
            section.file_range().filter(|(_, size)| *size > 0)
        };
        self.object().ok().and_then(has).is_some()
    }

    /// Returns the CRC-32 of the whole file, as `.gnu_debuglink` has it.
    pub(crate) fn checksum(&self) -> u32 {
        crc32fast::hash(&self.bytes)
    }

    fn endian(object: &object::File<'_>) -> RunTimeEndian {
        if object.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big }
    }

    /// Returns a reader of no bytes, in the byte order of the file.
    pub(crate) fn empty(&self) -> Result<Reader, Reason> {
        Ok(Reader::new(Arc::default(), Self::endian(&self.object()?)))
    }

    /// Returns the DWARF in the file, from the sections for split debug information if `dwo` is set.
    pub(crate) fn dwarf(
        &self,
        dwo: bool,
        allowance: &mut Allowance,
    ) -> Result<gimli::Dwarf<Reader>, Reason> {
        let object = self.object()?;
        gimli::Dwarf::load(|id| {
            let name = if dwo { id.dwo_name() } else { Some(id.name()) };
            self.section(&object, name.filter(|_| is_needed(id)), allowance)
        })
    }

    /// Returns the file as a package of split debug information (`.dwp`).
    pub(crate) fn package(
        &self,
        allowance: &mut Allowance,
    ) -> Result<gimli::DwarfPackage<Reader>, Reason> {
        let object = self.object()?;
        let empty = self.empty()?;
        let section = |id: SectionId| {
            self.section(&object, id.dwo_name(), allowance).map_err(PackageError::Section)
        };
        gimli::DwarfPackage::load(section, empty).map_err(|error| match error {
            PackageError::Section(reason) => reason,
            PackageError::Dwarf(error) => self.damaged(&error),
        })
    }

    /// Returns a section, inflated if it is compressed, or a reader of no bytes if there is no such section.
    fn section(
        &self,
        object: &object::File<'_>,
        name: Option<&str>,
        allowance: &mut Allowance,
    ) -> Result<Reader, Reason> {
        let endian = Self::endian(object);
        let Some(section) = name.and_then(|name| object.section_by_name(name)) else {
            return Ok(Reader::new(Arc::default(), endian));
        };
        let range = section.compressed_file_range().map_err(|error| self.damaged(&error))?;
        if range.format == CompressionFormat::None {
            let place = (|| {
                let start = usize::try_from(range.offset).ok()?;
                let end = start.checked_add(usize::try_from(range.compressed_size).ok()?)?;
                (end <= self.bytes.len()).then_some(start..end)
            })();
            let place =
                place.ok_or_else(|| self.damaged(&"a section beyond the end of the file"))?;
            return Ok(Reader::new(Arc::clone(&self.bytes), endian).range(place));
        }
        allowance
            .take(range.uncompressed_size)
            .ok_or_else(|| Reason::TooLarge { path: self.path.clone() })?;
        let data = range.data(&*self.bytes).and_then(object::CompressedData::decompress);
        let data = data.map_err(|error| self.damaged(&error))?;
        Ok(Reader::new(Arc::from(data), endian))
    }
}

/// Returns `true` for the sections that names, lines and inlining need. The others describe variables and types.
fn is_needed(id: SectionId) -> bool {
    matches!(
        id,
        SectionId::DebugAbbrev
            | SectionId::DebugAddr
            | SectionId::DebugAranges
            | SectionId::DebugInfo
            | SectionId::DebugLine
            | SectionId::DebugLineStr
            | SectionId::DebugRanges
            | SectionId::DebugRngLists
            | SectionId::DebugStr
            | SectionId::DebugStrOffsets
    )
}

/// The two errors of loading a package. gimli accepts a single type only.
enum PackageError {
    Section(Reason),
    Dwarf(gimli::Error),
}

impl From<gimli::Error> for PackageError {
    fn from(error: gimli::Error) -> Self {
        Self::Dwarf(error)
    }
}
