//! The events of GASP, by which language runtimes report to tools.
//!
//! GASP 1.5 defines events of Unified Parallel C and names them; the numbers of the names are up to the runtime. Two sets are
//! known, that of Berkeley UPC and that of GNU UPC and Clang UPC. Their ranges do not overlap, so a number tells the set. For
//! other models GASP reserves identifiers and defines no events.
//!
//! A call of UPC that communicates ends in calls of the layer below, which have the records of operations, so events are
//! recorded as regions only.

use crate::operation::{Atomic, Collective, Operation};

/// A programming model that reports through GASP: a number of `gasp_model_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model(u32);

/// Beginnings of the names of events that are not defined, in the order of the numbers of the models.
const EVENTS: [&str; 5] = ["upc_event", "titanium_event", "caf_event", "mpi_event", "shmem_event"];

impl Model {
    /// Unified Parallel C, the only model whose events GASP defines.
    pub const UPC: Self = Self(0);

    /// Returns the model of a number that a runtime passes when it asks for a context. A number that GASP 1.5 does not define
    /// is a model too, of which no event is known.
    pub const fn from_number(number: u32) -> Self {
        Self(number)
    }

    /// Returns the beginning of the names of regions whose events are not defined, such as `caf_event`. It is
    /// `gasp_event` for a model that GASP 1.5 does not define.
    pub fn event(self) -> &'static str {
        EVENTS.get(self.0 as usize).copied().unwrap_or("gasp_event")
    }
}

/// An event of UPC, as a row of the table of `gasp_upc.h`. Events with a beginning and an end and events without a duration
/// are described alike, because the runtime states with each notification which of them it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Name of the event in the headers, without its beginning `GASP_`. Both headers use the same names, so a test can compare
    /// the table with either of them.
    pub tag: &'static str,
    /// Name of the region as which it is recorded: that of the function of UPC, where there is one.
    pub region: &'static str,
    /// The generic operation that the call of the language performs. The description of the region states it, so that views
    /// can tell puts from barriers.
    pub operation: Operation,
    /// Number of the event in the header of Berkeley UPC, or 0 if that header does not have the event: a barrier, for
    /// instance, is reported there as a notify and a wait.
    pub berkeley: u32,
    /// Number of the event in the header that GNU UPC and Clang UPC share, or 0 for the extensions of Berkeley UPC, which
    /// that header does not have.
    pub gnu: u32,
    /// `true` if the first further argument is the name of a function of the program.
    pub names_function: bool,
}

const fn event(
    tag: &'static str,
    region: &'static str,
    operation: Operation,
    berkeley: u32,
    gnu: u32,
) -> Event {
    Event { tag, region, operation, berkeley, gnu, names_function: false }
}

const OTHER: Operation = Operation::Other;
const PUT: Operation = Operation::Put;
const GET: Operation = Operation::Get;
const SYNC: Operation = Operation::Collective(Collective::Sync);
const WAIT: Operation = Operation::WaitHandle;
const ALLOCATE: Operation = Operation::Allocate;

const fn collective(
    tag: &'static str,
    region: &'static str,
    which: Collective,
    berkeley: u32,
    gnu: u32,
) -> Event {
    event(tag, region, Operation::Collective(which), berkeley, gnu)
}

