//! What is known of a timeline before anything of it is shown: its length, its nodes, and how far the making of its index is.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use dwell_model::operation::Operation;
use dwell_model::waits::Wait;
use dwell_report::{Class, CnodeId};
use dwell_timeline::{CallPath, Index, Location};

use super::making::state;
use super::nodes::stretches;
use crate::progress::State;
use crate::run::Run;
use crate::types::TimelineAbout;

pub(super) fn about(run: &Run) -> TimelineAbout {
    let mut about = TimelineAbout {
        state: "missing".into(),
        why: String::new(),
        done: 0.0,
        locations: 0,
        length: 0.0,
        slices: 0.0,
        started: 0.0,
        classes: Class::ALL.iter().map(|it| it.name().to_owned()).collect(),
        waits: Wait::ALL.iter().map(|it| it.about().title.to_owned()).collect(),
        nodes: Vec::new(),
    };
    match state(run) {
        State::Ready(index) => {
            about.state = "ready".into();
            about.locations = index.locations();
            about.length = index.span().length() as f64;
            about.slices = index.count() as f64;
            about.nodes = stretches(run);
            about.started = started(run, &index);
        }
        State::Making(done, all) => {
            about.state = "making".into();
            about.done = done.load(Ordering::Relaxed) as f64 / all.max(1) as f64;
        }
        State::Missing(why) => about.why = why,
        State::Unknown => {}
    }
    about
}

/// Number of locations, and of slices of each, in which the end of start-up is looked for.
const LOOKED_AT: (u32, usize) = (256, 64);

/// Returns the time after the first event at which the last location has started its runtime, or 0 if none is seen to do so.
fn started(run: &Run, index: &Index) -> f64 {
    let is_start = |path: CallPath| {
        let row = dwell_model::registry::find(&run.query.call_name(CnodeId(path.0)));
        row.is_some_and(|(_, row)| row.operation == Operation::Initialise)
    };
    let mut known: HashMap<CallPath, bool> = HashMap::new();
    let begin = index.span().from;
    let mut last = begin;
    for location in (0..index.locations().min(LOOKED_AT.0)).map(Location) {
        let slices = index.first_slices(location, LOOKED_AT.1).unwrap_or_default();
        for slice in slices {
            let path = slice.path.filter(|it| *known.entry(*it).or_insert_with(|| is_start(*it)));
            if path.is_some() {
                last = last.max(slice.span.to);
            }
        }
    }
    (last.0 - begin.0) as f64
}
