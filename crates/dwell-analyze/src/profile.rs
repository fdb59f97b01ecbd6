//! A report from the rows of a profile, which the recorder summed up while the program ran.
//!
//! The rows of a location are what replay would have counted: call paths with visits, time, operations
//! and bytes, and partners. They are put where replay puts its own, and the report is written from there, so
//! that both name everything alike.

use std::fs;
use std::path::Path as FilePath;

use dwell_model::profile::{self as raw, PartnerRow, PathRow, Row};
use otf2::Archive;
use otf2::enums::MappingType;
use otf2::id::{CallingContextRef, CommRef, LocationRef, RegionRef, RmaWinRef};
use otf2::map::Maps;
use otf2::read::Definitions;

use crate::lane::Lane;
use crate::matrix::Kind;
use crate::metric::Quantity as Q;
use crate::paths::Path;
use crate::patterns::progress::Proofs;
use crate::replay::Replayed;
use crate::shard::Shard;
use crate::tree::{Tree, lanes};
use crate::world::World;
use crate::{Error, names, pairs_csv, report};

/// Quantities in the order of the counts of a row.
const COUNTS: [Q; raw::COUNTS.len()] = [
    Q::Puts,
    Q::Gets,
    Q::Atomics,
    Q::BytesPut,
    Q::BytesGet,
    Q::Sends,
    Q::Receives,
    Q::BytesSent,
    Q::BytesReceived,
    Q::Collectives,
];

/// A profile.
#[derive(Debug)]
pub struct Profile {
    defs: Definitions,
    world: World,
    replayed: Replayed,
    tree: Tree,
    notes: Vec<String>,
}

/// What calls of one function at one call path and location were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calls {
    /// The function.
    pub region: String,
    /// What its region says it means.
    pub description: String,
    /// Number of the location.
    pub location: u32,
    /// Its ids in the events of its process, which decide how long its records are.
    pub local: (u32, Option<u32>),
    /// How often it was called.
    pub visits: u64,
    /// Nanoseconds, without those of calls inside.
    pub nanoseconds: u64,
    /// Operations and bytes, in the order of [`dwell_model::profile::COUNTS`].
    pub counts: [u64; raw::COUNTS.len()],
}

impl Profile {
    /// Reads the rows of an experiment, one file for each location in `folder`.
    ///
    /// # Errors
    /// If the definitions of the archive cannot be read. Rows that are missing or damaged become notes of
    /// the report.
    pub fn read(archive: &Archive, folder: &FilePath) -> Result<Self, Error> {
        let defs = archive.definitions()?;
        let world = World::of(archive.anchor(), &defs, None);
        if world.system.places.is_empty() {
            return Err(Error::NoLocations);
        }
        let sharding = world.sharding;
        let mut shards: Vec<Shard> =
            (0..sharding.count).map(|number| Shard::new(&world, number)).collect();
        let (mut missing, mut dropped) = (0_u64, 0);
        for shard in &mut shards {
            let Shard { actors, matrix, .. } = shard;
            for actor in actors {
                let row = matrix.row(actor.index, &world.parties);
                for lane in &mut actor.lanes {
                    let place = world.system.places.get(lane.location as usize);
                    let id = place.map_or(LocationRef(0), |place| place.id);
                    let bytes = fs::read(folder.join(format!("{}.rows", id.0))).unwrap_or_default();
                    let Some(header) = raw::header(&bytes) else {
                        missing += 1;
                        continue;
                    };
                    dropped += header.dropped;
                    let maps = archive.local_tables(id).maps;
                    let partners = fill(lane, header, &bytes, &maps);
                    for partner in partners {
                        let Some((to, kind)) = party(&world, actor.index, &partner, &maps) else {
                            continue;
                        };
                        if let Some(cell) = matrix.cell(row, to, kind) {
                            cell.operations += partner.operations;
                            cell.bytes += partner.bytes;
                            cell.time += partner.time;
                        }
                    }
                }
            }
        }
        let mut notes = Vec::new();
        if missing > 0 {
            notes.push(format!("{missing} locations have no profile"));
        }
        if dropped > 0 {
            notes.push(format!("{dropped} calls on call paths that there was no row for"));
        }
        let replayed = Replayed { shards, proofs: Proofs::default(), windows: 0, events: 0 };
        let tree = Tree::join(&world, &replayed.shards);
        Ok(Self { defs, world, replayed, tree, notes })
    }

