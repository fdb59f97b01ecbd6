//! The timeline: what every location did when.
//!
//! The index beside the archive answers ([`dwell_timeline`]). If there is none, it is made from the dependency log by a thread
//! of its own, while the page asks how far that is. Times are nanoseconds after the first event, rows are numbers of
//! locations.

mod about;
mod counters;
mod making;
mod nodes;
mod operations;
mod phases;
mod pictures;
mod questions;
mod rows;
mod waits;
mod whole;

use dwell_report::LocationId;
use dwell_timeline::{Index, Location, Span, Time};

use crate::progress::State;
use crate::question::{Answer, Fault, Parameters, json};
use crate::run::Run;

pub(crate) use making::{Readiness, complete, index, waited};
pub(crate) use nodes::nodes;
pub(crate) use questions::questions;

/// Greatest number of rows of the page.
const PAGE_ROWS: u32 = 64;

type Result<T> = std::result::Result<T, Fault>;

impl From<dwell_timeline::Error> for Fault {
    fn from(error: dwell_timeline::Error) -> Self {
        Self::Timeline(error.to_string())
    }
}

/// Answers a question about the timeline of a run.
pub(crate) fn answer(run: &Run, question: &str, parameters: &Parameters<'_>) -> Result<Answer> {
    if question == "about" {
        return json(&about::about(run));
    }
    let State::Ready(index) = making::state(run) else {
        return Err(Fault::Bad("there is no timeline of this run yet".into()));
    };
    let view = View { run, index: &index, parameters };
    match question {
        "rows" => json(&view.rows()?),
        "tile" => view.tile(),
        "slices" => json(&view.slices()?),
        "waits" => json(&view.waits()?),
        "at" => json(&view.at()?),
        "instances" => json(&view.instances()?),
        "critical" => json(&view.critical()?),
        "whole" => json(&view.whole()?),
        "totals" => json(&view.totals()?),
        "operations" => json(&view.operations()?),
        "phases" => json(&view.phases()?),
        "counters" => json(&view.counters()),
        "samples" => json(&view.samples()?),
        _ => Err(Fault::Unknown),
    }
}

struct View<'a> {
    run: &'a Run,
    index: &'a Index,
    parameters: &'a Parameters<'a>,
}

impl View<'_> {
    /// Returns a time after the first event as a time of the trace.
    fn time(&self, name: &'static str, default: Time) -> Result<Time> {
        let begin = self.index.span().from.0;
        let Some(text) = self.parameters.get(name) else { return Ok(default) };
        let parse = || Fault::Bad(format!("`{name}` must be a number of nanoseconds").into());
        let number: u64 = text.parse().map_err(|_| parse())?;
        Ok(Time(begin.saturating_add(number)))
    }

    fn span(&self) -> Result<Span> {
        let whole = self.index.span();
        let span = Span { from: self.time("from", whole.from)?, to: self.time("to", whole.to)? };
        match span.length() {
            0 => Err(Fault::Bad("the span of time is empty".into())),
            _ => Ok(span),
        }
    }

    /// Returns a time of the trace as a time after the first event.
    fn after(&self, time: Time) -> f64 {
        time.0.saturating_sub(self.index.span().from.0) as f64
    }

    fn location(&self, name: &'static str) -> Result<Location> {
        let number = self.parameters.number(name)?.filter(|it| *it < self.index.locations());
        number.map(Location).ok_or(Fault::Bad(format!("`{name}` must be a location").into()))
    }

    fn name(&self, location: Location) -> String {
        self.run.query.location_name(LocationId(location.0))
    }
}
