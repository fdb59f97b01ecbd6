//! Words that programs read or test again and again, and what a call has found there.

/// What a call of a polling loop looks at: a word in the memory of a process, or the address of what it tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// Rank of the process whose memory it is.
    pub target: u32,
    /// Bytes that each call moves, both operands of a comparison included.
    pub bytes: u32,
    /// Address in that memory.
    pub address: u64,
    /// Where its value is stored, if a later call completes the operation that reads it; otherwise 0.
    pub buffer: usize,
}

impl Word {
    pub(crate) const NONE: Self = Self { target: 0, bytes: 0, address: 0, buffer: 0 };

    /// Returns a word of the process itself.
    pub(crate) fn own(address: usize) -> Self {
        Self { target: u32::MAX, bytes: 0, address: address as u64, buffer: 0 }
    }
}

/// What a call of a polling loop has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Nothing: it will be asked again.
    Nothing,
    /// What the program was waiting for.
    Something,
    /// This value of the word. It is nothing if the word had the same value before.
    Value(u64),
}
