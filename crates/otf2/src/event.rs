//! Event records: all records that can stand in the event file of a location.
//!
//! Each record is a struct, and [`Event`] is one of them. The byte table of each says how its fields stand on disk, in
//! the codes of the [crate documentation](crate#codes).

use crate::enums::{
    CollectiveOp, CollectiveRoot, IoAccessMode, IoCreationFlag, IoOperationFlag, IoOperationMode,
    IoSeekOption, IoStatusFlag, LockType, MeasurementMode, Paradigm, RmaAtomicType, RmaSyncLevel,
    RmaSyncType,
};
use crate::id::{
    CallingContextRef, CommRef, GroupRef, InterruptGeneratorRef, IoFileRef, IoHandleRef,
    IoParadigmRef, LockId, MatchingId, MetricRef, ParameterRef, Rank, RegionRef, RequestId,
    RmaWinRef, StringRef, Time,
};
use crate::record::{Framing, Keep, Record, Scope, Then, Unknown, records};
use crate::value::{List, MetricValue, Value};
use crate::wire::{Fault, Input, Output, Wire};

impl Event<'_> {
    /// Returns `true` if record `id` is a single number without a length. Later versions of the format add no such
    /// records.
    #[inline(always)]
    pub(crate) const fn is_single(id: u8) -> bool {
        matches!(id, 12 | 13 | 16 | 17 | 20 | 21 | 24 | 28 | 29 | 30)
    }
}

