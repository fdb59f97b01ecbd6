//! Initialisation and finalisation, sessions, memory, ports.

use super::role::make::{always, control, exit, never, plain};
use super::role::rows;
use crate::operation::Operation;
use crate::table::{Family, families};

pub(super) const FAMILIES: &[Family] = families! {
    "initialise": rows!(always, Operation::Initialise;
        "MPI_Init": MainArgument MainArgument;
        "MPI_Init_thread": MainArgument MainArgument Int Pointer;
        "MPI_Session_init": Handle Handle NewSession;
    );
    "finalise": rows!(always, Operation::Finalise;
        "MPI_Finalize": ;
        "MPI_Session_finalize": FreedSession;
    );
    "exit": rows!(exit, Operation::Exit;
        "MPI_Abort": Comm Int;
    );
    "memory": rows!(never, Operation::Allocate;
        "MPI_Alloc_mem": Aint Handle NewMemory;
    );
    "end of memory": rows!(never, Operation::Deallocate;
        "MPI_Free_mem": Pointer;
    );
    "ports": rows!(plain, Operation::Other;
        "MPI_Open_port": Handle Text;
        "MPI_Close_port": Text;
        "MPI_Publish_name": Text Handle Text;
        "MPI_Unpublish_name": Text Handle Text;
        "MPI_Lookup_name": Text Handle Text;
    );
    "pcontrol": rows!(control, Operation::Control;
        "MPI_Pcontrol": Int;
    );
};
