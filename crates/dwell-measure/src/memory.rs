//! Memory that a dead process leaves behind: pieces of files, mapped.
//!
//! Space is reserved before it is mapped. Writing into a mapped hole on a full disk is a SIGBUS in
//! someone's program; reserving reports the lack of space as an error, at a place that can deal with
//! it. Where a file system cannot reserve, zeros are written. Where it cannot share a mapping either, memory is
//! anonymous and written to the file when it is full or the run ends: then a kill loses what was not written.
//!
//! # Staged memory
//! A new page of a mapped file costs 2 to 3 µs on ext4 and XFS, and to copy a page into reserved space 0.5 to 1 µs. So
//! memory can be *staged*: a mapped file that is filled again and again, and copied to its place in another file each
//! time. [`Filling`] says where.
#![allow(unsafe_code)] // Mapping memory, and handing it out as slices.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU64;

use crate::file_limit::without_signal;

/// A piece of mapped memory that this value owns and unmaps when it is dropped. It is readable and writable as a slice
/// of bytes.
#[derive(Debug)]
pub struct Memory {
    at: NonNull<u8>,
    len: usize,
    /// Offset in its file to which the memory must be copied; `None` if the file is mapped or there is none.
    copy_to: Option<u64>,
    /// Set if the memory is a file of its own, so that a kill leaves what must still be copied.
    staged: bool,
}

// SAFETY: the memory belongs to this value alone, like that of a `Vec<u8>`.
unsafe impl Send for Memory {}
// SAFETY: as above; shared references give shared slices only.
unsafe impl Sync for Memory {}

impl Memory {
    /// Maps `len` bytes of zeroed memory without a file. Pages cost nothing until they are first written to.
    ///
    /// # Errors
    /// If the system has no memory left, or refuses the size.
    pub fn anonymous(len: usize) -> io::Result<Self> {
        map(len, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
    }

    /// Maps `len` bytes of a file from `offset` on, with space reserved on the disk. Where the file system cannot share
    /// a mapping, the memory is anonymous and [`Memory::save`] must copy it to the file.
    ///
    /// # Errors
    /// If the disk is full, a limit is reached, or there is no memory.
    pub fn of_file(file: &File, offset: u64, len: usize) -> io::Result<Self> {
        match reserve(file, offset, len) {
            Ok(()) => match map(len, libc::MAP_SHARED, file.as_raw_fd(), offset) {
                Ok(memory) => {
                    memory.make_present();
                    Ok(memory)
                }
                // Some network file systems cannot share a mapping.
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {
                    let mut memory = Self::anonymous(len)?;
                    memory.copy_to = Some(offset);
                    Ok(memory)
                }
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    /// Maps a whole file of `len` bytes, with space reserved on the disk, whose contents must be copied to `offset` of
    /// another file.
    ///
    /// # Errors
    /// If space cannot be reserved, or there is no memory.
    pub fn staged(file: &File, len: usize, offset: u64) -> io::Result<Self> {
        let mut memory = Self::of_file(file, 0, len)?;
        if !memory.survives() {
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        }
        (memory.copy_to, memory.staged) = (Some(offset), true);
        Ok(memory)
    }

    /// Returns `true` if the contents must be copied to a file, which [`Memory::save`] does.
    pub fn is_copied(&self) -> bool {
        self.copy_to.is_some()
    }

    /// Sets the offset in the file to which the contents must be copied from now on.
    pub fn copy_to(&mut self, offset: u64) {
        self.copy_to = Some(offset);
    }

    /// Makes all pages ready for writing at once, instead of with one page fault each. This is only for speed: kernels
    /// before 5.14 cannot do it, and the faults come later.
    fn make_present(&self) {
        // SAFETY: the mapping is this value's own; its content does not change.
        unsafe { libc::madvise(self.at.as_ptr().cast(), self.len, libc::MADV_POPULATE_WRITE) };
    }

    /// Writes the first `used` bytes into the file, unless the memory is the mapped file itself.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, file: &File, used: usize) -> io::Result<()> {
        match self.copy_to {
            Some(offset) => copy(self.get(..used).unwrap_or(self), file, offset),
            None => Ok(()),
        }
    }

    /// Turns the memory into words that all threads may use until the process ends.
    pub(crate) fn leak_words(self) -> &'static [AtomicU64] {
        let memory = std::mem::ManuallyDrop::new(self);
        let (at, words) = (memory.at.as_ptr().cast::<AtomicU64>(), memory.len / size_of::<u64>());
        // SAFETY: the mapping is aligned to a page, is never unmapped from here on, and has that many
        // words; any bits are a number, and there is no other reference to it.
        unsafe { std::slice::from_raw_parts(at, words) }
    }

    /// Returns the address of the memory, for tables of atomics that are written through shared references. A pointer
    /// from a slice of the memory does not allow that.
    pub(crate) fn start(&self) -> *mut u8 {
        self.at.as_ptr()
    }

    /// Returns `true` if the contents of this memory stay in the file when the process is killed. It is `false` where
    /// the file system could not reserve space.
    pub fn survives(&self) -> bool {
        self.copy_to.is_none() || self.staged
    }
}

/// Number of bytes that are copied at once. The kernel keeps what is written at once in one piece of memory, if it finds
/// one. Linux has pieces of up to 32 KiB at hand for each processor. Larger ones must be looked for: on a machine whose
/// memory was full of files, 64 KiB at once cost 0.9 µs a page, 128 KiB 2.1 µs and 1 MiB 3.9 µs.
const COPIED: usize = 32 << 10;

/// Copies bytes into a file.
///
/// # Errors
/// The error of the system. A part may have been copied.
pub(crate) fn copy(bytes: &[u8], file: &File, offset: u64) -> io::Result<()> {
    let pieces = (offset..).step_by(COPIED).zip(bytes.chunks(COPIED));
    let write = |(at, piece)| file.write_all_at(piece, at);
    without_signal(|| pieces.into_iter().try_for_each(write))
}

/// Memory in which the chunks of an event file are filled, after the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filling {
    /// Staged on file systems on which that is known to be faster and safe, and mapped on others.
    #[default]
    Auto,
    /// In the event file, a piece of which is mapped for each chunk.
    Mapped,
    /// In a mapped file of their own, from which full chunks are copied, unless the file system copies on write.
    Staged,
}

impl Filling {
    /// Values as users write them, in the order of the variants.
    pub const WORDS: &[&str] = &["auto", "mapped", "staged"];

