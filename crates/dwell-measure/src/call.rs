//! Calls of OpenSHMEM, in terms of the [recorder](crate::recorder).
//!
//! A hook calls [`transfer`] or [`begin`] before the real function, and [`end_transfer`] or [`end`] after it. Programs
//! make millions of transfers a second, so these have functions of their own; everything else goes by the [`CallArgs`] of
//! the call. Which records are written is decided here by the generic operation, never by the name of a function: see
//! [`dwell_model::archive`] for what they mean.
#![allow(clippy::needless_pass_by_value)] // A call is used up by its end.

use dwell_model::archive::SMALL;
use dwell_model::operation::{Collective, Mode, Operation};
use dwell_model::table::{Row, Success, Watch};
use otf2::encode::Plain;
use otf2::enums::{CollectiveOp, CollectiveRoot, LockType, RmaSyncLevel};
use otf2::event::RmaOpCompleteBlocking;
use otf2::id::{LockId, Rank, RmaWinRef};

use crate::clock::Sample;
use crate::entry;
use crate::guard::{Entry, guarded, guarded_option};
use crate::hook::{
    self, Address, Bytes, CallArgs, Context, Hook, Made, Role, Transfer, Who, paradigm,
};
use crate::process::Process;
use crate::recorder::{Access, Lock, LockRecord, Place, Recorder, WindowCollective};
use crate::thread::{
    AtTarget, Busy, Call, Found, Frame, Thread, begin_aggregated, enter_at, go_on,
};
use crate::windows::{Strided, Window};
use crate::word::{Seen, Word};

/// Begins a call that makes a transfer. Returns `None` if the call is not recorded; otherwise the hook must pass the
/// result to [`end_transfer`].
#[inline(always)]
pub fn transfer(hook: &'static Hook, it: Transfer) -> Option<Call> {
    let Transfer { target, bytes, address, context } = it;
    let begin = move || begin_transfer(hook, target, bytes, address, context);
    guarded_option(Entry::Before, begin)
}

/// Begins a [`Transfer`], whose parts are passed one by one: a call passes these in registers, but a larger value in
/// memory.
#[inline(never)]
fn begin_transfer(
    hook: &'static Hook,
    target: Rank,
    bytes: Bytes,
    address: Address,
    context: Context,
) -> Option<Call> {
    // A put that may be a signal is recorded.
    if hook.is_aggregated()
        && (hook.meaning.operation == Operation::Get || bytes.0 > SMALL)
        && let Some(call) = begin_aggregated(hook, target, bytes, address, context)
    {
        return Some(call);
    }
    let mut recorder = Recorder::enter(hook)?;
    let window = recorder.thread.window(context);
    record_transfer(&mut recorder, hook, window, Transfer { target, bytes, address, context });
    Some(recorder.entered())
}

/// Begins a call that reads a word of another process, as [`transfer`] does. Programs make such calls until the word has
/// changed. The hook must pass the result to [`end_read`].
#[inline(always)]
pub fn read(hook: &'static Hook, it: Transfer) -> Option<Call> {
    let Transfer { target, bytes, address, context } = it;
    let begin = move || match go_on(hook, || word(hook, &it)) {
        Some(call) => Some(call),
        None => begin_transfer(hook, target, bytes, address, context),
    };
    guarded_option(Entry::Before, begin)
}

/// Returns the word that a call reads.
#[inline(always)]
fn word(hook: &Hook, &Transfer { target, bytes, address, .. }: &Transfer) -> Word {
    let operands = match hook.row.operation {
        Operation::Atomic(which) => u32::from(which.operands()).max(1),
        _ => 1,
    };
    let bytes = operands * bytes.0 as u32;
    Word { target: target.0, bytes, address: address.0 as u64, buffer: 0 }
}

/// Ends a call that [`read`] began, with the same hook and arguments, and that has found this.
#[inline(always)]
pub fn end_read(call: Call, hook: &'static Hook, it: Transfer, seen: Seen) {
    guarded(Entry::After, move || complete_read(call, hook, word(hook, &it), seen));
}

