//! Classes of operations that progress alike.

use dwell_model::layer::Layer;
use dwell_model::pairs::Kind;
use serde::{Deserialize, Serialize};

/// Class of operations that progress alike: same layer, kind and memory, and sizes within a factor of 8.
///
/// | bits | are |
/// |---|---|
/// | 0 to 2 | kind of the operation |
/// | 3 to 7 | layer, counted from 1 |
/// | 8 to 14 | 0 for operations that move no byte, otherwise 1 + ⌊log8 of the bytes⌋ |
/// | 15 | 1 for the completion of operations at their origin only |
/// | 16 to 31 | number of the memory, the last for all that have no number of their own |
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Class(pub u32);

impl Class {
    /// Kind of calls that acquire a lock.
    const LOCK: u8 = 4;
    /// Kind of operations that wait for their lock before they begin.
    const FIRST: u8 = 5;
    /// Kind of calls that complete operations at their targets and have none to complete.
    const EMPTY: u8 = 6;
    /// Bit of operations that are complete at their origin only.
    const AT_ORIGIN: u32 = 1 << 15;
    /// Bits of the number of bytes.
    const SIZE: u32 = 0x7F00;

    /// Returns the class of an operation.
    #[inline]
    pub fn of(layer: Option<Layer>, kind: Kind, memory: u16, bytes: u64) -> Self {
        Self(u32::from(memory) << 16 | magnitude(bytes) << 8 | Self::head(layer, kind as u8))
    }

    /// Returns the class of calls that acquire a lock.
    pub fn lock(layer: Option<Layer>) -> Self {
        Self(Self::head(layer, Self::LOCK))
    }

    /// Returns the class of operations that wait for their lock before they begin.
    pub fn first(layer: Option<Layer>) -> Self {
        Self(Self::head(layer, Self::FIRST))
    }

    /// Returns the class of calls that complete operations at their targets and have none to complete. Some libraries ask
    /// all processes nevertheless.
    pub fn empty(layer: Option<Layer>) -> Self {
        Self(Self::head(layer, Self::EMPTY))
    }

    /// Returns the class of the completion of operations of this class at their origin.
    #[inline(always)]
    #[must_use]
    pub fn at_origin(self) -> Self {
        Self(self.0 | Self::AT_ORIGIN)
    }

    /// Returns `true` for calls that need not wait for any target, but do in some libraries: they complete operations at
    /// their origin only, or have none to complete. They are waits only if their ends follow the arrivals of targets.
    #[inline]
    pub fn needs_arrivals(self) -> bool {
        self.0 & Self::AT_ORIGIN != 0 || self.0 & 7 == u32::from(Self::EMPTY)
    }

    /// Returns the class of MPI messages of this size.
    pub fn message(bytes: u64) -> Self {
        Self::of(Some(Layer::OF_MESSAGES), Kind::Message, u16::MAX, bytes)
    }

    fn head(layer: Option<Layer>, kind: u8) -> u32 {
        let layer = layer.map_or(0, |layer| layer as u32 + 1);
        layer << 3 | u32::from(kind)
    }

    /// Returns the class of the number of bytes, which is equal within a factor of 8.
    #[inline(always)]
    pub fn size(self) -> u64 {
        ((self.0 & Self::SIZE) >> 8).into()
    }

    /// Returns the kind of communication. A lock counts as an atomic.
    pub fn kind(self) -> Kind {
        match self.0 & 7 {
            0 => Kind::Put,
            1 => Kind::Get,
            3 => Kind::Message,
            _ => Kind::Atomic,
        }
    }

    /// Returns the window number of the memory that operations of the class act on. Lock calls and messages have none.
    pub fn memory(self) -> Option<u16> {
        (self.0 & 7 < Kind::Message as u32).then_some((self.0 >> 16) as u16)
    }

    /// Returns `true` if an operation of the class can show that the network needs no help of targets. Calls that
    /// acquire a lock and operations that move no byte cannot.
    #[inline]
    pub fn can_prove(self) -> bool {
        let kind = self.0 & 7;
        kind == u32::from(Self::EMPTY) || self.0 & Self::SIZE != 0 && kind < u32::from(Self::LOCK)
    }
}

/// Returns 0 for 0, and otherwise 1 + ⌊log8 of the number⌋, which is equal for numbers within a factor of 8.
#[inline(always)]
pub fn magnitude(of: u64) -> u32 {
    of.checked_ilog2().map_or(0, |log| 1 + log / 3)
}
