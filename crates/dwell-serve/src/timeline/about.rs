//! What is known of a timeline before anything of it is shown: its length, its nodes, and how far the making of its index is.

use std::sync::atomic::Ordering;

use dwell_model::waits::Wait;
use dwell_report::{Class, CnodeId};
use dwell_timeline::{CallPath, Index, Time, is_start};

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
        opens: 0.0,
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
            let (begin, started) = (index.span().from.0, started(run, &index));
            about.started = (started.0 - begin) as f64;
            about.opens = (index.opened(started).from.0 - begin) as f64;
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

/// Returns the time at which the last location has started its runtime.
pub(super) fn started(run: &Run, index: &Index) -> Time {
    index.started(&|path: CallPath| is_start(&run.query.call_name(CnodeId(path.0))))
}
