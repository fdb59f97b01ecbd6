//! Makes the index from a dependency log.
//!
//! Groups of locations are independent of each other and are made in parallel, each in a file of its own. A thread holds one block
//! of slices, the entries of one location (104 bytes for 64 slices), three rows of bins and the worst instances of its
//! group. Then the file of all is made from the summaries of the groups.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::Path;

use dwell_files::Folder;
use dwell_log::read::{DependencyLog, LogError};
use dwell_model::varint::{put, take};
use dwell_model::waits::Wait;
use dwell_report::Class;
use dwell_trace::ids::LocationNumber;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::block;
use crate::classes::Sums;
use crate::critical;
use crate::error::{Error, Result};
use crate::format::{self, ALL, About, Fingerprint, Header, Part, SOME};
use crate::ids::{CallPath, Location};
use crate::index::{Index, Summary};
use crate::instances::{self, Keeper};
use crate::levels::{self, Entry};
use crate::paths::Paths;
use crate::pyramid::{self, Bins, MOST_BINS};
use crate::slices::{Instance, Piece, Receiver, Segment, Slice, Waiting, divide};
use crate::span::{Span, Time};

/// Makes the index in a directory, or completes one whose making was interrupted, and opens it.
///
/// `classes` are the classes of the call paths of the report, and `report` is its fingerprint. `progress` is told the
/// number of locations that are complete since it was called last, from any thread.
///
/// # Errors
/// If the log cannot be read, or a file not be written.
pub fn build(
    log: &DependencyLog,
    classes: &[Class],
    report: Fingerprint,
    directory: &Path,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Index> {
    let io = |error| Error::Io(directory.to_owned(), error);
    std::fs::create_dir_all(directory).map_err(io)?;
    let folder = Folder::open(directory).map_err(io)?;
    let locations = log.locations();
    let mut end = Time(0);
    for number in 0..locations {
        let location = log.location(LocationNumber::new(number))?;
        let last = location.and_then(|it| it.segments().next()).transpose()?;
        end = end.max(last.map_or(Time(0), |it| Time(it.end.nanoseconds())));
    }
    // Exact sums are quick where a location has few slices, which take about three bytes of the log each.
    let each = log.bytes() / u64::from(locations.max(1)) / 12;
    let bins = (each as usize).clamp(64, MOST_BINS).next_power_of_two().min(MOST_BINS);
    let size = format::group_size(locations);
    let header = |group: u32| {
        let first = if group == ALL { 0 } else { group * size };
        let count = if group == ALL { locations } else { size.min(locations - first) };
        let (first, bins) = (Location(first), bins as u32);
        Header { group, fingerprint: report, locations, first, count, bins, end }
    };
    let paths = Paths::of(log)?;
    let classes = paths.classes(classes);
    let classes = classes.as_slice();
    let maker = Maker { log, classes, paths: &paths, folder: &folder };
    (0..locations.div_ceil(size)).into_par_iter().try_for_each(|group| {
        let header = header(group);
        let is_there = Part::open(directory.join(format::name(group)))
            .is_ok_and(|it| it.header == header && it.summary().is_ok());
        match is_there {
            true => progress(header.count.into()),
            false => maker.group(header, progress)?,
        }
        Ok::<(), Error>(())
    })?;
    maker.all(header(ALL))?;
    Index::open(directory, report)
}

struct Maker<'a> {
    log: &'a DependencyLog,
    classes: &'a [Class],
    paths: &'a Paths,
    folder: &'a Folder,
}

/// A file that is written from its begin to its end.
struct Output<'a> {
    file: BufWriter<&'a std::fs::File>,
    place: u64,
}

impl Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.place += bytes.len() as u64;
        self.file.write_all(bytes)
    }

    /// Writes bytes and their checksum.
    fn write_checked(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.write(bytes)?;
        self.write(&crc32fast::hash(bytes).to_le_bytes())
    }

    /// Writes the summary and its place.
    fn finish(mut self, summary: &[u8]) -> std::io::Result<()> {
        let place = self.place;
        self.write_checked(summary)?;
        self.write(&place.to_le_bytes())?;
        self.file.flush()
    }
}

