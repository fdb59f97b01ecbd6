//! Functions in which a location computes, as samples of the recorder found it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use dwell_model::archive::SAMPLES;
use dwell_trace::contexts::Contexts;
use dwell_trace::samples::{Sample, Spot};
use dwell_trace::world::Attributes;
use otf2::id::{CallingContextRef, RegionRef};
use otf2::read::{Definitions, EventRecord, Visitor};

use super::Trace;
use crate::error::Result;
use crate::ids::Location;
use crate::span::{Span, Time};

/// A function in which a location computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Computing {
    /// The function with its line, and the function of a library that is called there.
    pub place: String,
    /// Number of samples that found the location there.
    pub samples: u64,
}

/// What contexts of samples mean.
#[derive(Debug)]
pub(super) struct Names {
    definitions: Definitions,
    contexts: Contexts,
    attributes: Attributes,
}

impl Trace {
    /// Returns the functions in which samples found a location in a span, that with most of them first. There are none if the
    /// run was not sampled, or if that would take reading more than `most` events.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn computing(&self, location: Location, span: Span, most: u64) -> Result<Vec<Computing>> {
        let Some(names) = self.sampled.get_or_init(|| self.names()) else { return Ok(Vec::new()) };
        let Some(mut reader) = self.reader_from(location, span.from)? else {
            return Ok(Vec::new());
        };
        let found = BTreeMap::new();
        let mut finding = Finding { trace: self, names, span, left: most, found };
        reader.visit_dyn(&mut finding).map_err(|it| self.failed(it))?;
        Ok(if finding.left > 0 { finding.list() } else { Vec::new() })
    }

    /// Reads the names of what samples found, if there are samples.
    fn names(&self) -> Option<Names> {
        self.archive.anchor().property(&format!("DWELL::{SAMPLES}"))?;
        let definitions = self.archive.definitions().ok()?;
        let (contexts, attributes) = (Contexts::of(&definitions), Attributes::of(&definitions));
        Some(Names { definitions, contexts, attributes })
    }
}

/// Counts the samples of a span at each of their contexts.
struct Finding<'a> {
    trace: &'a Trace,
    names: &'a Names,
    span: Span,
    /// Events that may still be read.
    left: u64,
    found: BTreeMap<CallingContextRef, u64>,
}

impl Finding<'_> {
    /// Joins the samples of a function, and names it by the line with most of them.
    fn list(&self) -> Vec<Computing> {
        let Names { definitions, contexts, .. } = self.names;
        let mut functions: BTreeMap<(RegionRef, Option<RegionRef>), BTreeMap<Spot, u64>> =
            BTreeMap::new();
        for (context, count) in &self.found {
            if let Some(spot) = Spot::of(contexts, definitions, *context) {
                let lines = functions.entry((spot.function, spot.inside)).or_default();
                *lines.entry(spot).or_default() += count;
            }
        }
        let one = |lines: BTreeMap<Spot, u64>| {
            let place = lines.iter().max_by_key(|it| it.1)?.0.name(definitions);
            Some(Computing { place, samples: lines.values().sum() })
        };
        let mut list: Vec<Computing> = functions.into_values().filter_map(one).collect();
        list.sort_by_key(|it| Reverse(it.samples));
        list
    }
}

impl Visitor for Finding<'_> {
    fn event(&mut self, record: EventRecord<'_>) -> ControlFlow<()> {
        let time = Time(self.trace.layout.time(record.time).nanoseconds());
        self.left = self.left.saturating_sub(1);
        if time >= self.span.to || self.left == 0 {
            return ControlFlow::Break(());
        }
        if time >= self.span.from
            && let Some(Sample::Place { context, .. }) = Sample::of(&record, &self.names.attributes)
        {
            *self.found.entry(context).or_default() += 1;
        }
        ControlFlow::Continue(())
    }
}
