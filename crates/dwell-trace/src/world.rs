//! Data that is the same for every process: definitions, options, and the conversion of ticks to nanoseconds.

use std::collections::BTreeSet;

use dwell_model::archive;
use dwell_model::layer::Layer;
use otf2::id::{AttributeRef, ParameterRef, RmaWinRef};
use otf2::read::Definitions;
use otf2::{Anchor, Attribute, AttributeValue, Definition, List};
use serde::{Deserialize, Serialize};

use crate::contexts::Contexts;
use crate::counters::Counters;
use crate::ids::{LocationNumber, ProcessNumber};
use crate::memory::static_memory;
use crate::roles::{LeftOut, Roles};
use crate::system::System;
use crate::text;
use crate::time::{Duration, Time};

/// Converts timestamps of the archive to nanoseconds since its beginning.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Clock {
    offset: u64,
    /// Ticks of a second.
    resolution: u64,
    /// Nanoseconds of a tick in parts of 2^64, rounded down, so that every event takes a multiplication and not a
    /// division; 0 if a tick is longer than a nanosecond.
    factor: u64,
}

const NANOSECONDS: u64 = 1_000_000_000;

impl Clock {
    /// Reads the clock properties of an archive. Without them, a tick is a nanosecond and the offset is 0.
    pub fn of(defs: &Definitions) -> Self {
        let clock = defs.clock();
        let offset = clock.map_or(0, |clock| clock.global_offset);
        Self::new(offset, clock.map_or(NANOSECONDS, |clock| clock.timer_resolution))
    }

    fn new(offset: u64, resolution: u64) -> Self {
        let resolution = resolution.max(1);
        let factor = (u128::from(NANOSECONDS) << 64) / u128::from(resolution);
        // The remainder of a tick must be below twice the resolution, in 64 bits.
        let fits = resolution <= u64::MAX / 2;
        let factor = u64::try_from(factor).ok().filter(|_| fits).unwrap_or(0);
        Self { offset, resolution, factor }
    }

    /// Converts a time of the archive, which is in ticks. The conversion is monotonic.
    #[inline(always)]
    pub fn time(self, ticks: otf2::id::Time) -> Time {
        let ticks = ticks.0.saturating_sub(self.offset);
        if self.resolution == NANOSECONDS {
            return Time(ticks);
        }
        if self.factor == 0 {
            return self.divided(ticks);
        }
        // Cutting off the factor makes the product less than 1 too small.
        let below = ((u128::from(ticks) * u128::from(self.factor)) >> 64) as u64;
        let product = ticks.wrapping_mul(NANOSECONDS);
        let rest = product.wrapping_sub(below.wrapping_mul(self.resolution));
        Time(below + u64::from(rest >= self.resolution))
    }

    /// Converts ticks that are longer than a nanosecond, which few clocks have.
    #[cold]
    #[inline(never)]
    fn divided(self, ticks: u64) -> Time {
        let exact = u128::from(ticks) * u128::from(NANOSECONDS) / u128::from(self.resolution);
        Time(u64::try_from(exact).unwrap_or(u64::MAX))
    }
}

impl Clock {
    /// Returns the last time of the archive that is not after a point in time.
    pub fn ticks(self, time: Time) -> otf2::id::Time {
        let exact = u128::from(time.0) * u128::from(self.resolution) / u128::from(NANOSECONDS);
        let ticks = u64::try_from(exact).unwrap_or(u64::MAX);
        otf2::id::Time(ticks.saturating_add(self.offset))
    }
}

/// Returns the length of the trace that the definitions promise.
fn length(defs: &Definitions, clock: Clock) -> Duration {
    let Some(promised) = defs.clock() else { return Duration::ZERO };
    let end = promised.global_offset.saturating_add(promised.trace_length);
    clock.time(otf2::id::Time(end)).since(Time::BEGIN)
}

