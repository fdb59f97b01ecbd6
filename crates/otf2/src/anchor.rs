//! The anchor file: what kind of archive this is, and who wrote it.
//!
//! All numbers have fixed width, in the byte order of the second byte.
//!
//! | code | field |
//! |---|---|
//! | u8 | `03` |
//! | u8 | byte order: `42` little, `23` big |
//! | str | `OTF2` |
//! | u8 | anchor format: 3; later ones append fields |
//! | u8 | trace format: 2 |
//! | u8 ×3 | version of the writer |
//! | u64 | size of event chunks |
//! | u64 | size of definition chunks |
//! | u8 | file substrate: 1 for plain files |
//! | u8 | compression: 1 for none |
//! | u64 | number of locations |
//! | u64 | number of global definitions |
//! | str ×3 | machine name, creator, description |
//! | u32 | number of properties, from anchor format 2 on |
//! | str ×2 | name and value of each property |
//! | u64 | trace id, from anchor format 2 on |
//! | u32 ×2 | number of snapshots and of thumbnails, from anchor format 3 on |
//! | u8 ×3 | `02 01 00` |
//!
//! If the chunks of the archive have [checksums](crate::seal), the anchor has the property [`CHECKSUMS`], and these
//! bytes follow, which other readers ignore:
//!
//! | code | field |
//! |---|---|
//! | u8 ×4 | `CRC1` |
//! | u32 | CRC-32 of all bytes before this field, little endian |
//!
//! An anchor with one of the two and not the other is damaged, so that no single change switches the checks off.

use crate::chunk;
use crate::error::{Error, ErrorKind, Result, Unsupported};
use crate::output::{Output, SliceOutput};
use crate::seal;
use crate::wire::{ByteOrder, Fault, Input};

/// The contents of the anchor file `NAME.otf2`, from which every reader of an archive starts.
///
/// The anchor states the version of the format, the chunk sizes of all other files, and a few descriptive texts.
/// Readers need the chunk sizes; everything else is information for people and tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Byte order of the numbers in the anchor file. Each chunk of the other files states its own byte order, which may
    /// differ from this one.
    pub order: ByteOrder,
    /// Version of the OTF2 library that wrote the archive, as major, minor and bugfix number. Archives written by this
    /// crate state 3.0.2, the version whose format they follow.
    pub version: (u8, u8, u8),
    /// Size in bytes of each chunk in event and snapshot files, between [`MIN_SIZE`](chunk::MIN_SIZE) and
    /// [`MAX_SIZE`](chunk::MAX_SIZE).
    pub events_chunk: u64,
    /// Size in bytes of each chunk in definition and marker files, between [`MIN_SIZE`](chunk::MIN_SIZE) and
    /// [`MAX_SIZE`](chunk::MAX_SIZE). Thumbnail files always have chunks of 1 MiB.
    pub defs_chunk: u64,
    /// Number of locations that the anchor states. Readers do not rely on it: the definitions are what counts.
    pub locations: u64,
    /// Number of global definitions that the anchor states. Readers do not rely on it: they read the definition file to
    /// its end.
    pub definitions: u64,
    /// Name of the machine on which the program ran, as free text. It may be empty.
    pub machine: String,
    /// Name and version of the tool that wrote the archive, as free text, for example `Score-P 8.4`.
    pub creator: String,
    /// Description of the recorded run, as free text. It may be empty.
    pub description: String,
    /// Names and values of the properties of the archive, in the order of the file. [`Anchor::is_property_name`] says
    /// how a name is built. Archives of anchor format 1 have no properties.
    pub properties: Vec<(String, String)>,
    /// Random number that tells traces apart, so that tools can recognise an archive that was copied or renamed. It is
    /// 0 in archives of anchor format 1.
    pub trace_id: u64,
    /// Number of snapshots that the anchor states; 0 means that locations have no snapshot files.
    pub snapshots: u32,
    /// Number of thumbnail files `NAME.0.thumb`, `NAME.1.thumb` and so on beside the anchor; usually 0.
    pub thumbnails: u32,
}

impl Default for Anchor {
    fn default() -> Self {
        Self {
            order: ByteOrder::Little,
            version: (3, 0, 2),
            events_chunk: chunk::EVENTS_SIZE,
            defs_chunk: chunk::DEFS_SIZE,
            locations: 0,
            definitions: 0,
            machine: String::new(),
            creator: String::new(),
            description: String::new(),
            properties: Vec::new(),
            trace_id: 0,
            snapshots: 0,
            thumbnails: 0,
        }
    }
}

