//! The exchange of halos, synchronised in four ways.
//!
//! Ranks form a ring. In each phase a rank synchronises, fetches the halos of two neighbours, and synchronises again;
//! even phases are along the ring, odd ones across it. The four ways take turns, with two phases each: all ranks,
//! partners only, notifications, flags. Eight phases are a round.
//!
//! # The schedule
//!
//! Times are nanoseconds. Phase j begins at T(j). Rank p enters its first synchronisation at T(j) + a, and begins its
//! gets at G(p) = T(j) + [`HALF`] + b, with random 0 ≤ a, b < [`DELAY`]. Its gets follow one another: e₁ = G(p), x =
//! max(e, G(q)) + [`TRANSFER`], e₂ = x₁. The second synchronisation begins when the last get ends, at B(p). All these
//! calls serve requests of others, and the second synchronisation of a rank does not end before its partners are in
//! theirs: so each get is served when its neighbour begins its own gets.
//!
//! # The answer
//!
//! * `wait_for_progress`: the sum of max(0, G(q) - e) over all gets.
//!
//! and for a synchronisation that p enters at E(p):
//!
//! | way | answer |
//! |---|---|
//! | all | `barrier_wait`: max over all E - E(p); `barrier_completion`: own lateness less the least |
//! | partners | `late_partner`: max(0, max over partners E - E(p)) |
//! | notifications | p notifies its partners one after the other, each call taking [`NOTIFY`], then waits for each: `late_signal`: max(0, begin of the partner's call to p - enter of the wait) |
//! | flags | the same with a put of a flag and a wait until it is there |

use std::path::Path;

use otf2::enums::{RmaSyncLevel, RmaSyncType};
use otf2::event::{
    Enter, Leave, RmaGroupSync, RmaOpCompleteBlocking, RmaPut, RmaSync, RmaWaitChange,
};
use otf2::id::{AttributeRef, GroupRef, MatchingId, Rank, Time};
use otf2::write::EventWriter;
use otf2::{Attribute, AttributeValue, List};

use crate::calls::{Collective, Get, INSIDE, Span};
use crate::progress::Progress;
use crate::rng;
use crate::schedule::{self, Schedule};
use crate::truth::{Severities, Totals, Truth};
use crate::world::{FIRST_GROUP, Program, WINDOW, regions};

/// Nanoseconds from the beginning of one phase to that of the next, T(j + 1) - T(j). Everything that happens in a phase
/// fits into it.
pub const PHASE: u64 = 400_000;
/// Nanoseconds from the beginning of a phase to that of its gets, without the random delay. The first synchronisation
/// of the phase has ended by then.
pub const HALF: u64 = 150_000;
/// Upper bound of the random delays a and b in nanoseconds. Every delay is at least 0 and less than this.
pub const DELAY: u64 = 40_000;
/// Nanoseconds that a get takes once its target serves it. The time before that is its wait for progress.
pub const TRANSFER: u64 = 1_500;
/// Nanoseconds that a notification or the put of a flag takes. A rank notifies its partners one after the other.
pub const NOTIFY: u64 = 300;
/// Upper bound, in nanoseconds, of the random time by which a barrier ends later than it could.
pub const COMPLETION: u64 = 2_000;

/// Nanoseconds that a synchronisation takes after the last process has arrived.
const RELEASE: u64 = 700;
/// Bytes of a halo.
const HALO: u64 = 3 * 512 * 8;

/// Options of [`generate`]. Together they determine every byte of the archive. Each rank performs 8 × `rounds`
/// exchanges, with one or two gets each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Number of ranks, at least 2. With fewer than five ranks, exchanges across the ring are the same as those along
    /// it.
    pub ranks: u64,
    /// Number of rounds. A round has two phases for each of the four ways to synchronise: one along the ring, one
    /// across it.
    pub rounds: u64,
    /// Seed of the random delays. Another seed gives another archive with other severities.
    pub seed: u64,
}

const OFFSET: AttributeRef = AttributeRef(0);

regions! {
    GET = 1 "caf_get" Rma "layer=caf operation=get progress=always";
    SYNC_ALL = 2 "caf_sync_all" Barrier "layer=caf operation=barrier progress=always completes=remote";
    SYNC_IMAGES = 3 "caf_sync_images" Rma "layer=caf operation=other progress=always";
    NOTIFY_CALL = 4 "caf_notify" Rma "layer=caf operation=other progress=always";
    NOTIFY_WAIT = 5 "caf_notify_wait" Rma "layer=caf operation=wait_change progress=always";
    PUT_FLAG = 6 "caf_put_flag" Rma "layer=caf operation=put progress=always";
    WAIT_FLAG = 7 "caf_wait_flag" Rma "layer=caf operation=wait_change progress=always";
}

/// The four ways to synchronise.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    All,
    Partners,
    Notifications,
    Flags,
}

#[derive(Clone, Copy)]
struct Plan {
    ranks: u64,
    rounds: u64,
    seed: u64,
}

/// The position of a synchronisation: before the gets or after them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Before,
    After,
}

impl Plan {
    fn phases(&self) -> u64 {
        8 * self.rounds
    }

