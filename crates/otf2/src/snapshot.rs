//! Snapshot records: the state of a location at points in time from which its events can be read.
//!
//! A snapshot is a [`SnapshotStart`], records for everything that is open, and a [`SnapshotEnd`] that says where to
//! continue in the event file. Neither mapping tables nor clock correction apply to them.

use crate::enums::{CollectiveOp, CollectiveRoot, MeasurementMode};
use crate::id::{CommRef, MetricRef, ParameterRef, Rank, RegionRef, RequestId, StringRef, Time};
use crate::record::{Framing, Keep, Record, Scope, Then, Unknown, records};
use crate::value::{List, MetricValue, Value};
use crate::wire::{Fault, Input, Output, Wire};

records! {
    /// One record of a snapshot file.
    enum Snapshot is AnySnapshot;

    /// A snapshot begins.
    10 SnapshotStart "1.2" Length {
        /// Number of records between start and end.
        number_of_records: u64 as v64,
    }
    /// A snapshot ends.
    11 SnapshotEnd "1.2" Length {
        /// Number of the event with which to continue in the event file.
        cont_read_pos: u64 as v64,
    }
    /// Recording is on or off.
    12 MeasurementOnOff "1.2" Length {
        /// When the event happened.
        orig_event_time: Time as u64,
        /// On or off.
        measurement_mode: MeasurementMode as u8,
    }
    /// A region is open.
    13 Enter "1.2" Length {
        /// When the event happened.
        orig_event_time: Time as u64,
        /// The region.
        region: RegionRef as v32,
    }
    /// A blocking send is in progress.
    14 MpiSend "1.2" Length {
        /// When the event happened.
        orig_event_time: Time as u64,
        /// Destination rank.
        receiver: Rank as v32,
        /// Communicator.
        communicator: CommRef as v32,
        /// Message tag.
        msg_tag: u32 as v32,
        /// Payload bytes.
        msg_length: u64 as v64,
    }
    /// A non-blocking send is in progress.
    15 MpiIsend "1.2" Length {
        /// When the event happened.
        orig_event_time: Time as u64,
        /// Destination rank.
        receiver: Rank as v32,
        /// Communicator.
        communicator: CommRef as v32,
        /// Message tag.
        msg_tag: u32 as v32,
        /// Payload bytes.
        msg_length: u64 as v64,
        /// Request number.
        request_id: RequestId as v64,
    }
    /// A non-blocking send has completed.
    16 MpiIsendComplete "1.2" Length {
        /// When the event happened.
        orig_event_time: Time as u64,
        /// Request number.
        request_id: RequestId as v64,
    }
    /// A message has been received by a blocking receive.
    17 MpiRecv "1.2" Length {
        /// When the event happened.
        orig_event_time: Time as u64,
        /// Source rank.
        sender: Rank as v32,
        /// Communicator.
        communicator: CommRef as v32,
        /// Message tag.
        msg_tag: u32 as v32,
        /// Payload bytes.
        msg_length: u64 as v64,
    }
    /// A non-blocking receive is posted.
    18 MpiIrecvRequest "1.2" Length {
        /// When the event happened.
        orig_event_time: Time as u64,
        /// Request number.
        request_id: RequestId as v64,
    }
    /// A non-blocking receive has completed.
    19 MpiIrecv "1.2" Length {
        /// When the event happened.
        orig_event_time: Time as u64,
        /// Source rank.
        sender: Rank as v32,
        /// Communicator.
        communicator: CommRef as v32,
        /// Message tag.
        msg_tag: u32 as v32,
        /// Payload bytes.
        msg_length: u64 as v64,
        /// Request number.
        request_id: RequestId as v64,
    }
    /// An MPI collective is in progress.
    20 MpiCollectiveBegin "1.2" Length {
        /// When the event happened.
        orig_event_time: Time as u64,
    }
    /// An MPI collective has ended.
    21 MpiCollectiveEnd "1.2" Length {
        /// When the event happened.
        orig_event_time: Time as u64,
        /// Kind of collective.
        collective_op: CollectiveOp as u8,
        /// Communicator.
        communicator: CommRef as v32,
        /// Root rank.
        root: CollectiveRoot as v32,
        /// Bytes sent.
        size_sent: u64 as v64,
        /// Bytes received.
        size_received: u64 as v64,
    }
    /// An OpenMP team is forked.
    22 OmpFork "1.2" Length {
        /// When the event happened.
        orig_event_time: Time as u64,
        /// Team size asked for.
        number_of_requested_threads: u32 as v32,
    }
    /// An OpenMP lock is held.
    23 OmpAcquireLock "1.2" Length {
        /// When the event happened.
        orig_event_time: Time as u64,
        /// Lock number.
        lock_id: u32 as v32,
        /// Counter that orders the acquisitions.
        acquisition_order: u32 as v32,
    }
    /// An OpenMP task exists.
    24 OmpTaskCreate "1.2" Length {
        /// When the event happened.
        orig_event_time: Time as u64,
        /// Task instance.
        task_id: u64 as v64,
    }
    /// An OpenMP task is running.
    25 OmpTaskSwitch "1.2" Length {
        /// When the event happened.
        orig_event_time: Time as u64,
        /// Task instance.
        task_id: u64 as v64,
    }
    /// The last values of a metric.
    26 Metric<'a> "1.2" Length {
        /// When the event happened.
        orig_event_time: Time as u64,
        /// Metric class or instance.
        metric: MetricRef as v32,
        /// The values.
        values: List<'a, MetricValue> as list8,
    }
    /// The current value of a string parameter.
    27 ParameterString "1.2" Length {
        /// When the event happened.
        orig_event_time: Time as u64,
        /// Parameter.
        parameter: ParameterRef as v32,
        /// Value of the parameter.
        string: StringRef as v32,
    }
    /// The current value of a signed parameter.
    28 ParameterInt "1.2" Length {
        /// When the event happened.
        orig_event_time: Time as u64,
        /// Parameter.
        parameter: ParameterRef as v32,
        /// Value of the parameter.
        value: i64 as s64,
    }
    /// The current value of an unsigned parameter.
    29 ParameterUnsignedInt "1.2" Length {
        /// When the event happened.
        orig_event_time: Time as u64,
        /// Parameter.
        parameter: ParameterRef as v32,
        /// Value of the parameter.
        value: u64 as v64,
    }
}
