//! Consistency of the table of MPI with itself.

use super::*;
use crate::operation::{Collective, Mode, Operation};
use crate::table::{Arg, Bytes, CType, Duty, Fortran, Group, Ready, Shape, Watch};

fn row(name: &str) -> &'static Row {
    TABLE.find(name).expect("it is in the table")
}

#[test]
fn every_place_exists_and_has_a_type_that_fits() {
    TABLE.check_places();
}

#[test]
fn nothing_is_both_hooked_and_not() {
    for row in TABLE.rows {
        let reason = not_hooked(row.name());
        // Persistent collectives of Open MPI 4 are the one extension that is.
        assert!(reason.is_none() || row.name().starts_with("MPIX_"), "{}", row.name());
    }
}

#[test]
fn messages_and_their_twins() {
    let send = row("MPI_Send");
    assert_eq!((send.operation, send.mode), (Operation::Send, Mode::Blocking));
    assert_eq!(send.places.bytes, Bytes::Typed { count: Arg(1), datatype: Arg(2) });
    assert_eq!(send.places.target, Some(Arg(3)));
    assert_eq!(send.places.group, Group::Team(Arg(5)));
    let large = row("MPI_Send_c");
    assert_eq!(large.places, send.places);
    assert_eq!(large.arguments.types()[1], CType::Count);
    assert_eq!(send.arguments.types()[1], CType::Int);
    let both = row("MPI_Sendrecv");
    assert_eq!(both.places.receive_tag, Some(Arg(9)));
    assert_eq!(both.places.received, Bytes::Typed { count: Arg(6), datatype: Arg(7) });
    let parts = row("MPI_Psend_init");
    assert_eq!(parts.places.bytes, Bytes::Parts { parts: Arg(1), count: Arg(2), datatype: Arg(3) });
}

#[test]
fn collectives_know_both_sides() {
    let reduce = row("MPI_Reduce_scatter");
    assert_eq!(reduce.operation, Operation::Collective(Collective::ReduceScatter));
    assert_eq!(reduce.places.received, Bytes::Listed { counts: Arg(2), datatype: Arg(3) });
    let block = row("MPI_Reduce_scatter_block_c");
    assert_eq!(block.places.received, Bytes::Typed { count: Arg(2), datatype: Arg(3) });
    let gather = row("MPI_Igatherv");
    assert_eq!(gather.places.received, Bytes::Listed { counts: Arg(4), datatype: Arg(6) });
    assert_eq!(gather.places.root, Some(Arg(7)));
    let typed = row("MPI_Neighbor_alltoallw_init");
    assert_eq!(typed.mode, Mode::Persistent);
    assert_eq!(typed.places.bytes, Bytes::ListedTypes { counts: Arg(1), datatypes: Arg(3) });
    assert_eq!(typed.places.received, Bytes::ListedTypes { counts: Arg(5), datatypes: Arg(7) });
    let scatter = row("MPI_Scatterv");
    assert_eq!(scatter.places.bytes, Bytes::Listed { counts: Arg(1), datatype: Arg(3) });
    assert_eq!(scatter.places.received, Bytes::Typed { count: Arg(5), datatype: Arg(6) });
}

#[test]
fn completion_says_which() {
    let requests = row("MPI_Testsome").places.requests.expect("it has requests");
    assert_eq!(requests.watch, Watch::Some);
    assert_eq!((requests.done, requests.indices), (Some(Arg(2)), Some(Arg(3))));
    let requests = row("MPI_Testany").places.requests.expect("it has requests");
    assert_eq!((requests.watch, requests.index), (Watch::Any, Some(Arg(2))));
    assert_eq!(requests.flag, Some(Arg(3)));
    assert_eq!(row("MPI_Isend").places.requests, None);
    assert_eq!(row("MPI_Isend").places.handle, Some(Arg(6)));
}

