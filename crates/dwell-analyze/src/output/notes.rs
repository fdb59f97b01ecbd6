//! Collects what could not be computed, and defects of the archive.

use std::collections::BTreeMap;
use std::fmt;

use dwell_log::quantity::Quantity;
use dwell_model::archive;
use dwell_model::operation::Operation;
use dwell_trace::ids::ProcessNumber;
use dwell_trace::roles::LeftOut;
use dwell_trace::time::{Duration, Time};
use dwell_trace::world::World;
use otf2::Anchor;
use serde::{Deserialize, Serialize};

use crate::engine::location::{Cut, Location};
use crate::engine::pattern::Unjudged;
use crate::engine::process::Process;
use crate::output::findings::ProgramTotals;

/// Place in the list of waits that patterns could not judge after which pauses of the recording are reported.
const AFTER_PAUSES: u8 = 110;

/// Greatest number of problems that are listed. The others are counted.
const LISTED: usize = 20;

/// A pattern that could not be judged for some calls or for the whole archive. Its findings are incomplete, and output
/// must say so. Its text form is one line with the pattern, the number of calls and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotComputed {
    /// Id of the pattern as `dwell_model::waits` lists it.
    pub pattern: &'static str,
    /// Number of calls that could not be judged; 0 if the reason concerns all of them.
    pub calls: u64,
    /// Reason in words for a user, without a full stop.
    pub reason: String,
}

impl fmt::Display for NotComputed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.calls {
            0 => write!(f, "{}: not computed: {}", self.pattern, self.reason),
            1 => write!(f, "{}: not computed for one call: {}", self.pattern, self.reason),
            calls => {
                let calls = dwell_model::units::grouped(calls);
                write!(f, "{}: not computed for {calls} calls: {}", self.pattern, self.reason)
            }
        }
    }
}

/// Counts of single locations, joined over all of them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// Times of the first and of the last event.
    first: Option<Time>,
    last: Option<Time>,
    /// Number of operations in flight that were moved to a file.
    pub(crate) spilled: u64,
    /// Number of calls that could not be judged in one step.
    pub(crate) slow_calls: u64,
    /// Number of waits that were longer than their calls.
    pub(crate) excess: u64,
    /// True if recording was off at times.
    paused: bool,
    /// Calls that were open when their processes ended.
    cut: Cut,
    /// Number of processes that ended inside a call, and the end of the first of them.
    ended: u64,
    first_ended: Vec<(ProcessNumber, Time)>,
    /// Number of defects, and texts about the first of them.
    defects: u64,
    first_defects: Vec<String>,
}

impl Counts {
    /// Counts what concerns the locations of some processes.
    pub(crate) fn of<'p>(processes: impl Iterator<Item = &'p Process>) -> Self {
        let mut counts = Self::default();
        for process in processes {
            counts.spilled += process.outstanding.spilled;
            let mut is_cut = false;
            for location in &process.locations {
                counts.location(location);
                is_cut |= location.cut.any;
            }
            let last = process.locations.iter().map(|it| it.now).max();
            counts.ended += u64::from(is_cut);
            if is_cut && counts.first_ended.len() < NAMED {
                counts.first_ended.push((process.index, last.unwrap_or(Time::BEGIN)));
            }
        }
        counts
    }

    fn location(&mut self, location: &Location) {
        // A location without events has no first event.
        if location.events > 0 {
            self.first = self.first.into_iter().chain(location.first).min();
            self.last = self.last.max(Some(location.now));
        }
        self.slow_calls += location.slow_calls;
        self.excess += location.paths.excess;
        self.paused |= location.off.is_some() || !location.gaps.is_empty();
        self.cut.add(location.cut);
        let id = location.file.map_or(0, |it| it.id.0);
        let mut say = |text: &dyn Fn() -> String| {
            self.defects += 1;
            if self.first_defects.len() < LISTED {
                self.first_defects.push(text());
            }
        };
        let damage = &location.damage;
        damage.errors.iter().for_each(|error| say(&|| error.clone()));
        if damage.unmatched > 0 {
            let count = damage.unmatched;
            say(&|| format!("location {id}: {count} enters or leaves without a partner"));
        }
        if damage.undefined > 0 {
            let count = damage.undefined;
            say(&|| format!("location {id}: {count} records refer to what is not defined"));
        }
    }

    /// Adds what concerns later locations.
    pub(crate) fn join(&mut self, later: Self) {
        self.first = self.first.into_iter().chain(later.first).min();
        self.last = self.last.max(later.last);
        self.spilled += later.spilled;
        self.slow_calls += later.slow_calls;
        self.excess += later.excess;
        self.paused |= later.paused;
        self.cut.add(later.cut);
        self.ended += later.ended;
        self.first_ended.extend(later.first_ended);
        self.first_ended.truncate(NAMED);
        self.defects += later.defects;
        self.first_defects.extend(later.first_defects);
        self.first_defects.truncate(LISTED);
    }

    /// Returns the time of the first event.
    pub(crate) fn first(&self) -> Time {
        self.first.unwrap_or(Time::BEGIN)
    }

    /// Returns the time from the first event to the last.
    pub(crate) fn length(&self) -> Duration {
        self.last.unwrap_or(Time::BEGIN).since(self.first())
    }
}

