//! Finds calls that become many calls of few bytes in the library below them.
//!
//! A statement of a coarray program that accesses a section which is not contiguous may become a call of MPI for each
//! element. The outer call is one operation, so nothing about it shows in its sequence with others. What shows it is the call
//! tree: the visits and the bytes of the calls below it, which the recorder counts also where it does not write each of them.
//!
//! The saving is an estimate: of N calls in a row, all but one could be saved, together with what the outer call does for
//! each of them. The lower bound is above 0 only if the run has calls of the same layer that move as many bytes in few
//! calls.

use std::collections::BTreeMap;

use dwell_log::quantity::Quantity as Q;
use dwell_model::layer::Layer;
use dwell_trace::ids::{CallPathNumber, Ordinal};
use dwell_trace::time::Duration;
use otf2::id::RegionRef;

use super::totals::ProgramTotals;
use crate::output::tree::{Branch, Fold};
use crate::patterns::inefficient::part;

/// Least number of calls below one call that are many. A patch of a distributed array, for example, may be in the memory of a
/// few processes, each of which needs a call.
const MANY: u64 = 16;

/// Size in bytes from which the calls below are not small. Their time is then that of the network's bandwidth.
const SMALL: u64 = 4096;

/// One-sided calls of a layer on one call path, with the calls of other layers inside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Below {
    /// Place of the call path among the folds of the program.
    pub(super) place: u32,
    /// Layer of the outer calls.
    pub(super) layer: Layer,
    /// Number of outer calls.
    pub(super) outer: u64,
    /// Function below that is called most often to move data, its layer, the number of its calls and their bytes.
    pub(super) region: RegionRef,
    pub(super) inner_layer: Layer,
    pub(super) inner: u64,
    pub(super) bytes: u64,
    /// Number of all calls of other layers below.
    pub(super) all: u64,
    /// Time of the outer calls beyond waits.
    pub(super) rests: Duration,
}

/// Sums over one outer call path.
#[derive(Clone, Debug, Default)]
struct Sums {
    /// Number of calls that move data, their bytes and their layer, by function.
    moving: BTreeMap<RegionRef, (u64, u64, Option<Layer>)>,
    all: u64,
    rests: u64,
}

impl Sums {
    fn join(&mut self, more: &Self) {
        for (region, one) in &more.moving {
            let sum = self.moving.entry(*region).or_default();
            *sum = (sum.0 + one.0, sum.1 + one.1, one.2);
        }
        self.all += more.all;
        self.rests += more.rests;
    }
}

/// Returns the outermost one-sided calls of the run that make calls of other layers.
fn outermost(program: &ProgramTotals<'_>) -> Vec<Below> {
    let branches = &program.tree.branches;
    // For each call path the outermost call of a runtime around it, and whether that call is one-sided.
    let mut around: Vec<Option<(usize, Layer, bool)>> = Vec::with_capacity(branches.len());
    let mut sums: BTreeMap<usize, Sums> = BTreeMap::new();
    for (number, branch) in branches.iter().enumerate() {
        let above = branch.parent.and_then(|at| around.get(at.index()).copied().flatten());
        let meaning = program.world.roles.get(branch.region).meaning;
        let meaning = meaning.filter(|_| branch.setting.is_none());
        let outer =
            above.or_else(|| meaning.map(|it| (number, it.layer, it.operation.is_one_sided())));
        around.push(outer);
        let Some((at, layer, true)) = outer else { continue };
        let of = sums.entry(at).or_default();
        of.rests += branch.totals.get(Q::Transfer) + branch.totals.get(Q::Unexplained);
        let Some(inner) = meaning.filter(|it| it.layer != layer) else { continue };
        of.all += branch.totals.visits;
        let bytes = branch.totals.get(Q::BytesGet) + branch.totals.get(Q::BytesPut);
        if inner.operation.is_one_sided() && bytes > 0 {
            let sum = of.moving.entry(branch.region).or_default();
            *sum = (sum.0 + branch.totals.visits, sum.1 + bytes, Some(inner.layer));
        }
    }
    let of = |(place, fold): (u32, &Fold<'_>)| {
        let mut all = Sums::default();
        let paths: Vec<CallPathNumber> = fold.numbers().collect();
        paths.iter().filter_map(|it| sums.get(&it.index())).for_each(|it| all.join(it));
        let (&region, &(inner, bytes, inner_layer)) =
            all.moving.iter().max_by_key(|it| (it.1.0, it.1.1))?;
        let visits = |it: &Branch| it.totals.visits;
        Some(Below {
            place,
            layer: program.world.roles.get(fold.branches().next()?.region).meaning?.layer,
            outer: fold.branches().map(visits).sum::<u64>().max(1),
            region,
            inner_layer: inner_layer?,
            inner,
            bytes,
            all: all.all,
            rests: Duration(all.rests),
        })
    };
    program.run().filter_map(of).collect()
}

impl Below {
    fn is_many(&self) -> bool {
        self.inner >= MANY.saturating_mul(self.outer) && self.bytes / self.inner.max(1) < SMALL
    }

    /// Returns both bounds of the saving. `instead` is the time of all outer calls if they made few calls below.
    pub(super) fn saving(&self, instead: Option<Duration>) -> (Duration, Duration) {
        let most = part(self.rests, (self.inner.saturating_sub(self.outer), self.inner));
        let least = instead.map_or(Duration::ZERO, |it| self.rests.saturating_sub(it).min(most));
        (least, most)
    }
}

/// Returns the calls that become many calls of few bytes. For each it returns the mean time of a call of the same layer that
/// moves at least as many bytes in few calls, if the run has any.
pub(super) fn many(program: &ProgramTotals<'_>) -> Vec<(Below, Option<Duration>)> {
    let (many, few): (Vec<Below>, Vec<Below>) =
        outermost(program).into_iter().partition(Below::is_many);
    let with = |one: Below| {
        let moves_as_much =
            |it: &&Below| it.layer == one.layer && it.bytes / it.outer >= one.bytes / one.outer;
        let instead = few.iter().filter(moves_as_much).map(|it| it.rests.0 / it.outer).min();
        (one, instead.map(Duration))
    };
    many.into_iter().map(with).collect()
}
