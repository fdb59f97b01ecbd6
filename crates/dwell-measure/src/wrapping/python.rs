//! The line of Python that a thread is at, from the interpreter's frames.
//!
//! CPython 3.11 and later keeps the frames of a thread in one chain. A thread that is in a call of an extension module is the
//! only one that changes its chain, and every frame keeps its code alive, so the chain is read without the lock of the
//! interpreter, which wrappers release around calls that block.
//!
//! # Invariants
//! * The layout of frames is that of a version. Before any of it is trusted, the chain is followed by reads that the kernel
//!   checks, up to an object whose type must be that of code.
//! * What is read of a frame that was not seen before is read like that, too. Of known ones, only words that the
//!   interpreter itself follows in every call are read directly.
//! * Nothing of the interpreter is written, and of its functions only the one is called that says which state a thread
//!   has; it takes no lock.
#![allow(unsafe_code)] // Memory of the interpreter is reached by address.

use std::ffi::{c_ulong, c_void};
use std::sync::atomic::{AtomicU8, Ordering};

use crate::modules::{self, Range};
use crate::process::Process;
use crate::sites::Sites;
use crate::text::Text;

/// Frames that are looked at, at most.
const DEEPEST: usize = 64;

/// Longest path and name of a function, in bytes.
const LONGEST: usize = 1024;

/// Longest table of lines that is read, in bytes.
const LONGEST_TABLE: usize = 1 << 20;

/// Offsets of fields in the structures of a version.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// Version of the interpreter: major and minor number.
    version: (u8, u8),
    /// In the state of a thread: the current frame, or a structure that has it at the second offset.
    current: (usize, Option<usize>),
    /// In a frame: its code, the frame that called it, the instruction that it is at, and who owns it.
    code: usize,
    previous: usize,
    instruction: usize,
    owner: usize,
    /// In code: its first line, file, name, table of lines and instructions.
    first_line: usize,
    file: usize,
    name: usize,
    lines: usize,
    instructions: usize,
    /// Sizes of the heads of texts, those of ASCII characters and others.
    text: (usize, usize),
}

const V3_12: Layout = Layout {
    version: (3, 12),
    current: (56, Some(0)),
    code: 0,
    previous: 8,
    instruction: 56,
    owner: 70,
    first_line: 68,
    file: 112,
    name: 128,
    lines: 136,
    instructions: 192,
    text: (40, 56),
};

const LAYOUTS: [Layout; 3] = [
    Layout {
        version: (3, 11),
        current: (56, Some(8)),
        code: 32,
        previous: 48,
        owner: 69,
        first_line: 72,
        instructions: 184,
        text: (48, 72),
        ..V3_12
    },
    V3_12,
    Layout { version: (3, 13), current: (72, None), instructions: 200, ..V3_12 },
];

/// Who owns a frame that stands for a function of C between frames of Python.
const OF_C: u8 = 3;

/// In every object, and in those of variable size.
const TYPE: usize = 8;
const LENGTH: usize = 16;
/// In a text: how its characters are stored.
const KIND: usize = 32;
/// In an array of bytes.
const BYTES: usize = 32;

/// The interpreter in this process.
#[derive(Debug)]
pub(crate) struct Python {
    this_thread: unsafe extern "C" fn() -> *const c_void,
    /// Address of the type of code.
    code: usize,
    module: Range,
    version: (u8, u8),
    layout: Option<&'static Layout>,
    /// Ids of the sites of frames plus one, or 0 for frames that belong to wrappers, by a hash of what the frame is at.
    known: Sites,
    state: AtomicU8,
}

/// The layout has not been looked at yet.
const UNKNOWN: u8 = 0;
/// The layout is that of the version.
const TRUSTED: u8 = 1;
/// Lines cannot be read.
const REFUSED: u8 = 2;

fn symbol(name: &std::ffi::CStr) -> Option<usize> {
    // SAFETY: the name ends in zero.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then(|| found.addr())
}

