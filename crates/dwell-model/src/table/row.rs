//! A row of a table: one function of a runtime.

use core::ffi::CStr;
use core::fmt;

use super::bytes::{Bytes, Strides};
use super::ctype::{Arguments, CType};
use super::places::{Arg, Condition, Group, Members, Places, Signal, Success};
use super::shape::{Duty, Fortran, Shape};
use crate::operation::{Collective, Mode, Operation, Progress};

/// The name of a function as linkers know it, available both as Rust and as C text without conversion.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol {
    /// The name and the zero byte that ends it in C, so that both forms are free.
    text: &'static str,
}

impl Symbol {
    /// Creates a symbol from its name, given with the zero byte that ends it in C.
    ///
    /// # Panics
    ///
    /// If the zero byte is missing or is not the last one. Tables are constants, so a panic here is a compile error.
    #[must_use]
    pub const fn terminated(text: &'static str) -> Self {
        assert!(CStr::from_bytes_with_nul(text.as_bytes()).is_ok(), "a name ends in its only zero");
        Self { text }
    }

    /// Returns the name without its zero byte.
    pub const fn name(self) -> &'static str {
        match self.text.split_at_checked(self.text.len() - 1) {
            Some((name, _)) => name,
            None => self.text,
        }
    }

    /// Returns the name as a C string, as `dlsym` wants it.
    pub const fn c_str(self) -> &'static CStr {
        match CStr::from_bytes_with_nul(self.text.as_bytes()) {
            Ok(name) => name,
            Err(_) => c"",
        }
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.name(), f)
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The action of a hook if no loaded library defines the function it stands for.
///
/// A program may test by the address of a weak symbol whether a runtime is present, and finds the hook instead. The
/// call that follows must do no harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Absent {
    /// Returns at once; the function has no value.
    Nothing,
    /// Returns zero, in whatever type the function returns.
    Zero,
    /// Returns -1, which for an unsigned type is its largest value. Functions of MPI do this, since it is no
    /// `MPI_SUCCESS`.
    MinusOne,
    /// Returns a null pointer, as a failed allocation would.
    Null,
    /// Ends the process with this argument as its exit code, because the caller does not expect the function to return.
    Exit(Arg),
}

/// One function of a runtime: its signature, its generic operation, and the places of its arguments.
///
/// A row is plain data, which a `const fn` creates from the description of a family:
///
/// ```
/// use dwell_model::operation::Operation;
/// use dwell_model::table::{Arg, Bytes, CType, Row, Symbol};
///
/// // int ARMCI_Put(void *src, void *dst, int bytes, int proc);
/// const PUT: Row = Row::new(
///     Symbol::terminated("ARMCI_Put\0"),
///     Operation::Put,
///     CType::Int,
///     &[CType::Pointer, CType::Pointer, CType::Int, CType::Int],
/// )
/// .remote(1)
/// .counted(2, 1)
/// .target(3);
///
/// assert_eq!(PUT.places.bytes, Bytes::Counted { count: Arg(2), size: 1 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// The name that the runtime exports and the hook takes over.
    pub symbol: Symbol,
    /// The type of the returned value, `Void` if there is none.
    pub returns: CType,
    /// The types of the arguments. Together with `returns` they are the signature of the generated hook.
    pub arguments: Arguments,
    /// The generic operation that a call of the function performs.
    pub operation: Operation,
    /// The state of the operation when the call returns: complete at the origin, started, or described.
    pub mode: Mode,
    /// `true` if earlier operations of the same context are complete at their targets on return.
    ///
    /// Memory calls of OpenSHMEM contain a barrier and so complete everything, but may do nothing at all when they are
    /// asked for no bytes or given a null pointer.
    pub completes_remote: bool,
    /// Tells whether the process serves requests of others while it is inside the call.
    pub progress: Progress,
    /// The action of the hook if no loaded library defines the function.
    pub absent: Absent,
    /// The places of the arguments that the recorder reads.
    pub places: Places,
    /// The way in which calls of the function are recorded.
    pub shape: Shape,
    /// Work of the hook that does not depend on whether the call is recorded.
    pub duty: Duty,
    /// `true` if arrays of counts have elements of 64 bits, as in the functions of MPI for large counts.
    pub large_counts: bool,
    /// The way in which Fortran programs call the function.
    pub fortran: Fortran,
}

