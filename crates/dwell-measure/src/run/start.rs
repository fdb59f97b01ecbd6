//! The beginning of a recording.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use dwell_model::archive;
use dwell_unify::deadline::{Deadline, Step};
use dwell_unify::experiment;
use dwell_unify::facts::Fact;
use dwell_unify::lease;
use dwell_unify::unify::Upcalls;

use super::{COMPARISON, Part, Recording, Runtime, STARTED, outer, set_part, speaks};
use crate::call::{self, Past};
use crate::clock::{self, Sample};
use crate::clock_rendezvous;
use crate::control;
use crate::counters::{Counting, Wanted};
use crate::file_limit::without_signal;
use crate::guard::{self, Entry, guarded};
use crate::handshake::{self, Agreement};
use crate::hook::{Hook, paradigm};
use crate::process::{self, Plan, Process};
use crate::processor_time;
use crate::recorder_collectives;
use crate::report;
use crate::samples;
use crate::settings::Settings;
use crate::silence::{Silent, silently};
use crate::sync;
use crate::thread::start_region;

/// Begins the recording of this process, once its runtime has started. All processes of the run call it. `hook` is the
/// call that started the runtime, and `began` its times. `open` connects this process with the others within a deadline.
/// `about` describes the runtime, and lists those of the wanted performance variables that it has. If another runtime has
/// begun the recording already, the call is recorded like any other. A failure is reported on standard error, and the
/// program continues.
pub fn start<U: Upcalls>(
    hook: &'static Hook,
    began: Past,
    open: impl FnOnce(Deadline) -> io::Result<U>,
    about: impl FnOnce(&Wanted) -> Runtime,
) {
    let called = clock::sample();
    let began = Past { leave: Some(began.leave.unwrap_or(called)), ..began };
    if STARTED.swap(true, Ordering::Relaxed) {
        if let Some(process) = process::current().filter(|process| process.is_this()) {
            process.joins(hook);
            if !outer::leave(hook) {
                call::past(hook, began);
            }
        }
        return;
    }
    without_signal(|| start_first(hook, began, open, about));
    if process::current().is_some_and(Process::is_this) {
        start_region(hook.layer, called.skewed());
    }
}

/// Begins the recording of this process with the first of its runtimes.
fn start_first<U: Upcalls>(
    hook: &'static Hook,
    began: Past,
    open: impl FnOnce(Deadline) -> io::Result<U>,
    about: impl FnOnce(&Wanted) -> Runtime,
) {
    // Whatever goes wrong here, this process takes part in what follows, or others would wait for it.
    let read = guarded(Entry::Start, || {
        report::seen();
        Settings::from_environment()
    });
    let (settings, complaints) = read.unwrap_or_else(|| Settings::read(|_| None));
    let timeout = settings.peer_timeout;
    let mut up = match Silent::open(|| open(Deadline::from_now(Step::Start, timeout))) {
        Ok(up) => up,
        Err(error) => {
            // Others may have got through, and will wait for this process at the end.
            if error.kind() == io::ErrorKind::TimedOut {
                set_part(Part::Bystander { timeout });
            }
            return report::say(&format!("nothing is recorded: {error}"));
        }
    };
    set_part(Part::Bystander { timeout });
    if up.rank() == 0 {
        complaints.iter().for_each(|text| report::say(text));
    }
    guarded(Entry::StartTogether, || start_together(&mut up, hook, began, settings, about));
}

/// Starts the recording together with all other processes.
fn start_together(
    up: &mut impl Upcalls,
    hook: &'static Hook,
    mut began: Past,
    settings: Settings,
    about: impl FnOnce(&Wanted) -> Runtime,
) {
    let timeout = settings.peer_timeout;
    if let Some(skew) = settings.skew {
        clock::skew(skew.times(up.rank().cast_signed()));
        began = Past { enter: began.enter.skewed(), leave: began.leave.map(Sample::skewed) };
    }
    let agreement = match Agreement::reach(up, &settings) {
        Ok(agreement) => agreement,
        Err(error) => {
            if speaks(up.rank(), &error) {
                report::say(&format!("nothing is recorded: {error}"));
            }
            return;
        }
    };
    if up.size() == 1
        && let Some(text) = report::alone()
    {
        report::say(&text);
    }
    if up.rank() == 0 {
        report::told("DWELL_BEGUN", &agreement.directory);
    }
    let measured_at = clock::monotonic();
    let distance = sync::measure(up, &agreement.clock(), COMPARISON);
    let cost = clock::monotonic().saturating_sub(measured_at);
    // Whatever goes wrong with its own recording, this process takes part in what follows.
    let begun = guarded(Entry::Begin, || {
        if guard::reason().is_some() {
            return Err(guard::error());
        }
        guard::check_memory()?;
        let (process, open_files) = begin(hook, &agreement, &settings, &*up, about)?;
        process.sample(began.enter);
        if let Ok(distance) = &distance {
            process.sample_distance(distance);
        }
        process.begin(hook);
        if settings.paused {
            control::pause();
        }
        outer::enter(hook);
        call::past(hook, began);
        guard::check_memory().map(|()| open_files)
    });
    let (open_files, failure) = match begun.unwrap_or_else(|| Err(guard::error())) {
        Ok(open_files) => (open_files, None),
        Err(error) => (PathBuf::new(), Some(error.to_string())),
    };
    let prospect = clock_rendezvous::Prospect {
        apart: distance.is_ok_and(|distance| distance.half.is_some()),
        able: failure.is_none(),
        period: settings.clock_period,
        cost,
        timeout,
    };
    let without_directory = nodes_without_directory(up, &agreement);
    // If that fails, this process takes part in no comparison.
    let _ = clock_rendezvous::begin(up, hook.layer, agreement.clock(), prospect);
    let chunk = settings.chunk(up.size());
    let recording =
        Recording { agreement, settings, chunk, open_files, failure, without_directory };
    set_part(Part::Recorder(Box::new(recording)));
}

