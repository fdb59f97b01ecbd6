//! Writes a report from the profile of a run, which the recorder summed up while the program ran.
//!
//! For each location and call path a profile contains what a replay would have counted. The code that writes reports of
//! a replay writes these as well, so that both use the same names.
//!
//! Profiles are stored in [blocks](dwell_model::profile::block), in which the lines of one call path at many locations
//! are contiguous. The report is therefore made path by path: the lines of a path are read from all blocks and become
//! the rows of the metrics. Memory holds the tables of the blocks and, for each thread, the rows of a few paths,
//! limited by a [budget](MEMORY).

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path as FilePath, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use dwell_log::quantity::Quantity as Q;
use dwell_model::profile::block::{self, HEAD, Head, LOCATION, Place, Sums};
use dwell_model::profile::{self as raw, CounterRow, PartnerRow};
use dwell_trace::contexts::Contexts;
use dwell_trace::counters::{Counters, Number};
use dwell_trace::ids::{CallPathNumber, LocationNumber, Ordinal, PartyNumber, ProcessNumber};
use dwell_trace::names::Setting;
use dwell_trace::world::World;
use otf2::Archive;
use otf2::id::{
    CallingContextRef, CommRef, LocationRef, MetricRef, ParameterRef, Rank, RegionRef, RmaWinRef,
};
use otf2::read::Definitions;
use otf2::value::MetricValue;

use crate::engine::matrix::{self, Kind};
use crate::engine::paths::Counted;
use crate::engine::workers::{cores, run_on};
use crate::error::Error;
use crate::output::pairs;
use crate::output::report::{self, Sheets, Source};
use crate::output::summed::is_summed;
use crate::output::tree::{Branch, Totals, Tree};

/// Memory budget in bytes for the values of call paths that are being written.
const MEMORY: usize = 256 << 20;

/// Quantities in the order of the counts in a line of a block.
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

/// The profile of a run: its definitions, its call tree and the tables of its blocks. The values stay in the files
/// until a report is written.
#[derive(Debug)]
pub struct Profile {
    defs: Definitions,
    world: World,
    tree: Tree,
    /// Bits that say which values the paths of the tree have; see [`Sums::has`].
    has: Vec<u32>,
    blocks: Vec<Block>,
    notes: Vec<String>,
    damage: Vec<String>,
}

/// A file with the profiles of some locations.
#[derive(Debug)]
struct Block {
    path: PathBuf,
    head: Head,
    /// Numbers of the locations in the table of the block; `None` if the archive does not define the location, or
    /// another block already has it.
    places: Vec<Option<LocationNumber>>,
    /// Positions of the lines of each path, sorted by path.
    spans: Vec<Span>,
}

/// Position of the lines of one path in a block.
#[derive(Clone, Copy, Debug)]
struct Span {
    path: CallPathNumber,
    start: u64,
    end: u64,
    lines: u64,
}

/// Calls of one function on one call path at one location, as [`Profile::calls`] shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calls<'p> {
    /// Name of the function, or the parameter and its value if `is_parameter` is set.
    pub region: &'p str,
    /// Description of the region in the archive, which states the meaning of the function for the analysis.
    pub description: &'p str,
    /// Ids of the function in the local definitions of its process. The size of an event record depends on them, so
    /// estimates of trace sizes need them.
    pub local: (u32, Option<u32>),
    /// Number of calls of this function on this path, summed up by the recorder while the program ran.
    pub visits: u64,
    /// Exclusive time in nanoseconds.
    pub nanoseconds: u64,
    /// True if this is not a call but the value of a parameter.
    pub is_parameter: bool,
    /// Number of counter values that were read in these calls.
    pub values: u64,
    /// Number of operations and bytes, in the order of [`dwell_model::profile::COUNTS`].
    pub counts: [u64; raw::COUNTS.len()],
}

