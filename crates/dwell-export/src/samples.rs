//! Rows of the table of samples.

use std::collections::HashMap;

use dwell_trace::ids::LocationNumber;
use dwell_trace::names;
use dwell_trace::samples::{Sample, Spot, StretchEnd};
use otf2::id::CallingContextRef;
use otf2::read::EventRecord;

use crate::error::Result;
use crate::run::Run;
use crate::table::{Cell, Part, Text};

/// What calling contexts say, each looked up once by a thread.
#[derive(Debug, Default)]
pub(crate) struct Spots(HashMap<CallingContextRef, Option<Named>>);

/// The position of a sample in the program.
#[derive(Debug)]
struct Named {
    function: Text,
    line: Option<(Text, u32)>,
    inside: Option<Text>,
}

impl Named {
    fn of(run: &Run, context: CallingContextRef) -> Option<Self> {
        let definitions = &run.definitions;
        let spot = Spot::of(&run.contexts, definitions, context)?;
        let name = |it| Text::from(names::region(definitions, it).as_str());
        let line = names::line(definitions, spot.line);
        Some(Self {
            function: name(spot.function),
            line: line.map(|(file, line)| (file.as_str().into(), line)),
            inside: spot.inside.map(name),
        })
    }
}

impl Spots {
    /// Adds the row of a sample.
    pub(crate) fn push(
        &mut self,
        part: &mut Part,
        run: &Run,
        me: LocationNumber,
        (time, record): (u64, &EventRecord<'_>),
    ) -> Result<()> {
        let (context, computed, ready) = match Sample::of(record, &run.attributes) {
            None => return Ok(()),
            Some(Sample::Place { context, weight }) => (Some(context), weight.cast_signed(), None),
            Some(Sample::End(StretchEnd { missing, ready })) => (None, missing, ready),
        };
        let named =
            context.and_then(|it| self.0.entry(it).or_insert_with(|| Named::of(run, it)).as_ref());
        let line = named.and_then(|it| it.line.as_ref());
        part.push([
            me.place().into(),
            run.after(time).into(),
            Cell::Integer(computed),
            named.map(|it| &it.function).into(),
            line.map(|it| &it.0).into(),
            line.map(|it| it.1).into(),
            named.and_then(|it| it.inside.as_ref()).into(),
            ready.into(),
        ])
    }
}