/// Largest anchor file in bytes that is read, because an anchor is read into memory as a whole. The C library writes
/// none above 256 KiB.
pub(crate) const MOST: u64 = 16 * 1024 * 1024;

/// Property of archives whose chunks have [checksums](crate::seal). Its value is `CRC-32`, followed by
/// `, local definitions` if a location without local definitions has lost them.
pub const CHECKSUMS: &str = "CHUNK::CHECKSUMS";

/// Values of the property [`CHECKSUMS`], without and with local definitions of all locations.
const KINDS: [&str; 2] = ["CRC-32", "CRC-32, local definitions"];

/// Returns the property of an archive with checksums, in which all locations may be known to have local definitions.
pub(crate) fn checksums(local_definitions: bool) -> (String, String) {
    let [plain, local] = KINDS;
    (CHECKSUMS.into(), if local_definitions { local } else { plain }.into())
}

const MAGIC: &[u8] = b"OTF2";
const ANCHOR_FORMAT: u8 = 3;
const TRACE_FORMAT: u8 = 2;
const POSIX: u8 = 1;
const UNCOMPRESSED: u8 = 1;

impl Anchor {
    /// Decodes an anchor from the complete bytes of its file.
    ///
    /// Anchor formats 1 to 3 are decoded, and fields that an older format lacks get the values of [`Anchor::default`].
    /// Later formats append fields, which this function ignores.
    ///
    /// # Errors
    /// Fails if the bytes are not an anchor, if they end too early, if a chunk size is out of range, or if the archive is
    /// compressed, stored in SIONlib containers, or of a later trace format. The error names no path;
    /// [`Archive::open`](crate::Archive::open) adds it.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let order = match bytes {
            &[chunk::control::HEADER, order, ..] => ByteOrder::from_mark(order),
            _ => None,
        };
        let order = order.ok_or_else(|| Error::new(ErrorKind::NotAnAnchor))?;
        let mut input = Input::new(bytes, 2, bytes.len(), order, None);
        if input.str().map(|magic| magic.as_bytes() == MAGIC) != Ok(true) {
            return Err(Error::new(ErrorKind::NotAnAnchor));
        }
        let signed = seal::is_marked(bytes);
        if signed && !seal::is_complete(bytes) {
            return Err(Error::new(ErrorKind::Checksum));
        }
        let anchor = Self::fields(&mut input, order).map_err(|problem| match problem {
            Problem::Kind(kind) => Error::new(kind),
            Problem::Fault(fault) => Error::new(match fault {
                Fault::Truncated | Fault::Unterminated => ErrorKind::Cut,
                fault => ErrorKind::Record { id: chunk::control::HEADER, fault },
            })
            .at_byte((bytes.len() - input.left()) as u64),
        })?;
        match anchor.has_checksums() == signed {
            true => Ok(anchor),
            false => Err(Error::new(ErrorKind::Checksum)),
        }
    }

    fn fields(input: &mut Input<'_>, order: ByteOrder) -> Result<Self, Problem> {
        let anchor_format = input.u8()?;
        if anchor_format == 0 {
            return Err(ErrorKind::NotAnAnchor.into());
        }
        let trace_format = input.u8()?;
        if trace_format > TRACE_FORMAT {
            return Err(ErrorKind::Unsupported(Unsupported::Format(trace_format)).into());
        }
        let version = (input.u8()?, input.u8()?, input.u8()?);
        let mut chunk_size = || {
            let size = input.u64()?;
            if (chunk::MIN_SIZE..=chunk::MAX_SIZE).contains(&size) {
                Ok(size)
            } else {
                Err(Problem::from(ErrorKind::ChunkSize(size)))
            }
        };
        let (events_chunk, defs_chunk) = (chunk_size()?, chunk_size()?);
        match input.u8()? {
            POSIX => {}
            other => return Err(ErrorKind::Unsupported(Unsupported::Substrate(other)).into()),
        }
        match input.u8()? {
            UNCOMPRESSED => {}
            other => return Err(ErrorKind::Unsupported(Unsupported::Compression(other)).into()),
        }
        let mut anchor = Self {
            order,
            version,
            events_chunk,
            defs_chunk,
            locations: input.u64()?,
            definitions: input.u64()?,
            machine: input.str()?.to_string(),
            creator: input.str()?.to_string(),
            description: input.str()?.to_string(),
            ..Self::default()
        };
        if anchor_format >= 2 {
            // The count does not set the capacity, because a damaged count could allocate any amount.
            for _ in 0..input.u32()? {
                anchor.properties.push((input.str()?.to_string(), input.str()?.to_string()));
            }
            anchor.trace_id = input.u64()?;
        }
        if anchor_format >= 3 {
            anchor.snapshots = input.u32()?;
            anchor.thumbnails = input.u32()?;
            // Later formats append fields before the end, so only this one can be checked.
            if anchor_format == ANCHOR_FORMAT && input.u8()? != chunk::control::END_OF_FILE {
                return Err(Fault::Truncated.into());
            }
        }
        Ok(anchor)
    }

    /// Encodes the anchor as the complete bytes of its file, in anchor format 3 and the byte order of the anchor.
    ///
    /// Each text ends at its first zero byte. Names and values of properties are not checked here;
    /// [`ArchiveWriter`](crate::write::ArchiveWriter) refuses those that the C library would not read.
    pub fn to_bytes(&self) -> Vec<u8> {
        let text = |text: &String| text.len() + 1;
        let texts = text(&self.machine) + text(&self.creator) + text(&self.description);
        let properties: usize = self.properties.iter().map(|(n, v)| text(n) + text(v)).sum();
        let mut bytes = vec![0; 128 + texts + properties];
        let mut output = SliceOutput::new(&mut bytes, 0, self.order);
        output.u8(chunk::control::HEADER);
        output.u8(self.order.mark());
        output.str(crate::value::Str::new(MAGIC).as_bytes());
        output.u8(ANCHOR_FORMAT);
        output.u8(TRACE_FORMAT);
        let (major, minor, bugfix) = self.version;
        [major, minor, bugfix].into_iter().for_each(|part| output.u8(part));
        output.u64(self.events_chunk);
        output.u64(self.defs_chunk);
        output.u8(POSIX);
        output.u8(UNCOMPRESSED);
        output.u64(self.locations);
        output.u64(self.definitions);
        for text in [&self.machine, &self.creator, &self.description] {
            output.str(crate::value::Str::from(text.as_str()).as_bytes());
        }
        output.u32(u32::try_from(self.properties.len()).unwrap_or(u32::MAX));
        for (name, value) in &self.properties {
            output.str(crate::value::Str::from(name.as_str()).as_bytes());
            output.str(crate::value::Str::from(value.as_str()).as_bytes());
        }
        output.u64(self.trace_id);
        output.u32(self.snapshots);
        output.u32(self.thumbnails);
        let end = [chunk::control::END_OF_FILE, chunk::control::END_OF_BUFFER, 0];
        end.into_iter().for_each(|byte| output.u8(byte));
        let length = output.pos();
        bytes.truncate(length);
        if self.has_checksums() {
            bytes.resize(length + seal::FULL, 0);
            seal::complete(&mut bytes);
        }
        bytes
    }

    /// Returns the value of the property with this name, or `None` if the archive has no such property. If a name
    /// occurs more than once, the first one counts.
    pub fn property(&self, name: &str) -> Option<&str> {
        self.properties.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns `true` if all chunks of the archive have [checksums](crate::seal).
    pub fn has_checksums(&self) -> bool {
        self.property(CHECKSUMS).is_some()
    }

    /// Returns `true` if every location with events has a file of local definitions, so that a missing one is damage.
    pub fn has_local_definitions(&self) -> bool {
        let [_, local] = KINDS;
        self.property(CHECKSUMS) == Some(local)
    }

    /// Tells whether a string is a valid name for a property: at least two parts joined by `::`, each made of capitals,
    /// digits and underscores.
    ///
    /// ```
    /// use otf2::Anchor;
    /// assert!(Anchor::is_property_name("DWELL::VERSION"));
    /// assert!(!Anchor::is_property_name("DWELL"));
    /// assert!(!Anchor::is_property_name("dwell::version"));
    /// ```
    pub fn is_property_name(name: &str) -> bool {
        let part = |part: &str| {
            !part.is_empty()
                && part.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
        };
        name.contains("::") && name.split("::").all(part)
    }
}

/// Reason why an anchor cannot be decoded: an error of the archive as a whole, or damage to one of its fields.
enum Problem {
    Kind(ErrorKind),
    Fault(Fault),
}

impl From<ErrorKind> for Problem {
    fn from(kind: ErrorKind) -> Self {
        Self::Kind(kind)
    }
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}
