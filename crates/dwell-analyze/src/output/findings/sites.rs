//! Call sites as users see them: two calls on one line are told apart, and copies of a call are one.
//!
//! Optimisers copy calls, for instance where they peel the first iteration off a loop. Copies have a line and a column in
//! common. Where debug information has no columns, copies are not told from several calls on one line.

use std::collections::{BTreeMap, BTreeSet};

use dwell_trace::names::{self, Columns, Site, Throughs};
use otf2::id::{CallingContextRef, RegionRef, SourceCodeLocationRef};
use otf2::read::Definitions;

use super::Step;
use crate::output::tree::Tree;

/// Call sites of a run.
pub(super) struct Sites {
    columns: Columns,
    throughs: Throughs,
    /// Position of a call among several calls on one line, and their number, for calls without a column.
    numbers: BTreeMap<(RegionRef, CallingContextRef), (u32, u32)>,
    /// Sites of copies of a call, with the first of them.
    copies: BTreeMap<CallingContextRef, CallingContextRef>,
    /// Lines of functions with calls in several columns.
    shared: BTreeSet<(RegionRef, SourceCodeLocationRef)>,
}

impl Sites {
    pub(super) fn of(defs: &Definitions, tree: &Tree) -> Self {
        let (columns, throughs) = (Columns::of(defs), Throughs::of(defs));
        // Calls of one region from one line, in the order in which they were first made.
        type Line = (RegionRef, RegionRef, SourceCodeLocationRef);
        let mut lines: BTreeMap<Line, Vec<CallingContextRef>> = BTreeMap::new();
        let mut found: BTreeMap<(RegionRef, SourceCodeLocationRef), BTreeSet<u32>> =
            BTreeMap::new();
        type Call = (CallingContextRef, RegionRef, SourceCodeLocationRef, u32);
        let mut calls: BTreeMap<Call, BTreeSet<CallingContextRef>> = BTreeMap::new();
        for branch in &tree.branches {
            let Some(context) = defs.calling_context(branch.site) else { continue };
            let place = context.source_code_location;
            if place.is_undefined() {
                continue;
            }
            let column = columns.get(branch.site);
            found.entry((context.region, place)).or_default().insert(column);
            if column > 0 {
                let call = (context.parent, context.region, place, column);
                calls.entry(call).or_default().insert(branch.site);
            }
            let calls = lines.entry((branch.region, context.region, place)).or_default();
            // Calls of the same column are one call in the source.
            if column == 0 && !calls.contains(&branch.site) {
                calls.push(branch.site);
            }
        }
        let mut numbers = BTreeMap::new();
        for ((region, ..), calls) in lines.into_iter().filter(|it| it.1.len() > 1) {
            let count = calls.len() as u32;
            numbers.extend((1..).zip(calls).map(|(nth, site)| ((region, site), (nth, count))));
        }
        let copies = calls.into_values().filter(|it| it.len() > 1).flat_map(|sites| {
            let first = sites.first().copied();
            sites.into_iter().filter_map(move |site| Some((site, first?)))
        });
        let copies = copies.collect();
        let shared = found.into_iter().filter(|it| it.1.len() > 1).map(|it| it.0).collect();
        Self { columns, throughs, numbers, copies, shared }
    }

    /// Returns the first site of the same call in the source.
    pub(super) fn in_source(&self, site: CallingContextRef) -> CallingContextRef {
        self.copies.get(&site).copied().unwrap_or(site)
    }

    /// Returns the step for a call of a region from a site.
    pub(super) fn step(
        &self,
        defs: &Definitions,
        region: RegionRef,
        site: CallingContextRef,
    ) -> Step {
        let is_shared = defs.calling_context(site).is_some_and(|context| {
            self.shared.contains(&(context.region, context.source_code_location))
        });
        let numbered = |it: Site| Site {
            column: if is_shared { self.columns.get(site) } else { 0 },
            nth: self.numbers.get(&(region, site)).copied(),
            through: self.throughs.get(site).to_owned(),
            ..it
        };
        Step { region: names::region(defs, region), site: names::site(defs, site).map(numbered) }
    }
}
