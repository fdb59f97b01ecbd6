//! Byte order of the numbers in a file.

/// Byte order of the numbers in a chunk or an anchor. A reader accepts both; each chunk states its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ByteOrder {
    /// The least significant byte comes first. This is the default, and encoding and decoding are optimised for it.
    #[default]
    Little,
    /// The most significant byte comes first, as on some older machines. Chunks in this order are rarely met and slower
    /// to read and write.
    Big,
}

impl ByteOrder {
    /// Returns the byte that states this order in a chunk header.
    pub(crate) const fn mark(self) -> u8 {
        match self {
            Self::Little => 0x42,
            Self::Big => 0x23,
        }
    }

    /// Returns the order that this byte of a chunk header states, or `None` if it states none.
    pub(crate) const fn from_mark(mark: u8) -> Option<Self> {
        match mark {
            0x42 => Some(Self::Little),
            0x23 => Some(Self::Big),
            _ => None,
        }
    }
}
