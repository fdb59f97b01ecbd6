//! An index that can be asked.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use dwell_model::varint::{put, take};
use dwell_model::waits::Wait;
use dwell_report::Class;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use rayon::slice::ParallelSlice;

use crate::block;
use crate::classes::{CLASSES, Sums};
use crate::critical;
use crate::critical::Step;
use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::format::{self, ALL, About, Fingerprint, Part};
use crate::ids::{CallPath, Location};
use crate::instances::{self, Finding, Instances};
use crate::slices::Slice;
use crate::span::{Span, Time};

/// Data at the end of the file of a group.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) locations: Vec<About>,
    /// Places of the rows of single locations, of those of 16, and of the exact sums.
    pub(crate) rows: u64,
    pub(crate) some_rows: u64,
    pub(crate) sums: u64,
    /// Size of the exact sums in bytes.
    pub(crate) sums_bytes: u64,
    /// How long locations of the group waited for others.
    pub(crate) blame: BTreeMap<Location, u64>,
}

impl Summary {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        [self.rows, self.some_rows, self.sums, self.sums_bytes]
            .into_iter()
            .for_each(|it| put(&mut bytes, it));
        self.locations.iter().for_each(|it| it.encode(&mut bytes));
        put(&mut bytes, self.blame.len() as u64);
        for (culprit, time) in &self.blame {
            put(&mut bytes, culprit.0.into());
            put(&mut bytes, *time);
        }
        bytes
    }

    pub(crate) fn decode(bytes: &mut &[u8], count: u32) -> Option<Self> {
        let (rows, some_rows, sums) = (take(bytes)?, take(bytes)?, take(bytes)?);
        let sums_bytes = take(bytes)?;
        let locations = (0..count).map(|_| About::decode(bytes)).collect::<Option<Vec<_>>>()?;
        let blame = decode_blame(bytes)?;
        Some(Self { locations, rows, some_rows, sums, sums_bytes, blame })
    }
}

fn decode_blame(bytes: &mut &[u8]) -> Option<BTreeMap<Location, u64>> {
    let one = |bytes: &mut &[u8]| {
        let culprit = u32::try_from(take(bytes)?).ok()?;
        Some((Location(culprit), take(bytes)?))
    };
    (0..take(bytes)?).map(|_| one(bytes)).collect()
}

/// A group of locations.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) part: Part,
    pub(crate) summary: Summary,
}

/// Index of a run: the activities of every location over time, and the locations that ended its waits. An open index
/// holds the summaries of all groups of locations in memory, about 150 bytes for each location, and the instances of
/// findings; everything else is read when a query needs it. It can be used from several threads at once.
#[derive(Debug)]
pub struct Index {
    pub(crate) all: Part,
    pub(crate) groups: Vec<Place>,
    /// Number of locations in a group.
    pub(crate) size: u32,
    /// Place of the rows of groups in the file of all.
    pub(crate) rows: u64,
    begin: Time,
    pub(crate) blame: BTreeMap<Location, u64>,
    findings: BTreeMap<Finding, Instances>,
    critical: Vec<Step>,
    pub(crate) classes: Vec<Class>,
}

/// Something that a location did in a span of time: all its slices of one call path and class, added up. [`Index::meanwhile`] returns
/// a list of them, which covers the span as far as the location has events there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doing {
    /// Call path, or `None` outside of all regions.
    pub path: Option<CallPath>,
    /// Class of the call path, or [`Class::Wait`].
    pub class: Class,
    /// Number of slices in the span.
    pub count: u64,
    /// Time within the span, in nanoseconds.
    pub nanoseconds: u64,
}

impl Index {
    /// Opens the index of a report.
    ///
    /// # Errors
    /// [`Error::Io`] if there is none, [`Error::Stale`] if it belongs to another report or version, and
    /// [`Error::Damaged`] if its bytes make no sense.
    pub fn open(directory: &Path, report: Fingerprint) -> Result<Self> {
        let all = Part::open(directory.join(format::name(ALL)))?;
        if all.header.fingerprint != report {
            return Err(Error::Stale(all.path));
        }
        let bytes = all.summary()?;
        let read = |bytes: &mut &[u8]| {
            let (rows, begin) = (take(bytes)?, Time(take(bytes)?));
            let blame = decode_blame(bytes)?;
            let findings = instances::decode(bytes)?;
            let critical = critical::decode(bytes)?;
            let count = usize::try_from(take(bytes)?).ok()?;
            let classes = bytes.get(..count)?.iter();
            let classes = classes.map(|it| Class::ALL.get(usize::from(*it)).copied());
            Some((rows, begin, blame, findings, critical, classes.collect::<Option<Vec<_>>>()?))
        };
        let Some((rows, begin, blame, findings, critical, classes)) = read(&mut bytes.as_slice())
        else {
            return Err(all.damaged(0, "the summary makes no sense"));
        };
        let locations = all.header.locations;
        let size = format::group_size(locations);
        let mut groups = Vec::new();
        for group in 0..locations.div_ceil(size) {
            let part = Part::open(directory.join(format::name(group)))?;
            let first = group * size;
            let count = size.min(locations - first);
            let same = format::Header { group, first: Location(first), count, ..all.header };
            if part.header != same {
                return Err(Error::Stale(part.path));
            }
            let bytes = part.summary()?;
            let summary = Summary::decode(&mut bytes.as_slice(), part.header.count);
            let summary = summary.ok_or_else(|| part.damaged(0, "the summary makes no sense"))?;
            groups.push(Place { part, summary });
        }
        Ok(Self { all, groups, size, rows, begin, blame, findings, critical, classes })
    }

