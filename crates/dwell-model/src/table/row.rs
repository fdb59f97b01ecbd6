//! One function of a runtime.

use core::ffi::CStr;
use core::fmt;

use super::ctype::{Arguments, CType};
use super::places::{Arg, Bytes, Condition, Group, Members, Places, Signal, Strides, Success};
use crate::operation::{Collective, Evidence, Mode, Operation, Progress};

/// The name of a function, as linkers know it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol {
    /// The name and the zero byte that ends it in C, so that both views are free.
    text: &'static str,
}

impl Symbol {
    /// A name, given with the zero byte that ends it.
    ///
    /// # Panics
    ///
    /// If the zero byte is missing, or is not the last. Tables are constants, so this fails to
    /// compile.
    #[must_use]
    pub const fn terminated(text: &'static str) -> Self {
        assert!(CStr::from_bytes_with_nul(text.as_bytes()).is_ok(), "a name ends in its only zero");
        Self { text }
    }

    /// The name.
    pub const fn name(self) -> &'static str {
        match self.text.split_at_checked(self.text.len() - 1) {
            Some((name, _)) => name,
            None => self.text,
        }
    }

    /// The name for `dlsym`.
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

/// What a hook does if the function it stands for is nowhere.
///
/// A program may ask whether a runtime is there by the address of a weak symbol, and finds the hook
/// instead. What it then calls must do no harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Absent {
    /// Returns; the function has no value.
    Nothing,
    /// Returns zero, in whatever type the function returns.
    Zero,
    /// Returns -1, which for an unsigned type is its largest value.
    MinusOne,
    /// Returns a null pointer.
    Null,
    /// Ends the process with this argument as its exit code: the caller counts on no return.
    Exit(Arg),
}

/// One function of a runtime: its signature, what it is, and where its arguments are.
///
/// Plain data, made by `const fn` from the description of a family:
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
    /// Its name.
    pub symbol: Symbol,
    /// The type it returns.
    pub returns: CType,
    /// The types of its arguments.
    pub arguments: Arguments,
    /// What it is.
    pub operation: Operation,
    /// Whether it is complete at the origin on return.
    pub mode: Mode,
    /// Whether earlier operations of the same context are complete at their targets on return.
    ///
    /// Memory calls of OpenSHMEM contain a barrier and so complete everything, but may do nothing
    /// at all when they are asked for no bytes or given a null pointer.
    pub completes_remote: bool,
    /// Whether requests of others are served meanwhile.
    pub progress: Progress,
    /// How that is known.
    pub evidence: Evidence,
    /// What a hook does if there is no such function.
    pub absent: Absent,
    /// Where its arguments are.
    pub places: Places,
}

impl Row {
    /// A blocking function of which nothing is known but its signature and what it is.
    ///
    /// Progress is conditional and assumed. If it is absent it returns nothing, null or zero, as its
    /// type has it.
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
            evidence: Evidence::Assumed,
            absent: match returns {
                CType::Void => Absent::Nothing,
                CType::Pointer => Absent::Null,
                _ => Absent::Zero,
            },
            places: Places::NOWHERE,
        }
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.symbol.name()
    }

    /// Whether a `long double` is passed or returned by value.
    ///
    /// No signature of stable Rust does that: such a hook needs a stub in assembly.
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

/// The words in which families are described.
impl Row {
    /// It only starts the operation.
    #[must_use]
    pub const fn non_blocking(mut self) -> Self {
        self.mode = Mode::NonBlocking;
        self
    }

    /// It only describes the operation.
    #[must_use]
    pub const fn persistent(mut self) -> Self {
        self.mode = Mode::Persistent;
        self
    }

    /// On return, earlier operations are complete at their targets.
    #[must_use]
    pub const fn completes_remote(mut self) -> Self {
        self.completes_remote = true;
        self
    }

    /// Whether it serves others, as a measurement showed.
    #[must_use]
    pub const fn measured(mut self, progress: Progress) -> Self {
        self.progress = progress;
        self.evidence = Evidence::Measured;
        self
    }

    /// Whether it serves others, as follows from what it must do.
    #[must_use]
    pub const fn assumed(mut self, progress: Progress) -> Self {
        self.progress = progress;
        self.evidence = Evidence::Assumed;
        self
    }

    /// What a hook does if there is no such function.
    #[must_use]
    pub const fn absent(mut self, absent: Absent) -> Self {
        self.absent = absent;
        self
    }

    /// It takes any number of further arguments.
    #[must_use]
    pub const fn variadic(mut self) -> Self {
        self.arguments = self.arguments.variadic();
        self
    }

    /// The same function with a context before its first argument.
    #[must_use]
    pub const fn in_context(mut self) -> Self {
        self.arguments = self.arguments.after(CType::Pointer);
        self.places = self.places.later();
        self.places.context = Some(Arg(0));
        self
    }

    /// The process acted on.
    #[must_use]
    pub const fn target(mut self, at: u8) -> Self {
        self.places.target = Some(Arg(at));
        self
    }

    /// The address at the target.
    #[must_use]
    pub const fn remote(mut self, at: u8) -> Self {
        self.places.remote = Some(Arg(at));
        self
    }

    /// Where in that memory.
    #[must_use]
    pub const fn within(mut self, at: u8) -> Self {
        self.places.within = Some(Arg(at));
        self
    }

    /// Ranks are counted from 1.
    #[must_use]
    pub const fn from_one(mut self) -> Self {
        self.places.first_rank = 1;
        self
    }

