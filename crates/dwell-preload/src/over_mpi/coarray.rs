//! Coarrays by source: the calls that `dwell build sources` inserts into programs.
//!
//! The C code that is merged into objects calls the functions here by weak references. A call begins an operation and
//! another one ends it, so the state in between is kept by the thread. Images are those of the current team, as for
//! coarrays by preload, which may be recorded at the same time: its calls are inside.
//!
//! Locks and events are identified by the memory that the runtime registered at their address. Where no runtime did, the
//! name in the source identifies them.

use core::cell::{Cell, RefCell};
use core::ffi::c_int;
use std::sync::OnceLock;

use dwell_measure::entry::{called_from, frame_of, is_on};
use dwell_measure::guard::{Entry, guarded, guarded_option};
use dwell_measure::hook::{Hook, Passed};
use dwell_measure::mpi::{Comm, Completion, End, MatchingId, Rank, Transfer, Window};
use dwell_measure::recorder::{LockRecord, Recorder};
use dwell_measure::thread::Call;
use dwell_model::coarray::{self, TABLE};
use dwell_model::operation::Operation;

use super::caf;

/// Number of words that the C code passes.
const WORDS: usize = 7;

/// Description of an operation, as the C code passes it.
///
/// | word | contents |
/// |---|---|
/// | 0 | number of the operation |
/// | 1 | image, counted from 1; 0 for this image or none, -1 for all, -2 if the operation is described at its end |
/// | 2 | number of the name of a lock or event |
/// | 3 | address of the local part |
/// | 4 | bytes of an element |
/// | 5 | number of elements |
/// | 6 | bytes from one element to the next |
#[derive(Clone, Copy)]
struct Words([usize; WORDS]);

impl Words {
    fn get(self, at: usize) -> usize {
        self.0.get(at).copied().unwrap_or(0)
    }

    fn image(self) -> c_int {
        self.get(1) as c_int
    }

    fn bytes(self) -> u64 {
        (self.get(4) as u64).saturating_mul(self.get(5) as u64)
    }

    /// Returns the rank of the image: that of the calling process for image 0, and none if it is out of range.
    fn target(self, comm: &Comm) -> Option<Rank> {
        match self.image() {
            0 => Some(Rank(comm.rank)),
            image => u32::try_from(image - 1).ok().filter(|rank| *rank < comm.size).map(Rank),
        }
    }

    fn root(self) -> Option<u32> {
        u32::try_from(self.image().checked_sub(1)?).ok()
    }

    /// Returns a number for a lock or event that all images share.
    fn place(self) -> u64 {
        const NAMED: u64 = 1 << 62;
        caf::memory_at(self.get(3)).unwrap_or(NAMED | (self.get(2) as u64) << 4)
    }

    /// Returns the ranks in the world of the listed images, in ascending order. A negative image means all.
    fn partners(self, comm: &Comm) -> Vec<u64> {
        if self.image() < 0 {
            return (0..comm.size).map(|rank| comm.in_world(rank)).collect();
        }
        let count = self.get(5).min(comm.size as usize);
        let mut members: Vec<u64> = (0..count)
            .filter_map(|at| {
                // SAFETY: the C code passes the address and the stride of a list of integers, which the program has.
                let number =
                    unsafe { Passed::new(self.get(3).wrapping_add(at.wrapping_mul(self.get(6)))) };
                let image = match self.get(4) {
                    1 => number.read::<i8>(0)?.into(),
                    2 => number.read::<i16>(0)?.into(),
                    4 => number.read::<i32>(0)?.into(),
                    _ => number.read::<i64>(0)?,
                };
                u32::try_from(image.checked_sub(1)?).ok().filter(|rank| *rank < comm.size)
            })
            .map(|rank| comm.in_world(rank))
            .collect();
        members.sort_unstable();
        members.dedup();
        members
    }
}

/// Most operations of one statement whose completion is recorded at its end.
const MOST: usize = 8;

/// A transfer that a statement has begun: its window, target, number, and how its end completes it.
#[derive(Clone, Copy)]
struct Begun {
    window: &'static Window,
    target: Rank,
    id: MatchingId,
    how: Completion,
}

/// State of a statement between its beginning and its end.
struct Open {
    code: usize,
    call: Call,
    window: Option<&'static Window>,
    words: Words,
    /// Sequence number of a collective operation.
    sequence: Option<u64>,
    begun: [Option<Begun>; MOST],
}

/// Statements inside statements that are kept: a function that an expression calls may have some of its own.
const DEPTH: usize = 16;

