//! Thumbnail records: a small preview of a trace, made by the tool that wrote it.

use crate::enums::ThumbnailType;
use crate::output::Output;
use crate::record::{Framing, Keep, Record, Scope, Then, Unknown, records};
use crate::value::{List, Str, Value};
use crate::wire::{Fault, Input, Wire};

records! {
    /// One record of a thumbnail file: the header or a sample.
    enum Thumbnail is AnyThumbnail;

    /// Describes the samples of the thumbnail; the first record of the file.
    10 Header<'a> "1.2" Length {
        /// Name of the thumbnail.
        name: Str<'a> as str,
        /// Longer description of the thumbnail.
        description: Str<'a> as str,
        /// Kind of object that the values belong to.
        kind: ThumbnailType as u8,
        /// Number of samples in the thumbnail.
        samples: u32 as v32,
        /// Ids of the objects that the values of each sample belong to.
        refs: List<'a, u64> as list32,
    }
    /// One sample: a value for each object that the header lists.
    11 Sample<'a> "1.2" Length {
        /// Total of which the values are parts.
        baseline: u64 as v64,
        /// One value for each object of the header, in the same order.
        values: List<'a, u64> as list32,
    }
}