impl Profile {
    /// Reads the definitions of an archive and the tables of the profile blocks in `folder`.
    ///
    /// Locations without a profile and damaged blocks do not make it fail; they become [notes](Self::notes).
    ///
    /// # Errors
    /// Returns an error if the definitions of the archive or the folder cannot be read, or if no location is defined.
    pub fn read(archive: &Archive, folder: &FilePath) -> Result<Self, Error> {
        let defs = archive.definitions()?;
        let world = World::of(archive.anchor(), &defs, None);
        if world.system.places.is_empty() {
            return Err(Error::NoLocations);
        }
        let mut reading = Reading::new(&world);
        let (mut blocks, mut damage) = (Vec::new(), Vec::new());
        for (_, path) in files(folder).map_err(|error| Error::Profile(folder.into(), error))? {
            match reading.block(path.clone()) {
                Ok(block) => blocks.push(block),
                Err(error) => damage.push(format!("{}: {error}", path.display())),
            }
        }
        let Reading { branches, has, free, dropped, mut notes, damage: used, .. } = reading;
        damage.extend(used.into_iter().chain(defs.warning().map(ToString::to_string)));
        let missing = free.iter().filter(|free| **free).count();
        if missing > 0 {
            damage.push(format!("{missing} locations have no profile"));
        }
        if dropped > 0 {
            notes.push(format!("{dropped} calls on call paths that there was no row for"));
        }
        let tree = Tree::of(&world, branches);
        notes.extend(damage.iter().cloned());
        Ok(Self { defs, world, tree, has, blocks, notes, damage })
    }

    /// Returns the notes that are about damage: blocks that cannot be read, and locations without a profile.
    pub fn damage(&self) -> &[String] {
        &self.damage
    }

    /// Returns notes for the user: damaged blocks, locations without a profile, and calls that did not fit into the
    /// table of call paths. Empty for a complete profile.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the number of processes and the number of locations that the archive defines.
    pub fn size(&self) -> (usize, usize) {
        (self.world.system.processes.len(), self.world.system.places.len())
    }

