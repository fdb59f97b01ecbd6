//! Rows of the table of events.

use std::collections::HashMap;

use dwell_trace::ids::LocationNumber;
use otf2::id::RegionRef;
use otf2::read::{Definitions, EventRecord};
use otf2::{Definition, Event};

use crate::error::Result;
use crate::run::Run;
use crate::table::{Cell, Part, Text};
use crate::walk::partner_and_bytes;

/// Texts that rows share: names of regions and of records.
#[derive(Debug, Default)]
pub(crate) struct Names {
    regions: HashMap<RegionRef, Text>,
}

impl Names {
    pub(crate) fn of(definitions: &Definitions) -> Self {
        let name = |it| match it {
            Definition::Region(region) => {
                let name = definitions.string(region.name).unwrap_or_default().to_string();
                Some((region.id, Text::from(name.as_str())))
            }
            _ => None,
        };
        Self { regions: definitions.iter().filter_map(name).collect() }
    }
}

/// Names of records, each made once by a thread.
#[derive(Debug, Default)]
pub(crate) struct Records(HashMap<&'static str, Text>);

impl Records {
    fn get(&mut self, name: &'static str) -> Text {
        self.0.entry(name).or_insert_with(|| name.into()).clone()
    }
}

/// Adds the row of an event.
pub(crate) fn push(
    part: &mut Part,
    (run, names, records): (&Run, &Names, &mut Records),
    me: LocationNumber,
    time: u64,
    record: &EventRecord<'_>,
) -> Result<()> {
    let region = match record.event {
        Event::Enter(it) => names.regions.get(&it.region),
        Event::Leave(it) => names.regions.get(&it.region),
        _ => None,
    };
    let (partner, bytes) = partner_and_bytes(&run.layout, me, &record.event);
    let (mut window, mut communicator, mut id) = (None, None, None);
    match record.event {
        Event::RmaPut(it) => (window, id) = (Some(it.win.0), Some(it.matching_id.0)),
        Event::RmaGet(it) => (window, id) = (Some(it.win.0), Some(it.matching_id.0)),
        Event::RmaAtomic(it) => (window, id) = (Some(it.win.0), Some(it.matching_id.0)),
        Event::RmaOpCompleteBlocking(it) => {
            (window, id) = (Some(it.win.0), Some(it.matching_id.0));
        }
        Event::RmaOpCompleteNonBlocking(it) => {
            (window, id) = (Some(it.win.0), Some(it.matching_id.0));
        }
        Event::RmaOpCompleteRemote(it) => {
            (window, id) = (Some(it.win.0), Some(it.matching_id.0));
        }
        Event::RmaOpTest(it) => (window, id) = (Some(it.win.0), Some(it.matching_id.0)),
        Event::RmaRequestLock(it) => (window, id) = (Some(it.win.0), Some(it.lock_id.0)),
        Event::RmaAcquireLock(it) => (window, id) = (Some(it.win.0), Some(it.lock_id.0)),
        Event::RmaTryLock(it) => (window, id) = (Some(it.win.0), Some(it.lock_id.0)),
        Event::RmaReleaseLock(it) => (window, id) = (Some(it.win.0), Some(it.lock_id.0)),
        Event::RmaCollectiveEnd(it) => window = Some(it.win.0),
        Event::RmaGroupSync(it) => window = Some(it.win.0),
        Event::RmaSync(it) => window = Some(it.win.0),
        Event::RmaWaitChange(it) => window = Some(it.win.0),
        Event::RmaWinCreate(it) => window = Some(it.win.0),
        Event::RmaWinDestroy(it) => window = Some(it.win.0),
        Event::MpiCollectiveEnd(it) => communicator = Some(it.communicator.0),
        Event::MpiSend(it) => {
            (communicator, id) = (Some(it.communicator.0), Some(it.msg_tag.into()));
        }
        Event::MpiIsend(it) => {
            (communicator, id) = (Some(it.communicator.0), Some(it.request_id.0));
        }
        Event::MpiRecv(it) => {
            (communicator, id) = (Some(it.communicator.0), Some(it.msg_tag.into()));
        }
        Event::MpiIrecv(it) => {
            (communicator, id) = (Some(it.communicator.0), Some(it.request_id.0));
        }
        Event::MpiIsendComplete(it) => id = Some(it.request_id.0),
        Event::MpiIrecvRequest(it) => id = Some(it.request_id.0),
        Event::MpiRequestTest(it) => id = Some(it.request_id.0),
        Event::MpiRequestCancelled(it) => id = Some(it.request_id.0),
        _ => {}
    }
    part.push([
        me.place().into(),
        record.number.0.into(),
        run.after(time).into(),
        Cell::Text(records.get(record.event.name())),
        region.into(),
        partner.into(),
        bytes.into(),
        window.into(),
        communicator.into(),
        id.into(),
    ])
}
