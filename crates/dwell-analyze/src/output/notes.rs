//! Collects what could not be computed, and defects of the archive.

use dwell_model::archive;
use dwell_model::operation::Operation;
use dwell_model::waits::Wait;
use otf2::Anchor;
use otf2::read::Definitions;

use crate::NotComputed;
use crate::archive::roles::{LeftOut, Traits};
use crate::archive::world::World;
use crate::engine::paths::Node;
use crate::engine::quantity::Quantity;
use crate::engine::replay::Replayed;
use crate::output::tree::lanes;

/// Greatest number of problems that are listed. The others are counted.
const LISTED: usize = 20;

/// Waits whose cause may be missing from the archive, in the order in which they are reported, with the reason.
const UNMATCHED: &[(Wait, &str)] = &[
    (Wait::LatePartner, ELSEWHERE),
    (Wait::LateSender, "the messages that they received were not sent in the archive"),
    (Wait::LateReceiver, ELSEWHERE),
    (Wait::LatePost, ELSEWHERE),
    (Wait::EarlyWait, ELSEWHERE),
    (Wait::NonBlockingWait, "some members never completed, or began unrecorded"),
];

const ELSEWHERE: &str = "what they waited for is not in the archive";

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
    let missed: u64 = replayed.shards.iter().map(|shard| shard.gaps.progress).sum();
    if missed > 0 && !world.dark {
        let why = "the events of their targets are missing, or end before";
        add("wait_for_progress", missed, why);
    }
    let partial: u64 = replayed.shards.iter().map(|shard| shard.instances.partial).sum();
    if partial > 0 {
        let why = "some members are not in the archive; the others were judged without them";
        add("collectives", partial, why);
    }
    let actors = || replayed.shards.iter().flat_map(|shard| &shard.processes);
    let missing: Vec<Quantity> = actors().flat_map(|actor| actor.messages.unmatched()).collect();
    for (wait, why) in UNMATCHED {
        let calls = missing.iter().filter(|what| **what == Quantity::Wait(*wait)).count() as u64;
        if calls > 0 {
            add(wait.about().id, calls, why);
        }
    }
    let unseen: u64 = actors().map(|actor| actor.messages.unseen).sum();
    if unseen > 0 {
        let why = "their messages were sent by calls that were not recorded";
        add("late_sender", unseen, why);
    }
    let left = lanes(&replayed.shards).filter(|lane| lane.probe.is_some()).count() as u64;
    let probes = left + actors().map(|actor| actor.messages.unreceived).sum::<u64>();
    if probes > 0 {
        let why = "they probed for messages, and no receive followed that says which";
        add("late_sender", probes, why);
    }
    let unfinished: u64 = actors().map(|actor| actor.under.unfinished() + actor.under.strays).sum();
    if unfinished > 0 {
        let why = "collectives that do not block began or ended in the archive, but not both";
        add("nonblocking_collective_wait", unfinished, why);
    }
    let strangers: u64 = actors().map(|actor| actor.strangers).sum();
    if strangers > 0 {
        let why = "they are neighbourhood collectives, and the archive does not say who the neighbours are";
        add("nxn_wait", strangers, why);
    }
    let several: u64 = actors().map(|actor| actor.several_locks).sum();
    if several > 0 {
        let why = "they completed operations under several locks at once";
        add("lock_contention", several, why);
    }
    let ownerless: u64 = actors().map(|actor| actor.ownerless).sum();
    if ownerless > 0 {
        let why = "they wait for locks, and the archive does not say which process owns these";
        add("wait_for_progress", ownerless, why);
    }
    let doubtful: u64 = actors().map(|actor| actor.signals.doubtful).sum();
    if doubtful > 0 {
        let why = "a large put may have raised the flag, and where those act is not recorded";
        add("late_signal", doubtful, why);
    }
    // Older tools write no records for these calls.
    let begins = |node: &&Node| world.roles.traits(node.region).has(Traits::BEGINS);
    let nodes = lanes(&replayed.shards).flat_map(|lane| lane.paths.iter().map(|(_, node)| node));
    let begun: u64 = nodes.filter(begins).map(|node| node.visits).sum();
    let recorded: u64 = actors().map(|actor| actor.under.begun()).sum();
    if begun > recorded {
        let why = "they began collectives, and there is no record of which";
        add("nonblocking_collective_wait", begun - recorded, why);
    }
    let off =
        |lane: &&crate::engine::location::Location| lane.off.is_some() || !lane.gaps.is_empty();
    if lanes(&replayed.shards).any(|lane| off(&lane)) {
        let has = |what| lanes(&replayed.shards).any(|lane| crate::booked(lane, what) > 0);
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

    let paused = lanes(&replayed.shards).any(|lane| lane.off.is_some() || !lane.gaps.is_empty());
    let unseen: u64 = actors().map(|actor| actor.signals.unseen).sum();
    if paused && unseen > 0 {
        let why = "nobody was seen to raise the flag meanwhile, but recording was paused at times";
        add("late_signal", unseen, why);
    }

    let cut = || lanes(&replayed.shards).map(|lane| lane.cut);
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
    for lane in lanes(&replayed.shards) {
        let place = world.system.places.get(lane.number as usize);
        let id = place.map_or(0, |place| place.id.0);
        let mut say = |text: String| {
            if damage.len() < LISTED {
                damage.push(text);
            } else {
                more += 1;
            }
        };
        lane.damage.errors.iter().for_each(|error| say(error.clone()));
        if lane.damage.unmatched > 0 {
            let count = lane.damage.unmatched;
            say(format!("location {id}: {count} enters or leaves without a partner"));
        }
        if lane.damage.undefined > 0 {
            let count = lane.damage.undefined;
            say(format!("location {id}: {count} records refer to what is not defined"));
        }
        let promised = place.map_or(0, |place| place.events);
        if lane.damage.errors.is_empty() && lane.events < promised {
            say(format!("location {id}: {} events of {promised}", lane.events));
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
    let begun = lanes(&replayed.shards).filter(|lane| lane.events > 0);
    let first = begun.filter_map(|lane| lane.first).min().unwrap_or(0);
    let actors = replayed.shards.iter().flat_map(|shard| &shard.processes);
    let dead = actors.filter(|actor| actor.locations.iter().any(|lane| lane.cut.any));
    let ends: Vec<String> = dead
        .map(|actor| {
            let process = world.system.processes.get(actor.index as usize);
            let name = process.map_or("a process", |process| &process.name);
            let last = actor.locations.iter().map(|lane| lane.now).max().unwrap_or(first);
            format!("{name} after {:.6} s", last.saturating_sub(first) as f64 / 1e9)
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
