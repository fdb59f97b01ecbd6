//! Messages around a ring, sent and received in five ways.
//!
//! Ranks form a ring. In each step a rank p computes, sends to its right neighbour r and receives from its left
//! neighbour l; the five ways take turns. Every [`BARRIER_EVERY`] steps a barrier ends the step.
//!
//! # The schedule
//!
//! Times are nanoseconds. Step j begins at T(j). A rank computes for random a, b, c, each at least 0 and less than
//! [`DELAY`], and is ready at A(p) = T(j) + a. It enters the call that sends at S(p), and the one that posts the
//! receive at R(p). A call that posts takes [`POST`]. Calls follow one another, with b and c between them:
//!
//! | way | calls of a rank |
//! |---|---|
//! | eager | `MPI_Send`, S = A. `MPI_Recv`, R = A + [`SEND`] + b |
//! | rendezvous, even rank | `MPI_Send`, S = A. `MPI_Recv`, R = end of the send + c |
//! | rendezvous, odd rank | `MPI_Recv`, R = A. `MPI_Send`, S = end of the receive + c |
//! | posted | `MPI_Irecv`, R = A. `MPI_Send`, S = A + [`POST`] + b. `MPI_Waitall`, W = end of the send + c |
//! | non-blocking | `MPI_Irecv` from l, then from r, R = A. `MPI_Isend` to r at S = A + 2 [`POST`] + b, to l at S' = S + [`POST`]. `MPI_Waitall`, W = S' + [`POST`] + c |
//! | crossed | `MPI_Send` twice, S = A, S' = A + [`SEND`] + b. `MPI_Recv` of the second, R' = S' + [`SEND`] + c, then of the first, R = end of that |
//!
//! Large messages (rendezvous, posted) wait for the receiver: the send ends at max(S(p), R(r)) + [`TRANSFER`]. Small
//! ones (eager, crossed) do not: it ends at S(p) + [`SEND`]. A receive, or the call that completes it, ends
//! [`TRANSFER`] after its enter or after the last enter of a call that sends to it, whichever is later.
//!
//! A rendezvous depends on the next neighbours only: even ranks send to odd ones that receive first. In a ring of odd
//! length rank 0 follows an even rank, which makes a chain of three messages and no more.
//!
//! # The answer
//!
//! * `late_sender`: the sum of max(0, S(l) - R(p)) over the receives that block, and of max(0, last S of those that
//!   send to it - W(p)) over the calls that complete others.
//! * `late_sender_wrong_order`: the share of the receives of second messages (crossed) in `late_sender`: the first
//!   message was sent before, and is received later. In all other ways no other message is in flight to p.
//! * `late_receiver`: the sum of R(r) - S(p) over the sends that block, where the receive was posted inside the send:
//!   S(p) < R(r) < its end. Small messages have it too, if the receive happens to be posted within [`SEND`]; first
//!   messages (crossed) never, as R(r) > S'(p).
//! * `barrier_wait`: the last enter less the own. `barrier_completion`: own lateness less the least.

use std::path::Path;

use otf2::enums::{CollectiveOp, Paradigm};
use otf2::event::{
    Enter, Event, Leave, MpiIrecv, MpiIrecvRequest, MpiIsend, MpiIsendComplete, MpiRecv, MpiSend,
};
use otf2::id::{Rank, RegionRef, RequestId, Time};
use otf2::write::EventWriter;

use crate::calls::{Collective, INSIDE, Span};
use crate::progress::Progress;
use crate::rng;
use crate::schedule::{self, Schedule};
use crate::truth::{Severities, Totals, Truth};
use crate::world::{Program, WORLD, regions};

/// Nanoseconds from the beginning of one step to that of the next, T(j + 1) - T(j). All calls of a step fit into it.
pub const STEP: u64 = 200_000;
/// Upper bound of the random times of computation a, b and c in nanoseconds. Every one of them is less than this.
pub const DELAY: u64 = 40_000;
/// Nanoseconds that a receive takes once the message has been sent. A send that waits for its receiver takes as long
/// after the receive was posted.
pub const TRANSFER: u64 = 1_500;
/// Nanoseconds of a send that does not wait for its receiver, because the runtime buffers the message.
pub const SEND: u64 = 1_000;
/// Nanoseconds that a non-blocking call takes: `MPI_Isend` or `MPI_Irecv`. It does not depend on any other rank.
pub const POST: u64 = 200;
/// Number of steps from one barrier to the next. Steps whose number, counted from 1, is a multiple of this end with a
/// barrier.
pub const BARRIER_EVERY: u64 = 4;
/// Nanoseconds from the beginning of a step to the earliest enter of its barrier. All messages of the step have arrived
/// by then.
pub const BARRIER: u64 = 150_000;
/// Upper bound, in nanoseconds, of the random time by which a barrier ends later than it could.
pub const COMPLETION: u64 = 2_000;