#[inline(never)]
fn complete_read(call: Call, hook: &'static Hook, word: Word, seen: Seen) {
    let Some(thread) = call.retaken() else { return };
    let thread = match entry::is_on() {
        true => thread.end_read(call.depth(), (word, seen), |thread, time, found| {
            finish_read(thread, time, (hook, word), found);
        }),
        false => Some(thread),
    };
    if let Some(thread) = thread {
        complete(call, thread);
    }
}

/// Writes the records of a call that reads a word: the first of several completes its operation, and the last says what
/// it was waiting for.
#[cold]
#[inline(never)]
fn finish_read(thread: &mut Thread, time: u64, (hook, word): (&Hook, Word), found: Found) {
    let Frame { blocking, window: win, id: matching_id, .. } = *thread.frame();
    match found {
        Found::Unknown if blocking => {
            thread.write(time, RmaOpCompleteBlocking { win, matching_id });
        }
        Found::Unknown => {}
        Found::Change => {
            let offset = thread.process.symmetric.offset(word.address as usize);
            thread.write_change(time, (hook.meaning.layer, win), (word.target, offset));
        }
    }
}

#[inline(always)]
fn record_transfer(recorder: &mut Recorder, hook: &Hook, window: RmaWinRef, it: Transfer) {
    let Transfer { target, bytes: Bytes(bytes), address, .. } = it;
    let thread = &mut recorder.thread;
    let symmetric = &thread.process.symmetric;
    let on_heap = symmetric.heap_offset(address.0);
    let offset = || on_heap.unwrap_or_else(|| symmetric.offset(address.0));
    let window = if on_heap.is_some() { window } else { thread.window_at(window, address) };
    let mode = hook.meaning.mode;
    let outstanding_unless = |complete: bool| match complete {
        true => AtTarget::Complete,
        false => AtTarget::Outstanding,
    };
    let operation = hook.meaning.operation;
    match operation {
        Operation::Get => {
            let at_target = outstanding_unless(mode == Mode::Blocking);
            let id = thread.operation(window, mode, at_target);
            recorder.write_get(&Access { window, target, bytes, fetched: 0, id });
        }
        Operation::Atomic(which) => {
            let at_target = outstanding_unless(mode == Mode::Blocking && which.fetches());
            let id = thread.operation(window, mode, at_target);
            let place = Place::memory(offset());
            let fetched = if which.fetches() { bytes } else { 0 };
            let bytes = u64::from(which.operands()) * bytes;
            let it = Access { window, target, bytes, fetched, id };
            recorder.write_atomic_at(which, &it, place);
        }
        _ => {
            let id = thread.operation(window, mode, AtTarget::Outstanding);
            let it = Access { window, target, bytes, fetched: 0, id };
            if bytes <= SMALL {
                let place = Place::memory(offset());
                recorder.write_put_at(&it, place);
            } else {
                recorder.write_put(&it);
            }
        }
    }
}

/// Ends a call that [`transfer`] began, after the real function has returned: records that the transfer is complete, if
/// it blocks, and leaves the region. Does nothing if the recording has ended meanwhile.
#[inline(always)]
pub fn end_transfer(call: Call) {
    guarded(Entry::After, move || complete_transfer(call));
}

#[inline(never)]
fn complete_transfer(call: Call) {
    if let Some(thread) = call.retaken() {
        complete(call, thread);
    }
}

/// Completes the transfer of a call whose thread is busy, and ends the call.
#[inline(always)]
fn complete(call: Call, mut thread: Busy) {
    if let Some(depth) = call.plain_depth(&thread) {
        let Frame { blocking, window: win, id: matching_id, .. } = *thread.frame_at(depth);
        let time = thread.now();
        let event = Plain(RmaOpCompleteBlocking { win, matching_id });
        if blocking && thread.leave_frame(depth, time, event) {
            return thread.release();
        }
    }
    let Some(thread) = thread.end_aggregated().and_then(|thread| call.resumed(thread)) else {
        return;
    };
    let mut recorder = Recorder::now(thread);
    let Frame { blocking, window: win, id: matching_id, .. } = *recorder.thread.frame();
    if blocking {
        recorder.write_and_leave(RmaOpCompleteBlocking { win, matching_id });
    } else {
        recorder.leave();
    }
}

