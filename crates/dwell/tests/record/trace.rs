//! Content of a trace in the form in which the test programs report it: calls and bytes of each function.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use dwell_model::archive::{SEQUENCE, STARTS_RECORDING};
use otf2::enums::CollectiveOp;
use otf2::id::{AttributeRef, LocationRef, RegionRef, RmaWinRef};
use otf2::read::Definitions;
use otf2::{Archive, AttributeValue, Definition, Event};

/// Calls and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) calls: u64,
    pub(crate) bytes: u64,
}

/// Counts of each function at each PE.
pub(crate) type Counts = BTreeMap<(u64, String), Count>;

/// An archive, with everything that tests examine.
pub(crate) struct Trace {
    pub(crate) archive: Archive,
    pub(crate) definitions: Definitions,
    /// Cache of names.
    names: RefCell<HashMap<RegionRef, String>>,
    pub(crate) counts: Counts,
    /// Number of events that carry the mark of a region that was cut.
    pub(crate) cut: u64,
}

impl Trace {
    pub(crate) fn read(directory: &Path) -> Self {
        let archive = Archive::open(directory).unwrap();
        let definitions = archive.definitions().unwrap();
        let (names, counts) = (RefCell::default(), Counts::new());
        let mut trace = Self { archive, definitions, names, counts, cut: 0 };
        for (location, pe) in trace.locations() {
            trace.read_location(location, pe);
        }
        trace
    }

    /// Returns every location with its PE.
    pub(crate) fn locations(&self) -> Vec<(LocationRef, u64)> {
        let locations = self.definitions.locations();
        locations.map(|location| (location.id, u64::from(location.location_group.0))).collect()
    }

    pub(crate) fn region(&self, region: RegionRef) -> String {
        let mut names = self.names.borrow_mut();
        let name = names.entry(region).or_insert_with(|| {
            let region = self.definitions.region(region).expect("every region is defined");
            self.definitions.string(region.name).expect("and has a name").to_string()
        });
        name.clone()
    }

    /// Returns the name of an attribute.
    pub(crate) fn attribute(&self, attribute: AttributeRef) -> String {
        let mut found = self.definitions.iter().filter_map(|it| match it {
            Definition::Attribute(it) if it.id == attribute => Some(it.name),
            _ => None,
        });
        let name = found.next().expect("every attribute is defined");
        self.definitions.string(name).expect("and has a name").to_string()
    }

    /// Returns the number of members of a window.
    fn size(&self, win: RmaWinRef) -> u64 {
        let definitions = &self.definitions;
        let comm = definitions.rma_win(win).expect("every window is defined").comm;
        let group = definitions.comm(comm).expect("with its communicator").group;
        definitions.group(group).expect("and group").members.len() as u64
    }

    fn read_location(&mut self, location: LocationRef, pe: u64) {
        let mut reader = self.archive.events(location).unwrap();
        let mut open: Vec<String> = Vec::new();
        let mut counts = Counts::new();
        let mut time = 0;
        while let Some(record) = reader.next().unwrap() {
            assert!(record.time.0 >= time, "time goes back at {location}");
            time = record.time.0;
            let mut moved = |bytes: u64, open: &[String]| {
                let inside = open.last().expect("operations are inside of calls");
                counts.entry((pe, inside.clone())).or_default().bytes += bytes;
            };
            match record.event {
                // The program itself is around its calls.
                Event::Enter(enter) if open.is_empty() => open.push(self.region(enter.region)),
                Event::Enter(enter) => {
                    let name = self.region(enter.region);
                    // The recorder's own start is not a call of the program.
                    if name != STARTS_RECORDING {
                        counts.entry((pe, name.clone())).or_default().calls += 1;
                    }
                    open.push(name);
                }
                Event::Leave(leave) => {
                    let name = self.region(leave.region);
                    // Barriers of teams have a number, and no count.
                    let mut attributes = record.attributes.iter();
                    let first = attributes.find(|it| self.attribute(it.attribute) != SEQUENCE);
                    match first.map(|it| it.value) {
                        // The region stands for several calls.
                        Some(AttributeValue::Uint64(calls)) => {
                            let count = counts.entry((pe, name.clone())).or_default();
                            count.calls += calls - 1;
                            let bytes = record.attributes.iter().nth(1).map(|it| it.value);
                            if let Some(AttributeValue::Uint64(bytes)) = bytes {
                                // As in records: bytes sent and received.
                                count.bytes += match () {
                                    () if name.contains("compare_swap") => bytes + bytes / 2,
                                    () if name.contains("cswap") => bytes + bytes / 2,
                                    () if name.contains("swap") => 2 * bytes,
                                    () => bytes,
                                };
                            }
                        }
                        Some(_) => self.cut += 1,
                        None => {}
                    }
                    assert_eq!(open.pop(), Some(name), "at {location}");
                }
                Event::RmaPut(put) => moved(put.bytes, &open),
                Event::RmaGet(get) => moved(get.bytes, &open),
                Event::RmaAtomic(atomic) => moved(atomic.bytes_sent + atomic.bytes_received, &open),
                Event::MpiSend(it) => moved(it.msg_length, &open),
                Event::MpiIsend(it) => moved(it.msg_length, &open),
                Event::MpiRecv(it) => moved(it.msg_length, &open),
                Event::MpiIrecv(it) => moved(it.msg_length, &open),
                Event::MpiCollectiveEnd(it) => moved(it.size_sent + it.size_received, &open),
                Event::NonBlockingCollectiveComplete(it) => {
                    moved(it.size_sent + it.size_received, &open);
                }
                Event::RmaCollectiveEnd(end) => {
                    let others = self.size(end.win).saturating_sub(1);
                    let bytes = match end.collective_op {
                        CollectiveOp::Bcast => {
                            end.bytes_received.max(end.bytes_sent / others.max(1))
                        }
                        _ => end.bytes_sent / others.max(1),
                    };
                    moved(bytes, &open);
                }
                _ => {}
            }
        }
        assert_eq!(open, Vec::<String>::new(), "regions left open at {location}");
        for (key, count) in counts {
            let sum = self.counts.entry(key).or_default();
            sum.calls += count.calls;
            sum.bytes += count.bytes;
        }
    }
}

/// Parses the counts that a program printed: lines `count pe=0 shmem_long_put=100 bytes=6400`.
pub(crate) fn said(text: &str) -> Counts {
    let mut counts = Counts::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("count pe=")) {
        let mut words = line.split_ascii_whitespace();
        let pe = words.next().unwrap().parse().unwrap();
        let (name, calls) = words.next().unwrap().split_once('=').unwrap();
        let bytes = words.next().unwrap().strip_prefix("bytes=").unwrap();
        let (calls, bytes) = (calls.parse().unwrap(), bytes.parse().unwrap());
        counts.insert((pe, name.into()), Count { calls, bytes });
    }
    counts
}