/// Collects the names of the nodes on which the experiment directory is another one than at rank 0, which reports them.
/// A process other than rank 0 learns of those in its subtree.
fn nodes_without_directory(up: &mut impl Upcalls, agreement: &Agreement) -> BTreeSet<String> {
    let own = (!agreement.sees_directory()).then(lease::host);
    // If a message does not arrive, the end of the run will report it.
    let names = recorder_collectives::collect(up, own).unwrap_or_default();
    if up.rank() == 0 && !names.is_empty() {
        let directory = report::shown(&agreement.directory);
        report::say(&format!(
            "{directory} is not the same directory on all nodes: {} cannot write to the one of {}. Their files stay with \
             them. Name a directory that all nodes share with --output",
            lease::list(&names.iter().map(String::as_str).collect::<Vec<_>>()),
            agreement.host
        ));
    }
    names
}

fn begin(
    hook: &Hook,
    agreement: &Agreement,
    settings: &Settings,
    up: &impl Upcalls,
    about: impl FnOnce(&Wanted) -> Runtime,
) -> io::Result<(&'static Process, PathBuf)> {
    let directory = Path::new(&agreement.directory);
    let sees_directory = agreement.sees_directory();
    if sees_directory && up.rank() > 0 {
        // Without a lease, recovery asks its user whether the run has ended.
        let _ = crate::lease::hold(directory, Some(&agreement.host));
    }
    let elsewhere = match &settings.scratch {
        Some(scratch) => Some(scratch.join(directory.file_name().unwrap_or_default())),
        None if sees_directory => None,
        None => Some(directory.to_owned()),
    };
    let open_files = match elsewhere {
        Some(place) => {
            let place = handshake::beside(&place, agreement.run);
            fs::create_dir_all(&place).map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", place.display()))
            })?;
            place
        }
        None => experiment::open_files(directory),
    };
    let path = open_files.to_str().ok_or_else(|| io::Error::other("a path is not UTF-8"))?;
    let program = handshake::program();
    let (rank, size) = (up.rank(), up.size());
    let process = Process::prepare(&Plan {
        run: agreement.run,
        rank: rank as u32,
        size: size as u32,
        open_files: path,
        program: &program,
        chunk: settings.chunk(size) as usize,
        filling: settings.filling,
        budget: settings.budget(size),
        memory: settings.memory,
        clock: settings.clock,
        trace: settings.trace,
        profile: settings.profile,
        unwind: settings.unwind,
        samples: settings.samples.is_some() && settings.trace,
        wrappers: &settings.wrappers,
        selection: settings.selection.clone(),
        window: settings.window,
    })?;
    process.define(&Fact::Process {
        rank,
        size,
        pid: std::process::id().into(),
        host: &lease::host(),
        program: &program,
        layer: u8::from(paradigm(hook.layer)).into(),
    })?;
    processor_time::begin();
    let runtime = silently(|| about(&settings.counters));
    if settings.trace && !settings.counters.is_empty() {
        let (counting, mut complaints) = Counting::choose(&settings.counters, runtime.variables);
        complaints.extend(runtime.complaints);
        if rank == 0 {
            complaints.iter().for_each(|text| report::say(text));
        }
        if !counting.is_empty() {
            process.sample_counters(counting)?;
        }
    }
    let rate = settings.samples.filter(|_| settings.trace);
    let interval = match rate.map(samples::prepare) {
        Some(Ok(interval)) => interval.to_string(),
        Some(Err(complaint)) => {
            if rank == 0 {
                report::say(complaint);
            }
            String::new()
        }
        None => String::new(),
    };
    let shift = agreement.shift().to_string();
    let ahead = agreement.ahead.to_string();
    let mut properties = vec![
        ("RUNTIME", runtime.name),
        ("INTERFACE", runtime.interface),
        ("THREAD_LEVEL", runtime.threads),
        ("CLOCK", process.clock.describe().into()),
        ("PROGRAM", program.clone()),
        ("CLOCK_SHIFT", shift),
        ("CLOCK_AHEAD", ahead),
        ("CORES", report::cores()),
        (archive::SAMPLES, interval),
    ];
    properties.extend(report::environment());
    for (name, value) in &properties {
        if !value.is_empty() {
            process.define(&Fact::Property { name, value })?;
        }
    }
    for (name, value) in &settings.effective {
        process.define(&Fact::Property { name, value })?;
    }
    Ok((process, open_files))
}
