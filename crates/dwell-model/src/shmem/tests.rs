extern crate std;

use std::format;
use std::vec::Vec;

use super::*;
use crate::layer::layer_of_region;
use crate::operation::{Atomic, Collective, Mode, Operation, Progress};
use crate::table::{
    Absent, Arg, Bytes, CType, Condition, Group, Kind, Members, Operand, Places, Strides, Success,
    Watch,
};

use CType::{
    Int, Int32, Long, LongDouble, LongLong, Pointer, PtrdiffT, Short, SizeT, Uint64, UnsignedShort,
    Void,
};

#[track_caller]
fn row(name: &str) -> &'static Row {
    TABLE.find(name).unwrap_or_else(|| panic!("{name} is not in the table"))
}

#[track_caller]
fn signature(name: &str, returns: CType, arguments: &[CType]) -> &'static Row {
    let row = row(name);
    assert_eq!((row.returns, row.arguments.types()), (returns, arguments), "{name}");
    row
}

fn functions(family: &str) -> usize {
    families().filter(|each| each.name == family).map(|each| each.rows.len()).sum()
}

#[test]
fn families_have_their_size() {
    // As counted in the library of Open MPI 4.1.4: plain, with a context.
    let twice = [
        ("p", 24),
        ("g", 24),
        ("put", 30),
        ("get", 30),
        ("iput", 29),
        ("iget", 29),
        ("put_nbi", 30),
        ("get_nbi", 30),
        ("atomic_add", 6),
        ("atomic_inc", 6),
        ("atomic_fetch_add", 6),
        ("atomic_fetch_inc", 6),
        ("atomic_compare_swap", 6),
        ("atomic_fetch", 8),
        ("atomic_set", 8),
        ("atomic_swap", 8),
        ("atomic_and", 10),
        ("atomic_or", 10),
        ("atomic_xor", 10),
        ("atomic_fetch_and", 10),
        ("atomic_fetch_or", 10),
        ("atomic_fetch_xor", 10),
        ("fence", 1),
        ("quiet", 1),
        // As the standard lists them, version 1.5.
        ("put_signal", 30),
        ("put_signal_nbi", 30),
        ("atomic_fetch_nbi", 14),
        ("atomic_swap_nbi", 14),
        ("atomic_compare_swap_nbi", 12),
        ("atomic_fetch_add_nbi", 12),
        ("atomic_fetch_inc_nbi", 12),
        ("atomic_fetch_and_nbi", 7),
        ("atomic_fetch_or_nbi", 7),
        ("atomic_fetch_xor_nbi", 7),
        ("atomic_add, exact widths", 6),
        ("atomic_inc, exact widths", 6),
        ("atomic_fetch_add, exact widths", 6),
        ("atomic_fetch_inc, exact widths", 6),
        ("atomic_compare_swap, exact widths", 6),
        ("atomic_fetch, exact widths", 6),
        ("atomic_set, exact widths", 6),
        ("atomic_swap, exact widths", 6),
    ];
    let once = [
        ("old swap", 5),
        ("old cswap", 3),
        ("old fadd", 3),
        ("old finc", 3),
        ("old add", 3),
        ("old inc", 3),
        ("old fetch", 5),
        ("old set", 5),
        ("wait", 5),
        ("wait_until", 14),
        ("test", 14),
        ("reduce", 44),
        ("broadcast", 2),
        ("collect", 2),
        ("fcollect", 2),
        ("alltoall", 2),
        ("alltoalls", 2),
        ("barrier", 2),
        ("sync", 2),
        ("locks", 3),
        ("memory", 5),
        ("initialise", 2),
        ("finalise", 1),
        ("exit", 1),
        ("query", 8),
        ("contexts", 2),
        ("cache", 6),
        ("SGI", 7),
        ("shmemx p", 3),
        ("shmemx g", 3),
        ("shmemx old swap", 2),
        ("shmemx old cswap", 2),
        ("shmemx old fadd", 2),
        ("shmemx old finc", 2),
        ("shmemx old add", 2),
        ("shmemx old inc", 2),
        ("shmemx old fetch", 2),
        ("shmemx old set", 2),
        ("shmemx atomic_and", 4),
        ("shmemx atomic_or", 4),
        ("shmemx atomic_xor", 4),
        ("shmemx atomic_fetch_and", 4),
        ("shmemx atomic_fetch_or", 4),
        ("shmemx atomic_fetch_xor", 4),
        ("shmemx reduce", 21),
        ("shmemx wait", 2),
        ("shmemx wait_until", 2),
        ("shmemx malloc_with_hint", 1),
        ("shmemx alltoall_global_nb", 1),
        // As the standard lists them, version 1.5.
        ("wait_until, long", 1),
        ("signal_wait_until", 1),
        ("signal_fetch", 1),
        ("wait_until_all", 12),
        ("wait_until_any", 12),
        ("wait_until_some", 12),
        ("wait_until_all_vector", 12),
        ("wait_until_any_vector", 12),
        ("wait_until_some_vector", 12),
        ("test_all", 12),
        ("test_any", 12),
        ("test_some", 12),
        ("test_all_vector", 12),
        ("test_any_vector", 12),
        ("test_some_vector", 12),
        ("malloc_with_hints", 1),
        ("teams", 9),
        ("team sync", 1),
        ("team broadcast", 24),
        ("team collect", 24),
        ("team fcollect", 24),
        ("team alltoall", 24),
        ("team alltoalls", 24),
        ("team mem", 5),
        ("team reduce", 142),
        ("pcontrol", 1),
        // As Sandia OpenSHMEM exports them beyond the type tables of the standard.
        ("team reduce, signed types", 12),
        ("wait_until_all, short", 2),
        ("wait_until_any, short", 2),
        ("wait_until_some, short", 2),
        ("wait_until_all_vector, short", 2),
        ("wait_until_any_vector, short", 2),
        ("wait_until_some_vector, short", 2),
        ("test_all, short", 2),
        ("test_any, short", 2),
        ("test_some, short", 2),
        ("test_all_vector, short", 2),
        ("test_any_vector, short", 2),
        ("test_some_vector, short", 2),
    ];
    let mut total = 0;
    for (family, count) in twice {
        assert_eq!(functions(family), count, "{family}");
        total += count;
    }
    let in_context: usize =
        families().filter(|each| each.name.starts_with("ctx ")).map(|each| each.rows.len()).sum();
    assert_eq!(in_context, total, "every function on a context has a plain twin");
    for (family, count) in once {
        assert_eq!(functions(family), count, "{family}");
        total += count;
    }
    assert_eq!(total + in_context, TABLE.rows.len(), "no family is left out of this list");
}

