//! The line of each record, as a table.
//!
//! The titles and labels are those of `otf2-print`, because scripts look for them. A field is written in braces, by its
//! name in the record. [`text`](super::text) defines how a field of each kind looks.

/// Name of a record in this project, its title in the first column, and the text after the columns.
pub(super) type Row = (&'static str, &'static str, &'static str);

/// Rows of events. Snapshot records of the same name look the same.
pub(super) const EVENTS: &[Row] = &[
    ("BufferFlush", "BUFFER_FLUSH", "Stop Time: {stop_time}"),
    ("MeasurementOnOff", "MEASUREMENT_ON_OFF", "Mode: {measurement_mode}"),
    ("Enter", "ENTER", "Region: {region}"),
    ("Leave", "LEAVE", "Region: {region}"),
    (
        "MpiSend",
        "MPI_SEND",
        "Receiver: {receiver}, Communicator: {communicator}, Tag: {msg_tag}, Length: {msg_length}",
    ),
    (
        "MpiIsend",
        "MPI_ISEND",
        "Receiver: {receiver}, Communicator: {communicator}, Tag: {msg_tag}, Length: {msg_length}, Request: {request_id}",
    ),
    ("MpiIsendComplete", "MPI_ISEND_COMPLETE", "Request: {request_id}"),
    ("MpiIrecvRequest", "MPI_IRECV_REQUEST", "Request: {request_id}"),
    (
        "MpiRecv",
        "MPI_RECV",
        "Sender: {sender}, Communicator: {communicator}, Tag: {msg_tag}, Length: {msg_length}",
    ),
    (
        "MpiIrecv",
        "MPI_IRECV",
        "Sender: {sender}, Communicator: {communicator}, Tag: {msg_tag}, Length: {msg_length}, Request: {request_id}",
    ),
    ("MpiRequestTest", "MPI_REQUEST_TEST", "Request: {request_id}"),
    ("MpiRequestCancelled", "MPI_REQUEST_CANCELLED", "Request: {request_id}"),
    ("MpiCollectiveBegin", "MPI_COLLECTIVE_BEGIN", ""),
    (
        "MpiCollectiveEnd",
        "MPI_COLLECTIVE_END",
        "Operation: {collective_op}, Communicator: {communicator}, Root: {root}, Sent: {size_sent}, Received: {size_received}",
    ),
    ("OmpFork", "OMP_FORK", "# Requested Threads: {number_of_requested_threads}"),
    ("OmpJoin", "OMP_JOIN", ""),
    (
        "OmpAcquireLock",
        "OMP_ACQUIRE_LOCK",
        "Lock: {lock_id}, Acquisition Order: {acquisition_order}",
    ),
    (
        "OmpReleaseLock",
        "OMP_RELEASE_LOCK",
        "Lock: {lock_id}, Acquisition Order: {acquisition_order}",
    ),
    ("OmpTaskCreate", "OMP_TASK_CREATE", "Task: {task_id}"),
    ("OmpTaskSwitch", "OMP_TASK_SWITCH", "Task: {task_id}"),
    ("OmpTaskComplete", "OMP_TASK_COMPLETE", "Task: {task_id}"),
    ("Metric", "METRIC", "Metric: {metric}, {values}"),
    ("ParameterString", "PARAMETER_STRING", "Parameter: {parameter}, Value: {string}"),
    ("ParameterInt", "PARAMETER_INT64", "Parameter: {parameter}, Value: {value}"),
    ("ParameterUnsignedInt", "PARAMETER_UINT64", "Parameter: {parameter}, Value: {value}"),
    ("RmaWinCreate", "RMA_WIN_CREATE", "Window: {win}"),
    ("RmaWinDestroy", "RMA_WIN_DESTROY", "Window: {win}"),
    ("RmaCollectiveBegin", "RMA_COLLECTIVE_BEGIN", ""),
    (
        "RmaCollectiveEnd",
        "RMA_COLLECTIVE_END",
        "Operation: {collective_op}, Window: {win}, Level of Synchronicity: {sync_level}, Root: {root}, Sent: {bytes_sent}, Received: {bytes_received}",
    ),
    (
        "RmaGroupSync",
        "RMA_GROUP_SYNC",
        "Level of Synchronicity: {sync_level}, Window: {win}, Group: {group}",
    ),
    (
        "RmaRequestLock",
        "RMA_REQUEST_LOCK",
        "Window: {win}, Remote: {remote}, Lock: {lock_id}, Type: {lock_type}",
    ),
    (
        "RmaAcquireLock",
        "RMA_ACQUIRE_LOCK",
        "Window: {win}, Remote: {remote}, Lock: {lock_id}, Type: {lock_type}",
    ),
    (
        "RmaTryLock",
        "RMA_TRY_LOCK",
        "Window: {win}, Remote: {remote}, Lock: {lock_id}, Type: {lock_type}",
    ),
    ("RmaReleaseLock", "RMA_RELEASE_LOCK", "Window: {win}, Remote: {remote}, Lock: {lock_id}"),
    ("RmaSync", "RMA_SYNC", "Window: {win}, Remote: {remote}, Sync Type: {sync_type}"),
    ("RmaWaitChange", "RMA_WAIT_CHANGE", "Window: {win}"),
    (
        "RmaPut",
        "RMA_PUT",
        "Window: {win}, Remote: {remote}, Bytes: {bytes}, Matching: {matching_id}",
    ),
    (
        "RmaGet",
        "RMA_GET",
        "Window: {win}, Remote: {remote}, Bytes: {bytes}, Matching: {matching_id}",
    ),
    (
        "RmaAtomic",
        "RMA_ATOMIC",
        "Window: {win}, Remote: {remote}, Type: {kind}, Sent: {bytes_sent}, Received: {bytes_received}, Matching: {matching_id}",
    ),
    ("RmaOpCompleteBlocking", "RMA_OP_COMPLETE_BLOCKING", "Window: {win}, Matching: {matching_id}"),
    (
        "RmaOpCompleteNonBlocking",
        "RMA_OP_COMPLETE_NON_BLOCKING",
        "Window: {win}, Matching: {matching_id}",
    ),
    ("RmaOpTest", "RMA_OP_TEST", "Window: {win}, Matching: {matching_id}"),
    ("RmaOpCompleteRemote", "RMA_OP_COMPLETE_REMOTE", "Window: {win}, Matching: {matching_id}"),
    (
        "ThreadFork",
        "THREAD_FORK",
        "Model: {model}, # Requested Threads: {number_of_requested_threads}",
    ),
    ("ThreadJoin", "THREAD_JOIN", "Model: {model}"),
    ("ThreadTeamBegin", "THREAD_TEAM_BEGIN", "Thread Team: {thread_team}"),
    ("ThreadTeamEnd", "THREAD_TEAM_END", "Thread Team: {thread_team}"),
    (
        "ThreadAcquireLock",
        "THREAD_ACQUIRE_LOCK",
        "Model: {model}, Lock: {lock_id}, Acquisition Order: {acquisition_order}",
    ),
    (
        "ThreadReleaseLock",
        "THREAD_RELEASE_LOCK",
        "Model: {model}, Lock: {lock_id}, Acquisition Order: {acquisition_order}",
    ),
    (
        "ThreadTaskCreate",
        "THREAD_TASK_CREATE",
        "Thread Team: {thread_team}, Creating Thread: {creating_thread}, Generation Number: {generation_number}",
    ),
    (
        "ThreadTaskSwitch",
        "THREAD_TASK_SWITCH",
        "Thread Team: {thread_team}, Creating Thread: {creating_thread}, Generation Number: {generation_number}",
    ),
    (
        "ThreadTaskComplete",
        "THREAD_TASK_COMPLETE",
        "Thread Team: {thread_team}, Creating Thread: {creating_thread}, Generation Number: {generation_number}",
    ),
    (
        "ThreadCreate",
        "THREAD_CREATE",
        "Thread Contingent: {thread_contingent}, Sequence Count: {sequence_count}",
    ),
    (
        "ThreadBegin",
        "THREAD_BEGIN",
        "Thread Contingent: {thread_contingent}, Sequence Count: {sequence_count}",
    ),
    (
        "ThreadWait",
        "THREAD_WAIT",
        "Thread Contingent: {thread_contingent}, Sequence Count: {sequence_count}",
    ),
    (
        "ThreadEnd",
        "THREAD_END",
        "Thread Contingent: {thread_contingent}, Sequence Count: {sequence_count}",
    ),
    (
        "CallingContextEnter",
        "CALLING_CONTEXT_ENTER",
        "Calling Context: {calling_context}, Unwind Distance: {unwind_distance}",
    ),
    ("CallingContextLeave", "CALLING_CONTEXT_LEAVE", "Calling Context: {calling_context}"),
    (
        "CallingContextSample",
        "CALLING_CONTEXT_SAMPLE",
        "Calling Context: {calling_context}, Unwind Distance: {unwind_distance}, Interrupt Generator: {interrupt_generator}",
    ),
    (
        "IoCreateHandle",
        "IO_CREATE_HANDLE",
        "Handle: {handle}, Access Mode: {mode}, Creation Flags: {creation_flags}, Status Flags: {status_flags}",
    ),
    ("IoDestroyHandle", "IO_DESTROY_HANDLE", "Handle: {handle}"),
    (
        "IoDuplicateHandle",
        "IO_DUPLICATE_HANDLE",
        "Old Handle: {old_handle}, New Handle: {new_handle}, Status Flags: {status_flags}",
    ),
    (
        "IoSeek",
        "IO_SEEK",
        "Handle: {handle}, Offset Request: {offset_request}, Whence: {whence}, Offset Result: {offset_result}",
    ),
    ("IoChangeStatusFlags", "IO_CHANGE_FLAGS", "Handle: {handle}, Status Flags: {status_flags}"),
    ("IoDeleteFile", "IO_DELETE_FILE", "I/O Paradigm: {io_paradigm}, File: {file}"),
    (
        "IoOperationBegin",
        "IO_OPERATION_BEGIN",
        "Handle: {handle}, Mode: {mode}, Operation Flags: {operation_flags}, Bytes Request: {bytes_request}, Matching Id: {matching_id}",
    ),
    ("IoOperationTest", "IO_OPERATION_TEST", "Handle: {handle}, Matching Id: {matching_id}"),
    ("IoOperationIssued", "IO_OPERATION_ISSUED", "Handle: {handle}, Matching Id: {matching_id}"),
    (
        "IoOperationComplete",
        "IO_OPERATION_COMPLETE",
        "Handle: {handle}, Bytes Result: {bytes_result}, Matching Id: {matching_id}",
    ),
    (
        "IoOperationCancelled",
        "IO_OPERATION_CANCELLED",
        "Handle: {handle}, Matching Id: {matching_id}",
    ),
    ("IoAcquireLock", "IO_ACQUIRE_LOCK", "Handle: {handle}, Type: {lock_type}"),
    ("IoReleaseLock", "IO_RELEASE_LOCK", "Handle: {handle}, Type: {lock_type}"),
    ("IoTryLock", "IO_TRY_LOCK", "Handle: {handle}, Type: {lock_type}"),
    ("ProgramBegin", "PROGRAM_BEGIN", "Name: {program_name}, {program_arguments}"),
    ("ProgramEnd", "PROGRAM_END", "Exit status: {exit_status}"),
    ("NonBlockingCollectiveRequest", "NON_BLOCKING_COLLECTIVE_REQUEST", "Request: {request_id}"),
    (
        "NonBlockingCollectiveComplete",
        "NON_BLOCKING_COLLECTIVE_COMPLETE",
        "Operation: {collective_op}, Communicator: {communicator}, Root: {root}, Sent: {size_sent}, Received: {size_received}, Request: {request_id}",
    ),
    ("CommCreate", "COMM_CREATE", "Communicator: {communicator}"),
    ("CommDestroy", "COMM_DESTROY", "Communicator: {communicator}"),
    ("SnapshotStart", "SNAPSHOT_START", "# Events: {number_of_records}"),
    ("SnapshotEnd", "SNAPSHOT_END", "Cont. Read Position: {cont_read_pos}"),
];

/// Rows of definitions, global and of a location, and of markers.
pub(super) const DEFINITIONS: &[Row] = &[
    (
        "ClockProperties",
        "CLOCK_PROPERTIES",
        "Ticks per Seconds: {timer_resolution}, Global Offset: {global_offset}, Length: {trace_length}, Date: {realtime_timestamp}",
    ),
    ("Paradigm", "PARADIGM", "{paradigm}, Name: {name}, Class: {paradigm_class}"),
    (
        "ParadigmProperty",
        "PARADIGM_PROPERTY",
        "Paradigm: {paradigm}, Property: {property}, {value}",
    ),
    (
        "IoParadigm",
        "IO_PARADIGM",
        "Identification: {identification}, Name: {name}, Class: {io_paradigm_class}, Flags: {io_paradigm_flags}, {properties}",
    ),
    ("MappingTable", "MAPPING_TABLE", "Type: {mapping_type}, {id_map}"),
    ("ClockOffset", "CLOCK_OFFSET", "Time: {time}, Offset: {offset}, StdDev: {standard_deviation}"),
    ("String", "STRING", "{string}"),
    ("Attribute", "ATTRIBUTE", "Name: {name}, Description: {description}, Type: {kind}"),
    ("SystemTreeNode", "SYSTEM_TREE_NODE", "Name: {name}, Class: {class_name}, Parent: {parent}"),
    (
        "LocationGroup",
        "LOCATION_GROUP",
        "Name: {name}, Type: {location_group_type}, Parent: {system_tree_parent}, Creator: {creating_location_group}",
    ),
    (
        "Location",
        "LOCATION",
        "Name: {name}, Type: {location_type}, # Events: {number_of_events}, Group: {location_group}",
    ),
    (
        "Region",
        "REGION",
        "Name: {name} (Aka. {canonical_name}), Descr.: {description}, Role: {region_role}, Paradigm: {paradigm}, Flags: {region_flags}, File: {source_file}, Begin: {begin_line_number}, End: {end_line_number}",
    ),
    (
        "Callsite",
        "CALLSITE",
        "File: {source_file}, Line Number: {line_number}, Entered Region: {entered_region}, Left Region: {left_region}",
    ),
    ("Callpath", "CALLPATH", "Parent: {parent}, Region: {region}"),
    (
        "Group",
        "GROUP",
        "Name: {name}, Type: {group_type}, Paradigm: {paradigm}, Flags: {group_flags}, {members}",
    ),
    (
        "MetricMember",
        "METRIC_MEMBER",
        "Name: {name}, Descr.: {description}, Type: {metric_type}, Mode: {metric_mode}, Value Type: {value_type}, Base: {base}, Exponent: {exponent}, Unit: {unit}",
    ),
    (
        "MetricClass",
        "METRIC_CLASS",
        "Occurrence: {metric_occurrence}, Kind: {recorder_kind}, {metric_members}",
    ),
    (
        "MetricInstance",
        "METRIC_INSTANCE",
        "Class: {metric_class}, Recorder: {recorder}, Scope: {metric_scope} {scope}",
    ),
    ("Comm", "COMM", "Name: {name}, Group: {group}, Parent: {parent}, Flags: {flags}"),
    ("Parameter", "PARAMETER", "Name: {name}, Type: {parameter_type}"),
    ("RmaWin", "RMA_WIN", "Name: {name}, Communicator: {comm}, Flags: {flags}"),
    ("MetricClassRecorder", "METRIC_CLASS_RECORDER", "Class: {metric}, Recorder: {recorder}"),
    (
        "SystemTreeNodeProperty",
        "SYSTEM_TREE_NODE_PROPERTY",
        "System Tree Node: {system_tree_node}, Name: {name}, {value}",
    ),
    (
        "SystemTreeNodeDomain",
        "SYSTEM_TREE_NODE_DOMAIN",
        "System Tree Node: {system_tree_node}, Domain: {system_tree_domain}",
    ),
    (
        "LocationGroupProperty",
        "LOCATION_GROUP_PROPERTY",
        "Location Group: {location_group}, Name: {name}, {value}",
    ),
    ("LocationProperty", "LOCATION_PROPERTY", "Location: {location}, Name: {name}, {value}"),
    (
        "CartDimension",
        "CART_DIMENSION",
        "Name: {name}, Size: {size}, Periodicity: {cart_periodicity}",
    ),
    (
        "CartTopology",
        "CART_TOPOLOGY",
        "Name: {name}, Communicator: {communicator}, {cart_dimensions}",
    ),
    (
        "CartCoordinate",
        "CART_COORDINATE",
        "Cartesian Topology: {cart_topology}, Rank: {rank}, {coordinates}",
    ),
    ("SourceCodeLocation", "SOURCE_CODE_LOCATION", "File: {file}, Line Number: {line_number}"),
    (
        "CallingContext",
        "CALLING_CONTEXT",
        "Region: {region}, Source code location: {source_code_location}, Parent: {parent}",
    ),
    (
        "CallingContextProperty",
        "CALLING_CONTEXT_PROPERTY",
        "Calling Context: {calling_context}, Name: {name}, {value}",
    ),
    (
        "InterruptGenerator",
        "INTERRUPT_GENERATOR",
        "Name: {name}, Mode: {interrupt_generator_mode}, Base: {base}, Exponent: {exponent}, Period: {period}",
    ),
    ("IoFileProperty", "IO_FILE_PROPERTY", "File: {io_file}, Name: {name}, {value}"),
    ("IoRegularFile", "IO_REGULAR_FILE", "Name: {name}, Scope: {scope}"),
    ("IoDirectory", "IO_DIRECTORY", "Name: {name}, Scope: {scope}"),
    (
        "IoHandle",
        "IO_HANDLE",
        "Name: {name}, File: {file}, I/O Paradigm: {io_paradigm}, Flags: {io_handle_flags}, Communicator: {comm}, Parent: {parent}",
    ),
    (
        "IoPreCreatedHandleState",
        "IO_PRE_CREATED_HANDLE_STATE",
        "Handle: {io_handle}, Access Mode: {mode}, Status Flags: {status_flags}",
    ),
    (
        "CallpathParameter",
        "CALLPATH_PARAMETER",
        "Callpath: {callpath}, Parameter: {parameter}, {value}",
    ),
    // The small `n` is not a slip of ours.
    (
        "InterComm",
        "INTER_COMM",
        "name: {name}, Group A: {group_a}, Group B: {group_b}, Common Communicator: {common_communicator}, Flags: {flags}",
    ),
    ("DefMarker", "DEF_MARKER", "Group: {group}, Category: {category}, Severity: {severity}"),
    (
        "Marker",
        "MARKER",
        "Time: {time}, Duration: {duration}, Marker: {marker}, Scope: {scope} {scope_ref}, Text: {text}",
    ),
];

/// Lists: the field, the labels for one and for several elements, and the frame around the list.
pub(super) const LISTS: &[(&str, &str, &str, Frame)] = &[
    ("values", "Value", "Values", Frame::Counted),
    ("program_arguments", "Argument", "Arguments", Frame::Counted),
    ("properties", "Property", "Properties", Frame::Counted),
    ("members", "Member", "Members", Frame::Counted),
    ("metric_members", "Member", "Members", Frame::Counted),
    ("cart_dimensions", "Dimension", "Dimensions", Frame::CountedTuple),
    ("coordinates", "Coordinate", "Coordinates", Frame::Tuple),
];

/// Frame around a list in its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// `2 Members: a, b`, and `0 Members` without a colon.
    Counted,
    /// `2 Dimensions: (a, b)`.
    CountedTuple,
    /// `Coordinates: (a, b)`.
    Tuple,
}