/// Every event of `gasp_upc.h`, those of Berkeley's extensions included.
#[rustfmt::skip]
pub const UPC: &[Event] = &[
    Event { names_function: true, ..event("C_FUNC", "function", OTHER, 1023, 1) },
    event("C_MALLOC", "malloc", OTHER, 1020, 2),
    event("C_REALLOC", "realloc", OTHER, 1021, 3),
    event("C_FREE", "free", OTHER, 1022, 4),
    event("UPC_COLLECTIVE_EXIT", "upc_exit", OTHER, 1210, 5),
    event("UPC_NONCOLLECTIVE_EXIT", "upc_global_exit", OTHER, 1211, 6),
    event("UPC_NOTIFY", "upc_notify", SYNC, 1100, 7),
    event("UPC_WAIT", "upc_wait", WAIT, 1101, 8),
    event("UPC_BARRIER", "upc_barrier", SYNC, 0, 9),
    event("UPC_FENCE", "upc_fence", Operation::CompleteRemote, 0, 10),
    event("UPC_FORALL", "upc_forall", OTHER, 0, 11),
    event("UPC_GLOBAL_ALLOC", "upc_global_alloc", ALLOCATE, 1001, 12),
    event("UPC_ALL_ALLOC", "upc_all_alloc", ALLOCATE, 1002, 13),
    event("UPC_ALLOC", "upc_alloc", ALLOCATE, 1000, 14),
    event("UPC_FREE", "upc_free", Operation::Deallocate, 1003, 15),
    event("UPC_GLOBAL_LOCK_ALLOC", "upc_global_lock_alloc", ALLOCATE, 1010, 16),
    event("UPC_ALL_LOCK_ALLOC", "upc_all_lock_alloc", ALLOCATE, 1011, 17),
    event("UPC_LOCK_FREE", "upc_lock_free", Operation::Deallocate, 1012, 18),
    event("UPC_LOCK", "upc_lock", Operation::Lock, 1014, 19),
    event("UPC_LOCK_ATTEMPT", "upc_lock_attempt", Operation::TryLock, 1013, 20),
    event("UPC_UNLOCK", "upc_unlock", Operation::Unlock, 1015, 21),
    event("UPC_MEMCPY", "upc_memcpy", PUT, 1032, 22),
    event("UPC_MEMGET", "upc_memget", GET, 1030, 23),
    event("UPC_MEMPUT", "upc_memput", PUT, 1031, 24),
    event("UPC_MEMSET", "upc_memset", Operation::Atomic(Atomic::Set), 1033, 25),
    event("UPC_GET", "upc_get", GET, 1111, 26),
    event("UPC_PUT", "upc_put", PUT, 1110, 27),
    event("UPC_NB_GET_INIT", "upc_nb_get_init", GET, 1120, 28),
    event("UPC_NB_GET_DATA", "upc_nb_get_data", GET, 0, 29),
    event("UPC_NB_PUT_INIT", "upc_nb_put_init", PUT, 1121, 30),
    event("UPC_NB_PUT_DATA", "upc_nb_put_data", PUT, 0, 31),
    event("UPC_NB_SYNC", "upc_nb_sync", WAIT, 1122, 32),
    event("UPC_CACHE_MISS", "upc_cache_miss", OTHER, 0, 33),
    event("UPC_CACHE_HIT", "upc_cache_hit", OTHER, 0, 34),
    event("UPC_CACHE_INVALIDATE", "upc_cache_invalidate", OTHER, 0, 35),
    collective("UPC_ALL_BROADCAST", "upc_all_broadcast", Collective::Broadcast, 1300, 36),
    collective("UPC_ALL_SCATTER", "upc_all_scatter", Collective::Scatter, 1310, 37),
    collective("UPC_ALL_GATHER", "upc_all_gather", Collective::Gather, 1320, 38),
    collective("UPC_ALL_GATHER_ALL", "upc_all_gather_all", Collective::AllGather, 1330, 39),
    collective("UPC_ALL_EXCHANGE", "upc_all_exchange", Collective::AllToAll, 1340, 40),
    collective("UPC_ALL_PERMUTE", "upc_all_permute", Collective::AllToAll, 1350, 41),
    collective("UPC_ALL_REDUCE", "upc_all_reduce", Collective::Reduce, 1400, 42),
    collective("UPC_ALL_PREFIX_REDUCE", "upc_all_prefix_reduce", Collective::Scan, 1410, 43),
    event("BUPC_NB_TRYSYNC", "bupc_nb_trysync", Operation::TestHandle, 1130, 0),
    event("BUPC_NB_MEMGET_INIT", "bupc_memget_async", GET, 1131, 0),
    event("BUPC_NB_MEMPUT_INIT", "bupc_memput_async", PUT, 1132, 0),
    event("BUPC_NB_MEMCPY_INIT", "bupc_memcpy_async", PUT, 1133, 0),
    event("BUPC_STATIC_SHARED", "bupc_static_shared", OTHER, 1140, 0),
];

/// The first number for events of the program, which tools give out. The range belongs to Berkeley's user events and to
/// nothing of GNU's, so that a number has one meaning in both sets.
pub const FIRST_OF_PROGRAM: u32 = 100;

/// The number after the last one that a tool may give to events of the program. A program that asks for more events gets
/// none.
pub const END_OF_PROGRAM: u32 = 1000;

/// Returns the event of UPC with this number, by either set, or `None` for a number that neither has.
///
/// ```
/// use dwell_model::gasp::find;
///
/// assert_eq!(find(1031).map(|event| event.region), Some("upc_memput"));
/// assert_eq!(find(24), find(1031));
/// assert_eq!(find(99), None);
/// ```
pub fn find(number: u32) -> Option<&'static Event> {
    let is = |event: &&Event| event.berkeley == number || event.gnu == number;
    UPC.iter().find(is).filter(|_| number != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_one_meaning() {
        let of = |event: &Event| [event.berkeley, event.gnu];
        let mut numbers: alloc::vec::Vec<u32> =
            UPC.iter().flat_map(of).filter(|it| *it != 0).collect();
        let count = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), count);
        assert!(numbers.iter().all(|it| !(FIRST_OF_PROGRAM..END_OF_PROGRAM).contains(it)));
        // GNU's header numbers its events from 1 to 43.
        assert!((1..=43).all(|number| find(number).is_some()));
        assert_eq!(UPC.iter().filter(|event| event.gnu == 0).count(), 5);
    }
}
