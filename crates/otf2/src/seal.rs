//! Checksums of chunks, in bytes that other readers of OTF2 ignore.
//!
//! Nothing in the format tells a changed byte from a recorded one, so this crate adds a trailer to each chunk it
//! completes. A full chunk has it in its last 8 bytes, behind the end mark of the chunk:
//!
//! | code | field |
//! |---|---|
//! | u8 ×4 | `CRC1` |
//! | u32 | CRC-32 of all bytes of the chunk before this field, little endian |
//!
//! The last chunk of a file is cut behind its trailer of 16 bytes, which follows the two end marks and also says which
//! file this is, so that files that were exchanged are noticed:
//!
//! | code | field |
//! |---|---|
//! | u64 | location, little endian; 0 in files of the archive as a whole, the number in thumbnails |
//! | u8 ×3 | `END` |
//! | u8 | kind of the file: `E` events, `L` local definitions, `G` global definitions, `S` snapshots, `M` markers, `T` thumbnail |
//! | u32 | CRC-32 of all bytes of the chunk before this field, little endian |
//!
//! Trailers count only in archives whose [anchor](crate::anchor) announces them. In such an archive a chunk without a
//! right trailer is damaged; in archives of other tools and of earlier versions nothing is checked.

#[cfg(feature = "std")]
use crate::store::FileKind;

/// Size of the trailer of a full chunk, in bytes.
pub(crate) const FULL: usize = 8;
/// Size of the trailer of the last chunk of a file, in bytes.
pub(crate) const LAST: usize = 16;
/// Number of bytes at the end of a file's last chunk that hold no records: two end marks and the trailer. The end mark
/// of a full chunk and its trailer are shorter.
pub(crate) const TAIL: usize = 2 + LAST;

const MAGIC: [u8; 4] = *b"CRC1";
#[cfg(feature = "std")]
const END: [u8; 3] = *b"END";

/// Returns the checksum of some bytes.
pub(crate) fn sum(bytes: &[u8]) -> [u8; 4] {
    crc32fast::hash(bytes).to_le_bytes()
}

/// Writes the trailer of a full chunk into its last bytes, which hold no records. Nothing happens to shorter memory.
pub(crate) fn complete(chunk: &mut [u8]) {
    let Some((front, place)) = chunk.split_last_chunk_mut::<FULL>() else { return };
    let mut sum = crc32fast::Hasher::new();
    sum.update(front);
    sum.update(&MAGIC);
    let [a, b, c, d] = sum.finalize().to_le_bytes();
    let [m, n, o, p] = MAGIC;
    // One store: a process that is killed leaves all of the trailer or nothing.
    *place = [m, n, o, p, a, b, c, d];
}

/// Returns `true` if these are all bytes of a full chunk and it ends with the right trailer.
pub fn is_complete(chunk: &[u8]) -> bool {
    is_marked(chunk) && is_right(chunk)
}

/// Returns `true` if these last bytes of a full chunk have the form of a trailer, right or wrong.
pub(crate) fn is_marked(chunk: &[u8]) -> bool {
    chunk.last_chunk::<FULL>().is_some_and(|it| it.starts_with(&MAGIC))
}

/// Returns `true` if the bytes end with their own checksum.
fn is_right(bytes: &[u8]) -> bool {
    bytes.split_last_chunk().is_some_and(|(front, last)| sum(front) == *last)
}

/// Returns the letter of the kind of a file, and its number.
#[cfg(feature = "std")]
fn identity(file: FileKind) -> (u8, u64) {
    match file {
        FileKind::Events(location) => (b'E', location.0),
        FileKind::LocalDefs(location) => (b'L', location.0),
        FileKind::Snapshots(location) => (b'S', location.0),
        FileKind::Thumbnail(number) => (b'T', number.into()),
        FileKind::Markers => (b'M', 0),
        FileKind::GlobalDefs => (b'G', 0),
        FileKind::Anchor => (b'A', 0),
    }
}

/// Returns the first twelve bytes of the trailer with which a file ends.
#[cfg(feature = "std")]
pub(crate) fn mark(file: FileKind) -> [u8; 12] {
    let (kind, number) = identity(file);
    let [a, b, c, d, e, f, g, h] = number.to_le_bytes();
    let [i, j, k] = END;
    [a, b, c, d, e, f, g, h, i, j, k, kind]
}

/// Returns `true` if twelve bytes have the form of the beginning of a trailer with which a file ends, of whatever file.
#[cfg(feature = "std")]
pub(crate) fn is_end(mark: &[u8]) -> bool {
    mark.get(8..11) == Some(&END)
}

/// Appends the trailer to the last chunk of a file, which ends with the end marks.
#[cfg(feature = "std")]
pub(crate) fn end(chunk: &mut Vec<u8>, file: FileKind) {
    chunk.extend_from_slice(&mark(file));
    let sum = sum(chunk);
    chunk.extend_from_slice(&sum);
}

/// Returns the bytes of a chunk without its trailer, and whether the trailer is right; `None` if it has none. The chunk
/// is full if it has `size` bytes.
#[cfg(feature = "std")]
pub(crate) fn strip(chunk: &[u8], size: u64) -> (&[u8], Option<bool>) {
    if chunk.len() as u64 == size && is_marked(chunk) {
        let front = chunk.get(..chunk.len() - FULL).unwrap_or_default();
        return (front, Some(is_right(chunk)));
    }
    match chunk.split_last_chunk::<LAST>() {
        Some((front, trailer)) if trailer.get(8..11) == Some(&END) && front.ends_with(&[2, 1]) => {
            (front, Some(is_right(chunk)))
        }
        _ => (chunk, None),
    }
}
