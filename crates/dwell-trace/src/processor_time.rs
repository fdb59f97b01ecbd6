//! Time that processes spent on cores, and ready to run without one.
//!
//! The recorder states both for each process that ended well. They tell processes that wait for each other from
//! processes that share cores: a wait of the second kind is nobody's fault but that of the launch.

use dwell_model::archive::{TIME_ON_CORE, TIME_READY};
use otf2::read::Definitions;
use otf2::{AttributeValue, Definition};

use crate::time::Duration;

/// Times of all processes of a run that state them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorTime {
    /// Time that all their threads spent on cores.
    pub on_core: Duration,
    /// Time in which threads were ready to run but had no core. `None` if no process states it.
    pub ready: Option<Duration>,
}

/// Returns the times of all processes together, or `None` if no process states its time on cores, as in archives of
/// other tools.
pub fn of(defs: &Definitions) -> Option<ProcessorTime> {
    let mut sum = ProcessorTime::default();
    let mut is_known = false;
    for definition in defs.iter() {
        let Definition::LocationGroupProperty(it) = definition else { continue };
        let AttributeValue::Uint64(nanoseconds) = it.value.0 else { continue };
        match defs.string(it.name).and_then(otf2::Str::to_str) {
            Some(TIME_ON_CORE) => {
                is_known = true;
                sum.on_core.0 = sum.on_core.0.saturating_add(nanoseconds);
            }
            Some(TIME_READY) => {
                let ready = sum.ready.get_or_insert_default();
                ready.0 = ready.0.saturating_add(nanoseconds);
            }
            _ => {}
        }
    }
    is_known.then_some(sum)
}
