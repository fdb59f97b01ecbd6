//! What can go wrong, and where.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use crate::encode::EncodeError;
use crate::id::LocationRef;
use crate::wire::Fault;

/// Result of this crate.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// An error with the file, the location and the byte it happened at, as far as they are known.
///
/// Its text is one line: where, what, and what can be done about it.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    path: Option<PathBuf>,
    location: Option<LocationRef>,
    offset: Option<u64>,
}

/// What went wrong.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system said no.
    Io(io::Error),
    /// A file that must be there is not.
    Missing,
    /// The file is not the anchor of an OTF2 archive.
    NotAnAnchor,
    /// The archive uses something that this crate does not read.
    Unsupported(Unsupported),
    /// The chunk size of the anchor is outside what the format allows.
    ChunkSize(u64),
    /// There is no chunk header where one must be.
    Header,
    /// A byte stands where a record must begin but begins none.
    Control(u8),
    /// The fields of a record make no sense.
    Record {
        /// Number of the record on disk.
        id: u8,
        /// What is wrong with it.
        fault: Fault,
    },
    /// The file ends without its end mark: the writer died, or the file was cut.
    Cut,
    /// A second mapping table for the same kind of id.
    DuplicateMap,
    /// Clock offsets whose times do not rise.
    ClockOrder,
    /// A record could not be written.
    Encode(EncodeError),
    /// There is an archive already.
    Exists,
    /// A property that the C library would not read, by its name.
    Property(String),
}

/// What this crate does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsupported {
    /// A later trace format; 2 is the latest known.
    Format(u8),
    /// A substrate other than plain files, by its number.
    Substrate(u8),
    /// Compressed files, by the number of the method.
    Compression(u8),
}

impl Error {
    pub(crate) fn new(kind: ErrorKind) -> Self {
        Self(Box::new(Inner { kind, path: None, location: None, offset: None }))
    }

    /// An error of the operating system with a file.
    pub fn from_io(error: io::Error, path: &Path) -> Self {
        Self::io(error).at(path)
    }

    pub(crate) fn io(error: io::Error) -> Self {
        Self::new(match error.kind() {
            io::ErrorKind::NotFound => ErrorKind::Missing,
            _ => ErrorKind::Io(error),
        })
    }

    /// Adds where it happened.
    #[must_use]
    pub(crate) fn at(mut self, path: impl Into<PathBuf>) -> Self {
        self.0.path.get_or_insert(path.into());
        self
    }

    #[must_use]
    pub(crate) fn in_location(mut self, location: Option<LocationRef>) -> Self {
        self.0.location = self.0.location.or(location);
        self
    }

    #[must_use]
    pub(crate) fn at_byte(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// What went wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// The file it happened in.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// The location it concerns.
    pub fn location(&self) -> Option<LocationRef> {
        self.0.location
    }

    /// The byte of the file at which it happened.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// Whether the bytes of the archive are at fault, so that what was read before still holds.
    pub fn is_damage(&self) -> bool {
        matches!(
            self.0.kind,
            ErrorKind::Header
                | ErrorKind::Control(_)
                | ErrorKind::Record { .. }
                | ErrorKind::Cut
                | ErrorKind::DuplicateMap
                | ErrorKind::ClockOrder
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.0.path {
            write!(f, "{}: ", path.display())?;
        }
        if let Some(location) = self.0.location {
            write!(f, "location {location}: ")?;
        }
        if let Some(offset) = self.0.offset {
            write!(f, "byte {offset}: ")?;
        }
        self.0.kind.fmt(f)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Missing => f.write_str("no such file; is the archive complete?"),
            Self::NotAnAnchor => f.write_str(
                "not an OTF2 anchor file; name the `.otf2` file of an archive, or its directory",
            ),
            Self::Unsupported(Unsupported::Format(version)) => {
                write!(f, "trace format {version} is later than 2, the latest that is read here")
            }
            Self::Unsupported(Unsupported::Substrate(2)) => f.write_str(
                "the archive is stored in SIONlib containers; convert it to plain files with the \
                 library that wrote it",
            ),
            Self::Unsupported(Unsupported::Substrate(code)) => {
                write!(f, "the archive has the unknown file substrate {code}")
            }
            Self::Unsupported(Unsupported::Compression(code)) => write!(
                f,
                "the archive is compressed (method {code}), which OTF2 3 no longer reads either; \
                 decompress it with OTF2 2.x"
            ),
            Self::ChunkSize(size) => {
                write!(f, "chunk size {size} is not between 256 KiB and 16 MiB")
            }
            Self::Header => f.write_str("no chunk header here; the file is damaged"),
            Self::Control(byte) => {
                write!(f, "byte {byte:#04x} begins no record; the file is damaged")
            }
            Self::Record { id, fault } => write!(f, "in record {id}: {fault}; the file is damaged"),
            Self::Cut => f.write_str(
                "the file ends without an end mark; what stands before is complete, and closing \
                 the archive mends it",
            ),
            Self::DuplicateMap => f.write_str("a second mapping table for the same kind of id"),
            Self::ClockOrder => f.write_str("clock offsets whose times do not rise"),
            Self::Encode(error) => error.fmt(f),
            Self::Property(name) => write!(
                f,
                "property `{name}`: a name is two or more parts of capitals, digits and underscores \
                 joined by `::`, and a value is not empty"
            ),
            Self::Exists => f.write_str(
                "there is an archive already; choose another directory or remove this one",
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.kind {
            ErrorKind::Io(error) => Some(error),
            ErrorKind::Encode(error) => Some(error),
            _ => None,
        }
    }
}
