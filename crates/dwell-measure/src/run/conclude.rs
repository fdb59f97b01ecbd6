//! The archive of a run that ended well, made by all processes together.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use dwell_model::archive;
use dwell_unify::assemble;
use dwell_unify::collate::{self, Collated};
use dwell_unify::experiment;
use dwell_unify::lease;
use dwell_unify::process_facts::ProcessFacts;
use dwell_unify::stage;
use dwell_unify::statistics::{self, Statistic};
use dwell_unify::unify::{self, Property, Upcalls};
use otf2::id::{LocationRef, RegionRef};

use super::Recording;
use crate::cost;
use crate::entry;
use crate::guard::{self, Entry, guarded};
use crate::process::Process;
use crate::processor_time;
use crate::recorder_collectives;
use crate::report::{self, LARGEST, NextStep, Overhead};
use crate::spent;
use crate::thread::Closed;

/// The steps that processes take together after the recording has ended.
pub(super) struct Conclusion<'e> {
    pub(super) recording: &'e Recording,
    pub(super) closed: Vec<io::Result<Closed>>,
}

impl Conclusion<'_> {
    /// Makes one archive of the files of all processes.
    ///
    /// # Errors
    /// Why the archive is not complete, the same at all processes that can be reached. Everything is left for
    /// recovery then.
    pub(super) fn reach(&self, up: &mut impl Upcalls, process: Option<&Process>) -> io::Result<()> {
        // Each process takes all steps that others wait for, whatever goes wrong with its own part of them.
        let (local, read) = match own(|| Ok(self.local(process))) {
            Ok(local) => (local, Ok(())),
            Err(error) => (ProcessFacts::default(), Err(error)),
        };
        let unified = unify::unify(up, local.shared.clone(), local.process.clone());
        let there = read.and(everyone_is_there(&unified)).and(guard::check_memory());
        recorder_collectives::agree(up, there)?;
        let unified = unified?;
        let collated = self.collate(up, &local, &unified);
        let placed = match &collated {
            // All that a process has is in a block, so it has no files of its own.
            Ok(_) if !self.recording.settings.trace => Ok(()),
            Ok(_) => own(|| self.place(&local, &unified)),
            // Rows that are in no block: `dwell` finds them where they are brought to, one file a thread.
            Err(_) => own(|| {
                self.place(&local, &unified)?;
                self.place_rows(&local, unified.first_location)
            }),
        };
        // The archive is complete when all files are in their places, so rank 0 writes its anchor after that; and
        // each process removes what it was made from after that.
        recorder_collectives::agree(up, placed)?;
        let asked = self.recording.settings.selection.overhead;
        let overhead = unified.global.as_ref().map(|global| Overhead::of(global, asked));
        let written = unified.global.as_ref().zip(overhead).map_or(Ok(()), |(global, overhead)| {
            let received: u64 = unified.traffic.iter().map(|round| round.received).sum();
            let how = format!("{} rounds, {received} bytes received by rank 0", unified.rounds);
            own(|| self.complete(global, &local, &how, overhead, collated.as_ref().ok()))
        });
        recorder_collectives::agree(up, written)?;
        guarded(Entry::Close, || self.clean_up(&local, collated.is_ok()));
        let cleaned = recorder_collectives::agree(up, Ok(()));
        if let Some((global, overhead)) = unified.global.as_ref().zip(overhead) {
            let directory = &self.recording.agreement.directory;
            lease::remove(Path::new(directory));
            let _ = fs::remove_file(experiment::run_file(Path::new(directory)));
            let _ = fs::remove_file(experiment::told_file(Path::new(directory)));
            let _ = fs::remove_dir(experiment::open_files(Path::new(directory)));
            // Empty, if there is only a profile.
            let _ = fs::remove_dir(Path::new(directory).join("traces"));
            let next = match self.recording.settings.trace {
                true => NextStep::Analyze,
                false => NextStep::Report,
            };
            report::end(directory, global, next, overhead);
            if let (true, Err(error)) = (self.recording.agreement.profile, &collated) {
                report::say(&format!(
                    "the profile is put together when it is first looked at, not here: {error}"
                ));
            }
        }
        // The archive is complete, even if other processes have ended meanwhile.
        drop(cleaned);
        Ok(())
    }

    /// Collates the rows of all processes, if they agreed on a profile.
    ///
    /// # Errors
    /// The reason for which rows of this process are in no block.
    fn collate(
        &self,
        up: &mut impl Upcalls,
        local: &ProcessFacts,
        unified: &unify::Unified,
    ) -> io::Result<Collated> {
        let Recording { agreement, open_files, settings, .. } = self.recording;
        if !agreement.profile {
            return Err(io::Error::other("no profile was asked for"));
        }
        let folder = Path::new(&agreement.directory).join(experiment::PROFILE);
        let mut missing = None;
        let mut has_memory = Some(unified);
        if settings.memory < collate::MEMORY {
            let text = format!("--memory leaves less than {} MiB", collate::MEMORY >> 20);
            missing = Some(io::Error::other(text));
            has_memory = None;
        }
        let parts = has_memory.into_iter().flat_map(|unified| {
            assemble::parts(local, unified.first_location, &unified.maps, open_files)
        });
        // Files that cannot be read are left to `dwell`, with all others of this process.
        let parts = parts.filter_map(|part| part.map_err(|error| missing = Some(error)).ok());
        let mut write = |first, block: &[u8]| collate::place(&folder, first, block);
        let mut collated = collate::collate(up, parts, collate::ENOUGH, &mut write);
        let written = std::mem::replace(&mut collated.written, Ok(()));
        missing.map_or(written, Err).map(|()| collated)
    }

    /// Moves the rows of this process to the profile folder of the experiment.
    fn place_rows(&self, local: &ProcessFacts, first: LocationRef) -> io::Result<()> {
        let Recording { agreement, open_files, .. } = self.recording;
        assemble::place_rows(local, first, Path::new(&agreement.directory), open_files)
    }

    /// Removes the facts of this process, once the archive has them, and its rows, if blocks have them.
    fn clean_up(&self, local: &ProcessFacts, collated: bool) {
        let Recording { open_files, settings, .. } = self.recording;
        if collated {
            for id in 0..local.process.threads.len() {
                let _ = fs::remove_file(experiment::rows(local, id as u64, open_files));
            }
        }
        if local.size > 0 {
            let _ = fs::remove_file(open_files.join(format!("{}.facts", local.process.rank)));
        }
        if settings.scratch.is_some() {
            // The last process of the node to come by succeeds.
            let _ = fs::remove_dir(open_files);
        }
    }

    /// Reads the definitions of this process from its stream. A process that never began has none.
    fn local(&self, process: Option<&Process>) -> ProcessFacts {
        let failure = self.recording.failure.clone();
        let mut local = match process {
            Some(process) => {
                let path = self.recording.open_files.join(format!("{}.facts", process.rank()));
                ProcessFacts::read(&path).unwrap_or_default()
            }
            None => ProcessFacts::default(),
        };
        local.shift(self.recording.agreement.shift());
        for closed in self.closed.iter().flatten() {
            if let Some(thread) = local.process.threads.get_mut(closed.id as usize) {
                (thread.events, thread.lost) = (closed.events, closed.bypassed);
            }
        }
        local.process.stand_in();
        let sum = |of: fn(&Closed) -> u64| self.closed.iter().flatten().map(of).sum();
        let (calls, left_out) = (sum(|closed| closed.calls), sum(|closed| closed.left_out));
        let left_out = left_out + entry::filtered_elsewhere();
        let [residual, half, near] = local.doubt();
        let (threads, unseen) = process.map(Process::unrecorded).unwrap_or_default();
        let (lost, uncounted) = process.map(|process| process.head.lost()).unwrap_or_default();
        let times = processor_time::spent();
        let known = |nanoseconds: Option<u64>| nanoseconds.map_or(0, |it| it + 1);
        local.process.numbers = statistics::list(&[
            (Statistic::Calls, calls),
            (Statistic::LeftOut, left_out),
            (Statistic::Lost, lost),
            (Statistic::Uncounted, u64::from(uncounted || failure.is_some())),
            (Statistic::Residual, residual),
            (Statistic::HalfRoundTrip, half),
            (Statistic::HalfRoundTripOnNode, near),
            (Statistic::Bytes, self.bytes(&local)),
            (Statistic::UnrecordedThreads, threads),
            (Statistic::UnrecordedCalls, unseen),
            (Statistic::Summed, sum(|closed| closed.summed)),
            (Statistic::Short, process.map_or(0, |process| process.short)),
            (Statistic::Inner, sum(|closed| closed.summed_inside)),
            (Statistic::Spent, spent(calls)),
            (Statistic::OnCore, known(times.map(|it| it.on_core))),
            (Statistic::Ready, known(times.and_then(|it| it.ready))),
        ]);
        let large = self.closed.iter().flatten().filter_map(|closed| closed.largest);
        let large: BTreeSet<String> =
            large.filter_map(|region| local.region_name(RegionRef(region))).collect();
        for value in large {
            local.shared.add_property(Property { name: LARGEST.into(), value });
        }
        let stopped = process.and_then(Process::failure).map(|failure| failure.to_string());
        for value in stopped.into_iter().chain(failure) {
            local.shared.add_property(Property { name: "STOPPED".into(), value });
        }
        local
    }

    /// Returns the total size of the files of this process. Each process asks for its own, to spare rank 0.
    fn bytes(&self, local: &ProcessFacts) -> u64 {
        let open_files = &self.recording.open_files;
        let length = |path: PathBuf| path.metadata().map_or(0, |it| it.len());
        let ids = 0..local.process.threads.len() as u64;
        ids.map(|id| {
            let events = open_files.join(format!("{}.{id}.evt", local.process.rank));
            length(events) + length(experiment::rows(local, id, open_files))
        })
        .sum()
    }

    /// Moves the files of this process to their places in the archive.
    fn place(&self, local: &ProcessFacts, unified: &unify::Unified) -> io::Result<()> {
        let Recording { agreement, open_files, chunk, .. } = self.recording;
        let directory = Path::new(&agreement.directory);
        if !agreement.sees_directory() {
            let (host, path) = (lease::host(), open_files.display());
            return Err(io::Error::other(format!("{host} keeps its files in {path}")));
        }
        let options = assemble::options(*chunk, unified.locations);
        for id in 0..local.process.threads.len() {
            // A thread that could not be stopped has not closed its file.
            let events = open_files.join(format!("{}.{id}.evt", local.process.rank));
            stage::put_back(&events, *chunk)?;
        }
        let (first, maps) = (unified.first_location, &unified.maps);
        // A thread that could not be stopped leaves a file without a checksum, which readers report as damaged.
        assemble::place(local, first, maps, directory, open_files, &options).map(drop)
    }

    /// Writes the global definitions and the anchor, at rank 0. `unification` describes the cost of unification.
    fn complete(
        &self,
        global: &unify::Global,
        local: &ProcessFacts,
        unification: &str,
        overhead: Overhead,
        collated: Option<&Collated>,
    ) -> io::Result<()> {
        let Recording { agreement, chunk, .. } = self.recording;
        let directory = Path::new(&agreement.directory);
        let mut options = assemble::options(*chunk, global.locations());
        options.properties = assemble::properties(global, "complete");
        let threads = global.processes().flat_map(|(_, process)| process.threads);
        let bypassed: u64 = threads.map(|thread| thread.lost).sum();
        if bypassed > 0 {
            let value =
                format!("{bypassed} calls of signal handlers that interrupted the recorder");
            options.properties.push(("DWELL::BYPASSED".into(), value));
        }
        options.properties.extend(assemble::clock_properties(global));
        let left_out = statistics::total(global, Statistic::LeftOut);
        if left_out > 0 {
            options.properties.push(("DWELL::LEFT_OUT".into(), format!("{left_out} calls")));
        }
        let (summed, short) = (
            statistics::total(global, Statistic::Summed),
            statistics::most(global, Statistic::Short),
        );
        if short > 0 {
            options.properties.push((archive::SHORT.into(), short.to_string()));
            options.properties.push((archive::SUMMED_CALLS.into(), summed.to_string()));
        }
        let inner = statistics::total(global, Statistic::Inner);
        if inner > 0 {
            options.properties.push((archive::INNER_CALLS.into(), inner.to_string()));
        }
        if let Some(asked) = overhead.asked {
            let reached = format!("{:.2}", overhead.reached);
            options.properties.push((archive::OVERHEAD_ASKED.into(), asked.to_string()));
            options.properties.push((archive::OVERHEAD.into(), reached));
        }
        options.properties.extend(assemble::loss_properties(global));
        options.properties.push(("DWELL::UNIFICATION".into(), unification.into()));
        if let Some(Collated { rounds, traffic, .. }) = collated {
            let received: u64 = traffic.iter().map(|round| round.received).sum();
            let how = format!("{rounds} rounds, {received} bytes received by rank 0");
            options.properties.push(("DWELL::COLLATION".into(), how));
        }
        options.machine = lease::host();
        options.description = local.program.clone();
        assemble::complete(global, directory, options, agreement.ahead)
            .map_err(|error| io::Error::other(error.to_string()))
    }
}

/// Returns the nanoseconds that recording took in this process: measured, or by what one call costs if there were few.
fn spent(calls: u64) -> u64 {
    spent::total().unwrap_or_else(|| (calls as f64 * cost::of_a_call()) as u64)
}

/// Runs a step of the end that concerns this process alone, behind a guard.
fn own<T>(part: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let made = guarded(Entry::Close, part).unwrap_or_else(|| Err(guard::error()))?;
    guard::check_memory().map(|()| made)
}

/// Fails if rank 0 lacks the definitions of some process, or if another process did not get its answer.
fn everyone_is_there(unified: &io::Result<unify::Unified>) -> io::Result<()> {
    let unified = match unified {
        Ok(unified) => unified,
        Err(error) => return Err(io::Error::new(error.kind(), error.to_string())),
    };
    match unified.global.as_ref().and_then(|global| global.missing().first().cloned()) {
        Some(ranks) => {
            Err(io::Error::other(format!("process {} sent no definitions", ranks.start)))
        }
        None => Ok(()),
    }
}