impl Python {
    /// Finds the interpreter, if there is one.
    pub(crate) fn find() -> Option<Self> {
        let code = symbol(c"PyCode_Type")?;
        let this_thread = symbol(c"PyGILState_GetThisThreadState")?;
        // SAFETY: a function of this type since Python 2.3.
        let this_thread = unsafe {
            std::mem::transmute::<usize, unsafe extern "C" fn() -> *const c_void>(this_thread)
        };
        let version = symbol(c"Py_Version").map_or((3, 10), |at| {
            // SAFETY: a constant of this type since Python 3.11.
            let version = unsafe { (at as *const c_ulong).read() };
            ((version >> 24) as u8, (version >> 16) as u8)
        });
        let mut module = Range::default();
        modules::find(code, |it| module = it.whole());
        let layout = LAYOUTS.iter().find(|it| it.version == version);
        let known = Sites::new().ok()?;
        Some(Self {
            this_thread,
            code,
            module,
            version,
            layout,
            known,
            state: AtomicU8::new(UNKNOWN),
        })
    }

    /// Bytes of memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.known.bytes()
    }

    /// Returns `true` if code is the interpreter's.
    pub(crate) fn has(&self, address: usize) -> bool {
        self.module.contains(address)
    }

    /// Returns the id of the call site of the innermost function that belongs to no wrapper.
    pub(crate) fn site(
        &self,
        process: &Process,
        wrapper: &'static str,
        is_wrapper: impl Fn(&str) -> bool,
    ) -> Option<u32> {
        if self.state.load(Ordering::Relaxed) == REFUSED {
            return None;
        }
        let Some(layout) = self.layout else {
            return self.refuse(process, "its version is not one of 3.11 to 3.13");
        };
        // SAFETY: it may be called by any thread at any time.
        let thread = unsafe { (self.this_thread)() }.addr();
        if thread == 0 {
            return None;
        }
        let is_trusted = self.state.load(Ordering::Relaxed) == TRUSTED;
        // SAFETY: once the layout is trusted, these are words that the interpreter follows in every call.
        let word = |at| if is_trusted { unsafe { direct(at) } } else { checked(at) };
        let mut frame = word(thread + layout.current.0)?;
        if let Some(inside) = layout.current.1 {
            frame = word(frame.checked_add(inside)?)?;
        }
        for _ in 0..DEEPEST {
            if frame < 4096 || !frame.is_multiple_of(8) {
                break;
            }
            let previous = word(frame + layout.previous)?;
            let (owner_word, shift) = (layout.owner & !7, 8 * (layout.owner & 7));
            let owner = (word(frame + owner_word)? >> shift) as u8;
            let code = word(frame + layout.code)?;
            let instruction = word(frame + layout.instruction)?;
            if owner != OF_C && code >= 4096 && code.is_multiple_of(8) {
                // Code may be freed, and other code come to its place.
                let first_line = word((code + layout.first_line) & !7)?;
                let name = word(code + layout.name)?;
                let key = [code, instruction, first_line, name, wrapper.as_ptr().addr()];
                let key = key.into_iter().fold(0, |mixed: usize, word| {
                    (mixed ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
                });
                let found = match self.known.find(key | 1) {
                    Some(found) => found,
                    None => {
                        let frame = Frame { layout, code, instruction };
                        self.look_at(process, key | 1, frame, wrapper, &is_wrapper)?
                    }
                };
                if let Some(site) = found.checked_sub(1) {
                    return Some(site);
                }
            }
            frame = previous;
        }
        None
    }

    /// Defines the site of a frame that was not seen before. Returns its id plus one, or 0 if it belongs to a wrapper.
    #[cold]
    #[inline(never)]
    fn look_at(
        &self,
        process: &Process,
        key: usize,
        frame: Frame,
        wrapper: &'static str,
        is_wrapper: &dyn Fn(&str) -> bool,
    ) -> Option<u32> {
        let define = || {
            if checked(frame.code + TYPE) != Some(self.code) {
                return self.refuse(process, "its frames are not laid out as those of its version");
            }
            self.state.store(TRUSTED, Ordering::Relaxed);
            let (mut file, mut name) = (Text::<LONGEST>::default(), Text::<LONGEST>::default());
            frame.text(frame.layout.file, &mut file)?;
            let path = file.as_str();
            // The loader of modules is between a module and the line that imports it.
            if path.starts_with("<frozen ") || is_wrapper(path) {
                return process.number(&self.known, key, || Some(0));
            }
            frame.text(frame.layout.name, &mut name)?;
            let line = frame.line()?;
            let mut whole = Text::<{ 2 * LONGEST }>::default();
            absolute(path, &mut whole);
            let site = process.line_site(whole.as_str(), line, name.as_str(), wrapper)?;
            process.number(&self.known, key, || site.checked_add(1))
        };
        crate::entry::keeping_errno(|| crate::stack::apart(crate::stack::FOR_A_THREAD, define))
    }

    /// Gives up reading lines, and writes down why.
    #[cold]
    fn refuse<T>(&self, process: &Process, why: &str) -> Option<T> {
        if self.state.swap(REFUSED, Ordering::Relaxed) != REFUSED {
            let mut text = Text::<256>::default();
            let (major, minor) = self.version;
            let older = if self.layout.is_none() && minor == 10 { " or older" } else { "" };
            text.format(format_args!("CPython {major}.{minor}{older}: {why}"));
            process.states("NO_PYTHON_LINES", text.as_str());
        }
        None
    }
}

