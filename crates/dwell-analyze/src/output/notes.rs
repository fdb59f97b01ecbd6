//! Collects what could not be computed, and defects of the archive.

use std::collections::BTreeMap;

use dwell_model::archive;
use dwell_model::operation::Operation;
use otf2::Anchor;
use otf2::read::Definitions;

use crate::NotComputed;
use crate::archive::ids::Ordinal;
use crate::archive::roles::LeftOut;
use crate::archive::time::Time;
use crate::archive::world::World;
use crate::engine::pattern::Unjudged;
use crate::engine::quantity::Quantity;
use crate::output::Replayed;

/// Place in the list of what patterns could not judge after which pauses of the recording are reported.
const AFTER_PAUSES: u8 = 110;

/// Greatest number of problems that are listed. The others are counted.
const LISTED: usize = 20;

/// Collects everything that has to be reported beside the findings.
pub(crate) fn collect(
    anchor: &Anchor,
    defs: &Definitions,
    world: &World,
    replayed: &Replayed,
) -> (Vec<NotComputed>, Vec<String>) {
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
    for (pattern, reason) in left_out(world) {
        add(pattern, 0, &reason);
    }
    let paused = replayed.locations().any(|it| it.off.is_some() || !it.gaps.is_empty());
    let mut unjudged: BTreeMap<u8, Unjudged> = BTreeMap::new();
    for one in replayed.unjudged.iter().filter(|it| paused || !it.only_if_paused) {
        let of = || Unjudged { calls: 0, ..one.clone() };
        unjudged.entry(one.place).or_insert_with(of).calls += one.calls;
    }
    unjudged.retain(|_, it| it.calls > 0);
    // Patterns number what they could not judge; what concerns a pause comes between.
    let later = unjudged.split_off(&AFTER_PAUSES);
    for it in unjudged.into_values() {
        add(it.pattern, it.calls.unsigned_abs(), it.reason);
    }
    if paused {
        let has = |what| replayed.locations().any(|it| crate::booked(it, what) > 0);
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
    let cut = || replayed.locations().map(|location| location.cut);
    for (pattern, calls) in [
        ("collectives", cut().map(|it| it.collectives).sum()),
        ("lock_contention", cut().map(|it| it.locks).sum()),
        ("late_signal", cut().map(|it| it.changes).sum()),
        ("wait_for_progress", cut().map(|it| it.operations).sum()),
    ] {
        if calls > 0 {
            add(pattern, calls, "their processes ended inside them");
        }
    }
    if let Some(lost) = lost(world, replayed) {
        add("all", 0, &lost);
    }

    let mut damage: Vec<String> = Vec::new();
    damage.extend(defs.warning().map(ToString::to_string));
    let recovered = anchor.property(archive::DAMAGED);
    damage.extend(recovered.map(|what| format!("recovered from damaged files: {what}")));
    let mut more = 0;
    for location in replayed.locations() {
        let place = world.system.places.get(location.number.index());
        let id = place.map_or(0, |place| place.id.0);
        let mut say = |text: String| {
            if damage.len() < LISTED {
                damage.push(text);
            } else {
                more += 1;
            }
        };
        location.damage.errors.iter().for_each(|error| say(error.clone()));
        if location.damage.unmatched > 0 {
            let count = location.damage.unmatched;
            say(format!("location {id}: {count} enters or leaves without a partner"));
        }
        if location.damage.undefined > 0 {
            let count = location.damage.undefined;
            say(format!("location {id}: {count} records refer to what is not defined"));
        }
        let promised = place.map_or(0, |place| place.events);
        if location.damage.errors.is_empty() && location.events < promised {
            say(format!("location {id}: {} events of {promised}", location.events));
        }
    }
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
fn lost(world: &World, replayed: &Replayed) -> Option<String> {
    // A location without events has no first event.
    let begun = replayed.locations().filter(|location| location.events > 0);
    let first = begun.filter_map(|location| location.first).min().unwrap_or(Time::BEGIN);
    let dead = replayed.processes().filter(|it| it.locations.iter().any(|it| it.cut.any));
    let ends: Vec<String> = dead
        .map(|ended| {
            let process = world.system.processes.get(ended.index.index());
            let name = process.map_or("a process", |process| &process.name);
            let last = ended.locations.iter().map(|it| it.now).max().unwrap_or(first);
            format!("{name} after {:.6} s", last.since(first).0 as f64 / 1e9)
        })
        .collect();
    let (count, all) = (ends.len(), world.system.processes.len());
    if count == 0 {
        return None;
    }
    let more = match count.saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let list: Vec<String> = ends.into_iter().take(NAMED).collect();
    let list = list.join(", ");
    Some(format!(
        "{count} of {all} processes were cut off: {list}{more}; nothing is known of them after that"
    ))
}
