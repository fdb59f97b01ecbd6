//! The chunk that a thread fills in a file of its own, and its way back into the event file.
//!
//! New pages of a mapped file are the most expensive part of recording, so a thread that has filled its first chunk
//! fills the others in one piece of memory that is used again and again, and copies each full chunk into its event file.
//! This memory is the mapped file `RANK.THREAD.now` next to the event file `RANK.THREAD.evt`, so that a kill does not lose
//! it. The recorder removes the file when it closes the location; after a kill [`put_back`] copies the chunk to its
//! place and removes the file.
//!
//! # The place
//! The recorder reserves the place of a chunk at the end of the event file before it writes the first event of the
//! chunk. While the chunk is filled, its place is the last one of the file. When it is full, the place of the next chunk
//! is reserved first, and then the full one is copied to the last place but one. So the place is the last but one if it
//! has nothing but zeros and a part of this chunk, and otherwise the last. Copying the chunk again changes nothing.
//!
//! # The rest of an earlier chunk
//! Behind the end mark of the last event, the memory has what is left of the chunk that was in it before. Only the bytes
//! before the end mark belong to the chunk, or all of it once it has its own [checksum](otf2::seal).

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use otf2::chunk::Header;
use otf2::close::end_of_events;
use otf2::files;
use otf2::seal::is_complete;

/// Result of [`put_back`]: the staged chunk of an event file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staged {
    /// There was no staged chunk, or nothing in it that the event file does not have.
    Nothing,
    /// All events of the staged chunk are in the event file now.
    PutBack,
    /// The staged chunk is damaged. The event file has the events before the damage, if its header could be read; the
    /// staged chunk is kept under the name that [`files::damaged`] gives.
    Damaged,
}

/// Returns the path of the file in which the thread of an event file fills its chunks: `3.0.now` for `3.0.evt`.
pub fn path(events: &Path) -> PathBuf {
    events.with_extension("now")
}

/// Size of the blocks that are compared to find the place of a chunk, in bytes. A copy that is interrupted ends between
/// two of them.
const BLOCK: usize = 4096;

/// Number of bytes at the beginning of a chunk that change when another chunk is begun in the same memory: the header,
/// and the end mark behind it.
const BEGUN: usize = 19;

/// Copies the chunk that a thread was filling to its place in the event file, and removes the file that it was in. The
/// thread must have stopped recording. The function may be called again after an interruption.
///
/// # Errors
/// If one of the two is not a regular file, or files cannot be read or written. The staged chunk is still there then.
pub fn put_back(events: &Path, chunk_size: u64) -> io::Result<Staged> {
    let path = path(events);
    let staged = match files::open(&path, false) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Staged::Nothing),
        opened => opened?,
    };
    let mut chunk = Vec::new();
    staged.take(chunk_size).read_to_end(&mut chunk)?;
    let file = files::open(events, true)?;
    let places = file.metadata()?.len().div_ceil(chunk_size.max(1));
    let last_but_one = places.saturating_sub(2);
    let Some((end, found)) = end_of_events(&chunk) else {
        // A process that was killed while it began another chunk in this memory has copied the one before it.
        let rest = chunk.get(BEGUN..).unwrap_or_default();
        let known = rest.iter().all(|byte| *byte == 0)
            || at_place(&file, last_but_one, chunk_size)?.get(BEGUN..) == Some(rest);
        return if known { remove(&path, Staged::Nothing) } else { keep(&path) };
    };
    // Bytes behind it are from an earlier chunk, unless this one is complete and was about to be copied.
    let used = if is_complete(&chunk) { chunk.len() } else { end };
    chunk.get_mut(used..).unwrap_or_default().fill(0);
    // An event file that is too short was cut: the chunk goes behind what is there, and the numbers of events tell.
    let mut place = last_but_one;
    while place < places && !is_free(&at_place(&file, place, chunk_size)?, &chunk) {
        place += 1;
    }
    file.write_all_at(chunk.get(..used).unwrap_or_default(), place * chunk_size)?;
    if place >= places {
        file.set_len((place + 1) * chunk_size)?;
    }
    let stated = chunk.first_chunk().and_then(Header::read);
    let stated = stated.map(|header| header.last.wrapping_sub(header.first).wrapping_add(1));
    // A process may be killed between an event and its count.
    let whole = stated.is_some_and(|stated| found == stated || found == stated.wrapping_add(1));
    if whole { remove(&path, Staged::PutBack) } else { keep(&path) }
}

/// Reads what is at a place of an event file, which may be less than a chunk at its end.
fn at_place(file: &File, place: u64, chunk_size: u64) -> io::Result<Vec<u8>> {
    let size = usize::try_from(chunk_size).unwrap_or_default();
    let mut bytes = Vec::new();
    // The process that records calls this, too, and must not be aborted.
    bytes.try_reserve_exact(size)?;
    bytes.resize(size, 0);
    let mut length = 0;
    while let Some(rest) = bytes.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, place * chunk_size + length as u64) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(length);
    Ok(bytes)
}

/// Returns `true` if a place has nothing but zeros and a part of this chunk.
fn is_free(place: &[u8], chunk: &[u8]) -> bool {
    let mut blocks = chunk.chunks(BLOCK);
    place.chunks(BLOCK).all(|there| {
        let same = blocks.next().is_some_and(|block| block == there);
        same || there.iter().all(|byte| *byte == 0)
    })
}

fn remove(path: &Path, staged: Staged) -> io::Result<Staged> {
    fs::remove_file(path)?;
    Ok(staged)
}

fn keep(path: &Path) -> io::Result<Staged> {
    fs::rename(path, files::damaged(path))?;
    Ok(Staged::Damaged)
}