#[test]
fn windows_are_contexts() {
    let get = row("MPI_Rget_accumulate");
    assert_eq!(get.places.context, Some(Arg(11)));
    assert_eq!(get.places.received, Bytes::Typed { count: Arg(4), datatype: Arg(5) });
    let swap = row("MPI_Compare_and_swap");
    assert_eq!(
        (swap.places.bytes, swap.places.received),
        (Bytes::Item(Arg(3)), Bytes::Item(Arg(3)))
    );
    assert!(row("MPI_Win_unlock").completes_remote);
    assert!(!row("MPI_Win_flush_local").completes_remote);
    assert!(row("MPI_Win_fence").completes_remote && !row("MPI_Barrier").completes_remote);
    assert_eq!(row("MPI_Win_create_c").places.created, Some(Arg(5)));
}

#[test]
fn other_tools_names() {
    assert_eq!(find("PMPI_Win_flush").map(Row::name), Some("MPI_Win_flush"));
    assert_eq!(find("MPI_Wtime"), None);
    assert_eq!(not_hooked("MPI_Comm_c2f"), Some(CONVERTS));
    assert_eq!(not_hooked("MPI_Send"), None);
}

#[test]
fn rows_say_how_calls_are_recorded() {
    let of = |name| (row(name).shape, row(name).duty);
    assert_eq!(of("MPI_Put"), (Shape::Transfer, Duty::None));
    assert_eq!(of("MPI_Allreduce"), (Shape::Collective, Duty::Meet));
    assert_eq!(of("MPI_Iallreduce"), (Shape::StartCollective, Duty::None));
    assert_eq!(of("MPI_Bcast"), (Shape::Collective, Duty::None));
    assert_eq!(of("MPI_Win_fence"), (Shape::Fence, Duty::None));
    assert_eq!(of("MPI_Comm_dup_with_info"), (Shape::CreateComm, Duty::Duplicate));
    assert_eq!(of("MPI_Comm_idup"), (Shape::CreateComm, Duty::None));
    assert_eq!(of("MPI_Comm_create"), (Shape::CreateComm, Duty::None));
    assert_eq!(of("MPI_Comm_create_from_group"), (Shape::CreateComm, Duty::Join(Arg(0))));
    assert_eq!(of("MPI_Comm_disconnect"), (Shape::FreeComm, Duty::Free));
    assert_eq!(of("MPI_Session_init"), (Shape::Initialise, Duty::Start));
    assert_eq!(of("MPI_Parrived"), (Shape::Region, Duty::None));
    let ready = |name| row(name).places.ready;
    let (first, last) = (Some(Arg(0)), Some(Arg(1)));
    let range = Ready { request: Arg(2), first, until: last };
    assert_eq!(ready("MPI_Pready"), Some(Ready { request: Arg(1), first: None, until: None }));
    assert_eq!(ready("MPI_Pready_range"), Some(range));
    assert_eq!(ready("MPI_Pready_list"), Some(Ready { first: None, until: first, ..range }));
    let allocates = |name| row(name).places.allocated.is_some();
    assert!(allocates("MPI_Win_allocate_c") && !allocates("MPI_Win_create"));
}

#[test]
fn rows_say_how_fortran_calls_them() {
    let plain = Fortran { exists: true, ..Fortran::NONE };
    let of = |name| row(name).fortran;
    assert_eq!(of("MPI_Send"), plain);
    assert_eq!(of("MPI_Init_thread"), Fortran { omitted: 2, ..plain });
    assert_eq!(of("MPI_File_open"), Fortran { texts: true, ..plain });
    assert_eq!(of("MPI_Alloc_mem"), Fortran { memory: true, ..plain });
    assert_eq!(of("MPIX_Bcast_init"), Fortran::NONE);
    for row in TABLE.rows {
        assert_eq!(row.large_counts, row.name().ends_with("_c"), "{}", row.name());
        assert_eq!(row.fortran.exists, row.name().starts_with("MPI_"), "{}", row.name());
    }
    let texts = TABLE.rows.iter().filter(|row| row.fortran.texts).count();
    assert_eq!(texts, 15);
}
