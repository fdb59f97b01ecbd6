//! Snapshot records: the state of a location at points in time from which its events can be read.
//!
//! A snapshot is a [`SnapshotStart`], records for everything that is open, and a [`SnapshotEnd`] that says where to
//! continue in the event file. Neither mapping tables nor clock correction apply to them.

use crate::enums::{CollectiveOp, CollectiveRoot, MeasurementMode};
use crate::id::{CommRef, MetricRef, ParameterRef, Rank, RegionRef, RequestId, StringRef, Time};
use crate::output::Output;
use crate::record::{Framing, Keep, Record, Scope, Then, Unknown, records};
use crate::value::{List, MetricValue, Value};
use crate::wire::{Fault, Input, Wire};

records! {
    /// One record of a snapshot file, of any kind.
    enum Snapshot is AnySnapshot;

    /// Begins a snapshot.
    10 SnapshotStart "1.2" Length {
        /// Number of records between start and end.
        number_of_records: u64 as v64,
    }
    /// Ends a snapshot and states where the events continue.
    11 SnapshotEnd "1.2" Length {
        /// Number of the event with which to continue in the event file.
        cont_read_pos: u64 as v64,
    }
    /// The recorder is on or off at the time of the snapshot.
    12 MeasurementOnOff "1.2" Length {
        /// Time of the event that this record repeats.
        orig_event_time: Time as u64,
        /// State of the recorder.
        measurement_mode: MeasurementMode as u8,
    }
    /// A region is open at the time of the snapshot. Records of nested regions follow from the outermost to the
    /// innermost.
    13 Enter "1.2" Length {
        /// Time of the event that this record repeats.
        orig_event_time: Time as u64,
        /// The region that is open.
        region: RegionRef as v32,
    }
    /// A blocking send is in progress.
    14 MpiSend "1.2" Length {
        /// Time of the event that this record repeats.
        orig_event_time: Time as u64,
        /// Rank of the receiver in the communicator.
        receiver: Rank as v32,
        /// Communicator of the operation.
        communicator: CommRef as v32,
        /// Tag of the message.
        msg_tag: u32 as v32,
        /// Length of the message, in bytes.
        msg_length: u64 as v64,
    }
    /// A non-blocking send is in progress.
    15 MpiIsend "1.2" Length {
        /// Time of the event that this record repeats.
        orig_event_time: Time as u64,
        /// Rank of the receiver in the communicator.
        receiver: Rank as v32,
        /// Communicator of the operation.
        communicator: CommRef as v32,
        /// Tag of the message.
        msg_tag: u32 as v32,
        /// Length of the message, in bytes.
        msg_length: u64 as v64,
        /// Request that links the records of one non-blocking operation.
        request_id: RequestId as v64,
    }
    /// A non-blocking send has completed.
    16 MpiIsendComplete "1.2" Length {
        /// Time of the event that this record repeats.
        orig_event_time: Time as u64,
        /// Request that links the records of one non-blocking operation.
        request_id: RequestId as v64,
    }
    /// A blocking receive has returned with a message.
    17 MpiRecv "1.2" Length {
        /// Time of the event that this record repeats.
        orig_event_time: Time as u64,
        /// Rank of the sender in the communicator.
        sender: Rank as v32,
        /// Communicator of the operation.
        communicator: CommRef as v32,
        /// Tag of the message.
        msg_tag: u32 as v32,
        /// Length of the message, in bytes.
        msg_length: u64 as v64,
    }
    /// A non-blocking receive is posted.
    18 MpiIrecvRequest "1.2" Length {
        /// Time of the event that this record repeats.
        orig_event_time: Time as u64,
        /// Request that links the records of one non-blocking operation.
        request_id: RequestId as v64,
    }
    /// A non-blocking receive has completed.
    19 MpiIrecv "1.2" Length {
        /// Time of the event that this record repeats.
        orig_event_time: Time as u64,
        /// Rank of the sender in the communicator.
        sender: Rank as v32,
        /// Communicator of the operation.
        communicator: CommRef as v32,
        /// Tag of the message.
        msg_tag: u32 as v32,
        /// Length of the message, in bytes.
        msg_length: u64 as v64,
        /// Request that links the records of one non-blocking operation.
        request_id: RequestId as v64,
    }
    /// An MPI collective is in progress.
    20 MpiCollectiveBegin "1.2" Length {
        /// Time of the event that this record repeats.
        orig_event_time: Time as u64,
    }
    /// An MPI collective has ended.
    21 MpiCollectiveEnd "1.2" Length {
        /// Time of the event that this record repeats.
        orig_event_time: Time as u64,
        /// Kind of the collective operation.
        collective_op: CollectiveOp as u8,
        /// Communicator of the operation.
        communicator: CommRef as v32,
        /// Root of the operation.
        root: CollectiveRoot as v32,
        /// Number of bytes that this process sent.
        size_sent: u64 as v64,
        /// Number of bytes that this process received.
        size_received: u64 as v64,
    }
    /// An OpenMP team is forked.
    22 OmpFork "1.2" Length {
        /// Time of the event that this record repeats.
        orig_event_time: Time as u64,
        /// Requested number of threads in the team.
        number_of_requested_threads: u32 as v32,
    }
    /// An OpenMP lock is held.
    23 OmpAcquireLock "1.2" Length {
        /// Time of the event that this record repeats.
        orig_event_time: Time as u64,
        /// Id of the lock.
        lock_id: u32 as v32,
        /// Rising number that orders the acquisitions of one lock.
        acquisition_order: u32 as v32,
    }
    /// An OpenMP task exists.
    24 OmpTaskCreate "1.2" Length {
        /// Time of the event that this record repeats.
        orig_event_time: Time as u64,
        /// Id of the task.
        task_id: u64 as v64,
    }
    /// An OpenMP task is running.
    25 OmpTaskSwitch "1.2" Length {
        /// Time of the event that this record repeats.
        orig_event_time: Time as u64,
        /// Id of the task.
        task_id: u64 as v64,
    }
    /// The last values of a metric.
    26 Metric<'a> "1.2" Length {
        /// Time of the event that this record repeats.
        orig_event_time: Time as u64,
        /// The metric class or metric instance whose values these are.
        metric: MetricRef as v32,
        /// The values, one for each member of the metric class.
        values: List<'a, MetricValue> as list8,
    }
    /// The current value of a string parameter.
    27 ParameterString "1.2" Length {
        /// Time of the event that this record repeats.
        orig_event_time: Time as u64,
        /// The parameter that has the value.
        parameter: ParameterRef as v32,
        /// Value of the parameter.
        string: StringRef as v32,
    }
    /// The current value of a signed parameter.
    28 ParameterInt "1.2" Length {
        /// Time of the event that this record repeats.
        orig_event_time: Time as u64,
        /// The parameter that has the value.
        parameter: ParameterRef as v32,
        /// Value of the parameter.
        value: i64 as s64,
    }
    /// The current value of an unsigned parameter.
    29 ParameterUnsignedInt "1.2" Length {
        /// Time of the event that this record repeats.
        orig_event_time: Time as u64,
        /// The parameter that has the value.
        parameter: ParameterRef as v32,
        /// Value of the parameter.
        value: u64 as v64,
    }
}