#[test]
fn context_forms_are_their_plain_twins() {
    for row in TABLE.rows {
        let Some(rest) = row.name().strip_prefix("shmem_ctx_") else { continue };
        let twin =
            TABLE.rows.iter().find(|plain| plain.name().strip_prefix("shmem_") == Some(rest));
        let Some(plain) = twin else {
            assert!(["create", "destroy", "get_team"].contains(&rest), "{row:?}");
            continue;
        };
        assert_eq!(row.places.context, Some(Arg(0)));
        assert_eq!(Row { symbol: row.symbol, ..plain.in_context() }, *row);
    }
}

#[test]
fn rows_are_sorted_and_found() {
    assert!(TABLE.rows.is_sorted_by(|one, next| one.name() < next.name()));
    for row in TABLE.rows {
        assert!(TABLE.find(row.name()).is_some_and(|found| core::ptr::eq(found, row)));
        assert_eq!(row.symbol.c_str().to_str(), Ok(row.name()));
    }
    for missing in ["", "shmem", "shmem_put", "shmem_int_puts", "zzz", "my_pe"] {
        assert_eq!(TABLE.find(missing), None, "{missing}");
    }
}

#[test]
fn every_place_is_an_argument_of_its_sort() {
    for row in TABLE.rows {
        row.places.each(|place, at, kind| {
            let argument = row.arguments.types().get(at.index());
            let fits = argument.is_some_and(|argument| kind.accepts(*argument));
            assert!(fits, "{}: {place} at {at:?} is {argument:?}", row.name());
        });
        // Places that every call of the operation must have.
        let Places { target, bytes, remote, group, lock, condition, memory, .. } = row.places;
        let complete = match row.operation {
            Operation::Put | Operation::Get | Operation::Atomic(_) => {
                target.is_some() && bytes != Bytes::None && remote.is_some()
            }
            Operation::Collective(which) => {
                let data = !matches!(which, Collective::Barrier | Collective::Sync);
                group.is_collective() && data == (bytes != Bytes::None)
            }
            Operation::Lock | Operation::Unlock | Operation::TryLock => lock.is_some(),
            Operation::WaitChange | Operation::TestChange => condition.is_some(),
            Operation::Allocate => bytes != Bytes::None,
            Operation::Deallocate => memory.is_some(),
            Operation::Reallocate => memory.is_some() && bytes != Bytes::None,
            _ => target.is_none() && remote.is_none(),
        };
        assert!(complete, "{row:?}");
    }
}

