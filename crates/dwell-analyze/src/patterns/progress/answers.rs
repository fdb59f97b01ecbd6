//! Answers questions about operations from the progress regions of their targets.

use dwell_trace::crowds::Room;
use dwell_trace::ids::ProcessNumber;
use dwell_trace::time::{Duration, Time};
use dwell_trace::world::World;

use crate::engine::message::Outbox;
use crate::engine::outstanding::Known;
use crate::engine::process::Process;
use crate::engine::regions::{Found, Request, Span, Visits};
use crate::patterns::progress::evidence::Found as FoundEvidence;
use crate::patterns::progress::questions::{Ask, AskOne, Away, Rule, Seen, Served, Watch};
use crate::patterns::progress::serving::SHORTEST;
use crate::patterns::progress::several::MOST_GAPS;
use crate::protocol::progress_wait::Waited;

/// Returns the visits of a target during an operation: by the regions that always progress, and by all that may.
#[inline]
pub(super) fn look_up(
    world: &World,
    target_process: &Process,
    (start, request): (Time, Request),
    known: Known,
    horizon: Time,
) -> Outcome<(Visits, Visits)> {
    let Some(certain) = target_process.certain.visits(known.certain, request, horizon) else {
        return Outcome::Pending;
    };
    let possible = match world.any_conditional {
        true => target_process.possible.visits(known.possible, request, horizon),
        false => Some(certain),
    };
    let Some(possible) = possible else { return Outcome::Pending };
    let served = if certain.first == Span::EARLY { certain.last } else { certain.first.begin };
    if target_process.is_blind(start, request.leave, served) {
        return Outcome::Unanswerable;
    }
    Outcome::Answered((certain, possible))
}

/// Describes an operation of a process from the point of view of its target.
#[inline]
pub(super) fn request(
    world: &World,
    (from, to): (ProcessNumber, ProcessNumber),
    start: Time,
    Span { begin: enter, end: leave }: Span,
) -> Request {
    let latency = world.latency(from, to);
    let after = start.later_by(latency);
    Request { after, enter, leave, apart: latency.max(APART) }
}

/// Returns whether an operation lies entirely inside an interval in which its target was in no region, with the time of
/// a request to spare on both sides; `None` if that is not decided yet. A target never forgets its last region, so one
/// that ended shortly before can be found.
#[inline]
pub(super) fn alone(
    world: &World,
    target_process: &Process,
    (start, leave, origin): (Time, Time, ProcessNumber),
    horizon: Time,
) -> Option<bool> {
    let spare = world.latency(origin, target_process.index);
    let (from, until) = (start.earlier_by(spare), leave.later_by(spare));
    let regions =
        if world.any_conditional { &target_process.possible } else { &target_process.certain };
    match regions.first(from, until, horizon) {
        Found::Region(span) => Some(span.begin >= until),
        Found::Nothing => Some(true),
        Found::Unknown => None,
    }
}

/// Returns the lower and upper bound of the wait of a call for one target, given the visits of the target.
#[inline]
pub(super) fn bounds(visits: &Visits, enter: Time) -> (Duration, Duration) {
    if visits.first == Span::NONE {
        return (Duration::ZERO, Duration::ZERO);
    }
    if visits.count > OUTLIVED && visits.gaps >= LONG {
        return (visits.gaps, visits.gaps);
    }
    (visits.first.begin.since(enter), visits.gaps)
}

/// Returns the time at which a target arrived last, if a call that was entered before waited for it.
#[inline]
pub(super) fn came_last(certain: &Visits, possible: &Visits, enter: Time) -> Time {
    let last = |it: &Visits| if it.first == Span::NONE { enter } else { it.last };
    last(certain).max(last(possible))
}

/// Returns the lower and upper bound of the wait of a call for one target, and the unlikelihood of an end so soon after
/// the target arrived.
#[inline]
pub(super) fn wait(
    certain: &Visits,
    possible: &Visits,
    Span { begin: enter, end: leave }: Span,
    room: Room,
) -> (Duration, Duration, u32) {
    let (one, two) = (bounds(certain, enter), bounds(possible, enter));
    let aligned =
        match certain.gaps > Duration::ZERO && !(room == Room::Crowded && certain.gap < SLICE) {
            true => aligned(leave.since(certain.last), certain.gap),
            false => 0,
        };
    (one.0.min(two.0), one.1.max(two.1), aligned)
}

