//! The interface of all shapes of hooks, and access to the arguments of a call.

use core::cell::Cell;
use core::ffi::c_int;
use core::mem::MaybeUninit;

use dwell_measure::guard::{Entry, guarded, guarded_option};
use dwell_measure::hook::{Hook, Passed};
use dwell_measure::recorder::{self, Recorder};
use dwell_measure::thread::Call;
use dwell_measure::word::{Seen, Word};
use dwell_model::operation::Operation;
use dwell_model::table::{Arg, Bytes, CType, Group, Places, Row};

use super::abi::{Abi, abi};
use super::fortran;

/// Recording of all functions of one shape, such as blocking sends. A shape may replace words in the arguments before
/// they reach the library. Hooks call it behind a guard, which keeps panics from the program.
pub(crate) trait Shape {
    /// Memory that must not move while the call lasts.
    type Room;
    /// State of the call, kept from its beginning to its end.
    type State;

    /// Records the beginning of a call. Returns `None` if the call is not recorded.
    fn begin(
        hook: &'static Hook,
        words: &Words<'_>,
        room: &mut MaybeUninit<Self::Room>,
    ) -> Option<Self::State>;

    /// Records the end of a call that returned `result`.
    fn end(state: Self::State, hook: &'static Hook, words: &Words<'_>, result: c_int);
}

/// Records the beginning of a call of a shape. This is compiled once for all hooks that are not short enough to contain
/// it.
#[inline(never)]
pub(crate) fn begin<S: Shape>(
    hook: &'static Hook,
    words: &Words<'_>,
    room: &mut MaybeUninit<S::Room>,
) -> Option<S::State> {
    guarded_option(Entry::Before, move || S::begin(hook, words, room))
}

/// Records the end of a call of a shape, as the counterpart of [`begin`].
#[inline(never)]
pub(crate) fn end<S: Shape>(
    state: S::State,
    hook: &'static Hook,
    words: &Words<'_>,
    result: c_int,
) {
    guarded(Entry::After, move || S::end(state, hook, words, result));
}

/// Arguments of a call, as the language of the program passes them.
///
/// The row is that of the hook, as a constant of the hook's crate: where a shape is compiled into its hooks, the
/// compiler evaluates the row and no call looks it up.
pub(crate) struct Words<'a> {
    list: &'a [Cell<usize>],
    language: Language,
    pub(crate) row: &'static Row,
}

impl<'a> Words<'a> {
    /// Wraps the arguments that a hook received.
    ///
    /// # Safety
    /// `list` holds the arguments that the program passed to the function of `row` in this language, so that addresses
    /// among them point to what the standard says, and the call lasts as long as `'a`.
    #[inline(always)]
    pub(crate) unsafe fn new(
        list: &'a [Cell<usize>],
        language: Language,
        row: &'static Row,
    ) -> Self {
        Self { list, language, row }
    }

    /// Replaces an argument before it reaches the library. Returns `false` if there is no such argument.
    #[inline(always)]
    pub(crate) fn replace(&self, at: Arg, word: usize) -> bool {
        self.list.get(at.index()).map(|place| place.set(word)).is_some()
    }
}

/// Convention by which a language passes arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    C,
    /// All arguments by address, handles as integers, indices from 1.
    Fortran,
    /// As [`Self::Fortran`], with buffers passed by array descriptors.
    Descriptors,
}

/// Kind of object that a handle refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Comm,
    Datatype,
    /// Known by the value that the program passes, so that no conversion is needed.
    File,
    Group,
    Message,
    Request,
    Win,
}

/// Arguments of a call, read at the places that the row points out.
#[derive(Clone, Copy)]
pub(crate) struct Args<'a> {
    pub(crate) places: &'static Places,
    types: &'static [CType],
    words: &'a [Cell<usize>],
    language: Language,
    row: &'static Row,
    pub(crate) abi: &'static Abi,
}

impl<'a> Args<'a> {
    #[inline(always)]
    pub(crate) fn of(words: &'a Words<'_>) -> Self {
        let Words { list, language, row } = words;
        let (types, language) = (row.arguments.types(), *language);
        Self { places: &row.places, types, words: list, language, row, abi: abi() }
    }

    /// Returns the operation of the function.
    #[inline(always)]
    pub(crate) fn operation(&self) -> Operation {
        self.row.operation
    }

    /// Returns an argument as the program passed it, or 0 if there is no such argument.
    #[inline(always)]
    pub(crate) fn word(&self, at: Arg) -> usize {
        self.words.get(at.index()).map_or(0, Cell::get)
    }

    /// Returns an argument that is an address in the program.
    #[inline(always)]
    pub(crate) fn passed(&self, at: Arg) -> Passed {
        // SAFETY: the words are what the program passed, as `Words::new` requires. One that was replaced is the address
        // of memory of the hook for the same purpose.
        unsafe { Passed::new(self.word(at)) }
    }