    /// Calls `show` once for each location of each block, with everything that was called there. Only one block is in
    /// memory at a time.
    ///
    /// # Errors
    /// Returns [`Error::Profile`] if a block cannot be read or is damaged.
    pub fn calls(&self, mut show: impl FnMut(&[Calls<'_>])) -> Result<(), Error> {
        let text = |id| self.defs.string(id).map(|it| it.to_string()).unwrap_or_default();
        let functions: Vec<(String, String, bool)> = self
            .tree
            .branches
            .iter()
            .map(|branch| {
                let region = self.defs.region(branch.region);
                let meaning = region.map(|it| text(it.description)).unwrap_or_default();
                (branch.name(&self.defs), meaning, branch.setting.is_some())
            })
            .collect();
        let (mut buffer, mut lines) = (Vec::new(), Vec::new());
        for block in &self.blocks {
            let failed = |error| block.error(error);
            let file = dwell_files::open(&block.path).map_err(failed)?;
            lines.clear();
            for span in &block.spans {
                let keep = |place, sums: &Sums, counters: block::Counters<'_>| {
                    let values: u64 = counters.iter().map(|it| it.values).sum();
                    lines.push((place, span.path, *sums, values));
                };
                block.lines(&file, span, &mut buffer, keep).map_err(failed)?;
            }
            lines.sort_unstable_by_key(|line| (line.0, line.1));
            for of_location in lines.chunk_by(|one, other| one.0 == other.0) {
                let calls = of_location.iter().filter_map(|(_, path, sums, values)| {
                    let (region, description, is_parameter) = functions.get(path.index())?;
                    Some(Calls {
                        region,
                        description,
                        local: sums.local,
                        visits: sums.visits,
                        nanoseconds: sums.time,
                        is_parameter: *is_parameter,
                        values: *values,
                        counts: sums.counts,
                    })
                });
                show(&calls.collect::<Vec<_>>());
            }
        }
        Ok(())
    }

    /// Writes the Cube report to `path`. Returns a text for each damaged part of a block, whose values the report
    /// lacks.
    ///
    /// # Errors
    /// Returns an error if a block cannot be opened or read, or if the report cannot be written.
    pub fn write_report(&self, path: &FilePath) -> Result<Vec<String>, Error> {
        let sum = self.partners()?;
        let pairs = pairs::csv(&pairs::named(&self.world, &sum));
        drop(sum);
        let input = report::Input {
            defs: &self.defs,
            world: &self.world,
            tree: &self.tree,
            notes: &self.notes,
        };
        let counted = self.counted()?;
        let has = |source: Source, path: CallPathNumber, _: &Branch| {
            let has = self.has.get(path.index()).copied().unwrap_or(0);
            match source {
                Source::Time(..) => Sums::has_time(has),
                Source::Visits => Sums::has_visits(has),
                Source::Shortest | Source::Longest => Sums::has_extremes(has),
                Source::Wait(..) | Source::Sum(..) | Source::AnySum(_) => false,
                Source::Counter(id, _) => counted.contains(&(path, id)),
                Source::Count(_, what) => {
                    let place = COUNTS.iter().position(|count| *count == what);
                    place.is_some_and(|at| Sums::has_count(has, at))
                }
            }
        };
        let damage = Mutex::default();
        report::write(&input, has, &pairs, path, |sheets| self.fill(sheets, &damage))?;
        let mut damage: Vec<String> = damage.into_inner().unwrap_or_default();
        damage.sort_unstable();
        Ok(damage)
    }

    /// Returns the pairs of path and counter for which there are values.
    fn counted(&self) -> Result<BTreeSet<(CallPathNumber, MetricRef)>, Error> {
        let (mut found, mut buffer) = (BTreeSet::new(), Vec::new());
        let has_some = |path: CallPathNumber| {
            self.has.get(path.index()).is_some_and(|has| Sums::has_counters(*has))
        };
        for block in &self.blocks {
            let mut spans = block.spans.iter().filter(|span| has_some(span.path)).peekable();
            if spans.peek().is_none() {
                continue;
            }
            let failed = |error| block.error(error);
            let file = dwell_files::open(&block.path).map_err(failed)?;
            for span in spans {
                block.read(&file, span.start, span.end, &mut buffer).map_err(failed)?;
                let rows = block::lines(&buffer).flat_map(|line| line.2.iter());
                found.extend(rows.map(|row| (span.path, MetricRef(row.counter))));
            }
        }
        Ok(found)
    }

    /// Reads the communication matrix from all blocks.
    fn partners(&self) -> Result<matrix::Sum, Error> {
        let mut sum = matrix::Sum::new();
        let mut bytes = Vec::new();
        for block in &self.blocks {
            let read = dwell_files::open(&block.path).and_then(|file| {
                block.read(&file, block.head.partners, block.head.length, &mut bytes)
            });
            read.map_err(|error| block.error(error))?;
            for (place, partner) in block::partners(&bytes) {
                let Some(place) = block.places.get(place as usize).copied().flatten() else {
                    continue;
                };
                let me = self.world.process(place);
                if let Some((to, kind)) = party(&self.world, me, &partner) {
                    let cell = sum.entry((self.world.system.party(me), to, kind)).or_default();
                    cell.operations += partner.operations;
                    cell.bytes += partner.bytes;
                    cell.time += partner.time;
                }
            }
        }
        Ok(sum)
    }

    /// Writes all values, a few paths at a time, on all cores that the memory budget allows.
    fn fill(&self, sheets: &Sheets, damage: &Mutex<Vec<String>>) -> Result<(), Error> {
        let of_path = Columns::bytes(self.world.system.places.len());
        let threads = (MEMORY / of_path).clamp(1, cores());
        let at_once = (MEMORY / of_path / threads).clamp(1, MOST_AT_ONCE);
        let paths: Vec<CallPathNumber> =
            CallPathNumber(0).and_more().take(self.tree.branches.len()).collect();
        let mut steps: Vec<&[CallPathNumber]> = paths.chunks(at_once).collect();
        let failed = AtomicBool::new(false);
        let ends =
            run_on(threads, &mut steps, &|| (Vec::new(), Ok(())), &|step,
                                                                    (columns, end): &mut (
                _,
                Result<(), Error>,
            )| {
                if !failed.load(Ordering::Relaxed) {
                    *end = self.fill_paths(sheets, step, columns, damage);
                    failed.fetch_or(end.is_err(), Ordering::Relaxed);
                }
            });
        ends.into_iter().try_for_each(|(_, end)| end)
    }

    fn fill_paths(
        &self,
        sheets: &Sheets,
        paths: &[CallPathNumber],
        columns: &mut Vec<Columns>,
        damage: &Mutex<Vec<String>>,
    ) -> Result<(), Error> {
        let (Some(first), Some(last)) = (paths.first(), paths.last()) else { return Ok(()) };
        columns.resize_with(paths.len(), Columns::default);
        for (columns, &path) in columns.iter_mut().zip(paths) {
            let has = self.has.get(path.index()).copied().unwrap_or(0);
            columns.clear(self.world.system.places.len(), has);
        }
        let mut buffer = Vec::new();
        for block in &self.blocks {
            let from = block.spans.partition_point(|span| span.path < *first);
            let spans = block.spans.get(from..).unwrap_or_default();
            let spans = spans.iter().take_while(|span| span.path <= *last);
            let mut file = None;
            for span in spans {
                let file = match &mut file {
                    Some(file) => file,
                    none => none.insert(
                        dwell_files::open(&block.path).map_err(|error| block.error(error))?,
                    ),
                };
                let Some(columns) = columns.get_mut(span.path.index() - first.index()) else {
                    continue;
                };
                let put = |place, sums: &Sums, counters: block::Counters<'_>| {
                    columns.put(place, sums);
                    columns.count(place, counters, &self.world.counters);
                };
                let read = block.lines(file, span, &mut buffer, put);
                let is_damage = |error: &io::Error| error.kind() == io::ErrorKind::InvalidData;
                match read.map_err(|error| (is_damage(&error), block.error(error))) {
                    Ok(()) => {}
                    Err((true, error)) => {
                        damage
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .push(error.to_string());
                    }
                    Err((false, error)) => return Err(error),
                }
            }
        }
        for (columns, path) in columns.iter().zip(paths) {
            for sheet in sheets.all.iter().filter(|it| it.paths.binary_search(path).is_ok()) {
                if let Source::Counter(..) = sheet.source {
                    sheets.write_counted(sheet, *path, &columns.counted(sheet.source))?;
                } else if let Some(values) = columns.of(sheet.source) {
                    sheets.write(sheet, *path, values)?;
                }
            }
        }
        Ok(())
    }
}