/// A frame, as far as it matters where it is.
#[derive(Clone, Copy)]
struct Frame {
    layout: &'static Layout,
    code: usize,
    instruction: usize,
}

impl Frame {
    /// Reads a text that the code refers to. Longer ones are cut.
    fn text<const N: usize>(&self, field: usize, into: &mut Text<N>) -> Option<()> {
        let at = checked(self.code + field)?;
        let (length, state) = (checked(at + LENGTH)?, checked(at + KIND)?);
        let (width, is_compact, is_ascii) =
            (state >> 2 & 7, state >> 5 & 1 == 1, state >> 6 & 1 == 1);
        if !is_compact || !matches!(width, 1 | 2 | 4) {
            return None;
        }
        let (ascii, other) = self.layout.text;
        let first = at + if is_ascii { ascii } else { other };
        for number in 0..length.min(LONGEST) {
            let mut bytes = [0; 4];
            copy(first + number * width, bytes.get_mut(..width)?)?;
            into.format(format_args!("{}", char::from_u32(u32::from_le_bytes(bytes))?));
        }
        Some(())
    }

    /// Returns the line that the frame is at.
    fn line(&self) -> Option<u32> {
        let offset = self.instruction.checked_sub(self.code + self.layout.instructions)?;
        let table = checked(self.code + self.layout.lines)?;
        let length = checked(table + LENGTH)?.min(LONGEST_TABLE);
        let mut first = [0; 4];
        copy(self.code + self.layout.first_line, &mut first)?;
        let byte = |at: usize| {
            let mut byte = [0];
            copy(table + BYTES + at, &mut byte)?;
            Some(byte[0])
        };
        line_of((0..length).map_while(byte), i32::from_le_bytes(first), offset)
    }
}

/// Returns the line of the instruction at an offset in bytes, from a table of lines (PEP 626, as CPython 3.11 encodes it).
fn line_of(table: impl Iterator<Item = u8>, first: i32, offset: usize) -> Option<u32> {
    let mut table = table;
    let (mut line, mut at) = (i64::from(first), 0);
    loop {
        let head = table.next()?;
        let (kind, length) = (head >> 3 & 15, usize::from((head & 7) + 1) * 2);
        let skipped = match kind {
            0..=9 => 1,
            10..=12 => {
                line += i64::from(kind - 10);
                2
            }
            13 | 14 => {
                let number = varint(&mut table)?;
                let step = (number >> 1).cast_signed();
                line += if number & 1 == 1 { -step } else { step };
                if kind == 14 {
                    for _ in 0..3 {
                        varint(&mut table)?;
                    }
                }
                0
            }
            _ => 0,
        };
        for _ in 0..skipped {
            table.next()?;
        }
        at += length;
        if offset < at {
            return (kind != 15).then(|| u32::try_from(line).ok())?;
        }
    }
}

