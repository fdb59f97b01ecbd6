//! One-sided communication: windows, operations, epochs.
//!
//! | family | progress | source |
//! |---|---|---|
//! | `Put` | never | measured |
//! | flushes | always | measured |
//! | `Win_sync` | conditional | measured: MPICH serves no other process in it, a component of Open MPI does |
//! | `Get`, accumulates, `Win_lock` | conditional | unknown |
//! | unlocks, epochs, fences, creating and freeing windows | always | assumed: they wait for others |

use super::role::make::{always, completing, depends, flush, plain, started, started_quietly};
use super::role::{rows, twins};
use crate::operation::{Atomic, Collective, Operation};
use crate::table::{Family, families};

pub(super) const FAMILIES: &[Family] = families! {
    "put": twins!(started_quietly, Operation::Put;
        "MPI_Put": Pointer Count Datatype Target Displacement OtherCount Handle Win;
    );
    "get": twins!(started, Operation::Get;
        "MPI_Get": Former Count Datatype Target Displacement OtherCount Handle Win;
    );
    "accumulate": twins!(started, Operation::Atomic(Atomic::Accumulate);
        "MPI_Accumulate": Pointer Count Datatype Target Displacement OtherCount Handle Reduction Win;
    );
    "get and accumulate, with large counts": twins!(started, Operation::Atomic(Atomic::FetchAccumulate);
        "MPI_Get_accumulate": Pointer Count Datatype Pointer ReceiveCount ReceiveDatatype Target Displacement OtherCount Handle Reduction Win;
    );
    "get and accumulate": rows!(started, Operation::Atomic(Atomic::FetchAccumulate);
        "MPI_Fetch_and_op": Pointer Former Datatype Target Displacement Reduction Win;
    );
    "compare and swap": rows!(started, Operation::Atomic(Atomic::CompareSwap);
        "MPI_Compare_and_swap": Pointer Pointer Former Datatype Target Displacement Win;
    );
    "put with a request": twins!(started_quietly, Operation::Put;
        "MPI_Rput": Pointer Count Datatype Target Displacement OtherCount Handle Win Request;
    );
    "get with a request": twins!(started, Operation::Get;
        "MPI_Rget": Pointer Count Datatype Target Displacement OtherCount Handle Win Request;
    );
    "accumulate with a request": twins!(started, Operation::Atomic(Atomic::Accumulate);
        "MPI_Raccumulate": Pointer Count Datatype Target Displacement OtherCount Handle Reduction Win Request;
    );
    "get and accumulate with a request": twins!(started, Operation::Atomic(Atomic::FetchAccumulate);
        "MPI_Rget_accumulate": Pointer Count Datatype Pointer ReceiveCount ReceiveDatatype Target Displacement OtherCount Handle Reduction Win Request;
    );
    "fence": rows!(completing, Operation::Collective(Collective::Barrier);
        "MPI_Win_fence": Int Win;
    );
    "flush": rows!(flush, Operation::CompleteRemote;
        "MPI_Win_flush": Target Win;
        "MPI_Win_flush_all": Win;
    );
    "local flush": rows!(always, Operation::CompleteLocal;
        "MPI_Win_flush_local": Target Win;
        "MPI_Win_flush_local_all": Win;
    );
    "lock": rows!(plain, Operation::Lock;
        "MPI_Win_lock": LockKind Target Int Win;
        "MPI_Win_lock_all": Int Win;
    );
    "unlock": rows!(completing, Operation::Unlock;
        "MPI_Win_unlock": Target Win;
        "MPI_Win_unlock_all": Win;
    );
    "order": rows!(depends, Operation::Order;
        "MPI_Win_sync": Win;
    );
    "start": rows!(always, Operation::StartEpoch;
        "MPI_Win_start": Group Int Win;
    );
    "complete": rows!(completing, Operation::CompleteEpoch;
        "MPI_Win_complete": Win;
    );
    "post": rows!(plain, Operation::PostEpoch;
        "MPI_Win_post": Group Int Win;
    );
    "wait for exposure": rows!(always, Operation::WaitEpoch;
        "MPI_Win_wait": Win;
    );
    "test for exposure": rows!(plain, Operation::TestEpoch;
        "MPI_Win_test": Win Flag;
    );
    "windows, with large counts": twins!(always, Operation::Allocate;
        "MPI_Win_create": Pointer Aint Unit Handle Comm NewWin;
        "MPI_Win_allocate": Aint Unit Handle Comm NewMemory NewWin;
        "MPI_Win_allocate_shared": Aint Unit Handle Comm NewMemory NewWin;
    );
    "windows": rows!(always, Operation::Allocate;
        "MPI_Win_create_dynamic": Handle Comm NewWin;
    );
    "end of windows": rows!(always, Operation::Deallocate;
        "MPI_Win_free": FreedWin;
    );
    "memory of dynamic windows": rows!(plain, Operation::Other;
        "MPI_Win_attach": Win Pointer Aint;
        "MPI_Win_detach": Win Pointer;
    );
};