    /// Returns the number of locations of the run, which have the numbers from 0 on in the order of the report.
    pub fn locations(&self) -> u32 {
        self.all.header.locations
    }

    /// Returns the span from the first event of the run to its last one, by the clock of the trace. Times that people read are counted from
    /// its begin.
    pub fn span(&self) -> Span {
        Span { from: self.begin, to: self.all.header.end }
    }

    /// Returns the number of locations in the rows of the coarsest level of the pyramid, a power of two. Bands whose size is a
    /// multiple of it are drawn fastest.
    pub fn group_size(&self) -> u32 {
        self.size
    }

    /// Returns the numbers of all locations as a range.
    pub fn all_locations(&self) -> Range<Location> {
        Location(0)..Location(self.locations())
    }

    /// Returns the number of slices of all locations, which says how much there is to see.
    pub fn count(&self) -> u64 {
        let locations = self.groups.iter().flat_map(|it| &it.summary.locations);
        locations.map(|it| it.slices).fold(0, u64::saturating_add)
    }

    pub(crate) fn about(&self, location: Location) -> Option<(&Place, About)> {
        let group = self.groups.get((location.0 / self.size) as usize)?;
        let about = group.summary.locations.get((location.0 % self.size) as usize)?;
        Some((group, *about))
    }

    /// Returns the time of the first event of a location, or `None` if there is no such location.
    pub fn begin(&self, location: Location) -> Option<Time> {
        self.about(location).map(|it| it.1.span.from)
    }

    /// Returns the time of each class at a location over the whole run, and the time that other locations waited for it, in
    /// nanoseconds. Returns `None` if there is no such location.
    pub fn totals(&self, location: Location) -> Option<(Sums, u64)> {
        let blame = self.blame.get(&location).copied().unwrap_or(0);
        self.about(location).map(|it| (it.1.sums, blame))
    }

