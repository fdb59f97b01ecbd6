//! Marker records: what a tool wants to point out, kept beside the trace.
//!
//! Strings stand in the records themselves, so markers can be added to a finished archive.

use crate::enums::{MarkerScope, MarkerSeverity};
use crate::id::MarkerRef;
use crate::record::{Framing, Keep, Record, Scope, Then, Unknown, records};
use crate::value::{Str, Value};
use crate::wire::{Fault, Input, Output, Wire};

records! {
    /// One record of the marker file.
    enum MarkerRecord is AnyMarker;

    /// A kind of marker.
    5 DefMarker<'a> "1.2" Length {
        /// Id of this definition.
        id: MarkerRef as v32,
        /// Group of the marker.
        group: Str<'a> as str,
        /// Category of the marker.
        category: Str<'a> as str,
        /// How bad it is.
        severity: MarkerSeverity as u8,
    }
    /// A marker.
    6 Marker<'a> "1.2" Length {
        /// When it begins, in ticks.
        time: u64 as v64,
        /// How long it lasts, in ticks.
        duration: u64 as v64,
        /// Its kind.
        marker: MarkerRef as v32,
        /// What it is attached to.
        scope: MarkerScope as u8,
        /// Id of that thing; all ones for the whole trace.
        scope_ref: u64 as v64,
        /// What it says.
        text: Str<'a> as str,
    }
}
