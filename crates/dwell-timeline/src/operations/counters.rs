//! Counters: values that the program states about itself, and those that a recorder samples at calls.

use std::ops::ControlFlow;

use dwell_trace::layout::Layout;
use otf2::enums::{Base, MetricMode, Type};
use otf2::id::{MetricMemberRef, MetricRef};
use otf2::read::{Definitions, EventRecord, Visitor};
use otf2::value::MetricValue;
use otf2::{Definition, Event};

use super::Trace;
use crate::error::Result;
use crate::ids::Location;
use crate::span::{Span, Time};

/// A counter of a trace: a member of a metric class.
#[derive(Clone, Debug, PartialEq)]
pub struct Counter {
    /// Name of the counter, which several counters of a trace may have.
    pub name: String,
    /// Unit of its values, or an empty text.
    pub unit: String,
    /// True if values are accumulated from the begin of the run, so that differences of samples count.
    pub accumulates: bool,
    class: MetricRef,
    /// Place of the value in events of the class.
    place: usize,
    /// Factor by which recorded values are multiplied.
    scale: f64,
}

/// A value of a counter at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Time at which the value was recorded.
    pub time: Time,
    /// Value in the unit of the counter.
    pub value: f64,
}

/// Returns the counters of a trace in the order of their classes.
pub(super) fn counters(definitions: &Definitions) -> Vec<Counter> {
    let text = |id| definitions.string(id).map(|it| it.to_string()).unwrap_or_default();
    let find = |wanted: MetricMemberRef| {
        definitions.iter().find_map(|it| match it {
            Definition::MetricMember(member) if member.id == wanted => Some(member),
            _ => None,
        })
    };
    let mut list = Vec::new();
    for definition in definitions.iter() {
        let Definition::MetricClass(class) = definition else { continue };
        for (place, member) in class.metric_members.iter().enumerate() {
            let Some(member) = find(member) else { continue };
            let accumulates = match member.metric_mode {
                MetricMode::AccumulatedStart | MetricMode::AccumulatedPoint => true,
                MetricMode::AbsolutePoint | MetricMode::AbsoluteLast => false,
                _ => continue,
            };
            let base: f64 = if member.base == Base::Binary { 2.0 } else { 10.0 };
            let exponent = i32::try_from(member.exponent).unwrap_or(0);
            list.push(Counter {
                name: text(member.name),
                unit: text(member.unit),
                accumulates,
                class: class.id,
                place,
                scale: base.powi(exponent),
            });
        }
    }
    list
}

impl Trace {
    /// Returns the counters of the trace: those that the program states, and those that are sampled. Numbers of counters are places
    /// in this list.
    pub fn counters(&self) -> &[Counter] {
        &self.counters
    }

    /// Returns the values of a counter at a location in a span, in the order of time, or `None` if that would take reading more than
    /// `most` events. An unknown counter has no values.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn samples(
        &self,
        location: Location,
        counter: usize,
        span: Span,
        most: u64,
    ) -> Result<Option<Vec<Sample>>> {
        let (Some(counter), Some(mut reader)) =
            (self.counters.get(counter), self.reader_from(location, span.from)?)
        else {
            return Ok(Some(Vec::new()));
        };
        let list = Vec::new();
        let mut sampling = Sampling { layout: &self.layout, counter, span, left: most, list };
        reader.visit_dyn(&mut sampling).map_err(|it| self.failed(it))?;
        Ok((sampling.left > 0).then_some(sampling.list))
    }
}

/// Reads the values of a counter.
struct Sampling<'a> {
    layout: &'a Layout,
    counter: &'a Counter,
    span: Span,
    /// Events that may still be read.
    left: u64,
    list: Vec<Sample>,
}

impl Visitor for Sampling<'_> {
    fn event(&mut self, record: EventRecord<'_>) -> ControlFlow<()> {
        let time = Time(self.layout.time(record.time).nanoseconds());
        self.left = self.left.saturating_sub(1);
        if time >= self.span.to || self.left == 0 {
            return ControlFlow::Break(());
        }
        if let Event::Metric(it) = record.event
            && it.metric == self.counter.class
            && time >= self.span.from
            && let Some(value) = it.values.iter().nth(self.counter.place)
        {
            self.list.push(Sample { time, value: number(value) * self.counter.scale });
        }
        ControlFlow::Continue(())
    }
}

fn number(value: MetricValue) -> f64 {
    match value.value_type {
        Type::Double => f64::from_bits(value.bits),
        Type::Int64 => value.bits.cast_signed() as f64,
        _ => value.bits as f64,
    }
}
