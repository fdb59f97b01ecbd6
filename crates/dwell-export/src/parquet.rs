//! Writes the tables of a run.

use std::path::Path;

use dwell_files::Folder;
use dwell_log::piece::Piece;
use dwell_model::waits::Wait;
use dwell_trace::ids::LocationNumber;
use otf2::Event;
use otf2::read::EventRecord;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::error::{Error, Result};
use crate::events::{self, Names, Records};
use crate::operation::{Operation, OperationKind, Space};
use crate::report;
use crate::run::Run;
use crate::samples::Spots;
use crate::table::{Cell, Finished, Part, Table, Text, assemble};
use crate::tables::{
    CALL_PATHS, EVENTS, FINDINGS, LOCATIONS, METRICS, OPERATIONS, SAMPLES, VALUES, WAITS,
};
use crate::walk::{Sink, walk};

/// A table that was written, and the number of its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Name of the table, which is that of its file without `.parquet`.
    pub table: &'static str,
    /// Number of rows, which is 0 for tables of which the run has nothing, such as waits of a run that never waits.
    pub rows: u64,
}

/// Writes the tables of a run to a directory, which is made if it does not exist: one file for each, that of events only if they are
/// wanted. Tables that are there are replaced. `progress` is told the number of events that were read since it was called last, from
/// any thread.
///
/// # Errors
/// If the run cannot be read, or a file not be written.
pub fn parquet(
    run: &Run,
    directory: &Path,
    with_events: bool,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Vec<Written>> {
    let io = |error| Error::Io(directory.to_owned(), error);
    std::fs::create_dir_all(directory).map_err(io)?;
    let folder = Folder::open(directory).map_err(io)?;
    let mut written = Vec::new();
    let mut write = |table: &'static Table, parts: Vec<Finished>| {
        let rows = assemble(table, &folder, parts)?;
        written.push(Written { table: table.name, rows });
        Ok::<(), Error>(())
    };
    write(&LOCATIONS, vec![report::locations(run, &folder)?])?;
    write(&CALL_PATHS, vec![report::call_paths(run, &folder)?])?;
    write(&METRICS, vec![report::metrics(run, &folder)?])?;
    write(&VALUES, report::values(run, &folder)?)?;
    write(&FINDINGS, vec![report::findings(run, &folder)?])?;
    let names = if with_events { Names::of(&run.definitions) } else { Names::default() };
    let read = |part: &std::ops::Range<u32>| {
        let mut rows = Rows {
            run,
            me: LocationNumber::new(part.start),
            kinds: OperationKind::ALL.map(|it| (it, Text::from(it.name()))),
            patterns: Wait::ALL.iter().map(|it| (*it, Text::from(it.about().id))).collect(),
            names: &names,
            records: Records::default(),
            waits: Part::new(&WAITS, &folder)?,
            operations: Part::new(&OPERATIONS, &folder)?,
            samples: Part::new(&SAMPLES, &folder)?,
            spots: Spots::default(),
            events: with_events.then(|| Part::new(&EVENTS, &folder)).transpose()?,
        };
        for number in part.clone() {
            rows.me = LocationNumber::new(number);
            walk(run, rows.me, &mut rows, progress)?;
        }
        rows.finish()
    };
    let parts = run.parts().par_iter().map(read).collect::<Result<Vec<_>>>()?;
    let mut all: [Vec<Finished>; 3] = Default::default();
    let mut events = Vec::new();
    for (finished, of_events) in parts {
        for (table, part) in all.iter_mut().zip(finished) {
            table.push(part);
        }
        events.extend(of_events);
    }
    for (table, parts) in [&WAITS, &OPERATIONS, &SAMPLES].into_iter().zip(all) {
        write(table, parts)?;
    }
    if with_events {
        write(&EVENTS, events)?;
    }
    Ok(written)
}

/// Rows of some locations.
struct Rows<'a> {
    run: &'a Run,
    me: LocationNumber,
    kinds: [(OperationKind, Text); 6],
    patterns: Vec<(Wait, Text)>,
    names: &'a Names,
    records: Records,
    waits: Part,
    operations: Part,
    samples: Part,
    spots: Spots,
    events: Option<Part>,
}

impl Rows<'_> {
    fn finish(self) -> Result<([Finished; 3], Option<Finished>)> {
        let events = self.events.map(Part::finish).transpose()?;
        Ok(([self.waits.finish()?, self.operations.finish()?, self.samples.finish()?], events))
    }
}

impl Sink for Rows<'_> {
    fn event(&mut self, time: u64, record: &EventRecord<'_>) -> Result<()> {
        if matches!(record.event, Event::CallingContextSample(_)) {
            self.spots.push(&mut self.samples, self.run, self.me, (time, record))?;
        }
        match &mut self.events {
            Some(part) => {
                let from = (self.run, self.names, &mut self.records);
                events::push(part, from, self.me, time, record)
            }
            None => Ok(()),
        }
    }

    fn operation(&mut self, it: &Operation) -> Result<()> {
        let kind = self.kinds.iter().find(|(kind, _)| *kind == it.kind).map(|it| &it.1);
        let (window, message) = match it.space {
            Space::Window(window) => (Some(window), None),
            Space::Message { communicator, tag, number } => {
                (None, Some((communicator, tag, number)))
            }
        };
        self.operations.push([
            kind.into(),
            it.location.into(),
            it.partner.into(),
            it.call_path.into(),
            it.bytes.into(),
            self.run.after(it.begin).into(),
            it.completion.map(|it| self.run.after(it)).into(),
            it.wait.0.into(),
            it.wait.1.into(),
            window.into(),
            message.map(|it| it.0).into(),
            message.map(|it| u64::from(it.1)).into(),
            message.and_then(|it| it.2).into(),
        ])
    }

    fn wait(&mut self, it: &Piece, call: Option<(Option<u32>, u64, u64)>) -> Result<()> {
        let what = it.what.wait().map(Wait::whole);
        let pattern = self.patterns.iter().find(|(wait, _)| Some(*wait) == what).map(|it| &it.1);
        self.waits.push([
            it.waiter.place().into(),
            it.culprit.place().into(),
            Cell::from(pattern),
            call.and_then(|it| it.0).into(),
            self.run.after(it.from.nanoseconds()).into(),
            self.run.after(it.to.nanoseconds()).into(),
            it.low.nanoseconds().into(),
            it.high.nanoseconds().into(),
            call.map(|it| self.run.after(it.1)).into(),
            call.map(|it| self.run.after(it.2)).into(),
        ])
    }
}
