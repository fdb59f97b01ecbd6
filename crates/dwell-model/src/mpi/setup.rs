//! Initialisation and finalisation, sessions, memory, ports.

use super::role::make::{always, control, exit, never, plain};
use super::role::rows;
use crate::operation::Operation;
use crate::table::{Family, families};

pub(super) const FAMILIES: &[Family] = families! {
    "initialise": rows!(always, Operation::Initialise;
        "MPI_Init": Pointer Pointer;
        "MPI_Init_thread": Pointer Pointer Int Pointer;
        "MPI_Session_init": Handle Handle Pointer;
    );
    "finalise": rows!(always, Operation::Finalise;
        "MPI_Finalize": ;
        "MPI_Session_finalize": Pointer;
    );
    "exit": rows!(exit, Operation::Exit;
        "MPI_Abort": Comm Int;
    );
    "memory": rows!(never, Operation::Allocate;
        "MPI_Alloc_mem": Aint Handle Pointer;
    );
    "end of memory": rows!(never, Operation::Deallocate;
        "MPI_Free_mem": Pointer;
    );
    "ports": rows!(plain, Operation::Other;
        "MPI_Open_port": Handle Pointer;
        "MPI_Close_port": Pointer;
        "MPI_Publish_name": Pointer Handle Pointer;
        "MPI_Unpublish_name": Pointer Handle Pointer;
        "MPI_Lookup_name": Pointer Handle Pointer;
    );
    "pcontrol": rows!(control, Operation::Control;
        "MPI_Pcontrol": Int;
    );
};