impl Row {
    /// Creates the row of a blocking function of which only the signature and the operation are known.
    ///
    /// Progress is conditional and assumed. `completes_remote` is set for [`Operation::CompleteRemote`] and for
    /// barriers. The hook of an absent function returns nothing, null or zero, as its type requires. All places are
    /// [nowhere](Places::NOWHERE) until the builder methods below set them. Calls are recorded by operation and places,
    /// and the hook does nothing for a call that is not recorded.
    #[must_use]
    pub const fn new(
        symbol: Symbol,
        operation: Operation,
        returns: CType,
        arguments: &[CType],
    ) -> Self {
        Self {
            symbol,
            returns,
            arguments: Arguments::new(arguments),
            operation,
            mode: Mode::Blocking,
            completes_remote: matches!(
                operation,
                Operation::CompleteRemote | Operation::Collective(Collective::Barrier)
            ),
            progress: Progress::Conditional,
            absent: match returns {
                CType::Void => Absent::Nothing,
                CType::Pointer => Absent::Null,
                _ => Absent::Zero,
            },
            places: Places::NOWHERE,
            shape: Shape::Operation,
            duty: Duty::None,
            large_counts: false,
            fortran: Fortran::NONE,
        }
    }

    /// Returns the name of the function, without the zero byte.
    pub const fn name(&self) -> &'static str {
        self.symbol.name()
    }

    /// Returns `true` if the function takes or returns a `long double` by value.
    ///
    /// Stable Rust can write no such signature, so the hook needs a stub in assembly.
    pub const fn by_value_long_double(&self) -> bool {
        let types = self.arguments.types();
        let mut found = matches!(self.returns, CType::LongDouble);
        let mut index = 0;
        while index < types.len() {
            found |= matches!(types[index], CType::LongDouble);
            index += 1;
        }
        found
    }
}

/// Builder methods, in which the adapters describe their families. A parameter called `at` is the position of an
/// argument, counted from 0. Each returns the changed row.
impl Row {
    /// Marks the call as [non-blocking](Mode::NonBlocking): on return the operation has only been started, and a later
    /// call completes it.
    #[must_use]
    pub const fn non_blocking(mut self) -> Self {
        self.mode = Mode::NonBlocking;
        self
    }

    /// Marks the call as [persistent](Mode::Persistent): on return the operation has only been described, and later
    /// calls start and complete it.
    #[must_use]
    pub const fn persistent(mut self) -> Self {
        self.mode = Mode::Persistent;
        self
    }

    /// States that earlier operations of the same context are complete at their targets when the call returns.
    #[must_use]
    pub const fn completes_remote(mut self) -> Self {
        self.completes_remote = true;
        self
    }

    /// Sets the progress that a measurement with `examples/progress-probe` showed. The documentation of the table names
    /// the runtime and transport of the measurement; on any other, the value is no more than a guess.
    #[must_use]
    pub const fn measured(mut self, progress: Progress) -> Self {
        self.progress = progress;
        self
    }

    /// Sets the progress that follows from what the function must do. Only the name tells this from
    /// [`measured`](Self::measured), for readers of the tables. Use `Conditional` where nothing follows.
    #[must_use]
    pub const fn assumed(mut self, progress: Progress) -> Self {
        self.progress = progress;
        self
    }

    /// Sets the action of the hook if no loaded library defines the function. [`new`](Self::new) has chosen one by the
    /// returned type.
    #[must_use]
    pub const fn absent(mut self, absent: Absent) -> Self {
        self.absent = absent;
        self
    }

    /// States that the function takes any number of further arguments (`...`). Its hook then needs a stub in assembly.
    #[must_use]
    pub const fn variadic(mut self) -> Self {
        self.arguments = self.arguments.variadic();
        self
    }

    /// Puts a communication context in front of the first argument, as `shmem_ctx_put` differs from `shmem_put`. All
    /// places that are set already move by one.
    #[must_use]
    pub const fn in_context(mut self) -> Self {
        self.arguments = self.arguments.after(CType::Pointer);
        self.places = self.places.later();
        self.places.context = Some(Arg(0));
        self
    }

    /// Names the argument that is the rank of the target ([`Places::target`]): `.target(3)` for `shmem_putmem(dest,
    /// source, nelems, pe)`.
    #[must_use]
    pub const fn target(mut self, at: u8) -> Self {
        self.places.target = Some(Arg(at));
        self
    }

    /// Names the argument that is the address at the target, or the handle of the memory there ([`Places::remote`]). A
    /// put has it as its destination, a get as its source.
    #[must_use]
    pub const fn remote(mut self, at: u8) -> Self {
        self.places.remote = Some(Arg(at));
        self
    }

