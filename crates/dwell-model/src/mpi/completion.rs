//! Requests: calls that wait for them, test, start and release them.
//!
//! | family | progress | source |
//! |---|---|---|
//! | waits | always | assumed |
//! | tests | conditional | measured: a test without an active request serves no other process |

use super::role::make::{always, depends, never, plain};
use super::role::rows;
use crate::operation::Operation;
use crate::table::{Family, families};

pub(super) const FAMILIES: &[Family] = families! {
    "wait": rows!(always, Operation::WaitHandle;
        "MPI_Wait": Request Status;
        "MPI_Waitall": Length Requests Statuses;
        "MPI_Waitany": Length Requests Index Status;
        "MPI_Waitsome": Length Requests Done Indices Statuses;
    );
    "test": rows!(depends, Operation::TestHandle;
        "MPI_Test": Request Flag Status;
        "MPI_Testall": Length Requests Flag Statuses;
        "MPI_Testany": Length Requests Index Flag Status;
        "MPI_Testsome": Length Requests Done Indices Statuses;
    );
    "status of requests": rows!(plain, Operation::Query;
        "MPI_Request_get_status": Handle Flag Status;
        "MPI_Request_get_status_all": Length Requests Flag Statuses;
        "MPI_Request_get_status_any": Length Requests Index Flag Status;
        "MPI_Request_get_status_some": Length Requests Done Indices Statuses;
    );
    "start": rows!(plain, Operation::StartHandle;
        "MPI_Start": Request;
        "MPI_Startall": Length Requests;
    );
    "free": rows!(never, Operation::FreeHandle;
        "MPI_Request_free": Request;
    );
    "cancel": rows!(plain, Operation::Other;
        "MPI_Cancel": Request;
    );
    "requests of the program": rows!(never, Operation::Other;
        "MPI_Grequest_start": Pointer Pointer Pointer Pointer Request;
        "MPI_Grequest_complete": Handle;
    );
};