/// Records that the operation which the call began is complete, if the call blocks.
#[inline(always)]
fn complete_own(recorder: &mut Recorder) {
    let Frame { blocking, window, id, .. } = *recorder.thread.frame();
    if blocking {
        recorder.write_completed_in_call(window, id);
    }
}

/// Begins a call that is not a plain transfer. Returns `None` if the call is not recorded; otherwise the hook must pass
/// the result to [`end`] after the real function has returned.
#[inline(never)]
pub fn begin(hook: &'static Hook, args: &CallArgs) -> Option<Call> {
    guarded_option(Entry::Before, || {
        let mut recorder = match hook.meaning.operation {
            Operation::TestChange => Recorder::enter_again(hook, Word::own(args.address.0))?,
            _ => Recorder::enter(hook)?,
        };
        record_begin(&mut recorder, hook, args);
        Some(recorder.entered())
    })
}

/// Window of all processes and the default context.
const WORLD: RmaWinRef = RmaWinRef(0);

/// Writes the records that are known before a call.
#[inline(always)]
fn record_begin(recorder: &mut Recorder, hook: &Hook, args: &CallArgs) {
    let process = recorder.thread.process;
    match hook.meaning.operation {
        Operation::Put if args.signal != Address::NULL => put_with_signal(recorder, hook, args),
        Operation::Put | Operation::Get | Operation::Atomic(_) => {
            let window = recorder.thread.window(args.context);
            record_transfer(recorder, hook, window, args.transfer());
        }
        Operation::Signal => {
            let window = recorder.thread.window(args.context);
            let offset = process.symmetric.offset(args.address.0);
            recorder.write_notification(window, args.target, offset);
        }
        Operation::WaitChange => {
            // At the beginning, as in Score-P: if the process is killed while it waits, the archive shows what it waited for.
            let offset = || process.symmetric.offset(args.address.0);
            recorder.write_wait(WORLD, waits_for_one(hook.row).then(offset));
        }
        Operation::Lock => recorder.write_lock(&lock(process, args), LockRecord::Request),
        Operation::Unlock => recorder.write_lock(&lock(process, args), LockRecord::Release),
        _ if is_collective(hook, args) => {
            recorder.thread.frame().window = group_window(process, hook, args.who, process.world());
            recorder.write_collective_begin();
        }
        Operation::CompleteRemote | Operation::DestroyContext => {
            recorder.thread.frame().window = recorder.thread.window(args.context);
        }
        _ => {}
    }
}

/// Ends a call that [`begin`] began, with the same hook and arguments. `result` is the value that the real function
/// returned; the row of the function says which values mean success.
#[inline(never)]
pub fn end(call: Call, hook: &'static Hook, args: &CallArgs, result: u64) {
    guarded(Entry::After, || {
        let Some(mut recorder) = Recorder::returned(call) else { return };
        record_end(&mut recorder, hook, args, result);
        match hook.meaning.operation {
            Operation::TestChange => recorder.leave_again(seen(hook, result)),
            _ => recorder.leave(),
        }
    });
}

/// Returns what a call has found that tests memory. One that compares nothing returns the value.
fn seen(hook: &Hook, result: u64) -> Seen {
    match hook.row.places.success {
        Success::Unsaid => Seen::Value(result),
        _ if succeeded(hook, result) => Seen::Something,
        _ => Seen::Nothing,
    }
}

