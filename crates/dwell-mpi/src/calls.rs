//! The functions of MPI, behind an interface that is safe to use. All unsafe code of this crate is here.
//!
//! A [`Library`] is a loaded file, before `MPI_Init`. [`Library::start`] makes it [`Started`], whose existence is the
//! proof that MPI may be called: it cannot leave the thread that started MPI, and finalising consumes it.
//!
//! Only non-blocking functions are used, because blocking ones spin while they wait. Memory that an operation in flight
//! may still read or write is owned by [`Pending`], which gives it back when all operations have ended. If they never
//! end, because one failed or the deadline passed, the memory is leaked: MPI may write to it at any later time.
//!
//! Functions are called by their `PMPI_` names, which no tool intercepts. Handles are passed as words: on 64-bit Linux
//! a handle takes one register in every ABI. Addresses passed to MPI are never those of empty slices, since Rust's
//! empty `Vec<u8>` has the address 1, which is `MPI_IN_PLACE` in two of three ABIs.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;

use dwell_model::mpi::abi::{Abi, Family, Maker, VERSION};

use crate::error::Error;

/// Defines the table of functions that a library must have.
macro_rules! functions {
    ($( $name:ident = $symbol:literal ( $($of:ty),* ); )*) => {
        struct Functions {
            $( $name: unsafe extern "C" fn($($of),*) -> c_int, )*
        }

        /// Names of the functions that a library must export.
        pub(crate) const NAMES: &[&str] = &[$( $symbol ),*];

        impl Functions {
            /// Looks all functions up. Returns the name of the first one that the library lacks.
            fn find(symbol: impl Fn(&CStr) -> *mut c_void) -> Result<Self, &'static str> {
                Ok(Self { $( $name: {
                    // Literals of the list have no zero inside.
                    let name = CStr::from_bytes_with_nul(concat!($symbol, "\0").as_bytes());
                    let at = name.map_or(ptr::null_mut(), &symbol);
                    if at.is_null() {
                        return Err($symbol);
                    }
                    // SAFETY: the MPI standard gives the function of this name this signature; handles take a
                    // register each in every ABI.
                    unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($of),*) -> c_int>(at) }
                }, )* })
            }
        }
    };
}

type Buffer = *mut c_void;
type Handle = usize;
type Request = *mut u64;

functions! {
    abort = "PMPI_Abort"(Handle, c_int);
    comm_rank = "PMPI_Comm_rank"(Handle, *mut c_int);
    comm_set_errhandler = "PMPI_Comm_set_errhandler"(Handle, Handle);
    comm_size = "PMPI_Comm_size"(Handle, *mut c_int);
    error_string = "PMPI_Error_string"(c_int, *mut c_char, *mut c_int);
    finalize = "PMPI_Finalize"();
    get_library_version = "PMPI_Get_library_version"(*mut c_char, *mut c_int);
    iallreduce = "PMPI_Iallreduce"(Buffer, Buffer, c_int, Handle, Handle, Handle, Request);
    ialltoall = "PMPI_Ialltoall"(Buffer, c_int, Handle, Buffer, c_int, Handle, Handle, Request);
    ibarrier = "PMPI_Ibarrier"(Handle, Request);
    ibcast = "PMPI_Ibcast"(Buffer, c_int, Handle, c_int, Handle, Request);
    init_thread = "PMPI_Init_thread"(*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int);
    irecv = "PMPI_Irecv"(Buffer, c_int, Handle, c_int, c_int, Handle, Request);
    isend = "PMPI_Isend"(Buffer, c_int, Handle, c_int, c_int, Handle, Request);
    testsome = "PMPI_Testsome"(c_int, *mut c_void, *mut c_int, *mut c_int, *mut c_void);
}

/// Tag of all messages. Their order between two processes is the order of sending.
const TAG: c_int = 17;

/// A loaded library, before `MPI_Init`. It is never unloaded.
pub(crate) struct Library {
    functions: Functions,
    abi: Abi,
    pub(crate) path: PathBuf,
    pub(crate) version: String,
    pub(crate) maker: Maker,
}

