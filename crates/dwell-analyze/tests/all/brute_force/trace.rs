//! An archive in memory: all calls of all threads, and the records inside them.

use otf2::enums::{CollectiveRoot, MeasurementMode, RmaSyncType};
use otf2::{Archive, AttributeValue, Definition, Event};

/// A record inside a call.
#[derive(Clone, Debug)]
pub(crate) enum Record {
    Issue { id: u64, window: u32, target: usize, kind: char, bytes: u64, offset: Option<u64> },
    Complete { id: u64, window: u32 },
    CompleteAll { window: u32 },
    Collective { window: u32, end: u64, root: Option<usize>, sequence: Option<u64> },
    Acquire { owner: usize, lock: u64 },
    Release { owner: usize, lock: u64 },
    Change(Option<u64>),
    Notify(usize),
    Notified(usize),
    Partners(Vec<usize>),
    Send { to: usize, bytes: u64 },
    Receive { from: usize },
}

/// A call of the runtime.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Place of the call in [`Trace::calls`].
    pub(crate) number: usize,
    pub(crate) process: usize,
    pub(crate) location: usize,
    pub(crate) enter: u64,
    pub(crate) leave: u64,
    pub(crate) meaning: String,
    /// Records with their times.
    pub(crate) records: Vec<(u64, Record)>,
}

impl Call {
    pub(crate) fn operation(&self) -> &str {
        let word = self.meaning.split(' ').find_map(|word| word.strip_prefix("operation="));
        word.unwrap()
    }

    pub(crate) fn has(&self, word: &str) -> bool {
        self.meaning.split(' ').any(|it| it == word)
    }
}

/// A thread of a process.
#[derive(Clone, Debug)]
pub(crate) struct Location {
    pub(crate) process: usize,
    /// Time of the last event.
    pub(crate) end: u64,
    /// Intervals in which recording was off.
    pub(crate) gaps: Vec<(u64, u64)>,
}

/// All calls of an archive, with the system that made them.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    pub(crate) processes: usize,
    pub(crate) locations: Vec<Location>,
    /// Calls by location, in their order.
    pub(crate) calls: Vec<Call>,
    /// Members of each window, by rank.
    pub(crate) windows: Vec<Vec<usize>>,
    pub(crate) per_node: usize,
    /// Least time of a request in nanoseconds, from one node to another and on one node.
    pub(crate) latency: [u64; 2],
}