/// References of the attributes that Dwell writes, as this archive defines them.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Attributes {
    /// Attribute of `Enter` with the calling context of the call.
    pub site: Option<AttributeRef>,
    /// Attribute of operations and waits with the offset in symmetric memory that they act on.
    pub offset: Option<AttributeRef>,
    /// Attribute of a put with signal, with the offset of the signal in symmetric memory of the target.
    pub signal: Option<AttributeRef>,
    /// Attribute of the end of a collective with its sequence number on the window or communicator.
    pub sequence: Option<AttributeRef>,
    /// Attribute of events that recovery added where a process ended early or events were damaged.
    pub cut: Option<AttributeRef>,
    /// Attribute of a message with the number of messages before it that were not recorded.
    pub skipped: Option<AttributeRef>,
    /// Attribute of the begin of a neighbourhood collective with the group of the process and its senders.
    pub neighbours: Option<AttributeRef>,
    /// Attribute of `RmaSync` with the checksum by which sender and handler of an active message are matched.
    pub active_message: Option<AttributeRef>,
    /// Attribute of `Leave` with the number of calls that the region represents.
    pub calls: Option<AttributeRef>,
    /// Attribute of `Leave` with the nanoseconds that these calls took together.
    pub time_in_calls: Option<AttributeRef>,
    /// Attribute of `Leave` with the bytes that these calls moved together.
    pub bytes_in_calls: Option<AttributeRef>,
    /// Attribute of a wait for a change with the rank of the process whose memory it is.
    pub owner: Option<AttributeRef>,
    /// Attribute of a sample with the processor time since the sample before, in nanoseconds.
    pub processor_time: Option<AttributeRef>,
    /// Attribute of a sample without a place, with the processor time of a stretch that its samples do not stand for.
    pub unsampled_time: Option<AttributeRef>,
    /// Attribute of such a sample with the nanoseconds in which the thread was ready but had no core.
    pub ready_time: Option<AttributeRef>,
}

impl Attributes {
    /// Finds the attributes by name. Those that the archive does not define are `None`.
    pub fn of(defs: &Definitions) -> Self {
        let mut found = Self::default();
        for definition in defs.iter() {
            let Definition::Attribute(attribute) = definition else { continue };
            let name = defs.string(attribute.name).and_then(otf2::Str::to_str);
            match name {
                Some(archive::CALL_SITE) => found.site = Some(attribute.id),
                Some(archive::SYMMETRIC_OFFSET) => found.offset = Some(attribute.id),
                Some(archive::SIGNAL_OFFSET) => found.signal = Some(attribute.id),
                Some(archive::SEQUENCE) => found.sequence = Some(attribute.id),
                Some(archive::CUT) => found.cut = Some(attribute.id),
                Some(archive::NEIGHBOURS) => found.neighbours = Some(attribute.id),
                Some(archive::ACTIVE_MESSAGE) => found.active_message = Some(attribute.id),
                Some(archive::CALLS) => found.calls = Some(attribute.id),
                Some(archive::TIME_IN_CALLS) => found.time_in_calls = Some(attribute.id),
                Some(archive::BYTES_IN_CALLS) => found.bytes_in_calls = Some(attribute.id),
                Some(archive::OWNER) => found.owner = Some(attribute.id),
                Some(archive::PROCESSOR_TIME) => found.processor_time = Some(attribute.id),
                Some(archive::UNSAMPLED_TIME) => found.unsampled_time = Some(attribute.id),
                Some(archive::READY_TIME) => found.ready_time = Some(attribute.id),
                Some(archive::SKIPPED) => found.skipped = Some(attribute.id),
                _ => {}
            }
        }
        found
    }
}

/// Returns the parameter that holds the number of an instance of a phase.
fn instance(defs: &Definitions) -> Option<ParameterRef> {
    defs.iter().find_map(|definition| match definition {
        Definition::Parameter(it)
            if defs.string(it.name).and_then(otf2::Str::to_str) == Some(archive::INSTANCE) =>
        {
            Some(it.id)
        }
        _ => None,
    })
}

/// Returns an address that is the same for the same memory at all processes, from the offset that a record states. Every
/// window of MPI has offsets of its own, other layers have one address space for all.
pub fn address(layer: Option<Layer>, window: RmaWinRef, offset: u64) -> u64 {
    match layer.is_some_and(Layer::has_messages) {
        true => offset.wrapping_add((u64::from(window.0) + 1) << 48),
        false => offset,
    }
}

/// Returns the value of an attribute, or `None` if it is missing or not a number.
#[inline]
pub fn number(list: List<'_, Attribute>, wanted: Option<AttributeRef>) -> Option<u64> {
    let wanted = wanted?;
    let found = list.iter().find(|attribute| attribute.attribute == wanted)?;
    match found.value {
        AttributeValue::Uint64(value) => Some(value),
        AttributeValue::Uint32(value) => Some(u64::from(value)),
        AttributeValue::Uint8(value) => Some(u64::from(value)),
        AttributeValue::CallingContext(value) => Some(u64::from(value.0)),
        _ => None,
    }
}

