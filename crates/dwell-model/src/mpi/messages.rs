//! Point-to-point messages, and the buffers that they may go through.
//!
//! | family | progress | source |
//! |---|---|---|
//! | blocking sends and receives, probes | always | assumed: they wait for the other side |
//! | `Iprobe`, `Improbe` | always | measured |
//! | calls that only start an operation | conditional | unknown |
//! | calls that only describe an operation | never | assumed |

use super::role::make::{always, persistent, plain, served, started};
use super::role::{rows, twins};
use crate::operation::Operation;
use crate::table::{Family, families};

pub(super) const FAMILIES: &[Family] = families! {
    "sends": twins!(always, Operation::Send;
        "MPI_Send": Pointer Count Datatype Target Tag Comm;
        "MPI_Rsend": Pointer Count Datatype Target Tag Comm;
        "MPI_Ssend": Pointer Count Datatype Target Tag Comm;
    );
    "buffered send": twins!(plain, Operation::Send;
        "MPI_Bsend": Pointer Count Datatype Target Tag Comm;
    );
    "non-blocking sends": twins!(started, Operation::Send;
        "MPI_Isend": Pointer Count Datatype Target Tag Comm Request;
        "MPI_Ibsend": Pointer Count Datatype Target Tag Comm Request;
        "MPI_Irsend": Pointer Count Datatype Target Tag Comm Request;
        "MPI_Issend": Pointer Count Datatype Target Tag Comm Request;
    );
    "persistent sends": twins!(persistent, Operation::Send;
        "MPI_Send_init": Pointer Count Datatype Target Tag Comm Request;
        "MPI_Bsend_init": Pointer Count Datatype Target Tag Comm Request;
        "MPI_Rsend_init": Pointer Count Datatype Target Tag Comm Request;
        "MPI_Ssend_init": Pointer Count Datatype Target Tag Comm Request;
    );
    "receives": twins!(always, Operation::Receive;
        "MPI_Recv": Pointer Count Datatype Source Tag Comm Status;
        "MPI_Mrecv": Pointer Count Datatype Message Status;
    );
    "non-blocking receives": twins!(started, Operation::Receive;
        "MPI_Irecv": Pointer Count Datatype Source Tag Comm Request;
        "MPI_Imrecv": Pointer Count Datatype Message Request;
    );
    "persistent receives": twins!(persistent, Operation::Receive;
        "MPI_Recv_init": Pointer Count Datatype Source Tag Comm Request;
    );
    "exchange": twins!(always, Operation::Exchange;
        "MPI_Sendrecv": Pointer Count Datatype Target Tag Pointer ReceiveCount ReceiveDatatype Source ReceiveTag Comm Status;
        "MPI_Sendrecv_replace": Pointer Count Datatype Target Tag Source ReceiveTag Comm Status;
    );
    "non-blocking exchange": twins!(started, Operation::Exchange;
        "MPI_Isendrecv": Pointer Count Datatype Target Tag Pointer ReceiveCount ReceiveDatatype Source ReceiveTag Comm Request;
        "MPI_Isendrecv_replace": Pointer Count Datatype Target Tag Source ReceiveTag Comm Request;
    );
    "probe": rows!(always, Operation::Probe;
        "MPI_Probe": Source Tag Comm Status;
        "MPI_Mprobe": Source Tag Comm Message Status;
    );
    "test for messages": rows!(served, Operation::TestProbe;
        "MPI_Iprobe": Source Tag Comm Flag Status;
        "MPI_Improbe": Source Tag Comm Flag Message Status;
    );
    "partitioned send": rows!(persistent, Operation::Send;
        "MPI_Psend_init": Pointer Partitions LongCount Datatype Target Tag Comm Handle Request;
    );
    "partitioned receive": rows!(persistent, Operation::Receive;
        "MPI_Precv_init": Pointer Partitions LongCount Datatype Source Tag Comm Handle Request;
    );
    "partitions": rows!(plain, Operation::Other;
        "MPI_Pready": Int ReadyRequest;
        "MPI_Pready_range": FirstPartition LastPartition ReadyRequest;
        "MPI_Pready_list": PartitionCount Pointer ReadyRequest;
        "MPI_Parrived": Handle Int Flag;
    );
    "buffers, with large counts": twins!(plain, Operation::Other;
        "MPI_Buffer_attach": Pointer Count;
        "MPI_Buffer_detach": Pointer Pointer;
        "MPI_Comm_attach_buffer": Comm Pointer Count;
        "MPI_Comm_detach_buffer": Comm Pointer Pointer;
        "MPI_Session_attach_buffer": Handle Pointer Count;
        "MPI_Session_detach_buffer": Handle Pointer Pointer;
    );
    "buffers": rows!(plain, Operation::Other;
        "MPI_Buffer_flush": ;
        "MPI_Buffer_iflush": Request;
        "MPI_Comm_flush_buffer": Comm;
        "MPI_Comm_iflush_buffer": Comm Request;
        "MPI_Session_flush_buffer": Handle;
        "MPI_Session_iflush_buffer": Handle Request;
    );
};