/// Nanoseconds that a barrier takes after the last process has arrived.
const RELEASE: u64 = 700;
/// Bytes of messages that do not wait for the receiver, and of those that do. Once the receive is posted, these need no
/// other process: the analysis asks larger ones for the progress of their partner as well.
const SMALL: u64 = 1 << 10;
const LARGE: u64 = 1 << 18;

const _: () =
    assert!(3 * (DELAY + TRANSFER + SEND) < BARRIER, "messages must end before a barrier");
const _: () = assert!(BARRIER + DELAY + RELEASE + COMPLETION + INSIDE < STEP, "so must a step");

/// Options of [`generate`]. Together they determine every byte of the archive. Two of the five ways send two messages a
/// rank, the others one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Number of ranks, at least 2. With two ranks both neighbours of a rank are the same process.
    pub ranks: u64,
    /// Number of steps. In each, every rank sends one or two messages, in the next of the five ways. Take a multiple of
    /// five to have all ways equally often.
    pub steps: u64,
    /// Seed of the random delays. Another seed gives another archive with other severities.
    pub seed: u64,
}

regions! {
    SEND_CALL = 1 "MPI_Send" Point2point "";
    RECV = 2 "MPI_Recv" Point2point "";
    ISEND = 3 "MPI_Isend" Point2point "";
    IRECV = 4 "MPI_Irecv" Point2point "";
    WAITALL = 5 "MPI_Waitall" Point2point "";
    BARRIER_CALL = 6 "MPI_Barrier" Barrier "";
}

/// The five ways to send and receive.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Eager,
    Rendezvous,
    Posted,
    NonBlocking,
    Crossed,
}

/// A call of a rank, with its records and the waits that the formulas give it.
struct Call {
    region: RegionRef,
    enter: u64,
    leave: u64,
    /// Records at the beginning of the call, and those at its end.
    records: [Vec<Event<'static>>; 2],
    waits: Severities,
}

/// One rank in one step, from which all its times follow.
#[derive(Clone, Copy)]
struct Turn<'p> {
    plan: &'p Plan,
    p: u64,
    step: u64,
}

struct Plan {
    ranks: u64,
    steps: u64,
    seed: u64,
}

