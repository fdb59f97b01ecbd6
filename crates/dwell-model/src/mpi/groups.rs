//! Communicators, topologies and groups.
//!
//! Creating a communicator is collective and serves requests of others. Groups are lists in memory of the process.

use super::role::make::{always, never, started};
use super::role::rows;
use crate::operation::Operation;
use crate::table::{Family, families};

pub(super) const FAMILIES: &[Family] = families! {
    "communicators": rows!(always, Operation::CreateGroup;
        "MPI_Comm_create": Comm Group NewComm;
        "MPI_Comm_create_group": Comm Group Tag NewComm;
        "MPI_Comm_create_from_group": Group Text Handle Handle NewComm;
        "MPI_Comm_dup": Comm SameComm;
        "MPI_Comm_dup_with_info": Comm Handle SameComm;
        "MPI_Comm_split": Comm Int Int NewComm;
        "MPI_Comm_split_type": Comm Int Int Handle NewComm;
        "MPI_Intercomm_create": Comm Int Handle Int Tag NewComm;
        "MPI_Intercomm_create_from_groups": Handle Int Handle Int Text Handle Handle NewComm;
        "MPI_Intercomm_merge": Comm Int NewComm;
    );
    "non-blocking communicators": rows!(started, Operation::CreateGroup;
        "MPI_Comm_idup": Comm SameComm Request;
        "MPI_Comm_idup_with_info": Comm Handle SameComm Request;
    );
    "topologies": rows!(always, Operation::CreateGroup;
        "MPI_Cart_create": Comm Int Pointer Pointer Int NewComm;
        "MPI_Cart_sub": Comm Pointer NewComm;
        "MPI_Graph_create": Comm Int Pointer Pointer Int NewComm;
        "MPI_Dist_graph_create": Comm Int Pointer Pointer Pointer Pointer Handle Int NewComm;
        "MPI_Dist_graph_create_adjacent": Comm Int Pointer Pointer Int Pointer Pointer Handle Int NewComm;
    );
    "other programs": rows!(always, Operation::CreateGroup;
        "MPI_Comm_spawn": Text Pointer Int Handle Root Comm NewComm Pointer;
        "MPI_Comm_spawn_multiple": Int Text Pointer Pointer Pointer Root Comm NewComm Pointer;
        "MPI_Comm_accept": Text Handle Root Comm NewComm;
        "MPI_Comm_connect": Text Handle Root Comm NewComm;
        "MPI_Comm_join": Int NewComm;
    );
    "end of communicators": rows!(always, Operation::DestroyGroup;
        "MPI_Comm_free": FreedComm;
        "MPI_Comm_disconnect": FreedComm;
    );
    "groups": rows!(never, Operation::Other;
        "MPI_Group_difference": Handle Handle Pointer;
        "MPI_Group_excl": Handle Int Pointer Pointer;
        "MPI_Group_free": Pointer;
        "MPI_Group_from_session_pset": Handle Text Pointer;
        "MPI_Group_incl": Handle Int Pointer Pointer;
        "MPI_Group_intersection": Handle Handle Pointer;
        "MPI_Group_range_excl": Handle Int Pointer Pointer;
        "MPI_Group_range_incl": Handle Int Pointer Pointer;
        "MPI_Group_union": Handle Handle Pointer;
    );
};