impl Maker<'_> {
    /// Writes a file that `fill` makes.
    fn file(
        &self,
        header: Header,
        fill: impl FnOnce(&mut Output<'_>) -> Result<Vec<u8>>,
    ) -> Result<()> {
        let name = format::name(header.group);
        let io = |error| Error::Io(self.folder.path().join(&name), error);
        let new = self.folder.create(&name).map_err(io)?;
        let mut output = Output { file: BufWriter::with_capacity(1 << 18, new.file()), place: 0 };
        output.write(&header.encode()).map_err(io)?;
        let summary = fill(&mut output)?;
        output.finish(&summary).map_err(io)?;
        new.place().map_err(io)
    }

    /// Makes the file of a group.
    fn group(&self, header: Header, progress: &(dyn Fn(u64) + Sync)) -> Result<()> {
        let path = self.folder.path().join(format::name(header.group));
        let io = |error| Error::Io(path.clone(), error);
        self.file(header, |output| {
            let (most, end) = (header.bins as usize, header.end);
            let new = || Bins::new(most, end);
            let (mut own, mut some, mut whole) = (new(), new(), new());
            let few = pyramid::bins(header.locations as usize, most);
            let middle = pyramid::bins(header.locations.div_ceil(SOME) as usize, most);
            let (mut rows, mut some_rows) = (Vec::new(), Vec::new());
            let mut keeper = Keeper::default();
            let mut blame = vec![0; header.locations as usize];
            let mut about = Vec::new();
            for place in 0..header.count {
                let location = Location(header.first.0 + place);
                own.clear();
                let mut writer = LocationWriter {
                    classes: self.classes,
                    output,
                    failed: None,
                    bins: &mut own,
                    keeper: &mut keeper,
                    blame: &mut blame,
                    block: Vec::new(),
                    in_block: 0,
                    entries: Vec::new(),
                    longest: 0,
                    begin: Time(0),
                    about: About { offset: 0, ..About::default() },
                };
                writer.about.offset = writer.output.place;
                self.location(location, &mut writer)?;
                about.push(writer.finish().map_err(io)?);
                encode_row(&own, few, 1, &mut rows);
                some.join(&own);
                let is_last = place + 1 == header.count;
                if (place + 1) % SOME == 0 || is_last {
                    encode_row(&some, middle, u64::from(place % SOME + 1), &mut some_rows);
                    whole.join(&some);
                    some.clear();
                }
                progress(1);
            }
            let mut summary = Summary {
                locations: about,
                rows: output.place,
                some_rows: output.place + rows.len() as u64,
                sums: output.place + (rows.len() + some_rows.len()) as u64,
                sums_bytes: 0,
                blame: (0..).map(Location).zip(blame).filter(|it| it.1 > 0).collect(),
            };
            output.write(&rows).map_err(io)?;
            output.write(&some_rows).map_err(io)?;
            // Most classes have no time in most bins.
            let mut exact = Vec::new();
            whole.sums.iter().flatten().chain(&whole.longest).for_each(|it| put(&mut exact, *it));
            output.write_checked(&exact).map_err(io)?;
            summary.sums_bytes = exact.len() as u64;
            let mut bytes = summary.encode();
            instances::encode(&keeper.finish(), &mut bytes);
            Ok(bytes)
        })
    }

    fn location(&self, location: Location, to: &mut LocationWriter<'_, '_>) -> Result<()> {
        let Some(log) = self.log.location(LocationNumber::new(location.0))? else { return Ok(()) };
        let numbers = self.paths.numbers(&log);
        let segments = log.segments().map(|it| {
            it.map(|it| {
                let (from, to) = (Time(it.begin.nanoseconds()), Time(it.end.nanoseconds()));
                let (path, is_judged) = numbers.get(it.path).copied().unwrap_or_default();
                Segment { span: Span { from, to }, path, is_judged }
            })
        });
        let pieces = log.waits().filter_map(|it| match it {
            Ok(it) => it.what.wait().map(|what| {
                let (from, to) = (Time(it.from.nanoseconds()), Time(it.to.nanoseconds()));
                let waiting = Waiting { what: what.whole(), culprit: Location(it.culprit.place()) };
                Ok(Piece { span: Span { from, to }, waiting, high: it.high.nanoseconds() })
            }),
            Err(error) => Some(Err(error)),
        });
        divide::<LogError>(location, segments, pieces, to)?;
        Ok(())
    }

    /// Makes the file of all from those of the groups.
    fn all(&self, header: Header) -> Result<()> {
        let directory = self.folder.path();
        let path = directory.join(format::name(ALL));
        let io = |error| Error::Io(path.clone(), error);
        self.file(header, |output| {
            let size = format::group_size(header.locations);
            let (most, end) = (header.bins as usize, header.end);
            let mut total = Bins::new(most, end);
            let mut keeper = Keeper::default();
            let mut blame: BTreeMap<Location, u64> = BTreeMap::new();
            let mut rows = Vec::new();
            let mut begin = Time(u64::MAX);
            for group in 0..header.locations.div_ceil(size) {
                let part = Part::open(directory.join(format::name(group)))?;
                let bytes = part.summary()?;
                let mut bytes = bytes.as_slice();
                let read = Summary::decode(&mut bytes, part.header.count)
                    .and_then(|it| Some((it, instances::decode(&mut bytes)?)));
                let Some((summary, findings)) = read else {
                    return Err(part.damaged(0, "the summary makes no sense"));
                };
                let group = exact_bins(&part, &summary, most, end)?;
                encode_row(&group, most, part.header.count.into(), &mut rows);
                total.join(&group);
                findings.iter().for_each(|(finding, more)| keeper.join(*finding, more));
                for (culprit, time) in summary.blame {
                    *blame.entry(culprit).or_default() += time;
                }
                let begins = summary.locations.iter().filter(|it| it.slices > 0);
                begin = begins.map(|it| it.span.from).fold(begin, Time::min);
            }
            let place = output.place;
            encode_row(&total, most, header.locations.into(), &mut rows);
            output.write(&rows).map_err(io)?;
            let mut summary = Vec::new();
            put(&mut summary, place);
            put(&mut summary, begin.min(end).0);
            put(&mut summary, blame.len() as u64);
            for (culprit, time) in blame {
                put(&mut summary, culprit.0.into());
                put(&mut summary, time);
            }
            instances::encode(&keeper.finish(), &mut summary);
            critical::encode(&critical::find(self.log, begin.min(end), end)?, &mut summary);
            put(&mut summary, self.classes.len() as u64);
            summary.extend(self.classes.iter().map(|it| *it as u8));
            Ok(summary)
        })
    }
}