    /// Returns the time of each class at a location in a span, in nanoseconds. The sums are exact, and take the time of two look-ups
    /// however long the span is.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn sums(&self, location: Location, span: Span) -> Result<Sums> {
        let Some(mut cursor) = Cursor::new(self, location) else { return Ok([0; CLASSES]) };
        let (before, after) = (cursor.after(span.from)?, cursor.after(span.to)?);
        let mut sums = before;
        sums.iter_mut().zip(after).for_each(|(sum, after)| *sum = sum.saturating_sub(after));
        Ok(sums)
    }

    /// Returns the class of a slice: [`Class::Wait`] for a wait, otherwise that of its call path.
    pub fn class(&self, slice: &Slice) -> Class {
        crate::build::class_of(&self.classes, slice)
    }

    /// Returns the worst instances of a wait on a call path, or `None` if there is none whose culprit is known.
    pub fn instances(&self, path: CallPath, what: Wait) -> Option<&Instances> {
        self.findings.get(&(path, what.whole()))
    }

    /// Returns all findings that have instances, each with its call path, the kind of wait and its worst instances, in the order of
    /// call paths.
    pub fn findings(&self) -> impl Iterator<Item = (CallPath, Wait, &Instances)> {
        self.findings.iter().map(|((path, what), it)| (*path, *what, it))
    }

    /// Returns the critical path in the order of time: its last 100,000 steps.
    pub fn critical_path(&self) -> &[Step] {
        &self.critical
    }

    /// Returns the slices of a location that overlap a span, in the order of time, or `None` if there are more than `most`.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn slices(
        &self,
        location: Location,
        span: Span,
        most: usize,
    ) -> Result<Option<Vec<Slice>>> {
        let mut list = Vec::new();
        if let Some(mut cursor) = Cursor::new(self, location) {
            cursor.each(span, |slice| {
                list.push(*slice);
                list.len() <= most
            })?;
        }
        list.reverse();
        Ok((list.len() <= most).then_some(list))
    }

    /// Returns the first slices of a location, in the order of time, at most `most`. Reads only the blocks that have them.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn first_slices(&self, location: Location, most: usize) -> Result<Vec<Slice>> {
        let mut list = Vec::new();
        let Some(mut cursor) = Cursor::new(self, location) else { return Ok(list) };
        for number in (0..cursor.about().blocks).rev() {
            if list.len() >= most {
                break;
            }
            list.extend(cursor.load(number)?.iter().rev());
        }
        list.truncate(most);
        Ok(list)
    }

    /// Returns the slice of a location at a time, or `None` if the location has none there.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn at(&self, location: Location, time: Time) -> Result<Option<Slice>> {
        let mut found = None;
        if let Some(mut cursor) = Cursor::new(self, location) {
            let span = Span { from: time, to: Time(time.0.saturating_add(1)) };
            cursor.each(span, |slice| {
                found = Some(*slice);
                false
            })?;
        }
        Ok(found)
    }

    /// Returns the begin of the call path that a location is in at a time: that of the first of the slices with the same call path
    /// that follow each other until then. Returns the time itself if the location has no slice there.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn since(&self, location: Location, time: Time) -> Result<Time> {
        let mut since = time;
        let mut path: Option<Option<CallPath>> = None;
        if let Some(mut cursor) = Cursor::new(self, location) {
            let span = Span { from: Time(0), to: Time(time.0.saturating_add(1)) };
            cursor.each(span, |slice| {
                let is_same =
                    *path.get_or_insert(slice.path) == slice.path && slice.span.to >= since;
                if is_same {
                    since = since.min(slice.span.from);
                }
                is_same
            })?;
        }
        Ok(since)
    }

    /// Returns the least number of slices that locations can have in a span, as far as it can be told without reading them: up to 128 fewer
    /// for each location than there are.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn least_slices(&self, locations: &[Range<Location>], span: Span) -> Result<u64> {
        let whole = |it: &Location| Ok(self.blocks(*it, span)?.saturating_sub(2));
        let blocks = self.each_of(locations).par_iter().map(whole).collect::<Result<Vec<u64>>>()?;
        Ok(blocks.into_iter().sum::<u64>().saturating_mul(block::SLICES as u64))
    }

    /// Returns the number of blocks of a location that overlap a span.
    pub(crate) fn blocks(&self, location: Location, span: Span) -> Result<u64> {
        Cursor::new(self, location).map_or(Ok(0), |mut it| it.blocks_in(span))
    }

    /// Returns the numbers of all locations of some ranges, as far as there are such locations.
    pub(crate) fn each_of(&self, ranges: &[Range<Location>]) -> Vec<Location> {
        let numbers = ranges.iter().flat_map(|it| it.start.0..it.end.0.min(self.locations()));
        numbers.map(Location).collect()
    }

    /// Gives every slice of some locations that overlaps a span to `add`, with its time within the span. Several locations that follow
    /// each other have one result, which `new` makes; these are added up in parallel and returned in the order of locations. Returns `None`
    /// if there are more than about `most` slices.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn add_up<T: Send>(
        &self,
        locations: &[Range<Location>],
        span: Span,
        most: u64,
        new: impl Fn() -> T + Sync,
        add: impl Fn(&mut T, Location, &Slice, u64) + Sync,
    ) -> Result<Option<Vec<T>>> {
        let all = self.each_of(locations);
        let count = |it: &Location| self.blocks(*it, span);
        let blocks = all.par_iter().map(count).collect::<Result<Vec<u64>>>()?;
        if blocks.iter().sum::<u64>().saturating_mul(block::SLICES as u64) > most {
            return Ok(None);
        }
        let sum = |some: &[Location]| {
            let mut result = new();
            for &location in some {
                if let Some(mut cursor) = Cursor::new(self, location) {
                    cursor.each(span, |slice| {
                        add(&mut result, location, slice, slice.span.common(span).length());
                        true
                    })?;
                }
            }
            Ok(result)
        };
        all.par_chunks(self.size as usize).map(sum).collect::<Result<Vec<T>>>().map(Some)
    }

    /// Returns the activities of a location in a span, by call path and class, the longest first.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn meanwhile(&self, location: Location, span: Span) -> Result<Vec<Doing>> {
        let mut sums: BTreeMap<(Option<CallPath>, Class), (u64, u64)> = BTreeMap::new();
        if let Some(mut cursor) = Cursor::new(self, location) {
            cursor.each(span, |slice| {
                let sum = sums.entry((slice.path, self.class(slice))).or_default();
                sum.0 += 1;
                sum.1 = sum.1.saturating_add(slice.span.common(span).length());
                true
            })?;
        }
        let one = |((path, class), (count, nanoseconds))| Doing { path, class, count, nanoseconds };
        let mut list: Vec<Doing> = sums.into_iter().map(one).collect();
        list.sort_by_key(|it| std::cmp::Reverse(it.nanoseconds));
        Ok(list)
    }
}