    /// What there is to say about it.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// How many processes and locations there are.
    pub fn size(&self) -> (usize, usize) {
        (self.world.system.processes.len(), self.world.system.places.len())
    }

    /// Everything that was called.
    pub fn calls(&self) -> Vec<Calls> {
        let text = |id| self.defs.string(id).map(|it| it.to_string()).unwrap_or_default();
        let mut list = Vec::new();
        for lane in lanes(&self.replayed.shards) {
            for (_, node) in lane.paths.iter() {
                let region = self.defs.region(node.region);
                list.push(Calls {
                    region: names::region(&self.defs, node.region),
                    description: region.map(|it| text(it.description)).unwrap_or_default(),
                    location: lane.location,
                    local: node.local,
                    visits: node.visits,
                    nanoseconds: node.time,
                    counts: COUNTS.map(|what| node.get(what)),
                });
            }
        }
        list
    }

    /// Writes the Cube report.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_report(&self, path: &FilePath) -> cubex::Result<()> {
        let pairs = pairs_csv(&crate::pairs(&self.world, &self.replayed));
        let input = report::Input {
            defs: &self.defs,
            world: &self.world,
            replayed: &self.replayed,
            tree: &self.tree,
            notes: &self.notes,
            pairs: &pairs,
        };
        report::write(&input, path)
    }
}

/// An id of the archive for one of a process.
fn global(maps: &Maps, space: MappingType, id: u32) -> u32 {
    let mapped = maps.get(space).map_or(u64::from(id), |map| map.global(id.into()));
    u32::try_from(mapped).unwrap_or(u32::MAX)
}

/// Puts the paths of a location where replay has its own, and returns its partners.
fn fill(lane: &mut Lane, header: raw::Header, bytes: &[u8], maps: &Maps) -> Vec<PartnerRow> {
    let mut paths: Vec<Path> = Vec::new();
    let (mut partners, mut calls, mut program) = (Vec::new(), 0, None);
    for (number, row) in raw::rows(bytes) {
        paths.resize(number as usize, Path::TOP);
        let row = match row {
            Row::Path(row) => row,
            Row::Partner(row) => {
                partners.push(row);
                continue;
            }
        };
        let PathRow { parent, region, site, visits, time, shortest, longest, counts } = row;
        let above = paths.get(parent as usize).copied().unwrap_or(Path::TOP);
        let region_ref = RegionRef(global(maps, MappingType::Region, region));
        let site_ref = site.map_or(CallingContextRef::UNDEFINED, |site| {
            CallingContextRef(global(maps, MappingType::CallingContext, site))
        });
        let path = lane.paths.child(above, region_ref, site_ref);
        paths.push(path);
        if parent == 0 {
            program = Some(path);
        } else {
            calls += time;
        }
        lane.paths.sum(path, visits, time, (shortest, longest), (region, site));
        for (what, amount) in COUNTS.into_iter().zip(counts) {
            lane.paths.add(path, what, amount);
        }
    }
    lane.first = Some(header.first);
    lane.now = header.last;
    if let Some(program) = program {
        let own = header.last.saturating_sub(header.first).saturating_sub(calls);
        lane.paths.sum(program, 0, own, (own, own), (0, None));
    }
    partners
}

/// The party that a partner is, and what kind of communication it was.
fn party(world: &World, me: u32, row: &PartnerRow, maps: &Maps) -> Option<(u32, Kind)> {
    let kind = *Kind::ALL.get(row.kind as usize)?;
    let context = match kind {
        Kind::Message => {
            world.system.comm(CommRef(global(maps, MappingType::Comm, row.context)))?
        }
        _ => world.system.window(RmaWinRef(global(maps, MappingType::RmaWin, row.context)))?,
    };
    let process = world.system.context(context)?.ranks.process(row.rank, me)?;
    Some((world.parties.party(process), kind))
}