/// Writes the records that are known after a call.
#[inline(always)]
fn record_end(recorder: &mut Recorder, hook: &Hook, args: &CallArgs, result: u64) {
    let process = recorder.thread.process;
    let frame = *recorder.thread.frame();
    let succeeded = succeeded(hook, result);
    complete_own(recorder);
    match hook.meaning.operation {
        Operation::Lock => recorder.write_lock(&lock(process, args), LockRecord::Acquire),
        Operation::TryLock => {
            let what = if succeeded { LockRecord::Acquire } else { LockRecord::Refused };
            recorder.write_lock(&lock(process, args), what);
        }
        Operation::TestChange
            if waits_for_one(hook.row) && recorder.thread.finds(seen(hook, result)) =>
        {
            recorder.write_wait(WORLD, Some(process.symmetric.offset(args.address.0)));
        }
        Operation::Allocate | Operation::Reallocate => {
            process.symmetric.allocated(result as usize, args.bytes.0);
        }
        _ => {}
    }
    if hook.meaning.completes_remote {
        // A barrier completes all outstanding operations of the default context, whatever its members.
        let window = if is_collective(hook, args) { WORLD } else { frame.window };
        let of_static_data = recorder.thread.known_static_window(window);
        for window in [Some(window), of_static_data].into_iter().flatten() {
            if let Some(last) = recorder.thread.complete(window) {
                recorder.write_completed_at_target(window, last);
            }
        }
    }
    if is_collective(hook, args) {
        end_collective(recorder, hook, args, frame.window);
        process.sample_clock_now_and_then(recorder.time);
    }
    if succeeded {
        learn(process, hook, args);
    }
}

/// A call that was entered before the recording began: the one that started the runtime. Samples of both clocks stand
/// for its times, since the clock of the recorder did not run yet.
#[derive(Clone, Copy, Debug)]
pub struct Past {
    /// Sample at which the call was entered.
    pub enter: Sample,
    /// Sample at which the call was left; `None` for now.
    pub leave: Option<Sample>,
}

/// Records a call that was entered before the recording began, at the times of its samples. If `past.leave` is `None`,
/// the call is left now. Does nothing if the recording is off.
pub fn past(hook: &'static Hook, past: Past) {
    guarded(Entry::Before, || {
        let entered =
            enter_at(hook, |thread| thread.process.clock.of(past.enter).max(thread.time()));
        let Some(mut thread) = entered else { return };
        let time = match past.leave {
            Some(leave) => thread.process.clock.of(leave).max(thread.time()),
            None => thread.now(),
        };
        thread.leave(time);
    });
}

/// Returns `true` if a call waits on a single address. Of several addresses the first need not be the one that ends the
/// wait, and the archive must not say so.
fn waits_for_one(row: &Row) -> bool {
    row.places.condition.is_none_or(|condition| condition.watch == Watch::One)
}

fn is_collective(hook: &Hook, args: &CallArgs) -> bool {
    let alone = matches!(
        hook.meaning.operation,
        Operation::DestroyGroup | Operation::CreateContext | Operation::DestroyContext
    );
    args.who != Who::Caller && !alone
}

/// Returns `true` if the returned value means success.
fn succeeded(hook: &Hook, result: u64) -> bool {
    match hook.row.places.success {
        Success::Unsaid => true,
        Success::Zero => result as u32 == 0,
        Success::NotZero => result as u32 != 0,
        Success::NotMax => result != u64::MAX,
    }
}

/// Returns the lock of a call, whose number is the same at every process.
fn lock(process: &Process, args: &CallArgs) -> Lock {
    let id = LockId(process.symmetric.offset(args.address.0));
    Lock { window: WORLD, target: Rank::UNDEFINED, id, kind: LockType::Exclusive }
}

fn put_with_signal(recorder: &mut Recorder, hook: &Hook, args: &CallArgs) {
    let thread = &mut recorder.thread;
    let window = thread.window(args.context);
    let window = thread.window_at(window, args.address);
    let id = thread.operation(window, hook.meaning.mode, AtTarget::Outstanding);
    let place = Place::signal(thread.process.symmetric.offset(args.signal.0));
    let (target, bytes) = (args.target, args.bytes.0);
    recorder.write_put_at(&Access { window, target, bytes, fetched: 0, id }, place);
}

/// Returns the window of the processes that take part in a collective operation.
fn group_window(process: &Process, hook: &Hook, who: Who, world: Strided) -> RmaWinRef {
    let group = match who {
        Who::Caller | Who::World => world,
        Who::ActiveSet { start, log_stride, size } => {
            Strided { start, stride: 1_u32.checked_shl(log_stride).unwrap_or(0), size }
        }
        Who::Handle(handle) => return process.windows.of_handle(handle),
    };
    process.window(Window { paradigm: paradigm(hook.layer).into(), group, context: 0 })
}

