//! Recording of a call: the events that are written for it.
//!
//! A hook calls [`transfer`] or [`begin`] before the real function, and [`end_transfer`] or [`end`] after it. Programs
//! make millions of transfers a second, so these have functions of their own; everything else goes by the [`CallArgs`] of
//! the call. Which records are written is decided here by the generic operation, never by the name of a function: see
//! [`dwell_model::archive`] for what they mean.
#![allow(clippy::needless_pass_by_value)] // A call is used up by its end.

use dwell_model::archive::SMALL;
use dwell_model::operation::{Collective, Mode, Operation};
use dwell_model::table::{Row, Success, Watch};
use dwell_unify::definitions::attribute;
use otf2::enums::{CollectiveOp, CollectiveRoot, LockType, RmaSyncLevel, RmaSyncType};
use otf2::event::{
    RmaAcquireLock, RmaAtomic, RmaCollectiveBegin, RmaCollectiveEnd, RmaGet, RmaOpCompleteBlocking,
    RmaOpCompleteRemote, RmaPut, RmaReleaseLock, RmaRequestLock, RmaSync, RmaTryLock,
    RmaWaitChange,
};
use otf2::id::{LockId, MatchingId, Rank, RmaWinRef};

use crate::clock::Sample;
use crate::guard::{Entry, guarded, guarded_option};
use crate::hook::{self, CallArgs, Hook, Made, Who, paradigm};
use crate::process::Process;
use crate::thread::{Call, Thread, enter, enter_at};
use crate::windows::{Strided, Window};

/// Begins a call that moves `bytes` bytes between this process and the rank `target`. `address` is the address at the
/// target. Returns `None` if the call is not recorded; otherwise the hook must pass the result to [`end_transfer`].
#[inline(always)]
pub fn transfer(
    hook: &'static Hook,
    target: u32,
    bytes: u64,
    address: usize,
    context: usize,
) -> Option<Call> {
    let begin = move || begin_transfer(hook, target, bytes, address, context);
    guarded_option(Entry::Before, begin)
}

#[inline(never)]
fn begin_transfer(
    hook: &'static Hook,
    target: u32,
    bytes: u64,
    address: usize,
    context: usize,
) -> Option<Call> {
    let mut thread = enter(hook)?;
    let window = thread.window(context);
    record_transfer(&mut thread, hook, window, target, bytes, address);
    Some(thread.entered())
}

