//! The checksum at the end of a block of a profile.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use dwell_model::profile::block::SUM;

/// Returns `true` if the first `length` bytes of a file have the checksum that follows them.
pub(super) fn is_summed(file: &File, length: u64) -> io::Result<bool> {
    let mut sum = crc32fast::Hasher::new();
    let mut bytes = vec![0; 1 << 18];
    let mut at = 0;
    while at < length {
        let count = bytes.len().min(usize::try_from(length - at).unwrap_or(usize::MAX));
        let some = bytes.get_mut(..count).unwrap_or_default();
        file.read_exact_at(some, at)?;
        sum.update(some);
        at += count as u64;
    }
    let mut stated = [0; SUM];
    file.read_exact_at(&mut stated, length)?;
    Ok(sum.finalize().to_le_bytes() == stated)
}
