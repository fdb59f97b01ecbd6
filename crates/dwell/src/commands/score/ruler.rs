//! Measures the size of records by writing them to a scratch chunk.

use dwell_analyze::Calls;
use dwell_model::archive::{Meaning, SMALL};
use dwell_model::layer::Ranks;
use dwell_model::operation::{Mode, Operation};
use otf2::encode::{EncodeError, Encoder};
use otf2::enums::{
    CollectiveOp, CollectiveRoot, LockType, RmaAtomicType, RmaSyncLevel, RmaSyncType,
};
use otf2::event::{
    AnyEvent, Enter, Leave, Metric, MpiCollectiveBegin, MpiCollectiveEnd, MpiIrecv,
    MpiIrecvRequest, MpiIsend, MpiIsendComplete, MpiRecv, MpiSend, ParameterInt, RmaAcquireLock,
    RmaAtomic, RmaCollectiveBegin, RmaCollectiveEnd, RmaGet, RmaOpCompleteBlocking,
    RmaOpCompleteNonBlocking, RmaOpCompleteRemote, RmaPut, RmaReleaseLock, RmaRequestLock, RmaSync,
    RmaWaitChange,
};
use otf2::id::{
    AttributeRef, CallingContextRef, CommRef, LockId, MatchingId, MetricRef, ParameterRef, Rank,
    RegionRef, RequestId, RmaWinRef, Time,
};
use otf2::value::MetricValue;
use otf2::{Attribute, AttributeValue, List};

/// Average properties of the calls of a location.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Typical {
    operations: u64,
    /// Number of operations that a later call completes; `completing` counts the calls that complete outstanding
    /// operations.
    outstanding: u64,
    completing: u64,
}

impl Typical {
    pub(super) fn add(&mut self, call: &Calls<'_>) {
        let [puts, gets, atomics, ..] = call.counts;
        let Some(meaning) = Meaning::parse(call.description) else { return };
        self.operations += puts + gets + atomics;
        let is_complete = meaning.layer.ranks() == Ranks::Own
            && meaning.mode == Mode::Blocking
            && match meaning.operation {
                Operation::Get => true,
                Operation::Atomic(which) => which.fetches(),
                _ => false,
            };
        self.outstanding += if is_complete { 0 } else { puts + gets + atomics };
        self.completing += if meaning.completes_remote { call.visits } else { 0 };
    }

    /// Returns a typical number of an operation. They are counted from 0, so the mean is half of the last.
    fn id(&self) -> u64 {
        self.operations / 2
    }

    /// Returns the estimated number of these calls that complete operations. All of them together are not more than the
    /// operations to complete.
    fn complete(&self, visits: u64) -> u64 {
        let share = self.outstanding as f64 / self.completing.max(1) as f64;
        (visits as f64 * share.min(1.0)) as u64
    }
}

/// Encoder that measures records.
pub(super) struct Ruler {
    encoder: Encoder<Vec<u8>>,
    time: u64,
}

/// A typical address in the symmetric heap.
const OFFSET: u64 = 1 << 20;
/// Ids that the recorder gives to its attributes.
const SITE: AttributeRef = AttributeRef(0);
const PLACE: AttributeRef = AttributeRef(1);
const SEQUENCE: AttributeRef = AttributeRef(3);

impl Ruler {
    pub(super) fn new() -> Self {
        let chunk = vec![0; otf2::chunk::MIN_SIZE as usize];
        // A chunk of the least size can be begun.
        let encoder = Encoder::new(chunk).unwrap_or_else(|error| unreachable!("{error}"));
        Self { encoder, time: 1 << 40 }
    }

    /// Returns the number of bytes that `write` adds to the chunk.
    fn written(
        &mut self,
        write: impl FnOnce(&mut Encoder<Vec<u8>>, Time) -> Result<(), EncodeError>,
    ) -> u64 {
        if self.encoder.used() > otf2::chunk::MIN_SIZE as usize / 2 {
            *self = Self { time: self.time, ..Self::new() };
        }
        let before = self.encoder.used();
        // There is always room for one more record.
        let _ = write(&mut self.encoder, Time(self.time));
        (self.encoder.used() - before) as u64
    }

