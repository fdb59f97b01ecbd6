//! Completions of one thread that concern the operations of all threads of its process, such as a quiet of OpenSHMEM.

use std::ops::ControlFlow;

use otf2::Archive;
use otf2::id::RmaWinRef;
use otf2::read::{EventRecord, Visitor};

use crate::ids::{LocationNumber, Ordinal};
use crate::layout::Layout;
use crate::operations::{Calls, Completes};
use crate::record::Record;
use crate::time::Time;

/// A record that completed everything that its process had issued on a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OfAll {
    /// Time of the record.
    pub time: Time,
    /// Location that has the record.
    pub location: LocationNumber,
    /// Window of the operations.
    pub window: RmaWinRef,
}

/// Reads such records of all threads of the process that a location belongs to, in the order of time. A process with one
/// thread has none that concern others, and nothing is read. The events of a damaged location count up to the damage.
pub fn of_process(archive: &Archive, layout: &Layout, location: LocationNumber) -> Vec<OfAll> {
    let threads = layout.siblings(location);
    let mut list = Vec::new();
    if !layout.is_alone(location) {
        for location in LocationNumber::all(threads) {
            let Some(id) = layout.id(location) else { continue };
            let Ok(mut reader) = archive.events(id) else { continue };
            let calls = Calls::default();
            let mut reading = Reading { layout, location, calls, list: &mut list };
            // Damage is reported by readers of the events themselves.
            let _ = reader.visit_dyn(&mut reading);
        }
        list.sort_unstable();
    }
    list
}

struct Reading<'a> {
    layout: &'a Layout,
    location: LocationNumber,
    calls: Calls,
    list: &'a mut Vec<OfAll>,
}

impl Visitor for Reading<'_> {
    fn event(&mut self, record: EventRecord<'_>) -> ControlFlow<()> {
        let time = || self.layout.time(record.time);
        match Record::of(&record.event) {
            Record::Enter(region) => self.calls.enter(region, time()),
            Record::Leave => self.calls.leave(),
            Record::CompleteRemote(it) => {
                let call = self.calls.last().map(|it| it.region);
                if let Completes::All(window) = self.layout.completes(call, it) {
                    let (time, location) = (time(), self.location);
                    self.list.push(OfAll { time, location, window });
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