    /// Names the argument that is the position inside the memory that [`remote`](Self::remote) or [`lock`](Self::lock)
    /// names: an offset in bytes or an index.
    #[must_use]
    pub const fn within(mut self, at: u8) -> Self {
        self.places.within = Some(Arg(at));
        self
    }

    /// States that all ranks among the arguments are counted from 1, as images of coarrays are. The recorder subtracts
    /// 1 from each.
    #[must_use]
    pub const fn from_one(mut self) -> Self {
        self.places.first_rank = 1;
        self
    }

    /// States that the call moves a section of an array. `descriptor` is the argument with the array descriptor of
    /// gfortran, `vector` the one with vector subscripts, if there is one.
    #[must_use]
    pub const fn section(mut self, descriptor: u8, vector: Option<u8>) -> Self {
        let vector = match vector {
            Some(at) => Some(Arg(at)),
            None => None,
        };
        self.places.bytes = Bytes::Section { descriptor: Arg(descriptor), vector };
        self
    }

    /// States that the data which the call moves from one process to another are a section of an array at the source, too.
    /// Its elements may have another size than those at the target. The arguments are those of [`section`](Self::section).
    #[must_use]
    pub const fn source_section(mut self, descriptor: u8, vector: u8) -> Self {
        self.places.received =
            Bytes::Section { descriptor: Arg(descriptor), vector: Some(Arg(vector)) };
        self
    }

    /// States that the call moves what a chain of gfortran's references leads to. `descriptor` describes the local
    /// side, if the function has such an argument.
    #[must_use]
    pub const fn reference(mut self, chain: u8, descriptor: Option<u8>) -> Self {
        let descriptor = match descriptor {
            Some(at) => Some(Arg(at)),
            None => None,
        };
        self.places.bytes = Bytes::Reference { chain: Arg(chain), descriptor };
        self
    }

    /// States that the call moves a strided block of ARMCI. `levels` is the argument that is one less than the number
    /// of `counts`.
    #[must_use]
    pub const fn block(mut self, counts: u8, levels: u8) -> Self {
        self.places.bytes = Bytes::Block { counts: Arg(counts), levels: Arg(levels) };
        self
    }

    /// States that the call moves four bytes, or eight if the argument at this position is odd. `ARMCI_Rmw` selects its
    /// operation by such an argument.
    #[must_use]
    pub const fn int_or_long(mut self, at: u8) -> Self {
        self.places.bytes = Bytes::IntOrLong(Arg(at));
        self
    }

    /// States that the call moves a list of ARMCI's generalised I/O vectors. `list` is the argument with its address,
    /// `length` the one with the number of entries.
    #[must_use]
    pub const fn vectors(mut self, list: u8, length: u8) -> Self {
        self.places.bytes = Bytes::Vectors { list: Arg(list), length: Arg(length) };
        self
    }

    /// Names the argument that is the rank of the process whose data the call moves to another target.
    #[must_use]
    pub const fn source(mut self, at: u8) -> Self {
        self.places.source = Some(Arg(at));
        self
    }

    /// States that the caller and the ranks in an array take part. A negative `count` at run time means all processes.
    #[must_use]
    pub const fn listed(mut self, count: u8, list: u8) -> Self {
        self.places.group = Group::Listed { count: Arg(count), list: Arg(list) };
        self
    }

    /// Names the argument that is the address at which the call stores whether it obtained the lock.
    #[must_use]
    pub const fn obtained(mut self, at: u8) -> Self {
        self.places.obtained = Some(Arg(at));
        self
    }

    /// Names the argument that is the address at which a call stores the value that it reads. A call of an atomic operation
    /// that passes null there fetches nothing.
    #[must_use]
    pub const fn former(mut self, at: u8) -> Self {
        self.places.former = Some(Arg(at));
        self
    }

    /// States that the call always moves this number of bytes, because the function handles a single value, such as
    /// `shmem_int_p`.
    #[must_use]
    pub const fn fixed(mut self, bytes: u8) -> Self {
        self.places.bytes = Bytes::Fixed(bytes);
        self
    }

    /// States that an argument counts elements of `size` bytes each. A size of 1 means that the argument is the number
    /// of bytes itself.
    #[must_use]
    pub const fn counted(mut self, count: u8, size: u8) -> Self {
        self.places.bytes = Bytes::Counted { count: Arg(count), size };
        self
    }