fn end_collective(recorder: &mut Recorder, hook: &Hook, args: &CallArgs, window: RmaWinRef) {
    let process = recorder.thread.process;
    let group = process.windows.get(window).map_or(process.world(), |window| window.group);
    let role = match group.rank(process.rank()) == Some(args.root.0) {
        true => Role::Root,
        false => Role::Member,
    };
    let memory = RmaSyncLevel::PROCESS | RmaSyncLevel::MEMORY;
    let (op, sent, received, level) = match hook.meaning.operation {
        Operation::Collective(which) => {
            let level = if which == Collective::Sync { RmaSyncLevel::PROCESS } else { memory };
            let (op, sent, received) =
                hook::collective(which, args.bytes.0, group.size.into(), role);
            (op, sent, received, level)
        }
        Operation::Allocate | Operation::Reallocate => {
            (CollectiveOp::Allocate, 0, 0, RmaSyncLevel::PROCESS)
        }
        Operation::Deallocate => (CollectiveOp::Deallocate, 0, 0, RmaSyncLevel::PROCESS),
        Operation::CreateGroup => (CollectiveOp::CreateHandle, 0, 0, RmaSyncLevel::PROCESS),
        _ => (CollectiveOp::Barrier, 0, 0, memory),
    };
    let root = match args.root {
        Rank::UNDEFINED => CollectiveRoot::None,
        Rank(rank) => CollectiveRoot::Rank(rank),
    };
    let sequence = process.windows.count(window);
    let it = WindowCollective { window, op, level, root, sent, received, sequence };
    recorder.write_collective_end(&it);
}

/// Registers contexts and groups that a call created, and forgets those that it destroyed.
fn learn(process: &Process, hook: &Hook, args: &CallArgs) {
    match hook.meaning.operation {
        Operation::DestroyContext => process.windows.forget(args.context.0),
        Operation::DestroyGroup => {
            if let Who::Handle(handle) = args.who {
                process.windows.forget(handle);
            }
        }
        _ => {}
    }
    let paradigm = paradigm(hook.layer).into();
    let parent = match args.who {
        Who::Handle(handle) => {
            let window = process.windows.get(process.windows.of_handle(handle));
            window.map_or(process.world(), |window| window.group)
        }
        _ => process.world(),
    };
    for made in args.made {
        let (handle, group, context) = match made {
            Made::Nothing => continue,
            Made::Context { handle } => {
                (handle, parent, process.windows.free_context(paradigm, parent))
            }
            Made::Strided { handle, start, stride, size } => {
                (handle, parent.part(start, stride, size), 0)
            }
            Made::GridRow { handle, width } => (handle, grid_row(process, parent, width), 0),
            Made::GridColumn { handle, width } => (handle, grid_column(process, parent, width), 0),
        };
        // 0 is not a handle.
        if let Some(handle @ 1..) = handle.read(0) {
            let window = process.window(Window { paradigm, group, context });
            process.windows.remember(handle, window);
        }
    }
}

fn grid_row(process: &Process, parent: Strided, width: u32) -> Strided {
    let (rank, width) = (parent.rank(process.rank()).unwrap_or(0), width.max(1));
    let start = rank - rank % width;
    parent.part(start, 1, width.min(parent.size.saturating_sub(start)))
}

fn grid_column(process: &Process, parent: Strided, width: u32) -> Strided {
    let (rank, width) = (parent.rank(process.rank()).unwrap_or(0), width.max(1));
    let start = rank % width;
    parent.part(start, width, parent.size.saturating_sub(start).div_ceil(width))
}

#[cfg(test)]
mod tests {
    use dwell_model::shmem;

    use super::*;

    #[test]
    fn a_wait_for_several_has_no_address() {
        let (mut one, mut several) = (0, 0);
        let rows = shmem::TABLE.rows.iter();
        for row in rows.filter(|row| row.operation == Operation::WaitChange) {
            let name = row.name().to_string();
            let many = ["_all", "_any", "_some"].iter().any(|part| name.contains(part));
            assert_eq!(waits_for_one(row), !many, "{name}");
            *(if many { &mut several } else { &mut one }) += 1;
        }
        assert!(one > 0 && several > 0);
    }
}