    /// A section of an array.
    #[must_use]
    pub const fn section(mut self, descriptor: u8, vector: Option<u8>) -> Self {
        let vector = match vector {
            Some(at) => Some(Arg(at)),
            None => None,
        };
        self.places.bytes = Bytes::Section { descriptor: Arg(descriptor), vector };
        self
    }

    /// What a chain of references leads to; the other side has a descriptor, if it is given.
    #[must_use]
    pub const fn reference(mut self, chain: u8, descriptor: Option<u8>) -> Self {
        let descriptor = match descriptor {
            Some(at) => Some(Arg(at)),
            None => None,
        };
        self.places.bytes = Bytes::Reference { chain: Arg(chain), descriptor };
        self
    }

    /// A block of several dimensions.
    #[must_use]
    pub const fn block(mut self, counts: u8, levels: u8) -> Self {
        self.places.bytes = Bytes::Block { counts: Arg(counts), levels: Arg(levels) };
        self
    }

    /// Four bytes, or eight if the operation that an argument says is odd.
    #[must_use]
    pub const fn int_or_long(mut self, at: u8) -> Self {
        self.places.bytes = Bytes::IntOrLong(Arg(at));
        self
    }

    /// A list of vectors.
    #[must_use]
    pub const fn vectors(mut self, list: u8, length: u8) -> Self {
        self.places.bytes = Bytes::Vectors { list: Arg(list), length: Arg(length) };
        self
    }

    /// The process that data are fetched from, by a call that puts them elsewhere.
    #[must_use]
    pub const fn source(mut self, at: u8) -> Self {
        self.places.source = Some(Arg(at));
        self
    }

    /// The caller and the ranks in a list take part.
    #[must_use]
    pub const fn listed(mut self, count: u8, list: u8) -> Self {
        self.places.group = Group::Listed { count: Arg(count), list: Arg(list) };
        self
    }

    /// Where it is stored whether a lock was obtained.
    #[must_use]
    pub const fn obtained(mut self, at: u8) -> Self {
        self.places.obtained = Some(Arg(at));
        self
    }

    /// So many bytes, always.
    #[must_use]
    pub const fn fixed(mut self, bytes: u8) -> Self {
        self.places.bytes = Bytes::Fixed(bytes);
        self
    }

    /// An argument counts elements of so many bytes.
    #[must_use]
    pub const fn counted(mut self, count: u8, size: u8) -> Self {
        self.places.bytes = Bytes::Counted { count: Arg(count), size };
        self
    }

    /// Two arguments multiplied are the bytes.
    #[must_use]
    pub const fn product(mut self, count: u8, size: u8) -> Self {
        self.places.bytes = Bytes::Product { count: Arg(count), size: Arg(size) };
        self
    }

    /// Distances between elements.
    #[must_use]
    pub const fn strides(mut self, destination: u8, source: u8) -> Self {
        self.places.strides = Some(Strides { destination: Arg(destination), source: Arg(source) });
        self
    }

    /// The context.
    #[must_use]
    pub const fn context(mut self, at: u8) -> Self {
        self.places.context = Some(Arg(at));
        self
    }

    /// What a later call completes it by.
    #[must_use]
    pub const fn handle(mut self, at: u8) -> Self {
        self.places.handle = Some(Arg(at));
        self
    }

    /// Every process takes part.
    #[must_use]
    pub const fn world(mut self) -> Self {
        self.places.group = Group::World;
        self
    }

    /// An active set takes part; its stride and size follow its start.
    #[must_use]
    pub const fn active_set(mut self, start: u8) -> Self {
        self.places.group = Group::ActiveSet {
            start: Arg(start),
            log_stride: Arg(start + 1),
            size: Arg(start + 2),
        };
        self
    }

    /// A team takes part.
    #[must_use]
    pub const fn team(mut self, at: u8) -> Self {
        self.places.group = Group::Team(Arg(at));
        self
    }

    /// The root of a collective operation.
    #[must_use]
    pub const fn root(mut self, at: u8) -> Self {
        self.places.root = Some(Arg(at));
        self
    }

    /// The lock.
    #[must_use]
    pub const fn lock(mut self, at: u8) -> Self {
        self.places.lock = Some(Arg(at));
        self
    }

    /// What is waited for or tested.
    #[must_use]
    pub const fn condition(mut self, condition: Condition) -> Self {
        self.places.condition = Some(condition);
        self
    }

    /// How the target is told.
    #[must_use]
    pub const fn signal(mut self, signal: Signal) -> Self {
        self.places.signal = Some(signal);
        self
    }

    /// Memory that is given back or changes its size.
    #[must_use]
    pub const fn memory(mut self, at: u8) -> Self {
        self.places.memory = Some(Arg(at));
        self
    }

    /// Where the handle of what was made is stored.
    #[must_use]
    pub const fn created(mut self, at: u8) -> Self {
        self.places.created = Some(Arg(at));
        self
    }

    /// Where the handle of the second thing made is stored.
    #[must_use]
    pub const fn also_created(mut self, at: u8) -> Self {
        self.places.also_created = Some(Arg(at));
        self
    }

    /// Who will be in the group that is made.
    #[must_use]
    pub const fn members(mut self, members: Members) -> Self {
        self.places.members = Some(members);
        self
    }

    /// What the returned value says.
    #[must_use]
    pub const fn success(mut self, success: Success) -> Self {
        self.places.success = success;
        self
    }
}
