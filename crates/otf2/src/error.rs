//! Errors of this crate, with the file, the location and the byte at which they occurred.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use crate::encode::EncodeError;
use crate::id::LocationRef;
use crate::wire::Fault;

/// Result of the functions of this crate that read or write archives, with [`Error`] as the default error.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// An error with the file, the location and the byte at which it occurred, as far as they are known.
///
/// Its text is a single line that says where the error occurred, what is wrong, and what a user can do about it.
/// Programs look at [`Error::kind`] instead. The error is one pointer wide, so that results stay small.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    path: Option<PathBuf>,
    location: Option<LocationRef>,
    offset: Option<u64>,
}

/// The kinds of errors of this crate. [`Error::is_damage`] tells the kinds that mean a damaged file from the others.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An operation of the operating system failed. A file that does not exist is [`ErrorKind::Missing`] instead.
    Io(io::Error),
    /// A file that the archive must have does not exist. The archive may have been copied incompletely, or its writer
    /// may not have closed it.
    Missing,
    /// The file is not the anchor of an OTF2 archive: it does not begin with the bytes that every anchor begins with.
    NotAnAnchor,
    /// The archive is valid but uses a feature of the format that this crate does not read, such as compression.
    Unsupported(Unsupported),
    /// The anchor states this chunk size in bytes, which lies outside the range of 256 KiB to 16 MiB that the format
    /// allows.
    ChunkSize(u64),
    /// There is no chunk header where a chunk must begin. The events before it can still be read.
    Header,
    /// This byte is where a record must begin, but it is neither a control byte nor the id of a record.
    Control(u8),
    /// The fields of a record cannot be decoded, or they take more bytes than the length of the record says.
    Record {
        /// Id of the record on disk.
        id: u8,
        /// The reason why the record cannot be decoded.
        fault: Fault,
    },
    /// The file ends without its end mark, because its writer died or the file was cut. All records before the end are
    /// complete; [`close`](mod@crate::close) repairs such archives.
    Cut,
    /// The event file of a location is complete, but does not hold as many events as the definition of the location
    /// states. All events were read; some of them may be wrong.
    Count {
        /// Number of events that the definition states.
        stated: u64,
        /// Number of events in the file.
        found: u64,
    },
    /// The bytes of a chunk or of the anchor do not have the [checksum](crate::seal) that they were written with, or
    /// the file is another one than its name says. Nothing tells which of them are wrong.
    Checksum,
    /// The local definitions of a location hold a second mapping table for the same kind of id. The first table is
    /// used.
    DuplicateMap,
    /// The local definitions of a location hold a clock offset whose time is not later than that of the offset before
    /// it.
    ClockOrder,
    /// A record cannot be written, for the reason given inside. Nothing of the record is in the file.
    Encode(EncodeError),
    /// The directory already holds an archive of this name. Writers never overwrite an archive; the caller must choose
    /// another directory or remove the old one.
    Exists,
    /// The property with this name has an invalid name or an empty value, so the C library would refuse to read the
    /// anchor.
    Property(String),
}

/// A feature of the OTF2 format that this crate recognises but does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsupported {
    /// The archive has this trace format, which is later than 2, the latest that this crate knows.
    Format(u8),
    /// The archive is not stored in plain files. The number is that of [`FileSubstrate`](crate::enums::FileSubstrate);
    /// 2 means SIONlib containers.
    Substrate(u8),
    /// The files of the archive are compressed. The number is that of [`Compression`](crate::enums::Compression); only
    /// OTF2 2.x could read and write such archives.
    Compression(u8),
}

impl Error {
    pub(crate) fn new(kind: ErrorKind) -> Self {
        Self(Box::new(Inner { kind, path: None, location: None, offset: None }))
    }

    /// Makes an error from an error of the operating system and the path of the file that it concerns. An error of kind
    /// `NotFound` becomes [`ErrorKind::Missing`].
    pub fn from_io(error: io::Error, path: &Path) -> Self {
        Self::io(error).at(path)
    }

    pub(crate) fn io(error: io::Error) -> Self {
        Self::new(match error.kind() {
            io::ErrorKind::NotFound => ErrorKind::Missing,
            _ => ErrorKind::Io(error),
        })
    }

    /// Adds the path of the file in which the error occurred, unless the error already has one.
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

    /// Returns the kind of the error, which programs can match on.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Returns the path of the file in which the error occurred, or `None` if the error does not concern a single file.
    /// For an archive in memory this is a made-up path.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// Returns the location whose file or events the error concerns, or `None` if it concerns the archive as a whole.
    pub fn location(&self) -> Option<LocationRef> {
        self.0.location
    }

    /// Returns the offset in bytes from the beginning of the file at which the error was found, or `None` if no single
    /// byte is at fault.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// Returns `true` if damaged bytes inside a file of the archive caused the error, so that everything that was read
    /// before it is still valid. Analyses use this to report a damaged trace as far as it can be read instead of giving
    /// up.
    pub fn is_damage(&self) -> bool {
        matches!(
            self.0.kind,
            ErrorKind::Header
                | ErrorKind::Control(_)
                | ErrorKind::Record { .. }
                | ErrorKind::Cut
                | ErrorKind::Count { .. }
                | ErrorKind::Checksum
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
            Self::Count { stated, found } => write!(
                f,
                "its definition states {stated} events, its file holds {found}; the file is damaged"
            ),
            Self::Checksum => f.write_str(
                "the bytes from here on are not those that were written: the checksum is wrong, and the file is \
                 damaged; copy it again from where it was recorded",
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