    fn way(phase: u64) -> Way {
        [Way::All, Way::Partners, Way::Notifications, Way::Flags][(phase / 2 % 4) as usize]
    }

    /// Returns the neighbours of a rank in a phase, each once.
    fn partners(&self, p: u64, phase: u64) -> Vec<u64> {
        let far = if self.ranks >= 5 { 2 } else { 1 };
        let distance = if phase.is_multiple_of(2) { 1 } else { far };
        let (before, after) =
            ((p + self.ranks - distance) % self.ranks, (p + distance) % self.ranks);
        if before == after { vec![after] } else { vec![before, after] }
    }

    fn begin(phase: u64) -> u64 {
        PHASE * (phase + 1)
    }

    fn first_get(&self, p: u64, phase: u64) -> u64 {
        Self::begin(phase) + HALF + rng::at(self.seed, [p, phase, 1]) % DELAY
    }

    fn gets(&self, p: u64, phase: u64) -> Vec<Get> {
        let arrival = |from| self.first_get(from, phase);
        Get::in_turn(self.first_get(p, phase), self.partners(p, phase), arrival, TRANSFER)
    }

    /// Returns E(p), the time at which a rank enters a synchronisation.
    fn enter(&self, p: u64, phase: u64, when: When) -> u64 {
        match when {
            When::Before => Self::begin(phase) + rng::at(self.seed, [p, phase, 0]) % DELAY,
            When::After => self.gets(p, phase).last().map_or(0, |get| get.leave),
        }
    }

    fn lateness(&self, p: u64, phase: u64, when: When) -> u64 {
        rng::at(self.seed, [p, phase, 2 + when as u64]) % COMPLETION
    }

    /// Returns the time at which the call begins by which `from` notifies `to` of its arrival.
    fn told(&self, from: u64, to: u64, phase: u64, when: When) -> u64 {
        let at = self.partners(from, phase).iter().position(|it| *it == to).unwrap_or(0);
        self.enter(from, phase, when) + at as u64 * NOTIFY
    }

    fn barrier(&self, phase: u64, when: When) -> Collective {
        let enter = |p| self.enter(p, phase, when);
        Collective::of(self.ranks, enter, |p| self.lateness(p, phase, when))
    }
}

impl Schedule for Plan {
    type Step = [Collective; 2];

    fn duration(&self) -> u64 {
        Self::begin(self.phases()) + PHASE
    }

    /// Returns the values of both synchronisations of each phase. They are 0 unless the phase synchronises all ranks.
    fn steps(&self) -> Vec<[Collective; 2]> {
        let of = |phase| [self.barrier(phase, When::Before), self.barrier(phase, When::After)];
        (0..self.phases())
            .map(|phase| if Self::way(phase) == Way::All { of(phase) } else { Default::default() })
            .collect()
    }

    fn severities(&self, p: u64, barriers: &[[Collective; 2]]) -> Severities {
        let mut sum = Severities::default();
        for (phase, barrier) in (0..).zip(barriers) {
            sum.wait_for_progress += self.gets(p, phase).iter().map(|it| it.waited).sum::<u64>();
            for (when, all) in [When::Before, When::After].into_iter().zip(barrier) {
                let enter = self.enter(p, phase, when);
                let partners = self.partners(p, phase);
                match Self::way(phase) {
                    Way::All => {
                        sum.barrier_wait += all.last_enter - enter;
                        sum.barrier_completion +=
                            self.lateness(p, phase, when) - all.least_lateness;
                    }
                    Way::Partners => {
                        let last = partners.iter().map(|q| self.enter(*q, phase, when)).max();
                        sum.late_partner += last.unwrap_or(0).saturating_sub(enter);
                    }
                    Way::Notifications | Way::Flags => {
                        let mut now = enter + partners.len() as u64 * NOTIFY;
                        for &q in &partners {
                            let told = self.told(q, p, phase, when);
                            sum.late_signal += told.saturating_sub(now);
                            now = now.max(told) + RELEASE;
                        }
                    }
                }
            }
        }
        sum
    }

    fn write(
        &self,
        p: u64,
        barriers: &[[Collective; 2]],
        events: &mut EventWriter,
    ) -> otf2::Result<Totals> {
        let writer = Writer { plan: self, p, events, totals: Totals::default(), operations: 0 };
        writer.write(barriers)
    }
}

/// Generates the archive in a directory, and returns its truth. The directory must not contain an archive yet; it is
/// created if need be. `truth.json` is not written: call [`Truth::write`] for that.
///
/// # Errors
/// If there is an archive already, or files cannot be written.
pub fn generate(
    options: &Options,
    directory: &Path,
    progress: Progress<'_>,
) -> otf2::Result<Truth> {
    let Options { ranks, rounds, seed } = *options;
    let plan = &Plan { ranks, rounds, seed };
    // A group for each rank and axis.
    let groups: Vec<Vec<u64>> =
        (0..2 * ranks).map(|number| plan.partners(number / 2, number % 2)).collect();
    let program = Program {
        kind: "halo",
        description: "halo exchange, synthetic",
        ranks,
        seed,
        options: &[("rounds", rounds)],
        paradigm_name: "Coarrays",
        regions: REGIONS,
        window: "coarrays",
        attributes: &["DWELL::SYMMETRIC_OFFSET"],
        groups: &groups,
        ..Program::PLAIN
    };
    schedule::generate(program, plan, directory, progress)
}