    /// Parses one of [`Filling::WORDS`]. Returns `None` for other texts.
    pub fn parse(text: &str) -> Option<Self> {
        let all = [Self::Auto, Self::Mapped, Self::Staged];
        all.into_iter().zip(Self::WORDS).find_map(|(it, word)| (*word == text).then_some(it))
    }

    /// Returns `true` if chunks of this event file are to be staged.
    ///
    /// Memory that is written to again after the kernel has written it to the disk needs new space on a file system that
    /// copies on write. If there is none, that is a SIGBUS in someone's program, so nothing is staged there. On file
    /// systems in memory there is little to gain, and of the others nothing is known.
    pub(crate) fn is_staged(self, file: &File) -> bool {
        match (self, kind(file)) {
            (Self::Mapped, _) | (_, Kind::CopyOnWrite) => false,
            (Self::Staged, _) => true,
            (Self::Auto, kind) => kind == Kind::InPlace,
        }
    }
}

/// Behaviour of a file system when pages of mapped files are written to again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A block of the disk is written where it is.
    InPlace,
    /// A block that is written again gets another place.
    CopyOnWrite,
    /// In memory, over a network, or not known.
    Other,
}

fn kind(file: &File) -> Kind {
    // The numbers of `statfs(2)`, by which kernels name file systems.
    const EXT: i64 = 0xEF53;
    const XFS: i64 = 0x5846_5342;
    const COPY_ON_WRITE: [i64; 5] = [
        0x9123_683E, // Btrfs
        0x2FC1_2FC1, // ZFS
        0xCA45_1A4E, // bcachefs
        0xF2F5_2010, // F2FS
        0x3434,      // NILFS
    ];
    let mut about = std::mem::MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: the descriptor is open, and `about` valid for writing.
    let failed = unsafe { libc::fstatfs(file.as_raw_fd(), about.as_mut_ptr()) } != 0;
    // SAFETY: numbers, which were zero before.
    let kind = unsafe { about.assume_init() }.f_type;
    match kind {
        _ if failed => Kind::Other,
        EXT | XFS => Kind::InPlace,
        kind if COPY_ON_WRITE.contains(&kind) => Kind::CopyOnWrite,
        _ => Kind::Other,
    }
}

/// Removes a file, without allocating. An error is ignored: the file is one that is not needed any more.
pub(crate) fn remove(path: &CStr) {
    // SAFETY: the path ends in zero.
    unsafe { libc::unlink(path.as_ptr()) };
}

impl Deref for Memory {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        // SAFETY: `at` is a live mapping of `len` readable bytes until drop.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.len) }
    }
}

impl DerefMut for Memory {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, writable, and this value is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), self.len) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and no slice of it outlives it.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.len) };
    }
}

/// Opens a file for reading and writing, without allocating. With `new` the file is created and must not exist yet.
///
/// Files are opened by name whenever they are needed and never kept open: programs count their descriptors, close those
/// they do not know, and may then be given the same number for a file of their own.
///
/// # Errors
/// The error of the system.
pub fn open(path: &CStr, new: bool) -> io::Result<File> {
    let create = if new { libc::O_CREAT | libc::O_EXCL } else { 0 };
    let flags = libc::O_RDWR | libc::O_CLOEXEC | create;
    // SAFETY: the path ends in zero; a new descriptor belongs to the file made of it.
    match unsafe { libc::open(path.as_ptr(), flags, 0o644) } {
        -1 => Err(io::Error::last_os_error()),
        descriptor => {
            // SAFETY: as above.
            let file = unsafe { File::from_raw_fd(descriptor) };
            if new {
                write_in_place(&file);
            }
            Ok(file)
        }
    }
}