    /// Returns `true` if the program calls from C, where arguments are values and indices start at 0.
    #[inline(always)]
    pub(crate) fn is_c(&self) -> bool {
        self.language == Language::C
    }

    /// Returns an argument of type `int`.
    #[inline(always)]
    pub(crate) fn int(&self, at: Arg) -> c_int {
        if self.is_c() {
            return self.word(at) as c_int;
        }
        // In Fortran an argument is the address of its value.
        self.passed(at).read(0).unwrap_or(0)
    }

    /// Returns a number of elements; a negative one becomes 0.
    #[inline(always)]
    pub(crate) fn count(&self, at: Arg) -> u64 {
        self.number(at).max(0).cast_unsigned()
    }

    /// Returns an argument that is a number, of type `int` or `MPI_Aint`.
    #[inline(always)]
    pub(crate) fn number(&self, at: Arg) -> i64 {
        match (self.types.get(at.index()), self.is_c()) {
            (Some(CType::Int), _) => i64::from(self.int(at)),
            (_, true) => self.word(at) as i64,
            (_, false) => self.passed(at).read(0).unwrap_or(0_i64),
        }
    }

    /// Returns the place in a window that an operation acts on, in units of the window.
    #[inline(always)]
    pub(crate) fn displacement(&self) -> u64 {
        self.places.displacement.map_or(0, |at| self.number(at).cast_unsigned())
    }

    /// Returns `true` for an atomic operation that only reads. In Fortran programs it is not known.
    #[inline(always)]
    pub(crate) fn changes_nothing(&self) -> bool {
        let reads = |at| self.is_c() && self.abi.handle(self.word(at)) == self.abi.no_op;
        self.places.reduction.is_some_and(reads)
    }

    /// Returns `true` if buffers are passed by their addresses.
    #[inline(always)]
    pub(crate) fn has_addresses(&self) -> bool {
        self.language != Language::Descriptors
    }

    /// Returns an argument that is a handle, converted to that of C.
    #[inline(always)]
    pub(crate) fn handle(&self, kind: Kind, at: Arg) -> usize {
        if self.is_c() {
            self.abi.handle(self.word(at))
        } else {
            fortran::handle(kind, self.int(at))
        }
    }

    /// Reads the handle to which an argument points, or `None` for a null pointer.
    pub(crate) fn handle_at(&self, kind: Kind, at: Option<Arg>) -> Option<usize> {
        self.handle_in(kind, self.passed(at?), 0)
    }

    /// Reads the handle at an index of an array in the program. Returns `None` if the address of the array is null.
    pub(crate) fn handle_in(&self, kind: Kind, list: Passed, index: usize) -> Option<usize> {
        if self.is_c() {
            self.abi.handle_in(list, index)
        } else {
            list.read(index).map(|handle| fortran::handle(kind, handle))
        }
    }

    /// Returns `true` if a buffer is `MPI_IN_PLACE`.
    pub(crate) fn is_in_place(&self, at: Arg) -> bool {
        let word = self.word(at);
        match self.language {
            Language::C => word == self.abi.in_place,
            Language::Fortran => fortran::sentinels().in_place.contains(&word),
            // A descriptor begins with the address of the buffer.
            Language::Descriptors => {
                let buffer = self.passed(at).read::<usize>(0);
                buffer.is_some_and(|buffer| fortran::sentinels().in_place.contains(&buffer))
            }
        }
    }

    /// Returns `true` if a status is at an address that the program passed, and `false` for `MPI_STATUS_IGNORE`.
    pub(crate) fn has_status(&self, address: usize) -> bool {
        if self.is_c() {
            self.abi.has_status(address)
        } else {
            !fortran::sentinels().no_status.contains(&address)
        }
    }

    /// Reads a flag or number that the library has stored.
    pub(crate) fn stored(&self, at: Option<Arg>) -> Option<c_int> {
        self.passed(at?).read(0)
    }

    /// Returns a rank, or `None` for negative values such as `MPI_PROC_NULL` and `MPI_ANY_SOURCE`.
    #[inline(always)]
    pub(crate) fn rank(&self, at: Option<Arg>) -> Option<u32> {
        u32::try_from(self.int(at?)).ok()
    }

    /// Returns the handle of the communicator of the call.
    #[inline(always)]
    pub(crate) fn comm(&self) -> Option<usize> {
        match self.places.group {
            Group::Team(at) => Some(self.handle(Kind::Comm, at)),
            _ => None,
        }
    }

    /// Returns the handle of the window of the call.
    #[inline(always)]
    pub(crate) fn window(&self) -> Option<usize> {
        self.places.context.map(|at| self.handle(Kind::Win, at))
    }