impl Library {
    /// Loads the library at a path, which was examined before and follows the ABI `family`, and asks for its version.
    pub(crate) fn load(path: &Path, family: Family) -> Result<Self, Error> {
        let unsuitable = |reason: String| Error::Unsuitable { path: path.into(), reason };
        let name = CString::new(path.as_os_str().as_bytes());
        let name = name.map_err(|_| unsuitable("the path contains a zero byte".into()))?;
        // SAFETY: the name ends in zero. The file exports the functions of MPI, so running its initialisers is what
        // the user asked for. Other libraries do not see its symbols, nor it theirs: opening it globally made another
        // MPI in the same process fail.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            // SAFETY: after a failure `dlerror` returns a text that ends in zero and stays until the next call.
            let reason = unsafe { CStr::from_ptr(libc::dlerror()) };
            return Err(unsuitable(reason.to_string_lossy().into_owned()));
        }
        // SAFETY: the handle is that of a loaded library, and the name ends in zero.
        let symbol = |name: &CStr| unsafe { libc::dlsym(handle, name.as_ptr()) };
        let functions = Functions::find(symbol)
            .map_err(|missing| unsuitable(format!("it has no function {missing}")))?;
        let version = version(&functions);
        let maker = Maker::of(&version).ok_or_else(|| {
            let first = version.lines().next().unwrap_or_default();
            unsuitable(format!("it is neither Open MPI nor MPICH or a derivative, but `{first}`"))
        })?;
        let abi = Abi::of(family, || &version, |name| symbol(name).addr());
        Ok(Self { functions, abi, path: path.into(), version, maker })
    }

    /// Calls `MPI_Init_thread`. Errors of later calls are returned, not fatal.
    pub(crate) fn start(self) -> Result<Started, Error> {
        let mut level = 0;
        // SAFETY: null stands for absent arguments of the program, and there is a place for the answer.
        let code = unsafe {
            (self.functions.init_thread)(
                ptr::null_mut(),
                ptr::null_mut(),
                self.abi.funneled,
                &raw mut level,
            )
        };
        self.check("MPI_Init_thread", code)?;
        // SAFETY: MPI is initialised, and both handles are predefined ones of this library.
        let code = unsafe {
            (self.functions.comm_set_errhandler)(self.abi.comm_world, self.abi.errors_return)
        };
        self.check("MPI_Comm_set_errhandler", code)?;
        let (rank, size) = (self.functions.comm_rank, self.functions.comm_size);
        let rank = self.number("MPI_Comm_rank", rank)?;
        let size = self.number("MPI_Comm_size", size)?;
        Ok(Started { library: self, rank, size, thread: PhantomData })
    }

    /// Asks `MPI_COMM_WORLD` for a number, after `MPI_Init`.
    fn number(
        &self,
        name: &'static str,
        function: unsafe extern "C" fn(Handle, *mut c_int) -> c_int,
    ) -> Result<usize, Error> {
        let mut number = 0;
        // SAFETY: `start` calls this after MPI was initialised; the communicator is a predefined one, and there is a
        // place for the answer.
        let code = unsafe { function(self.abi.comm_world, &raw mut number) };
        self.check(name, code)?;
        let reason = || format!("it returned {number}");
        usize::try_from(number).map_err(|_| Error::Failed { function: name, reason: reason() })
    }

    fn check(&self, function: &'static str, code: c_int) -> Result<(), Error> {
        if code == 0 { Ok(()) } else { Err(self.error(function, code)) }
    }

    #[cold]
    fn error(&self, function: &'static str, code: c_int) -> Error {
        let mut text = vec![0_u8; VERSION];
        let mut length = 0;
        // SAFETY: places for the answers; no library writes a longer explanation.
        unsafe {
            (self.functions.error_string)(code, text.as_mut_ptr().cast(), &raw mut length);
        }
        let reason = text_of(&text);
        let reason = if reason.is_empty() { format!("error {code}") } else { reason };
        Error::Failed { function, reason }
    }
}

/// Returns the version string of a library, which may be asked for before `MPI_Init`.
fn version(functions: &Functions) -> String {
    let mut text = vec![0_u8; VERSION];
    let mut length = 0;
    // SAFETY: places for the answers, large enough for every known library.
    unsafe { (functions.get_library_version)(text.as_mut_ptr().cast(), &raw mut length) };
    text_of(&text)
}

fn text_of(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).trim().into()
}

/// MPI between `MPI_Init` and `MPI_Finalize`. It stays on the thread that initialised MPI.
pub(crate) struct Started {
    library: Library,
    /// Rank of this process.
    pub(crate) rank: usize,
    /// Number of processes.
    pub(crate) size: usize,
    thread: PhantomData<*const ()>,
}

impl Started {
    pub(crate) fn library(&self) -> &Library {
        &self.library
    }