/// Asks Btrfs to write pages of a new file where they are. Otherwise a page that is written again after the kernel has
/// written it to the disk needs new space, and a full disk is a SIGBUS although the space of the page is reserved.
/// Another file system does not need it or does not know how.
fn write_in_place(file: &File) {
    const NO_COPY_ON_WRITE: libc::c_long = 0x0080_0000;
    if kind(file) != Kind::CopyOnWrite {
        return;
    }
    let mut flags: libc::c_long = 0;
    let descriptor = file.as_raw_fd();
    // SAFETY: the descriptor is open, and `flags` has room for the number that is read and written.
    unsafe {
        if libc::ioctl(descriptor, libc::FS_IOC_GETFLAGS, &raw mut flags) == 0 {
            flags |= NO_COPY_ON_WRITE;
            libc::ioctl(descriptor, libc::FS_IOC_SETFLAGS, &raw const flags);
        }
    }
}

fn map(len: usize, flags: i32, file: i32, offset: u64) -> io::Result<Memory> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let offset = libc::off_t::try_from(offset).map_err(io::Error::other)?;
    // SAFETY: a new mapping, anywhere; nothing that exists is touched.
    let at = unsafe { libc::mmap(ptr::null_mut(), len, protection, flags, file, offset) };
    match NonNull::new(at.cast::<u8>()) {
        Some(at) if at.as_ptr() != libc::MAP_FAILED.cast() => {
            Ok(Memory { at, len, copy_to: None, staged: false })
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// Reserves space with the system call. The function of the C library would write every block on file systems that
/// cannot reserve. If there is no space, the length of the file stays as it is: ext4 would leave what it could reserve.
pub(crate) fn reserve(file: &File, offset: u64, len: usize) -> io::Result<()> {
    // Some file systems do not ask for the limit when they reserve.
    if offset.saturating_add(len as u64) > largest_file() {
        return Err(io::Error::from_raw_os_error(libc::EFBIG));
    }
    without_signal(|| reserve_within(file, offset, len))
}

fn reserve_within(file: &File, offset: u64, len: usize) -> io::Result<()> {
    let offset = libc::off_t::try_from(offset).map_err(io::Error::other)?;
    let len = libc::off_t::try_from(len).map_err(io::Error::other)?;
    let before = file.metadata()?.len();
    loop {
        // SAFETY: the descriptor is open; no memory is involved.
        if unsafe { libc::fallocate(file.as_raw_fd(), 0, offset, len) } == 0 {
            return Ok(());
        }
        let mut error = io::Error::last_os_error();
        if error.kind() == io::ErrorKind::Interrupted {
            continue;
        }
        if unsupported(&error) && offset.cast_unsigned() >= before {
            match write_zeros(file, offset.cast_unsigned(), len.cast_unsigned()) {
                Ok(()) => return Ok(()),
                Err(failed) => error = failed,
            }
        }
        if file.metadata().is_ok_and(|now| now.len() > before) {
            let _ = file.set_len(before);
        }
        return Err(error);
    }
}

/// Takes space on file systems that cannot reserve it: NFS before version 4.2, Lustre on ZFS, many in user space.
fn write_zeros(file: &File, offset: u64, len: u64) -> io::Result<()> {
    static ZEROS: [u8; COPIED] = [0; COPIED];
    let end = offset + len;
    (offset..end).step_by(COPIED).try_for_each(|at| {
        let piece = usize::try_from(end - at).unwrap_or(COPIED).min(COPIED);
        file.write_all_at(ZEROS.get(..piece).unwrap_or_default(), at)
    })
}

/// Returns the largest size of a file of this process.
fn largest_file() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: `limit` is valid for writing.
    unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) };
    limit.rlim_cur
}

fn unsupported(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_in_the_file() -> io::Result<()> {
        let file = tempfile::tempfile()?;
        let mut memory = Memory::of_file(&file, 8192, 4096)?;
        memory[..5].copy_from_slice(b"dwell");
        memory.save(&file, 5)?;
        let mut back = [0; 5];
        file.read_exact_at(&mut back, 8192)?;
        assert_eq!(&back, b"dwell");
        assert_eq!(file.metadata()?.len(), 8192 + 4096);
        Ok(())
    }

    #[test]
    fn a_full_disk_is_an_error() -> io::Result<()> {
        let file = tempfile::tempfile()?;
        let error = Memory::of_file(&file, 0, 1 << 50).map(drop);
        assert!(error.is_err());
        Ok(())
    }

    #[test]
    fn memory_without_a_file() -> io::Result<()> {
        let mut memory = Memory::anonymous(4096)?;
        assert!(memory.iter().all(|byte| *byte == 0));
        memory[4095] = 1;
        assert!(memory.survives());
        Ok(())
    }
}