impl Trace {
    pub(crate) fn load(archive: &Archive, per_node: usize) -> Self {
        let defs = archive.definitions().unwrap();
        let members = |group| {
            let members = defs.group(group).unwrap().members;
            members.iter().map(|it| it as usize).collect::<Vec<_>>()
        };
        let mut windows = Vec::new();
        let mut comms = Vec::new();
        for definition in defs.iter() {
            match definition {
                Definition::Comm(comm) => comms.push(members(comm.group)),
                Definition::RmaWin(win) => windows.push(comms[win.comm.0 as usize].clone()),
                _ => {}
            }
        }
        let (mut calls, mut locations): (Vec<Call>, Vec<Location>) = (Vec::new(), Vec::new());
        let mut processes = 0;
        for (location, definition) in defs.locations().enumerate() {
            let process = definition.location_group.0 as usize;
            processes = processes.max(process + 1);
            let mut open: Option<Call> = None;
            let mut here = Location { process, end: 0, gaps: Vec::new() };
            let mut off = None;
            let mut reader = archive.events(definition.id).unwrap();
            while let Some(event) = reader.next().unwrap() {
                let time = event.time.0;
                here.end = time;
                let attribute = event.attributes.iter().next().map(|it| match it.value {
                    AttributeValue::Uint64(value) => value,
                    other => panic!("{other:?}"),
                });
                let meaning = |region| {
                    let region = defs.region(region).unwrap();
                    defs.string(region.description).map(|it| it.to_string())
                };
                let record = match event.event {
                    Event::Enter(it) => {
                        if let Some(meaning) = meaning(it.region) {
                            let (number, enter, leave) = (calls.len(), time, 0);
                            let records = Vec::new();
                            open = Some(Call {
                                number,
                                process,
                                location,
                                enter,
                                leave,
                                meaning,
                                records,
                            });
                        }
                        continue;
                    }
                    Event::Leave(it) => {
                        if meaning(it.region).is_some() {
                            let mut call = open.take().unwrap();
                            call.leave = time;
                            calls.push(call);
                        }
                        continue;
                    }
                    Event::MeasurementOnOff(it) => {
                        match it.measurement_mode {
                            MeasurementMode::Off => off = Some(time),
                            _ => here.gaps.push((off.take().unwrap(), time)),
                        }
                        continue;
                    }
                    Event::RmaGet(it) => Record::Issue {
                        id: it.matching_id.0,
                        window: it.win.0,
                        target: it.remote.0 as usize,
                        kind: 'g',
                        bytes: it.bytes,
                        offset: None,
                    },
                    Event::RmaPut(it) => Record::Issue {
                        id: it.matching_id.0,
                        window: it.win.0,
                        target: it.remote.0 as usize,
                        kind: 'p',
                        bytes: it.bytes,
                        offset: attribute,
                    },
                    Event::RmaAtomic(it) => Record::Issue {
                        id: it.matching_id.0,
                        window: it.win.0,
                        target: it.remote.0 as usize,
                        kind: if it.bytes_received > 0 { 'a' } else { 'u' },
                        bytes: it.bytes_sent,
                        offset: attribute,
                    },
                    Event::RmaOpCompleteBlocking(it) => {
                        Record::Complete { id: it.matching_id.0, window: it.win.0 }
                    }
                    Event::RmaOpCompleteNonBlocking(it) => {
                        Record::Complete { id: it.matching_id.0, window: it.win.0 }
                    }
                    Event::RmaOpCompleteRemote(it) => Record::CompleteAll { window: it.win.0 },
                    Event::RmaCollectiveEnd(it) => Record::Collective {
                        window: it.win.0,
                        end: time,
                        root: match it.root {
                            CollectiveRoot::Rank(rank) => Some(rank as usize),
                            _ => None,
                        },
                        sequence: attribute,
                    },
                    Event::RmaAcquireLock(it) => {
                        Record::Acquire { owner: it.remote.0 as usize, lock: it.lock_id.0 }
                    }
                    Event::RmaReleaseLock(it) => {
                        Record::Release { owner: it.remote.0 as usize, lock: it.lock_id.0 }
                    }
                    Event::RmaWaitChange(_) => Record::Change(attribute),
                    Event::RmaSync(it) => match it.sync_type {
                        RmaSyncType::NotifyOut => Record::Notify(it.remote.0 as usize),
                        _ => Record::Notified(it.remote.0 as usize),
                    },
                    Event::RmaGroupSync(it) => Record::Partners(members(it.group)),
                    Event::MpiSend(it) => {
                        Record::Send { to: it.receiver.0 as usize, bytes: it.msg_length }
                    }
                    Event::MpiRecv(it) => Record::Receive { from: it.sender.0 as usize },
                    _ => continue,
                };
                open.as_mut().unwrap().records.push((time, record));
            }
            locations.push(here);
        }
        let latency = ["DWELL::LATENCY", "DWELL::LATENCY_ON_NODE"].map(|name| {
            archive.anchor().property(name).map_or(0, |nanoseconds| nanoseconds.parse().unwrap())
        });
        Self { processes, locations, calls, windows, per_node, latency }
    }

    /// Returns the records of a process with their calls, in the order of time, ties by thread.
    pub(crate) fn records(&self, process: usize) -> Vec<(&Call, u64, &Record)> {
        let calls = self.calls.iter().filter(|call| call.process == process);
        let mut list: Vec<_> = calls
            .flat_map(|call| call.records.iter().map(move |(time, it)| (call, *time, it)))
            .collect();
        list.sort_by_key(|(call, time, _)| (*time, call.location));
        list
    }
}