/// Appends a row of the pyramid with its checksum.
fn encode_row(bins: &Bins, count: usize, locations: u64, to: &mut Vec<u8>) {
    let begin = to.len();
    bins.encode(count, locations, to);
    let sum = to.get(begin..).map(crc32fast::hash).unwrap_or_default();
    to.extend_from_slice(&sum.to_le_bytes());
}

/// Reads the exact sums of a group.
fn exact_bins(part: &Part, summary: &Summary, bins: usize, end: Time) -> Result<Bins> {
    let bytes = part.read_checked(summary.sums, summary.sums_bytes)?;
    let mut bytes = bytes.as_slice();
    let mut group = Bins::new(bins, end);
    for number in group.sums.iter_mut().flatten().chain(&mut group.longest) {
        let read = take(&mut bytes);
        *number = read.ok_or_else(|| part.damaged(summary.sums, "sums are missing"))?;
    }
    Ok(group)
}

/// Writes the slices of a location.
struct LocationWriter<'a, 'o> {
    classes: &'a [Class],
    output: &'a mut Output<'o>,
    failed: Option<std::io::Error>,
    bins: &'a mut Bins,
    keeper: &'a mut Keeper,
    /// Time that the group waited for each location.
    blame: &'a mut [u64],
    /// Numbers of the current block, how many slices it has, their longest wait and the begin of the last.
    block: Vec<u8>,
    in_block: usize,
    longest: u64,
    begin: Time,
    entries: Vec<Entry>,
    about: About,
}

impl LocationWriter<'_, '_> {
    /// Closes the current block.
    fn close(&mut self) {
        if self.in_block == 0 {
            return;
        }
        block::seal(&mut self.block);
        let offset = self.output.place - self.about.offset;
        let sums: Sums = self.about.sums;
        let block = offset << 16 | self.block.len() as u64;
        self.entries.push(Entry { from: self.begin, block, longest: self.longest, sums });
        if let Err(error) = self.output.write(&self.block) {
            self.failed.get_or_insert(error);
        }
        self.block.clear();
        (self.in_block, self.longest) = (0, 0);
    }

    /// Writes the levels of the location, and returns what is known of it.
    fn finish(mut self) -> std::io::Result<About> {
        self.close();
        if let Some(error) = self.failed {
            return Err(error);
        }
        let mut about = self.about;
        about.bytes = self.output.place - about.offset;
        about.blocks = self.entries.len() as u64;
        about.longest = self.entries.iter().map(|it| it.longest).max().unwrap_or(0);
        let mut bytes = Vec::new();
        levels::encode(&self.entries, &mut bytes);
        levels::above(&self.entries).iter().for_each(|it| levels::encode(it, &mut bytes));
        self.output.write(&bytes)?;
        Ok(about)
    }
}

/// Returns the class of a slice, given those of call paths.
pub(crate) fn class_of(classes: &[Class], slice: &Slice) -> Class {
    match (slice.wait, slice.path) {
        (Some(_), _) => Class::Wait,
        (None, Some(path)) => classes.get(path.0 as usize).copied().unwrap_or(Class::Compute),
        (None, None) => Class::Compute,
    }
}

impl Receiver for LocationWriter<'_, '_> {
    fn slice(&mut self, slice: Slice) {
        let class = class_of(self.classes, &slice);
        let length = slice.span.length();
        if self.about.slices == 0 {
            self.about.span = slice.span;
        }
        self.about.slices += 1;
        self.about.span.from = slice.span.from;
        if let Some(sum) = self.about.sums.get_mut(class as usize) {
            *sum += length;
        }
        if let Some(waiting) = slice.wait {
            self.longest = self.longest.max(length);
            if let Some(blame) = self.blame.get_mut(waiting.culprit.0 as usize) {
                *blame += length;
            }
        }
        self.bins.add(slice.span.from, slice.span.to, class);
        if self.in_block == 0 {
            put(&mut self.block, slice.span.to.0);
        }
        block::encode(&mut self.block, &slice);
        self.begin = slice.span.from;
        self.in_block += 1;
        if self.in_block == block::SLICES {
            self.close();
        }
    }

    fn instance(&mut self, path: Option<CallPath>, what: Wait, instance: Instance) {
        if let Some(path) = path {
            self.keeper.add((path, what), &instance);
        }
    }
}