/// Collects everything that has to be reported in addition to the findings.
pub(crate) fn collect(
    anchor: &Anchor,
    program: &ProgramTotals<'_>,
    unjudged: &[Unjudged],
    counts: &Counts,
) -> (Vec<NotComputed>, Vec<String>) {
    let ProgramTotals { defs, world, tree, .. } = *program;
    let mut not_computed = Vec::new();
    let mut add = |pattern, calls, reason: &str| {
        not_computed.push(NotComputed { pattern, calls, reason: reason.into() });
    };
    if let Some(lost) = anchor.property(archive::LOST) {
        let why = anchor.property(archive::STOPPED).unwrap_or("there was no room for them");
        add("all", 0, &format!("{lost} are lost: {why}"));
    }
    if let Some(unrecorded) = anchor.property(archive::UNRECORDED) {
        let what = "nothing is known of these, and collectives that they took part in may have been taken for others";
        add("all", 0, &format!("{unrecorded} could not be recorded: {what}"));
    }
    if let Some(why) = anchor.property(archive::NO_PYTHON_LINES) {
        add(
            "all",
            0,
            &format!(
                "lines of Python are not known, and calls seem to come from their wrapper. {why}"
            ),
        );
    }
    for (pattern, reason) in left_out(world) {
        add(pattern, 0, &reason);
    }
    let property = |name| anchor.property(name).and_then(|text| text.parse::<u64>().ok());
    if let (Some(calls @ 1..), Some(short)) =
        (property(archive::SUMMED_CALLS), property(archive::SHORT))
    {
        let short = short as f64 / 1e3;
        let reason = format!(
            "calls shorter than {short:.1} \u{b5}s were summed up, as was asked; they are counted in call paths, and \
             neither in the matrix nor among operations that could be joined"
        );
        add("inefficient_communication", calls, &reason);
    }
    if let (Some(calls), Some(layer)) = (property(archive::INNER_CALLS), world.layer) {
        let reason = format!(
            "calls of {layer} inside calls of other layers were counted, and not recorded one by one; record them with \
             --layer mpi-inner=all"
        );
        add("all", calls, &reason);
    }
    let mut by_place: BTreeMap<u8, Unjudged> = BTreeMap::new();
    for one in unjudged.iter().filter(|it| counts.paused || !it.only_if_paused) {
        let of = || Unjudged { calls: 0, ..one.clone() };
        by_place.entry(one.place).or_insert_with(of).calls += one.calls;
    }
    by_place.retain(|_, it| it.calls > 0);
    // Patterns number what they could not judge; what concerns a pause comes between.
    let later = by_place.split_off(&AFTER_PAUSES);
    for it in by_place.into_values() {
        add(it.pattern, it.calls.unsigned_abs(), it.reason);
    }
    if counts.paused {
        let has = |what| tree.branches.iter().any(|it| it.totals.get(what) > 0);
        let why = "recording was off for a while; what was sent meanwhile is missing, so that later \
                   messages may have been taken for others";
        let messages = has(Quantity::Sends) || has(Quantity::Receives);
        if messages && world.attributes.skipped.is_none() {
            add("late_sender", 0, why);
        }
        let why = "recording was off for a while, and the archive does not number collectives";
        if has(Quantity::Collectives) && world.attributes.sequence.is_none() {
            add("collectives", 0, why);
        }
    }

    for it in later.into_values() {
        add(it.pattern, it.calls.unsigned_abs(), it.reason);
    }
    let cut = counts.cut;
    for (pattern, calls) in [
        ("collectives", cut.collectives),
        ("lock_contention", cut.locks),
        ("late_signal", cut.changes),
        ("wait_for_progress", cut.operations),
    ] {
        if calls > 0 {
            add(pattern, calls, "their processes ended inside them");
        }
    }
    if let Some(lost) = lost(world, counts) {
        add("all", 0, &lost);
    }

    let mut damage: Vec<String> = Vec::new();
    damage.extend(defs.warning().map(ToString::to_string));
    let recovered = anchor.property(archive::DAMAGED);
    damage.extend(recovered.map(|what| format!("recovered from damaged files: {what}")));
    let room = LISTED.saturating_sub(damage.len());
    let listed = counts.first_defects.iter().take(room);
    let more = counts.defects - listed.len() as u64;
    damage.extend(listed.cloned());
    if more > 0 {
        damage.push(format!("and {more} more"));
    }
    (not_computed, damage)
}