    /// Ends all processes. It may return where the library cannot do so.
    pub(crate) fn abort(&self, code: u8) {
        // SAFETY: MPI is initialised, and the communicator is a predefined one.
        unsafe { (self.library.functions.abort)(self.library.abi.comm_world, c_int::from(code)) };
    }

    /// Calls `MPI_Finalize`.
    pub(crate) fn finalize(self) -> Result<(), Error> {
        // SAFETY: MPI is initialised and was not finalised, since that consumes `self`; this is the thread that
        // initialised it.
        let code = unsafe { (self.library.functions.finalize)() };
        self.library.check("MPI_Finalize", code)
    }
}

/// Memory of a `Vec` while MPI uses it. It is leaked unless it is taken back.
struct Loan<T> {
    at: *mut T,
    length: usize,
    capacity: usize,
}

impl<T> Loan<T> {
    fn of(list: Vec<T>) -> Self {
        let mut list = ManuallyDrop::new(list);
        Self { at: list.as_mut_ptr(), length: list.len(), capacity: list.capacity() }
    }

    /// # Safety
    /// No operation of MPI that uses the memory is in flight.
    unsafe fn back(self) -> Vec<T> {
        // SAFETY: these are the parts of the `Vec` that `of` took apart, and this is the only place that joins them
        // again. MPI wrote bytes or numbers only, for which every value is valid.
        unsafe { Vec::from_raw_parts(self.at, self.length, self.capacity) }
    }

    /// Returns the address of an element for MPI. If there is none, it is the address of a variable that nothing is
    /// read from or written to, and never one with a meaning of its own to MPI.
    fn address(&self, index: usize) -> Buffer {
        static NOTHING: u64 = 0;
        if index < self.length {
            self.at.wrapping_add(index).cast()
        } else {
            (&raw const NOTHING).cast_mut().cast()
        }
    }
}

/// Requests in an array of the library's own layout.
enum Requests {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl Requests {
    fn push(&mut self, request: u64) {
        match self {
            // The library wrote its 4 bytes at the address of the word.
            Self::Narrow(list) => {
                let [a, b, c, d, ..] = request.to_ne_bytes();
                list.push(u32::from_ne_bytes([a, b, c, d]));
            }
            Self::Wide(list) => list.push(request),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Narrow(list) => list.len(),
            Self::Wide(list) => list.len(),
        }
    }

    fn address(&mut self) -> *mut c_void {
        match self {
            Self::Narrow(list) => list.as_mut_ptr().cast(),
            Self::Wide(list) => list.as_mut_ptr().cast(),
        }
    }
}

/// Operation by which [`Pending::reduce`] joins numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    Least,
    Sum,
    Bits,
}

/// Operations in flight, and the memory that they use.
pub(crate) struct Pending<'m> {
    mpi: &'m Started,
    requests: Requests,
    /// Number of requests that have not completed.
    open: usize,
    indices: Vec<c_int>,
    statuses: Vec<u64>,
    bytes: Vec<Loan<u8>>,
    numbers: Vec<Loan<u64>>,
}

/// Memory that operations used, in the order in which it was lent.
#[derive(Debug, Default)]
pub(crate) struct Returned {
    pub(crate) bytes: Vec<Vec<u8>>,
    pub(crate) numbers: Vec<Vec<u64>>,
}

impl<'m> Pending<'m> {
    pub(crate) fn new(mpi: &'m Started) -> Self {
        let requests = match mpi.library.abi.handle_size() {
            4 => Requests::Narrow(Vec::new()),
            _ => Requests::Wide(Vec::new()),
        };
        Self {
            mpi,
            requests,
            open: 0,
            indices: Vec::new(),
            statuses: Vec::new(),
            bytes: Vec::new(),
            numbers: Vec::new(),
        }
    }

    fn begun(&mut self, name: &'static str, code: c_int, request: u64) -> Result<(), Error> {
        self.mpi.library.check(name, code)?;
        self.requests.push(request);
        self.open += 1;
        Ok(())
    }

    /// Lends bytes to MPI and begins an operation with each piece of them, of at most `most` bytes.
    fn pieces(
        &mut self,
        bytes: Vec<u8>,
        most: usize,
        name: &'static str,
        each: impl Fn(&Library, Buffer, c_int, Request) -> c_int,
    ) -> Result<(), Error> {
        let most = most.clamp(1, c_int::MAX as usize);
        let (length, loan) = (bytes.len(), Loan::of(bytes));
        let piece = |start: usize| (loan.address(start), int(most.min(length - start)));
        let pieces: Vec<_> = (0..length).step_by(most).map(piece).collect();
        self.bytes.push(loan);
        for (at, count) in pieces {
            let mut request = 0_u64;
            let code = each(&self.mpi.library, at, count, &raw mut request);
            self.begun(name, code, request)?;
        }
        Ok(())
    }

