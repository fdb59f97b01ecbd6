//! Maps from the ids of one list of definitions to those of another.

use std::fmt;
use std::marker::PhantomData;

use super::wire::{Damaged, Input, put, put_step};

/// The id of a definition: its position in the list of definitions of its kind, counted from 0.
pub trait Id: Copy + Eq + fmt::Debug {
    /// Makes the id for a position of the list. `u32::MAX` stands for an unknown definition.
    fn new(position: u32) -> Self;

    /// Returns the position in the list that the id stands for.
    fn position(self) -> u32;
}

/// Stored in place of an image for ids that have none.
const NOWHERE: u32 = u32::MAX;

/// A map from the ids of one list of definitions to those of another list of the same kind. An id without an image maps
/// to the unknown id, `u32::MAX`.
#[derive(Clone, PartialEq, Eq)]
pub struct Map<I> {
    to: Vec<u32>,
    kind: PhantomData<I>,
}

impl<I> Default for Map<I> {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl<I> From<Vec<u32>> for Map<I> {
    fn from(to: Vec<u32>) -> Self {
        Self { to, kind: PhantomData }
    }
}

impl<I> fmt::Debug for Map<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.to).finish()
    }
}

impl<I: Id> Map<I> {
    /// Makes the map that leaves the ids 0 to `length` − 1 as they are.
    pub fn identity(length: usize) -> Self {
        Self::from((0..length as u32).collect::<Vec<_>>())
    }

    /// Returns the image of an id. Returns `None` if the id is beyond the end of the map or has no image.
    pub fn get(&self, id: I) -> Option<I> {
        let to = *self.to.get(id.position() as usize)?;
        (to != NOWHERE).then(|| I::new(to))
    }

    /// Returns the image of an id, or the unknown id, `u32::MAX`, if the id is beyond the end of the map or has no
    /// image.
    pub fn apply(&self, id: I) -> I {
        I::new(self.to.get(id.position() as usize).copied().unwrap_or(NOWHERE))
    }

    /// Returns the images of the ids 0, 1, 2 and so on; `u32::MAX` where an id has none.
    pub fn as_slice(&self) -> &[u32] {
        &self.to
    }

    /// Returns the number of ids in the map, those without an image included.
    pub fn len(&self) -> usize {
        self.to.len()
    }

    /// Returns `true` if the map has no ids at all.
    pub fn is_empty(&self) -> bool {
        self.to.is_empty()
    }

    /// Returns `true` if every id is its own image. An archive needs no mapping table for such a map.
    pub fn is_identity(&self) -> bool {
        self.to.iter().enumerate().all(|(from, to)| from == *to as usize)
    }

    /// Returns `true` if every id of the map has an image.
    pub fn is_total(&self) -> bool {
        !self.to.contains(&NOWHERE)
    }

    pub(super) fn push(&mut self, to: u32) {
        self.to.push(to);
    }

    /// Composes two maps: the result applies this map first and `next` to its images. Ids without an image in either
    /// map have none in the result.
    #[must_use]
    pub fn then(&self, next: &Self) -> Self {
        let to = self.to.iter().map(|&id| next.apply(I::new(id)).position());
        Self::from(to.collect::<Vec<_>>())
    }

    /// Writes runs of consecutive images: the length of each, and its first image as a step from the end of the run
    /// before.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let mut expected = 0;
        let mut rest = self.to.as_slice();
        while let Some(&first) = rest.first() {
            let images = (u64::from(first)..).zip(rest);
            let length = images.take_while(|(image, to)| *image == u64::from(**to)).count();
            put(out, length as u64);
            put_step(out, expected, first.into());
            expected = u64::from(first) + length as u64;
            rest = rest.get(length..).unwrap_or_default();
        }
    }

    /// Reads the images of exactly `length` ids.
    pub(super) fn decode(input: &mut Input<'_>, length: usize) -> Result<Self, Damaged> {
        let what = "map of ids";
        let mut to = Vec::with_capacity(length);
        let mut expected = 0;
        while to.len() < length {
            let run = usize::try_from(input.number(what)?).map_err(|_| input.fault(what))?;
            if run == 0 || run > length - to.len() {
                return Err(input.fault(what));
            }
            let first = input.step(expected, what)?;
            let end = first.checked_add(run as u64).ok_or_else(|| input.fault(what))?;
            if end > u64::from(u32::MAX) + 1 {
                return Err(input.fault(what));
            }
            to.extend((first..end).map(|image| image as u32));
            expected = end;
        }
        Ok(Self::from(to))
    }
}