/// Returns the patterns that cannot be judged because the recorder left out calls, with the reason for each.
fn left_out(world: &World) -> impl Iterator<Item = (&'static str, String)> {
    type Concerns = fn(&LeftOut) -> bool;
    let cases: [(&str, Concerns, &str); 6] = [
        ("wait_for_progress", LeftOut::serves, "others may have been served in calls"),
        ("late_sender", LeftOut::has_messages, "messages may have been waited for in calls"),
        ("late_receiver", LeftOut::has_messages, "messages may have been waited for in calls"),
        (
            "collectives",
            |it| matches!(it.meaning.operation, Operation::Collective(_)),
            "nothing is known of the calls",
        ),
        (
            "late_signal",
            |it| {
                it.meaning.operation.is_one_sided() || it.meaning.operation == Operation::WaitChange
            },
            "flags may have been raised or waited for in calls",
        ),
        (
            "lock_contention",
            |it| {
                matches!(
                    it.meaning.operation,
                    Operation::Lock | Operation::Unlock | Operation::TryLock
                )
            },
            "locks may have been held by calls",
        ),
    ];
    cases.into_iter().filter_map(|(pattern, concerns, what)| {
        let all = world.roles.left_out();
        let names: Vec<&str> =
            all.iter().filter(|it| concerns(it)).map(|it| it.name.as_str()).collect();
        let listed = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        let more = match names.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let reason = format!("{what} that were not recorded, as was asked: {listed}{more}");
        (!names.is_empty()).then_some((pattern, reason))
    })
}

/// Greatest number of processes that are named.
const NAMED: usize = 5;

/// Returns a text that names the processes which ended before the program did, and when.
fn lost(world: &World, counts: &Counts) -> Option<String> {
    let first = counts.first();
    let ends: Vec<String> = counts
        .first_ended
        .iter()
        .map(|&(number, last)| {
            let name = world.system.name(number).unwrap_or("a process");
            format!("{name} after {:.6} s", last.since(first).0 as f64 / 1e9)
        })
        .collect();
    let (count, all) = (counts.ended, world.system.processes.len());
    if count == 0 {
        return None;
    }
    let more = match count.saturating_sub(NAMED as u64) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let list = ends.join(", ");
    Some(format!(
        "{count} of {all} processes were cut off: {list}{more}; nothing is known of them after that"
    ))
}
