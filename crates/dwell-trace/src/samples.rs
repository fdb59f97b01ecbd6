//! Samples: what their records say, and where they found their thread: the line of the program, and the function of a
//! library that was called there.

use dwell_model::text::Place;
use otf2::event::CallingContextSample;
use otf2::id::{CallingContextRef, RegionRef, SourceCodeLocationRef};
use otf2::read::{Definitions, EventRecord};
use otf2::{AttributeValue, Event};

use crate::contexts::Contexts;
use crate::names;
use crate::world::{Attributes, number};

/// What the record of a sample says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// The thread was on a core.
    Place {
        /// Where it was.
        context: CallingContextRef,
        /// Processor time since the sample before, in nanoseconds.
        weight: u64,
    },
    /// A long stretch of computing ends.
    End(StretchEnd),
}

/// What was read at the end of a long stretch of computing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StretchEnd {
    /// Processor time that the samples of the stretch do not stand for, in nanoseconds; negative if they stand for more.
    pub missing: i64,
    /// Nanoseconds in which the thread was ready but had no core. `None` if there were few or it is not known.
    pub ready: Option<u64>,
}

impl StretchEnd {
    /// Returns the sum of two ends.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let ready = match (self.ready, other.ready) {
            (None, ready) | (ready, None) => ready,
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
        };
        Self { missing: self.missing.saturating_add(other.missing), ready }
    }
}

impl Sample {
    /// Reads a record. `None` if it is no sample.
    pub fn of(record: &EventRecord<'_>, attributes: &Attributes) -> Option<Self> {
        let Event::CallingContextSample(CallingContextSample { calling_context, .. }) =
            record.event
        else {
            return None;
        };
        let of_end = attributes.unsampled_time.and_then(|wanted| {
            let found = record.attributes.iter().find(|it| it.attribute == wanted)?;
            let AttributeValue::Int64(missing) = found.value else { return None };
            Some(StretchEnd { missing, ready: number(record.attributes, attributes.ready_time) })
        });
        Some(of_end.map_or_else(
            || Self::Place {
                context: calling_context,
                weight: number(record.attributes, attributes.processor_time).unwrap_or(0),
            },
            Self::End,
        ))
    }
}

/// A position in the program, with the function of a library that was called there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spot {
    /// Function of the program.
    pub function: RegionRef,
    /// Line of the function that was on the core.
    pub line: SourceCodeLocationRef,
    /// Function of a library that was called there.
    pub inside: Option<RegionRef>,
}

impl Spot {
    /// Returns the position of the program in a calling context: the innermost function with a source line whose file is the
    /// program's. Without one it is the innermost with a line, or the innermost of all.
    pub fn of(
        contexts: &Contexts,
        definitions: &Definitions,
        context: CallingContextRef,
    ) -> Option<Self> {
        let (mut inside, mut other) = (None, None::<Self>);
        for (function, line) in contexts.frames(context) {
            let spot = Self { function, line, inside };
            if let Some((file, _)) = names::line(definitions, line) {
                // Distributions build with paths relative to the source of the package.
                if !file.starts_with("./") && !file.starts_with("../") {
                    return Some(spot);
                }
                if other.is_none_or(|it| it.line.is_undefined()) {
                    other = Some(spot);
                }
            }
            other.get_or_insert(Self { inside: None, ..spot });
            inside = Some(function);
        }
        other
    }

    /// Names the position, as in `relax at heat.c:88`.
    pub fn name(&self, definitions: &Definitions) -> String {
        let function = names::region(definitions, self.function);
        let inside = self.inside.map(|it| names::region(definitions, it));
        let line = names::line(definitions, self.line);
        let line = line.as_ref().map(|(file, line)| (file.as_str(), *line));
        Place { function: &function, line, inside: inside.as_deref() }.to_string()
    }
}