    /// States that the product of two arguments is the number of bytes, as in `shmem_calloc(count, size)`.
    #[must_use]
    pub const fn product(mut self, count: u8, size: u8) -> Self {
        self.places.bytes = Bytes::Product { count: Arg(count), size: Arg(size) };
        self
    }

    /// Names the arguments that are the distances between elements at the destination and at the source, counted in
    /// elements (`shmem_iput`).
    #[must_use]
    pub const fn strides(mut self, destination: u8, source: u8) -> Self {
        self.places.strides = Some(Strides { destination: Arg(destination), source: Arg(source) });
        self
    }

    /// Names the argument that is the communication context of the operation. [`in_context`](Self::in_context) is
    /// simpler for functions that also exist without a context.
    #[must_use]
    pub const fn context(mut self, at: u8) -> Self {
        self.places.context = Some(Arg(at));
        self
    }

    /// Names the argument that is the request or handle by which a later call completes the operation. The row must
    /// also be [non-blocking](Self::non_blocking) for that.
    #[must_use]
    pub const fn handle(mut self, at: u8) -> Self {
        self.places.handle = Some(Arg(at));
        self
    }

    /// States that every process of the program takes part in the call, so that it is collective without naming a
    /// group.
    #[must_use]
    pub const fn world(mut self) -> Self {
        self.places.group = Group::World;
        self
    }

    /// States that an active set takes part. `start` is the argument with its first rank; the logarithm of the stride
    /// and the size follow in the next two arguments.
    #[must_use]
    pub const fn active_set(mut self, start: u8) -> Self {
        self.places.group = Group::ActiveSet {
            start: Arg(start),
            log_stride: Arg(start + 1),
            size: Arg(start + 2),
        };
        self
    }

    /// Names the argument that is the team or communicator whose members take part. Ranks among the other arguments
    /// then count in this group.
    #[must_use]
    pub const fn team(mut self, at: u8) -> Self {
        self.places.group = Group::Team(Arg(at));
        self
    }

    /// Names the argument that is the rank of the root of a collective operation, counted in the group that takes part.
    #[must_use]
    pub const fn root(mut self, at: u8) -> Self {
        self.places.root = Some(Arg(at));
        self
    }

    /// Names the argument that is the lock: the address of a symmetric variable, the token of a coarray, or the number
    /// of a mutex.
    #[must_use]
    pub const fn lock(mut self, at: u8) -> Self {
        self.places.lock = Some(Arg(at));
        self
    }

    /// Sets the condition that the call waits for or tests in memory of the calling process, for
    /// [`Operation::WaitChange`] and [`Operation::TestChange`].
    #[must_use]
    pub const fn condition(mut self, condition: Condition) -> Self {
        self.places.condition = Some(condition);
        self
    }

    /// Sets the signal by which a put notifies its target, as `shmem_put_signal` and `ARMCI_Put_flag` do.
    #[must_use]
    pub const fn signal(mut self, signal: Signal) -> Self {
        self.places.signal = Some(signal);
        self
    }

    /// Names the argument that is the address or token of the memory which the call releases or resizes, as
    /// `shmem_free` and `shmem_realloc` do.
    #[must_use]
    pub const fn memory(mut self, at: u8) -> Self {
        self.places.memory = Some(Arg(at));
        self
    }

    /// Names the argument that is the address at which the call stores the handle of what it has created.
    #[must_use]
    pub const fn created(mut self, at: u8) -> Self {
        self.places.created = Some(Arg(at));
        self
    }

    /// Names the argument that is the address at which the call stores the handle of the second group that it has
    /// created.
    #[must_use]
    pub const fn also_created(mut self, at: u8) -> Self {
        self.places.also_created = Some(Arg(at));
        self
    }

    /// Sets the members of the group that the call creates, as ranks of the group that takes part.
    #[must_use]
    pub const fn members(mut self, members: Members) -> Self {
        self.places.members = Some(members);
        self
    }

    /// Chooses the way in which calls of the function are recorded.
    #[must_use]
    pub const fn shape(mut self, shape: Shape) -> Self {
        self.shape = shape;
        self
    }

    /// Sets the work of the hook that does not depend on whether the call is recorded.
    #[must_use]
    pub const fn duty(mut self, duty: Duty) -> Self {
        self.duty = duty;
        self
    }

    /// Sets the meaning of the returned value. Without it, a call that returns counts as successful.
    #[must_use]
    pub const fn success(mut self, success: Success) -> Self {
        self.places.success = success;
        self
    }
}