records! {
    /// One event of a location, of any kind.
    enum Event is AnyEvent;

    /// The recorder wrote its buffer to disk from here until `stop_time`.
    10 BufferFlush "1.0" Length {
        /// Time at which the flush ended, corrected like the time of the event.
        stop_time: Time as u64,
    }
    /// Recording was switched on or off.
    11 MeasurementOnOff "1.0" Length {
        /// On or off.
        measurement_mode: MeasurementMode as u8,
    }
    /// A region was entered.
    12 Enter "1.0" Single {
        /// The region.
        region: RegionRef as v32,
    }
    /// A region was left.
    13 Leave "1.0" Single {
        /// The region.
        region: RegionRef as v32,
    }
    /// A blocking send was issued.
    14 MpiSend "1.0" Length {
        /// Destination rank, counted inside `communicator`.
        receiver: Rank as v32,
        /// Communicator (Comm or InterComm id).
        communicator: CommRef as v32,
        /// Message tag.
        msg_tag: u32 as v32,
        /// Payload bytes.
        msg_length: u64 as v64,
    }
    /// A non-blocking send was issued.
    15 MpiIsend "1.0" Length {
        /// Destination rank, counted inside `communicator`.
        receiver: Rank as v32,
        /// Communicator (Comm or InterComm id).
        communicator: CommRef as v32,
        /// Message tag.
        msg_tag: u32 as v32,
        /// Payload bytes.
        msg_length: u64 as v64,
        /// Request number; links the records of one non-blocking operation on this location.
        request_id: RequestId as v64,
    }
    /// A non-blocking send completed.
    16 MpiIsendComplete "1.0" Single {
        /// Request number; links the records of one non-blocking operation on this location.
        request_id: RequestId as v64,
    }
    /// A non-blocking receive was posted.
    17 MpiIrecvRequest "1.0" Single {
        /// Request number; links the records of one non-blocking operation on this location.
        request_id: RequestId as v64,
    }
    /// A message was received by a blocking receive.
    18 MpiRecv "1.0" Length {
        /// Source rank, counted inside `communicator`.
        sender: Rank as v32,
        /// Communicator (Comm or InterComm id).
        communicator: CommRef as v32,
        /// Message tag.
        msg_tag: u32 as v32,
        /// Payload bytes.
        msg_length: u64 as v64,
    }
    /// A non-blocking receive completed.
    19 MpiIrecv "1.0" Length {
        /// Source rank, counted inside `communicator`.
        sender: Rank as v32,
        /// Communicator (Comm or InterComm id).
        communicator: CommRef as v32,
        /// Message tag.
        msg_tag: u32 as v32,
        /// Payload bytes.
        msg_length: u64 as v64,
        /// Request number; links the records of one non-blocking operation on this location.
        request_id: RequestId as v64,
    }
    /// A request was tested and had not completed.
    20 MpiRequestTest "1.0" Single {
        /// Request number; links the records of one non-blocking operation on this location.
        request_id: RequestId as v64,
    }
    /// A request was cancelled.
    21 MpiRequestCancelled "1.0" Single {
        /// Request number; links the records of one non-blocking operation on this location.
        request_id: RequestId as v64,
    }
    /// An MPI collective began.
    22 MpiCollectiveBegin "1.0" Empty {
    }
    /// An MPI collective ended.
    23 MpiCollectiveEnd "1.0" Length {
        /// Kind of collective.
        collective_op: CollectiveOp as u8,
        /// Communicator (Comm or InterComm id).
        communicator: CommRef as v32,
        /// Root rank, or one of the CollectiveRoot constants.
        root: CollectiveRoot as v32,
        /// Bytes sent.
        size_sent: u64 as v64,
        /// Bytes received.
        size_received: u64 as v64,
    }
    /// An OpenMP team was forked (deprecated).
    24 OmpFork "1.0" Single {
        /// Team size asked for.
        number_of_requested_threads: u32 as v32,
    }
    /// An OpenMP team was joined (deprecated).
    25 OmpJoin "1.0" Empty {
    }
    /// An OpenMP lock was acquired (deprecated).
    26 OmpAcquireLock "1.0" Length {
        /// Lock number.
        lock_id: u32 as v32,
        /// Counter that orders the acquisitions of one lock; acquire and its release carry the same number.
        acquisition_order: u32 as v32,
    }
    /// An OpenMP lock was released (deprecated).
    27 OmpReleaseLock "1.0" Length {
        /// Lock number.
        lock_id: u32 as v32,
        /// Counter that orders the acquisitions of one lock; acquire and its release carry the same number.
        acquisition_order: u32 as v32,
    }
    /// An OpenMP task was created (deprecated).
    28 OmpTaskCreate "1.0" Single {
        /// Task instance.
        task_id: u64 as v64,
    }
    /// The thread switched to another OpenMP task (deprecated).
    29 OmpTaskSwitch "1.0" Single {
        /// Task instance.
        task_id: u64 as v64,
    }
    /// An OpenMP task completed (deprecated).
    30 OmpTaskComplete "1.0" Single {
        /// Task instance.
        task_id: u64 as v64,
    }
    /// Values of a metric were read.
    31 Metric<'a> "1.0" Length {
        /// MetricClass or MetricInstance id (never a MetricMember).
        metric: MetricRef as v32,
        /// Values, one for each member of the class.
        values: List<'a, MetricValue> as list8,
    }
    /// A parameter took a string value.
    32 ParameterString "1.0" Length {
        /// Parameter id.
        parameter: ParameterRef as v32,
        /// The string that is the value.
        string: StringRef as v32,
    }
    /// A parameter took a signed value.
    33 ParameterInt "1.0" Length {
        /// Parameter id.
        parameter: ParameterRef as v32,
        /// Signed value.
        value: i64 as s64,
    }
    /// A parameter took an unsigned value.
    34 ParameterUnsignedInt "1.0" Length {
        /// Parameter id.
        parameter: ParameterRef as v32,
        /// Unsigned value.
        value: u64 as v64,
    }
    /// A window was created.
    35 RmaWinCreate "1.2" Length {
        /// Window created.
        win: RmaWinRef as v32,
    }
    /// A window was destroyed.
    36 RmaWinDestroy "1.2" Length {
        /// Window destroyed.
        win: RmaWinRef as v32,
    }
    /// A collective of a one-sided library began.
    37 RmaCollectiveBegin "1.2" Empty {
    }
    /// A collective of a one-sided library ended.
    38 RmaCollectiveEnd "1.2" Length {
        /// Kind of collective.
        collective_op: CollectiveOp as u8,
        /// Effect of the call: it synchronises processes, memory, or both.
        sync_level: RmaSyncLevel as v32,
        /// RMA window.
        win: RmaWinRef as v32,
        /// Root rank, or one of the CollectiveRoot constants.
        root: CollectiveRoot as v32,
        /// Bytes sent.
        bytes_sent: u64 as v64,
        /// Bytes received.
        bytes_received: u64 as v64,
    }
    /// A group of processes synchronised on a window.
    39 RmaGroupSync "1.2" Length {
        /// Effect of the call: it synchronises processes, memory, or both.
        sync_level: RmaSyncLevel as v32,
        /// RMA window.
        win: RmaWinRef as v32,
        /// Group of the participating processes.
        group: GroupRef as v32,
    }
    /// A lock was requested; it may be granted from this time on.
    40 RmaRequestLock "1.2" Length {
        /// RMA window.
        win: RmaWinRef as v32,
        /// Rank in the communicator of the window; undefined means all.
        remote: Rank as v32,
        /// Lock identifier, for windows with several locks.
        lock_id: LockId as v64,
        /// Exclusive or shared.
        lock_type: LockType as u8,
    }
    /// A lock was obtained.
    41 RmaAcquireLock "1.2" Length {
        /// RMA window.
        win: RmaWinRef as v32,
        /// Rank in the communicator of the window; undefined means all.
        remote: Rank as v32,
        /// Lock identifier, for windows with several locks.
        lock_id: LockId as v64,
        /// Exclusive or shared.
        lock_type: LockType as u8,
    }
    /// An attempt to take a lock failed.
    42 RmaTryLock "1.2" Length {
        /// RMA window.
        win: RmaWinRef as v32,
        /// Rank in the communicator of the window; undefined means all.
        remote: Rank as v32,
        /// Lock identifier, for windows with several locks.
        lock_id: LockId as v64,
        /// Exclusive or shared.
        lock_type: LockType as u8,
    }
    /// A lock was released.
    43 RmaReleaseLock "1.2" Length {
        /// RMA window.
        win: RmaWinRef as v32,
        /// Rank in the communicator of the window; undefined means all.
        remote: Rank as v32,
        /// Lock identifier, for windows with several locks.
        lock_id: LockId as v64,
    }
    /// Two processes synchronised, or memory was synchronised.
    44 RmaSync "1.2" Length {
        /// RMA window.
        win: RmaWinRef as v32,
        /// Rank of the other side, counted in the communicator of the window.
        remote: Rank as v32,
        /// Kind of synchronisation.
        sync_type: RmaSyncType as u8,
    }
    /// The process began to wait for a change of its own window memory.
    45 RmaWaitChange "1.2" Length {
        /// RMA window.
        win: RmaWinRef as v32,
    }
    /// A put was issued.
    46 RmaPut "1.2" Length {
        /// RMA window.
        win: RmaWinRef as v32,
        /// Rank of the other side, counted in the communicator of the window.
        remote: Rank as v32,
        /// Bytes written to the remote side.
        bytes: u64 as v64,
        /// Number that pairs an operation with its completion on the same location (unique per window / per I/O handle).
        matching_id: MatchingId as v64,
    }
    /// A get was issued.
    47 RmaGet "1.2" Length {
        /// RMA window.
        win: RmaWinRef as v32,
        /// Rank of the other side, counted in the communicator of the window.
        remote: Rank as v32,
        /// Bytes read from the remote side.
        bytes: u64 as v64,
        /// Number that pairs an operation with its completion on the same location (unique per window / per I/O handle).
        matching_id: MatchingId as v64,
    }
    /// An atomic operation was issued.
    48 RmaAtomic "1.2" Length {
        /// RMA window.
        win: RmaWinRef as v32,
        /// Rank of the other side, counted in the communicator of the window.
        remote: Rank as v32,
        /// Kind of atomic.
        kind: RmaAtomicType as u8,
        /// Bytes sent.
        bytes_sent: u64 as v64,
        /// Bytes received.
        bytes_received: u64 as v64,
        /// Number that pairs an operation with its completion on the same location (unique per window / per I/O handle).
        matching_id: MatchingId as v64,
    }
    /// A blocking operation completed locally.
    49 RmaOpCompleteBlocking "1.2" Length {
        /// RMA window.
        win: RmaWinRef as v32,
        /// Number that pairs an operation with its completion on the same location (unique per window / per I/O handle).
        matching_id: MatchingId as v64,
    }
    /// A non-blocking operation completed locally.
    50 RmaOpCompleteNonBlocking "1.2" Length {
        /// RMA window.
        win: RmaWinRef as v32,
        /// Number that pairs an operation with its completion on the same location (unique per window / per I/O handle).
        matching_id: MatchingId as v64,
    }
    /// An operation was tested and had not completed.
    51 RmaOpTest "1.2" Length {
        /// RMA window.
        win: RmaWinRef as v32,
        /// Number that pairs an operation with its completion on the same location (unique per window / per I/O handle).
        matching_id: MatchingId as v64,
    }
    /// An operation completed at its target.
    52 RmaOpCompleteRemote "1.2" Length {
        /// RMA window.
        win: RmaWinRef as v32,
        /// Number that pairs an operation with its completion on the same location (unique per window / per I/O handle).
        matching_id: MatchingId as v64,
    }
    /// A team of threads was forked.
    53 ThreadFork "1.2" Length {
        /// Threading paradigm.
        model: Paradigm as u8,
        /// Team size asked for.
        number_of_requested_threads: u32 as v32,
    }
    /// A team of threads was joined.
    54 ThreadJoin "1.2" Length {
        /// Threading paradigm.
        model: Paradigm as u8,
    }
    /// This thread joined a team.
    55 ThreadTeamBegin "1.2" Length {
        /// Comm id of the team.
        thread_team: CommRef as v32,
    }
    /// This thread left a team.
    56 ThreadTeamEnd "1.2" Length {
        /// Comm id of the team.
        thread_team: CommRef as v32,
    }
    /// A lock between threads was acquired.
    57 ThreadAcquireLock "1.2" Length {
        /// Threading paradigm.
        model: Paradigm as u8,
        /// Lock number.
        lock_id: u32 as v32,
        /// Counter that orders the acquisitions of one lock; acquire and its release carry the same number.
        acquisition_order: u32 as v32,
    }
    /// A lock between threads was released.
    58 ThreadReleaseLock "1.2" Length {
        /// Threading paradigm.
        model: Paradigm as u8,
        /// Lock number.
        lock_id: u32 as v32,
        /// Counter that orders the acquisitions of one lock; acquire and its release carry the same number.
        acquisition_order: u32 as v32,
    }
    /// A task was created.
    59 ThreadTaskCreate "1.2" Length {
        /// Comm id of the team.
        thread_team: CommRef as v32,
        /// Rank of the creating thread in the team.
        creating_thread: Rank as v32,
        /// Number of the task among those of its creating thread.
        generation_number: u32 as v32,
    }
    /// The thread switched to another task.
    60 ThreadTaskSwitch "1.2" Length {
        /// Comm id of the team.
        thread_team: CommRef as v32,
        /// Rank of the creating thread in the team.
        creating_thread: Rank as v32,
        /// Number of the task among those of its creating thread.
        generation_number: u32 as v32,
    }
    /// A task completed.
    61 ThreadTaskComplete "1.2" Length {
        /// Comm id of the team.
        thread_team: CommRef as v32,
        /// Rank of the creating thread in the team.
        creating_thread: Rank as v32,
        /// Number of the task among those of its creating thread.
        generation_number: u32 as v32,
    }
    /// A thread was created.
    62 ThreadCreate "1.3" Length {
        /// Comm id of the contingent.
        thread_contingent: CommRef as v32,
        /// Number, unique in the contingent, shared by the two records of a pair.
        sequence_count: u64 as v64,
    }
    /// A created thread began.
    63 ThreadBegin "1.3" Length {
        /// Comm id of the contingent.
        thread_contingent: CommRef as v32,
        /// Number, unique in the contingent, shared by the two records of a pair.
        sequence_count: u64 as v64,
    }
    /// A thread was waited for.
    64 ThreadWait "1.3" Length {
        /// Comm id of the contingent.
        thread_contingent: CommRef as v32,
        /// Number, unique in the contingent, shared by the two records of a pair.
        sequence_count: u64 as v64,
    }
    /// A created thread ended.
    65 ThreadEnd "1.3" Length {
        /// Comm id of the contingent.
        thread_contingent: CommRef as v32,
        /// Number of the matching [`ThreadWait`]; all ones if no thread waits for this one.
        sequence_count: u64 as v64,
    }
    /// A calling context was entered.
    66 CallingContextEnter "2.0" Length {
        /// CallingContext node.
        calling_context: CallingContextRef as v32,
        /// Number of nodes of the context that are new, counted from the leaf, plus one; 0 if nothing changed.
        unwind_distance: u32 as v32,
    }
    /// A calling context was left.
    67 CallingContextLeave "2.0" Length {
        /// CallingContext node.
        calling_context: CallingContextRef as v32,
    }
    /// A sample was taken.
    68 CallingContextSample "1.5" Length {
        /// CallingContext node.
        calling_context: CallingContextRef as v32,
        /// Number of nodes of the context that are new, counted from the leaf, plus one; 0 if nothing changed.
        unwind_distance: u32 as v32,
        /// Interrupt generator that triggered the sample.
        interrupt_generator: InterruptGeneratorRef as v32,
    }
    /// An I/O handle became active.
    69 IoCreateHandle "2.1" Length {
        /// Handle that becomes active.
        handle: IoHandleRef as v32,
        /// Access mode.
        mode: IoAccessMode as u8,
        /// Flags that the program passed when it created the handle.
        creation_flags: IoCreationFlag as v32,
        /// Status flags of the handle.
        status_flags: IoStatusFlag as v32,
    }
    /// An I/O handle became inactive.
    70 IoDestroyHandle "2.1" Length {
        /// Handle that becomes inactive.
        handle: IoHandleRef as v32,
    }
    /// An I/O handle was duplicated.
    71 IoDuplicateHandle "2.1" Length {
        /// Handle duplicated.
        old_handle: IoHandleRef as v32,
        /// Handle that becomes active.
        new_handle: IoHandleRef as v32,
        /// Status flags of the new handle.
        status_flags: IoStatusFlag as v32,
    }
    /// The position of an I/O handle was moved.
    72 IoSeek "2.1" Length {
        /// I/O handle (active).
        handle: IoHandleRef as v32,
        /// Offset asked for.
        offset_request: i64 as s64,
        /// Position from which the seek counts.
        whence: IoSeekOption as u8,
        /// Resulting offset from the start of the file, in bytes.
        offset_result: u64 as v64,
    }
    /// The status of an I/O handle changed.
    73 IoChangeStatusFlags "2.1" Length {
        /// I/O handle (active).
        handle: IoHandleRef as v32,
        /// Status flags of the handle after the change.
        status_flags: IoStatusFlag as v32,
    }
    /// A file was deleted.
    74 IoDeleteFile "2.1" Length {
        /// IoParadigm id.
        io_paradigm: IoParadigmRef as u8,
        /// IoRegularFile or IoDirectory id.
        file: IoFileRef as v32,
    }
    /// An I/O operation began.
    75 IoOperationBegin "2.1" Length {
        /// I/O handle (active).
        handle: IoHandleRef as v32,
        /// Read, write or flush.
        mode: IoOperationMode as u8,
        /// Flags of the operation.
        operation_flags: IoOperationFlag as v32,
        /// Bytes asked for.
        bytes_request: u64 as v64,
        /// Number that pairs an operation with its completion on the same location (unique per window / per I/O handle).
        matching_id: MatchingId as v64,
    }
    /// An I/O operation was tested and had not completed.
    76 IoOperationTest "2.1" Length {
        /// I/O handle (active).
        handle: IoHandleRef as v32,
        /// Number that pairs an operation with its completion on the same location (unique per window / per I/O handle).
        matching_id: MatchingId as v64,
    }
    /// A non-blocking I/O operation was issued.
    77 IoOperationIssued "2.1" Length {
        /// I/O handle (active).
        handle: IoHandleRef as v32,
        /// Number that pairs an operation with its completion on the same location (unique per window / per I/O handle).
        matching_id: MatchingId as v64,
    }
    /// An I/O operation completed.
    78 IoOperationComplete "2.1" Length {
        /// I/O handle (active).
        handle: IoHandleRef as v32,
        /// Bytes moved.
        bytes_result: u64 as v64,
        /// Number that pairs an operation with its completion on the same location (unique per window / per I/O handle).
        matching_id: MatchingId as v64,
    }
    /// An I/O operation was cancelled.
    79 IoOperationCancelled "2.1" Length {
        /// I/O handle (active).
        handle: IoHandleRef as v32,
        /// Number that pairs an operation with its completion on the same location (unique per window / per I/O handle).
        matching_id: MatchingId as v64,
    }
    /// A lock on an I/O handle was acquired.
    80 IoAcquireLock "2.1" Length {
        /// I/O handle (active).
        handle: IoHandleRef as v32,
        /// Exclusive or shared.
        lock_type: LockType as u8,
    }
    /// A lock on an I/O handle was released.
    81 IoReleaseLock "2.1" Length {
        /// I/O handle (active).
        handle: IoHandleRef as v32,
        /// Exclusive or shared.
        lock_type: LockType as u8,
    }
    /// An attempt to lock an I/O handle failed.
    82 IoTryLock "2.1" Length {
        /// I/O handle (active).
        handle: IoHandleRef as v32,
        /// Exclusive or shared.
        lock_type: LockType as u8,
    }
    /// The program began.
    83 ProgramBegin<'a> "2.1" Length {
        /// Name of the program.
        program_name: StringRef as v32,
        /// Arguments of the program.
        program_arguments: List<'a, StringRef> as list32,
    }
    /// The program ended.
    84 ProgramEnd "2.1" Length {
        /// Exit code; `i64::MIN` if not known.
        exit_status: i64 as s64,
    }
    /// A non-blocking collective was issued.
    85 NonBlockingCollectiveRequest "3.0" Length {
        /// Request number; links the records of one non-blocking operation on this location.
        request_id: RequestId as v64,
    }
    /// A non-blocking collective completed.
    86 NonBlockingCollectiveComplete "3.0" Length {
        /// Kind of collective.
        collective_op: CollectiveOp as u8,
        /// Communicator (Comm or InterComm id).
        communicator: CommRef as v32,
        /// Root rank, or one of the CollectiveRoot constants.
        root: CollectiveRoot as v32,
        /// Bytes sent.
        size_sent: u64 as v64,
        /// Bytes received.
        size_received: u64 as v64,
        /// Request number; links the records of one non-blocking operation on this location.
        request_id: RequestId as v64,
    }
    /// A communicator was created.
    87 CommCreate "3.0" Length {
        /// Communicator created.
        communicator: CommRef as v32,
    }
    /// A communicator was destroyed.
    88 CommDestroy "3.0" Length {
        /// Communicator that ends with the enclosing collective.
        communicator: CommRef as v32,
    }
}