/// Writes the events of a rank.
struct Writer<'w> {
    plan: &'w Plan,
    p: u64,
    events: &'w mut EventWriter,
    totals: Totals,
    operations: u64,
}

impl Writer<'_> {
    fn write(mut self, barriers: &[[Collective; 2]]) -> otf2::Result<Totals> {
        for (phase, &[before, after]) in (0..).zip(barriers) {
            self.synchronise(phase, When::Before, before)?;
            for get in self.plan.gets(self.p, phase) {
                get.write(GET, HALO, MatchingId(self.operations), self.events)?;
                self.operations += 1;
                self.totals.gets += 1;
                self.totals.bytes_get += HALO;
            }
            self.synchronise(phase, When::After, after)?;
        }
        Ok(self.totals)
    }

    fn synchronise(&mut self, phase: u64, when: When, all: Collective) -> otf2::Result<()> {
        let (plan, p) = (self.plan, self.p);
        let enter = plan.enter(p, phase, when);
        let partners = plan.partners(p, phase);
        match Plan::way(phase) {
            Way::All => {
                let end = all.last_enter + RELEASE + plan.lateness(p, phase, when);
                let span = Span { enter, begin: enter, end };
                span.write_rma_barrier(SYNC_ALL, self.events)?;
                self.totals.collectives += 1;
            }
            Way::Partners => {
                let last = partners.iter().map(|q| plan.enter(*q, phase, when)).max();
                let end = enter.max(last.unwrap_or(0)) + RELEASE;
                let group = GroupRef(FIRST_GROUP + (2 * p + phase % 2) as u32);
                let sync_level = RmaSyncLevel::PROCESS;
                self.events.write(Time(enter), Enter { region: SYNC_IMAGES })?;
                let record = RmaGroupSync { sync_level, win: WINDOW, group };
                self.events.write(Time(end - INSIDE), record)?;
                self.events.write(Time(end), Leave { region: SYNC_IMAGES })?;
            }
            Way::Notifications => self.notify(phase, when, enter, &partners)?,
            Way::Flags => self.flags(phase, when, enter, &partners)?,
        }
        Ok(())
    }

    fn notify(&mut self, phase: u64, when: When, enter: u64, partners: &[u64]) -> otf2::Result<()> {
        let win = WINDOW;
        let mut now = enter;
        for &q in partners {
            let (remote, sync_type) = (Rank(q as u32), RmaSyncType::NotifyOut);
            self.events.write(Time(now), Enter { region: NOTIFY_CALL })?;
            self.events.write(Time(now), RmaSync { win, remote, sync_type })?;
            now += NOTIFY;
            self.events.write(Time(now), Leave { region: NOTIFY_CALL })?;
        }
        for &q in partners {
            let (remote, sync_type) = (Rank(q as u32), RmaSyncType::NotifyIn);
            self.events.write(Time(now), Enter { region: NOTIFY_WAIT })?;
            now = now.max(self.plan.told(q, self.p, phase, when)) + RELEASE;
            self.events.write(Time(now), RmaSync { win, remote, sync_type })?;
            self.events.write(Time(now), Leave { region: NOTIFY_WAIT })?;
        }
        Ok(())
    }

    /// Synchronises by flags. Each flag has an address of its own for its partner and synchronisation.
    fn flags(&mut self, phase: u64, when: When, enter: u64, partners: &[u64]) -> otf2::Result<()> {
        let win = WINDOW;
        let number = 2 * phase + when as u64;
        let offset = |from: u64| 8 * (number * self.plan.ranks + from);
        let mut now = enter;
        for &q in partners {
            let (remote, matching_id) = (Rank(q as u32), MatchingId(self.operations));
            self.operations += 1;
            let put = RmaPut { win, remote, bytes: 8, matching_id };
            let value = AttributeValue::Uint64(offset(self.p));
            let attributes = [Attribute { attribute: OFFSET, value }];
            self.events.write(Time(now), Enter { region: PUT_FLAG })?;
            self.events.write_with(Time(now + INSIDE), List::from(&attributes[..]), put)?;
            now += NOTIFY;
            self.events.write(Time(now), RmaOpCompleteBlocking { win, matching_id })?;
            self.events.write(Time(now), Leave { region: PUT_FLAG })?;
            self.totals.puts += 1;
            self.totals.bytes_put += 8;
        }
        for &q in partners {
            let attributes =
                [Attribute { attribute: OFFSET, value: AttributeValue::Uint64(offset(q)) }];
            self.events.write(Time(now), Enter { region: WAIT_FLAG })?;
            let record = RmaWaitChange { win };
            self.events.write_with(Time(now), List::from(&attributes[..]), record)?;
            now = now.max(self.plan.told(q, self.p, phase, when)) + RELEASE;
            self.events.write(Time(now), Leave { region: WAIT_FLAG })?;
        }
        Ok(())
    }
}