impl Turn<'_> {
    fn way(self) -> Way {
        [Way::Eager, Way::Rendezvous, Way::Posted, Way::NonBlocking, Way::Crossed]
            [(self.step % 5) as usize]
    }

    fn left(self) -> Self {
        Self { p: (self.p + self.plan.ranks - 1) % self.plan.ranks, ..self }
    }

    fn right(self) -> Self {
        Self { p: (self.p + 1) % self.plan.ranks, ..self }
    }

    /// Returns the length of one of the rank's computations, a, b or c.
    fn computes(self, which: u64) -> u64 {
        rng::at(self.plan.seed, [self.p, self.step, which]) % DELAY
    }

    /// Returns A(p), the time at which the rank is ready to communicate.
    fn ready(self) -> u64 {
        Plan::begin(self.step) + self.computes(0)
    }

    /// Returns `true` if the rank sends before it receives in a rendezvous.
    fn is_even(self) -> bool {
        self.p.is_multiple_of(2)
    }

    /// Returns S(p), or S'(p) for message 1: the time at which the rank enters the call that sends.
    fn send(self, message: u64) -> u64 {
        let (ready, pause) = (self.ready(), self.computes(1));
        match self.way() {
            Way::Eager | Way::Crossed => ready + message * (SEND + pause),
            Way::Rendezvous if self.is_even() => ready,
            Way::Rendezvous => self.received(0) + self.computes(2),
            Way::Posted => ready + POST + pause,
            Way::NonBlocking => ready + 2 * POST + pause + message * POST,
        }
    }

    /// Returns the end of a blocking send.
    fn sent(self, message: u64) -> u64 {
        match self.way() {
            Way::Rendezvous | Way::Posted => {
                self.send(message).max(self.right().post(message)) + TRANSFER
            }
            Way::Eager | Way::Crossed | Way::NonBlocking => self.send(message) + SEND,
        }
    }

    /// Returns R(p), or R'(p) for message 1: the time at which the rank enters the call that posts the receive.
    fn post(self, message: u64) -> u64 {
        match self.way() {
            Way::Eager => self.sent(0) + self.computes(1),
            Way::Rendezvous if self.is_even() => self.sent(0) + self.computes(2),
            Way::Crossed if message == 1 => self.sent(1) + self.computes(2),
            Way::Crossed => self.received(1),
            Way::Posted | Way::Rendezvous => self.ready(),
            Way::NonBlocking => self.ready() + message * POST,
        }
    }

    /// Returns the end of a blocking receive.
    fn received(self, message: u64) -> u64 {
        self.post(message).max(self.left().send(message)) + TRANSFER
    }

    /// Returns the calls of the rank in this step, in their order, without the barrier.
    fn calls(self) -> Vec<Call> {
        match self.way() {
            Way::Eager => vec![self.blocking_send(0), self.blocking_receive(0)],
            Way::Rendezvous if self.is_even() => {
                vec![self.blocking_send(0), self.blocking_receive(0)]
            }
            Way::Rendezvous => vec![self.blocking_receive(0), self.blocking_send(0)],
            Way::Posted => {
                let wait = self.sent(0) + self.computes(2);
                vec![self.irecv(0), self.blocking_send(0), self.wait(wait, &[self.left()], 0)]
            }
            Way::NonBlocking => {
                let (l, r) = (self.left(), self.right());
                let wait = self.send(1) + POST + self.computes(2);
                let wait = self.wait(wait, &[l, r], 2);
                vec![self.irecv(0), self.irecv(1), self.isend(0, r), self.isend(1, l), wait]
            }
            Way::Crossed => {
                let (first, second) = (self.blocking_send(0), self.blocking_send(1));
                vec![first, second, self.blocking_receive(1), self.blocking_receive(0)]
            }
        }
    }

    fn bytes(self) -> u64 {
        if matches!(self.way(), Way::Rendezvous | Way::Posted) { LARGE } else { SMALL }
    }

    /// Returns the id of a request. Requests 0 and 1 of a step receive, 2 and 3 send.
    fn request(self, number: u64) -> RequestId {
        RequestId(4 * self.step + number)
    }

    fn blocking_send(self, message: u64) -> Call {
        let (enter, leave) = (self.send(message), self.sent(message));
        let posted = self.right().post(message);
        let late_receiver = if enter < posted && posted < leave { posted - enter } else { 0 };
        let record = MpiSend {
            receiver: self.right().rank(),
            communicator: WORLD,
            msg_tag: message as u32,
            msg_length: self.bytes(),
        };
        let waits = Severities { late_receiver, ..Severities::default() };
        Call { region: SEND_CALL, enter, leave, records: [vec![record.into()], vec![]], waits }
    }

    fn blocking_receive(self, message: u64) -> Call {
        let (enter, leave) = (self.post(message), self.received(message));
        let late_sender = self.left().send(message).saturating_sub(enter);
        let late_sender_wrong_order = if message == 1 { late_sender } else { 0 };
        let record = MpiRecv {
            sender: self.left().rank(),
            communicator: WORLD,
            msg_tag: message as u32,
            msg_length: self.bytes(),
        };
        let waits = Severities { late_sender, late_sender_wrong_order, ..Severities::default() };
        Call { region: RECV, enter, leave, records: [vec![], vec![record.into()]], waits }
    }

    fn irecv(self, message: u64) -> Call {
        let record = MpiIrecvRequest { request_id: self.request(message) };
        self.at_once(IRECV, self.post(message), record.into())
    }

    fn isend(self, message: u64, to: Self) -> Call {
        let record = MpiIsend {
            receiver: to.rank(),
            communicator: WORLD,
            msg_tag: message as u32,
            msg_length: self.bytes(),
            request_id: self.request(2 + message),
        };
        self.at_once(ISEND, self.send(message), record.into())
    }

    fn at_once(self, region: RegionRef, enter: u64, record: Event<'static>) -> Call {
        let (leave, waits) = (enter + POST, Severities::default());
        Call { region, enter, leave, records: [vec![record], vec![]], waits }
    }

    /// Returns the call that completes this number of sends, and a message from each of these ranks.
    fn wait(self, enter: u64, from: &[Self], sends: u64) -> Call {
        let complete = |number| MpiIsendComplete { request_id: self.request(2 + number) }.into();
        let receive = |(message, from): (u64, &Self)| {
            MpiIrecv {
                sender: from.rank(),
                communicator: WORLD,
                msg_tag: message as u32,
                msg_length: self.bytes(),
                request_id: self.request(message),
            }
            .into()
        };
        let last = (0..).zip(from).map(|(message, from)| from.send(message)).max().unwrap_or(0);
        let records = (0..sends).map(complete).chain((0..).zip(from).map(receive)).collect();
        let (leave, late_sender) = (enter.max(last) + TRANSFER, last.saturating_sub(enter));
        let waits = Severities { late_sender, ..Severities::default() };
        Call { region: WAITALL, enter, leave, records: [vec![], records], waits }
    }

    fn rank(self) -> Rank {
        Rank(self.p as u32)
    }

    fn enters_barrier(self) -> u64 {
        Plan::begin(self.step) + BARRIER + self.computes(3)
    }

    fn lateness(self) -> u64 {
        rng::at(self.plan.seed, [self.p, self.step, 4]) % COMPLETION
    }
}

