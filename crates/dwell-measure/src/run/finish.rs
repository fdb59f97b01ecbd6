//! The end of a recording, from the arrival at it to its conclusion.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use dwell_model::layer::Ranks;
use dwell_unify::deadline::{Deadline, Step};
use dwell_unify::experiment;
use dwell_unify::facts::Fact;
use dwell_unify::unify::Upcalls;

use super::conclude::Conclusion;
use super::{COMPARISON, Ending, PART, Part, Recording, STARTED, speaks, take_part};
use crate::call;
use crate::clock_rendezvous;
use crate::file_limit::without_signal;
use crate::guard::{self, Entry, guarded};
use crate::hook::{CallArgs, Hook, Who};
use crate::lease;
use crate::mpi;
use crate::process::{self, Process};
use crate::processor_time;
use crate::recorder_collectives;
use crate::report;
use crate::silence::Silent;
use crate::sync;

/// Ends the recording while the runtime still runs, and makes the archive together with all other processes. `hook` is
/// the call that will end the runtime; it is recorded with the barrier of its arrival. `open` makes the communication
/// with the other processes within a deadline. Returns `true` if all processes went through to the end, so that no
/// message is left between them.
///
/// If a program uses several runtimes, the first one to end ends the recording: Open MPI's OpenSHMEM takes MPI with it.
pub fn finish<U: Upcalls>(
    hook: &'static Hook,
    ending: Ending,
    open: impl Fn(Deadline) -> io::Result<U>,
) -> bool {
    let Some(part) = take_part() else { return true };
    let open = |deadline| Silent::open(|| open(deadline));
    let timeout = match &part {
        Part::Bystander { timeout } => *timeout,
        Part::Recorder(recording) => recording.settings.peer_timeout,
    };
    let arrival = match ending {
        Ending::Collective => Deadline::endless(Step::End),
        Ending::Alone => Deadline::from_now(Step::End, timeout),
    };
    let arrived = AtomicBool::new(false);
    let open_once = || {
        let up = open(arrival);
        arrived.store(true, Ordering::Relaxed);
        up
    };
    let ended = guarded(Entry::Finish, || {
        without_signal(|| finish_together(part, hook, timeout, open_once))
    });
    ended.unwrap_or_else(|| {
        // The others wait for this process, if not for what it has recorded.
        if !arrived.load(Ordering::Relaxed) {
            let failed = Err(guard::error());
            let up = open(arrival);
            let _ = up.and_then(|mut up| recorder_collectives::agree(&mut up, failed));
        }
        false
    })
}

/// Ends the recording together with all other processes.
fn finish_together<U: Upcalls>(
    part: Part,
    hook: &'static Hook,
    timeout: u64,
    open: impl FnOnce() -> io::Result<U>,
) -> bool {
    clock_rendezvous::end();
    processor_time::end();
    let able = match &part {
        Part::Bystander { .. } => Err(io::Error::other("the recording did not begin here")),
        // To make an archive takes memory; to leave the files where they are takes none.
        Part::Recorder(_) => guard::check_memory(),
    };
    let arrive = || {
        let mut up = open()?;
        let arrived = recorder_collectives::agree(&mut up, able);
        if arrived.is_err() {
            up.leave();
        }
        Ok((up, arrived))
    };
    let arrived: io::Result<(U, io::Result<()>)> = if hook.layer.ranks() == Ranks::Communicators {
        mpi::finalise(hook, arrive)
    } else {
        let facts = CallArgs { who: Who::World, ..CallArgs::NONE };
        let call = call::begin(hook, &facts);
        let arrived = arrive();
        if let Some(call) = call {
            call::end(call, hook, &facts, 0);
        }
        arrived
    };
    let Part::Recorder(recording) = part else { return arrived.is_ok() };
    let process = process::current();
    let closed = process.map(Process::end).unwrap_or_default();
    let ended = arrived.and_then(|(mut up, arrived)| {
        arrived?;
        up.set_deadline(Deadline::from_now(Step::End, timeout));
        let distance = sync::measure(&mut up, &recording.agreement.clock(), COMPARISON);
        if let (Some(process), Ok(distance)) = (process, &distance) {
            guarded(Entry::Sample, || process.sample_distance(distance));
        }
        let conclusion = Conclusion { recording: &recording, closed };
        conclusion.reach(&mut up, process).inspect_err(|_| up.leave())
    });
    lease::release();
    let Err(error) = ended else { return true };
    if let Some(process) = process {
        let _ = process.define(&Fact::End { how: "incomplete" });
    }
    if speaks(process.map_or(0, Process::rank).into(), &error) {
        recording.report_incomplete(&error);
    }
    false
}

/// Tells the user where the trace is and what to do with it, before a call that ends the program at once, on all
/// processes. Of several that make such a call one speaks. What was recorded is in the files already.
pub fn ends_program(hook: &'static Hook) {
    guarded(Entry::Exit, || {
        let Ok(part) = PART.try_lock() else { return };
        let Some(Part::Recorder(recording)) = &*part else { return };
        if process::current().is_some_and(Process::is_this) && !is_told(recording) {
            let why = format!("the program was ended by {}", hook.row.name());
            without_signal(|| recording.report_incomplete(&io::Error::other(why)));
        }
    });
}

/// Set once this process has told the user that the trace is not complete.
static TOLD: AtomicBool = AtomicBool::new(false);

/// Returns `true` if this or another process has told the user already, and otherwise notes that it is told now.
fn is_told(recording: &Recording) -> bool {
    let told = experiment::told_file(Path::new(&recording.agreement.directory));
    // Others can write to the directory: a link there is not followed.
    let created = || fs::File::options().write(true).create_new(true).open(told);
    let exists = |error: &io::Error| error.kind() == io::ErrorKind::AlreadyExists;
    TOLD.swap(true, Ordering::Relaxed) || created().err().as_ref().is_some_and(exists)
}

/// Ends the recording of a process that exits without having ended its runtime. Its files are kept for `dwell recover`,
/// and rank 0 tells the user how to complete the archive.
pub fn exit() {
    let (Some(process), Some(Part::Recorder(recording))) = (process::current(), take_part()) else {
        let began = STARTED.load(Ordering::Relaxed) && guard::reason().is_none();
        if !began && process::current().is_none() {
            report::not_measured();
        }
        return;
    };
    if !process.is_this() {
        return; // The files are its parent's.
    }
    without_signal(|| {
        process.end();
        let _ = process.define(&Fact::End { how: "exit" });
        lease::release();
        if process.rank() == 0 && !is_told(&recording) {
            let why = io::Error::other("the program ended without ending its runtime");
            recording.report_incomplete(&why);
        }
    });
}