/// Regions of a target that are closer together than this in nanoseconds, or than the time of a request, are one visit.
pub(super) const APART: Duration = Duration(10_000);
/// An operation that outlived more visits than this was served by none of them, if it waited for at least [`LONG`].
pub(super) const OUTLIVED: u32 = 10;
pub(super) const LONG: Duration = Duration(50_000_000);
/// If processes share cores, a call of the target can yield the core to another process, whose operations then end by
/// chance just when the target arrives. A target that was away for longer than this had lost the core meanwhile.
pub(super) const SLICE: Duration = Duration(20_000_000);
/// Ratio by which the absence of a target before a visit must exceed the time from the visit to the end of the
/// operation.
pub(super) const MUCH: u64 = 19;

/// Returns the unlikelihood of an end by chance. An operation that ended within `late` of the begin of a visit, before
/// which its target was away for `gap`, ended so soon by chance with the probability u = late / (late + gap). The
/// result is ln(1 / u) in thousandths if u is at most 0.05, and 0 otherwise.
#[inline]
pub(super) fn aligned(Duration(late): Duration, Duration(gap): Duration) -> u32 {
    if late == 0 || gap / MUCH < late {
        return 0;
    }
    logarithm(late, gap)
}

/// Returns the natural logarithm of (late + gap) / late in thousandths. It uses integers, so that results are equal on
/// all machines.
#[inline(never)]
pub(super) fn logarithm(late: u64, gap: u64) -> u32 {
    /// ln 2 in parts of 1,000,000,000.
    const LN2: u128 = 693_147_181;
    const BITS: u32 = 24;
    let ratio = ((u128::from(late) + u128::from(gap)) << 32) / u128::from(late.max(1));
    let whole = ratio.max(1).ilog2();
    let mut log = u128::from(whole.saturating_sub(32));
    let mut part = (ratio << (127 - whole)) >> 64;
    for _ in 0..BITS {
        part = (part * part) >> 63;
        log <<= 1;
        if part >> 64 != 0 {
            part >>= 1;
            log |= 1;
        }
    }
    u32::try_from((log * LN2 / 1_000_000) >> BITS).unwrap_or(u32::MAX)
}

/// State of a question at its target.
pub(super) enum Outcome<T> {
    /// The question is answered.
    Answered(T),
    /// The question has to wait for more events.
    Pending,
    /// The events that would answer the question are not in the archive.
    Unanswerable,
}

/// Answers the question about one operation and its only target.
#[inline]
pub(super) fn answer(
    world: &World,
    target_process: &Process,
    ask: &Ask,
    origin: ProcessNumber,
    horizon: Time,
    evidence: &mut FoundEvidence,
) -> Outcome<Option<Waited>> {
    let Ask { start, enter, leave, target, location, account, class } = *ask;
    let request = request(world, (origin, target), start, Span { begin: enter, end: leave });
    let known = Known::default();
    let (certain, possible) =
        match look_up(world, target_process, (request.after, request), known, horizon) {
            Outcome::Answered(visits) => visits,
            Outcome::Pending => return Outcome::Pending,
            Outcome::Unanswerable => return Outcome::Unanswerable,
        };
    note_served(evidence, target, (start, enter), (request, possible.first));
    if possible.first == Span::NONE {
        return match class
            .can_prove()
            .then(|| alone(world, target_process, (start, leave, origin), horizon))
        {
            Some(None) => Outcome::Pending,
            Some(Some(true)) => {
                evidence.add(origin, target, class);
                Outcome::Answered(None)
            }
            _ => Outcome::Answered(None),
        };
    }
    let (when, room) = (Span { begin: enter, end: leave }, world.system.room(target));
    let (low, high, aligned) = wait(&certain, &possible, when, room);
    let until = came_last(&certain, &possible, enter);
    Outcome::Answered((high > Duration::ZERO).then(|| Waited {
        location,
        account,
        target,
        class,
        enter,
        until,
        culprit: target_process.entered_at(until),
        low,
        high,
        left: leave - enter,
        aligned,
        multi: false,
        goes_on: false,
    }))
}

