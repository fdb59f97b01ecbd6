//! What could not be computed, and what is wrong with the archive.

use otf2::read::Definitions;

use crate::NotComputed;
use crate::replay::Replayed;
use crate::tree::lanes;
use crate::world::World;

/// Problems are listed up to here; the rest is counted.
const LISTED: usize = 20;

/// Collects what has to be said beside the findings.
pub(crate) fn collect(
    defs: &Definitions,
    world: &World,
    replayed: &Replayed,
) -> (Vec<NotComputed>, Vec<String>) {
    let mut not_computed = Vec::new();
    let mut add = |pattern, calls, reason: &str| {
        not_computed.push(NotComputed { pattern, calls, reason: reason.into() });
    };
    let missed: u64 = replayed.shards.iter().map(|shard| shard.gaps.progress).sum();
    if missed > 0 {
        let why = "the events of their targets are missing, or end before";
        add("wait_for_progress", missed, why);
    }
    let partial: u64 = replayed.shards.iter().map(|shard| shard.instances.partial).sum();
    if partial > 0 {
        let why = "some members are not in the archive; the others were judged without them";
        add("collectives", partial, why);
    }
    let actors = replayed.shards.iter().flat_map(|shard| &shard.actors);
    let unmatched: u64 = actors.map(|actor| actor.messages.unmatched()).sum();
    if unmatched > 0 {
        add(
            "late_sender",
            unmatched,
            "the messages that they received were not sent in the archive",
        );
    }

    let actors = || replayed.shards.iter().flat_map(|shard| &shard.actors);
    let outside: u64 = actors().map(|actor| actor.outside).sum();
    if outside > 0 {
        let why = "a collective of part of the processes completed operations on others";
        add("wait_for_progress", outside, why);
    }

    let mut damage: Vec<String> = Vec::new();
    damage.extend(defs.warning().map(ToString::to_string));
    let mut more = 0;
    for lane in lanes(&replayed.shards) {
        let place = world.system.places.get(lane.location as usize);
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