#[test]
fn absent_fits_the_returned_type() {
    for row in TABLE.rows {
        let fits = match row.absent {
            Absent::Nothing => row.returns == Void,
            Absent::Null => row.returns == Pointer,
            Absent::Zero | Absent::MinusOne => ![Void, Pointer].contains(&row.returns),
            Absent::Exit(status) => {
                row.operation == Operation::Exit
                    && row.arguments.types().get(status.index()) == Some(&Int)
            }
        };
        assert!(fits, "{row:?}");
        let unsaid = row.places.success == Success::Unsaid;
        assert!(unsaid || Kind::Integer.accepts(row.returns), "{row:?}");
    }
}

#[test]
fn every_row_is_of_the_layer() {
    for row in TABLE.rows {
        assert_eq!(layer_of_region(row.name()), Some(Layer::Shmem), "{}", row.name());
    }
    for (name, _) in NOT_HOOKED {
        assert_eq!(TABLE.find(name), None);
    }
}

#[test]
fn put_and_get() {
    let put = signature("shmem_int_put", Void, &[Pointer, Pointer, SizeT, Int]);
    assert_eq!(put.operation, Operation::Put);
    assert_eq!(put.mode, Mode::Blocking);
    assert_eq!(put.places.remote, Some(Arg(0)));
    assert_eq!(put.places.target, Some(Arg(3)));
    assert_eq!(put.places.bytes, Bytes::Counted { count: Arg(2), size: 4 });
    assert_eq!(put.places.context, None);

    let get = signature("shmem_ctx_get128_nbi", Void, &[Pointer, Pointer, Pointer, SizeT, Int]);
    assert_eq!((get.operation, get.mode), (Operation::Get, Mode::NonBlocking));
    assert_eq!(get.places.context, Some(Arg(0)));
    assert_eq!(get.places.remote, Some(Arg(2)));
    assert_eq!(get.places.target, Some(Arg(4)));
    assert_eq!(get.places.bytes, Bytes::Counted { count: Arg(3), size: 16 });

    assert_eq!(row("shmem_getmem").places.bytes, Bytes::Counted { count: Arg(2), size: 1 });
    let strided = &[Pointer, Pointer, PtrdiffT, PtrdiffT, SizeT, Int];

    let iput = signature("shmem_double_iput", Void, strided);
    assert_eq!(iput.places.strides, Some(Strides { destination: Arg(2), source: Arg(3) }));
    assert_eq!(iput.places.bytes, Bytes::Counted { count: Arg(4), size: 8 });
    assert_eq!(iput.places.target, Some(Arg(5)));

    let p = signature("shmem_longdouble_p", Void, &[Pointer, LongDouble, Int]);
    assert_eq!(p.places.bytes, Bytes::Fixed(16));
    let g = signature("shmem_int32_g", Int32, &[Pointer, Int]);
    assert_eq!((g.places.target, g.absent), (Some(Arg(1)), Absent::Zero));

    let list = &[Pointer, Pointer, Pointer, SizeT, Pointer, Uint64, Int, Int];
    let signal = signature("shmem_ctx_putmem_signal", Void, list).places.signal;
    assert!(signal.is_some_and(|it| (it.address, it.value, it.action) == (Arg(4), Arg(5), Arg(6))));
}