/// A parsed row: pieces of text, each with the field that follows it.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) title: &'static str,
    pub(super) pieces: Vec<(&'static str, Option<&'static str>)>,
}

impl Layout {
    /// Returns the layout of a record. A record without a row shows only its name.
    pub(super) fn of(rows: &[Row], record: &'static str) -> Self {
        let (_, title, mut rest) =
            rows.iter().copied().find(|row| row.0 == record).unwrap_or((record, record, ""));
        let mut pieces = Vec::new();
        while let Some((text, behind)) = rest.split_once('{') {
            let (field, behind) = behind.split_once('}').unwrap_or((behind, ""));
            pieces.push((text, Some(field)));
            rest = behind;
        }
        if !rest.is_empty() {
            pieces.push((rest, None));
        }
        Self { title, pieces }
    }
}

/// Returns the title of a record, or `None` if no row has it.
pub(super) fn title(record: &str) -> Option<&'static str> {
    EVENTS.iter().chain(DEFINITIONS).find(|row| row.0 == record).map(|row| row.1)
}

#[cfg(test)]
mod tests {
    use super::{DEFINITIONS, EVENTS, Row};
    use otf2::marker::MarkerRecord;
    use otf2::snapshot::Snapshot;
    use otf2::{Definition, Event};

    fn has_rows(kinds: &[(u8, &str)], rows: &[Row]) {
        for (_, name) in kinds {
            assert_eq!(rows.iter().filter(|row| row.0 == *name).count(), 1, "{name}");
        }
    }

    #[test]
    fn every_record_has_one_row() {
        has_rows(Event::KINDS, EVENTS);
        has_rows(Snapshot::KINDS, EVENTS);
        has_rows(Definition::KINDS, DEFINITIONS);
        has_rows(MarkerRecord::KINDS, DEFINITIONS);
    }
}