    /// Sends bytes to a process, in pieces of at most `most` bytes. The receiver must cut alike.
    pub(crate) fn send(&mut self, bytes: Vec<u8>, to: usize, most: usize) -> Result<(), Error> {
        self.pieces(bytes, most, "MPI_Isend", |library, at, count, request| {
            let abi = &library.abi;
            // SAFETY: `count` bytes are there, and they are not changed while `Pending` has them.
            unsafe {
                (library.functions.isend)(
                    at,
                    count,
                    abi.byte,
                    int(to),
                    TAG,
                    abi.comm_world,
                    request,
                )
            }
        })
    }

    /// Receives from a process as many bytes as `bytes` has, in pieces of at most `most` bytes.
    pub(crate) fn receive(
        &mut self,
        bytes: Vec<u8>,
        from: usize,
        most: usize,
    ) -> Result<(), Error> {
        self.pieces(bytes, most, "MPI_Irecv", |library, at, count, request| {
            let abi = &library.abi;
            // SAFETY: `count` bytes are there, which no other code uses while `Pending` has them.
            unsafe {
                (library.functions.irecv)(
                    at,
                    count,
                    abi.byte,
                    int(from),
                    TAG,
                    abi.comm_world,
                    request,
                )
            }
        })
    }

    /// Broadcasts bytes from the process `root` to all, in pieces. All processes pass the same number of bytes.
    pub(crate) fn broadcast(
        &mut self,
        bytes: Vec<u8>,
        root: usize,
        most: usize,
    ) -> Result<(), Error> {
        self.pieces(bytes, most, "MPI_Ibcast", |library, at, count, request| {
            let abi = &library.abi;
            // SAFETY: `count` bytes are there, which no other code uses while `Pending` has them.
            unsafe {
                (library.functions.ibcast)(at, count, abi.byte, int(root), abi.comm_world, request)
            }
        })
    }

    /// Sends `each` of the numbers to every process, in the order of their ranks, and receives as many from every
    /// process. The list that comes back second has what was received. Missing numbers are 0.
    pub(crate) fn all_to_all(&mut self, mut numbers: Vec<u64>, each: usize) -> Result<(), Error> {
        numbers.resize(self.mpi.size * each, 0);
        let (from, to) = self.lend_numbers(numbers);
        let (count, mut request) = (int(each), 0_u64);
        let library = &self.mpi.library;
        let uint64 = library.abi.uint64;
        // SAFETY: both lists have `each` numbers for every process, and no other code uses them while `Pending` has them.
        let code = unsafe {
            (library.functions.ialltoall)(
                from,
                count,
                uint64,
                to,
                count,
                uint64,
                library.abi.comm_world,
                &raw mut request,
            )
        };
        self.begun("MPI_Ialltoall", code, request)
    }

    /// Joins lists of numbers of the same length of all processes. The list that comes back second has the result.
    ///
    /// [`Reduction::Least`] compares numbers as signed ones: MPICH 4.0.2 does so even where their type is unsigned.
    pub(crate) fn reduce(&mut self, numbers: Vec<u64>, how: Reduction) -> Result<(), Error> {
        let length = int(numbers.len());
        let (from, to) = self.lend_numbers(numbers);
        let mut request = 0_u64;
        let library = &self.mpi.library;
        let abi = &library.abi;
        let (datatype, operation) = match how {
            Reduction::Least => (abi.int64, abi.min),
            Reduction::Sum => (abi.uint64, abi.sum),
            Reduction::Bits => (abi.uint64, abi.bits),
        };
        // SAFETY: both lists have `length` numbers, and no other code uses them while `Pending` has them.
        let code = unsafe {
            (library.functions.iallreduce)(
                from,
                to,
                length,
                datatype,
                operation,
                abi.comm_world,
                &raw mut request,
            )
        };
        self.begun("MPI_Iallreduce", code, request)
    }

    fn lend_numbers(&mut self, numbers: Vec<u64>) -> (Buffer, Buffer) {
        let into = Loan::of(vec![0_u64; numbers.len()]);
        let numbers = Loan::of(numbers);
        let addresses = (numbers.address(0), into.address(0));
        self.numbers.extend([numbers, into]);
        addresses
    }