/// Greatest number of paths that one thread fills at once. Each group of paths opens each block once.
const MOST_AT_ONCE: usize = 16;

/// Values of one path at all locations.
#[derive(Debug, Default)]
struct Columns {
    visits: Vec<u64>,
    time: Vec<u64>,
    shortest: Vec<u64>,
    longest: Vec<u64>,
    /// Empty for counts that the path does not have.
    counts: [Vec<u64>; raw::COUNTS.len()],
    /// Counters, at locations that have any.
    counted: HashMap<LocationNumber, Vec<Counted>>,
}

impl Columns {
    /// Returns the memory in bytes that the columns of one path take.
    fn bytes(locations: usize) -> usize {
        (4 + raw::COUNTS.len()) * locations.max(1) * size_of::<u64>()
    }

    /// Clears the columns and makes room for a path that has [these values](Sums::has).
    fn clear(&mut self, locations: usize, has: u32) {
        let clear = |column: &mut Vec<u64>, is: bool, nothing: u64| {
            column.clear();
            column.resize(if is { locations } else { 0 }, nothing);
        };
        clear(&mut self.visits, true, 0);
        clear(&mut self.time, true, 0);
        clear(&mut self.shortest, true, u64::MAX);
        clear(&mut self.longest, true, 0);
        for (at, column) in self.counts.iter_mut().enumerate() {
            clear(column, Sums::has_count(has, at), 0);
        }
        self.counted.clear();
    }

    /// Adds the counters of a location. Counters of the same name from two libraries become one.
    fn count(&mut self, place: LocationNumber, rows: block::Counters<'_>, counters: &Counters) {
        if rows.is_empty() {
            return;
        }
        let all = self.counted.entry(place).or_default();
        for it in rows.iter().filter_map(|row| counted(counters, &row)) {
            match all.iter_mut().find(|known| known.counter == it.counter) {
                Some(known) => known.add(&it),
                None => all.push(it),
            }
        }
    }

    /// Returns the values of a counter at all locations.
    fn counted(&self, source: Source) -> Vec<f64> {
        let mut values = vec![source.uncounted(); self.time.len()];
        for (place, all) in &self.counted {
            if let Some(value) = source.counted(all)
                && let Some(place) = values.get_mut(place.index())
            {
                *place = value;
            }
        }
        values
    }

    /// Adds the sums of a location. A location may have several lines of a path, from call sites that look the same.
    fn put(&mut self, place: LocationNumber, sums: &Sums) {
        let put = |column: &mut Vec<u64>, value: u64, with: fn(u64, u64) -> u64| {
            if let Some(place) = column.get_mut(place.index()) {
                *place = with(*place, value);
            }
        };
        put(&mut self.visits, sums.visits, u64::saturating_add);
        put(&mut self.time, sums.time, u64::saturating_add);
        if let Some((shortest, longest)) = sums.extremes {
            put(&mut self.shortest, shortest, u64::min);
            put(&mut self.longest, longest, u64::max);
        }
        for (column, count) in self.counts.iter_mut().zip(sums.counts) {
            if count > 0 {
                put(column, count, u64::saturating_add);
            }
        }
    }