    /// Returns the size of a record that is the first at its time.
    fn first(&mut self, event: impl AnyEvent, tag: Option<Attribute>) -> u64 {
        self.time += 1;
        self.written(|out, time| match tag {
            Some(tag) => out.write_tagged(time, tag, event),
            None => out.write(time, event),
        })
    }

    /// Returns the size of a record that has the same time as the record before it.
    fn at_same_time(&mut self, event: impl AnyEvent + Copy, tag: Option<Attribute>) -> u64 {
        // A record that advances the time.
        self.first(Leave { region: RegionRef(0) }, None);
        self.written(|out, time| match tag {
            Some(tag) => out.write_tagged(time, tag, event),
            None => out.write(time, event),
        })
    }

    /// Returns the size in bytes of the records of all calls on a call path.
    pub(super) fn calls(&mut self, call: &Calls<'_>, typical: &Typical) -> u64 {
        let value = [MetricValue::real(0.1)];
        let metric = Metric { metric: MetricRef(0), values: List::from(value.as_slice()) };
        let values = if call.values > 0 { call.values * self.first(metric, None) } else { 0 };
        if call.is_parameter {
            let parameter = ParameterRef(0);
            return values + call.visits * self.first(ParameterInt { parameter, value: 100 }, None);
        }
        values + self.records(call, typical)
    }

    /// Returns the size in bytes of the records of all calls on a call path, except those with values of counters.
    fn records(&mut self, call: &Calls<'_>, typical: &Typical) -> u64 {
        let id = typical.id();
        let (region, site) = (RegionRef(call.local.0), call.local.1);
        let site = site.map(|site| Attribute {
            attribute: SITE,
            value: AttributeValue::CallingContext(CallingContextRef(site)),
        });
        let around = self.first(Enter { region }, site) + self.first(Leave { region }, None);
        let Some(meaning) = Meaning::parse(call.description) else { return call.visits * around };
        call.visits * (around + self.each(&meaning, id))
            + self.completions(&meaning, call, typical)
            + self.operations(&meaning, call, id)
            + self.messages(&meaning, call, id)
            + self.collectives(&meaning, call)
    }

    /// Returns the size of the records that every call of a function has.
    fn each(&mut self, meaning: &Meaning, id: u64) -> u64 {
        let (win, remote) = (RmaWinRef(0), Rank(1));
        let (lock_type, lock_id) = (LockType::Exclusive, LockId(OFFSET));
        let place = Some(number(PLACE, OFFSET));
        let mpi = meaning.layer.has_messages();
        match meaning.operation {
            Operation::Signal => {
                let sync_type = RmaSyncType::NotifyOut;
                self.at_same_time(RmaSync { win, remote, sync_type }, place)
            }
            Operation::WaitChange => self.at_same_time(RmaWaitChange { win }, place),
            Operation::Lock => {
                let asked = RmaRequestLock { win, remote, lock_id, lock_type };
                let got = RmaAcquireLock { win, remote, lock_id, lock_type };
                self.at_same_time(asked, None) + if mpi { 0 } else { self.at_same_time(got, None) }
            }
            Operation::Unlock => self.at_same_time(RmaReleaseLock { win, remote, lock_id }, None),
            Operation::Receive if meaning.mode != Mode::Blocking => {
                self.at_same_time(MpiIrecvRequest { request_id: RequestId(id) }, None)
            }
            _ => 0,
        }
    }

    /// Returns the size of the records of calls that complete operations of other calls.
    fn completions(&mut self, meaning: &Meaning, call: &Calls<'_>, typical: &Typical) -> u64 {
        if !meaning.completes_remote {
            return 0;
        }
        let (win, matching_id) = (RmaWinRef(0), MatchingId(typical.id()));
        let mut bytes = self.at_same_time(RmaOpCompleteRemote { win, matching_id }, None);
        if meaning.layer.has_messages() {
            bytes += self.at_same_time(RmaOpCompleteNonBlocking { win, matching_id }, None);
        }
        typical.complete(call.visits) * bytes
    }

