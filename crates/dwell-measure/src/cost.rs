//! The cost of recording a call, measured on the machine and at the time where it is asked for.

use std::time::Instant;

use otf2::encode::Encoder;
use otf2::event::{Enter, Leave, RmaGet, RmaOpCompleteBlocking};
use otf2::id::{AttributeRef, CallingContextRef, MatchingId, Rank, RegionRef, RmaWinRef, Time};
use otf2::{Attribute, AttributeValue};

use crate::clock::{Clock, Source};

/// Number of calls that are tried.
const CALLS: u32 = 5_000;

/// Returns the nanoseconds that it takes to read the clock twice and write the events of one blocking get.
pub(crate) fn of_a_call() -> f64 {
    let mut memory = vec![0; otf2::chunk::EVENTS_SIZE as usize];
    let clock = Clock::start(Source::best());
    let Ok(mut encoder) = Encoder::new(memory.as_mut_slice()) else { return 0.0 };
    let began = Instant::now();
    for call in 0..CALLS {
        let (win, matching_id) = (RmaWinRef(0), MatchingId(call.into()));
        let value = AttributeValue::CallingContext(CallingContextRef(call % 64));
        let site = Attribute { attribute: AttributeRef(0), value };
        let time = Time(clock.now());
        let region = RegionRef(call % 8);
        let _ = encoder.write_tagged(time, site, Enter { region });
        let _ = encoder.write(time, RmaGet { win, remote: Rank(call % 64), bytes: 8, matching_id });
        let time = Time(clock.now());
        let _ = encoder.write(time, RmaOpCompleteBlocking { win, matching_id });
        let _ = encoder.write(time, Leave { region });
    }
    began.elapsed().as_nanos() as f64 / f64::from(CALLS)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_call_costs_something_and_not_much() {
        let cost = super::of_a_call();
        // On a busy machine, and under an emulator, it is much more than on others.
        assert!(cost > 1.0 && cost < 10_000_000.0, "{cost}");
    }
}
