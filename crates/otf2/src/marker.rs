//! Marker records: points and intervals of interest that a tool keeps beside the trace.
//!
//! Strings are part of the records themselves, so markers can be added to a finished archive.

use crate::enums::{MarkerScope, MarkerSeverity};
use crate::id::MarkerRef;
use crate::output::Output;
use crate::record::{Framing, Keep, Record, Scope, Then, Unknown, records};
use crate::value::{Str, Value};
use crate::wire::{Fault, Input, Wire};

records! {
    /// One record of the marker file: the definition of a kind of marker, or a marker.
    enum MarkerRecord is AnyMarker;

    /// Defines a kind of marker: its group, category and severity.
    5 DefMarker<'a> "1.2" Length {
        /// Id of this definition.
        id: MarkerRef as v32,
        /// Group of this kind of marker, by which tools can sort markers.
        group: Str<'a> as str,
        /// Category of this kind of marker inside its group.
        category: Str<'a> as str,
        /// Severity of markers of this kind.
        severity: MarkerSeverity as u8,
    }
    /// Places one marker on a part of the trace and an interval of time.
    6 Marker<'a> "1.2" Length {
        /// Time at which the marked interval begins, in ticks.
        time: u64 as v64,
        /// Length of the marked interval, in ticks.
        duration: u64 as v64,
        /// Kind of the marker.
        marker: MarkerRef as v32,
        /// Kind of object that the marker is attached to.
        scope: MarkerScope as u8,
        /// Id of the object that the marker is attached to; all ones for the whole trace.
        scope_ref: u64 as v64,
        /// Text of the marker, for people to read.
        text: Str<'a> as str,
    }
}