#[test]
fn long_double_by_value() {
    let names = [
        "shmem_ctx_longdouble_g",
        "shmem_ctx_longdouble_p",
        "shmem_longdouble_g",
        "shmem_longdouble_p",
    ];
    assert!(TABLE.rows.iter().filter(|row| row.by_value_long_double()).map(Row::name).eq(names));
    let variadic = TABLE.rows.iter().filter(|row| row.arguments.is_variadic());
    assert!(variadic.map(Row::name).eq(["shmem_pcontrol"]));
    // Everything else has a signature in Rust.
    for row in TABLE.rows.iter().filter(|row| !row.by_value_long_double()) {
        let mut types = row.arguments.types().iter().chain([&row.returns]);
        assert!(types.all(|each| each.rust_name().is_some()), "{row:?}");
    }
}

#[test]
fn atomics() {
    let swap =
        signature("shmem_ctx_long_atomic_compare_swap", Long, &[Pointer, Pointer, Long, Long, Int]);
    assert_eq!(swap.operation, Operation::Atomic(Atomic::CompareSwap));
    assert_eq!((swap.places.remote, swap.places.target), (Some(Arg(1)), Some(Arg(4))));
    assert_eq!(row("shmem_long_cswap").operation, swap.operation);
    signature("shmem_int32_atomic_inc", Void, &[Pointer, Int]);
    signature("shmem_int_finc", Int, &[Pointer, Int]);
    let add = signature("shmem_size_atomic_fetch_add_nbi", Void, &[Pointer, Pointer, SizeT, Int]);
    assert_eq!((add.places.remote, add.places.target), (Some(Arg(1)), Some(Arg(3))));
    assert_eq!(add.mode, Mode::NonBlocking);
}

#[test]
fn waits_and_locks() {
    let Some(until) = row("shmem_int32_wait_until").places.condition else { panic!() };
    assert_eq!((until.address, until.comparison), (Arg(0), Some(Arg(1))));
    assert_eq!((until.operand, until.size), (Some(Operand::Value(Arg(2))), 4));
    let Some(wait) = row("shmem_wait").places.condition else { panic!() };
    assert_eq!((wait.comparison, wait.operand), (None, Some(Operand::Value(Arg(1)))));

    let list = &[Pointer, SizeT, Pointer, Pointer, Int, Pointer];
    let some = signature("shmem_long_wait_until_some_vector", SizeT, list);
    let Some(condition) = some.places.condition else { panic!() };
    assert_eq!((condition.watch, condition.count), (Watch::Some, Some(Arg(1))));
    assert_eq!((condition.mask, condition.comparison), (Some(Arg(3)), Some(Arg(4))));
    assert_eq!(condition.operand, Some(Operand::Array(Arg(5))));
    let any = signature("shmem_long_test_any", SizeT, &[Pointer, SizeT, Pointer, Int, Long]);
    assert_eq!((any.places.success, any.absent), (Success::NotMax, Absent::MinusOne));
    signature("shmem_long_wait_until_all", Void, &[Pointer, SizeT, Pointer, Int, Long]);
    signature("shmem_long_test_all", Int, &[Pointer, SizeT, Pointer, Int, Long]);

    let lock = row("shmem_test_lock");
    assert_eq!((lock.operation, lock.places.success), (Operation::TryLock, Success::Zero));
    assert_eq!(lock.absent, Absent::Zero, "a loop over an absent lock must end");
}

#[test]
fn collectives() {
    let broadcast = row("shmem_broadcast64");
    assert_eq!(broadcast.places.root, Some(Arg(3)));
    let set = Group::ActiveSet { start: Arg(4), log_stride: Arg(5), size: Arg(6) };
    assert_eq!(broadcast.places.group, set);
    assert_eq!(broadcast.places.bytes, Bytes::Counted { count: Arg(2), size: 8 });

    assert_eq!(row("shmem_barrier_all").places.group, Group::World);
    assert!(row("shmem_barrier_all").completes_remote);
    assert!(!row("shmem_sync_all").completes_remote);

    let list = &[Pointer, Pointer, Pointer, PtrdiffT, PtrdiffT, SizeT];
    let alltoalls = signature("shmem_float_alltoalls", Int, list);
    assert_eq!(alltoalls.places.group, Group::Team(Arg(0)));
    assert_eq!(alltoalls.places.bytes, Bytes::Counted { count: Arg(5), size: 4 });
    let reduce = signature("shmem_complexf_prod_reduce", Int, &[Pointer, Pointer, Pointer, SizeT]);
    assert_eq!(reduce.operation, Operation::Collective(Collective::AllReduce));
    assert_eq!(row("shmem_char_broadcast").places.root, Some(Arg(4)));
    let sum = row("shmem_complexd_sum_to_all");
    assert_eq!(sum.places.bytes, Bytes::Counted { count: Arg(2), size: 16 });
}