/// Data that is the same for every process. One rank reads it from the archive and sends it to the others.
#[derive(Debug, Serialize, Deserialize)]
pub struct World {
    /// Processes, locations, nodes, communicators and windows.
    pub system: System,
    /// Roles of all regions that the archive defines.
    pub roles: Roles,
    /// Conversion of timestamps to nanoseconds since the beginning of the trace.
    pub clock: Clock,
    /// Attributes by which Dwell extends the records of OTF2.
    pub attributes: Attributes,
    /// Parameter that holds the number of an instance of a phase.
    pub instance: Option<ParameterRef>,
    /// Counters of the program, and counters that were sampled.
    pub counters: Counters,
    /// Calling contexts that lead from `main` to each call site; empty if none has a parent.
    pub contexts: Contexts,
    /// Length of the trace and number of its events, as the definitions promise them; 0 if they do not.
    pub length: Duration,
    /// Sum of the numbers of events that the definitions promise for each location.
    pub events: u64,
    /// Layer at which waits are judged; `None` for the outermost that has records.
    #[serde(with = "text")]
    pub layer: Option<Layer>,
    /// True if some calls may or may not progress operations of others.
    pub any_conditional: bool,
    /// Least time of a request between two nodes in nanoseconds; 0 if it is unknown.
    pub between_nodes: Duration,
    /// Least time of a request between two processes of one node in nanoseconds; 0 if it is unknown.
    pub on_node: Duration,
    /// True if calls that may have progressed operations of others are missing, so that it is unknown which call served
    /// which operation.
    pub dark: bool,
    /// Numbers of memories that are static data.
    pub static_memory: BTreeSet<u16>,
}

impl World {
    /// Reads the definitions of an archive and the latencies that its anchor file states. Waits are judged at `layer`,
    /// or at the outermost layer with records if it is `None`.
    pub fn of(anchor: &Anchor, defs: &Definitions, layer: Option<Layer>) -> Self {
        let latency =
            |name| Duration(anchor.property(name).and_then(|text| text.parse().ok()).unwrap_or(0));
        let system = System::of(defs);
        let (roles, clock) = (Roles::of(defs), Clock::of(defs));
        Self {
            length: length(defs, clock),
            events: system.places.iter().map(|place| place.events).sum(),
            clock,
            attributes: Attributes::of(defs),
            instance: instance(defs),
            counters: Counters::of(defs),
            contexts: Contexts::of(defs),
            static_memory: static_memory(defs),
            layer,
            any_conditional: roles.any_conditional(),
            between_nodes: latency(archive::LATENCY),
            on_node: latency(archive::LATENCY_ON_NODE),
            dark: roles.left_out().iter().any(LeftOut::serves),
            system,
            roles,
        }
    }

    /// Returns the process of a location, or [`ProcessNumber::UNKNOWN`] for an unknown location.
    #[inline]
    pub fn process(&self, location: LocationNumber) -> ProcessNumber {
        self.system.process(location)
    }

    /// Returns the least time of a request from one process to another in nanoseconds: half of the shortest round trip
    /// between nodes or on one node, and 0 if the archive does not state it.
    #[inline]
    pub fn latency(&self, from: ProcessNumber, to: ProcessNumber) -> Duration {
        if self.between_nodes == self.on_node || self.system.node(from) != self.system.node(to) {
            return self.between_nodes;
        }
        self.on_node
    }

    /// Returns `true` if two processes are on one node.
    pub fn are_near(&self, one: ProcessNumber, other: ProcessNumber) -> bool {
        self.system.node(one) == self.system.node(other)
    }

    /// Returns the longest least time of a request over all pairs.
    pub fn longest_latency(&self) -> Duration {
        self.between_nodes.max(self.on_node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_a_division() {
        let resolutions =
            [1, 3, 1_000_000, NANOSECONDS, NANOSECONDS + 1, 2_100_013_394, 1 << 40, u64::MAX];
        let mut random = 1_u64;
        for resolution in resolutions {
            let clock = Clock::new(7, resolution);
            let near = [0, 1, 6, 7, 8, NANOSECONDS, resolution / 2, resolution - 1, resolution];
            let next = std::iter::repeat_with(|| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                random >> (random % 40)
            });
            let ends = [u64::MAX, u64::MAX - 1, u64::MAX / 2, 1 << 63];
            for ticks in near.into_iter().chain(ends).chain(next.take(2_000)) {
                let since = u128::from(ticks.saturating_sub(7));
                let exact = since * u128::from(NANOSECONDS) / u128::from(resolution);
                let exact = u64::try_from(exact).unwrap_or(u64::MAX);
                let found = clock.time(otf2::id::Time(ticks));
                assert_eq!(found, Time(exact), "{ticks} of {resolution}");
            }
        }
    }
}
