//! Reads the slices of one location from any time on.

use crate::block;
use crate::build::class_of;
use crate::classes::{CLASSES, Sums};
use crate::error::Result;
use crate::format::About;
use crate::ids::Location;
use crate::index::Index;
use crate::levels::{self, Entry, NODE, NODE_BYTES};
use crate::slices::Slice;
use crate::span::{Span, Time};

/// A place in the slices of a location. It keeps the last node of each level and the last block, so that steps to near times are
/// cheap.
pub(crate) struct Cursor<'a> {
    index: &'a Index,
    place: &'a crate::index::Place,
    about: About,
    counts: Vec<u64>,
    /// The last node of each level.
    nodes: Vec<Option<(u64, Vec<Entry>)>>,
    /// Number, entry and slices of the last block, with the last slice first.
    block: Option<(u64, Entry)>,
    slices: Vec<Slice>,
    bytes: Vec<u8>,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(index: &'a Index, location: Location) -> Option<Self> {
        let (place, about) = index.about(location)?;
        let counts = levels::counts(about.blocks);
        let nodes = vec![None; counts.len()];
        let (block, slices, bytes) = (None, Vec::new(), Vec::new());
        Some(Self { index, place, about, counts, nodes, block, slices, bytes })
    }

    pub(crate) fn about(&self) -> &About {
        &self.about
    }

    /// Returns the entries of a node.
    pub(crate) fn node(&mut self, level: usize, number: u64) -> Result<&[Entry]> {
        let part = &self.place.part;
        let outside = || part.damaged(0, "a level has no such node");
        let count = *self.counts.get(level).ok_or_else(outside)?;
        let first = number.saturating_mul(NODE as u64);
        if first >= count {
            return Err(outside());
        }
        let slot = self.nodes.get_mut(level).ok_or_else(outside)?;
        if slot.as_ref().is_none_or(|it| it.0 != number) {
            let below = self.counts.iter().take(level).map(|it| levels::bytes(*it));
            let own = number.saturating_mul(NODE_BYTES as u64);
            let before = [self.about.offset, self.about.bytes, own];
            let place = before.into_iter().chain(below).fold(0, u64::saturating_add);
            let entries = (count - first).min(NODE as u64) as usize;
            let mut bytes = vec![0; entries * levels::ENTRY + 4];
            part.read(place, &mut bytes)?;
            let entries = levels::decode(&bytes);
            let entries = entries.ok_or_else(|| part.damaged(place, "a checksum is wrong"))?;
            *slot = Some((number, entries));
        }
        Ok(slot.as_ref().map_or(&[], |it| it.1.as_slice()))
    }

    /// Returns the number of the block that contains a time, or `None` if there is none.
    fn find(&mut self, time: Time) -> Result<Option<u64>> {
        if time < self.about.span.from || time >= self.about.span.to {
            return Ok(None);
        }
        let mut number = 0;
        for level in (0..self.counts.len()).rev() {
            let node = self.node(level, number)?;
            // The last are first.
            let place = node.partition_point(|it| it.from > time);
            if place == node.len() {
                return Ok(None);
            }
            number = number.saturating_mul(NODE as u64).saturating_add(place as u64);
        }
        Ok(Some(number))
    }

    /// Returns the number of blocks that overlap a span.
    pub(crate) fn blocks_in(&mut self, span: Span) -> Result<u64> {
        let span = span.common(self.about.span);
        if span.length() == 0 {
            return Ok(0);
        }
        if span == self.about.span {
            return Ok(self.about.blocks);
        }
        let (first, last) = (self.find(Time(span.to.0 - 1))?, self.find(span.from)?);
        Ok(first.zip(last).map_or(0, |(first, last)| last.saturating_sub(first) + 1))
    }

    /// Reads a block. Its slices are in `self.slices`.
    pub(crate) fn load(&mut self, number: u64) -> Result<&[Slice]> {
        if self.block.is_none_or(|it| it.0 != number) {
            let node = self.node(0, number / NODE as u64)?;
            let entry = node.get((number % NODE as u64) as usize).copied();
            let part = &self.place.part;
            let entry = entry.ok_or_else(|| part.damaged(0, "a level has no such block"))?;
            let offset = self.about.offset.saturating_add(entry.block >> 16);
            self.bytes.resize((entry.block & 0xffff) as usize, 0);
            part.read(offset, &mut self.bytes)?;
            self.block = None;
            block::decode(&self.bytes, &mut self.slices)
                .ok_or_else(|| part.damaged(offset, "a block is damaged"))?;
            self.block = Some((number, entry));
        }
        Ok(&self.slices)
    }

    /// Returns the time of each class from a time to the end of the location.
    pub(crate) fn after(&mut self, time: Time) -> Result<Sums> {
        if time <= self.about.span.from {
            return Ok(self.about.sums);
        }
        let is_here = self.block.is_some_and(|it| it.1.from <= time)
            && self.slices.first().is_some_and(|it| time < it.span.to);
        if !is_here {
            let Some(number) = self.find(time)? else { return Ok([0; CLASSES]) };
            self.load(number)?;
        }
        let mut sums = self.block.map_or([0; CLASSES], |it| it.1.sums);
        for slice in self.slices.iter().rev().take_while(|it| it.span.from < time) {
            let class = class_of(&self.index.classes, slice);
            if let Some(sum) = sums.get_mut(class as usize) {
                *sum -= slice.span.to.min(time).0.saturating_sub(slice.span.from.0).min(*sum);
            }
        }
        Ok(sums)
    }

    /// Calls a function with the slices that overlap a span, the last first, until it returns `false`.
    ///
    /// Blocks that follow each other are read together: first one, then four times as many each time up to those of a node, since
    /// some callers want a few slices only.
    pub(crate) fn each(&mut self, span: Span, mut of: impl FnMut(&Slice) -> bool) -> Result<()> {
        let span = span.common(self.about.span);
        if span.length() == 0 {
            return Ok(());
        }
        let Some(mut number) = self.find(Time(span.to.0 - 1))? else { return Ok(()) };
        let (mut most, mut blocks) = (1, Vec::with_capacity(NODE));
        while number < self.about.blocks {
            let node = self.node(0, number / NODE as u64)?;
            let rest = node.get((number % NODE as u64) as usize..).unwrap_or_default();
            let rest = rest.get(..most).unwrap_or(rest);
            let last = rest.iter().position(|it| it.from <= span.from);
            let wanted = last.and_then(|it| rest.get(..=it)).unwrap_or(rest);
            blocks.clear();
            blocks.extend(wanted.iter().map(|it| ((it.block >> 16), (it.block & 0xffff))));
            let part = &self.place.part;
            let outside = || part.damaged(0, "a level has no such block");
            let (&(begin, _), &(end, size)) =
                blocks.first().zip(blocks.last()).ok_or_else(outside)?;
            let length = end.saturating_add(size).checked_sub(begin);
            let length = length.filter(|it| *it <= (NODE as u64) << 16).ok_or_else(outside)?;
            let offset = self.about.offset.saturating_add(begin);
            self.bytes.resize(length as usize, 0);
            part.read(offset, &mut self.bytes)?;
            for &(at, size) in &blocks {
                let from = at.saturating_sub(begin) as usize;
                let bytes = self.bytes.get(from..from.saturating_add(size as usize));
                let goes_on = bytes.and_then(|bytes| {
                    block::each(bytes, |slice| {
                        slice.span.to > span.from && (slice.span.from >= span.to || of(slice))
                    })
                });
                let damaged =
                    || part.damaged(offset.saturating_add(from as u64), "a block is damaged");
                if !goes_on.ok_or_else(damaged)? {
                    return Ok(());
                }
            }
            number += blocks.len() as u64;
            most = (4 * most).min(NODE);
        }
        Ok(())
    }
}
