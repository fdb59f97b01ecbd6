//! The table of coarrays by source: what `dwell build sources` inserts calls for.
//!
//! The calls name an operation by a number, [`Call::code`], which instrumented programs keep: numbers are never used
//! again for something else. Images, sections and locks are passed as numbers; the entry points of `libdwell.so` read
//! them, so the rows here have no places.
//!
//! # Progress
//! As for coarrays by preload, all calls are *never*: the runtime below serves requests, and is recorded with it.

use crate::layer::Layer;
use crate::operation::{Atomic, Collective, Operation, Progress};
use crate::table::{self, CType, Family, Hooks, Row, Symbol, Table, families, symbol};

const fn row(symbol: Symbol, operation: Operation) -> Row {
    Row::new(symbol, operation, CType::Void, &[]).assumed(Progress::Never)
}

const fn collective(symbol: Symbol, which: Collective) -> Row {
    row(symbol, Operation::Collective(which))
}

const fn atomic(symbol: Symbol, which: Atomic) -> Row {
    row(symbol, Operation::Atomic(which)).completes_remote()
}

const CHAPTERS: &[&[Family]] = &[families! {
    "accesses": &[
        row(symbol!("coarray_get"), Operation::Get),
        row(symbol!("coarray_put"), Operation::Put).completes_remote(),
    ];
    "synchronisation": &[
        collective(symbol!("coarray_sync_all"), Collective::Barrier),
        row(symbol!("coarray_sync_images"), Operation::Meet).completes_remote(),
        collective(symbol!("coarray_sync_team"), Collective::Barrier),
        row(symbol!("coarray_sync_memory"), Operation::CompleteRemote),
        row(symbol!("coarray_sync_file"), Operation::Other),
    ];
    "locks": &[
        row(symbol!("coarray_lock"), Operation::Lock),
        row(symbol!("coarray_unlock"), Operation::Unlock),
        row(symbol!("coarray_critical"), Operation::Lock),
        row(symbol!("coarray_end_critical"), Operation::Unlock),
    ];
    "events": &[
        row(symbol!("coarray_event_post"), Operation::Signal),
        row(symbol!("coarray_event_wait"), Operation::WaitChange),
        row(symbol!("coarray_event_query"), Operation::TestChange),
    ];
    "collectives": &[
        collective(symbol!("coarray_co_sum"), Collective::AllReduce),
        collective(symbol!("coarray_co_min"), Collective::AllReduce),
        collective(symbol!("coarray_co_max"), Collective::AllReduce),
        collective(symbol!("coarray_co_reduce"), Collective::AllReduce),
        collective(symbol!("coarray_co_broadcast"), Collective::Broadcast),
    ];
    "teams": &[
        row(symbol!("coarray_form_team"), Operation::CreateGroup),
        collective(symbol!("coarray_change_team"), Collective::Barrier),
        collective(symbol!("coarray_end_team"), Collective::Barrier),
    ];
    "memory": &[
        row(symbol!("coarray_allocate"), Operation::Allocate),
        row(symbol!("coarray_deallocate"), Operation::Deallocate),
    ];
    "atomics": &[
        atomic(symbol!("coarray_atomic_define"), Atomic::Set),
        atomic(symbol!("coarray_atomic_ref"), Atomic::Fetch),
        atomic(symbol!("coarray_atomic_cas"), Atomic::CompareSwap),
        atomic(symbol!("coarray_atomic_op"), Atomic::Accumulate),
        atomic(symbol!("coarray_atomic_fetch_op"), Atomic::FetchAccumulate),
    ];
}];

static ROWS: [Row; table::count(CHAPTERS)] = table::sorted(CHAPTERS);

/// Every operation that instrumented programs report, sorted by name.
pub static TABLE: Table = Table::new(Layer::Coarray, &ROWS, Hooks::Source);

/// An operation that instrumented programs report. Its number is part of compiled programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call(u8);

/// Names of the rows, by number, without the prefix that all have.
const NAMES: [&str; 29] = [
    "get",
    "put",
    "sync_all",
    "sync_images",
    "sync_team",
    "sync_memory",
    "lock",
    "unlock",
    "critical",
    "end_critical",
    "event_post",
    "event_wait",
    "event_query",
    "co_sum",
    "co_min",
    "co_max",
    "co_reduce",
    "co_broadcast",
    "form_team",
    "change_team",
    "end_team",
    "allocate",
    "deallocate",
    "atomic_define",
    "atomic_ref",
    "atomic_cas",
    "atomic_op",
    "atomic_fetch_op",
    "sync_file",
];

/// Prefix of the names of all regions of the layer.
const PREFIX: &str = "coarray_";

impl Call {
    /// A remote read: data of another image come to this one, as in `v = a(:)[k]`.
    pub const GET: Self = Self(0);
    /// A remote write: data of this image go to another one, as in `a(:)[k] = v`.
    pub const PUT: Self = Self(1);

    /// Returns the operation with a name that follows `coarray_` in the table, or `None` if there is none.
    pub fn named(name: &str) -> Option<Self> {
        let at = NAMES.iter().position(|known| *known == name)?;
        u8::try_from(at).ok().map(Self)
    }

    /// Returns the operation of a number, or `None` for a number that a later version made.
    pub fn from_code(code: i32) -> Option<Self> {
        let code = u8::try_from(code).ok()?;
        (usize::from(code) < NAMES.len()).then_some(Self(code))
    }

    /// Returns the number of the operation, which `dwell build sources` writes into the calls that it inserts.
    pub const fn code(self) -> u8 {
        self.0
    }

    /// Returns the index of the row of the operation in [`TABLE`].
    pub fn row(self) -> Option<usize> {
        let name = NAMES.get(usize::from(self.0))?;
        TABLE.rows.iter().position(|row| row.name().strip_prefix(PREFIX) == Some(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_a_row_and_every_row_a_number() {
        assert_eq!(NAMES.len(), TABLE.rows.len());
        for at in 0..TABLE.rows.len() {
            let codes = 0..NAMES.len() as i32;
            let of = |code: &i32| Call::from_code(*code).and_then(Call::row) == Some(at);
            assert_eq!(codes.filter(of).count(), 1, "{}", TABLE.rows[at].name());
        }
        assert_eq!(Call::named("get"), Some(Call::GET));
        assert_eq!(Call::named("put"), Some(Call::PUT));
        assert_eq!((Call::from_code(-1), Call::from_code(29)), (None, None));
    }
}
