//! Communication that takes longer than it needs to, although nobody waits for anybody.
//!
//! A call that moves a thousand elements one by one is not held up by another process, so no pattern finds it, and all calls
//! of its class are equally slow, so none of its time is unexplained. Yet the same data could move in a fraction of the
//! time. Such [`Waste`] is looked for in what calls take beyond their waits, their *rests*, and comes with an estimate of what
//! another way to do the same could save. The estimate has two bounds: the lower one counts the transfer of the calls, which is the
//! fastest tenth of their class, the upper one their whole rests.
//!
//! What replay has to gather for this are integer sums for each account of a location ([`Following`]), so results depend neither
//! on windows nor on threads. Estimates are made at the end, when it is known how long calls of each sort take
//! ([`Savings::add`]).

mod hot;
mod rows;
mod savings;

use crate::accounts::Account;
use crate::paths::{Path, Paths};
use crate::role::Traits;

pub(crate) use hot::HotTarget;
pub(crate) use rows::{Following, Row};
pub(crate) use savings::{Known, Saving, Savings, part, static_memory};

/// A way to communicate that takes longer than another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Waste {
    /// Strided calls that move element by element.
    Strided,
    /// Small blocking transfers in a row from or to one target, which could be one.
    Small,
    /// Completions after every operation.
    Completion,
    /// Blocking operations in a row, which could be under way at once.
    Row,
    /// Operations on static data that are slower than those on the symmetric heap.
    Static,
}

impl Waste {
    /// Every kind that belongs to call paths.
    pub(crate) const ALL: [Self; 5] =
        [Self::Strided, Self::Small, Self::Completion, Self::Row, Self::Static];

    /// The id of the pattern.
    pub(crate) fn pattern(self) -> &'static str {
        match self {
            Self::Strided => "strided_elements",
            Self::Small => "small_transfers",
            Self::Completion => "completion_after_each",
            Self::Row => "blocking_in_a_row",
            Self::Static => "static_data",
        }
    }
}

impl Paths {
    /// A call that ends rows of operations is over.
    #[inline(always)]
    pub(crate) fn synchronise(
        &mut self,
        traits: Traits,
        account: Account,
        when: (u64, u64),
        path: Path,
    ) {
        if traits.has(Traits::INTERRUPTS) {
            self.row.interrupt();
        } else if traits.has(Traits::COMPLETION) {
            self.complete(account, when, path);
        } else if traits.has(Traits::TAKES_LOCK) {
            self.row.lock(when);
        }
    }
}