#[derive(Default)]
struct State {
    open: [Option<Open>; DEPTH],
    depth: usize,
    /// Communicator of the team that the next operation names; 0 means the current team.
    team: usize,
}

thread_local! {
    // Only an address, because the library has little room for variables of threads. It has no destructor, which a library
    // that threads may enter while they end must not have, so a thread that used it leaves its state behind.
    static STATE: Cell<Option<&'static RefCell<State>>> = const { Cell::new(None) };
}

/// Runs `action` with the state of the thread. Returns `None` if a signal handler interrupted another action.
fn with<T>(action: impl FnOnce(&mut State) -> T) -> Option<T> {
    let state = STATE.get().unwrap_or_else(|| {
        let state: &'static RefCell<State> = Box::leak(Box::default());
        STATE.set(Some(state));
        state
    });
    state.try_borrow_mut().ok().map(|mut state| action(&mut state))
}

/// Returns the hook of an operation.
fn hook(code: usize) -> Option<&'static Hook> {
    static HOOKS: OnceLock<Vec<Hook>> = OnceLock::new();
    let hooks = HOOKS.get_or_init(|| {
        let codes = (0..).map_while(coarray::Call::from_code);
        codes
            .filter_map(|call| TABLE.rows.get(call.row()?))
            .map(|row| Hook::new(&TABLE, row))
            .collect()
    });
    hooks.get(code)
}

/// Begins an operation.
///
/// # Safety
/// `words` are [`WORDS`] words that describe it, `site` and `stack` are the return address of the function of the C code
/// and its place on the stack, next to which the frame of the caller is stored.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dwell_coarray_begin(
    words: *const [usize; WORDS],
    site: usize,
    stack: *const usize,
) {
    if !is_on() {
        return;
    }
    // SAFETY: as promised.
    let words = unsafe { Words(words.read()) };
    // SAFETY: as promised; the place is in the frame of the program, which the recorder only compares with later ones.
    unsafe { called_from(site, stack.addr(), frame_of(site, stack.addr())) };
    let Some(open) = guarded_option(Entry::Before, || begin(words)) else { return };
    let lost = with(|state| match state.open.get_mut(state.depth) {
        Some(place) => {
            *place = Some(open);
            state.depth += 1;
            None
        }
        None => Some(open),
    });
    if let Some(Some(open)) = lost {
        guarded(Entry::After, || end(open, 1));
    }
}

/// Adds a transfer to the operation that was begun last.
///
/// # Safety
/// `words` are [`WORDS`] words that describe the transfer.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dwell_coarray_also(words: *const [usize; WORDS]) {
    if !is_on() {
        return;
    }
    // SAFETY: as promised.
    let words = unsafe { Words(words.read()) };
    guarded(Entry::Before, || {
        with(|state| {
            let team = core::mem::take(&mut state.team);
            let at = state.depth.checked_sub(1)?;
            let open = state.open.get_mut(at)?.as_mut()?;
            let operation = hook(words.get(0))?.row.operation;
            let mut recorder = Recorder::resumed(&open.call)?;
            let begun = window(&mut recorder, team)
                .and_then(|window| transfer(&mut recorder, window, operation, words));
            if let Some(begun) = begun {
                match open.begun.iter_mut().find(|place| place.is_none()) {
                    Some(place) => *place = Some(begun),
                    None => recorder.acted(begun.window, begun.target, begun.id, begun.how),
                }
            }
            recorder.suspend();
            Some(())
        })
    });
}

/// Ends the operation that was begun last. `code` is its number, or negative for any; `outcome` is 0 if a lock was not
/// acquired.
#[unsafe(no_mangle)]
extern "C-unwind" fn dwell_coarray_end(code: c_int, outcome: c_int) {
    let open = with(|state| {
        // Statements that were begun inside it and never ended are left with it.
        while let Some(at) = state.depth.checked_sub(1) {
            state.depth = at;
            let open = state.open.get_mut(at)?.take()?;
            if code < 0 || usize::try_from(code) == Ok(open.code) {
                return Some(open);
            }
        }
        None
    });
    if let Some(Some(open)) = open {
        guarded(Entry::After, || end(open, outcome));
    }
}

/// Records an access that is not separated from its statement.
///
/// # Safety
/// As for [`dwell_coarray_begin`].
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dwell_coarray_once(
    words: *const [usize; WORDS],
    site: usize,
    stack: *const usize,
) {
    if !is_on() {
        return;
    }
    // SAFETY: as promised.
    let words = unsafe { Words(words.read()) };
    // SAFETY: as in `dwell_coarray_begin`.
    unsafe { called_from(site, stack.addr(), frame_of(site, stack.addr())) };
    guarded(Entry::Before, || {
        if let Some(open) = begin(words) {
            end(open, 1);
        }
    });
}