/// Answers the question for one of several targets.
pub(super) fn answer_one(
    world: &World,
    target_process: &Process,
    ask: &AskOne,
    horizon: Time,
    evidence: &mut FoundEvidence,
    away: &mut Outbox<Away>,
) -> Outcome<Served> {
    let AskOne { start, enter, leave, target, process, case, index, class, known } = *ask;
    let request = request(world, (process, target), start, Span { begin: enter, end: leave });
    let (certain, possible) =
        match look_up(world, target_process, (request.after, request), known, horizon) {
            Outcome::Answered(visits) => visits,
            Outcome::Pending => return Outcome::Pending,
            Outcome::Unanswerable => return Outcome::Unanswerable,
        };
    note_served(evidence, target, (start, enter), (request, possible.first));
    if possible.first == Span::NONE && class.can_prove() {
        match alone(world, target_process, (start, leave, process), horizon) {
            None => return Outcome::Pending,
            Some(true) => evidence.add(process, target, class),
            Some(false) => {}
        }
    }
    let sides = [
        (Rule::Certain, &target_process.certain, &certain, known.certain),
        (Rule::Possible, &target_process.possible, &possible, known.possible),
    ];
    for (rule, regions, visits, known) in sides {
        let regions = if world.any_conditional { regions } else { &target_process.certain };
        if visits.comes_and_goes(enter) {
            let gaps = regions.gaps(known, request, visits.last).take(MOST_GAPS + 1);
            for gap in gaps {
                away.send(process, Away { process, case, index, rule, gap });
            }
        }
    }
    let room = world.system.room(target);
    let came = [certain.first.begin, possible.first.begin, came_last(&certain, &possible, enter)];
    let came = came.map(|time| target_process.entered_at(time));
    Outcome::Answered(Served { process, case, index, certain, possible, room, came })
}

/// Notes when an operation was at its target, if its call issued and completed it, and the target stayed for long in the region
/// that served it.
#[inline]
fn note_served(
    found: &mut FoundEvidence,
    target: ProcessNumber,
    (start, enter): (Time, Time),
    (request, first): (Request, Span),
) {
    if start != enter || first.end.since(first.begin) < SHORTEST {
        return;
    }
    let (begin, end) = (first.begin.max(request.after), first.end.min(request.leave));
    if begin < end {
        found.served.push((target, Span { begin, end }));
    }
}

/// Returns the region that has served an operation in flight, if there is one.
pub(super) fn look_for(
    world: &World,
    target_process: &Process,
    watch: &Watch,
    horizon: Time,
) -> Option<Seen> {
    let Watch { start, serial, target, process, window, known } = *watch;
    let after = start.later_by(world.latency(process, target));
    // The region that is known already may be forgotten here.
    let certain = known.certain.or_else(|| target_process.certain.ended(after, horizon));
    if certain.is_some_and(|certain| target_process.is_blind(after, Time::END, certain.begin)) {
        return None;
    }
    let possible = match world.any_conditional {
        true => known.possible.or_else(|| target_process.possible.ended(after, horizon)),
        false => certain,
    };
    let found = Known { certain, possible };
    (found != known).then_some(Seen { serial, target, process, window, known: found })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_those_of_floating_point() {
        for late in [1, 7, 1_000, 123_456, 1_000_000_007] {
            for times in [19, 20, 99, 100, 1_000, 54_321, 1_000_000] {
                let gap = late * times + times % 13;
                let real = ((late + gap) as f64 / late as f64).ln() * 1e3;
                let found = f64::from(aligned(Duration(late), Duration(gap)));
                assert!(
                    real - found > -1e-3 && real - found < 1.001,
                    "{late} {gap} {real} {found}"
                );
            }
            assert_eq!(aligned(Duration(late), Duration(late * 19 - 1)), 0);
        }
        assert_eq!(aligned(Duration(0), Duration(10)), 0);
        assert!(aligned(Duration(1), Duration(u64::MAX)) > 44_000);
    }
}