#[inline(always)]
fn record_transfer(
    thread: &mut Thread,
    hook: &Hook,
    window: u32,
    target: u32,
    bytes: u64,
    address: usize,
) {
    let time = thread.time();
    let is_static = thread.process.symmetric.is_static(address);
    let window = if is_static { thread.static_window(window) } else { window };
    let (win, remote) = (RmaWinRef(window), Rank(target));
    let blocking = hook.meaning.mode == Mode::Blocking;
    match hook.meaning.operation {
        Operation::Get => {
            let matching_id = MatchingId(thread.operation(window, blocking, !blocking));
            thread.write(time, RmaGet { win, remote, bytes, matching_id });
        }
        Operation::Atomic(which) => {
            let outstanding = !(blocking && which.fetches());
            let matching_id = MatchingId(thread.operation(window, blocking, outstanding));
            let offset = thread.process.symmetric.offset(address);
            let event = RmaAtomic {
                win,
                remote,
                kind: hook::atomic_type(which),
                bytes_sent: u64::from(which.operands()) * bytes,
                bytes_received: if which.fetches() { bytes } else { 0 },
                matching_id,
            };
            thread.write_with(time, attribute::SYMMETRIC_OFFSET, offset, event);
        }
        _ => {
            let matching_id = MatchingId(thread.operation(window, blocking, true));
            let event = RmaPut { win, remote, bytes, matching_id };
            if bytes <= SMALL {
                let offset = thread.process.symmetric.offset(address);
                thread.write_with(time, attribute::SYMMETRIC_OFFSET, offset, event);
            } else {
                thread.write(time, event);
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
    let Some(mut thread) = call.returned() else { return };
    let time = thread.now();
    let frame = *thread.frame();
    if frame.blocking {
        let (win, matching_id) = (RmaWinRef(frame.window), MatchingId(frame.id));
        thread.write(time, RmaOpCompleteBlocking { win, matching_id });
    }
    thread.leave(time);
}

/// Begins a call that is not a plain transfer. Returns `None` if the call is not recorded; otherwise the hook must pass
/// the result to [`end`] after the real function has returned.
#[inline(never)]
pub fn begin(hook: &'static Hook, args: &CallArgs) -> Option<Call> {
    guarded_option(Entry::Before, || {
        let mut thread = enter(hook)?;
        record_begin(&mut thread, hook, args);
        Some(thread.entered())
    })
}

/// Writes the records that are known before a call.
#[inline(always)]
fn record_begin(thread: &mut Thread, hook: &Hook, args: &CallArgs) {
    let time = thread.time();
    let world = thread.process.world();
    match hook.meaning.operation {
        Operation::Put if args.signal != 0 => put_with_signal(thread, hook, args),
        Operation::Put | Operation::Get | Operation::Atomic(_) => {
            let window = thread.window(args.context);
            record_transfer(thread, hook, window, args.target, args.bytes, args.address);
        }
        Operation::Signal => {
            let offset = thread.process.symmetric.offset(args.address);
            let win = RmaWinRef(thread.window(args.context));
            let (remote, sync_type) = (Rank(args.target), RmaSyncType::NotifyOut);
            let event = RmaSync { win, remote, sync_type };
            thread.write_with(time, attribute::SYMMETRIC_OFFSET, offset, event);
        }
        Operation::WaitChange => {
            // At the beginning, as Score-P does it: a process that is killed in the wait has said for what it waits.
            let event = RmaWaitChange { win: RmaWinRef(0) };
            if waits_for_one(hook.row) {
                let offset = thread.process.symmetric.offset(args.address);
                thread.write_with(time, attribute::SYMMETRIC_OFFSET, offset, event);
            } else {
                thread.write(time, event);
            }
        }
        Operation::Lock => {
            let lock = lock(thread, args);
            let (win, remote, lock_type) = (RmaWinRef(0), Rank::UNDEFINED, LockType::Exclusive);
            thread.write(time, RmaRequestLock { win, remote, lock_id: lock, lock_type });
        }
        Operation::Unlock => {
            let lock = lock(thread, args);
            let (win, remote) = (RmaWinRef(0), Rank::UNDEFINED);
            thread.write(time, RmaReleaseLock { win, remote, lock_id: lock });
        }
        _ if is_collective(hook, args) => {
            thread.frame().window = group_window(thread.process, hook, args.who, world);
            thread.write(time, RmaCollectiveBegin {});
        }
        Operation::CompleteRemote | Operation::DestroyContext => {
            thread.frame().window = thread.window(args.context);
        }
        _ => {}
    }
}

/// Ends a call that [`begin`] began, with the same hook and args. `result` is the value that the real function
/// returned; the row of the function says which values mean success.
#[inline(never)]
pub fn end(call: Call, hook: &'static Hook, args: &CallArgs, result: u64) {
    guarded(Entry::After, || {
        let Some(mut thread) = call.returned() else { return };
        let time = thread.now();
        record_end(&mut thread, time, hook, args, result);
        thread.leave(time);
    });
}

/// Writes the records that are known after a call.
#[inline(always)]
fn record_end(thread: &mut Thread, time: u64, hook: &Hook, args: &CallArgs, result: u64) {
    let process = thread.process;
    let frame = *thread.frame();
    let succeeded = succeeded(hook, result);
    if frame.blocking {
        let (win, matching_id) = (RmaWinRef(frame.window), MatchingId(frame.id));
        thread.write(time, RmaOpCompleteBlocking { win, matching_id });
    }
    let (win, remote, lock_type) = (RmaWinRef(0), Rank::UNDEFINED, LockType::Exclusive);
    match hook.meaning.operation {
        Operation::Lock => {
            let lock_id = lock(thread, args);
            thread.write(time, RmaAcquireLock { win, remote, lock_id, lock_type });
        }
        Operation::TryLock => {
            let lock_id = lock(thread, args);
            if succeeded {
                thread.write(time, RmaAcquireLock { win, remote, lock_id, lock_type });
            } else {
                thread.write(time, RmaTryLock { win, remote, lock_id, lock_type });
            }
        }
        // One that compares nothing never says that it found a change.
        Operation::TestChange
            if succeeded
                && hook.row.places.success != Success::Unsaid
                && waits_for_one(hook.row) =>
        {
            let offset = process.symmetric.offset(args.address);
            thread.write_with(time, attribute::SYMMETRIC_OFFSET, offset, RmaWaitChange { win });
        }
        Operation::Allocate | Operation::Reallocate => {
            process.symmetric.allocated(result as usize, args.bytes);
        }
        _ => {}
    }
    if hook.meaning.completes_remote {
        // A barrier completes what the default context has outstanding, whoever takes part.
        let window = if is_collective(hook, args) { 0 } else { frame.window };
        for window in [Some(window), thread.known_static_window(window)].into_iter().flatten() {
            if let Some(last) = thread.complete(window) {
                let (win, matching_id) = (RmaWinRef(window), MatchingId(last));
                thread.write(time, RmaOpCompleteRemote { win, matching_id });
            }
        }
    }
    if is_collective(hook, args) {
        end_collective(thread, hook, args, frame.window, time);
        process.sample_clock_now_and_then(time);
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
        let entered = enter_at(hook, |thread| thread.process.clock.of(past.enter));
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

/// Returns the id of a lock, which is the same number at every process.
fn lock(thread: &Thread, args: &CallArgs) -> LockId {
    LockId(thread.process.symmetric.offset(args.address))
}

fn put_with_signal(thread: &mut Thread, hook: &Hook, args: &CallArgs) {
    let window = thread.window(args.context);
    let is_static = thread.process.symmetric.is_static(args.address);
    let window = if is_static { thread.static_window(window) } else { window };
    let blocking = hook.meaning.mode == Mode::Blocking;
    let matching_id = MatchingId(thread.operation(window, blocking, true));
    let (win, remote, bytes) = (RmaWinRef(window), Rank(args.target), args.bytes);
    let offset = thread.process.symmetric.offset(args.signal);
    let time = thread.time();
    let event = RmaPut { win, remote, bytes, matching_id };
    thread.write_with(time, attribute::SIGNAL_OFFSET, offset, event);
}

/// Returns the window of the processes that take part in a collective operation.
fn group_window(process: &Process, hook: &Hook, who: Who, world: Strided) -> u32 {
    let group = match who {
        Who::Caller | Who::World => world,
        Who::ActiveSet { start, log_stride, size } => {
            Strided { start, stride: 1_u32.checked_shl(log_stride).unwrap_or(0), size }
        }
        Who::Handle(handle) => return process.windows.of_handle(handle),
    };
    process.window(Window { paradigm: paradigm(hook.layer).into(), group, context: 0 })
}

fn end_collective(thread: &mut Thread, hook: &Hook, args: &CallArgs, window: u32, time: u64) {
    let process = thread.process;
    let group = process.windows.get(window).map_or(process.world(), |window| window.group);
    let is_root = group.rank(process.rank()) == Some(args.root);
    let memory = RmaSyncLevel::PROCESS | RmaSyncLevel::MEMORY;
    let (collective_op, bytes_sent, bytes_received, sync_level) = match hook.meaning.operation {
        Operation::Collective(which) => {
            let level = if which == Collective::Sync { RmaSyncLevel::PROCESS } else { memory };
            let (op, sent, received) =
                hook::collective(which, args.bytes, group.size.into(), is_root);
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
        u32::MAX => CollectiveRoot::None,
        rank => CollectiveRoot::Rank(rank),
    };
    let sequence = process.windows.count(window);
    let win = RmaWinRef(window);
    let event =
        RmaCollectiveEnd { collective_op, sync_level, win, root, bytes_sent, bytes_received };
    thread.write_with(time, attribute::SEQUENCE, sequence, event);
}

/// Registers contexts and groups that a call created, and forgets those that it destroyed.
fn learn(process: &Process, hook: &Hook, args: &CallArgs) {
    match hook.meaning.operation {
        Operation::DestroyContext => process.windows.forget(args.context),
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
        // 0 is no handle.
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