/// Names the team of the next operation by the address of its variable.
#[unsafe(no_mangle)]
extern "C-unwind" fn dwell_coarray_team(variable: usize) {
    if is_on() {
        guarded(Entry::Before, || {
            // SAFETY: the C code passes the address of a team variable of the program.
            let team = caf::team(unsafe { Passed::new(variable) });
            with(|state| state.team = team);
        });
    }
}

/// Returns the window of the layer on a communicator; 0 means that of the current team.
fn window(recorder: &mut Recorder, comm: usize) -> Option<&'static Window> {
    let handle = if comm == 0 { caf::current_team() } else { comm };
    let comm = crate::mpi::comm_of(recorder, handle)?;
    Some(recorder.process().window_of_layer(comm, TABLE.layer))
}

fn begin(words: Words) -> Option<Open> {
    let hook = hook(words.get(0))?;
    let operation = hook.row.operation;
    let mut team = with(|state| core::mem::take(&mut state.team))?;
    let names_team = matches!(hook.row.name(), "coarray_sync_team" | "coarray_change_team");
    if names_team {
        // SAFETY: the local part is a team variable.
        team = caf::team(unsafe { Passed::new(words.get(3)) });
    }
    let mut recorder = Recorder::report(hook)?;
    let window = window(&mut recorder, team);
    let mut sequence = None;
    let mut begun = [None; MOST];
    if let Some(window) = window {
        let target = words.target(window.comm);
        match operation {
            Operation::Put | Operation::Get | Operation::Atomic(_) => {
                begun[0] = transfer(&mut recorder, window, operation, words);
            }
            Operation::Lock | Operation::Unlock => {
                let what = match operation {
                    Operation::Lock => LockRecord::Request,
                    _ => LockRecord::Release,
                };
                if let Some(target) = target {
                    recorder.layer_lock(window, target, words.place(), what);
                }
            }
            Operation::Signal => {
                if let Some(target) = target {
                    recorder.notify(window, target, words.place());
                }
            }
            Operation::WaitChange => recorder.wait_for(window, words.place()),
            Operation::Meet => recorder.synchronises(window, &words.partners(window.comm)),
            Operation::CompleteRemote | Operation::TestChange | Operation::Other => {}
            _ => sequence = Some(recorder.window_begin(window.comm)),
        }
    }
    let call = recorder.entered();
    Some(Open { code: words.get(0), call, window, words, sequence, begun })
}

/// Records a transfer that a statement begins.
fn transfer(
    recorder: &mut Recorder,
    window: &'static Window,
    operation: Operation,
    words: Words,
) -> Option<Begun> {
    let target = words.target(window.comm)?;
    let bytes = words.bytes();
    let (sent, fetched) = match operation {
        Operation::Atomic(which) => {
            let fetched = if which.fetches() { bytes } else { 0 };
            (u64::from(which.operands()) * bytes, fetched)
        }
        _ => (bytes, 0),
    };
    let it = Transfer { window, target, bytes: sent, fetched };
    let id = recorder.act(operation, &it, None);
    let how = match operation {
        Operation::Get => Completion::Local,
        _ => Completion::Remote,
    };
    Some(Begun { window, target, id, how })
}

fn end(open: Open, outcome: c_int) {
    let Open { code, call, window, words, sequence, begun } = open;
    let Some(mut recorder) = Recorder::returned(call) else { return };
    let (Some(window), Some(hook)) = (window, hook(code)) else { return recorder.leave() };
    for Begun { window, target, id, how } in begun.into_iter().flatten() {
        recorder.acted(window, target, id, how);
    }
    match hook.row.operation {
        Operation::Lock => {
            let what = if outcome == 0 { LockRecord::Refused } else { LockRecord::Acquire };
            if let Some(target) = words.target(window.comm) {
                recorder.layer_lock(window, target, words.place(), what);
            }
        }
        Operation::Meet | Operation::CompleteRemote => {
            recorder.completed(window, None, Completion::Remote);
        }
        operation => {
            if let Some(sequence) = sequence {
                if hook.row.completes_remote {
                    recorder.completed(window, None, Completion::Remote);
                }
                let (root, bytes) = (words.root(), words.bytes());
                recorder.layer_collective(window, &End { operation, root, bytes, sequence });
            }
        }
    }
    recorder.leave();
}