    /// Returns the size of the records of one-sided operations.
    fn operations(&mut self, meaning: &Meaning, call: &Calls<'_>, id: u64) -> u64 {
        let [puts, gets, atomics, sent, received, ..] = call.counts;
        let (win, remote, matching_id) = (RmaWinRef(0), Rank(1), MatchingId(id));
        let shmem = meaning.layer.ranks() == Ranks::Own;
        let place = shmem.then(|| number(PLACE, OFFSET));
        let bytes = mean(sent, puts);
        let put = RmaPut { win, remote, bytes, matching_id };
        let get = RmaGet { win, remote, bytes: mean(received, gets), matching_id };
        let (bytes_sent, bytes_received) = (mean(sent, atomics), mean(received, atomics));
        let kind = RmaAtomicType::Accumulate;
        let atomic = RmaAtomic { win, remote, kind, bytes_sent, bytes_received, matching_id };
        let complete = RmaOpCompleteBlocking { win, matching_id };
        let blocking = shmem && meaning.mode == Mode::Blocking;
        let completion = if blocking { self.at_same_time(complete, None) } else { 0 };
        puts * self.at_same_time(put, place.filter(|_| bytes <= SMALL))
            + gets * self.at_same_time(get, None)
            + atomics * self.at_same_time(atomic, place)
            + (puts + gets + atomics) * completion
    }

    /// Returns the size of the records of messages.
    fn messages(&mut self, meaning: &Meaning, call: &Calls<'_>, id: u64) -> u64 {
        let [.., sends, receives, sent, received, _] = call.counts;
        let (communicator, request_id, msg_tag) = (CommRef(0), RequestId(id), 1);
        let partner = Rank(1);
        let waits = matches!(meaning.operation, Operation::WaitHandle | Operation::TestHandle);
        let mut bytes = 0;
        if sends > 0 {
            let (receiver, msg_length) = (partner, mean(sent, sends));
            bytes += sends
                * if meaning.mode == Mode::Blocking {
                    self.at_same_time(MpiSend { receiver, communicator, msg_tag, msg_length }, None)
                } else {
                    let event =
                        MpiIsend { receiver, communicator, msg_tag, msg_length, request_id };
                    self.at_same_time(event, None)
                };
        }
        if receives > 0 {
            let (sender, msg_length) = (partner, mean(received, receives));
            bytes += receives
                * if waits {
                    let event = MpiIrecv { sender, communicator, msg_tag, msg_length, request_id };
                    self.at_same_time(event, None)
                } else {
                    self.at_same_time(MpiRecv { sender, communicator, msg_tag, msg_length }, None)
                };
        }
        if waits && meaning.layer.has_messages() {
            // Requests that were waited for and are not receives are sends.
            let rest = call.visits.saturating_sub(receives);
            bytes += rest * self.at_same_time(MpiIsendComplete { request_id }, None);
        }
        bytes
    }

    /// Returns the size of the records of collectives.
    fn collectives(&mut self, meaning: &Meaning, call: &Calls<'_>) -> u64 {
        let [.., collectives] = call.counts;
        let (collective_op, root) = (CollectiveOp::Allreduce, CollectiveRoot::None);
        let sequence = Some(number(SEQUENCE, call.visits / 2));
        collectives
            * if meaning.layer.has_messages() {
                let (communicator, size_sent, size_received) = (CommRef(0), 1 << 10, 1 << 10);
                let end = MpiCollectiveEnd {
                    collective_op,
                    communicator,
                    root,
                    size_sent,
                    size_received,
                };
                self.at_same_time(MpiCollectiveBegin {}, None) + self.at_same_time(end, sequence)
            } else {
                let sync_level = RmaSyncLevel::PROCESS | RmaSyncLevel::MEMORY;
                let (win, bytes_sent, bytes_received) = (RmaWinRef(0), 0, 0);
                let end = RmaCollectiveEnd {
                    collective_op,
                    sync_level,
                    win,
                    root,
                    bytes_sent,
                    bytes_received,
                };
                self.at_same_time(RmaCollectiveBegin {}, None) + self.at_same_time(end, sequence)
            }
    }
}

fn mean(sum: u64, count: u64) -> u64 {
    sum.checked_div(count).unwrap_or(0)
}

fn number(attribute: AttributeRef, number: u64) -> Attribute {
    Attribute { attribute, value: AttributeValue::Uint64(number) }
}