/// Reads a number with six bits to a byte, the lowest first.
fn varint(table: &mut impl Iterator<Item = u8>) -> Option<u64> {
    let mut number = 0;
    for shift in (0..60).step_by(6) {
        let byte = table.next()?;
        number |= u64::from(byte & 63) << shift;
        if byte & 64 == 0 {
            return Some(number);
        }
    }
    None
}

/// Makes the path of a source file absolute, if it is there: the interpreter keeps it as it was given.
fn absolute(path: &str, into: &mut Text<{ 2 * LONGEST }>) {
    let is_relative = !path.starts_with(['/', '<']);
    if is_relative {
        let mut folder = [0_u8; LONGEST];
        // SAFETY: there is room for as much.
        let found = unsafe { libc::getcwd(folder.as_mut_ptr().cast(), folder.len()) };
        let folder = folder.split(|byte| *byte == 0).next().unwrap_or_default();
        if !found.is_null()
            && let Ok(folder) = str::from_utf8(folder)
        {
            into.format(format_args!("{folder}/{path}"));
            // SAFETY: the path ends in zero.
            if !into.is_cut() && unsafe { libc::access(into.c_str().as_ptr(), libc::F_OK) } == 0 {
                return;
            }
            *into = Text::default();
        }
    }
    into.format(format_args!("{path}"));
}

/// Reads a word.
///
/// # Safety
/// It is mapped.
#[inline(always)]
unsafe fn direct(at: usize) -> Option<usize> {
    // SAFETY: as promised. Another thread may not write it, but the compiler does not know.
    Some(unsafe { (at as *const usize).read_volatile() })
}

/// Reads a word, if it is mapped.
fn checked(at: usize) -> Option<usize> {
    let mut bytes = [0; size_of::<usize>()];
    copy(at, &mut bytes)?;
    Some(usize::from_ne_bytes(bytes))
}

/// Copies bytes of this process, by the kernel: what is not mapped is an error, and no signal.
#[cold]
fn copy(at: usize, into: &mut [u8]) -> Option<()> {
    let to = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let from = libc::iovec { iov_base: at as *mut c_void, iov_len: into.len() };
    let (one, none): (c_ulong, c_ulong) = (1, 0);
    let this = c_ulong::from(std::process::id());
    // SAFETY: there is room for as much; the kernel checks the other address. All arguments are words.
    let copied = unsafe {
        libc::syscall(
            libc::SYS_process_vm_readv,
            this,
            &raw const to,
            one,
            &raw const from,
            one,
            none,
        )
    };
    (usize::try_from(copied) == Ok(into.len())).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_lines_are_read() {
        // Two instructions without columns in line 7, three in the next, one five lines before, and one without a line.
        let table = [
            0x80 | 13 << 3 | 1,
            0,
            0x80 | 11 << 3 | 2,
            4,
            9,
            0x80 | 13 << 3,
            0b1011,
            0x80 | 15 << 3,
        ];
        let line = |offset| line_of(table.into_iter(), 7, offset);
        let lines: Vec<_> = (0..16).step_by(2).map(line).collect();
        let (a, b, c) = (Some(7), Some(8), Some(3));
        assert_eq!(lines, [a, a, b, b, b, c, None, None]);
        for end in 0..table.len() {
            let _ = line_of(table.into_iter().take(end), 7, 14);
        }
    }

    #[test]
    fn what_is_not_mapped_is_not_read() {
        let word = 77_usize;
        assert_eq!(checked((&raw const word).addr()), Some(77));
        assert_eq!(checked(8), None);
        assert_eq!(checked(usize::MAX - 3), None);
    }
}
