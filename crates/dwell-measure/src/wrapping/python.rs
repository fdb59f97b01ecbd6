//! The line of Python that a thread is at, from the interpreter's frames.
//!
//! CPython 3.11 and later keeps the frames of a thread in one chain. A thread that is in a call of an extension module is the
//! only one that changes its chain, and every frame keeps its code alive, so the chain is read without the lock of the
//! interpreter, which wrappers release around calls that block.
//!
//! # Invariants
//! * The layout of frames is that of a version. Before any of it is trusted, the chain is followed by reads that the kernel
//!   checks: every function must have an object whose type is that of code.
//! * What is read of a frame that was not seen before is read like that, too. Of known ones, only words that the
//!   interpreter itself follows in every call are read directly.
//! * Nothing of the interpreter is written, and of its functions only the one is called that says which state a thread
//!   has; it takes no lock.
#![allow(unsafe_code)] // Memory of the interpreter is reached by address.

use std::ffi::{c_ulong, c_void};
use std::sync::atomic::{AtomicU8, Ordering};

use dwell_model::archive;

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
        let mut frame = word(thread.wrapping_add(layout.current.0))?;
        if let Some(inside) = layout.current.1 {
            frame = word(frame.wrapping_add(inside))?;
        }
        for _ in 0..DEEPEST {
            let Some(it) = Frame::at(layout, frame, word) else { break };
            if let Some((first_line, name)) = it.names(word) {
                // Code may be freed, and other code come to its place.
                let key = [it.code, it.instruction, first_line, name, wrapper.as_ptr().addr()];
                let key = key.into_iter().fold(0, |mixed: usize, word| {
                    (mixed ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
                });
                let found = match self.known.find(key | 1) {
                    Some(found) => found,
                    // Programs may make code without end.
                    None if self.known.is_full() => return None,
                    None => self.look_at(process, key | 1, it, wrapper, &is_wrapper)?,
                };
                if let Some(site) = found.checked_sub(1) {
                    return Some(site);
                }
            }
            frame = it.previous;
        }
        None
    }

    /// Returns `true` if a frame and those that called it are laid out as it is expected.
    fn is_chain(&self, mut frame: Frame) -> bool {
        for _ in 0..DEEPEST {
            let code = checked(frame.code.wrapping_add(TYPE));
            if frame.is_of_python() && code != Some(self.code) {
                return false;
            }
            match (frame.previous, Frame::at(frame.layout, frame.previous, checked)) {
                (0, _) => return true,
                (_, None) => return false,
                (_, Some(previous)) => frame = previous,
            }
        }
        true
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
            let is_code = checked(frame.code.wrapping_add(TYPE)) == Some(self.code);
            let is_trusted = self.state.load(Ordering::Relaxed) == TRUSTED;
            if !is_code || !is_trusted && !self.is_chain(frame) {
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
            let name = archive::NO_PYTHON_LINES;
            process.states(name.strip_prefix("DWELL::").unwrap_or(name), text.as_str());
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
    previous: usize,
    owner: u8,
}

impl Frame {
    /// Reads the frame at an address. Returns `None` if there cannot be one.
    #[inline]
    fn at(
        layout: &'static Layout,
        at: usize,
        word: impl Fn(usize) -> Option<usize>,
    ) -> Option<Self> {
        if !is_object(at) {
            return None;
        }
        let field = |offset| word(at.wrapping_add(offset));
        let owner = field(layout.owner & !7)? >> (8 * (layout.owner & 7));
        Some(Self {
            layout,
            code: field(layout.code)?,
            instruction: field(layout.instruction)?,
            previous: field(layout.previous)?,
            owner: owner as u8,
        })
    }

    /// Returns `true` for a function of Python, and not of C.
    #[inline]
    fn is_of_python(&self) -> bool {
        self.owner != OF_C && is_object(self.code)
    }

    /// Returns the words of the code by which it is told from other code at the same address: first line, and name.
    #[inline]
    fn names(&self, word: impl Fn(usize) -> Option<usize>) -> Option<(usize, usize)> {
        let field = |offset: usize| word(self.code.wrapping_add(offset));
        let Layout { first_line, name, .. } = *self.layout;
        if self.is_of_python() { field(first_line & !7).zip(field(name)) } else { None }
    }

    /// Reads a text that the code refers to. Longer ones are cut.
    fn text<const N: usize>(&self, field: usize, into: &mut Text<N>) -> Option<()> {
        let at = checked(self.code.wrapping_add(field))?;
        let (length, state) = (checked(at.wrapping_add(LENGTH))?, checked(at.wrapping_add(KIND))?);
        let (width, is_compact, is_ascii) =
            (state >> 2 & 7, state >> 5 & 1 == 1, state >> 6 & 1 == 1);
        if !is_compact || !matches!(width, 1 | 2 | 4) {
            return None;
        }
        let (ascii, other) = self.layout.text;
        let first = at.wrapping_add(if is_ascii { ascii } else { other });
        for number in 0..length.min(LONGEST) {
            let mut bytes = [0; 4];
            copy(first.wrapping_add(number * width), bytes.get_mut(..width)?)?;
            into.format(format_args!("{}", char::from_u32(u32::from_le_bytes(bytes))?));
        }
        Some(())
    }

    /// Returns the line that the frame is at.
    fn line(&self) -> Option<u32> {
        let offset =
            self.instruction.checked_sub(self.code.wrapping_add(self.layout.instructions))?;
        let table = checked(self.code.wrapping_add(self.layout.lines))?;
        let length = checked(table.wrapping_add(LENGTH))?.min(LONGEST_TABLE);
        let mut first = [0; 4];
        copy(self.code.wrapping_add(self.layout.first_line), &mut first)?;
        let byte = |at: usize| {
            let mut byte = [0];
            copy(table.wrapping_add(BYTES + at), &mut byte)?;
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

/// Returns `true` if an object may be at an address.
#[inline]
fn is_object(at: usize) -> bool {
    at >= 4096 && at.is_multiple_of(8)
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

    /// An interpreter of 3.12 that a test has built, with three frames: one of C, one of a wrapper, one of the user.
    struct Built {
        memory: Vec<usize>,
    }

    thread_local! {
        static THREAD: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

    extern "C" fn this_thread() -> *const c_void {
        THREAD.get() as *const c_void
    }

    const TYPE_OF_CODE: usize = 0x7001;

    impl Built {
        const WORDS: usize = 512;

        fn new() -> Self {
            let mut built = Self { memory: vec![0; Self::WORDS] };
            let (thread, inside) = (0, 16);
            built.memory[thread + 7] = built.at(inside);
            built.memory[inside] = built.at(24);
            // Frames of ten words, and code of 32.
            for (number, owner, file) in
                [(0, OF_C, "c"), (1, 0, "/w/wrap.py"), (2, 0, "/u/halo.py")]
            {
                let (frame, code) = (24 + 10 * number, 64 + 64 * number);
                built.memory[frame] = built.at(code);
                built.memory[frame + 1] = if number < 2 { built.at(frame + 10) } else { 0 };
                built.memory[frame + 7] = built.at(code) + V3_12.instructions + 2;
                built.memory[frame + 8] = usize::from(owner) << 48;
                built.memory[code + 1] = TYPE_OF_CODE;
                // The first line is the upper half of its word.
                built.memory[code + 8] = 41 << 32;
                let (name, table) = (256 + 64 * number, 256 + 64 * number + 40);
                built.text(name, file);
                built.text(name + 20, "step");
                built.memory[code + 14] = built.at(name);
                built.memory[code + 16] = built.at(name + 20);
                built.memory[code + 17] = built.at(table);
                // The second instruction is in the second line.
                let lines = [0x80 | 10 << 3, 0, 0, 0x80 | 11 << 3, 0, 0];
                built.memory[table + 2] = lines.len();
                built.bytes(table + 4, &lines);
            }
            THREAD.set(built.at(thread));
            built
        }

        fn at(&self, word: usize) -> usize {
            self.memory.as_ptr().addr() + 8 * word
        }

        fn text(&mut self, word: usize, text: &str) {
            self.memory[word + 2] = text.len();
            // Compact, of ASCII characters of one byte.
            self.memory[word + 4] = 1 << 2 | 1 << 5 | 1 << 6;
            self.bytes(word + 5, text.as_bytes());
        }

        fn bytes(&mut self, word: usize, bytes: &[u8]) {
            for (number, byte) in bytes.iter().enumerate() {
                self.memory[word + number / 8] |= usize::from(*byte) << (8 * (number % 8));
            }
        }
    }

    fn python() -> Python {
        let (module, known) = (Range::default(), Sites::new().unwrap());
        let (version, layout) = ((3, 12), Some(&V3_12));
        let state = AtomicU8::new(UNKNOWN);
        Python { this_thread, code: TYPE_OF_CODE, module, version, layout, known, state }
    }

    /// What a process has written down: its lines, and why there are none.
    fn told(folder: &std::path::Path) -> (Vec<(u64, String, String)>, Vec<String>) {
        let facts =
            dwell_unify::process_facts::ProcessFacts::read(&folder.join("0.facts")).unwrap();
        let shared = &facts.shared;
        let line = |it: &dwell_unify::unify::Site| {
            (it.offset, it.function.clone(), shared.module(it.module).unwrap().path.clone())
        };
        let why = shared.properties().iter().filter(|it| it.name == "NO_PYTHON_LINES");
        (shared.sites().iter().map(line).collect(), why.map(|it| it.value.clone()).collect())
    }

    #[test]
    fn the_line_is_that_of_the_first_function_outside_of_wrappers() {
        let folder = tempfile::tempdir().unwrap();
        let process = Process::prepare(&crate::process::tests::plan(folder.path())).unwrap();
        let (python, mut built) = (python(), Built::new());
        let site = |python: &Python| python.site(process, "w", |file| file.starts_with("/w/"));
        assert_eq!((site(&python), site(&python)), (Some(0), Some(0)));
        assert_eq!(python.state.load(Ordering::Relaxed), TRUSTED);
        let line = |line| (line, "step".to_owned(), "/u/halo.py".to_owned());
        assert_eq!(told(folder.path()), (vec![line(42)], vec![]));
        // Other code in the same place.
        built.memory[64 + 128 + 8] = 77 << 32;
        assert_eq!(site(&python), Some(1));
        assert_eq!(told(folder.path()), (vec![line(42), line(78)], vec![]));
    }

    /// Whatever stands where a frame is expected, no line is found and nothing else happens.
    #[test]
    fn frames_that_are_laid_out_otherwise_are_no_lines() {
        let folder = tempfile::tempdir().unwrap();
        let process = Process::prepare(&crate::process::tests::plan(folder.path())).unwrap();
        for nonsense in [0, 8, 4097, 0x7fff_ffff_f000, usize::MAX - 7] {
            for word in 0..Built::WORDS {
                let (python, mut built) = (python(), Built::new());
                built.memory[word] = nonsense;
                let _ = python.site(process, "w", |_| false);
            }
        }
        let (python, mut built) = (python(), Built::new());
        built.memory[64 + 64 + 1] = TYPE_OF_CODE + 8;
        assert_eq!(python.site(process, "w", |_| false), None);
        assert_eq!(python.state.load(Ordering::Relaxed), REFUSED);
        let why = "CPython 3.12: its frames are not laid out as those of its version";
        assert!(told(folder.path()).1.contains(&why.to_owned()));
    }

    #[test]
    fn what_is_not_mapped_is_not_read() {
        let word = 77_usize;
        assert_eq!(checked((&raw const word).addr()), Some(77));
        assert_eq!(checked(8), None);
        assert_eq!(checked(usize::MAX - 3), None);
    }
}