    /// Returns the number of bytes of a call. `members` is the length of lists of counts.
    #[inline(always)]
    pub(crate) fn bytes(&self, bytes: Bytes, members: u32) -> u64 {
        match bytes {
            Bytes::Typed { count, datatype } => match self.count(count) {
                0 => 0,
                count => count.saturating_mul(self.size(datatype)),
            },
            Bytes::Item(datatype) => self.size(datatype),
            bytes => self.bytes_of_many(bytes, members),
        }
    }

    /// Returns the size in bytes of one element of a datatype.
    #[inline(always)]
    fn size(&self, datatype: Arg) -> u64 {
        self.abi.type_size(self.handle(Kind::Datatype, datatype))
    }

    fn bytes_of_many(&self, bytes: Bytes, members: u32) -> u64 {
        let size = |datatype: Arg| self.size(datatype);
        match bytes {
            Bytes::Parts { parts, count, datatype } => {
                let count = self.count(parts).saturating_mul(self.count(count));
                if count == 0 { 0 } else { count.saturating_mul(size(datatype)) }
            }
            Bytes::Listed { counts, datatype } => {
                let counts = (0..members as usize).map(|index| self.listed(counts, index));
                match counts.fold(0, u64::saturating_add) {
                    0 => 0,
                    count => count.saturating_mul(size(datatype)),
                }
            }
            Bytes::ListedTypes { counts, datatypes } => {
                let each = (0..members as usize).map(|index| {
                    let count = self.listed(counts, index);
                    if count == 0 {
                        return 0;
                    }
                    let datatype = self.handle_in(Kind::Datatype, self.passed(datatypes), index);
                    datatype.map_or(0, |it| count.saturating_mul(self.abi.type_size(it)))
                });
                each.fold(0, u64::saturating_add)
            }
            _ => 0,
        }
    }

    /// Returns `true` if a call passes `MPI_DATATYPE_NULL`.
    #[cold]
    pub(crate) fn has_no_type(&self, bytes: Bytes) -> bool {
        let (Bytes::Typed { datatype, .. } | Bytes::Parts { datatype, .. }) = bytes else {
            return false;
        };
        self.handle(Kind::Datatype, datatype) == self.abi.datatype_null
    }

    /// Returns the number of bytes that a list of counts has for one member.
    pub(crate) fn part(&self, counts: Arg, datatype: Arg, member: u32) -> u64 {
        match self.listed(counts, member as usize) {
            0 => 0,
            count => {
                count.saturating_mul(self.abi.type_size(self.handle(Kind::Datatype, datatype)))
            }
        }
    }

    /// Reads a number from a list of counts, whose elements are wider in functions for large counts.
    fn listed(&self, counts: Arg, index: usize) -> u64 {
        let list = self.passed(counts);
        let count = if self.row.large_counts {
            list.read(index)
        } else {
            list.read::<c_int>(index).map(i64::from)
        };
        count.unwrap_or(0).max(0).cast_unsigned()
    }
}

/// A function that is recorded as a region only.
pub(crate) struct Plain;

impl Shape for Plain {
    type Room = ();
    type State = Call;

    fn begin(hook: &'static Hook, words: &Words<'_>, _: &mut MaybeUninit<()>) -> Option<Call> {
        match hook.row.operation {
            Operation::TestProbe => begin_test(hook, probed(words)),
            // A program may look at memory that it shares with others behind each of these.
            Operation::Order => begin_test(hook, words.list.first().map_or(0, Cell::get)),
            _ => recorder::begin(hook, |_: &mut Recorder| ()),
        }
    }

    fn end(call: Call, hook: &'static Hook, words: &Words<'_>, _: c_int) {
        match hook.row.operation {
            Operation::TestProbe => {
                // The flag precedes the status.
                let args = Args::of(words);
                let flag = args.places.status.map(|Arg(at)| Arg(at - 1));
                end_test(call, args.stored(flag) != Some(0), |_| ());
            }
            Operation::Order => end_test(call, false, |_| ()),
            _ => recorder::end(call, |_| ()),
        }
    }
}

/// Begins a call that tests something, identified by `what`, and may do so again and again. It must be ended by
/// [`end_test`].
pub(crate) fn begin_test(hook: &'static Hook, what: usize) -> Option<Call> {
    let word = Word { address: what as u64, ..Word::default() };
    Recorder::enter_again(hook, word).map(Recorder::entered)
}

/// Lets `write` write the records that are known after a call that [`begin_test`] began, and ends the call.
pub(crate) fn end_test(call: Call, found: bool, write: impl FnOnce(&mut Recorder)) {
    if let Some(mut recorder) = Recorder::returned(call) {
        write(&mut recorder);
        recorder.leave_again(if found { Seen::Something } else { Seen::Nothing });
    }
}

/// Returns a number for the messages that a call probes for.
pub(crate) fn probed(words: &Words<'_>) -> usize {
    let source = words.list.first().map_or(0, Cell::get);
    let tag = words.list.get(1).map_or(0, Cell::get);
    source.rotate_left(32) ^ tag
}