    /// Begins a barrier.
    pub(crate) fn barrier(&mut self) -> Result<(), Error> {
        let mut request = 0_u64;
        let library = &self.mpi.library;
        // SAFETY: MPI is initialised, and there is a place for the request.
        let code =
            unsafe { (library.functions.ibarrier)(library.abi.comm_world, &raw mut request) };
        self.begun("MPI_Ibarrier", code, request)
    }

    /// Waits until all operations have ended. `idle` is called between tests and is told whether an operation ended
    /// since the last one; its error ends the wait. After an error the memory is leaked.
    pub(crate) fn wait(
        mut self,
        mut idle: impl FnMut(bool) -> Result<(), Error>,
    ) -> Result<Returned, Error> {
        while self.open > 0 {
            let ended = self.test()?;
            if self.open > 0 {
                idle(ended)?;
            }
        }
        // SAFETY: every request has completed.
        let bytes = self.bytes.into_iter().map(|loan| unsafe { loan.back() }).collect();
        // SAFETY: likewise.
        let numbers = self.numbers.into_iter().map(|loan| unsafe { loan.back() }).collect();
        Ok(Returned { bytes, numbers })
    }

    /// Makes progress. Returns `true` if an operation ended.
    fn test(&mut self) -> Result<bool, Error> {
        let library = &self.mpi.library;
        let count = self.requests.len();
        let status = library.abi.status_size;
        self.indices.resize(count, 0);
        self.statuses.resize((count * status).div_ceil(8), 0);
        let mut ended = 0;
        // SAFETY: there are `count` requests in the layout of this library, and as many places for indices and
        // statuses.
        let code = unsafe {
            (library.functions.testsome)(
                int(count),
                self.requests.address(),
                &raw mut ended,
                self.indices.as_mut_ptr(),
                self.statuses.as_mut_ptr().cast(),
            )
        };
        // A negative number is MPI_UNDEFINED: no request was active.
        let ended = usize::try_from(ended).unwrap_or(self.open).min(self.open);
        if code != 0 {
            let place = |at: usize| at * status + library.abi.status_error;
            let codes = (0..ended).map(|at| word(&self.statuses, place(at)));
            let first = codes.into_iter().find(|code| *code != 0);
            return Err(library.error("MPI_Testsome", first.unwrap_or(code)));
        }
        self.open -= ended;
        Ok(ended > 0)
    }
}

/// Reads an `int` at an offset in bytes, which is a multiple of 4.
fn word(words: &[u64], offset: usize) -> c_int {
    let word = words.get(offset / 8).copied().unwrap_or(0).to_ne_bytes();
    match (word, offset % 8) {
        ([a, b, c, d, ..], 0) => c_int::from_ne_bytes([a, b, c, d]),
        ([.., a, b, c, d], _) => c_int::from_ne_bytes([a, b, c, d]),
    }
}

/// Converts a number that is known to be small to an argument of MPI.
fn int(number: usize) -> c_int {
    c_int::try_from(number).unwrap_or(c_int::MAX)
}

/// Ends this process at once, without any cleaning up that could wait for other processes.
pub(crate) fn exit_now(code: u8) -> ! {
    // SAFETY: `_exit` has no requirements.
    unsafe { libc::_exit(c_int::from(code)) }
}

#[cfg(test)]
mod tests {
    use super::{Loan, NAMES, Requests, word};

    #[test]
    fn nothing_has_an_address_without_a_meaning() {
        let loan = Loan::of(Vec::<u8>::new());
        let address = loan.address(0).addr();
        assert!(address > 4096, "{address}");
        assert_ne!(address, usize::MAX);
    }

    #[test]
    fn requests_keep_the_layout_of_the_library() {
        let mut narrow = Requests::Narrow(Vec::new());
        narrow.push(0xdead_beef_2c00_0000_u64.to_le());
        let Requests::Narrow(list) = narrow else { panic!("it was narrow") };
        assert_eq!(list, [0x2c00_0000_u32.to_le()]);
    }

    #[test]
    fn words_of_statuses() {
        let (low, high) = (7_i32.to_ne_bytes(), (-9_i32).to_ne_bytes());
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&low);
        bytes[4..].copy_from_slice(&high);
        let words = [u64::from_ne_bytes(bytes)];
        assert_eq!((word(&words, 0), word(&words, 4), word(&words, 8)), (7, -9, 0));
    }

    #[test]
    fn about_fifteen_functions_are_enough() {
        assert_eq!(NAMES.len(), 15);
    }
}
