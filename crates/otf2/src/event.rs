//! Event records: all records that the event file of a location can contain.
//!
//! Each record is a struct, and [`Event`] is one of them. The byte table of each says how its fields are stored on disk, in
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
use crate::output::Output;
use crate::record::{Framing, Keep, Record, Scope, Then, Unknown, records};
use crate::value::{List, MetricValue, Value};
use crate::wire::{Fault, Input, Wire};

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

    /// The recorder wrote its buffer to disk from this time until `stop_time`. The program was disturbed meanwhile.
    10 BufferFlush "1.0" Length {
        /// Time at which the flush ended, corrected like the time of the event.
        stop_time: Time as u64,
    }
    /// The recorder was switched on or off. Between off and on, events of the program are missing.
    11 MeasurementOnOff "1.0" Length {
        /// State of the recorder from this event on.
        measurement_mode: MeasurementMode as u8,
    }
    /// The location entered a region, which a [`Leave`] of the same region ends.
    12 Enter "1.0" Single {
        /// The region that was entered.
        region: RegionRef as v32,
    }
    /// The location left a region, which is the one that it entered last unless tasks are switched.
    13 Leave "1.0" Single {
        /// The region that was left.
        region: RegionRef as v32,
    }
    /// The location called a blocking send.
    14 MpiSend "1.0" Length {
        /// Rank of the receiver in the communicator.
        receiver: Rank as v32,
        /// Communicator or inter-communicator of the operation.
        communicator: CommRef as v32,
        /// Tag of the message.
        msg_tag: u32 as v32,
        /// Length of the message, in bytes.
        msg_length: u64 as v64,
    }
    /// The location called a non-blocking send. An [`MpiIsendComplete`] with the same request follows.
    15 MpiIsend "1.0" Length {
        /// Rank of the receiver in the communicator.
        receiver: Rank as v32,
        /// Communicator or inter-communicator of the operation.
        communicator: CommRef as v32,
        /// Tag of the message.
        msg_tag: u32 as v32,
        /// Length of the message, in bytes.
        msg_length: u64 as v64,
        /// Request that links the records of one non-blocking operation on this location.
        request_id: RequestId as v64,
    }
    /// A non-blocking send completed, or the program freed its request before.
    16 MpiIsendComplete "1.0" Single {
        /// Request that links the records of one non-blocking operation on this location.
        request_id: RequestId as v64,
    }
    /// The location posted a non-blocking receive. An [`MpiIrecv`] with the same request follows.
    17 MpiIrecvRequest "1.0" Single {
        /// Request that links the records of one non-blocking operation on this location.
        request_id: RequestId as v64,
    }
    /// A blocking receive returned with a message.
    18 MpiRecv "1.0" Length {
        /// Rank of the sender in the communicator.
        sender: Rank as v32,
        /// Communicator or inter-communicator of the operation.
        communicator: CommRef as v32,
        /// Tag of the message.
        msg_tag: u32 as v32,
        /// Length of the message, in bytes.
        msg_length: u64 as v64,
    }
    /// A non-blocking receive completed with a message.
    19 MpiIrecv "1.0" Length {
        /// Rank of the sender in the communicator.
        sender: Rank as v32,
        /// Communicator or inter-communicator of the operation.
        communicator: CommRef as v32,
        /// Tag of the message.
        msg_tag: u32 as v32,
        /// Length of the message, in bytes.
        msg_length: u64 as v64,
        /// Request that links the records of one non-blocking operation on this location.
        request_id: RequestId as v64,
    }
    /// The program tested a request, which had not completed.
    20 MpiRequestTest "1.0" Single {
        /// Request that links the records of one non-blocking operation on this location.
        request_id: RequestId as v64,
    }
    /// The program cancelled a request.
    21 MpiRequestCancelled "1.0" Single {
        /// Request that links the records of one non-blocking operation on this location.
        request_id: RequestId as v64,
    }
    /// The location began an MPI collective. An [`MpiCollectiveEnd`] follows, which says what it was.
    22 MpiCollectiveBegin "1.0" Empty {
    }
    /// The location ended an MPI collective.
    23 MpiCollectiveEnd "1.0" Length {
        /// Kind of the collective operation.
        collective_op: CollectiveOp as u8,
        /// Communicator or inter-communicator of the operation.
        communicator: CommRef as v32,
        /// Root of the operation: a rank in the communicator, none, or a special value.
        root: CollectiveRoot as v32,
        /// Number of bytes that this process sent.
        size_sent: u64 as v64,
        /// Number of bytes that this process received.
        size_received: u64 as v64,
    }
    /// An OpenMP thread forked a team (deprecated; see [`ThreadFork`]).
    24 OmpFork "1.0" Single {
        /// Requested number of threads in the team.
        number_of_requested_threads: u32 as v32,
    }
    /// An OpenMP team was joined (deprecated; see [`ThreadJoin`]).
    25 OmpJoin "1.0" Empty {
    }
    /// An OpenMP thread acquired a lock (deprecated; see [`ThreadAcquireLock`]).
    26 OmpAcquireLock "1.0" Length {
        /// Id of the lock.
        lock_id: u32 as v32,
        /// Rising number that orders the acquisitions of one lock; an acquisition and its release have the same number.
        acquisition_order: u32 as v32,
    }
    /// An OpenMP thread released a lock (deprecated; see [`ThreadReleaseLock`]).
    27 OmpReleaseLock "1.0" Length {
        /// Id of the lock.
        lock_id: u32 as v32,
        /// Rising number that orders the acquisitions of one lock; an acquisition and its release have the same number.
        acquisition_order: u32 as v32,
    }
    /// An OpenMP thread created a task (deprecated; see [`ThreadTaskCreate`]).
    28 OmpTaskCreate "1.0" Single {
        /// Id of the task that was created.
        task_id: u64 as v64,
    }
    /// An OpenMP thread suspended its task and continued another (deprecated; see [`ThreadTaskSwitch`]).
    29 OmpTaskSwitch "1.0" Single {
        /// Id of the task that runs from this event on.
        task_id: u64 as v64,
    }
    /// An OpenMP task completed (deprecated; see [`ThreadTaskComplete`]).
    30 OmpTaskComplete "1.0" Single {
        /// Id of the task that completed.
        task_id: u64 as v64,
    }
    /// The recorder read the values of a metric.
    31 Metric<'a> "1.0" Length {
        /// The metric class or metric instance whose values these are; never a metric member.
        metric: MetricRef as v32,
        /// The values, one for each member of the metric class and in the same order.
        values: List<'a, MetricValue> as list8,
    }
    /// A string parameter has this value in the current region.
    32 ParameterString "1.0" Length {
        /// The parameter that has the value.
        parameter: ParameterRef as v32,
        /// The string that is the value.
        string: StringRef as v32,
    }
    /// A signed integer parameter has this value in the current region.
    33 ParameterInt "1.0" Length {
        /// The parameter that has the value.
        parameter: ParameterRef as v32,
        /// Value of the parameter.
        value: i64 as s64,
    }
    /// An unsigned integer parameter has this value in the current region.
    34 ParameterUnsignedInt "1.0" Length {
        /// The parameter that has the value.
        parameter: ParameterRef as v32,
        /// Value of the parameter.
        value: u64 as v64,
    }
    /// The process created an RMA window. Only windows with the flag
    /// [`RmaWinFlag::CREATE_DESTROY_EVENTS`](crate::enums::RmaWinFlag::CREATE_DESTROY_EVENTS) have this event.
    35 RmaWinCreate "1.2" Length {
        /// The window that was created.
        win: RmaWinRef as v32,
    }
    /// The process destroyed an RMA window. Inside a collective, the window exists until the [`RmaCollectiveEnd`].
    36 RmaWinDestroy "1.2" Length {
        /// The window that was destroyed.
        win: RmaWinRef as v32,
    }
    /// The location began a collective of a one-sided library. An [`RmaCollectiveEnd`] follows, which says what it was.
    37 RmaCollectiveBegin "1.2" Empty {
    }
    /// The location ended a collective of a one-sided library.
    38 RmaCollectiveEnd "1.2" Length {
        /// Kind of the collective operation.
        collective_op: CollectiveOp as u8,
        /// Effect of the call: it synchronises processes, memory, or both.
        sync_level: RmaSyncLevel as v32,
        /// RMA window of the operation.
        win: RmaWinRef as v32,
        /// Root of the operation: a rank in the communicator, none, or a special value.
        root: CollectiveRoot as v32,
        /// Number of bytes that this process sent.
        bytes_sent: u64 as v64,
        /// Number of bytes that this process received.
        bytes_received: u64 as v64,
    }
    /// The process synchronised with a group of processes on an RMA window.
    39 RmaGroupSync "1.2" Length {
        /// Effect of the call: it synchronises processes, memory, or both.
        sync_level: RmaSyncLevel as v32,
        /// RMA window of the operation.
        win: RmaWinRef as v32,
        /// Group of the participating processes.
        group: GroupRef as v32,
    }
    /// The process requested a lock, which may be granted from this time on. MPI allows the request to be non-blocking.
    40 RmaRequestLock "1.2" Length {
        /// RMA window of the operation.
        win: RmaWinRef as v32,
        /// Rank of the locked process in the communicator of the window; undefined if all processes are locked.
        remote: Rank as v32,
        /// Lock identifier, for windows with several locks.
        lock_id: LockId as v64,
        /// Kind of the lock: exclusive or shared.
        lock_type: LockType as u8,
    }
    /// The process acquired a lock.
    41 RmaAcquireLock "1.2" Length {
        /// RMA window of the operation.
        win: RmaWinRef as v32,
        /// Rank of the locked process in the communicator of the window; undefined if all processes are locked.
        remote: Rank as v32,
        /// Lock identifier, for windows with several locks.
        lock_id: LockId as v64,
        /// Kind of the lock: exclusive or shared.
        lock_type: LockType as u8,
    }
    /// The process tried to acquire a lock, which was not free.
    42 RmaTryLock "1.2" Length {
        /// RMA window of the operation.
        win: RmaWinRef as v32,
        /// Rank of the locked process in the communicator of the window; undefined if all processes are locked.
        remote: Rank as v32,
        /// Lock identifier, for windows with several locks.
        lock_id: LockId as v64,
        /// Kind of the lock: exclusive or shared.
        lock_type: LockType as u8,
    }
    /// The process released a lock.
    43 RmaReleaseLock "1.2" Length {
        /// RMA window of the operation.
        win: RmaWinRef as v32,
        /// Rank of the locked process in the communicator of the window; undefined if all processes are locked.
        remote: Rank as v32,
        /// Lock identifier, for windows with several locks.
        lock_id: LockId as v64,
    }
    /// The process synchronised directly with another process, or synchronised its memory.
    44 RmaSync "1.2" Length {
        /// RMA window of the operation.
        win: RmaWinRef as v32,
        /// Rank of the other process in the communicator of the window.
        remote: Rank as v32,
        /// Kind of the synchronisation.
        sync_type: RmaSyncType as u8,
    }
    /// The process waited for a change of its own window memory. OTF2 describes the event as the change that was waited
    /// for; recorders may also write it when the wait begins.
    45 RmaWaitChange "1.2" Length {
        /// RMA window of the operation.
        win: RmaWinRef as v32,
    }
    /// The process issued a put. A completion event with the same matching id follows.
    46 RmaPut "1.2" Length {
        /// RMA window of the operation.
        win: RmaWinRef as v32,
        /// Rank of the other process in the communicator of the window.
        remote: Rank as v32,
        /// Number of bytes written to the target.
        bytes: u64 as v64,
        /// Number that links the operation with its completion on the same location; unique for each window.
        matching_id: MatchingId as v64,
    }
    /// The process issued a get. A completion event with the same matching id follows.
    47 RmaGet "1.2" Length {
        /// RMA window of the operation.
        win: RmaWinRef as v32,
        /// Rank of the other process in the communicator of the window.
        remote: Rank as v32,
        /// Number of bytes read from the target.
        bytes: u64 as v64,
        /// Number that links the operation with its completion on the same location; unique for each window.
        matching_id: MatchingId as v64,
    }
    /// The process issued an atomic operation. A completion event with the same matching id follows.
    48 RmaAtomic "1.2" Length {
        /// RMA window of the operation.
        win: RmaWinRef as v32,
        /// Rank of the other process in the communicator of the window.
        remote: Rank as v32,
        /// Kind of the atomic operation.
        kind: RmaAtomicType as u8,
        /// Number of bytes sent to the target.
        bytes_sent: u64 as v64,
        /// Number of bytes received from the target.
        bytes_received: u64 as v64,
        /// Number that links the operation with its completion on the same location; unique for each window.
        matching_id: MatchingId as v64,
    }
    /// A blocking RMA operation completed locally: the program may use the local buffer again.
    49 RmaOpCompleteBlocking "1.2" Length {
        /// RMA window of the operation.
        win: RmaWinRef as v32,
        /// Number that links the operation with its completion on the same location; unique for each window.
        matching_id: MatchingId as v64,
    }
    /// A non-blocking RMA operation completed locally: the program may use the local buffer again.
    50 RmaOpCompleteNonBlocking "1.2" Length {
        /// RMA window of the operation.
        win: RmaWinRef as v32,
        /// Number that links the operation with its completion on the same location; unique for each window.
        matching_id: MatchingId as v64,
    }
    /// The program tested a non-blocking RMA operation, which had not completed.
    51 RmaOpTest "1.2" Length {
        /// RMA window of the operation.
        win: RmaWinRef as v32,
        /// Number that links the operation with its completion on the same location; unique for each window.
        matching_id: MatchingId as v64,
    }
    /// An RMA operation completed at its target.
    52 RmaOpCompleteRemote "1.2" Length {
        /// RMA window of the operation.
        win: RmaWinRef as v32,
        /// Number that links the operation with its completion on the same location; unique for each window.
        matching_id: MatchingId as v64,
    }
    /// The thread forked a team of threads.
    53 ThreadFork "1.2" Length {
        /// Threading paradigm of the team or lock.
        model: Paradigm as u8,
        /// Requested number of threads in the team.
        number_of_requested_threads: u32 as v32,
    }
    /// A team of threads was joined, and only its first thread continues.
    54 ThreadJoin "1.2" Length {
        /// Threading paradigm of the team or lock.
        model: Paradigm as u8,
    }
    /// The thread entered a team.
    55 ThreadTeamBegin "1.2" Length {
        /// Team of threads, as a communicator.
        thread_team: CommRef as v32,
    }
    /// The thread left a team.
    56 ThreadTeamEnd "1.2" Length {
        /// Team of threads, as a communicator.
        thread_team: CommRef as v32,
    }
    /// The thread acquired a lock.
    57 ThreadAcquireLock "1.2" Length {
        /// Threading paradigm of the team or lock.
        model: Paradigm as u8,
        /// Id of the lock.
        lock_id: u32 as v32,
        /// Rising number that orders the acquisitions of one lock; an acquisition and its release have the same number.
        acquisition_order: u32 as v32,
    }
    /// The thread released a lock.
    58 ThreadReleaseLock "1.2" Length {
        /// Threading paradigm of the team or lock.
        model: Paradigm as u8,
        /// Id of the lock.
        lock_id: u32 as v32,
        /// Rising number that orders the acquisitions of one lock; an acquisition and its release have the same number.
        acquisition_order: u32 as v32,
    }
    /// The thread created a task, which a team will execute.
    59 ThreadTaskCreate "1.2" Length {
        /// Team of threads, as a communicator.
        thread_team: CommRef as v32,
        /// Rank of the creating thread in the team.
        creating_thread: Rank as v32,
        /// Number of the task among those of its creating thread.
        generation_number: u32 as v32,
    }
    /// The thread suspended its task and continued another, so its call stack may change.
    60 ThreadTaskSwitch "1.2" Length {
        /// Team of threads, as a communicator.
        thread_team: CommRef as v32,
        /// Rank of the creating thread in the team.
        creating_thread: Rank as v32,
        /// Number of the task among those of its creating thread.
        generation_number: u32 as v32,
    }
    /// A task completed.
    61 ThreadTaskComplete "1.2" Length {
        /// Team of threads, as a communicator.
        thread_team: CommRef as v32,
        /// Rank of the creating thread in the team.
        creating_thread: Rank as v32,
        /// Number of the task among those of its creating thread.
        generation_number: u32 as v32,
    }
    /// The thread created another thread. A [`ThreadBegin`] with the same number follows on the new location.
    62 ThreadCreate "1.3" Length {
        /// Contingent of threads to which the thread belongs, as a communicator.
        thread_contingent: CommRef as v32,
        /// Number, unique in the contingent, that the matching [`ThreadBegin`] has too.
        sequence_count: u64 as v64,
    }
    /// A thread that another one created began to run.
    63 ThreadBegin "1.3" Length {
        /// Contingent of threads to which the thread belongs, as a communicator.
        thread_contingent: CommRef as v32,
        /// Number, unique in the contingent, that the matching [`ThreadCreate`] has too.
        sequence_count: u64 as v64,
    }
    /// The thread waited for another thread to end.
    64 ThreadWait "1.3" Length {
        /// Contingent of threads to which the thread belongs, as a communicator.
        thread_contingent: CommRef as v32,
        /// Number, unique in the contingent, that the matching [`ThreadEnd`] has too.
        sequence_count: u64 as v64,
    }
    /// A thread that another one created ended.
    65 ThreadEnd "1.3" Length {
        /// Contingent of threads to which the thread belongs, as a communicator.
        thread_contingent: CommRef as v32,
        /// Number of the matching [`ThreadWait`]; all ones if no thread waits for this one.
        sequence_count: u64 as v64,
    }
    /// The thread entered an instrumented region, given with its full calling context. A trace has either these events
    /// or [`Enter`] and [`Leave`].
    66 CallingContextEnter "2.0" Length {
        /// Node of the calling-context tree.
        calling_context: CallingContextRef as v32,
        /// Number of nodes of the context that are new, counted from the leaf, plus one; 0 if nothing changed.
        unwind_distance: u32 as v32,
    }
    /// The thread left an instrumented region, given with its full calling context. The parent of this context is the
    /// current one afterwards.
    67 CallingContextLeave "2.0" Length {
        /// Node of the calling-context tree.
        calling_context: CallingContextRef as v32,
    }
    /// The thread was interrupted and its calling context was sampled.
    68 CallingContextSample "1.5" Length {
        /// Node of the calling-context tree.
        calling_context: CallingContextRef as v32,
        /// Number of nodes of the context that are new, counted from the leaf, plus one; 0 if nothing changed.
        unwind_distance: u32 as v32,
        /// Interrupt generator that triggered the sample.
        interrupt_generator: InterruptGeneratorRef as v32,
    }
    /// The process opened an I/O handle, which is active until the matching [`IoDestroyHandle`]. All threads of the
    /// process can use it.
    69 IoCreateHandle "2.1" Length {
        /// The handle that becomes active.
        handle: IoHandleRef as v32,
        /// Operations that the handle allows: reading, writing or both.
        mode: IoAccessMode as u8,
        /// Flags that the program passed when it created the handle.
        creation_flags: IoCreationFlag as v32,
        /// Status flags of the handle.
        status_flags: IoStatusFlag as v32,
    }
    /// The process closed an I/O handle.
    70 IoDestroyHandle "2.1" Length {
        /// The handle that is no longer active.
        handle: IoHandleRef as v32,
    }
    /// The process duplicated an I/O handle.
    71 IoDuplicateHandle "2.1" Length {
        /// The handle that was duplicated, which stays active.
        old_handle: IoHandleRef as v32,
        /// The new handle, which becomes active.
        new_handle: IoHandleRef as v32,
        /// Status flags of the new handle, which inherits none.
        status_flags: IoStatusFlag as v32,
    }
    /// The process moved the position of an I/O handle.
    72 IoSeek "2.1" Length {
        /// The active I/O handle of the operation.
        handle: IoHandleRef as v32,
        /// Requested offset in bytes, relative to `whence`.
        offset_request: i64 as s64,
        /// Position from which the seek counts.
        whence: IoSeekOption as u8,
        /// Resulting offset from the start of the file, in bytes.
        offset_result: u64 as v64,
    }
    /// The process changed the status flags of an I/O handle.
    73 IoChangeStatusFlags "2.1" Length {
        /// The active I/O handle of the operation.
        handle: IoHandleRef as v32,
        /// Status flags of the handle after the change.
        status_flags: IoStatusFlag as v32,
    }
    /// The process deleted a file or directory.
    74 IoDeleteFile "2.1" Length {
        /// I/O paradigm by which the file was deleted.
        io_paradigm: IoParadigmRef as u8,
        /// The regular file or directory that was deleted.
        file: IoFileRef as v32,
    }
    /// The process began an I/O operation.
    75 IoOperationBegin "2.1" Length {
        /// The active I/O handle of the operation.
        handle: IoHandleRef as v32,
        /// Kind of operation: read, write or flush.
        mode: IoOperationMode as u8,
        /// Flags of the operation.
        operation_flags: IoOperationFlag as v32,
        /// Number of bytes requested.
        bytes_request: u64 as v64,
        /// Number that links the records of one operation on the same location; unique for each I/O handle.
        matching_id: MatchingId as v64,
    }
    /// The program tested an I/O operation, which had not completed.
    76 IoOperationTest "2.1" Length {
        /// The active I/O handle of the operation.
        handle: IoHandleRef as v32,
        /// Number that links the records of one operation on the same location; unique for each I/O handle.
        matching_id: MatchingId as v64,
    }
    /// The process issued a non-blocking I/O operation. An [`IoOperationComplete`] or [`IoOperationCancelled`] follows.
    77 IoOperationIssued "2.1" Length {
        /// The active I/O handle of the operation.
        handle: IoHandleRef as v32,
        /// Number that links the records of one operation on the same location; unique for each I/O handle.
        matching_id: MatchingId as v64,
    }
    /// An I/O operation completed.
    78 IoOperationComplete "2.1" Length {
        /// The active I/O handle of the operation.
        handle: IoHandleRef as v32,
        /// Number of bytes transferred.
        bytes_result: u64 as v64,
        /// Number that links the records of one operation on the same location; unique for each I/O handle.
        matching_id: MatchingId as v64,
    }
    /// The program cancelled a non-blocking I/O operation.
    79 IoOperationCancelled "2.1" Length {
        /// The active I/O handle of the operation.
        handle: IoHandleRef as v32,
        /// Number that links the records of one operation on the same location; unique for each I/O handle.
        matching_id: MatchingId as v64,
    }
    /// The process acquired a lock on an I/O handle.
    80 IoAcquireLock "2.1" Length {
        /// The active I/O handle of the operation.
        handle: IoHandleRef as v32,
        /// Kind of the lock: exclusive or shared.
        lock_type: LockType as u8,
    }
    /// The process released a lock on an I/O handle.
    81 IoReleaseLock "2.1" Length {
        /// The active I/O handle of the operation.
        handle: IoHandleRef as v32,
        /// Kind of the lock: exclusive or shared.
        lock_type: LockType as u8,
    }
    /// The process tried to lock an I/O handle and failed.
    82 IoTryLock "2.1" Length {
        /// The active I/O handle of the operation.
        handle: IoHandleRef as v32,
        /// Kind of the lock: exclusive or shared.
        lock_type: LockType as u8,
    }
    /// The program began. No event of the process is earlier.
    83 ProgramBegin<'a> "2.1" Length {
        /// Name of the program.
        program_name: StringRef as v32,
        /// Arguments of the program, without its name.
        program_arguments: List<'a, StringRef> as list32,
    }
    /// The program ended. No event of the process is later.
    84 ProgramEnd "2.1" Length {
        /// Exit status of the program, or `i64::MIN` if it is not known.
        exit_status: i64 as s64,
    }
    /// The location called a non-blocking collective. A [`NonBlockingCollectiveComplete`] with the same request
    /// follows.
    85 NonBlockingCollectiveRequest "3.0" Length {
        /// Request that links the records of one non-blocking operation on this location.
        request_id: RequestId as v64,
    }
    /// A non-blocking collective completed.
    86 NonBlockingCollectiveComplete "3.0" Length {
        /// Kind of the collective operation.
        collective_op: CollectiveOp as u8,
        /// Communicator or inter-communicator of the operation.
        communicator: CommRef as v32,
        /// Root of the operation: a rank in the communicator, none, or a special value.
        root: CollectiveRoot as v32,
        /// Number of bytes that this process sent.
        size_sent: u64 as v64,
        /// Number of bytes that this process received.
        size_received: u64 as v64,
        /// Request that links the records of one non-blocking operation on this location.
        request_id: RequestId as v64,
    }
    /// The process created a communicator.
    87 CommCreate "3.0" Length {
        /// The communicator that was created.
        communicator: CommRef as v32,
    }
    /// The process destroyed a communicator.
    88 CommDestroy "3.0" Length {
        /// The communicator that was destroyed. Inside a collective, it exists until the collective ends.
        communicator: CommRef as v32,
    }
}
