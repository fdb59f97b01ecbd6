//! Thumbnail records: a small preview of a trace, made by the tool that wrote it.

use crate::enums::ThumbnailType;
use crate::record::{Framing, Keep, Record, Scope, Then, Unknown, records};
use crate::value::{List, Str, Value};
use crate::wire::{Fault, Input, Output, Wire};

records! {
    /// One record of a thumbnail file.
    enum Thumbnail is AnyThumbnail;

    /// What the samples are.
    10 Header<'a> "1.2" Length {
        /// Name.
        name: Str<'a> as str,
        /// Longer text.
        description: Str<'a> as str,
        /// What the values refer to.
        kind: ThumbnailType as u8,
        /// Number of samples.
        samples: u32 as v32,
        /// Ids of the things that the values belong to.
        refs: List<'a, u64> as list32,
    }
    /// One sample: a value for each thing of the header.
    11 Sample<'a> "1.2" Length {
        /// What the values are shares of.
        baseline: u64 as v64,
        /// The values.
        values: List<'a, u64> as list32,
    }
}