    fn of(&self, source: Source) -> Option<&[u64]> {
        Some(match source {
            Source::Time(..) => &self.time,
            Source::Visits => &self.visits,
            Source::Shortest => &self.shortest,
            Source::Longest => &self.longest,
            Source::Count(_, what) => {
                self.counts.get(COUNTS.iter().position(|count| *count == what)?)?
            }
            Source::Wait(..) | Source::Sum(..) | Source::AnySum(_) | Source::Counter(..) => {
                return None;
            }
        })
    }
}

impl Block {
    fn error(&self, error: io::Error) -> Error {
        Error::Profile(self.path.clone(), error)
    }

    /// Reads a range of bytes of the file.
    fn read(&self, file: &File, start: u64, end: u64, buffer: &mut Vec<u8>) -> io::Result<()> {
        // Both positions are below the length of the file, which was checked before.
        buffer.resize(usize::try_from(end.saturating_sub(start)).unwrap_or(0), 0);
        file.read_exact_at(buffer, start)
    }

    /// Calls `show` for the lines of a path, with the number of the location in the report.
    fn lines(
        &self,
        file: &File,
        span: &Span,
        buffer: &mut Vec<u8>,
        mut show: impl FnMut(LocationNumber, &Sums, block::Counters<'_>),
    ) -> io::Result<()> {
        self.read(file, span.start, span.end, buffer)?;
        let mut seen = 0;
        for (place, sums, counters) in block::lines(buffer) {
            seen += 1;
            if let Some(Some(place)) = self.places.get(place as usize) {
                show(*place, &sums, counters);
            }
        }
        if seen == span.lines {
            return Ok(());
        }
        let text = format!(
            "{seen} of {} lines between bytes {} and {}: the file is damaged",
            span.lines, span.start, span.end
        );
        Err(io::Error::new(io::ErrorKind::InvalidData, text))
    }
}

/// Returns the blocks of a folder, sorted by their first location.
fn files(folder: &FilePath) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let number = path.file_stem().and_then(|name| name.to_str()?.parse().ok());
        if let Some(number) = number
            && path.extension().is_some_and(|it| it == "block")
        {
            files.push((number, path));
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Identifies a path: its parent, region and calling context, or its parameter and value.
type Step = (Option<CallPathNumber>, RegionRef, CallingContextRef, Option<Setting>);

/// State while blocks are read.
struct Reading<'w> {
    contexts: &'w Contexts,
    /// Numbers of locations by their ids.
    numbers: HashMap<LocationRef, LocationNumber>,
    /// True for each location that no block has had yet.
    free: Vec<bool>,
    branches: Vec<Branch>,
    known: HashMap<Step, CallPathNumber>,
    has: Vec<u32>,
    dropped: u64,
    notes: Vec<String>,
    damage: Vec<String>,
}

impl<'w> Reading<'w> {
    fn new(world: &'w World) -> Self {
        let places = &world.system.places;
        Self {
            contexts: &world.contexts,
            numbers: (0..)
                .map(LocationNumber)
                .zip(places)
                .map(|(number, it)| (it.id, number))
                .collect(),
            free: vec![true; places.len()],
            branches: Vec::new(),
            known: HashMap::new(),
            has: Vec::new(),
            dropped: 0,
            notes: Vec::new(),
            damage: Vec::new(),
        }
    }

