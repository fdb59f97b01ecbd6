//! Call sites as people see them: two calls on one line are told apart.

use std::collections::BTreeMap;

use otf2::id::{CallingContextRef, RegionRef};
use otf2::read::Definitions;

use super::Step;
use crate::names::{self, Columns, Site};
use crate::tree::Tree;

/// The call sites of a run.
pub(super) struct Sites {
    columns: Columns,
    /// Which of several calls on one line a call is, and how many there are.
    numbers: BTreeMap<(RegionRef, CallingContextRef), (u32, u32)>,
}

impl Sites {
    pub(super) fn of(defs: &Definitions, tree: &Tree) -> Self {
        let columns = Columns::of(defs);
        // Calls of one region from one line, in the order in which they were first made.
        type Line = (RegionRef, RegionRef, u32, u32);
        let mut lines: BTreeMap<Line, Vec<CallingContextRef>> = BTreeMap::new();
        for branch in &tree.branches {
            let Some(context) = defs.calling_context(branch.site) else { continue };
            let place = context.source_code_location;
            if place.is_undefined() {
                continue;
            }
            let line = (branch.region, context.region, place.0, columns.get(branch.site));
            let calls = lines.entry(line).or_default();
            if !calls.contains(&branch.site) {
                calls.push(branch.site);
            }
        }
        let mut numbers = BTreeMap::new();
        for ((region, ..), calls) in lines.into_iter().filter(|it| it.1.len() > 1) {
            let count = calls.len() as u32;
            numbers.extend((1..).zip(calls).map(|(nth, site)| ((region, site), (nth, count))));
        }
        Self { columns, numbers }
    }

    /// A call of a region from a site.
    pub(super) fn step(
        &self,
        defs: &Definitions,
        region: RegionRef,
        site: CallingContextRef,
    ) -> Step {
        let numbered = |it: Site| Site {
            column: self.columns.get(site),
            nth: self.numbers.get(&(region, site)).copied(),
            ..it
        };
        Step { region: names::region(defs, region), site: names::site(defs, site).map(numbered) }
    }
}