/// Sandia OpenSHMEM exports 36 functions for types that the tables of OpenSHMEM 1.5 do not give to these
/// operations. They behave like those for the types of the tables.
#[test]
fn types_beyond_the_tables_of_the_standard() {
    let mut found = 0;
    for (name, ctype) in [("short", Short), ("int", Int), ("long", Long), ("longlong", LongLong)] {
        for operation in ["and", "or", "xor"] {
            let list = &[Pointer, Pointer, Pointer, SizeT];
            let reduce = signature(&format!("shmem_{name}_{operation}_reduce"), Int, list);
            let bytes = Bytes::Counted { count: Arg(3), size: ctype.size() };
            assert_eq!((reduce.places.group, reduce.places.bytes), (Group::Team(Arg(0)), bytes));
            found += 1;
        }
    }
    for (name, ctype) in [("short", Short), ("ushort", UnsignedShort)] {
        for what in ["wait_until", "test"] {
            for which in ["all", "any", "some"] {
                for vector in ["", "_vector"] {
                    let of_long = row(&format!("shmem_long_{what}_{which}{vector}"));
                    let types = of_long.arguments.types().iter();
                    let list: Vec<CType> =
                        types.map(|each| if *each == Long { ctype } else { *each }).collect();
                    let name = format!("shmem_{name}_{what}_{which}{vector}");
                    let row = signature(&name, of_long.returns, &list);
                    assert_eq!(row.operation, of_long.operation);
                    let (Some(one), Some(other)) = (row.places.condition, of_long.places.condition)
                    else {
                        panic!("{name} has no condition")
                    };
                    assert_eq!(Condition { size: 8, ..one }, other, "{name}");
                    assert_eq!(one.size, 2);
                    found += 1;
                }
            }
        }
    }
    assert_eq!(found, 36);
}

#[test]
fn setup() {
    let calloc = row("shmem_calloc").places;
    assert_eq!(calloc.bytes, Bytes::Product { count: Arg(0), size: Arg(1) });
    assert_eq!(row("shmemalign").places.bytes, Bytes::Counted { count: Arg(1), size: 1 });
    assert_eq!(row("shrealloc").places.memory, Some(Arg(0)));
    assert_eq!(row("shmem_global_exit").absent, Absent::Exit(Arg(0)));
    let split = row("shmem_team_split_strided").places;
    assert_eq!(
        split.members,
        Some(Members::Strided { start: Arg(1), stride: Arg(2), size: Arg(3) })
    );
    assert_eq!(split.created, Some(Arg(6)));
}

#[test]
fn progress_is_what_was_seen() {
    // The measurement: a target loops over one call while a get of another process is pending.
    let seen = [
        ("shmem_my_pe", Progress::Never),
        ("shmem_int_p", Progress::Never),
        ("shmem_putmem_nbi", Progress::Never),
        ("shmem_fence", Progress::Never),
        ("shmem_quiet", Progress::Conditional),
        ("shmem_long_test", Progress::Never),
        ("shmem_long_wait_until", Progress::Always),
        ("shmem_set_lock", Progress::Always),
        ("shmem_getmem", Progress::Always),
        ("shmem_long_atomic_fetch_add", Progress::Always),
    ];
    for (name, progress) in seen {
        assert_eq!(row(name).progress, progress, "{name}");
    }
    // Progress that was not measured is conditional: neither excluded nor promised.
    for name in ["shmem_clear_lock", "shmem_get64_nbi", "shmem_int_atomic_inc", "shmem_malloc"] {
        assert_eq!(row(name).progress, Progress::Conditional, "{name}");
    }
}
