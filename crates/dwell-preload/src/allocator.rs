//! The allocator of the recorder: that of the C library, with a reserve for when it has nothing left.
//!
//! An allocation that fails would abort the program, which may well handle a lack of memory itself. So the recorder then
//! takes memory from a reserve and [gives up](dwell_measure::guard::out_of_memory): what it has recorded stays in its
//! files, and the reserve is for the way to the end of the run.
//!
//! # Invariants
//! * Nothing here waits: if another thread, or the thread that a signal interrupted, uses the lists of free pieces, a new
//!   piece is taken, and a piece that is given back is lost.
//! * The reserve is never given back to the system. Pages of it that are not used take no memory.
//!
//! # Limits
//! If the reserve is used up too, the program is aborted. Messages of other processes, which may be large, are received
//! into memory that is asked for first.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use dwell_measure::guard;

/// Size of the reserve, in bytes. Small runs need some hundred KiB of it, and a large one ends with the exchange in which
/// a process says that it has no memory.
const RESERVE: usize = 2 << 20;

/// Pieces have sizes of powers of two, so that one that is given back serves the next. This is the exponent of the
/// smallest.
const SMALLEST: u32 = 4;
const CLASSES: usize = 20;

/// Largest alignment of a piece, in bytes: that of the reserve.
const PAGE: usize = 4096;

#[repr(align(4096))]
struct Place(UnsafeCell<[u8; RESERVE]>);

// SAFETY: pieces of it are handed out to one owner each.
unsafe impl Sync for Place {}

static PLACE: Place = Place(UnsafeCell::new([0; RESERVE]));

/// Bytes of the reserve that were handed out at least once.
static USED: AtomicUsize = AtomicUsize::new(0);

/// Pieces of each size that were given back. The first word of a piece is the address of the next.
struct Free {
    held: AtomicBool,
    lists: UnsafeCell<[*mut u8; CLASSES]>,
}

// SAFETY: the lists are used only by the thread that has set `held`.
unsafe impl Sync for Free {}

static FREE: Free =
    Free { held: AtomicBool::new(false), lists: UnsafeCell::new([ptr::null_mut(); CLASSES]) };

impl Free {
    /// Runs `action` on the list of a class, unless the lists are in use.
    fn with<R>(&self, class: usize, action: impl FnOnce(&mut *mut u8) -> R) -> Option<R> {
        if self.held.swap(true, Ordering::Acquire) {
            return None;
        }
        // SAFETY: this is the only user until `held` is cleared.
        let result = unsafe { &mut *self.lists.get() }.get_mut(class).map(action);
        self.held.store(false, Ordering::Release);
        result
    }
}

/// Returns the number of the size of a piece, and the size.
fn class(layout: Layout) -> (usize, usize) {
    let size = layout.size().max(layout.align()).max(1 << SMALLEST);
    let size = size.checked_next_power_of_two().unwrap_or(usize::MAX);
    ((size.trailing_zeros() - SMALLEST) as usize, size)
}

/// Takes a piece of the reserve. Returns null if there is none.
#[cold]
fn take(layout: Layout) -> *mut u8 {
    guard::out_of_memory();
    let (class, size) = class(layout);
    let reused = FREE.with(class, |list| {
        let first = *list;
        if !first.is_null() {
            // SAFETY: a piece in the list has room for a word, which is the address of the next.
            *list = unsafe { first.cast::<*mut u8>().read() };
        }
        first
    });
    if let Some(piece) = reused.filter(|piece| !piece.is_null()) {
        return piece;
    }
    // A piece is aligned to its size, up to a page. Nothing of the recorder is aligned to more.
    let align = size.min(PAGE);
    if layout.align() > align {
        return ptr::null_mut();
    }
    let next = |used: usize| {
        let end = used.checked_next_multiple_of(align)?.checked_add(size)?;
        (end <= RESERVE).then_some(end)
    };
    match USED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next) {
        Ok(used) => PLACE.0.get().cast::<u8>().wrapping_add(used.next_multiple_of(align)),
        Err(_) => ptr::null_mut(),
    }
}

fn is_of_the_reserve(piece: *mut u8) -> bool {
    piece.addr().wrapping_sub(PLACE.0.get().addr()) < RESERVE
}

/// The allocator of the C library, which falls back to the reserve.
struct Allocator;

// SAFETY: pieces of the reserve are as large and as aligned as the layout asks for, and have one owner each. They are
// recognised by their address when they are given back; all others are the system's.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        let piece = if faults::fails() { ptr::null_mut() } else { unsafe { System.alloc(layout) } };
        if piece.is_null() { take(layout) } else { piece }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !faults::fails() {
            // SAFETY: as the caller promises.
            let piece = unsafe { System.alloc_zeroed(layout) };
            if !piece.is_null() {
                return piece;
            }
        }
        let piece = take(layout);
        if !piece.is_null() {
            // SAFETY: the piece is as large as that.
            unsafe { piece.write_bytes(0, layout.size()) };
        }
        piece
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        if !is_of_the_reserve(piece) {
            // SAFETY: as the caller promises, and the piece came from the system.
            return unsafe { System.dealloc(piece, layout) };
        }
        FREE.with(class(layout).0, |list| {
            // SAFETY: the piece has no owner any more, and room for a word.
            unsafe { piece.cast::<*mut u8>().write(*list) };
            *list = piece;
        });
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !is_of_the_reserve(piece) && !faults::fails() {
            // SAFETY: as the caller promises, and the piece came from the system.
            let larger = unsafe { System.realloc(piece, layout, size) };
            if !larger.is_null() {
                return larger;
            }
        }
        // SAFETY: the caller promises that the size is valid with this alignment.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if is_of_the_reserve(piece) && class(wanted) == class(layout) {
            return piece;
        }
        // SAFETY: a size that is not zero, as the caller promises.
        let larger = unsafe { self.alloc(wanted) };
        if !larger.is_null() {
            // SAFETY: both pieces are as large as that, and one of them is new.
            unsafe { larger.copy_from_nonoverlapping(piece, layout.size().min(size)) };
            // SAFETY: the caller promises that the piece is its own.
            unsafe { self.dealloc(piece, layout) };
        }
        larger
    }
}

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Failures on request: in a library with assertions, the variable `DWELL_TEST_NO_MEMORY=N` lets all allocations of the
/// recorder fail from the N-th on, counted from 1.
mod faults {
    #[cfg(not(debug_assertions))]
    #[inline(always)]
    pub(super) fn fails() -> bool {
        false
    }

    #[cfg(debug_assertions)]
    pub(super) fn fails() -> bool {
        use std::sync::atomic::{AtomicI64, Ordering};

        /// Allocations up to the first that fails, or 0 after it. It is `i64::MAX` if the variable is not set, and less
        /// than zero before the variable was read.
        static LEFT: AtomicI64 = AtomicI64::new(-1);
        let left = LEFT.load(Ordering::Relaxed);
        if left < 0 {
            // SAFETY: the name ends in zero, and so does the value, if there is one. Nothing is allocated.
            let asked = unsafe {
                let value = libc::getenv(c"DWELL_TEST_NO_MEMORY".as_ptr());
                if value.is_null() { i64::MAX } else { libc::atol(value) }
            };
            LEFT.store(asked.max(1), Ordering::Relaxed);
        } else if left == i64::MAX {
            return false;
        }
        let less = |left: i64| (left > 0 && left < i64::MAX).then(|| left - 1);
        LEFT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less) == Ok(1)
            || LEFT.load(Ordering::Relaxed) == 0
    }
}