/// The barrier of a step, if the step has one.
type Barrier = Option<Collective>;

impl Plan {
    fn begin(step: u64) -> u64 {
        STEP * (step + 1)
    }

    fn turn(&self, p: u64, step: u64) -> Turn<'_> {
        Turn { plan: self, p, step }
    }
}

impl Schedule for Plan {
    type Step = Barrier;

    fn duration(&self) -> u64 {
        Self::begin(self.steps) + STEP
    }

    fn steps(&self) -> Vec<Barrier> {
        let of = |step: u64| {
            let enter = |p| self.turn(p, step).enters_barrier();
            Collective::of(self.ranks, enter, |p| self.turn(p, step).lateness())
        };
        let has = |step: u64| (step + 1).is_multiple_of(BARRIER_EVERY);
        (0..self.steps).map(|step| has(step).then(|| of(step))).collect()
    }

    fn severities(&self, p: u64, barriers: &[Barrier]) -> Severities {
        let mut sum = Severities::default();
        for (step, barrier) in (0..).zip(barriers) {
            let turn = self.turn(p, step);
            turn.calls().iter().for_each(|call| sum += call.waits);
            if let Some(all) = barrier {
                sum.barrier_wait += all.last_enter - turn.enters_barrier();
                sum.barrier_completion += turn.lateness() - all.least_lateness;
            }
        }
        sum
    }

    fn write(
        &self,
        p: u64,
        barriers: &[Barrier],
        events: &mut EventWriter,
    ) -> otf2::Result<Totals> {
        let mut totals = Totals::default();
        for (step, barrier) in (0..).zip(barriers) {
            let turn = self.turn(p, step);
            for Call { region, enter, leave, records: [first, last], .. } in turn.calls() {
                events.write(Time(enter), Enter { region })?;
                for record in first {
                    if matches!(record, Event::MpiSend(_) | Event::MpiIsend(_)) {
                        totals.messages += 1;
                        totals.bytes_sent += turn.bytes();
                    }
                    events.write(Time(enter + INSIDE), record)?;
                }
                for record in last {
                    events.write(Time(leave - INSIDE), record)?;
                }
                events.write(Time(leave), Leave { region })?;
            }
            if let Some(all) = barrier {
                let enter = turn.enters_barrier();
                let end = all.last_enter + RELEASE + turn.lateness();
                let span = Span { enter, begin: enter, end };
                span.write_mpi(BARRIER_CALL, CollectiveOp::Barrier, 0, events)?;
                totals.collectives += 1;
            }
        }
        Ok(totals)
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
    let Options { ranks, steps, seed } = *options;
    let plan = &Plan { ranks, steps, seed };
    let program = Program {
        kind: "ring",
        description: "ring of messages, synthetic",
        ranks,
        seed,
        options: &[("steps", steps)],
        paradigm: Paradigm::Mpi,
        paradigm_name: "MPI",
        regions: REGIONS,
        ..Program::PLAIN
    };
    schedule::generate(program, plan, directory, progress)
}