    /// Reads the tables of a block.
    fn block(&mut self, path: PathBuf) -> io::Result<Block> {
        let damaged = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let file = dwell_files::open(&path)?;
        let mut bytes = vec![0; HEAD];
        file.read_exact_at(&mut bytes, 0)?;
        let head = Head::read(&bytes).ok_or_else(|| damaged("no block of a profile"))?;
        let sum = block::sum_length(&bytes) as u64;
        if file.metadata()?.len() != head.length.saturating_add(sum) {
            return Err(damaged("the file has not the length that it says"));
        }
        if sum > 0 && !is_summed(&file, head.length)? {
            self.damage
                .push(format!("{}: the checksum is wrong, and values may be", path.display()));
        }
        bytes.resize(usize::try_from(head.tables()).unwrap_or(0).saturating_sub(HEAD), 0);
        file.read_exact_at(&mut bytes, HEAD as u64)?;
        let (locations, paths) =
            bytes.split_at(bytes.len().min(head.locations as usize * LOCATION));
        let spans = self.spans(head, &block::Path::read(paths).collect::<Vec<_>>());
        let spans = spans.ok_or_else(|| damaged("the table of paths is damaged"))?;
        let mut places = Vec::with_capacity(head.locations as usize);
        for Place { location, header } in Place::read(locations) {
            let number = self.numbers.get(&LocationRef(location)).copied();
            let free = number.and_then(|number| self.free.get_mut(number.index()));
            let is_free = free.is_some_and(|free| std::mem::replace(free, false));
            places.push(number.filter(|_| is_free));
            self.dropped += if is_free { header.dropped } else { 0 };
        }
        Ok(Block { path, head, places, spans })
    }

    /// Returns the path of a call from a call site, after the functions that lead there, as the replay numbers it.
    fn call(
        &mut self,
        parent: Option<CallPathNumber>,
        region: RegionRef,
        site: CallingContextRef,
    ) -> CallPathNumber {
        let caller =
            self.contexts.way(site).into_iter().fold(parent, |parent, (region, site)| {
                Some(self.branch((parent, region, site, None)))
            });
        self.branch((caller, region, self.contexts.like(site), None))
    }

    /// Returns the number of a path, and creates it if it is new.
    fn branch(&mut self, step: Step) -> CallPathNumber {
        let (parent, region, site, setting) = step;
        *self.known.entry(step).or_insert_with(|| {
            self.branches.push(Branch {
                parent,
                setting,
                region,
                site,
                signature: 0,
                class: None,
                totals: Totals::default(),
            });
            self.has.push(0);
            CallPathNumber(self.branches.len() as u32 - 1)
        })
    }

    /// Returns the positions of the lines of all paths, or `None` if they lie outside of the part of the file for
    /// lines.
    fn spans(&mut self, head: Head, paths: &[block::Path]) -> Option<Vec<Span>> {
        let mut ends = paths.iter().skip(1).map(|path| path.start).chain([head.partners]);
        let mut start = head.tables();
        for path in paths {
            let end = ends.next()?;
            if path.start != start || end < start {
                return None;
            }
            start = end;
        }
        let mut here: Vec<CallPathNumber> = Vec::with_capacity(paths.len());
        let mut spans = Vec::with_capacity(paths.len());
        let mut ends = paths.iter().skip(1).map(|path| path.start).chain([head.partners]);
        for path in paths {
            let parent = match path.parent {
                None => None,
                Some(parent) => Some(*here.get(parent as usize)?),
            };
            let setting = path
                .setting
                .map(|it| Setting { parameter: ParameterRef(it.parameter), value: it.value });
            let region = RegionRef(path.region);
            let site = path.site.map_or(CallingContextRef::UNDEFINED, CallingContextRef);
            let number = match setting {
                Some(_) => self.branch((parent, region, CallingContextRef::UNDEFINED, setting)),
                None => self.call(parent, region, site),
            };
            *self.has.get_mut(number.index())? |= path.has;
            here.push(number);
            let (start, end, lines) = (path.start, ends.next()?, path.lines);
            spans.push(Span { path: number, start, end, lines });
        }
        spans.sort_unstable_by_key(|span| span.path);
        Some(spans)
    }
}

/// Returns the sums of a counter from a row of a block.
fn counted(counters: &Counters, row: &CounterRow) -> Option<Counted> {
    let counter = MetricRef(row.counter);
    let value_type = counters.get(counter)?.value_type;
    let number = |bits| Number::of(MetricValue { value_type, bits });
    let (sum, least, largest) = (number(row.sum), number(row.least), number(row.largest));
    Some(Counted { counter, values: row.values, sum, least, largest })
}

/// Returns the party that a partner belongs to, and the kind of communication.
fn party(world: &World, me: ProcessNumber, row: &PartnerRow) -> Option<(PartyNumber, Kind)> {
    let kind = *Kind::ALL.get(row.kind as usize)?;
    let context = match kind {
        Kind::Message => world.system.comm(CommRef(row.context))?,
        _ => world.system.window(RmaWinRef(row.context))?.0,
    };
    let process = world.system.context(context)?.ranks.process(Rank(row.rank), me)?;
    Some((world.system.party(process), kind))
}
